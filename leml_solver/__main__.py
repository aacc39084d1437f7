"""The command `python -m leml_solver`: train, predict, evaluate and convert files."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from command_line import add_seed, counted, page_parser, run_command, whole_number, whole_numbers
from leml_solver.readers import Dataset, ReadError, read, read_blocks
from leml_solver.readers.arguments import (
    add_reading_arguments,
    in_words_of_the_command,
    read_options,
    share_or_name,
)
from leml_solver.readers.reading import stream, with_widths
from safe_files import open_regular, written_aside

if TYPE_CHECKING:  # scikit-learn takes a second to import, which --help need not wait for
    from leml_solver.estimators import LEMLClassifier

Options = argparse.Namespace

_DESCRIPTION = """\
Low-rank multi-label learning on files: fit Z = W H^T with a trace-norm penalty to labels of which
some may be missing, and say how far the answer is from the best one.

commands:
  train     fit a model to a file and write it
  evaluate  print top-K accuracy, AUC, F1 and other metrics of a model on a file
  predict   write the best labels of each row, streaming through the file
  convert   write a file as a folder of blocks, which trains in less memory than the rows take

To see the options of a command: python -m leml_solver train --help
"""
_EPILOGUE = """\
files (plain or gzipped; the format is detected unless --format gives it):
  svmlight  3,17 1:0.5 8:1      labels from 0, features from 1 (--zero-based: from 0)
  extreme   the same from 0, after a first line 'rows features labels'
  arff      Mulan's; labels from an XML file beside it, or --labels FILE.xml or --labels COUNT
  npz       X_data, X_indices, X_indptr, X_shape, the same for Y, train_idx, test_idx
  blocks    a folder that convert has written

examples:
  python -m leml_solver train bibtex.npz --model bibtex.model
  python -m leml_solver train bibtex.npz --model bibtex.model --rank 64 --penalty 5
  python -m leml_solver evaluate bibtex.model bibtex.npz
  python -m leml_solver train emotions.arff --model m --loss logistic --split 0.25 --seed 1
  python -m leml_solver evaluate m emotions.arff --split 0.25 --seed 1
  python -m leml_solver predict m new.svm --top 3 --out answers.txt
  python -m leml_solver convert large.svm large.blocks
  python -m leml_solver train large.blocks --model m --checkpoint m.checkpoint
  python -m leml_solver train large.blocks --model m --cluster local:4

Exit status: 0 all is well, 2 wrong usage or a file that cannot be used.
"""
_PENALTY = "trace-norm weight (default: by the leave-one-out error of ridge regression)"
_SPLIT = """\
rows to use: all; a share such as 0.2, held out at random by --seed; or a name such as mulan, for
the row numbers mulan_train_idx and mulan_test_idx of an npz file (default: train_idx and test_idx
if the file has them, else all)"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    commands = {"train": train, "evaluate": evaluate, "predict": predict, "convert": convert}
    run = commands[options.command]
    return run_command("leml_solver", lambda: _with_notes(run, options), unusable=(RuntimeError,))


def _with_notes(command: Callable[[Options], None], options: Options) -> None:
    """Run a command, and pass on the warnings of the solver when it has ended."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            command(options)
        except ValueError as error:
            raise ValueError(in_words_of_the_command(str(error))) from error
    for warning in caught:
        note = in_words_of_the_command(str(warning.message))
        print(f"leml_solver: note: {note}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = page_parser("leml_solver", _DESCRIPTION, _EPILOGUE)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    _add_train(commands.add_parser("train", help="fit a model to a file and write it"))
    _add_evaluate(commands.add_parser("evaluate", help="print the metrics of a model on a file"))
    _add_predict(commands.add_parser("predict", help="write the best labels of each row"))
    _add_convert(commands.add_parser("convert", help="write a file as a folder of blocks"))
    return parser


def _add_convert(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("data", help="file to convert; it is streamed, svmlight twice unless its widths are given")
    add("folder", help="folder to write, which must not exist")
    add("--rows", metavar="NAME", help="npz: only these row numbers, such as train_idx")
    add("--dtype", default="float32", choices=("float32", "float64"), help="(default float32)")
    text = "nonzeros of X in a block (default 8 million, about 100 MB on disk)"
    add("--block-nonzeros", type=whole_number(), default=1 << 23, metavar="N", help=text)
    add("--n-features", type=whole_number(), metavar="D", help="svmlight: columns of X")
    add("--n-labels", type=whole_number(), metavar="L", help="svmlight: columns of Y")
    add_reading_arguments(parser)


def _add_train(parser: argparse.ArgumentParser) -> None:
    add, count = parser.add_argument, whole_number()
    add("data", help="file to learn from")
    add("--model", required=True, metavar="FILE", help="where to write the model")
    add("--rank", type=count, metavar="K", help="columns of the factors (default: at most 500)")
    add("--penalty", type=float, metavar="MU", help=_PENALTY)
    text = "choose the penalty, and the loss if not given, by cross-validation of top-1 accuracy"
    add("--cv", action="store_true", help=text)
    add("--loss", choices=("squared", "logistic", "squared_hinge"), help="(default squared)")
    add("--iterations", type=count, default=100, metavar="N", help="outer iterations (default 100)")
    add("--tol", type=float, default=1e-4, help="stop at this relative decrease (default 1e-4)")
    add("--no-intercept", action="store_true", help="fit no intercept")
    add("--no-certificate", action="store_true", help="do not certify the result")
    add("--quiet", action="store_true", help="show no progress bar")
    text = "save the state of the fit; a killed fit continues from it"
    add("--checkpoint", metavar="FILE", help=text)
    text = "scheduler of a Dask cluster whose workers see the data, or local:N for N processes"
    add("--cluster", metavar="ADDRESS", help=text)
    add("--label-names", metavar="FILE", help="text file with one label name per line")
    _add_split(parser)
    add_reading_arguments(parser)


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", help="model written by train")
    add("data", help="file with rows and their true labels")
    add("--top", type=whole_numbers(), metavar="K,...", help="K of metrics at K (default 1,3,5)")
    _add_split(parser)
    add_reading_arguments(parser)


def _add_predict(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", help="model written by train")
    add("data", help="file with rows; labels in it are not used")
    text = "file to write, label:score with the best first (default: standard output)"
    add("--out", default="-", metavar="FILE", help=text)
    add("--top", type=whole_number(), metavar="K", help="number of labels (default 5)")
    add("--positive", action="store_true", help="of these, only labels with a score above 0")
    text = "write names of labels, not numbers, separated by tabs"
    add("--names", action="store_true", help=text)
    text = "write probabilities, not scores (needs --loss logistic)"
    add("--probabilities", action="store_true", help=text)
    add_reading_arguments(parser)


def _add_split(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--split", type=share_or_name, metavar="WHICH", help=_SPLIT)
    add_seed(parser)


def train(options: Options) -> None:
    """Fit a model to a file and write it."""
    _check_folder(options.model)
    if os.path.isdir(options.data) or options.cluster is not None:
        _train_blocks(options)
        return
    data, rows = _chosen(read(options.data, read_options(options)), options, "train")
    names = _label_names(options.label_names, data)
    began = time.perf_counter()
    model = _fitted(options, data)
    seconds = time.perf_counter() - began
    _say(data)
    _keep(options, model, names, _data_lines(options.data, data, rows), seconds)


def _train_blocks(options: Options) -> None:
    """Fit a model to a folder of blocks, or to any file on a cluster, and write it."""
    from leml_solver import LEMLClassifier
    from leml_solver.blocks import BlockFolder, cut_rows
    from leml_solver.distributed import connected

    if options.cv or (os.path.isdir(options.data) and options.split is not None):
        raise ValueError("--cv and --split need all rows in memory: not for a folder of blocks.")
    blocks: Any = None
    if os.path.isdir(options.data):
        blocks = BlockFolder.open(options.data)
        names, (n, d) = _label_names(options.label_names, blocks), blocks.shape
    else:
        data, _ = _chosen(read(options.data, read_options(options)), options, "train")
        _say(data)
        blocks = list(cut_rows([data], max(data.X.nnz // 16, 1 << 16)))
        names, (n, d) = _label_names(options.label_names, data), data.X.shape
    began = time.perf_counter()
    address = options.cluster
    with contextlib.nullcontext() if address is None else connected(address) as client:
        model = LEMLClassifier(**_settings(options)).fit_blocks(blocks, client=client)
    seconds = time.perf_counter() - began
    where = "this machine" if address is None else address
    count = len(blocks.blocks) if isinstance(blocks, BlockFolder) else len(blocks)
    lines = [
        ("data", options.data),
        ("rows", f"{n} in {counted(count, 'block')}"),
        ("features", str(d)),
    ]
    lines += [("labels", str(len(model.H_))), ("on", where)]
    _keep(options, model, names, lines, seconds)


def convert(options: Options) -> None:
    """Write a file as a folder of blocks."""
    from leml_solver.blocks import write_blocks

    sizes = {"n_features": options.n_features, "n_labels": options.n_labels}
    reading = with_widths(options.data, read_options(options, **sizes))
    blocks = stream(options.data, reading, rows_named=options.rows)
    kind, size = options.dtype, options.block_nonzeros
    folder = write_blocks(options.folder, _told(blocks), dtype=kind, nonzeros=size)
    rows, parts = counted(folder.shape[0], "row"), counted(len(folder.blocks), "block")
    print(f"Wrote {rows} in {parts} to {options.folder}.")


def _told(blocks: Iterable[Dataset]) -> Iterator[Dataset]:
    """Pass on rows, and what the reader has to say about them."""
    for block in blocks:
        _say(block)
        yield block


def _keep(
    options: Options,
    model: LEMLClassifier,
    names: tuple[str, ...],
    data: list[tuple[str, str]],
    seconds: float,
) -> None:
    """Give the labels of a model their names, write it, and say what was fitted to what."""
    from leml_solver import save_model

    if names:
        from pandas import Index  # slow to load, and few files have names

        model.label_names_ = Index(names)
    save_model(model, options.model)
    _print_table([*data, *_fit_lines(model, seconds)])
    print(f"\n{in_words_of_the_command(model.status_.value)}\nThe model is in {options.model}.")


def _settings(options: Options) -> dict[str, Any]:
    from leml_solver import AlternatingOptions

    return {
        "rank": options.rank or "auto",
        "penalty": "auto" if options.penalty is None else options.penalty,
        "loss": options.loss or ("auto" if options.cv else "squared"),
        "fit_intercept": not options.no_intercept,
        "max_iter": options.iterations,
        "tol": options.tol,
        "options": AlternatingOptions(
            certify=not options.no_certificate, checkpoint=options.checkpoint
        ),
        "random_state": options.seed,
        "verbose": not options.quiet,
    }


def _fitted(options: Options, data: Dataset) -> LEMLClassifier:
    """Fit with the settings given, or with those that cross-validation chooses."""
    from leml_solver import LEMLClassifier, LEMLClassifierCV

    settings = _settings(options)
    if not options.cv:
        return LEMLClassifier(**settings).fit(data.X, data.targets())
    if options.penalty is not None:
        raise ValueError("--cv chooses the penalty: leave out --penalty.")
    del settings["rank"], settings["penalty"]
    ranks = None if options.rank is None else [options.rank]
    search = LEMLClassifierCV(ranks=ranks, **settings).fit(data.X, data.targets())
    chosen: LEMLClassifier = search.best_estimator_
    return chosen


def evaluate(options: Options) -> None:
    """Print the metrics of a model on a file."""
    from leml_solver.metrics import evaluate_scores, label_auc
    from leml_solver.model_selection import estimator_scores

    model = _classifier(options.model)
    reading = read_options(options, n_features=model.n_features_in_, n_labels=model.H_.shape[0])
    data, rows = _chosen(read(options.data, reading), options, "test")
    scores, truth = estimator_scores(model, data.X), data.targets()
    metrics, areas = evaluate_scores(truth, scores, ks=options.top), label_auc(truth, scores)
    known = areas[~np.isnan(areas)]
    macro = f"{known.mean():.4f} (over {known.size} labels)" if known.size else "no label has one"
    _say(data)
    _print_table(
        [
            *_data_lines(options.data, data, rows),
            *((f"top-{k} accuracy", f"{100 * v:.2f} %") for k, v in metrics.top_k.items()),
            *((f"recall at {k}", f"{100 * v:.2f} %") for k, v in metrics.recall.items()),
            *((f"nDCG at {k}", f"{100 * v:.2f} %") for k, v in metrics.ndcg.items()),
            ("average AUC", f"{metrics.auc:.4f} (over {metrics.n_auc_rows} rows)"),
            ("macro AUC", macro),
            ("micro F1", f"{metrics.micro_f1:.4f}"),
            ("macro F1", f"{metrics.macro_f1:.4f} (over {areas.size} labels)"),
            ("Hamming loss", f"{metrics.hamming:.4f} (over {metrics.n_observed} entries)"),
        ]
    )


def predict(options: Options) -> None:
    """Write the best labels of each row of a file, a block at a time."""
    model = _classifier(options.model)
    L = model.H_.shape[0]
    top = min(5, L) if options.top is None else options.top
    if top > L:
        raise ValueError(f"--top must be from 1 to {L} labels, got {top}.")
    if options.names and model.label_names_ is None:
        raise ValueError(f"{options.model}: has no names; train with --label-names FILE.")
    if options.probabilities and model.loss != "logistic":
        raise ValueError(f"--probabilities needs --loss logistic, got a {model.loss} model.")
    blocks = read_blocks(options.data, read_options(options, n_features=model.n_features_in_))
    with _output(options.out) as file:
        for block in blocks:
            _say(block)
            if block.X.shape[0]:
                labels, scores = model.predict_topk(block.X, top, return_scores=True)
                file.writelines(_answers(model, options, labels, scores))


def _check_folder(path: str) -> None:
    """Raise before the work, rather than after it, if a file cannot be written."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path) or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: cannot be written; name a file in a folder that exists.")


def _classifier(path: str) -> LEMLClassifier:
    from leml_solver import LEMLClassifier, load_model

    model = load_model(path)
    if not isinstance(model, LEMLClassifier) or model.target_kind_ != "multilabel":
        raise ValueError(f"{path}: expected a classifier of label matrices, written by train.")
    return model


def _chosen(data: Dataset, options: Options, part: str) -> tuple[Dataset, str]:
    """Return the rows for training or testing, and what they are called."""
    rows, name = _split_rows(data, options, part)
    if rows is None:
        return data, name
    if not rows.size:
        raise ReadError(f"{options.data}: the split {name} leaves no rows.")
    return data.rows(rows), name


def _split_rows(data: Dataset, options: Options, part: str) -> tuple[NDArray[Any] | None, str]:
    """Return row numbers, None for all, and their name."""
    which, n = options.split, data.X.shape[0]
    if which == "all" or (which is None and f"{part}_idx" not in data.splits):
        return None, "all"
    if isinstance(which, float):
        order, cut = np.random.default_rng(options.seed).permutation(n), n - round(which * n)
        rows = np.sort(order[:cut] if part == "train" else order[cut:])
        return rows, f"{part}, {which:g} held out"
    name = f"{part}_idx" if which is None else f"{which}_{part}_idx"
    if name not in data.splits:
        known = ", ".join(sorted(data.splits)) or "none"
        raise ReadError(f"{options.data}: has no rows {name}; there are {known}.")
    return data.splits[name], name


@contextlib.contextmanager
def _output(path: str) -> Iterator[IO[bytes]]:
    """Open a file that appears when it is complete, or standard output."""
    if path == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        return
    _check_folder(path)
    with written_aside(path) as file:
        yield file


def _answers(
    model: LEMLClassifier, options: Options, labels: NDArray[Any], scores: NDArray[Any]
) -> Iterable[bytes]:
    """Yield a line 'label:score ...' for each row."""
    shown = model.label_names_.to_numpy()[labels] if options.names else labels
    values = expit(scores) if options.probabilities else scores
    gap = "\t" if options.names else " "  # names may hold spaces
    for i in range(len(labels)):
        kept = [j for j in range(labels.shape[1]) if scores[i, j] > 0 or not options.positive]
        yield f"{gap.join(f'{shown[i, j]}:{values[i, j]:.6g}' for j in kept)}\n".encode()


def _label_names(path: str | None, data: Any) -> tuple[str, ...]:
    """Return the labels' names: of a text file with one per line, or those the data bring."""
    if path is None:
        return tuple(data.label_names)
    with open_regular(path) as file:
        names = tuple(line.decode().strip() for line in file)
    count = data.Y.shape[1] if isinstance(data, Dataset) else data.n_labels
    if len(names) != count or not all(names):
        raise ValueError(f"{path}: expected {count} names, one per line, got {len(names)}.")
    return names


def _say(data: Dataset) -> None:
    """Pass on what the reader has to say."""
    for message in data.messages:
        print(f"leml_solver: {message}", file=sys.stderr)
    if data.skipped:
        print(f"leml_solver: skipped {counted(data.skipped, 'bad line')}", file=sys.stderr)


def _data_lines(path: str, data: Dataset, rows: str) -> list[tuple[str, str]]:
    n, L = data.Y.shape
    missing = 0 if data.missing is None else data.missing.nnz
    return [
        ("data", path),
        ("rows", f"{n} ({rows})"),
        ("features", f"{data.X.shape[1]}, {data.X.nnz / max(1, n):.2f} nonzero per row"),
        ("labels", f"{L}, {data.Y.nnz / max(1, n):.2f} positive per row"),
        ("labels missing", f"{100 * missing / max(1, n * L):.2f} %"),
    ]


def _fit_lines(model: LEMLClassifier, seconds: float) -> list[tuple[str, str]]:
    lines = [
        ("loss", str(model.loss)),
        ("rank", str(model.rank_)),
        ("penalty", f"{model.penalty_:.4g}"),
        ("outer iterations", str(model.n_iter_)),
        ("objective", f"{model.objective_:.8g}"),
        ("seconds", f"{seconds:.2f}"),
    ]
    certificate = model.certificate_
    if certificate is not None:
        gap = f"{certificate.relative_gap:.3g} of the objective at Z = 0"
        lines.insert(5, ("certified gap", f"{certificate.gap:.6g}, {gap}"))
    return lines


def _print_table(lines: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name:<{width}}  {value}")


if __name__ == "__main__":
    sys.exit(main())
