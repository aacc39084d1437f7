"""One thread in every check, as the command runs them; the kill rate at the end of a test run."""

import pytest

from paper_checks.running import one_thread


@pytest.fixture(autouse=True)
def single_thread():
    """Keep the compiled loops on one thread."""
    with one_thread():
        yield


def pytest_terminal_summary(terminalreporter):
    """Count the mutations that the checks noticed."""
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
