"""Time our certified engine against cvxpy on the same problems in the same run.

    python -m benchmarks.erm [--out benchmarks/results/erm.json] [--quick]

The peer is the fastest cvxpy solver (CLARABEL, SCS at its default, SCS at 1e-9). Ours is asked for
a relative gap no worse than the peer's; gaps below 1e-11 count as equal (a minimum of zero can be
hit to the last bit, and then no gap is better). Times are medians, except that a peer above a
second runs once. Peer times include cvxpy's compilation, which its users wait for; ours exclude
loading the compiled loops, whose time is reported by itself.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np

from leml_solver import (
    LOSSES,
    Ball,
    FrobeniusBall,
    Labels,
    Problem,
    SolverResult,
    TraceBall,
    certify,
    minimise,
    minimise_by_cvxpy,
)

ROUNDING_GAP = 1e-11
PEERS = {
    "CLARABEL": ("CLARABEL", {"verbose": False}),
    "SCS": ("SCS", {"verbose": False}),
    "SCS 1e-9": ("SCS", {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 20_000}),
}
# CLARABEL needs half a minute and 1.5 GB at (50, 50).
CLARABEL_LARGEST = 400


@dataclass(frozen=True)
class Instance:
    """One problem: sizes, loss, ball, radius and what makes it hard."""

    name: str
    d: int
    L: int
    n: int
    loss: str = "squared"
    ball: str = "trace"
    labels_per_point: int | None = None
    ill_conditioned: bool = False
    rank: int | None = None
    radius: float | None = None
    quick: bool = False
    peer: bool = True


@dataclass(frozen=True)
class Row:
    """What was measured on one instance."""

    name: str
    seconds: float
    gap: float
    iterations: int
    status: str
    peer: str | None
    peer_seconds: float | None
    peer_gap: float | None
    ratio: float | None


def instances() -> Iterator[Instance]:
    """Yield the recorded set: the sizes asked for, the hard cases, then what cvxpy cannot do."""
    yield Instance("50x50 squared", 50, 50, 500, quick=True)
    yield Instance("100x100 squared", 100, 100, 1000)
    for s in (None, 1):
        seen = "full" if s is None else "s=1"
        for d, L in ((10, 10), (20, 20), (30, 40)):
            yield Instance(
                f"ill {d}x{L} {seen}", d, L, 5 * max(d, L), labels_per_point=s,
                ill_conditioned=True, radius=10 * L**0.5, quick=d < 30,
            )  # fmt: skip
        yield Instance(f"small 5x5 {seen}", 5, 5, 25, labels_per_point=s, quick=True)
        yield Instance(f"n<d 40x10 {seen}", 40, 10, 20, labels_per_point=s, radius=30.0)
        yield Instance(f"rank-deficient 20x20 {seen}", 20, 20, 100, labels_per_point=s, rank=8)
        yield Instance(f"loose radius 20x20 {seen}", 20, 20, 200, labels_per_point=s, radius=1e4)
        for loss in ("logistic", "squared_hinge"):
            yield Instance(
                f"{loss} 10x10 {seen}", 10, 10, 100, loss, labels_per_point=s, quick=True
            )
            yield Instance(
                f"{loss} ill 10x10 {seen}", 10, 10, 50, loss, labels_per_point=s,
                ill_conditioned=True, radius=10 * 10**0.5,
            )  # fmt: skip
        for loss in ("squared", "logistic", "squared_hinge"):
            yield Instance(f"{loss} 10x10 Frobenius {seen}", 10, 10, 100, loss, "frobenius", s)
    yield Instance("300x500 n=20000 s=1", 300, 500, 20_000, labels_per_point=1, peer=False)


def build(case: Instance) -> tuple[Problem, Ball]:
    """Draw the problem of an instance, the same in every run."""
    rng = np.random.default_rng(20140621)
    X = rng.standard_normal((case.n, case.d)) / np.sqrt(case.d)
    if case.ill_conditioned:
        X = X * np.sqrt(case.d) / np.arange(1, case.d + 1)
    if case.rank is not None:
        X = X[:, : case.rank] @ rng.standard_normal((case.rank, case.d))
    Z = rng.standard_normal((case.d, 3)) @ rng.standard_normal((3, case.L))
    rows, columns = _observed(case, rng)
    values = np.einsum("ej,ej->e", X[rows], Z.T[columns]) + rng.standard_normal(rows.size)
    loss = LOSSES[case.loss]
    values = np.where(values > 0, 1.0, -1.0) if loss.binary else values
    make = TraceBall if case.ball == "trace" else FrobeniusBall
    ball = make(case.radius or make(1.0).norm(Z))
    return Problem(loss, X, Labels.observed(rows, columns, values, (case.n, case.L))), ball


def _observed(case: Instance, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of the observed entries."""
    if case.labels_per_point is None:
        return np.divmod(np.arange(case.n * case.L), case.L)
    s = case.labels_per_point
    columns = rng.random((case.n, case.L)).argsort(axis=1)[:, :s]
    return np.repeat(np.arange(case.n), s), columns.ravel()


def fastest_peer(problem: Problem, ball: Ball) -> tuple[str, float, float]:
    """Return name, seconds and relative gap of the fastest cvxpy solver on this problem."""
    answers = []
    for name, (solver, options) in PEERS.items():
        if name == "CLARABEL" and np.prod(problem.shape) > CLARABEL_LARGEST:
            continue
        times: list[float] = []
        while not times or (len(times) < 5 and sum(times) < 1):
            began = time.perf_counter()
            found = minimise_by_cvxpy(problem, ball, solver=solver, **options)
            times.append(time.perf_counter() - began)
        seconds = median(times)
        gap = certify(problem, ball, found.Z, found.dual).relative_gap
        if found.solved:
            answers.append((name, seconds, gap))
    return min(answers, key=lambda answer: answer[1])


def measure(case: Instance, repeats: int) -> Row:
    """Solve one instance by cvxpy and by our engine, at an equal or better gap."""
    problem, ball = build(case)
    peer = fastest_peer(problem, ball) if case.peer else None
    tol = 1e-6 if peer is None else min(1e-6, max(peer[2], ROUNDING_GAP))
    runs = [_solve_afresh(problem, ball, tol) for _ in range(repeats if case.peer else 1)]
    seconds, last = median(seconds for seconds, _ in runs), runs[-1][1]
    return Row(
        case.name, seconds, last.certificate.relative_gap, last.iterations, last.status.name,
        *(peer or (None, None, None)), None if peer is None else peer[1] / seconds,
    )  # fmt: skip


def _solve_afresh(problem: Problem, ball: Ball, tol: float) -> tuple[float, SolverResult]:
    """Return seconds and answer from the arrays on, with nothing kept of an earlier solve."""
    shape = problem.labels.shape
    began = time.perf_counter()
    labels = Labels.observed(problem.rows, problem.columns, problem.values, shape)
    result = minimise(Problem(problem.loss, problem.X, labels), ball, tol=tol)
    return time.perf_counter() - began, result


def warm_up() -> float:
    """Load or compile the loops over entries and cvxpy itself; return our share of the seconds."""
    rng = np.random.default_rng(0)
    X, rows = rng.standard_normal((60, 4)), np.arange(60)
    labels = Labels.observed(rows, rows % 8, (rows % 3 == 0) * 1.0, (60, 8))
    problem = Problem(LOSSES["logistic"], X, labels)
    began = time.perf_counter()
    minimise(problem, TraceBall(1.0))
    seconds = time.perf_counter() - began
    minimise_by_cvxpy(problem, TraceBall(1.0))
    return seconds


def line(row: Row) -> str:
    """Return one row of the table."""
    if row.peer_seconds is None:
        return f"{row.name:<34}{row.seconds:>10.4f}{row.gap:>10.1e}{'not run':>12}"
    return (
        f"{row.name:<34}{row.seconds:>10.4f}{row.gap:>10.1e}{row.peer:>12}"
        f"{row.peer_seconds:>10.4f}{row.peer_gap:>10.1e}{row.ratio:>9.1f}"
    )


def machine() -> dict[str, object]:
    """Return what the figures depend on."""
    packages = ("numpy", "scipy", "numba", "cvxpy", "clarabel", "scs")
    return {
        "load_average": os.getloadavg(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }


def main() -> None:
    """Run the benchmark, print the table and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/erm.json"))
    parser.add_argument("--quick", action="store_true", help="the small instances only")
    options = parser.parse_args()
    report: dict[str, object] = {"machine": machine(), "warm_up_seconds": warm_up()}
    heads = ("ours s", "gap", "peer", "peer s", "gap", "ratio")
    widths = (10, 10, 12, 10, 10, 9)
    print("instance".ljust(34) + "".join(h.rjust(w) for h, w in zip(heads, widths, strict=True)))
    rows = []
    for case in instances():
        if case.quick or not options.quick:
            rows.append(measure(case, repeats=5))
            print(line(rows[-1]), flush=True)
    report |= {"rows": [asdict(row) for row in rows], "load_after": os.getloadavg()}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
