"""Claims 1 and 2 on data of your own: the residuals between the two closed forms, explained.

from paper_checks.cplst import cplst_report

print(cplst_report(X, Y, rank=10))
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from argument_checks import positive_integer
from leml_solver.algorithms import CPLST, Compression, compress, cplst, low_rank_least_squares
from leml_theory.arrays import Array

_ILL_CONDITIONED = 1e7  # beyond it Z has lost half of its digits
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, slots=True)
class CplstReport:
    """How far the closed forms of Claims 1 and 2 agree on one data set.

    Attributes
    ----------
    shape : (int, int, int)
        n, d, L.
    rank : int
        k.
    feature_rank : int
        Rank of X.
    condition : float
        Largest over smallest positive singular value of X.
    objective : float
        Squared error of Z = V S^-1 M_k, the closed form of Claim 1.
    minimum : float
        The least squared error of any Z of rank at most k, found without that closed form.
    cplst_objective : float
        Objective of Equation (4) at the CPLST closed form.
    distance : float
        Frobenius norm of Z - W H^T.
    gap : float
        sigma_k - sigma_{k+1} of U^T Y; infinite where the rank does not bind.
    tied, unique : bool
        Whether that gap is zero up to rounding, and whether Z is the only minimiser.
    centred_objective : float
        Squared error of the original CPLST, which centres the labels.
    centring_shift : float
        How far its predictions are from ours, relative to the labels.
    objective_tolerance, distance_tolerance : float
        What rounding explains.
    remarks : tuple of str
        What is special about these data.
    """

    shape: tuple[int, int, int]
    rank: int
    feature_rank: int
    condition: float
    objective: float
    minimum: float
    cplst_objective: float
    distance: float
    gap: float
    tied: bool
    unique: bool
    centred_objective: float
    centring_shift: float
    objective_tolerance: float
    distance_tolerance: float
    remarks: tuple[str, ...] = field(default=())

    @property
    def agrees(self) -> bool:
        """Whether both objectives are the minimum and both predictors one, up to rounding."""
        near = (
            abs(value - self.minimum) <= self.objective_tolerance
            for value in (self.objective, self.cplst_objective)
        )
        return all(near) and (self.tied or self.distance <= self.distance_tolerance)

    def __str__(self) -> str:
        n, d, n_labels = self.shape
        rows = {
            "data": f"n = {n}, d = {d}, L = {n_labels}, k = {self.rank}",
            "rank of X": f"{self.feature_rank}",
            "least squared error": f"{self.minimum:.12g}",
            "Claim 1, Equation (3)": f"{self.objective:.12g}",
            "Claim 2, Equation (4)": f"{self.cplst_objective:.12g}",
            "rounding explains": f"{self.objective_tolerance:.2g}",
            "|Z - W H^T|": f"{self.distance:.2g} (rounding explains {self.distance_tolerance:.2g})",
            "verdict": "they agree" if self.agrees else "they do NOT agree",
            "with centred labels": f"{self.centred_objective:.12g}, predictions move by "
            f"{self.centring_shift:.2%} of |Y|",
        }
        lines = [f"{name:<23}{text}" for name, text in rows.items()]
        return "\n".join([*lines, *(f"- {remark}" for remark in self.remarks)])


def cplst_report(X: Any, Y: Any, rank: int) -> CplstReport:
    """Compare the closed forms of Claims 1 and 2 on X, Y and k of your own.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features, one row per point.
    Y : (n, L) array or sparse matrix
        Labels, all of them known.
    rank : int
        k.

    Returns
    -------
    CplstReport
        Print it, or read its fields.

    Paper: Claim 1, Claim 2.
    """
    rank = positive_integer(rank, "rank")
    problem = compress(X, Y)
    X, Y = (np.asarray(A.toarray() if sp.issparse(A) else A, dtype=float) for A in (X, Y))
    columns = min(rank, Y.shape[1])
    Z, found, centred = (
        low_rank_least_squares(X, Y, rank),
        cplst(X, Y, columns),
        cplst(X, Y, columns, centre=True),
    )
    rounding = 8 * np.sqrt(sum(X.shape) + Y.shape[1]) * _EPS
    gap, tied = _gap(problem.M, rank, rounding)
    sigma = problem.singular_values
    condition = float(sigma[0] / sigma[-1]) if sigma.size else 1.0
    size = float(np.square(Y).sum())
    shift = np.linalg.norm(centred.scores(X) - X @ Z) / (np.sqrt(size) or 1.0)
    report = CplstReport(
        shape=(*X.shape, Y.shape[1]),
        rank=rank,
        feature_rank=sigma.size,
        condition=condition,
        objective=squared_error(X, Y, Z),
        minimum=least_squared_error(X, Y, rank),
        cplst_objective=cplst_objective(X, Y, found),
        distance=float(np.linalg.norm(Z - found.Z)),
        gap=gap,
        tied=tied,
        unique=sigma.size == X.shape[1] and not tied,
        centred_objective=float(np.square(Y - centred.scores(X)).sum()),
        centring_shift=float(shift),
        objective_tolerance=rounding * condition * size,
        distance_tolerance=_distance_tolerance(problem, gap, rounding * condition),
    )
    return _with_remarks(report)


def squared_error(X: Array, Y: Array, Z: Array) -> float:
    """Return |Y - X Z|^2."""
    return float(np.square(Y - X @ Z).sum())


def cplst_objective(X: Array, Y: Array, found: CPLST) -> float:
    """Return |X W - Y H|^2 + |Y - Y H H^T|^2, the objective of Equation (4)."""
    coded = Y @ found.H
    return float(np.square(X @ found.W - coded).sum() + np.square(Y - coded @ found.H.T).sum())


def least_squared_error(X: Array, Y: Array, rank: int) -> float:
    """Return the least |Y - X Z|^2 over rank(Z) <= k by the theorem of Eckart and Young.

    Nothing is shared with the closed forms: the column space of X comes from a pivoted QR.
    """
    Q, R, _ = scipy.linalg.qr(X, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    Q = Q[:, diagonal > max(X.shape) * _EPS * diagonal[0]]
    fitted = Q @ (Q.T @ Y)
    missed = np.linalg.svd(fitted, compute_uv=False)[rank:]
    return float(np.square(missed).sum() + np.square(Y - fitted).sum())


def _gap(M: Array, rank: int, rounding: float) -> tuple[float, bool]:
    """Return sigma_k - sigma_{k+1} and whether the two tie; infinite if the rank does not bind."""
    sigma = np.linalg.svd(M, compute_uv=False) if M.size else np.zeros(0)
    if sigma.size <= rank or sigma[rank] <= rounding * sigma[0]:
        return np.inf, False
    gap = float(sigma[rank - 1] - sigma[rank])
    return gap, bool(gap <= rounding * sigma[0])


def _distance_tolerance(problem: Compression, gap: float, rounding: float) -> float:
    """Return how far rounding can move Z: more where sigma_k and sigma_{k+1} are close."""
    size = float(np.linalg.norm(problem.M))
    if size == 0:
        return 0.0
    turned = 1 + size / gap if gap > 0 else np.inf
    return float(rounding * turned * size / problem.singular_values[-1])


def _with_remarks(report: CplstReport) -> CplstReport:
    """Add what is special about the data, in words."""
    _, d, n_labels = report.shape
    k, r = report.rank, report.feature_rank
    remarks = {
        f"X has rank {r} < d = {d}: Z + N is as good for every N with X N = 0 that keeps the "
        "rank; this Z is the one of least norm.": r < d,
        f"sigma_{k} = sigma_{k + 1}: the singular vectors kept can be turned into those dropped, "
        "so there are many minimisers, and two programs may return different ones.": report.tied,
        "The labels seen through X have rank at most k: the constraint does not bind.": np.isinf(
            report.gap
        ),
        f"k = {k} exceeds L = {n_labels}: Equation (4) has no feasible H; CPLST is shown for k = "
        "L.": k > n_labels,
        f"X is ill-conditioned ({report.condition:.1e}): Z is known to fewer digits than the "
        "objective.": report.condition > _ILL_CONDITIONED,
    }
    return replace(report, remarks=tuple(text for text, said in remarks.items() if said))
