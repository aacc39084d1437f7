"""The report of a run: a page of results, the errata, and pictures."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from command_line import output_folder
from documents import write_document
from paper_checks.checking.errata import TITLE, compared, errata
from paper_checks.checking.running import Result, one_thread
from paper_checks.checking.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# Experiments of the sweep whose pictures belong here, with what they show.
EXPERIMENTS = {
    "X3": "The L > d transition: the rate of Theorem 4 holds up to L = d and stops there; the "
    "excess risk grows in the counterexample with a clipped loss.",
    "X1": "Theorem 3 and Claim 7: slopes against n and L beside their predictions.",
    "X2": "Theorem 4: slopes against n and L = d beside their sharp finite-size predictions.",
    "X11": "Counterexamples to what the theorems leave out: heavy tails, features that are not "
    "centred, fewer points than labels, features that are not normalised.",
}
_SKETCHES = {
    "two_minima": "Section 6: outside the two cases of the convergence remark there are strict "
    "local minima (A6).",
    "saddle_starts": "Section 3: the convergence remark needs a generic start (A5).",
    "logistic_row": "Table 1: both derivatives of the logistic loss are misprinted (A12, A13).",
}


def write_report(results: Sequence[Result], folder: str, *, quick: bool, seed: int) -> Path:
    """Write `report.md`, `errata.md` and the pictures, and return the page's path.

    Parameters
    ----------
    results : sequence of Result
        As `run` yields them.
    folder : str
        Made where it does not exist; files of an earlier report are replaced.
    quick : bool
        How the results were made; the page says so.
    seed : int
        Seed of the measurements behind the pictures.
    """
    target = output_folder(folder, "--report")
    drawn = _draw(target, seed)
    wrong = [result for result in results if result.statement.verdict is not Verdict.HOLDS]
    write_document(errata(wrong, len(results)), target / "errata.md", title=TITLE)
    page = _page(results, drawn, f"{'quick' if quick else 'full'} run, seed {seed}")
    return write_document(page, target / "report.md", title="The paper, statement by statement")


def _draw(folder: Path, seed: int) -> dict[str, str]:
    """Draw all pictures and return their captions by file name."""
    from leml_theory.plots import plot_experiment, save_figure
    from leml_theory.plots.style import picture_style
    from paper_checks.checking import pictures

    frame = _measure(seed)
    draw: dict[str, Callable[[], Figure]] = {
        name: partial(plot_experiment, frame, name) for name in EXPERIMENTS
    }
    draw |= {name: getattr(pictures, f"plot_{name}") for name in _SKETCHES}
    for name, function in draw.items():
        with picture_style():
            figure = function()
        save_figure(figure, folder, name)
    return {**EXPERIMENTS, **_SKETCHES}


def _measure(seed: int) -> pd.DataFrame:
    """Measure the small grids of the sweep behind the pictures."""
    from leml_theory.measurements import measure
    from leml_theory.runs.cells import Cell
    from leml_theory.sweep.experiments import EXPERIMENTS as ALL
    from leml_theory.sweep.frame import results_frame

    plans = {name: ALL[name].plan("quick") for name in EXPERIMENTS}
    cells = {
        cell.key: cell
        for plan in plans.values()
        for cell in (Cell(item.kind, item.parameters, seed) for item in plan)
    }
    bar = tqdm(cells.items(), desc="measuring", delay=3, leave=False, file=sys.stderr)
    with one_thread():
        return results_frame(plans, seed, {key: measure(cell) for key, cell in bar})


def _page(results: Sequence[Result], drawn: dict[str, str], how: str) -> str:
    """Return the report as Markdown."""
    counts = Counter(result.statement.verdict for result in results)
    failed = [result.statement.id for result in results if not result.as_recorded]
    verdicts = ", ".join(f"{counts[v]} {v.value}" for v in Verdict if counts[v])
    outcome = f"NOT as recorded: {', '.join(failed)}." if failed else "All come out as recorded."
    parts = [
        "# The paper, statement by statement",
        f"{len(results)} statements ({how}): {verdicts}. {outcome}",
        "What is not plainly right is in [errata.md](errata.md), with its evidence.",
        "## Pictures",
        *(f"![{name}]({name}.png)\n\n{text}" for name, text in drawn.items()),
        "## All statements",
        "\n".join(_table(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _table(results: Sequence[Result]) -> list[str]:
    """Return one row per statement."""
    head = "| id | place | statement | verdict | measured | | predicted | margin |"
    return [head, "|---|---|---|---|---|---|---|---|", *(_row(result) for result in results)]


def _row(result: Result) -> str:
    """Return the row of one statement."""
    s = result.statement
    text = s.says.replace("|", "\\|")
    mark = "" if result.as_recorded else f" (NOT as recorded: {result.objection})"
    start = f"| {s.id} | {s.place} | {text} | {s.verdict.value}{mark} |"
    if result.outcome is None:
        return f"{start} | | | |"
    fact = result.outcome.shown
    relation = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥"}[fact.relation]
    return f"{start} {fact.measured:.5g} | {relation} | {fact.predicted:.5g} | {fact.margin:.2g} |"


def evidence(result: Result) -> list[str]:
    """Return the facts of a result, one line each: name, both sides, tolerance and its reason."""
    if result.outcome is None:
        return [f"no evidence: {result.error}"]
    lines = []
    for fact in result.outcome.facts:
        mark = "" if fact.holds else "FAILS: "
        tolerance = f" (tolerance {fact.tolerance:.2g}: {fact.reason})" if fact.reason else ""
        lines.append(f"{fact.bears.name.lower()}: {mark}{compared(fact)}{tolerance}")
    return lines
