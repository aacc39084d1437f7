"""The command `python -m leml_solver`: train, predict and evaluate on files."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from leml_solver.readers import FORMATS

_DESCRIPTION = """\
Low-rank multi-label learning on files: fit Z = W H^T with a trace-norm penalty to labels of which
some may be missing, and say how far the answer is from the best one.

commands:
  train     fit a model to a file and write it
  evaluate  print top-K accuracy, AUC and Hamming loss of a model on a file
  predict   write the best labels of each row, streaming through the file

Each command explains itself: python -m leml_solver train --help
"""
_EPILOGUE = """\
files (plain or gzipped; the format is found out unless --format says it):
  svmlight  3,17 1:0.5 8:1      labels from 0, features from 1 (--zero-based: from 0)
  extreme   the same from 0, after a first line 'rows features labels'
  arff      Mulan's; labels from an XML file beside it, or --labels FILE.xml or --labels COUNT
  npz       X_data, X_indices, X_indptr, X_shape, the same for Y, train_idx, test_idx

examples:
  python -m leml_solver train bibtex.npz --model bibtex.model --rank 64 --penalty 5
  python -m leml_solver evaluate bibtex.model bibtex.npz
  python -m leml_solver train emotions.arff --model m --loss logistic --split 0.25 --seed 1
  python -m leml_solver evaluate m emotions.arff --split 0.25 --seed 1
  python -m leml_solver predict m new.svm --top 3 --out answers.txt

Exit status: 0 all is well, 2 wrong usage or a file that cannot be used.
"""
_SPLIT = """\
rows to use: all; a share such as 0.2, held out at random by --seed; or a name such as mulan, for
the row numbers mulan_train_idx and mulan_test_idx of an npz file (default: train_idx and test_idx
if the file has them, else all)"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    from leml_solver import command  # scikit-learn takes a second, which --help need not

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            command.COMMANDS[options.command](options)
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (ValueError, TypeError, OSError) as error:
        return _failed(str(error))
    except MemoryError as error:
        return _failed(f"not enough memory ({error}); lower --rank, or check the file's numbers")
    except KeyboardInterrupt:
        return _failed("stopped; nothing was written", 130)
    for warning in caught:
        print(f"leml_solver: note: {warning.message}", file=sys.stderr)
    return 0


def _failed(message: str, status: int = 2) -> int:
    """Say what went wrong on standard error."""
    print(f"leml_solver: {message}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = argparse.ArgumentParser(
        prog="python -m leml_solver",
        description=_DESCRIPTION,
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    _add_train(commands.add_parser("train", help="fit a model to a file and write it"))
    _add_evaluate(commands.add_parser("evaluate", help="print the metrics of a model on a file"))
    _add_predict(commands.add_parser("predict", help="write the best labels of each row"))
    return parser


def _add_train(parser: argparse.ArgumentParser) -> None:
    """Add the options of `train`."""
    parser.add_argument("data", help="file to learn from")
    parser.add_argument("--model", required=True, metavar="FILE", help="where to write the model")
    parser.add_argument("--rank", type=int, default=50, metavar="K", help="columns (default 50)")
    parser.add_argument(
        "--penalty", type=float, default=1.0, metavar="MU", help="trace-norm weight (default 1)"
    )
    parser.add_argument(
        "--loss", default="squared", choices=("squared", "logistic", "squared_hinge")
    )
    parser.add_argument(
        "--iterations", type=int, default=20, metavar="N", help="outer iterations (default 20)"
    )
    parser.add_argument(
        "--tol", type=float, default=1e-4, help="stop at this relative decrease (default 1e-4)"
    )
    parser.add_argument("--no-intercept", action="store_true", help="fit no intercept")
    parser.add_argument("--no-certificate", action="store_true", help="skip the optimality gap")
    parser.add_argument("--quiet", action="store_true", help="show no progress bar")
    _add_split(parser)
    _add_reading(parser)


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `evaluate`."""
    parser.add_argument("model", help="model written by train")
    parser.add_argument("data", help="file with rows and their true labels")
    parser.add_argument("--top", type=_depths, metavar="K,...", help="depths (default 1,3,5)")
    _add_split(parser)
    _add_reading(parser)


def _add_predict(parser: argparse.ArgumentParser) -> None:
    """Add the options of `predict`."""
    parser.add_argument("model", help="model written by train")
    parser.add_argument("data", help="file with rows; labels in it are not used")
    parser.add_argument(
        "--out", default="-", metavar="FILE", help="text file, label:score best first (default: -)"
    )
    parser.add_argument("--top", type=int, metavar="K", help="labels (default 5)")
    parser.add_argument(
        "--positive", action="store_true", help="of these, only labels with a score above 0"
    )
    _add_reading(parser)


def _add_split(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose rows."""
    parser.add_argument("--split", metavar="WHICH", help=_SPLIT)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed (default 0)")


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the options of reading files."""
    parser.add_argument("--format", choices=FORMATS, help="default: found out from the file")
    parser.add_argument(
        "--labels", metavar="XML|COUNT", help="arff: Mulan's label file, or how many at the end"
    )
    parser.add_argument("--zero-based", action="store_true", help="svmlight: features from 0")
    parser.add_argument(
        "--lenient", action="store_true", help="skip bad lines and say how many there were"
    )


def _depths(text: str) -> tuple[int, ...]:
    """Return positive whole numbers separated by commas."""
    try:
        depths = tuple(int(word) for word in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers such as 1,3,5, got {text!r}") from None
    if min(depths) < 1:
        raise argparse.ArgumentTypeError(f"expected numbers of at least 1, got {text!r}")
    return depths


if __name__ == "__main__":
    sys.exit(main())
