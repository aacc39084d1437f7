"""The runner: results equal to the bit whatever the jobs, kills and interruptions."""

import contextlib
import os
import pty
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest
import toy_measure
from toy_measure import N_CELLS, cells

from leml_theory.runs.cells import Cell
from leml_theory.runs.runner import RunError, execute
from leml_theory.runs.store import Result, Shard, Store, StoreError, read_shard

HERE = Path(__file__).parent
PATHS = os.pathsep.join([str(HERE), str(HERE.parents[1])])


def created(folder, grid):
    return Store.create(folder, grid, description={"grid": "toy"})


def run(folder, grid, measure, jobs=1):
    store = created(folder, grid)
    execute(grid, store, jobs=jobs, measure=measure, progress=False)
    return store.load()


def bits(results):
    """Return results in a form that is equal only when every bit is."""
    return {
        key: [[(n, type(v), exact(v)) for n, v in record.items()] for record in records]
        for key, records in results.items()
    }


def exact(value):
    return struct.pack(">d", value) if isinstance(value, float) else value


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The toy grid measured in one go in one process."""
    results = run(tmp_path_factory.mktemp("runner") / "serial", cells(), toy_measure.measure)
    assert len(results) == N_CELLS
    return bits(results)


def default_interrupts():
    """Let Ctrl-C reach a child whose parent ignores it, as one under nohup does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def started(folder, jobs, *measure, prepare=default_interrupts):
    """Run the toy grid in a process of its own; whatever is left of it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "toy_measure", str(folder), str(jobs), *measure],
        env={**os.environ, "PYTHONPATH": PATHS},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=prepare,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(condition, seconds=60.0):
    # Only a failure waits so long: the limits are wide for the sake of busy machines.
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def lines_in(folder):
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("shards/*.jsonl"))


def session_is_empty(leader):
    """True when no living process remains in the session that `leader` started."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state != "Z":
                return False
    return True


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


# Kills and interruptions


def test_killed_again_and_again_it_ends_equal_to_the_bit(tmp_path, uninterrupted):
    folder, chance = tmp_path / "out", random.Random(20140)
    for kill in range(3):
        goal = lines_in(folder) + chance.randint(1, 20)
        with started(folder, 2) as process:
            wait_until(lambda goal=goal: lines_in(folder) >= goal)
            time.sleep(chance.uniform(0, 0.02))
            process.kill()
            assert process.wait() == -signal.SIGKILL
        tear_a_line(folder, chance)
        assert lines_in(folder) < N_CELLS, f"kill {kill} came too late"
    measured = execute(
        cells(), created(folder, cells()), jobs=2, measure=toy_measure.measure, progress=False
    )
    assert 0 < measured < N_CELLS
    assert bits(Store.open(folder).load()) == uninterrupted


def tear_a_line(folder, chance):
    """Cut the end of one shard, as when the kill falls into a write."""
    path = max(folder.glob("shards/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    path.write_bytes(path.read_bytes()[: -chance.randint(1, 200)])


@needs_proc
def test_workers_leave_ctrl_c_to_the_parent_and_do_not_outlive_it(tmp_path):
    with started(tmp_path / "out", 2, "measure_for_a_minute") as process:
        wait_until(lambda: len(workers_of(process.pid)) == 2)
        assert all(ignores(worker, signal.SIGINT) for worker in workers_of(process.pid))
        process.kill()
        process.wait()
        wait_until(lambda: session_is_empty(process.pid), seconds=10.0)


def workers_of(leader):
    """Return the folders in /proc of the workers that have begun: they have a second thread."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            session = int((path / "stat").read_text().rpartition(")")[2].split()[3])
            watched = len(list((path / "task").iterdir())) >= 2
            if session == leader and watched and b"loky" in (path / "cmdline").read_bytes():
                found.append(path)
    return found


def ignores(process, number):
    mask = re.search(r"SigIgn:\s*([0-9a-f]+)", (process / "status").read_text())[1]
    return bool(int(mask, 16) >> (number - 1) & 1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_says_what_is_stored_and_leaves_nobody(tmp_path, jobs):
    folder = tmp_path / "out"
    with started(folder, jobs) as process:
        wait_until(lambda: lines_in(folder) >= 10)
        os.killpg(process.pid, signal.SIGINT)  # To all, as a terminal does.
        _, errors = process.communicate(timeout=60)
        said = re.search(r"KeyboardInterrupt: Interrupted\. (\d+) of 200 cells are safe", errors)
        assert process.returncode == 1
        assert said
        assert int(said[1]) == len(Store.open(folder).load()) >= 10
        assert "Traceback" not in errors
        wait_until(lambda: session_is_empty(process.pid), seconds=10.0)


def test_a_run_that_meets_a_limit_of_the_disk_can_be_taken_up(tmp_path, uninterrupted):
    # The kernel refuses for real to let a file grow, after a part of a line has been written.
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))

    folder = tmp_path / "out"
    with started(folder, 2, "measure", prepare=limit) as process:
        _, errors = process.communicate(timeout=60)
    stored = len(Store.open(folder).load())
    assert process.returncode == 1
    assert "StoreError: Could not write to" in errors
    assert f"{stored} of {N_CELLS} cells are safe" in errors
    assert 0 < stored < N_CELLS
    assert bits(run(folder, cells(), toy_measure.measure)) == uninterrupted


# Equal results whatever the jobs and the company


def test_two_jobs_give_the_bits_of_one(tmp_path, uninterrupted):
    assert bits(run(tmp_path / "out", cells(), toy_measure.measure, jobs=2)) == uninterrupted


def test_cells_that_a_worker_hands_back_are_measured_too(tmp_path, uninterrupted):
    results = run(tmp_path / "out", cells(), toy_measure.measure_in_short_batches, jobs=2)
    assert bits(results) == uninterrupted


def test_a_cell_does_not_depend_on_the_others(tmp_path, uninterrupted):
    some = cells()[150:160]
    alone = bits(run(tmp_path / "out", some, toy_measure.measure))
    assert alone == {cell.key: uninterrupted[cell.key] for cell in some}


def test_what_is_stored_is_not_measured_again(tmp_path):
    grid = cells(4)
    store = created(tmp_path / "out", grid)
    doubled = [*grid, *grid]
    assert execute(doubled, store, jobs=1, measure=toy_measure.measure, progress=False) == 4
    assert execute(doubled, store, jobs=2, measure=toy_measure.die, progress=False) == 0


def test_one_thread_and_light_imports_in_every_process(tmp_path):
    serial = run(tmp_path / "serial", cells(2), toy_measure.threads_and_modules)
    parallel = run(tmp_path / "parallel", cells(2), toy_measure.threads_and_modules, jobs=2)
    assert {record["threads"] for (record,) in [*serial.values(), *parallel.values()]} == {1}
    assert {record["compiled"] for (record,) in parallel.values()} == {1}
    assert {record["process"] for (record,) in serial.values()} == {os.getpid()}
    assert os.getpid() not in {record["process"] for (record,) in parallel.values()}
    assert {record["heavy"] for (record,) in parallel.values()} == {""}


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"])
def test_the_environment_is_left_as_it_was(tmp_path, monkeypatch, name):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    before = os.environ.get(name)
    run(tmp_path / "out", cells(1), toy_measure.measure)
    assert os.environ.get(name) == before


def test_floating_point_warnings_are_as_usual(tmp_path):
    for jobs in (1, 2):
        results = run(tmp_path / str(jobs), cells(2), toy_measure.overflow, jobs)
        assert {record["warnings"] for (record,) in results.values()} == {1}


def test_compiled_loops_of_this_process_run_on_one_thread_meanwhile(tmp_path):
    before = numba.get_num_threads()
    results = run(tmp_path / "out", cells(2), toy_measure.threads_and_modules)
    assert {record["compiled"] for (record,) in results.values()} == {1}
    assert numba.get_num_threads() == before


# Failures


@pytest.mark.parametrize("jobs", [1, 2])
def test_failing_cells_are_reported_after_the_others_are_done(tmp_path, jobs):
    grid = cells(50)  # Sizes 3 and 4 come twice each.
    store = created(tmp_path / "out", grid)
    with pytest.raises(RunError, match="4 of 50 cells failed; the others are stored") as caught:
        execute(grid, store, jobs=jobs, measure=toy_measure.fail_when_small, progress=False)
    assert {failure.cell.parameters["size"] for failure in caught.value.failures} == {3, 4}
    assert "ZeroDivisionError: no size of 3" in "".join(f.traceback for f in caught.value.failures)
    assert "parameters={'scale':" in str(caught.value)
    assert "... and 1 more." in str(caught.value)
    assert len(store.load()) == 46
    assert execute(grid, store, jobs=1, measure=toy_measure.measure, progress=False) == 4


def test_a_record_that_cannot_be_stored_is_a_failure_of_its_cell(tmp_path):
    with pytest.raises(RunError, match=r"`record 0: value` must be a number"):
        run(tmp_path / "out", cells(2), toy_measure.return_an_array)


def test_a_cell_that_kills_its_process_is_named_and_all_others_are_measured(
    tmp_path, uninterrupted
):
    grid = cells(20)
    with pytest.raises(
        RunError, match=r"(?s)1 of 20 cells failed.*ends the process.*alone"
    ) as caught:
        run(tmp_path / "out", grid, toy_measure.die_at_seven, jobs=2)
    assert [failure.cell.parameters["size"] for failure in caught.value.failures] == [7]
    found = bits(Store.open(tmp_path / "out").load())
    named = {failure.cell.key for failure in caught.value.failures}
    assert found == {c.key: uninterrupted[c.key] for c in grid if c.key not in named}


def test_processes_that_die_whatever_they_measure_end_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("leml_theory.runs.runner._MOST_DEATHS", 3)
    with pytest.raises(RunError, match=r"die whatever they measure, 3 times.*0 of 4 cells are"):
        run(tmp_path / "out", cells(4), toy_measure.die, jobs=2)


@pytest.mark.parametrize("jobs", [0, -2, 1.5, True, "2", None])
def test_jobs_are_checked(tmp_path, jobs):
    with pytest.raises((TypeError, ValueError), match="`jobs` must be"):
        run(tmp_path / "out", cells(2), toy_measure.measure, jobs)


def test_another_grid_than_the_store_s_is_refused(tmp_path):
    store = created(tmp_path / "out", cells(3))
    with pytest.raises(ValueError, match="`cells` must be the grid that"):
        execute(cells(4), store, jobs=1, measure=toy_measure.measure)


def test_results_of_another_grid_among_ours_are_refused(tmp_path):
    store = created(tmp_path / "out", cells(3))
    Shard(store.shards).extend([Result(Cell("toy", {"size": 99}, 0).key, [], 0.0)])
    with pytest.raises(StoreError, match="holds 1 results of another grid"):
        execute(cells(3), store, jobs=1, measure=toy_measure.measure)


def test_a_folder_in_use_and_a_damaged_one_are_refused(tmp_path):
    store = created(tmp_path / "out", cells(3))
    with store.lock(), pytest.raises(StoreError, match="Another run is writing"):
        execute(cells(3), store, jobs=1, measure=toy_measure.measure)
    (store.shards / "1-a.jsonl").write_text("nonsense\n")
    with pytest.raises(StoreError, match=r"Line 1 of .* is damaged"):
        execute(cells(3), store, jobs=1, measure=toy_measure.measure)


# Progress


def test_progress_in_a_log_is_a_few_lines(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("leml_theory.runs.runner._BATCH_SECONDS", 0.0)  # A batch for each cell.
    execute(cells(), created(tmp_path / "out", cells()), jobs=1, measure=toy_measure.measure)
    lines = capsys.readouterr().err.splitlines()
    assert 5 <= len(lines) <= 12
    assert lines[-1] == "200 of 200 cells"
    assert lines[0] == "1 of 200 cells"  # once 'about 2204 s left' for a run of two minutes
    assert all(re.fullmatch(r"\d+ of 200 cells, about \d+ s left", x) for x in lines[1:-1])


def test_cells_are_measured_in_the_given_order_if_asked_for(tmp_path):
    given = cells()[::-1]
    store = created(tmp_path / "out", given)
    execute(given, store, jobs=1, measure=toy_measure.measure, in_order=True)
    (shard,) = sorted(store.shards.glob("*.jsonl"))
    assert [result.key for result in read_shard(shard)] == [cell.key for cell in given]


def test_progress_on_a_terminal_is_a_bar_with_the_time_left(tmp_path):
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": PATHS, "TERM": "xterm"}
    command = [sys.executable, "-m", "toy_measure", str(tmp_path / "out"), "1", "measure_slowly"]
    with os.fdopen(theirs, "w") as terminal:
        subprocess.run(command, env=environment, stderr=terminal, check=True, timeout=60)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert re.search(r"\d+/200 \[00:0\d<00:0\d, +[\d.]+cell/s\]", shown)
    assert "100%" in shown
