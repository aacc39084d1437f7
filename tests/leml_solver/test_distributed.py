"""Training on a cluster: the same bits whatever the number of workers, and whoever of them dies."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("distributed", reason="dask is an extra: pip install leml-theory[cluster]")

from dataclasses import replace
from pathlib import Path

from leml_solver import AlternatingOptions, LEMLClassifier
from leml_solver import distributed as cluster
from leml_solver._blocked import block as work
from leml_solver._blocked.passes import LocalPasses
from leml_solver.algorithms import FAST
from leml_solver.blocks import fit_blocks
from leml_solver.readers import ReadError

sys.path.insert(0, str(Path(__file__).parent))
from test_blocks import data, datasets, folder, objectives, pairs

OPTIONS = AlternatingOptions(max_iter=3, tol=0.0, certify=True, intercept=True)
# The nannies of workers that were killed log, and warn of what was left open.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def client():
    with cluster.connected("local:2") as connected:
        yield connected


def same(one, two):
    return (
        np.array_equal(one.W, two.W)
        and np.array_equal(one.H, two.H)
        and np.array_equal(objectives(one), objectives(two))
        and one.certificate == two.certificate
    )


def test_arrays_that_arrive_at_odd_addresses_are_moved():
    odd = np.frombuffer(bytearray(33), np.uint8)[1:].view(np.float64)
    work = lambda block, sent, mean: (sent.array, mean)  # noqa: E731
    found = cluster._share(work, None, [0, None], odd, odd)
    assert not odd.flags.aligned
    assert all(array.flags.aligned and np.array_equal(array, odd) for array in found)


# More columns than one panel has, so that two panels are under way at a time.
PANELS = {"rank": 70, "options": replace(OPTIONS, method=replace(FAST, factorise=False))}


@pytest.mark.parametrize(
    ("loss", "hidden", "more"),
    [("squared", 0.0, {}), ("squared", 0.0, PANELS), ("logistic", 0.3, {})],
)
def test_a_cluster_gives_the_bits_of_one_process(client, loss, hidden, more, tmp_path):
    X, Y, missing = data(hidden=hidden)
    folder(tmp_path / "b", X, Y, missing)
    arguments = {"rank": 3, "penalty": 0.5, "loss": loss, "options": OPTIONS, **more}
    alone = fit_blocks(tmp_path / "b", **arguments)
    assert same(alone, cluster.fit_factors(client, tmp_path / "b", **arguments))
    if not hidden:  # sent by the client
        blocks = pairs(X, Y, missing)
        assert same(
            fit_blocks(blocks, **arguments), cluster.fit_factors(client, blocks, **arguments)
        )


def test_the_estimator_and_the_best_labels(client):
    X, Y, missing = data()
    model = LEMLClassifier(3, penalty=0.5, max_iter=3, random_state=0)
    model.fit_blocks(datasets(X, Y, missing), client=client)
    fit = fit_blocks(pairs(X, Y, missing), rank=3, penalty=0.5, options=replace(OPTIONS, tol=1e-4))
    assert np.array_equal(model.W_, fit.W)
    found = cluster.predict_topk(client, pairs(X, Y, missing), fit, 2)
    best = np.vstack([labels for labels, _ in found])
    assert np.array_equal(best, np.argsort(-fit.scores(X), axis=1, kind="stable")[:, :2])


def test_a_block_that_is_missing_ends_the_fit_with_its_name(client, tmp_path):
    folder(tmp_path / "b", *data())
    shutil.rmtree(tmp_path / "b" / "block-00003")
    with pytest.raises(ReadError, match="block 3 is missing or damaged"):
        cluster.fit_factors(client, tmp_path / "b", rank=2, penalty=1.0)


@pytest.mark.parametrize("theirs", ["0.1 (theirs)", ModuleNotFoundError("no leml_solver")])
def test_workers_with_other_code_or_none_are_refused(client, monkeypatch, theirs):
    monkeypatch.setattr(cluster, "code_version", lambda: "0.0 (other)")
    monkeypatch.setattr(client, "run", lambda *_, **__: {"tcp://worker": theirs})
    with pytest.raises(cluster.ClusterError, match=r"runs leml-theory .*, this process 0.0"):
        cluster.fit_factors(client, pairs(*data()), rank=2, penalty=1.0)


def test_a_worker_with_other_code_that_comes_late_is_refused(client, monkeypatch):
    passes = cluster.ClusterPasses(client, cluster.as_source(pairs(*data())))
    monkeypatch.setattr(cluster, "code_version", lambda: "0.0 (other)")  # of the client alone
    with pytest.raises(cluster.ClusterError, match=r"runs leml-theory .*numpy .*process 0.0"):
        passes.total(work.facts)


def test_workers_that_were_started_in_another_folder_find_the_blocks(client, monkeypatch, tmp_path):
    folder(tmp_path / "b", *data())
    monkeypatch.chdir(tmp_path)
    arguments = {"rank": 3, "penalty": 0.5, "options": replace(OPTIONS, max_iter=1)}
    assert same(fit_blocks("b", **arguments), cluster.fit_factors(client, "b", **arguments))


def test_local_workers_leave_ctrl_c_to_the_command(client):
    """They ended with a traceback each."""
    ignored = client.run(lambda: signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
    assert list(ignored.values()) == [True, True]


def test_two_local_clusters_say_nothing_of_ports(client, recwarn):
    with cluster.connected("local:1"), cluster.connected("local:1"):
        pass
    assert not [w for w in recwarn if "Port" in str(w.message)]


def test_a_worker_that_dies_before_it_is_asked_for_its_code_is_no_error(client, monkeypatch):
    run = client.run
    gone = {"tcp://127.0.0.1:1": ConnectionResetError(104, "reset by peer")}
    monkeypatch.setattr(client, "run", lambda *a, **options: run(*a, **options) | gone)
    blocks, arguments = pairs(*data()), {"rank": 3, "penalty": 0.5, "options": OPTIONS}
    assert same(fit_blocks(blocks, **arguments), cluster.fit_factors(client, blocks, **arguments))


def test_a_scheduler_that_is_not_there(monkeypatch):
    with (
        pytest.raises(cluster.ClusterError, match="No Dask scheduler answers"),
        cluster.connected("no-such-scheme://x"),
    ):
        pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ValueError, match=r"pip install 'leml-theory\[cluster\]'"),
        cluster.connected("local:2"),
    ):
        pass


def test_a_worker_that_died_before_its_block_was_sent_is_no_error(client, monkeypatch):
    blocks, scatter, calls = pairs(*data()), client.scatter, []

    def gone_once(*arguments, **options):
        calls.append(options)
        if len(calls) == 1:
            raise KeyError("tcp://127.0.0.1:1")  # as the scheduler does
        return scatter(*arguments, **options)

    monkeypatch.setattr(client, "scatter", gone_once)
    arguments = {"rank": 3, "penalty": 0.5, "options": replace(OPTIONS, certify=False)}
    assert same(fit_blocks(blocks, **arguments), cluster.fit_factors(client, blocks, **arguments))
    assert "workers" in calls[0]


def test_a_worker_that_dies_with_the_only_copy_of_an_array_changes_nothing(client, monkeypatch):
    """A broadcast, which waits until all have their copy, then waited for ever."""
    blocks, scatter, killed = pairs(*data()), client.scatter, []
    pids = client.run(os.getpid)

    def taken_along(value, **options):
        sent = scatter(value, **options)
        if not killed and "workers" not in options:
            (holder,) = client.who_has(sent)[sent.key]
            killed.append(holder)
            os.kill(pids[holder], signal.SIGKILL)
            while holder in client.nthreads():
                time.sleep(0.05)
        return sent

    monkeypatch.setattr(client, "scatter", taken_along)
    arguments = {"rank": 3, "penalty": 0.5, "options": replace(OPTIONS, certify=False)}
    assert same(fit_blocks(blocks, **arguments), cluster.fit_factors(client, blocks, **arguments))
    assert len(killed) == 1


def test_a_result_that_takes_long_is_waited_for(client, monkeypatch):
    monkeypatch.setattr(cluster, "_LOOK_SECONDS", 0.6)
    passes = cluster.ClusterPasses(client, cluster.as_source(pairs(*data())))
    assert passes._result(client.submit(time.sleep, 2.7, pure=False)) is None


def test_workers_that_all_die_at_once_change_nothing(client, monkeypatch):
    """The tasks that were meant for them are given to others."""
    monkeypatch.setattr(cluster, "_LOOK_SECONDS", 0.5)
    source = cluster.as_source(pairs(*data()))
    passes = cluster.ClusterPasses(client, source)
    before = list(passes.homes)
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    while set(before) & set(client.nthreads()):
        time.sleep(0.05)
    found = passes.total(work.facts)
    alone = LocalPasses([source.load(number) for number in range(len(source))]).total(work.facts)
    assert all(np.array_equal(one, other) for one, other in zip(found, alone, strict=True))
    assert not set(before) & set(passes.homes)


class Killer(threading.Thread):
    """Kills a worker again and again until there were enough kills."""

    def __init__(self, client, kills, seed):
        super().__init__(daemon=True)
        self.client, self.left, self.done = client, kills, 0
        self.rng, self.stop = np.random.default_rng(seed), threading.Event()

    def run(self):
        while self.left and not self.stop.wait(self.rng.uniform(0.2, 2.0)):
            workers = self.client.run(os.getpid, on_error="ignore")
            if workers:
                os.kill(workers[sorted(workers)[self.rng.integers(len(workers))]], signal.SIGKILL)
                self.left, self.done = self.left - 1, self.done + 1


def with_kills(client, blocks, kills, seed, **arguments):
    """Fit again and again until so many workers were killed; return fits and kills."""
    killer, fits = Killer(client, kills, seed), []
    killer.start()
    while killer.left or not fits:
        fits.append(cluster.fit_factors(client, blocks, **arguments))
    killer.stop.set()
    killer.join()
    return fits, killer.done


def campaign(client, tmp_path, kills):
    X, Y, missing = data()
    folder(tmp_path / "b", X, Y, missing)
    options = replace(PANELS["options"], certify=False)
    arguments = {"rank": PANELS["rank"], "penalty": 0.5, "options": options}
    done = 0
    for seed, blocks in enumerate((tmp_path / "b", pairs(X, Y, missing))):
        alone = fit_blocks(blocks, **arguments)
        fits, killed = with_kills(client, blocks, kills, seed, **arguments)
        assert all(same(alone, fit) for fit in fits)
        done += killed
    return done


def test_a_worker_that_dies_changes_nothing(client, tmp_path):
    assert campaign(client, tmp_path, 1) == 2


@pytest.mark.long
def test_twenty_workers_that_die_change_nothing(client, tmp_path):
    assert campaign(client, tmp_path, 10) == 20


@contextlib.contextmanager
def scheduler_with_a_worker(port):
    """Run a scheduler and a worker as processes of their own; yield the scheduler's."""
    address = f"tcp://127.0.0.1:{port}"
    place = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    commands = [
        ["distributed.cli.dask_scheduler", *place],
        ["distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"],
    ]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    found = [subprocess.Popen([sys.executable, "-m", *command], **quiet) for command in commands]
    try:
        yield found[0]
    finally:
        for process in found:
            process.kill()
            process.wait()


@pytest.mark.long  # a client waits half a minute for a scheduler that is gone
def test_a_scheduler_that_dies_ends_the_fit_and_the_same_call_goes_on(tmp_path, monkeypatch):
    import dask

    monkeypatch.setattr(cluster, "_WORKER_SECONDS", 10)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    blocks, arguments = pairs(*data()), {"rank": 3, "penalty": 0.5}
    options = replace(OPTIONS, certify=False, max_iter=4, checkpoint=tmp_path / "checkpoint")
    alone = fit_blocks(blocks, **arguments, options=replace(options, checkpoint=tmp_path / "alone"))
    points = []

    def fit(kill=None):
        def callback(point):
            points.append(point.iteration)
            if kill is not None and point.iteration == 2:
                kill()

        with cluster.connected(f"tcp://127.0.0.1:{port}") as client:
            chosen = replace(options, callback=callback)
            return cluster.fit_factors(client, blocks, **arguments, options=chosen)

    with (
        scheduler_with_a_worker(port) as scheduler,
        dask.config.set({"distributed.comm.timeouts.connect": "5s"}),
        pytest.raises(
            cluster.ClusterError, match="with a checkpoint it continues where it stopped"
        ),
    ):
        fit(kill=lambda: (scheduler.kill(), scheduler.wait()))
    with scheduler_with_a_worker(port):
        resumed = fit()
    assert points == [1, 2, 3, 4]
    assert same(alone, resumed)


class Slow(threading.Thread):
    """Passes on what comes to a port of its own, each piece late."""

    def __init__(self, port, seconds):
        super().__init__(daemon=True)
        self.far, self.seconds = port, seconds
        self.server = socket.create_server(("127.0.0.1", 0))

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.server.accept()
                far = socket.create_connection(("127.0.0.1", self.far))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self.copy, args=ends, daemon=True).start()

    def copy(self, source, target):
        with contextlib.suppress(OSError):
            while content := source.recv(1 << 16):
                time.sleep(self.seconds)
                target.sendall(content)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def test_a_slow_network_changes_nothing(client):
    slow = Slow(int(client.scheduler.address.rpartition(":")[2]), seconds=0.05)
    slow.start()
    blocks = pairs(*data())
    arguments = {"rank": 3, "penalty": 0.5, "options": replace(OPTIONS, max_iter=1, certify=False)}
    alone = fit_blocks(blocks, **arguments)
    address = f"tcp://127.0.0.1:{slow.server.getsockname()[1]}"
    with slow.server, cluster.connected(address) as late:
        assert same(alone, cluster.fit_factors(late, blocks, **arguments))


@pytest.mark.long  # a worker is started again eight times
def test_a_block_too_large_for_its_worker_is_said_to_be(monkeypatch):
    from distributed import Client, LocalCluster

    monkeypatch.setattr(cluster, "_ATTEMPTS", 2)
    X = sp.random(100_000, 2000, density=0.05, format="csr", random_state=0)
    Y = sp.random(100_000, 50, density=0.02, format="csr", random_state=1)
    place = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with (
        LocalCluster(**place, memory_limit="330MB", silence_logs="CRITICAL") as small,
        Client(small) as client,
        pytest.raises(cluster.ClusterError, match="make smaller blocks or raise its limit"),
    ):
        cluster.fit_factors(client, [(X, Y)], rank=4, penalty=1.0, options=OPTIONS)
