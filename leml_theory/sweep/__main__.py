"""The command `python -m leml_theory.sweep`: risks against n and L beside the bounds."""

import argparse
import hashlib
import io
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from command_line import add_jobs, add_seed, counted, page_parser, run_command, words
from leml_theory.plugins import PluginMeasure, add_plugin, load_plugins
from leml_theory.runs import Cell, Result, RunError, Store, StoreError, execute, read_shard
from leml_theory.runs.provenance import code_of
from leml_theory.sweep.effort import is_large, predicted_effort
from leml_theory.sweep.experiments import EXPERIMENTS, Experiment, Planned
from leml_theory.sweep.experiments.custom import GRID, Grid
from leml_theory.sweep.frame import results_frame
from leml_theory.sweep.grid_options import PICTURE, add_grid_options, grid_of, toml_lines
from leml_theory.sweep.places import add_places, check_places, folders_of, merge, place_of
from leml_theory.sweep.report import (
    Summary,
    check_table,
    read_summary,
    slope_table,
    summarise,
    summary_json,
    verdict_lines,
    versions,
)
from leml_theory.sweep.tables import FORMATS, imprecise, slope_frame, table_text, value_tables
from safe_files import disk_error_text, read_whole, write_text

_DESCRIPTION = """\
Draw synthetic worlds, minimise empirical risks over the trace ball and the Frobenius ball, and plot
the measured risks against n and L beside explicit-constant bounds (Theorems 3, 4, 6, Appendix C).

commands:
  run     measure what is missing, then write tables and pictures (the default)
  plot    draw the pictures again without measuring anything; a killed run's pictures too
  table   print measured values and slopes; a killed run's values too; --format latex for a paper
  report  write report.html again: sliders, all bounds and the measured points, in one file
  status  say how far a run has got, and what it measures
  merge   join the parts that --part measured, then write tables and pictures
"""
_EPILOGUE = """\
examples:
  python -m leml_theory.sweep                              all experiments, small, about a minute
  python -m leml_theory.sweep --preset paper --out full    the full grids
  python -m leml_theory.sweep --only X3,X4                 two experiments
  python -m leml_theory.sweep --n 256,1024,4096 --d 32 --L 8,64 --world shared --out mine
                                                           a grid of your own
  python -m leml_theory.sweep --grid grid.toml --precision 2% --dry-run
                                                           what a grid in a file would cost
  python -m leml_theory.sweep plot --out mine --x L --hue n --style column
                                                           the same results for a paper
  python -m leml_theory.sweep --plugin mine.py --only MINE --out mine
                                                           an experiment of your own
  python -m leml_theory.sweep --preset paper --out full --cluster tcp://head:8786
                                                           on the workers of a Dask scheduler
  python -m leml_theory.sweep --preset paper --out full --part 3/16
  python -m leml_theory.sweep merge --out full             one share of the cells; all shares joined

A killed run continues where it stopped when the same command is given again.  The output folder
holds results.csv (one row per cell and quantity), summary.json, the pictures as PNG, SVG and PDF,
and report.html, a page for a browser that needs no network.  The keys of a grid file are the
names of the options above: n = [256, 1024], world = "shared".
Exit status: 0 all is well; 1 a bound is violated, a sharp prediction is contradicted or a check
fails; 2 wrong usage or folder.
"""
_COMMANDS = ("run", "plot", "table", "report", "status", "merge")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    work = partial(_work, arguments)
    return run_command("sweep", work, unusable=(StoreError,), failed=(RunError,))


def _work(arguments: Sequence[str] | None, changes: Mapping[str, Any] | None = None) -> int:
    """Load the plugins, which extend what options may name, then do what the options say."""
    first = argparse.ArgumentParser(add_help=False)
    add_plugin(first)
    plugins = load_plugins(first.parse_known_args(arguments)[0].plugin)
    options = _parser().parse_args(arguments)
    options.plugins = plugins
    options.arguments = list(sys.argv[1:] if arguments is None else arguments)
    vars(options).update(changes or {})
    check_places(options)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "run": _run,
        "plot": _plot,
        "table": _table,
        "report": _report,
        "status": _status,
        "merge": lambda options: merge(options, _work),
    }
    return commands[options.command](options)


def _parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = page_parser("leml_theory.sweep", _DESCRIPTION, _EPILOGUE)
    parser.add_argument("command", nargs="?", default="run", choices=_COMMANDS)
    add, sizes = parser.add_argument, "sizes of the experiments (default %(default)s)"
    add("--preset", default="quick", choices=("quick", "paper"), help=sizes)
    add("--only", type=_ids, metavar="IDS", help="experiments, such as X1,X3 (default: all)")
    add("--out", default="results/sweep", metavar="DIR", help="folder (default %(default)s)")
    add_seed(parser)
    add_jobs(parser)
    add_places(parser)
    add_plugin(parser)
    text = "say how many cells, how much time and how much memory a run takes; keep nothing"
    add("--dry-run", action="store_true", help=text)
    text = "size of the pictures: one column of a paper, a page (default) or a slide"
    add("--style", default="page", choices=("column", "page", "slide"), help=text)
    add("--format", default="text", choices=FORMATS, help="output of `table`")
    grid = parser.add_argument_group(
        "a grid of your own",
        "Values separated by commas; every combination is measured instead of the experiments.",
    )
    add_grid_options(grid.add_argument)
    return parser


def _ids(text: str) -> list[str]:
    """Return experiment ids, in the order of the experiments."""
    known = {name.upper(): name for name in EXPERIMENTS}
    wanted = {known.get(word.upper(), word) for word in words(text)}
    if strange := sorted(wanted - set(EXPERIMENTS)):
        raise argparse.ArgumentTypeError(
            f"no experiment {', '.join(strange)}; there are {', '.join(EXPERIMENTS)}"
        )
    return [name for name in EXPERIMENTS if name in wanted]


def _chosen(options: argparse.Namespace) -> tuple[list[Experiment], dict[str, Any]]:
    """Return the experiments to run, and what describes them to whoever opens the folder."""
    grid = grid_of(options)
    if grid is None:
        ids = options.only or list(EXPERIMENTS)
        return [EXPERIMENTS[name] for name in ids], {"preset": options.preset, "experiments": ids}
    if options.only:
        raise ValueError("--only chooses experiments and cannot go with a grid of your own.")
    return [grid.experiment()], {"experiments": [GRID], "grid": dict(grid.spec)}


def _run(options: argparse.Namespace) -> int:
    """Measure what is missing, then write tables and pictures."""
    experiments, description = _chosen(options)
    plans = {experiment.id: experiment.plan(options.preset) for experiment in experiments}
    cells = _cells(plans, options.seed)
    if options.dry_run or is_large(cells):
        _tell_effort(cells, options)
    if options.dry_run:
        return 0
    description["version"] = versions()["leml-theory"]
    if options.plugins:
        description["plugins"] = [plugin.record for plugin in options.plugins]
    place = place_of(options, cells, description)
    again = options.recompute
    store = Store.create(place.folder, place.cells, description=place.description, recompute=again)
    cells_told = counted(len(place.cells), "cell")
    print(f"{cells_told} in {place.folder}, {place.workers}", file=sys.stderr)
    measure = PluginMeasure(options.plugins)
    if options.merged:
        place.adopt(store, options.merged)
        store.check_code(code_of(measure))
    else:
        where = {"jobs": options.jobs, "cluster": options.cluster}
        execute(place.cells, store, **where, measure=measure, recompute=again)
    if options.part:
        print(f"Part {options.part} is measured; `merge --out {options.out}` joins all parts.")
        return 0
    frame = results_frame(plans, options.seed, store.load())
    summary = summarise(frame, experiments)
    run = {"seed": options.seed, "cells": len(cells), "seconds": store.status().seconds}
    run["origins"] = store.origins()
    _write(options.out, frame, summary, {**description, **run})
    _draw(options, list(plans), frame, description.get("grid", {}))
    _write_page(options.out, frame)
    tables = slope_table(summary) or (value_tables(frame) if GRID in plans else [])
    lines = (*tables, *check_table(summary), *imprecise(frame))
    for line in (*lines, *verdict_lines(summary)):
        print(line)
    print(
        f"Tables and pictures (PNG, SVG and PDF) are in {options.out}; report.html shows them all."
    )
    return summary.exit_status


def _tell_effort(cells: Sequence[Cell], options: argparse.Namespace) -> None:
    """Say what the cells will cost, on standard error where a run follows."""
    shards = sorted(Path(options.out, "shards").glob("*.jsonl"))
    results = [result for path in shards for result in read_shard(path)]
    known = {result.key: result.seconds for result in results if isinstance(result, Result)}
    effort = predicted_effort(cells, known, PluginMeasure(options.plugins))
    for line in effort.lines(options.jobs):
        print(line, file=sys.stdout if options.dry_run else sys.stderr)


def _cells(plans: dict[str, list[Planned]], seed: int) -> list[Cell]:
    """Return the distinct cells of all plans; experiments may share some."""
    for name, plan in plans.items():
        if not (plan and isinstance(plan, list) and all(isinstance(c, Planned) for c in plan)):
            raise TypeError(f"The plan of {name} must return a list of Planned, got {plan!r:.60}.")
    cells = (Cell(item.kind, item.parameters, seed) for plan in plans.values() for item in plan)
    return list({cell.key: cell for cell in cells}.values())


def _write(out: str, frame: pd.DataFrame, summary: Summary, run: dict[str, Any]) -> None:
    """Write results.csv and summary.json."""
    table = frame.to_csv(index=False)
    run = {**run, "results_sha256": hashlib.sha256(table.encode()).hexdigest()}
    with _writing(out):
        write_text(Path(out, "results.csv"), table)
        write_text(Path(out, "summary.json"), summary_json(summary, run))


@contextmanager
def _writing(out: str) -> Iterator[None]:
    """Explain where a write failed, and that nothing measured is lost."""
    try:
        yield
    except OSError as error:
        text = disk_error_text(f"write into `{out}`", error)
        raise StoreError(f"{text} What was measured is safe.") from error


def _draw(
    options: argparse.Namespace, ids: Sequence[str], frame: pd.DataFrame, grid: dict[str, Any]
) -> None:
    """Draw every picture that the frame permits."""
    from leml_theory import plots

    style = {"style": options.style}
    pictures: dict[str, Callable[[], Any]] = {
        name: partial(plots.plot_experiment, frame, name, **style) for name in ids if name != GRID
    }
    if GRID in ids:
        axes = {name: getattr(options, name) or grid.get(name, "") for name in PICTURE}
        pictures |= {
            name: partial(plots.plot_grid, frame, quantity=quantity, **axes, **style)
            for name, quantity in plots.grid_quantities(frame).items()
        }
    if {"X2", "X5"} <= set(ids):
        pictures["risk_against_n"] = partial(plots.plot_risk_against_n, frame, **style)
        pictures["risk_against_labels"] = partial(plots.plot_risk_against_labels, frame, **style)
    for name, draw in tqdm(pictures.items(), desc="pictures", leave=False, disable=None):
        figure = draw()
        with _writing(options.out):
            plots.save_figure(figure, Path(options.out), name)


def _write_page(out: str, frame: pd.DataFrame) -> None:
    """Write report.html from the results and summary.json."""
    from leml_theory.sweep.page import report_page

    page = report_page(frame, read_summary(Path(out, "summary.json")))
    with _writing(out):
        write_text(Path(out, "report.html"), page)


def _report(options: argparse.Namespace) -> int:
    """Write report.html again from results.csv and summary.json."""
    _write_page(options.out, _read_table(Path(options.out, "results.csv")))
    print(f"The report is {Path(options.out, 'report.html')}.")
    return 0


def _measured(options: argparse.Namespace) -> tuple[pd.DataFrame, list[str], dict[str, Any]]:
    """Return what a folder holds, of a killed run too: its table, the chosen ids, its grid."""
    path = Path(options.out, "results.csv")
    if not Path(options.out, "manifest.json").is_file():
        raise ValueError(f"`{path}` does not exist; run the sweep with --out {options.out} first.")
    store = Store.open(options.out)
    frame = _read_table(path) if path.is_file() else _partial(store)
    measured = list(dict.fromkeys(frame["experiment"]))
    if strange := [name for name in options.only or [] if name not in measured]:
        raise ValueError(f"`{path}` holds no {', '.join(strange)}; it has {', '.join(measured)}.")
    return frame, options.only or measured, store.manifest.description.get("grid", {})


def _partial(store: Store) -> pd.DataFrame:
    """Return the results frame of the cells that a run has measured so far."""
    description, status = store.manifest.description, store.status()
    known = _known(description["experiments"], description.get("grid", {}))
    if strange := [name for name in description["experiments"] if name not in known]:
        raise ValueError(f"Experiment {strange[0]} is not known; give the --plugin with it.")
    plans = {name: one.plan(description.get("preset", "quick")) for name, one in known.items()}
    frame = results_frame(plans, store.manifest.seed, store.load())
    done = f"{status.done} of {status.total} cells are measured so far"
    if frame.empty:
        raise ValueError(f"`{store.folder}`: {done}; run the same command again to continue.")
    print(f"{done}; what they show may change.", file=sys.stderr)
    return frame


def _known(ids: Sequence[str], grid: dict[str, Any]) -> dict[str, Experiment]:
    """Return those of the experiments that are known here, a grid from its specification."""
    known = {**EXPERIMENTS, **({GRID: Grid(grid).experiment()} if grid else {})}
    return {name: known[name] for name in ids if name in known}


def _plot(options: argparse.Namespace) -> int:
    """Draw the pictures again from what is measured."""
    frame, ids, grid = _measured(options)
    _draw(options, ids, frame, grid)
    print(f"Pictures (PNG, SVG and PDF) are in {options.out}.")
    return 0


def _table(options: argparse.Namespace) -> int:
    """Print the measured values, and the slopes where there are some."""
    frame, ids, grid = _measured(options)
    rows = frame[frame["experiment"].isin(ids)]
    print("\n\n".join(value_tables(rows, options.format)))
    slopes = [row for one in _known(ids, grid).values() for row in one.slopes(frame)]
    if slopes:
        print("\n" + table_text(slope_frame(slopes), options.format, "Slopes in log-log scale"))
    return 0


def _read_table(path: Path) -> pd.DataFrame:
    """Read results.csv, which must not have changed since the run wrote it."""
    if not path.is_file():
        raise ValueError(f"`{path}` does not exist; run the sweep with --out {path.parent} first.")
    content = read_whole(path)
    written = read_summary(path.with_name("summary.json")).get("results_sha256")
    if written != hashlib.sha256(content).hexdigest():
        raise ValueError(
            f"`{path}` has changed since it was written; run the sweep again to restore it."
        )
    # Before 3.1 pandas reads numbers to the last bit only if asked; later it warns if asked.
    older = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    exact: dict[str, Any] = {"float_precision": "round_trip"} if older else {}
    frame: pd.DataFrame = pd.read_csv(io.BytesIO(content), **exact)
    return frame


def _status(options: argparse.Namespace) -> int:
    """Say how far a run has got, and each of its parts."""
    return max(_folder_status(folder) for folder in folders_of(Path(options.out)))


def _folder_status(folder: Path) -> int:
    """Say how far the run in a folder has got, and where its results come from."""
    store = Store.open(folder)
    status = store.status()
    print(f"{folder}: {status.done} of {status.total} cells, {status.seconds:.0f} s measured")
    for key, value in store.manifest.description.items():
        if key != "grid":
            print(f"  {key}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    for origin in store.origins():
        print(f"  {origin['cells']} cells on {origin['processor']}, {', '.join(origin['blas'])}")
    if grid := store.manifest.description.get("grid"):
        print(
            "\n".join(["  grid, as --grid FILE reads it:", *(f"    {t}" for t in toml_lines(grid))])
        )
    for line in status.damage:
        print(f"  damaged: {line}")
    return 2 if status.damage else 0


if __name__ == "__main__":
    sys.exit(main())
