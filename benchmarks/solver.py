"""Speed of the LEML solver: `python -m benchmarks.solver --out benchmarks/results/solver.json`.

Each row has our seconds, the peer's seconds and their ratio, the objectives that both reached, the
products with X, and the load average at the time. Kernels are timed interleaved, best of 10.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks import shapes
from benchmarks.peers import Direct, scipy_plain
from leml_solver import AlternatingOptions, available_threads, fit_factors, limit_threads
from leml_solver.algorithms import (
    FAST,
    PLAIN,
    CountingMatrix,
    FeatureProblem,
    as_matrix,
    entries_of,
)
from leml_solver.labels import Labels
from leml_solver.losses import LOSSES

BIBTEX_OBJECTIVE = 3400.06  # the authors' program after 5 outer iterations, in our scaling
BIBTEX_SECONDS = 12.5  # its time on 2 threads of the machine of record


def row(name, ours, peer=None, **rest):
    """Return one row of the table."""
    ratio = peer / ours if peer else None
    load = round(os.getloadavg()[0], 2)
    return {
        "row": name,
        "seconds": ours,
        "peer_seconds": peer,
        "ratio": ratio,
        "load": load,
        **rest,
    }


def interleaved(functions: dict[str, Callable], repeats: int = 10) -> dict[str, float]:
    """Return the best time of each function, all timed in turn after one warm-up."""
    best = dict.fromkeys(functions, np.inf)
    for repeat in range(repeats + 1):
        for name, function in functions.items():
            began = time.perf_counter()
            function()
            if repeat:
                best[name] = min(best[name], time.perf_counter() - began)
    return best


def _factors(shape, *sizes, seed=1):
    """Return standard normal factors over sqrt(rank), one per size."""
    rng = np.random.default_rng(seed)
    scale = np.float32(shape.rank**-0.5)
    return [rng.standard_normal((size, shape.rank), dtype=np.float32) * scale for size in sizes]


def _options(**changes):
    return AlternatingOptions(**{"max_iter": 5, "tol": 0.0, "certify": False, **changes})


def _warm(X, Y, rank):
    """Compile everything that a fit on such data needs."""
    part = slice(0, 50)
    labels = Y if isinstance(Y, Labels) else Y[part]
    features = X if isinstance(Y, Labels) else X[part]
    for method in ("fast", "plain", replace(FAST, factorise=False)):
        fit_factors(
            features,
            labels,
            rank=rank,
            penalty=1.0,
            options=_options(max_iter=1, method=method, certify=True),
        )


def kernels(args):
    """Sparse products and values on Omega against scipy and numpy."""
    shape = shapes.EURLEX.scaled(args.scale)
    X, Y = shapes.full_data(shape)
    W, A, H = _factors(shape, shape.d, shape.n, shape.L)
    matrix, XT = as_matrix(X, np.float32), X.T
    coo = Y.tocoo()
    entries = entries_of(
        Labels.observed(coo.row, coo.col, coo.data, Y.shape), LOSSES["squared"], np.float32
    )
    D = entries.slopes(A, H, None)
    square = np.ones((2000, 2000), dtype=np.float32)
    big = np.ones(1 << 26, dtype=np.float32)
    best = interleaved(
        {
            "X@W": lambda: matrix.times(W),
            "scipy X@W": lambda: X @ W,
            "X.T@A": lambda: matrix.adjoint(A),
            "scipy X.T@A": lambda: XT @ A,
            "values on Omega": lambda: entries.predictions(A, H, None),
            "numpy values on Omega": lambda: np.einsum("ek,ek->e", A[coo.row], H[coo.col]),
            "fused (C*(AH^T))H": lambda: entries.rows_product(D, A, H),
            "numpy fused (C*(AH^T))H": lambda: _numpy_fused(Y, D, A, H, coo),
        }
    )
    # On their own: the threads of a BLAS keep a core busy for a while after a product, which a fit,
    # holding BLAS to one thread, does not meet.
    best |= interleaved({"gemm": lambda: square @ square, "read": lambda: big.sum()})
    peak = 2 * 2000**3 / best["gemm"] / 1e9
    rows = [
        row("machine: float32 GEMM, GF/s", peak),
        row("machine: read, GB/s", 4 * big.size / best["read"] / 1e9),
    ]
    for name, peer in (("X@W", "scipy X@W"), ("X.T@A", "scipy X.T@A")):
        speed = 2 * X.nnz * shape.rank / best[name] / 1e9
        rows.append(
            row(f"kernel {name}", best[name], best[peer], gflops=speed, share_of_gemm=speed / peak)
        )
    for name in ("values on Omega", "fused (C*(AH^T))H"):
        rows.append(row(f"kernel {name}", best[name], best[f"numpy {name}"]))
    return rows


def _numpy_fused(Y, D, A, H, coo):
    values = D * np.einsum("ek,ek->e", A[coo.row], H[coo.col])
    return sp.csr_matrix((values, Y.indices, Y.indptr), shape=Y.shape) @ H


def _to_target(X, Y, shape, options, target):
    """Fit until the target is met; return seconds, objective and products then."""
    fit = fit_factors(
        X,
        Y,
        rank=shape.rank,
        penalty=1.0,
        random_state=1,
        options=replace(options, max_iter=30, callback=lambda p: p.objective <= target),
    )
    last = fit.trace[-1]
    return {"seconds": last.seconds, "objective": last.objective, "products": last.products}


def eurlex(args):
    """Full labels, squared loss: time to what the plain variant has after 5 outer iterations."""
    shape = shapes.EURLEX.scaled(args.scale)
    X, Y = shapes.full_data(shape)
    _warm(X, Y, shape.rank)
    start = tuple(_factors(shape, shape.d, shape.L))
    plain = fit_factors(
        X, Y, rank=shape.rank, penalty=1.0, options=_options(method="plain", start=start)
    )
    seconds, target = plain.trace[-1].seconds, plain.objective
    cg = replace(PLAIN, columnwise=True)
    steps = [
        ("+ one CG per column in the eigenvectors of H^T H", cg),
        ("+ Jacobi preconditioner", replace(cg, precondition=True)),
        ("+ 4 CG steps", replace(cg, precondition=True, cg_steps=4)),
        ("+ balancing: the fast variant", replace(FAST, factorise=False)),
    ]
    rows = [row("eurlex plain, our kernels", seconds, objective=target, products=plain.products)]
    for name, plan in steps:
        ours = _to_target(X, Y, shape, _options(method=plan, start=start), target)
        rows.append(
            row(f"eurlex {name}", ours.pop("seconds"), seconds, peer_objective=target, **ours)
        )
    fast = rows[-1]["seconds"]
    ours = _to_target(X, Y, shape, _options(method=replace(FAST, factorise=False)), target)
    rows.append(
        row("eurlex + gradient start (not the same start)", ours.pop("seconds"), seconds, **ours)
    )
    if not args.skip_scipy:
        objective, slow = scipy_plain(X, Y.astype(np.float32), start, np.float32(1.0), 5)
        rows.append(
            row(
                "eurlex fast against scipy plain",
                fast,
                slow,
                peer_objective=objective,
                objective=rows[-2]["objective"],
            )
        )
    began = time.perf_counter()
    fit = fit_factors(X, Y, rank=shape.rank, penalty=1.0, options=_options(certify=True))
    certificate = fit.certificate
    rows.append(
        row(
            "eurlex certificate after 5 iterations",
            time.perf_counter() - began - fit.trace[-1].seconds,
            objective=certificate.objective,
            lower_bound=certificate.lower_bound,
            gradient_norm=certificate.gradient_norm,
            failure_probability=certificate.failure_probability,
        )
    )
    return rows


def _bibtex(args):
    """Return the paper's bibtex training set if it is there, else data of its shape."""
    path = Path(args.data or ".") / "bibtex.npz"
    if not args.data or not path.exists():
        return "bibtex shape (synthetic)", *shapes.full_data(shapes.BIBTEX, binary=True)
    with np.load(path) as file:
        X, Y = (
            sp.csr_matrix(
                (file[p + "_data"], file[p + "_indices"], file[p + "_indptr"]),
                shape=tuple(file[p + "_shape"]),
            )
            for p in "XY"
        )
        rows = file["train_idx"]
    return "bibtex", X[rows].astype(np.float32), Y[rows].astype(np.float64)


def bibtex(args):
    """Full labels, squared loss, k = 64, penalty 0.05: the authors' objective in under a second."""
    name, X, Y = _bibtex(args)
    _warm(X, Y, 64)
    real = name == "bibtex"
    plain = fit_factors(
        X, Y, rank=64, penalty=0.05, options=_options(method="plain", start="uniform", order="WH")
    )
    target = BIBTEX_OBJECTIVE if real else plain.objective
    rows = []
    for label, method in (("4 CG steps", FAST), ("8 CG steps", replace(FAST, cg_steps=8))):
        options = _options(method=method, max_iter=20, callback=lambda p: p.objective <= target)
        last = fit_factors(X, Y, rank=64, penalty=0.05, options=options).trace[-1]
        rows.append(
            row(
                f"{name}, k = 64, {label}",
                last.seconds,
                BIBTEX_SECONDS if real else plain.trace[-1].seconds,
                objective=last.objective,
                peer_objective=target,
                products=last.products,
            )
        )
    return rows


def missing(args):
    """20 % observed: Algorithm 1 against (8)-(9) as written, the same gradient and products."""
    name, X, Y = _bibtex(args)
    labels = Labels.observed(*shapes.observed_entries(Y, 0.2), Y.shape)
    shape, rows = shapes.BIBTEX, []
    W, H = _factors(shape, X.shape[1], Y.shape[1])
    for loss in ("squared", "logistic"):
        entries = entries_of(labels, LOSSES[loss], np.float32)
        fast = FeatureProblem(
            CountingMatrix(as_matrix(X, np.float32)), entries, H, None, 1.0, False
        )
        direct = Direct(X, entries, H, 1.0)
        point = fast.at(W)
        product, C = fast.hessian(point), direct.curvature(W)
        difference = np.abs(product(W) - direct.hessian_product(C, W)).max()
        best = interleaved(
            {
                "gradient": lambda f=fast: f.gradient(f.at(W)),
                "direct gradient": lambda d=direct: d.gradient(W),
                "Hessian product": lambda p=product: p(W),
                "direct Hessian product": lambda d=direct, C=C: d.hessian_product(C, W),
            },
            repeats=3,
        )
        for part in ("gradient", "Hessian product"):
            rows.append(
                row(
                    f"{name}, 20 % observed, {loss}, {part}",
                    best[part],
                    best[f"direct {part}"],
                    difference=float(difference),
                )
            )
        fit = fit_factors(X, labels, rank=64, penalty=1.0, loss=loss, options=_options())
        plain = fit_factors(
            X, labels, rank=64, penalty=1.0, loss=loss, options=_options(method="plain")
        )
        rows.append(
            row(
                f"{name}, 20 % observed, {loss}, outer iteration (peer: plain)",
                fit.trace[-1].seconds / 5,
                plain.trace[-1].seconds / 5,
                objective=fit.objective,
                peer_objective=plain.objective,
                products=fit.products,
            )
        )
    return rows


def growth(args):
    """Seconds per outer iteration while |Omega| + nnz(X) grows sixteenfold."""
    rows, sizes, seconds = [], [], []
    shape = shapes.BIBTEX.scaled(args.scale)
    for factor in (1, 2, 4, 8, 16):
        larger = replace(shape, n=shape.n * factor)
        X, Y = shapes.full_data(larger, binary=True)
        labels = Labels.observed(*shapes.observed_entries(Y, 0.2), Y.shape)
        if factor == 1:
            _warm(X, labels, shape.rank)
        fit = fit_factors(
            X, labels, rank=shape.rank, penalty=1.0, options=_options(max_iter=3, start="normal")
        )
        times = np.diff([point.seconds for point in fit.trace])
        sizes.append(labels.n_observed + X.nnz)
        seconds.append(float(times.min()))
        rows.append(row(f"growth, size x {factor}", seconds[-1], size=sizes[-1]))
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    rows.append(row("growth: exponent of seconds in |Omega| + nnz(X)", slope))
    return rows


def missing_at_scale(args):
    """Ten million observed entries, full rows (peer): CPU seconds of 3 iterations at k = 50."""
    n, d, L = (int(size * args.scale) for size in (200_000, 50_000, 20_000))
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(
        (rng.standard_normal(50 * n), rng.integers(d, size=50 * n), 50 * np.arange(n + 1)),
        shape=(n, d),
    )
    columns = rng.integers(L, size=53 * n)
    values = (rng.random(columns.size) < 0.1).astype(float)
    labels = Labels.observed(np.repeat(np.arange(n), 53), columns, values, (n, L))
    seconds, fits = [], []
    for Y in (labels, sp.csr_matrix((values, columns, 53 * np.arange(n + 1)), shape=(n, L))):
        _warm(X[:500], Y.take(np.arange(500)) if Y is labels else Y[:500], 50)
        began = time.process_time()
        fits.append(fit_factors(X, Y, rank=50, penalty=10.0, options=_options(max_iter=3)))
        seconds.append(time.process_time() - began)
    name = f"{n} x {d}, L = {L}: {labels.n_observed} entries (peer: full labels), CPU"
    return [row(name, *seconds, objective=fits[0].objective)]


def threads(args):
    """Gradient and Hessian product with 1, 2, ... threads: the analogue of Figure 3."""
    shape = shapes.EURLEX.scaled(args.scale)
    X, Y = shapes.full_data(shape)
    W, H = _factors(shape, shape.d, shape.L)
    coo = Y.tocoo()
    labels = Labels.observed(coo.row, coo.col, coo.data, Y.shape)
    entries = entries_of(labels, LOSSES["logistic"], np.float32)
    problem = FeatureProblem(CountingMatrix(as_matrix(X, np.float32)), entries, H, None, 1.0, False)
    product = problem.hessian(problem.at(W))
    parts = {
        "gradient": lambda: problem.gradient(problem.at(W)),
        "Hessian product": lambda: product(W),
    }
    rows, times, most = [], {}, available_threads()
    for count in range(1, most + 1):
        with limit_threads(count):
            timed = interleaved(parts)
        for part, best in timed.items():
            times[part, count] = best
            rows.append(row(f"{part}, {count} threads", best, times[part, 1], threads=count))
    if args.out:
        _draw_threads(times, list(parts), most, Path(args.out).with_name("solver_threads.png"))
    return rows


def _draw_threads(times, parts, most, path):
    """Draw speed-up against threads."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 4))
    counts = range(1, most + 1)
    for part in parts:
        ax.plot(counts, [times[part, 1] / times[part, c] for c in counts], "o-", label=part)
    ax.plot(counts, counts, "k:", label="linear")
    ax.set(xlabel="threads", ylabel="speed-up", xticks=list(counts), title="eurlex shape, k = 250")
    ax.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)


ROWS = {
    f.__name__: f for f in (kernels, eurlex, bibtex, missing, growth, missing_at_scale, threads)
}


def _arguments(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.solver", description=__doc__)
    parser.add_argument("--out", help="JSON file to write")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="multiply n, d and L; 0.1 is quick"
    )
    parser.add_argument("--only", nargs="+", choices=ROWS, help="rows to run")
    parser.add_argument(
        "--data", default=os.environ.get("LEML_DATA"), help="folder with bibtex.npz (LEML_DATA)"
    )
    parser.add_argument("--skip-scipy", action="store_true", help="leave out the slowest peer")
    return parser.parse_args(argv)


def _show(line):
    """Return one row as an aligned line."""
    ratio = f"{line['ratio']:8.2f}x" if line["ratio"] else " " * 9
    peer = f"{line['peer_seconds']:10.4f}" if line["peer_seconds"] else " " * 10
    rest = {k: v for k, v in line.items() if k in ("objective", "products")}
    shown = " ".join(f"{k}={v:.6g}" for k, v in rest.items() if v is not None)
    return (
        f"{line['row']:62s} {line['seconds']:10.4f} {peer} {ratio}  load {line['load']:<5} {shown}"
    )


def main(argv=None):
    """Run the rows asked for, print them, and write them to a file."""
    args = _arguments(argv)
    began, rows = time.perf_counter(), []
    for name in args.only or ROWS:
        for line in ROWS[name](args):
            rows.append(line)
            print(_show(line), flush=True)
    if args.out:
        table = {
            "scale": args.scale,
            "threads": available_threads(),
            "seconds": time.perf_counter() - began,
            "rows": rows,
        }
        Path(args.out).write_text(json.dumps(table, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
