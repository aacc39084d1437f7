"""The command `python -m leml_theory.diagnose`: what the theory says about a file of real data."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from command_line import add_seed, number, output_folder, page_parser, run_command, whole_number
from leml_solver.readers import Dataset, ReadError, read
from leml_solver.readers.arguments import (
    add_reading_arguments,
    in_words_of_the_command,
    read_options,
    share_or_name,
)
from leml_theory.plugins import add_plugin, load_plugins
from safe_files import write_text

if TYPE_CHECKING:
    from leml_theory.diagnose import Diagnosis

_DESCRIPTION = """\
Read a multi-label data set and say which of the bounds apply to it, how large an advantage of the
trace norm over the Frobenius norm they promise, how large it is in the Rademacher averages given
the data, before and after centring, and how large it is measured on held-out rows.
"""
_EPILOGUE = """\
What is observed: every point shows its known labels, all of them unless --observed hides some (or
the file has missing ones); in a Rademacher average one of them, drawn uniformly, carries the sign.

examples:
  python -m leml_theory.diagnose --data bibtex.npz
  python -m leml_theory.diagnose --data emotions.arff --split 0.3 --observed 0.5 --out results/emo
  python -m leml_theory.diagnose --data big.svm --no-fit --json
  python -m leml_theory.diagnose --data bibtex.npz --plugin mine.py   # with a bound of your own

Exit status: 0 all is well, 2 wrong usage or a file that cannot be used.
"""
_SPLIT = """\
rows to learn from: all (nothing is held out or fitted); a share such as 0.2, held out at random; or
a name such as mulan, for mulan_train_idx and mulan_test_idx of an npz file (default: train_idx and
test_idx if the file has them, else 0.2)"""
_HELD_OUT = 0.2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    return run_command("diagnose", lambda: _run(options))


def _parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = page_parser("leml_theory.diagnose", _DESCRIPTION, _EPILOGUE)
    add = parser.add_argument
    add("--data", required=True, metavar="FILE", help="svmlight, extreme, arff, npz or blocks")
    add("--split", type=share_or_name, metavar="WHICH", help=_SPLIT)
    text = "share of labels kept (default 1)"
    add("--observed", type=number(1e-6, 1), default=1.0, metavar="SHARE", help=text)
    add("--draws", type=whole_number(), default=20, metavar="N", help="draws of signs (default 20)")
    add_seed(parser)
    add_plugin(parser)
    add("--no-fit", action="store_true", help="skip the training, which takes most of the time")
    add("--json", action="store_true", help="print the numbers as JSON instead of the page")
    add("--out", metavar="DIR", help="also write diagnosis.txt, diagnosis.json and a picture there")
    add("--quiet", action="store_true", help="show no progress")
    add_reading_arguments(parser.add_argument_group("reading the file"))
    return parser


def _run(options: argparse.Namespace) -> None:
    """Read, diagnose and print."""
    load_plugins(options.plugin)
    folder = None if options.out is None else output_folder(options.out, "--out")
    rng = np.random.default_rng(options.seed)
    try:
        data = read(options.data, read_options(options))
    except ReadError as error:
        raise ReadError(in_words_of_the_command(str(error))) from error
    for message in data.messages:
        print(f"diagnose: {message}", file=sys.stderr)
    train, test, words = _parts(data, options, rng)
    # scikit-learn takes a second to load, which --help need not wait for
    from leml_theory.diagnose import diagnose
    from leml_theory.diagnose.page import page

    found = diagnose(
        train.X,
        train.targets(),
        rng=rng,
        test=None if test is None or options.no_fit else (test.X, test.targets()),
        observed=options.observed,
        draws=options.draws,
        report=None if options.quiet else _progress(),
    )
    record = {"data": options.data, "rows": words, "seed": options.seed, **found.record()}
    numbers = json.dumps(record, indent=2, allow_nan=False)
    text = f"data  {options.data}\nrows  {words}\n\n{page(found)}"
    print(numbers if options.json else text, flush=True)
    if folder is not None:
        _write(folder, text, numbers, found)


def _progress() -> Callable[[str], object]:
    """Return a function that prints a stage, with the seconds so far, to standard error."""
    start = time.monotonic()
    return lambda stage: print(f"{time.monotonic() - start:6.1f} s  {stage}", file=sys.stderr)


def _parts(
    data: Dataset, options: argparse.Namespace, rng: np.random.Generator
) -> tuple[Dataset, Dataset | None, str]:
    """Return the training rows, the held-out rows if any, and words for the split."""
    which, n = options.split, data.X.shape[0]
    if which is None:
        which = "default" if "train_idx" in data.splits else _HELD_OUT
    if which == "all" or (options.no_fit and options.split is None and which != "default"):
        return data, None, f"all {n}"
    if isinstance(which, str):
        train, test = data.split(None if which == "default" else which)
        return train, test, f"{train.X.shape[0]} of {n} (split: {which})"
    order, cut = rng.permutation(n), n - max(2, round(which * n))
    if cut < 1:
        raise ReadError(f"{options.data}: {n} rows are too few to hold some out; use --split all.")
    train, test = data.rows(np.sort(order[:cut])), data.rows(np.sort(order[cut:]))
    return train, test, f"{cut} of {n} (the others held out at random)"


def _write(folder: Path, text: str, numbers: str, found: Diagnosis) -> None:
    """Write the page, the numbers and the picture."""
    from leml_theory.plots.diagnosis import diagnosis_figure
    from leml_theory.plots.style import save_figure

    write_text(folder / "diagnosis.txt", f"{text}\n")
    write_text(folder / "diagnosis.json", f"{numbers}\n")
    save_figure(diagnosis_figure(found), folder, "advantage")


if __name__ == "__main__":
    sys.exit(main())
