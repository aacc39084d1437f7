"""The command `python -m leml_theory.sweep`: risks against n and L beside the bounds."""

from __future__ import annotations

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

from command_line import (
    add_jobs,
    add_seed,
    numbers,
    page_parser,
    run_command,
    whole_number,
    whole_numbers,
    words,
)
from leml_theory.plugins import PluginMeasure, load_plugins
from leml_theory.runs import Cell, RunError, Store, StoreError, execute
from leml_theory.runs.provenance import code_of
from leml_theory.sweep.experiments import EXPERIMENTS, Experiment, Planned
from leml_theory.sweep.experiments.custom import AXES, WORLDS, Grid
from leml_theory.sweep.frame import results_frame
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
from leml_theory.worlds import LAWS
from safe_files import disk_error_text, write_text

_DESCRIPTION = """\
Draw synthetic worlds, minimise empirical risks over the trace ball and the Frobenius ball, and plot
the measured risks against n and L beside explicit-constant bounds (Theorems 3, 4, 6, Appendix C).

commands:
  run     measure what is missing, then write tables and pictures (the default)
  plot    draw the pictures again from results.csv, without measuring anything
  report  write report.html again: sliders, all bounds and the measured points, in one file
  status  say how far a run has got
  merge   join the parts that --part measured, then write tables and pictures
"""
_EPILOGUE = """\
examples:
  python -m leml_theory.sweep                              all experiments, small, about a minute
  python -m leml_theory.sweep --preset paper --out full    the full grids
  python -m leml_theory.sweep --only X3,X4                 two experiments
  python -m leml_theory.sweep --n 256,1024,4096 --d 32 --L 8,64 --world shared --out mine
                                                           a grid of your own
  python -m leml_theory.sweep --plugin mine.py --only MINE --out mine
                                                           an experiment of your own
  python -m leml_theory.sweep --preset paper --out full --cluster tcp://head:8786
                                                           on the workers of a Dask scheduler
  python -m leml_theory.sweep --preset paper --out full --part 3/16
  python -m leml_theory.sweep merge --out full             a share of the cells; all shares joined

A killed run continues where it stopped when the same command is given again.  The output folder
holds results.csv (one row per cell and quantity), summary.json, the pictures as PNG and SVG, and
report.html, a page for a browser that needs no network.
Exit status: 0 all is well; 1 a bound is violated, a sharp prediction is contradicted or a check
fails; 2 wrong usage or folder.
"""
_COMMANDS = ("run", "plot", "table", "report", "status", "merge")
_LARGEST = 2**60  # points whose binomial counts still are 64-bit numbers


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    work = partial(_work, arguments)
    return run_command("sweep", work, unusable=(StoreError,), failed=(RunError,))


def _work(arguments: Sequence[str] | None, changes: Mapping[str, Any] | None = None) -> int:
    """Load the plugins, which extend what options may name, then do what the options say."""
    first = argparse.ArgumentParser(add_help=False)
    _add_plugin(first)
    plugins = load_plugins(first.parse_known_args(arguments)[0].plugin)
    options = _parser().parse_args(arguments)
    options.plugins = plugins
    options.arguments = list(sys.argv[1:] if arguments is None else arguments)
    vars(options).update(changes or {})
    check_places(options)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "run": _run,
        "plot": _plot,
        "report": _report,
        "status": _status,
        "merge": lambda options: merge(options, _work),
    }
    return commands[options.command](options)


def _add_plugin(parser: argparse.ArgumentParser) -> None:
    """Add ``--plugin FILE``, which may be given several times."""
    text = "Python file that registers laws, losses, labels, bounds or experiments; may be repeated"
    parser.add_argument("--plugin", action="append", default=[], metavar="FILE", help=text)


def _parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = page_parser("leml_theory.sweep", _DESCRIPTION, _EPILOGUE)
    parser.add_argument("command", nargs="?", default="run", choices=_COMMANDS)
    parser.add_argument("--preset", default="quick", choices=("quick", "paper"), help="grid sizes")
    parser.add_argument("--only", type=_ids, metavar="IDS", help="experiments, such as X1,X3")
    parser.add_argument("--out", default="results/sweep", metavar="DIR", help="output folder")
    add_seed(parser)
    add_jobs(parser)
    add_places(parser)
    _add_plugin(parser)
    grid = parser.add_argument_group(
        "a grid of your own",
        "Values separated by commas; every combination is measured instead of the experiments.",
    )
    _add_grid(grid.add_argument)
    return parser


def _add_grid(add: Callable[..., object]) -> None:
    """Add the axes of a grid of the user's own."""
    sizes = whole_numbers(1, _LARGEST)
    add("--n", type=sizes, metavar="N,...", help="points (default 256,1024,4096)")
    add("--d", type=sizes, metavar="D,...", help="features (default 32)")
    add("--L", type=sizes, metavar="L,...", help="labels (default 32)")
    add("--s", type=sizes, metavar="S,...", help="labels seen per point (default 1)")
    add("--skew", type=words, metavar="P,...", help="uniform, heavy:SHARE or zipf:EXPONENT")
    text = "share of labels observed, each with this probability, instead of --s and --skew"
    add("--observed", type=numbers(1e-6, 1.0), metavar="SHARE,...", help=text)
    add(
        "--radius",
        type=numbers(1e-6, 1e6),
        metavar="R,...",
        help="radius of the ball (default 1), in units of the true Z's norm where there is one",
    )
    add("--law", choices=sorted(LAWS), help="features (default gaussian)")
    add("--world", choices=list(WORLDS), help="labels and risk (default averages)")
    add("--draws", type=whole_number(), metavar="T", help="draws per cell (default 50)")


def _ids(text: str) -> list[str]:
    """Return experiment ids, in the order of the experiments."""
    known = {name.upper(): name for name in EXPERIMENTS}
    wanted = {known.get(word.upper(), word) for word in words(text)}
    if strange := sorted(wanted - set(EXPERIMENTS)):
        raise argparse.ArgumentTypeError(
            f"no experiment {', '.join(strange)}; there are {', '.join(EXPERIMENTS)}"
        )
    return [name for name in EXPERIMENTS if name in wanted]


def _grid(options: argparse.Namespace) -> Grid | None:
    """Return the grid of the user's own, None when no grid option was given."""
    given = {axis: getattr(options, axis) for axis in AXES}
    if options.observed:
        if given["s"] or given["skew"]:
            raise ValueError("--observed says which labels are seen; leave out --s and --skew.")
        given["skew"] = [f"observed:{share:g}" for share in options.observed]
    rest = {name: getattr(options, name) for name in ("world", "law", "draws")}
    if not any(value is not None for value in (*given.values(), *rest.values())):
        return None
    if options.only:
        raise ValueError("--only chooses experiments and cannot be joined with a grid of your own.")
    default: dict[str, list[Any]] = {"n": [256, 1024, 4096], "d": [32], "L": [32], "s": [1]}
    default |= {"skew": ["uniform"], "radius": [1.0]}
    axes = {axis: given[axis] or default[axis] for axis in AXES}
    chosen = {name: value for name, value in rest.items() if value is not None}
    if chosen.get("world") == "planted":
        chosen.setdefault("law", "rademacher")
    return Grid(axes, **chosen)


def _experiments(options: argparse.Namespace) -> list[Experiment]:
    """Return the experiments to run."""
    if grid := _grid(options):
        return [grid.experiment()]
    return [EXPERIMENTS[name] for name in options.only or EXPERIMENTS]


def _run(options: argparse.Namespace) -> int:
    """Measure what is missing, then write tables and pictures."""
    experiments = _experiments(options)
    plans = {experiment.id: experiment.plan(options.preset) for experiment in experiments}
    cells = _cells(plans, options.seed)
    description = {"preset": options.preset, "experiments": list(plans)}
    description["version"] = versions()["leml-theory"]
    if options.plugins:
        description["plugins"] = [plugin.record for plugin in options.plugins]
    place = place_of(options, cells, description)
    store = place.store(options.recompute)
    print(f"{len(place.cells)} cells in {place.folder}, {place.workers}", file=sys.stderr)
    measure = PluginMeasure(options.plugins)
    if options.merged:
        place.adopt(store, options.merged)
        store.check_code(code_of(measure))
    else:
        execute(
            place.cells,
            store,
            jobs=options.jobs,
            measure=measure,
            cluster=options.cluster,
            recompute=options.recompute,
        )
    if options.part:
        print(f"Part {options.part} is measured; `merge --out {options.out}` joins all parts.")
        return 0
    frame = results_frame(plans, options.seed, store.load())
    summary = summarise(frame, experiments)
    run = {"seed": options.seed, "cells": len(cells), "seconds": store.status().seconds}
    run["origins"] = store.origins()
    _write(options.out, frame, summary, {**description, **run})
    _draw(options.out, list(plans), frame)
    _write_page(options.out, frame)
    for line in (*slope_table(summary), *check_table(summary), *verdict_lines(summary)):
        print(line)
    print(f"Tables and pictures (PNG and SVG) are in {options.out}; report.html shows them all.")
    return summary.exit_status


def _cells(plans: dict[str, list[Planned]], seed: int) -> list[Cell]:
    """Return the distinct cells of all plans; experiments may share some."""
    cells = (Cell(item.kind, item.parameters, seed) for plan in plans.values() for item in plan)
    return list({cell.key: cell for cell in cells}.values())


def _write(out: str, frame: pd.DataFrame, summary: Summary, run: dict[str, Any]) -> None:
    """Write results.csv and summary.json."""
    table = frame.to_csv(index=False)
    run = {**run, "results_sha256": _digest(table.encode())}
    for name, text in {"results.csv": table, "summary.json": summary_json(summary, run)}.items():
        with _writing(out):
            write_text(Path(out, name), text)


def _digest(content: bytes) -> str:
    """Return the checksum by which a table is recognised."""
    return hashlib.sha256(content).hexdigest()


@contextmanager
def _writing(out: str) -> Iterator[None]:
    """Explain where a write failed, and that nothing measured is lost."""
    try:
        yield
    except OSError as error:
        text = disk_error_text(f"write into `{out}`", error)
        raise StoreError(f"{text} What was measured is safe.") from error


def _draw(out: str, ids: Sequence[str], frame: pd.DataFrame) -> None:
    """Draw every picture that the frame permits."""
    from leml_theory import plots

    pictures = {name: partial(plots.plot_experiment, frame, name) for name in ids}
    if {"X2", "X5"} <= set(ids):
        pictures["risk_against_n"] = partial(plots.plot_risk_against_n, frame)
        pictures["risk_against_labels"] = partial(plots.plot_risk_against_labels, frame)
    for name, draw in tqdm(pictures.items(), desc="pictures", leave=False, disable=None):
        figure = draw()
        with _writing(out):
            plots.save_figure(figure, Path(out), name)


def _write_page(out: str, frame: pd.DataFrame) -> None:
    """Write report.html from the results and summary.json."""
    from leml_theory.sweep.page import report_page

    page = report_page(frame, json.loads(Path(out, "summary.json").read_text()))
    with _writing(out):
        write_text(Path(out, "report.html"), page)


def _report(options: argparse.Namespace) -> int:
    """Write report.html again from results.csv and summary.json."""
    _write_page(options.out, _read_table(Path(options.out, "results.csv")))
    print(f"The report is {Path(options.out, 'report.html')}.")
    return 0


def _plot(options: argparse.Namespace) -> int:
    """Draw the pictures again from results.csv."""
    path = Path(options.out, "results.csv")
    frame = _read_table(path)
    measured = list(dict.fromkeys(frame["experiment"]))
    if strange := [name for name in options.only or [] if name not in measured]:
        raise ValueError(f"`{path}` holds no {', '.join(strange)}; it has {', '.join(measured)}.")
    _draw(options.out, options.only or measured, frame)
    print(f"Pictures (PNG and SVG) are in {options.out}.")
    return 0


def _read_table(path: Path) -> pd.DataFrame:
    """Read results.csv, which must not have changed since the run wrote it."""
    if not path.is_file():
        raise ValueError(f"`{path}` does not exist; run the sweep with --out {path.parent} first.")
    content = path.read_bytes()
    if read_summary(path.with_name("summary.json")).get("results_sha256") != _digest(content):
        raise ValueError(
            f"`{path}` has changed since it was written; run the sweep again to restore it."
        )
    return pd.read_csv(io.BytesIO(content))


def _status(options: argparse.Namespace) -> int:
    """Say how far a run has got, and each of its parts."""
    return max(_folder_status(folder) for folder in folders_of(Path(options.out)))


def _folder_status(folder: Path) -> int:
    """Say how far the run in a folder has got, and where its results come from."""
    store = Store.open(folder)
    status = store.status()
    print(f"{folder}: {status.done} of {status.total} cells, {status.seconds:.0f} s measured")
    for key, value in store.manifest.description.items():
        print(f"  {key}: {value}")
    for origin in store.origins():
        print(f"  {origin['cells']} cells on {origin['processor']}, {', '.join(origin['blas'])}")
    for line in status.damage:
        print(f"  damaged: {line}")
    return 2 if status.damage else 0


if __name__ == "__main__":
    sys.exit(main())
