"""From the results frame to a summary: slopes beside predictions, checks, violations, versions."""

import json
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from command_line import counted, painted
from leml_theory.runs.cells import digest, json_ready
from leml_theory.runs.provenance import installed_version
from leml_theory.sweep.experiments import CheckRow, Experiment, SlopeRow
from leml_theory.sweep.frame import (
    comparisons,
    contradictions,
    sharp_rows,
    undecided_bounds,
    violations,
)
from leml_theory.sweep.tables import slope_frame, text_lines
from safe_files import read_whole

_PACKAGES = ("leml-theory", "numpy", "scipy", "pandas", "numba", "matplotlib", "seaborn")
_SIGN = {"agrees": "ok", "approaches": "ok", "marginal": "?", "fails": "FAILS"}


@dataclass(frozen=True, slots=True)
class Summary:
    """What a sweep found."""

    slopes: list[SlopeRow]
    checks: list[CheckRow]
    violations: list[dict[str, Any]]
    comparisons: int
    undecided: list[dict[str, Any]] = field(default_factory=list)
    contradictions: list[dict[str, Any]] = field(default_factory=list)
    sharp_predictions: int = 0

    @property
    def failures(self) -> int:
        """How many slopes and checks did not come out as recorded."""
        verdicts = [row.verdict for row in self.slopes] + [row.verdict for row in self.checks]
        return verdicts.count("fails")

    @property
    def exit_status(self) -> int:
        """0 when all is well, 1 after a violation, a contradiction or a failure."""
        return int(bool(self.violations or self.contradictions or self.failures))


def summarise(frame: pd.DataFrame, experiments: Iterable[Experiment]) -> Summary:
    """Fit the slopes, run the checks and look for violations and contradictions."""
    chosen = list(experiments)
    return Summary(
        [row for experiment in chosen for row in experiment.slopes(frame)],
        [row for experiment in chosen for row in experiment.check_rows(frame)],
        violations(frame),
        comparisons(frame),
        undecided_bounds(frame),
        contradictions(frame),
        len(sharp_rows(frame)),
    )


def summary_json(summary: Summary, run: dict[str, Any]) -> str:
    """Return the summary as JSON with its checksum; `run` adds what is known of the run."""
    content = json_ready({**run, **asdict(summary), "versions": versions()})
    return json.dumps({**content, "checksum": digest(content)}, indent=2, allow_nan=False) + "\n"


def read_summary(path: Path) -> dict[str, Any]:
    """Return what a summary.json holds; ValueError if it is not what a sweep wrote.

    Summaries of versions before 0.3.0 have no checksum and are taken as they are.
    """
    try:
        content = json.loads(read_whole(path))
        known = content.pop("checksum", None)
        old = known is None and content["versions"]["leml-theory"] in ("0.1.0", "0.2.0")
        intact = old or known == digest(content)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        intact = False
    if not intact:
        raise ValueError(
            f"`{path}` is missing or has changed since it was written; run the sweep again to "
            "restore it."
        )
    return content  # type: ignore[no-any-return]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version()} | {x: installed_version(x) for x in _PACKAGES}


def slope_table(summary: Summary) -> list[str]:
    """Return the slopes as aligned lines, no wider than the terminal."""
    if not summary.slopes:
        return []
    first, *others = text_lines(slope_frame(summary.slopes))
    verdicts = [row.verdict for row in summary.slopes]
    return [first, *map(_painted, others, verdicts), *others[len(verdicts) :]]


def _painted(line: str, verdict: str) -> str:
    """Return a line in red where something fails, in yellow where it is marginal."""
    colour = {"fails": "red", "marginal": "yellow"}.get(verdict)
    return painted(line, colour) if colour else line


def check_table(summary: Summary) -> list[str]:
    """Return the checks as aligned lines."""
    return [
        _painted(
            f"{_SIGN.get(row.verdict, ''):5}  {row.experiment:4} {row.name}: {row.detail}",
            row.verdict,
        )
        for row in summary.checks
    ]


def verdict_lines(summary: Summary) -> list[str]:
    """Return the closing lines: what is violated, undecided, contradicted and not as recorded."""
    lines = [_comparison(row, "violates") for row in summary.violations]
    lines += [
        f"{_comparison(row, 'lies above')} All draws are equal, which decides nothing: take more."
        for row in summary.undecided
    ]
    rest = f", {len(summary.undecided)} undecided" if summary.undecided else ""
    violations = counted(len(summary.violations), "violation")
    held = counted(summary.comparisons, "comparison")
    lines.append(f"{violations}{rest} in {held} with valid bounds.")
    lines += [_contradiction(row) for row in summary.contradictions]
    found = counted(len(summary.contradictions), "contradiction")
    sharp = counted(summary.sharp_predictions, "comparison")
    lines.append(f"{found} in {sharp} with sharp predictions.")
    verdicts = [r.verdict for r in summary.slopes] + [r.verdict for r in summary.checks]
    if total := sum(verdict != "reported" for verdict in verdicts):
        passed = total - summary.failures
        lines.append(f"{passed} of {total} slopes and checks came out as recorded.")
    return lines


def _comparison(row: dict[str, Any], relation: str) -> str:
    """Return in words how one measured value compares with one bound."""
    return (
        f"{row['experiment']} {row['series']}: {row['quantity']} {row['value']:.4g} of the "
        f"{row['ball']} ball {relation} {row['bound']} = {row['bound_value']:.4g} at "
        f"n = {row['n']}, d = {row['d']}, L = {row['L']}."
    )


def _contradiction(row: dict[str, Any]) -> str:
    """Return in words which cell contradicts its sharp prediction."""
    return (
        f"{row['experiment']} {row['series']}: {row['quantity']} {row['value']:.4g} "
        f"(s.e. {row['stderr']:.2g}) of {row['ball']} contradicts its sharp prediction "
        f"{row['predicted']:.4g} at law = {row['law']}, labels = {row['labels']}, n = {row['n']}, "
        f"d = {row['d']}, L = {row['L']}, s = {row['s']}, skew = {row['skew']}, "
        f"radius = {row['radius']:.4g}."
    )
