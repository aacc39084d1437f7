"""One cell measured: a method trained, its scores on the test rows judged by every metric."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leml_solver.metrics import RowMetrics, evaluate_rows
from leml_theory.runs.cells import Cell
from paper_checks import printed
from paper_checks.checking.running import one_thread
from paper_checks.reproduction.data import testing_part, training_part
from paper_checks.reproduction.methods import trained
from paper_checks.reproduction.planning import Task

DEPTHS = (1, 3, 5)


def measure(folder: Path, cell: Cell) -> list[dict[str, Any]]:
    """Return the metrics of one training, each test row's hits, and what was chosen.

    Parameters
    ----------
    folder : Path
        Where the data are.
    cell : Cell
        A task and a repetition.

    Returns
    -------
    list of one record
        The metrics by name (accuracies in per cent), `hits_1`, `hits_3`, `hits_5` (one digit per
        test row) and `choice` (JSON).

    Paper: Section 5.
    """
    # One thread: sums then do not depend on the number of cores.
    with one_thread():
        return [_measured(folder, cell)]


def _measured(folder: Path, cell: Cell) -> dict[str, Any]:
    """Train on the training rows, then look at the test rows."""
    parameters = cell.parameters
    repetition = parameters.pop("repetition")
    task = Task(**parameters)
    rows = training_part(task, folder, repetition, cell.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels never observed, and fits that stop early by design
        model = trained(task, rows, cell.rng())
    test = testing_part(task, folder)
    depths = [k for k in DEPTHS if k <= test.shape[1]]
    found = evaluate_rows(test.Y, model.scores(test.X), ks=depths, threshold=model.threshold)
    return _record(found, model.choice)


def _record(found: RowMetrics, choice: dict[str, Any]) -> dict[str, Any]:
    """Return the averages over rows, and the hits of each row as text."""
    seen = found.observed > 0
    record: dict[str, Any] = dict.fromkeys(printed.METRICS, float("nan"))
    for k, shares in found.top_k.items():
        record[f"top-{k}"] = 100 * float(shares[seen].mean())
        record[f"hits_{k}"] = "".join(map(str, np.rint(k * shares).astype(int)))
    ranked = ~np.isnan(found.auc)
    record["auc"] = float(found.auc[ranked].mean()) if ranked.any() else float("nan")
    record["hamming"] = float(found.errors.sum() / found.observed.sum())
    return {**record, "choice": json.dumps(choice, sort_keys=True)}


def row_hits(record: dict[str, Any], k: int) -> NDArray[np.float64]:
    """Return the top-k accuracy of each test row, in per cent, from a record."""
    digits = np.frombuffer(record[f"hits_{k}"].encode("ascii"), dtype=np.uint8) - ord("0")
    return np.asarray(digits * (100 / k), dtype=np.float64)
