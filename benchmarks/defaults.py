"""LEML with the settings it chooses against others at their defaults, on real data.

    python -m benchmarks.defaults [--out benchmarks/results/defaults.json] [--data DIR] [--quick]

Every data set of the folder with a split of its own is used; nothing is tuned by hand. Top-1 is the
share of test rows whose best-scored label is right. The bars: `LEMLClassifier()` within 2.5 points
of the best of the others; `LEMLClassifierCV()` within one standard error of it, or one point; its
search within 30 times the CPU time of one fit at the settings that it chose.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np
from scipy import sparse
from sklearn.base import clone

from benchmarks import shapes
from benchmarks.contenders import napkin_model
from benchmarks.methods import machine
from command_line import run_command
from leml_solver import LEMLClassifier, LEMLClassifierCV
from leml_solver.datasets import available, load_dataset

OTHERS = ("RidgeCV", "logistic", "PLT")
DEFAULTS_BAR = 2.5  # points
CV_BAR = 1.0  # points, or one standard error
COST_BAR = 30.0


def load(name, folder):
    """Return training features and labels, then those for testing; None without a split."""
    if name == "synthetic":
        X, Y = shapes.full_data(shapes.BIBTEX.scaled(0.05), binary=True)
        cut = X.shape[0] * 4 // 5
        return X[:cut], Y[:cut], X[cut:], Y[cut:]
    try:
        parts = load_dataset(name, folder).split()
    except ValueError:
        return None
    # int64: scikit-learn permutes the columns of more than 128 labels in int8
    typed = ((part.X.astype(np.float64), part.Y.astype(np.int64)) for part in parts)
    return tuple(sparse.csr_matrix(A) for pair in typed for A in pair)


def ridge_scores(X, Y, X_test):
    """Return the scores of ridge regression, its weight chosen by leave-one-out error."""
    from sklearn.linear_model import RidgeCV

    return RidgeCV().fit(X.toarray(), Y.toarray()).predict(X_test.toarray())


def logistic_scores(X, Y, X_test):
    """Return the probabilities of one logistic regression per label."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    # Not decision_function: it gives labels without a positive row the score 0, often the best.
    return OneVsRestClassifier(LogisticRegression()).fit(X, Y).predict_proba(X_test)


def tree_scores(X, Y, X_test):
    """Return the probabilities of a probabilistic label tree."""
    X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    return napkin_model("PLT", X, Y, 1).scores(X_test)


def top_1(scores, Y):
    """Return whether the best-scored label of each row is right, as 0 or 100."""
    best = np.argmax(scores, axis=1)
    return 100 * np.asarray(Y[np.arange(Y.shape[0]), best], dtype=float).ravel()


def cpu(function):
    """Return what a function returns, and its CPU seconds."""
    began = time.process_time()
    result = function()
    return result, time.process_time() - began


def measure(data):
    """Return top-1 of everybody, and what the search cost."""
    X, Y, X_test, Y_test = data
    functions = dict(zip(OTHERS, (ridge_scores, logistic_scores, tree_scores), strict=True))
    if find_spec("napkinxc") is None:
        del functions["PLT"]
    hits = {key: top_1(function(X, Y, X_test), Y_test) for key, function in functions.items()}
    LEMLClassifierCV(cv=2, random_state=0).fit(X[:60], Y[:60])  # compiles
    plain, plain_seconds = cpu(lambda: LEMLClassifier(random_state=0).fit(X, Y))
    chosen, search_seconds = cpu(lambda: LEMLClassifierCV(random_state=0).fit(X, Y))
    again = [cpu(lambda: clone(chosen.best_estimator_).fit(X, Y))[1] for _ in range(3)]
    hits["LEML"] = top_1(plain.decision_function(X_test), Y_test)
    hits["LEML CV"] = top_1(chosen.decision_function(X_test), Y_test)
    return {
        "top_1": {key: float(hit.mean()) for key, hit in hits.items()},
        "others": list(functions),
        "rows": Y_test.shape[0],
        "penalty": plain.penalty_,
        "chosen_penalty": chosen.penalty_,
        "default_seconds": plain_seconds,
        "search_seconds": search_seconds,
        "fit_seconds": median(again),
    }


def judge(row):
    """Add how far behind the best of the others LEML is, and whether the bars hold."""
    reached = row["top_1"]
    best = max(reached[key] for key in row["others"])
    error = float(np.sqrt(best * (100 - best) / row["rows"]))
    behind, behind_cv = best - reached["LEML"], best - reached["LEML CV"]
    cost = row["search_seconds"] / row["fit_seconds"]
    holds = {
        "defaults": behind <= DEFAULTS_BAR,
        "cv": behind_cv <= max(CV_BAR, error),
        "cost": cost <= COST_BAR,
    }
    return row | {
        "standard_error": error, "behind": behind, "behind_cv": behind_cv, "cost": cost,
        "holds": holds,
    }  # fmt: skip


def _line(name, row):
    """Return one row as an aligned line."""
    figures = "".join(
        f" {row['top_1'].get(key, np.nan):>8.2f}" for key in (*OTHERS, "LEML", "LEML CV")
    )
    missed = ", ".join(key for key, good in row["holds"].items() if not good)
    return (
        f"{name:<14}{figures} {row['standard_error']:>6.2f} {row['behind']:>7.2f}"
        f" {row['behind_cv']:>7.2f} {row['cost']:>6.1f}  {'missed: ' + missed if missed else 'ok'}"
    )


def _arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON file")
    parser.add_argument("--data", default=os.environ.get("LEML_DATA"), help="folder (LEML_DATA)")
    parser.add_argument("--dataset", nargs="+", help="names (default: all of the folder)")
    parser.add_argument("--quick", action="store_true", help="small synthetic data")
    return parser.parse_args(argv)


def main(argv=None):
    """Measure, print and write."""
    args = _arguments(argv)
    warnings.simplefilter("ignore")  # labels without a positive, fits that do not converge
    report = {"machine": machine(), "rows": {}, "skipped": {}}
    if find_spec("napkinxc") is None:
        report["skipped"]["PLT"] = "napkinxc is not installed: pip install napkinxc"
    print(f"{'data':<14}" + "".join(f" {key:>8}" for key in (*OTHERS, "LEML", "LEML CV"))
          + f" {'error':>6} {'behind':>7} {'cv':>7} {'cost':>6}  bars")  # fmt: skip
    for name in ["synthetic"] if args.quick else args.dataset or available(args.data):
        data = load(name, args.data)
        if data is None:
            report["skipped"][name] = "it has no split"
            continue
        report["rows"][name] = judge(measure(data))
        print(_line(name, report["rows"][name]), flush=True)
        if args.out:
            args.out.parent.mkdir(parents=True, exist_ok=True)
            args.out.write_text(json.dumps(report, indent=1) + "\n")
    for name, reason in report["skipped"].items():
        print(f"skipped: {name}, {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(run_command("benchmarks.defaults", main))
