"""The command `python -m paper_checks reproduce`: the tables of Section 5, from data."""

import argparse
import functools
import hashlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from command_line import add_jobs, add_seed, counted, number, page_parser, run_command, words
from leml_solver.datasets import data_folder
from leml_theory.runs import Cell, RunError, Store, StoreError, execute
from leml_theory.runs.provenance import installed_version
from paper_checks.reproduction.findings import findings
from paper_checks.reproduction.growing import growing, within
from paper_checks.reproduction.measuring import measure
from paper_checks.reproduction.planning import LARGE, METHODS, TABLES, Plan, Request, make_plan
from paper_checks.reproduction.tables import Measured, page, results_table, terminal_lines
from safe_files import write_text

_DESCRIPTION = """\
Train what Tables 3 and 5 to 15 of the paper compare on data that you have, and set our numbers
beside the printed ones.  Every open parameter is chosen by cross-validation on training rows.
"""
_EPILOGUE = """\
examples:
  python -m paper_checks reproduce --data data --out tables --dataset bibtex --table 6,7,8,9,10
  python -m paper_checks reproduce --data data --out tables --table 6 --method CPLST,LEML
  python -m paper_checks reproduce --data data --out tables --table 5        20 % of labels observed

DIR holds NAME.npz files; nothing is downloaded.  OUT gets tables.csv, tables.md, figure_1 and
figure_2 (PNG, SVG and PDF) of this selection; tables.csv and tables.md grow with every training.  A
run that was killed or has used up its budget continues where it stopped when the same command is
given again, and another selection with the same OUT measures only what is not there yet.
Exit status: 0 all is measured, 1 some trainings failed or are left over, 2 wrong usage, data
or folder.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    return run_command("reproduce", lambda: _reproduce(options), unusable=(StoreError,))


def _parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = page_parser("paper_checks reproduce", _DESCRIPTION, _EPILOGUE)
    add = parser.add_argument
    add("--data", metavar="DIR", help="folder of NAME.npz (default: $LEML_DATA)")
    add("--out", required=True, metavar="OUT", help="output folder")
    add("--dataset", type=words, default=[], metavar="NAMES", help="such as bibtex,delicious")
    add("--table", type=words, default=[], metavar="NUMBERS", help="such as 6,7,8,9,10")
    add("--method", type=words, default=[], metavar="NAMES", help=", ".join(METHODS))
    text = "fewer starts, patterns and folds, and a budget of a minute"
    add("--quick", action="store_true", help=text)
    text = "minutes after which a partial table is printed (default: no limit; 1 with --quick)"
    add("--budget", type=number(0.01, 1e6), metavar="MINUTES", help=text)
    text = "measure again what other code or another version measured"
    add("--recompute", action="store_true", help=text)
    add_seed(parser)
    add_jobs(parser)
    return parser


def _request(options: argparse.Namespace) -> Request:
    """Return the selection, or say which name is not known."""
    known = [str(number) for number in sorted([*TABLES, *LARGE])]
    if strange := [word for word in options.table if word not in known]:
        raise ValueError(f"no table {', '.join(strange)}; there are {', '.join(known)}.")
    names = {name.lower(): name for name in METHODS}
    if strange := [word for word in options.method if word.lower() not in names]:
        raise ValueError(f"no method {', '.join(strange)}; there are {', '.join(METHODS)}.")
    return Request(
        folder=data_folder(options.data),
        datasets=tuple(options.dataset),
        tables=tuple(map(int, options.table)),
        methods=tuple(names[word.lower()] for word in options.method),
        quick=options.quick,
        seed=options.seed,
    )


def _reproduce(options: argparse.Namespace) -> int:
    """Measure what is missing, then write and print the tables."""
    request = _request(options)
    plan = make_plan(request)
    cells = plan.all_cells()
    store = _store(Path(options.out), cells, options.recompute)
    for note in plan.notes:
        print(note, file=sys.stderr)
    minutes = options.budget or (1.0 if options.quick else 0.0)
    limit = f", at most {minutes:g} min" if minutes else ""
    sizes = counted(len(cells), "training"), counted(options.jobs, "process", "processes")
    print(", ".join(sizes) + limit, file=sys.stderr)
    grown = functools.partial(_grown, Path(options.out), plan, store, _run(options, plan), set())
    with growing(cells, store, options.jobs, grown):
        failure = _measure(cells, store, request, options, minutes)
    measured = Measured(plan, store.load())
    frame = results_table(measured)
    _write_texts(Path(options.out), frame, measured, _run(options, plan))
    _draw(Path(options.out), frame)
    for line in (*terminal_lines(frame), "", *findings(measured, frame)):
        print(line)
    print(f"Tables and figures are in {options.out}.")
    if failure:
        print(f"reproduce: {failure}", file=sys.stderr)
    return int(bool(failure))


def _grown(out: Path, plan: Plan, store: Store, run: str, shown: set[int]) -> None:
    """Write the table as far as it goes, and print the rows that are new."""
    measured = Measured(plan, store.load())
    frame = results_table(measured)
    _write_texts(out, frame, measured, f"{run} Partial: {len(measured.records)} done.")
    keys = [hash(tuple(row)) for row in frame.iloc[:, :8].astype(str).itertuples(index=False)]
    new = frame.loc[[key not in shown for key in keys]]  # without loc, [] would drop the columns
    shown.update(keys)
    for line in terminal_lines(new):
        print(line, flush=True)


def _run(options: argparse.Namespace, plan: Plan) -> str:
    """Say how the numbers were made."""
    size = "quick run" if options.quick else "full run"
    return f"{size}, seed {options.seed}, {counted(len(plan.all_cells()), 'training')}."


def _store(out: Path, cells: Sequence[Cell], recompute: bool) -> Store:
    """Open the store of this selection, with what other selections in the folder have measured.

    A cell's key says all about it, so that its result may move between stores of one version.
    """
    grid = {cell.key: cell for cell in cells}
    name = hashlib.sha256("".join(sorted(grid)).encode("ascii")).hexdigest()[:16]
    folder = out / "cells" / name
    description = {"version": installed_version("leml-theory")}
    store = Store.create(folder, cells, description=description, recompute=recompute)
    for other in [] if recompute else sorted((out / "cells").iterdir()):
        found = Store.open(other)
        wanted = grid.keys() - store.load()
        if other != folder and found.manifest.description == description and wanted:
            store.adopt(found, wanted)
    return store


def _measure(
    cells: Sequence[Cell],
    store: Store,
    request: Request,
    options: argparse.Namespace,
    minutes: float,
) -> str:
    """Measure the cells that are missing within the budget; return what failed or is left."""
    start, work = time.monotonic(), functools.partial(measure, request.folder)
    try:
        with within(minutes):
            execute(
                cells,
                store,
                jobs=options.jobs,
                measure=work,
                recompute=options.recompute,
                progress=False,
                in_order=True,
            )
    except RunError as error:
        return str(error)
    except KeyboardInterrupt as stop:
        if not minutes or time.monotonic() - start < 60 * minutes:
            raise
        rest = str(stop).removeprefix("Interrupted. ")
        return f"the budget of {minutes:g} min is used up. {rest}"
    return ""


def _write_texts(out: Path, frame: pd.DataFrame, measured: Measured, run: str) -> None:
    """Write the table and the page."""
    write_text(out / "tables.csv", frame.to_csv(index=False))
    text = page(frame, findings(measured, frame), measured.plan.notes, run)
    write_text(out / "tables.md", text)


def _draw(out: Path, frame: pd.DataFrame) -> None:
    """Draw the figures that the selection permits; those of an earlier selection go away."""
    from leml_theory.plots import save_figure
    from paper_checks.reproduction.figures import plot_figure_1, plot_figure_2

    for name, plot in {"figure_1": plot_figure_1, "figure_2": plot_figure_2}.items():
        figure = plot(frame)
        if figure is not None:
            save_figure(figure, out, name)
        else:
            for ending in ("png", "svg", "pdf"):
                (out / f"{name}.{ending}").unlink(missing_ok=True)
