"""Options of commands that read a file of data: its format, its labels, and which rows to use."""

import argparse
import contextlib

from leml_solver.readers.formats import FORMATS, ReadOptions

_OPTIONS = {
    "zero_based=True": "--zero-based",
    "strict=False": "--lenient",
    "labels=FILE.xml": "--labels FILE.xml",
    "labels=COUNT": "--labels COUNT",
    "`penalty`": "--penalty",
    "`tol`": "--tol",
    "tol=0 ": "--tol 0 ",
    "`max_iter`": "--iterations",
    "`k`": "--top",
    "`cv`": "--cv: the number of parts",
}


def add_reading_arguments(parser: argparse._ActionsContainer) -> None:
    """Add the options of reading files to a parser, or to a group of one."""
    add = parser.add_argument
    add("--format", choices=FORMATS, help="default: detected from the file")
    text = "arff: Mulan's label file, or the number of labels, which come last"
    add("--labels", type=_count_or_path, metavar="XML|COUNT", help=text)
    add("--zero-based", action="store_true", help="svmlight: features from 0")
    add("--lenient", action="store_true", help="skip bad lines and say how many there were")


def read_options(
    options: argparse.Namespace, *, n_features: int | None = None, n_labels: int | None = None
) -> ReadOptions:
    """Return how to read a file, from the options that `add_reading_arguments` has added."""
    return ReadOptions(
        format=options.format,
        labels=options.labels,
        n_features=n_features,
        n_labels=n_labels,
        zero_based=options.zero_based,
        strict=not options.lenient,
    )


def in_words_of_the_command(message: str) -> str:
    """Return a message with the command's options in place of Python's arguments."""
    for argument, option in _OPTIONS.items():
        message = message.replace(argument, option)
    return message


def share_or_name(text: str) -> float | str:
    """Return which rows to hold out: a share strictly between 0 and 1, or the name of a split."""
    try:
        share = float(text)
    except ValueError:
        return text
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"expected a share strictly between 0 and 1, got {text!r}")
    return share


def _count_or_path(text: str) -> int | str:
    with contextlib.suppress(ValueError):
        return int(text)
    return text
