"""Sweeps on a Dask cluster: equal to the bit, whatever is killed, delayed or short of memory."""

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
import toy_measure
from test_runner import HERE, PATHS, bits, created, lines_in, run, started, wait_until
from toy_measure import N_CELLS, cells

from leml_theory.runs import RunError, Store, execute

distributed = pytest.importorskip("distributed", reason="needs dask: the extra `cluster`")
dask = pytest.importorskip("dask")
pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own, when its processes are killed.
ROOT = HERE.parents[1]
PATIENCE = 180.0  # seconds; far more than any test takes on a busy machine


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The toy grid measured in one go in one process."""
    return bits(run(tmp_path_factory.mktemp("cluster") / "serial", cells(), toy_measure.measure))


@pytest.fixture(scope="module")
def cluster():
    """Two workers with nannies and little memory; their scheduler is in this process."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = PATHS
    patience = {"distributed.deploy.lost-worker-timeout": "120s"}  # on a busy machine
    with (
        dask.config.set(patience),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            memory_limit="900MB",
            silence_logs=50,
        ) as found,
    ):
        yield found
    os.environ.pop("PYTHONPATH")
    if before is not None:
        os.environ["PYTHONPATH"] = before


@pytest.fixture
def hasty(cluster, monkeypatch):
    """The same cluster, whose scheduler gives a task up after the first death."""
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 0)
    return cluster


def measure_on(address, folder, grid, measure):
    store = created(folder, grid)
    execute(grid, store, jobs=1, measure=measure, progress=False, cluster=address)
    return bits(store.load())


def pids_of(cluster):
    """Return the processes of the workers that are alive."""
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid]


# Equal to the bit


def test_local_workers_give_the_bits_of_one_process_and_name_themselves(tmp_path, uninterrupted):
    assert measure_on("local:2", tmp_path / "out", cells(), toy_measure.measure) == uninterrupted
    records = list((tmp_path / "out" / "provenance").glob("*.json"))
    assert 1 <= len(records) <= 2
    assert all(f'"process": {os.getpid()}' not in path.read_text() for path in records)


def kill_workers(cluster, folder, kills, chance, done):
    """Kill a random worker each time some more results are stored, until the run has ended."""
    for goal in sorted(chance.randint(0, N_CELLS - 40) for _ in range(kills)):
        while lines_in(folder) < goal or not pids_of(cluster):
            if done.is_set():
                return
            time.sleep(0.005)
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(pids_of(cluster)), signal.SIGKILL)
        cluster.killed += 1


def survive(cluster, folder, kills, seed):
    """Measure the slow toy grid under fire and return its bits and the number of kills."""
    cluster.killed, done = 0, threading.Event()
    arguments = (cluster, folder, kills, random.Random(seed), done)
    killer = threading.Thread(target=kill_workers, args=arguments)
    created(folder, cells())
    killer.start()
    try:
        found = measure_on(
            cluster.scheduler_address, folder, cells(), toy_measure.measure_in_quick_batches
        )
    finally:
        done.set()
        killer.join()
    return found, cluster.killed


def test_random_kills_of_workers_change_nothing(cluster, tmp_path, uninterrupted):
    found, killed = survive(cluster, tmp_path / "out", kills=3, seed=1)
    assert killed >= 1
    assert found == uninterrupted


@pytest.mark.long
def test_thirty_random_kills_of_workers_change_nothing(cluster, tmp_path, uninterrupted):
    killed = 0
    for seed in range(100):
        found, kills = survive(cluster, tmp_path / str(seed), kills=4, seed=seed)
        assert found == uninterrupted
        killed += kills
        if killed >= 30:
            break
    assert killed >= 30


# Cells that kill, and memory


def test_a_cell_that_kills_workers_is_named_and_left_out(hasty, tmp_path, uninterrupted):
    grid, folder = cells(12), tmp_path / "out"
    with pytest.raises(RunError, match="1 of 12 cells failed") as caught:
        measure_on(hasty.scheduler_address, folder, grid, toy_measure.die_at_seven)
    (failure,) = caught.value.failures
    assert failure.cell.parameters["size"] == 7
    assert "1 worker processes died while they measured it" in failure.traceback
    rest = {cell.key: uninterrupted[cell.key] for cell in grid if cell != failure.cell}
    assert bits(Store.open(folder).load()) == rest


def test_a_cell_that_needs_more_memory_than_its_worker_says_so(hasty, tmp_path, uninterrupted):
    grid = cells(6)
    with pytest.raises(RunError, match="1 of 6 cells failed") as caught:
        measure_on(
            hasty.scheduler_address, tmp_path / "out", grid, toy_measure.take_memory_at_seven
        )
    (failure,) = caught.value.failures
    assert "MemoryError" in failure.traceback
    assert "It needs more than the 858 MiB of its worker" in failure.traceback
    assert len(Store.open(tmp_path / "out").load()) == 5


# Schedulers, clients and networks


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def process(*arguments, paths=PATHS):
    """Run a process of Dask; it is killed at the end, or when it must be that a test hangs."""
    command = [sys.executable, "-m", *arguments]
    environment = {**os.environ, "PYTHONPATH": paths}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    found = subprocess.Popen(command, env=environment, cwd=HERE, **quiet)
    limit = threading.Timer(PATIENCE, found.kill)  # without a scheduler the client ends too
    limit.start()
    try:
        yield found
    finally:
        limit.cancel()
        found.kill()
        found.wait()


def scheduler(port):
    place = ["--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    return process("distributed.cli.dask_scheduler", *place)


def worker(port, paths=PATHS):
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
    return process("distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", *options, paths=paths)


def test_a_scheduler_that_dies_is_an_error_and_the_same_command_goes_on(tmp_path, uninterrupted):
    folder, port = tmp_path / "out", free_port()
    with scheduler(port) as first, worker(port):
        wait_for_server(port)
        with started(folder, f"tcp://127.0.0.1:{port}", "measure_in_quick_batches") as client:
            wait_until(lambda: lines_in(folder) >= 10)
            first.kill()
            _, errors = client.communicate(timeout=90)
    assert "RunError: The connection to the Dask scheduler" in errors
    safe = len(Store.open(folder).load())
    assert f"{safe} of {N_CELLS} cells are safe" in errors
    assert 10 <= safe < N_CELLS
    with scheduler(port), worker(port):
        wait_for_server(port)
        found = measure_on(f"tcp://127.0.0.1:{port}", folder, cells(), toy_measure.measure)
    assert found == uninterrupted


def wait_for_server(port):
    def answers():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return True
        return False

    wait_until(answers)


def test_a_client_that_dies_leaves_the_cluster_usable(cluster, tmp_path, uninterrupted):
    folder = tmp_path / "out"
    with started(folder, cluster.scheduler_address, "measure_in_quick_batches") as client:
        wait_until(lambda: lines_in(folder) >= 10)
        client.kill()
        client.wait()
    assert 10 <= len(Store.open(folder).load()) < N_CELLS
    found = measure_on(cluster.scheduler_address, folder, cells(), toy_measure.measure)
    assert found == uninterrupted
    assert not cluster.scheduler.tasks or wait_until(lambda: not cluster.scheduler.tasks) is None


def delayed(port, seconds):
    """Listen on a port of its own that passes everything on to `port`, late."""

    def copy(source, target):
        with contextlib.suppress(OSError):
            while content := source.recv(1 << 16):
                time.sleep(seconds)
                target.sendall(content)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                near, _ = server.accept()
                far = socket.create_connection(("127.0.0.1", port))
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=copy, args=ends, daemon=True).start()

    server = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=accept, daemon=True).start()
    return server


def test_a_slow_network_changes_nothing(cluster, tmp_path, uninterrupted):
    port = int(cluster.scheduler_address.rpartition(":")[2])
    with delayed(port, seconds=0.2) as server:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        assert measure_on(address, tmp_path / "out", cells(), toy_measure.measure) == uninterrupted


# Refusals


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", r"leml_theory with SHA-256 \w{12} there, \w{12} here.*0 of 4 cells are safe"),
        (
            "raise ImportError('old')",
            r"ImportError: old\)\. They have leml-theory \S+, this client",
        ),
    ],
)
def test_a_worker_with_other_code_is_refused(tmp_path, line, message):
    changed = tmp_path / "changed"
    for package in ("argument_checks", "safe_files", "simulations", "leml_solver", "leml_theory"):
        shutil.copytree(ROOT / package, changed / package)
    with open(changed / "leml_theory" / "runs" / "cells.py", "a") as file:
        file.write(f"\n# another\n{line}\n")
    port = free_port()
    with scheduler(port), worker(port, os.pathsep.join([str(changed), str(HERE)])):
        wait_for_server(port)
        with pytest.raises(RunError, match=message):
            measure_on(f"tcp://127.0.0.1:{port}", tmp_path / "o", cells(4), toy_measure.measure)


def test_a_worker_with_another_version_is_refused_with_both(cluster, tmp_path, monkeypatch):
    """The client says that it has another version of numpy than the workers."""
    monkeypatch.setattr("leml_theory.runs.provenance._process", other_numpy)
    with pytest.raises(RunError, match=r"numpy [\d.]+ there, 0\.1 here"):
        measure_on(cluster.scheduler_address, tmp_path / "o", cells(4), toy_measure.measure)


def other_numpy():
    place = {"processor": "x", "command": [], "host": "h", "started": "now", "process": 1}
    return {"versions": {"numpy": "0.1"}, "blas": [], **place}


def test_without_dask_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ValueError, match=r"pip install 'leml-theory\[cluster\]'"):
        measure_on("local:2", tmp_path / "out", cells(2), toy_measure.measure)


@pytest.mark.parametrize("place", ["local:0", "local:", "local:two"])
def test_a_number_of_local_workers_is_checked(tmp_path, place):
    with pytest.raises(ValueError, match="must be an address or local:N with N >= 1"):
        measure_on(place, tmp_path / "out", cells(2), toy_measure.measure)


def test_an_address_where_nobody_answers_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("command_line.clusters._CONNECT_SECONDS", 1)
    address = f"tcp://127.0.0.1:{free_port()}"
    with pytest.raises(RunError, match=r"No Dask scheduler answers at.*dask scheduler"):
        measure_on(address, tmp_path / "out", cells(2), toy_measure.measure)


def test_dask_is_not_imported_without_a_cluster():
    code = "import sys, leml_theory.sweep.__main__; print('distributed' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.strip() == "False"
