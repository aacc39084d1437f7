"""LEML against what a user would pick instead, on real data.

    python -m benchmarks.methods [--out benchmarks/results/methods.json] [--data DIR] [--quick]

Every method gets the same training rows, a process of its own and the same number of threads, one
after the other. Its setting is chosen from a short list, by top-1 accuracy on a fifth of the
training rows held out; the time to train is that of one fit of the chosen setting to all of them.
Time to predict is that of the five best labels of each test row. The size is that of the
coefficients as they are stored. A method is on the Pareto front if no other is at least as good in
everything and better in something.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median

import numpy as np
from scipy import sparse

from benchmarks import shapes
from benchmarks.contenders import FLOOR, Contender, contenders
from command_line import run_command
from leml_solver import available_threads
from leml_solver.datasets import load_dataset
from leml_solver.metrics import evaluate_scores, top_k_accuracy

# data set -> ranks of LEML and CPLST: about 20, 40, 100 % of L, and less where L is large
RANKS = {"bibtex": (32, 64, 159), "delicious": (20, 50, 100, 200), "synthetic": (4, 8)}
ACCURACIES = ("top_1", "auc")
COSTS = (("bytes",), ("train_seconds",), ("bytes", "train_seconds"))
_SHORT_FIT = 2.0  # seconds below which a fit is timed three times
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                     "NUMBA_NUM_THREADS")  # fmt: skip


def load(name, folder):
    """Return training features and labels, then those for testing."""
    if name == "synthetic":
        X, Y = shapes.full_data(shapes.BIBTEX.scaled(0.05), binary=True)
        cut = X.shape[0] * 4 // 5
        return X[:cut], Y[:cut], X[cut:], Y[cut:]
    parts = load_dataset(name, folder).split()
    # scikit-learn 1.9 casts the numbers of labels to the type of Y: beyond 128 labels, int8 wraps
    # around, columns are permuted in silence and scores are at chance. napkinXC takes no arrays.
    typed = ((part.X.astype(np.float32), part.Y.astype(np.int64)) for part in parts)
    return tuple(sparse.csr_matrix(A) for pair in typed for A in pair)


def choose(contender, X, Y, threads):
    """Return the setting of best top-1 accuracy on held-out training rows."""
    order = np.random.default_rng(0).permutation(X.shape[0])
    held, kept = np.sort(order[: X.shape[0] // 5]), np.sort(order[X.shape[0] // 5 :])
    reached = [
        top_k_accuracy(Y[held], contender.fit(X[kept], Y[kept], threads, **one).scores(X[held]), 1)
        for one in contender.settings
    ]
    return contender.settings[int(np.argmax(reached))]


def timed(function):
    """Return what a function returns and its time: once, or the median of three short ones."""
    seconds = []
    while len(seconds) < (3 if sum(seconds) < _SHORT_FIT else 1):
        began = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - began)
    return result, median(seconds)


def measure(contender: Contender, data, threads):
    """Choose a setting, fit, predict and evaluate."""
    X, Y, X_test, Y_test = data
    contender.fit(X[:60], Y[:60], threads, **contender.settings[0])  # compiles and imports
    began = time.perf_counter()
    setting = choose(contender, X, Y, threads)
    search = time.perf_counter() - began
    model, train_seconds = timed(lambda: contender.fit(X, Y, threads, **setting))
    _, predict_seconds = timed(lambda: model.best(X_test))
    found = evaluate_scores(Y_test, model.scores(X_test))
    top_1 = found.top_k[1]
    return {
        "train_seconds": train_seconds,
        "predict_seconds": predict_seconds,
        "bytes": model.n_bytes,
        **{f"top_{k}": 100 * value for k, value in found.top_k.items()},
        "auc": found.auc,
        "top_1_stderr": 100 * float(np.sqrt(top_1 * (1 - top_1) / found.n_rows)),
        "setting": setting,
        "search_seconds": search,
        "load": os.getloadavg()[0],
    }


def measure_apart(contender, dataset, args):
    """Measure in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.methods", "--child", contender.name]
    command += ["--package", contender.package, "--dataset", dataset]
    command += ["--threads", str(args.threads)] + (["--data", args.data] if args.data else [])
    environment = os.environ | dict.fromkeys(_THREAD_VARIABLES, str(args.threads))
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {"failed": reason}
    return json.loads(done.stdout.splitlines()[-1])


def run(contender, dataset, args):
    """Return one row of the table."""
    head = {"dataset": dataset, "method": contender.name, "package": contender.package}
    if not contender.available:
        return head | {"failed": f"not installed: pip install {contender.needs}"}
    if args.quick:
        return head | measure(contender, load(dataset, args.data), args.threads)
    return head | measure_apart(contender, dataset, args)


def dominators(row, rows, accuracy, costs):
    """Return the rows that are at least as good as this one in everything, better in something."""

    def values(one):
        return np.array([-one[accuracy], *(one[cost] for cost in costs)])

    ours = values(row)
    others = [(other, values(other)) for other in rows if other is not row]
    return [other for other, theirs in others if (theirs <= ours).all() and (theirs < ours).any()]


def fronts(rows):
    """Return the Pareto front of each accuracy against each set of costs, and LEML's absences."""
    found = []
    for accuracy in ACCURACIES:
        for costs in COSTS:
            above = {_name(row): dominators(row, rows, accuracy, costs) for row in rows}
            found.append(
                {
                    "accuracy": accuracy,
                    "costs": costs,
                    "front": [name for name, better in above.items() if not better],
                    "leml_not_on_it": {
                        name: sorted(_name(other) for other in better)
                        for name, better in above.items()
                        if better and name.startswith("LEML")
                    },
                }
            )
    return found


def _name(row):
    return row["method"] if row["package"] == "ours" else f"{row['package']} {row['method']}"


def _line(row):
    """Return one row as an aligned line."""
    head = f"{row['dataset']:<10} {_name(row):<36}"
    if "failed" in row:
        return f"{head} {row['failed']}"
    return (
        f"{head} {row['train_seconds']:>9.2f} {row['predict_seconds']:>9.3f} {row['bytes']:>12,}"
        f" {row['top_1']:>7.2f} {row['top_3']:>7.2f} {row['top_5']:>7.2f} {row['auc']:>8.4f}"
        f"  load {row['load']:.1f}  {row['setting']}"
    )


def _tell(dataset, rows, found):
    """Print the fronts, and plainly where LEML is not on them."""
    error = max(row["top_1_stderr"] for row in rows)
    print(f"\n{dataset}: standard error of top-1 on the test rows: {error:.2f} points")
    floor = [row["top_1"] for row in rows if row["method"] == FLOOR]
    for row in rows:
        if floor and row["top_1"] < floor[0]:
            print(f"  SUSPECT: {_name(row)} does worse than label frequencies; is its input right?")
    for one in found:
        print(f"  front of {one['accuracy']} against {' and '.join(one['costs'])}:")
        print(f"    {', '.join(one['front'])}")
        for name, better in one["leml_not_on_it"].items():
            print(f"    not on it: {name} (dominated by {', '.join(better)})")
        if not one["leml_not_on_it"]:
            print("    every LEML row is on it")


def picture(rows, path):
    """Draw accuracy against size and time, one panel each, readable in grey.

    Methods are numbered, with the key below; the floor is left out, as it would squeeze the rest.
    """
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    shown = [row for row in rows if row["method"] != "label frequencies"]
    figure, axes = plt.subplots(2, 2, figsize=(11, 9))
    figure.subplots_adjust(left=0.07, right=0.98, top=0.95, bottom=0.22, hspace=0.25, wspace=0.18)
    for y, line in zip(ACCURACIES, axes, strict=True):
        for (x,), ax in zip(COSTS[:2], line, strict=True):
            for number, row in enumerate(shown, start=1):
                _draw_point(ax, row[x], row[y], row, number)
            ax.set(xscale="log", xlabel=x.replace("_", " "), ylabel=y.replace("_", "-"))
    figure.suptitle("Filled circles: LEML; squares: other methods of ours; triangles: packages")
    key = [f"{number}  {_name(row)}" for number, row in enumerate(shown, start=1)]
    for column in range(3):
        part = "\n".join(key[column::3])
        figure.text(0.07 + 0.32 * column, 0.15, part, fontsize=8, va="top")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _draw_point(ax, x, y, row, number):
    """Draw a method's marker with its number."""
    leml = row["method"].startswith("LEML")
    marker = "o" if leml else {"ours": "s"}.get(row["package"], "^")
    ax.plot(x, y, marker, color="black", markerfacecolor="black" if leml else "white")
    ax.annotate(str(number), (x, y), (4, 3), textcoords="offset points", fontsize=7)


def machine():
    """Return what the figures depend on."""
    versions = {}
    for name in ("numpy", "scipy", "numba", "scikit-learn", "napkinxc"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return {"cores": os.cpu_count(), "python": platform.python_version(), "versions": versions}


def _arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="JSON file")
    parser.add_argument("--data", default=os.environ.get("LEML_DATA"), help="folder (LEML_DATA)")
    parser.add_argument("--dataset", nargs="+", choices=[*RANKS], default=["bibtex", "delicious"])
    parser.add_argument("--only", nargs="+", default=[], help="parts of method names")
    parser.add_argument("--threads", type=int, default=min(2, available_threads()))
    parser.add_argument("--quick", action="store_true", help="small synthetic data, one process")
    parser.add_argument("--picture", action="store_true", help="PNG files beside the JSON file")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--package", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def _wanted(dataset, args):
    """Return the methods asked for."""
    made = contenders(RANKS[dataset])
    if args.child:
        return [one for one in made if (one.name, one.package) == (args.child, args.package)]
    parts = [part.lower() for part in args.only] or [""]
    return [c for c in made if any(part in f"{c.package} {c.name}".lower() for part in parts)]


def main(argv=None):
    """Measure, print and write."""
    args = _arguments(argv)
    warnings.simplefilter("ignore")  # labels without a positive, settings that do not converge
    if args.child:
        (contender,) = _wanted(args.dataset[0], args)
        print(json.dumps(measure(contender, load(args.dataset[0], args.data), args.threads)))
        return 0
    report = {"machine": machine(), "threads": args.threads, "rows": [], "fronts": {}}
    print(f"{'data':<10} {'method':<36} {'train s':>9} {'predict s':>9} {'bytes':>12}"
          f" {'top-1':>7} {'top-3':>7} {'top-5':>7} {'AUC':>8}")  # fmt: skip
    for dataset in ["synthetic"] if args.quick else args.dataset:
        rows = []
        for contender in _wanted(dataset, args):
            rows.append(run(contender, dataset, args))
            print(_line(rows[-1]), flush=True)
        report["rows"] += rows
        _finish(dataset, [row for row in rows if "failed" not in row], report, args)
    return 0


def _finish(dataset, rows, report, args):
    """Find the fronts of one data set, print them, and write what there is so far."""
    if rows:
        report["fronts"][dataset] = fronts(rows)
        _tell(dataset, rows, report["fronts"][dataset])
    if args.out:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(report, indent=1) + "\n")
    if args.picture and args.out and rows:
        picture(rows, args.out.with_name(f"{args.out.stem}_{dataset}.png"))


if __name__ == "__main__":
    sys.exit(run_command("benchmarks.methods", main))
