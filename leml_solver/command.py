"""What the commands train, evaluate and predict do with their files."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from leml_solver.alternating import AlternatingOptions
from leml_solver.archives import written_aside
from leml_solver.classifier import LEMLClassifier
from leml_solver.persistence import load_model, save_model
from leml_solver.readers import Dataset, ReadError, ReadOptions, read, read_blocks
from leml_solver.scorers import evaluate_estimator

__all__ = ["COMMANDS"]

Options = argparse.Namespace


def train(options: Options) -> None:
    """Fit a model to a file and write it."""
    _check_folder(options.model)
    data, rows = _chosen(read(options.data, _reading(options)), options, "train")
    model = LEMLClassifier(
        options.rank,
        penalty=options.penalty,
        loss=options.loss,
        fit_intercept=not options.no_intercept,
        max_iter=options.iterations,
        tol=options.tol,
        options=AlternatingOptions(certify=not options.no_certificate),
        random_state=options.seed,
        verbose=not options.quiet,
    )
    began = time.perf_counter()
    model.fit(data.X, data.targets())
    seconds = time.perf_counter() - began
    save_model(model, options.model)
    _say(data)
    _print_table([*_data_lines(options.data, data, rows), *_fit_lines(model, seconds)])
    print(f"\n{model.status_.value}\nThe model is in {options.model}.")


def evaluate(options: Options) -> None:
    """Print the metrics of a model on a file."""
    model = _classifier(options.model)
    reading = _reading(options, n_features=model.n_features_in_, n_labels=model.H_.shape[0])
    data, rows = _chosen(read(options.data, reading), options, "test")
    ks = options.top or tuple(k for k in (1, 3, 5) if k <= data.Y.shape[1])
    metrics = evaluate_estimator(model, data.X, data.targets(), ks=ks)
    _say(data)
    _print_table(
        [
            *_data_lines(options.data, data, rows),
            *((f"top-{k} accuracy", f"{100 * v:.2f} %") for k, v in metrics.top_k.items()),
            ("average AUC", f"{metrics.auc:.4f} (over {metrics.n_auc_rows} rows)"),
            ("Hamming loss", f"{metrics.hamming:.4f} (over {metrics.n_observed} entries)"),
        ]
    )


def predict(options: Options) -> None:
    """Write the best labels of each row of a file, a block at a time."""
    model = _classifier(options.model)
    L = model.H_.shape[0]
    top = min(5, L) if options.top is None else options.top
    if not 1 <= top <= L:
        raise ValueError(f"--top must be from 1 to {L} labels, got {top}.")
    blocks = read_blocks(options.data, _reading(options, n_features=model.n_features_in_))
    with _output(options.out) as file:
        for block in blocks:
            _say(block)
            if block.X.shape[0]:
                labels, scores = model.predict_topk(block.X, top, return_scores=True)
                file.writelines(_answers(labels, scores, options.positive))


COMMANDS: dict[str, Callable[[Options], None]] = {
    "train": train,
    "evaluate": evaluate,
    "predict": predict,
}


def _reading(options: Options, **widths: int) -> ReadOptions:
    """Return how to read the file."""
    labels = options.labels
    with contextlib.suppress(TypeError, ValueError):
        labels = int(labels)
    return ReadOptions(
        format=options.format,
        labels=labels,
        zero_based=options.zero_based,
        strict=not options.lenient,
        **widths,
    )


def _check_folder(path: str) -> None:
    """Raise before the work, rather than after it, if a file cannot be written."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path) or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise ValueError(f"{path}: cannot be written; name a file in a folder that is there.")


def _classifier(path: str) -> LEMLClassifier:
    """Return a classifier for label matrices from its file."""
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
    if (share := _number(which)) is not None:
        return _held_out(share, n, options.seed, part), f"{part}, {which} held out"
    name = f"{part}_idx" if which is None else f"{which}_{part}_idx"
    if name not in data.splits:
        known = ", ".join(sorted(data.splits)) or "none"
        raise ReadError(f"{options.data}: has no rows {name}; there are {known}.")
    return data.splits[name], name


def _number(text: str | None) -> float | None:
    """Return a number, or None for a name."""
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _held_out(share: float, n: int, seed: int, part: str) -> NDArray[Any]:
    """Return the rows of a random split, in their order."""
    if not 0 < share < 1:
        raise ReadError(f"--split must lie strictly between 0 and 1, got {share}.")
    order = np.random.default_rng(seed).permutation(n)
    cut = n - round(share * n)
    return np.sort(order[:cut] if part == "train" else order[cut:])


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


def _answers(labels: NDArray[Any], scores: NDArray[Any], positive: bool) -> Iterable[bytes]:
    """Yield a line 'label:score ...' for each row."""
    for names, values in zip(labels.tolist(), scores.tolist(), strict=True):
        pairs = zip(names, values, strict=True)
        kept = (f"{name}:{value:.6g}" for name, value in pairs if value > 0 or not positive)
        yield f"{' '.join(kept)}\n".encode()


def _say(data: Dataset) -> None:
    """Pass on what the reader has to say."""
    for message in data.messages:
        print(f"leml_solver: {message}", file=sys.stderr)
    if data.skipped:
        print(f"leml_solver: {data.skipped} bad lines were skipped", file=sys.stderr)


def _data_lines(path: str, data: Dataset, rows: str) -> list[tuple[str, str]]:
    """Return what was read."""
    n, L = data.Y.shape
    missing = 0 if data.missing is None else data.missing.nnz
    return [
        ("data", path),
        ("rows", f"{n} ({rows})"),
        ("features", f"{data.X.shape[1]}, {data.X.nnz / max(1, n):.2f} nonzero a row"),
        ("labels", f"{L}, {data.Y.nnz / max(1, n):.2f} positive a row"),
        ("labels missing", f"{100 * missing / max(1, n * L):.2f} %"),
    ]


def _fit_lines(model: LEMLClassifier, seconds: float) -> list[tuple[str, str]]:
    """Return what was fitted."""
    lines = [
        ("loss", str(model.loss)),
        ("rank", str(model.rank_)),
        ("penalty", f"{model.penalty:g}"),
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
    """Print names and values, aligned."""
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name:<{width}}  {value}")
