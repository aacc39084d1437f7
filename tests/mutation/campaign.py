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
import time
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
from mutants import ROOT, Mutant, drawn
from targets import COMPILED, SEED, SPEED, TARGETS, Target

MEMORY = 8 << 30  # a mutated shape can ask for everything


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant: what killed it ('' if nothing did), and how long that took."""

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


class FirstFailure:
    """Remembers the first test that fails."""

    name = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure in any phase of a test."""
        if report.failed and not self.name:
            self.name = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note a file that cannot even be imported."""
        if report.failed and not self.name:
            self.name = f"{report.nodeid} (import)"


def run_tests(tests: tuple[str, ...]) -> tuple[int, str]:
    """Run tests in this process; return the exit status and the first failure."""
    hypothesis.settings.register_profile(
        "mutants",
        database=None,
        derandomize=True,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],  # no shrinking
    )
    hypothesis.settings.load_profile("mutants")
    watcher = FirstFailure()
    arguments = ["-x", "-q", "--no-header", "--no-summary", "-p", "no:cacheprovider"]
    # Plugins loaded before the fork cannot be rewritten; their asserts are not ours.
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    arguments += ["-p", "no:xdist", f"--rootdir={ROOT}", f"--confcutdir={ROOT}"]
    status = int(pytest.main([*arguments, *tests], plugins=[watcher]))
    return status, watcher.name


def forked(tests: tuple[str, ...], mutant: Mutant | None, limit: float) -> tuple[int, str]:
    """Run tests in a fork with the mutant in place; return its wait status and first failure."""
    scratch = Path(tempfile.mkdtemp(prefix="mutant-"))
    report = scratch / "first_failure"
    child = os.fork()
    if child == 0:
        status = 3
        try:
            signal.setitimer(signal.ITIMER_REAL, limit)  # nobody handles it: the process ends
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
            status, name = run_tests(tests)
            report.write_text(name)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    name = report.read_text() if report.exists() else ""
    if os.environ.get("MUTANT_OUTPUT"):
        print((scratch / "output").read_text())
    shutil.rmtree(scratch, ignore_errors=True)
    return status, name


def judge(mutant: Mutant, tests: tuple[str, ...], limit: float) -> Outcome:
    """Run the tests that hold the mutant's module against it."""
    began = time.perf_counter()
    status, name = forked(tests, mutant, limit)
    if os.WIFSIGNALED(status):
        name = f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    elif status != 0 and not name:
        name = f"exit status {os.WEXITSTATUS(status)}"
    return Outcome(mutant, name, time.perf_counter() - began)


def chosen(arguments: argparse.Namespace) -> list[tuple[Mutant, Target]]:
    """Return the drawn mutants that are asked for, those shown to be equivalent left out."""
    every = [
        (mutant, target)
        for path, target in TARGETS.items()
        if arguments.only in path
        for mutant in drawn(path, arguments.count or target.count, arguments.seed, SPEED)
    ]
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
    parser.add_argument("--count", type=int, help="mutants a module in place of the usual number")
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
    began = time.perf_counter()
    limits: dict[tuple[str, ...], float] = {}
    outcomes = []
    for mutant, target in pairs:
        if target.tests not in limits:
            start = time.perf_counter()
            status, name = forked(target.tests, None, 600.0)
            if status != 0:
                print(f"The tests fail without any mutant: {name or status}")
                return 2
            seconds = time.perf_counter() - start
            print(f"{seconds:6.1f} s  tests of {mutant.path} pass on the code as it is")
            limits[target.tests] = 20 + 4 * seconds
        outcomes.append(judge(mutant, target.tests, limits[target.tests]))
        last = outcomes[-1]
        print(f"{last.seconds:6.1f} s  {last.killer or 'SURVIVED'}  {mutant}", flush=True)
    return report(outcomes, time.perf_counter() - began, arguments.json)


def report(outcomes: list[Outcome], seconds: float, file: Path | None) -> int:
    """Say how many were killed, and list those that were not."""
    survivors = [outcome.mutant for outcome in outcomes if not outcome.killer]
    if file is not None:
        rows = [[*o.mutant.key, o.killer, round(o.seconds, 2)] for o in outcomes]
        file.write_text(json.dumps(rows, indent=1))
    killed = len(outcomes) - len(survivors)
    print(f"{killed} of {len(outcomes)} mutants killed in {seconds:.0f} s")
    for mutant in survivors:
        print(f"survived: {mutant}")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
