"""Runs the tests against mutants: each in a forked process that imports the mutated module.

python tests/mutation/campaign.py              all drawn mutants (`make test-long`)
python tests/mutation/campaign.py --sample 8   a few of them
python tests/mutation/campaign.py --only faces --list
"""

import argparse
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path

# What the tests import, loaded once: every fork has it for nothing.
import cvxpy  # noqa: F401
import hypothesis
import numba
import numpy as np  # noqa: F401
import pytest
import scipy.optimize
import scipy.sparse  # noqa: F401
import sklearn.base  # noqa: F401
import tqdm  # noqa: F401
from equivalent import EQUIVALENT
from mutants import ROOT, Mutant, drawn, mutants_of
from targets import ALWAYS, COMPILED, SEED, SPEED, TARGETS, Target

MEMORY = 8 << 30  # a mutated shape can ask for everything


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: what killed it ('' if nothing did), and its processor time."""

    mutant: Mutant
    killer: str
    seconds: float


class MutantLoader(SourceFileLoader):
    """Loads one module from a mutant's code instead of its file."""

    mutant: Mutant

    def get_code(self, fullname: str) -> object:
        """Return the mutated module."""
        return self.mutant.code()


class MutantFinder(MetaPathFinder):
    """Finds the mutated module before anybody else does."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        """Return the mutant's module under the name and the file of the original."""
        if fullname != self.mutant.module:
            return None
        path = str(ROOT / self.mutant.path)
        loader = MutantLoader(fullname, path)
        loader.mutant = self.mutant
        return spec_from_file_location(fullname, path, loader=loader)


class Watcher:
    """Runs quick tests first, keeps the time of each test and the name of the first that fails."""

    def __init__(self, times: dict[str, float]) -> None:
        self.expected, self.times, self.failure = times, dict[str, float](), ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort the tests by the time they took without a mutant."""
        items.sort(key=lambda item: self.expected.get(item.nodeid, 0.0))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the time, and a failure in any phase of a test."""
        self.times[report.nodeid] = self.times.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self.failure = self.failure or report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot even be imported."""
        if report.failed:
            self.failure = self.failure or f"{report.nodeid} (import)"


@dataclass(frozen=True)
class Run:
    """How a run of tests ended: wait status, first failure, the time of each test and of all.

    The last is processor time, which does not depend on what else the machine does.
    """

    status: int
    failure: str
    times: dict[str, float]
    seconds: float


def run_tests(tests: tuple[str, ...], watcher: Watcher) -> int:
    """Run tests in this process and return the exit status."""
    hypothesis.settings.register_profile(
        "mutants",
        database=None,
        derandomize=True,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],  # no shrinking
    )
    hypothesis.settings.load_profile("mutants")
    arguments = ["-x", "-q", "--no-header", "--no-summary", "-p", "no:cacheprovider"]
    # Plugins loaded before the fork cannot be rewritten; their asserts are not ours.
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    arguments += ["-p", "no:xdist", f"--rootdir={ROOT}", f"--confcutdir={ROOT}"]
    return int(pytest.main([*arguments, *tests], plugins=[watcher]))


def prepare(mutant: Mutant | None, limit: float, scratch: Path) -> None:
    """Confine this process and put the mutant in place of its module."""
    # Nobody handles these signals: they end the process. The second is for one that only waits.
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, 60 + 10 * limit)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    silence = os.open(scratch / "output", os.O_WRONLY | os.O_CREAT)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    if mutant is not None:
        sys.meta_path.insert(0, MutantFinder(mutant))
        if mutant.path in COMPILED:
            # numba's cache does not see a changed constant or a changed callee.
            os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = str(scratch)


def forked(tests: tuple[str, ...], mutant: Mutant | None, limit: float, first: Run | None) -> Run:
    """Run tests in a fork with the mutant in place, in the order that the first run suggests."""
    scratch = Path(tempfile.mkdtemp(prefix="mutant-"))
    child = os.fork()
    if child == 0:
        status = 3
        try:
            prepare(mutant, limit, scratch)
            watcher = Watcher({} if first is None else first.times)
            status = run_tests(tests, watcher)
            (scratch / "report").write_text(json.dumps([watcher.failure, watcher.times]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    _, status, usage = os.wait4(child, 0)
    report = scratch / "report"
    failure, times = json.loads(report.read_text()) if report.exists() else ("", {})
    shutil.rmtree(scratch, ignore_errors=True)
    return Run(status, failure, times, usage.ru_utime + usage.ru_stime)


# pytest's exit status for wrong usage and for no tests at all: no mutant does that.
_NO_TESTS_RUN = (4, 5)


def judge(mutant: Mutant, target: Target, first: Run) -> Outcome:
    """Run the tests that hold the mutant's module against it."""
    run = forked(target.tests, mutant, 20 + 4 * first.seconds, first)
    killer = run.failure
    if os.WIFSIGNALED(run.status):
        killer = f"signal {signal.Signals(os.WTERMSIG(run.status)).name}"
    elif run.status != 0 and not killer:
        killer = f"exit status {os.WEXITSTATUS(run.status)}"
        if os.WEXITSTATUS(run.status) in _NO_TESTS_RUN:
            raise RuntimeError(f"The tests of {mutant} did not run: {killer}; mend the campaign.")
    return Outcome(mutant, killer, run.seconds)


def chosen(arguments: argparse.Namespace) -> list[tuple[Mutant, Target]]:
    """Return the drawn mutants that are asked for, those shown to be equivalent left out."""
    every = []
    for path, target in TARGETS.items():
        if arguments.only in path:
            found = drawn(path, arguments.count or target.count, arguments.seed, SPEED)
            found += [m for m in mutants_of(path) if m.key in ALWAYS and m not in found]
            every += [(mutant, target) for mutant in found]
    left = [pair for pair in every if pair[0].key not in EQUIVALENT]
    if arguments.sample:
        # The first mutant of every few modules: a walk through all rooms.
        stride = max(1, len(left) // arguments.sample)
        left = left[::stride][: arguments.sample]
    print(f"{len(every)} mutants drawn with seed {arguments.seed}, {len(left)} to run")
    return left


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="", help="part of a path")
    parser.add_argument("--count", type=int, help="mutants per module in place of the usual number")
    parser.add_argument("--sample", type=int, help="run so many of the drawn mutants")
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    parser.add_argument("--json", type=Path, help="file for the outcomes")
    return parser.parse_args()


def main() -> int:
    """Run a campaign; the exit status is 1 if a mutant survives."""
    arguments = parsed()
    pairs = chosen(arguments)
    if arguments.list:
        print(*(mutant for mutant, _ in pairs), sep="\n")
        return 0
    first: dict[tuple[str, ...], Run] = {}
    outcomes = []
    for mutant, target in pairs:
        if arguments.sample:  # the tests pass without mutants: they are part of the same run
            first[target.tests] = Run(0, "", {}, 20.0)
        if target.tests not in first:
            run = first[target.tests] = forked(target.tests, None, 600.0, None)
            if run.status != 0:
                print(f"The tests fail without any mutant: {run.failure or run.status}")
                return 2
            print(f"{run.seconds:6.1f} s  tests of {mutant.path} pass on the code as it is")
        outcomes.append(judge(mutant, target, first[target.tests]))
        last = outcomes[-1]
        print(f"{last.seconds:6.1f} s  {last.killer or 'SURVIVED'}  {mutant}", flush=True)
    return report(outcomes, arguments.json)


def report(outcomes: list[Outcome], file: Path | None) -> int:
    """Say how many were killed, and list those that were not."""
    survivors = [outcome.mutant for outcome in outcomes if not outcome.killer]
    if file is not None:
        rows = [[*o.mutant.key, o.killer, round(o.seconds, 2)] for o in outcomes]
        file.write_text(json.dumps(rows, indent=1))
    killed = len(outcomes) - len(survivors)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    print(f"{killed} of {len(outcomes)} mutants killed in {seconds:.0f} s of processor time")
    for mutant in survivors:
        print(f"survived: {mutant}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
