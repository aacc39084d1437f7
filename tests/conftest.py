"""What all tests share: one BLAS thread per process, and where the public data sets are."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]
settings.register_profile("busy", deadline=None)  # a busy machine is not a failure
settings.load_profile("busy")


@pytest.fixture(scope="session", autouse=True)
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra to one thread: processes on few cores would fight otherwise."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def data_file() -> Callable[[str], Path]:
    """Find the file of a public data set by its name; the test is skipped where it is not there."""
    folder = Path(os.environ.get("LEML_DATA") or ROOT.parent / "shared" / "data")

    def find(name: str) -> Path:
        path = folder / f"{name}.npz"
        if not path.is_file():
            pytest.skip(f"needs {name}.npz; set LEML_DATA to the folder of the data sets")
        return path

    return find


def pytest_terminal_summary(terminalreporter):
    """Report the kill rate of the mutations of paper_checks; their processes only count them."""
    reports = terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])
    killed = [
        value
        for report in reports
        if report.when == "call"
        for name, value in report.user_properties
        if name == "mutation_killed"
    ]
    if killed:
        rate = f"{sum(killed)} of {len(killed)} mutations killed"
        terminalreporter.write_line(f"paper_checks: {rate} ({sum(killed) / len(killed):.1%})")


@pytest.fixture
def own_names():
    """Forget names that a test registers, at its end or when the returned function is called."""
    from leml_solver import LOSSES
    from leml_theory import plugins, worlds
    from leml_theory.bounds import COMPLEXITY_BOUNDS, RISK_BOUNDS
    from leml_theory.measurements import MEASUREMENTS
    from leml_theory.sweep.experiments import EXPERIMENTS
    from leml_theory.sweep.experiments.custom import WORLDS

    tables = (LOSSES, COMPLEXITY_BOUNDS, RISK_BOUNDS, MEASUREMENTS, EXPERIMENTS, WORLDS)
    tables += (worlds.LAWS, worlds.LABELS, plugins._LOADED)
    before = [dict(table) for table in tables]

    def forget():
        for table, entries in zip(tables, before, strict=True):
            table.clear()
            table.update(entries)

    yield forget
    forget()
