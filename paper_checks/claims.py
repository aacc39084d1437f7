"""Checks of Claims 1 and 2 in depth: the closed forms on ordinary and on adversarial data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leml_solver.algorithms import CPLST, compress, cplst, low_rank_least_squares
from paper_checks.cplst import cplst_objective, cplst_report, least_squared_error, squared_error
from paper_checks.facts import at_least, at_most, different, equal
from paper_checks.instances import (
    Instance,
    adversarial,
    ordinary,
    rank_deficient,
    shaped,
    tied,
)
from paper_checks.registry import Effort, Outcome, check

Array = NDArray[np.float64]

CLEAR_GAP = [5.0, 4.0, 2.0, 1.0, 0.5]  # singular values of labels with a unique minimiser


@check("F8")
def best_predictor_of_given_rank(effort: Effort) -> Outcome:
    """The closed form attains the Eckart-Young value, has the rank, and is never undercut."""
    data = ordinary(effort.rng)
    instances = [i for _ in range(effort.pick(1, 8)) for i in adversarial(effort.rng)]
    worst, rank, beaten = 0.0, -np.inf, 0.0
    for i in instances:
        Z = low_rank_least_squares(i.X, i.Y, i.rank)
        report = cplst_report(i.X, i.Y, i.rank)
        room = report.objective_tolerance or 1e-300
        value = squared_error(i.X, i.Y, Z)
        worst = max(worst, abs(value - report.minimum) / room)
        rank = max(rank, _numerical_rank(Z) - i.rank)
        beaten = max(beaten, (value - _best_of_starts(i, effort.rng)) / room)
    Z = low_rank_least_squares(data.X, data.Y, data.rank)
    least = least_squared_error(data.X, data.Y, data.rank)
    return Outcome(
        (
            equal("squared error", squared_error(data.X, data.Y, Z), least, 1e-11 * least),
            at_most("worst residual of all instances over rounding", worst, 1),
            at_most("rank above k", rank, 0),
            at_most("undercut by alternating least squares, over rounding", beaten, 1),
        ),
        note=f"{len(instances)} instances: " + ", ".join(dict.fromkeys(i.name for i in instances)),
    )


def _numerical_rank(Z: Array) -> int:
    """Return the number of singular values above rounding."""
    sigma = np.linalg.svd(Z, compute_uv=False)
    return int(np.count_nonzero(sigma > 1e-9 * max(sigma[0], 1e-300)))


def _best_of_starts(data: Instance, rng: np.random.Generator, starts: int = 3) -> float:
    """Return the least squared error that alternating least squares finds from random starts."""
    return min(squared_error(data.X, data.Y, _alternate(data, rng)) for _ in range(starts))


def _alternate(data: Instance, rng: np.random.Generator, iterations: int = 60) -> Array:
    """Alternate between exact least squares in H and in W: brute force, for any X and rank."""
    pseudo = np.linalg.pinv(data.X)
    W = rng.standard_normal((data.X.shape[1], data.rank))
    for _ in range(iterations):
        A = np.linalg.qr(data.X @ W)[0]
        H = data.Y.T @ A
        W = pseudo @ np.linalg.lstsq(H, data.Y.T, rcond=None)[0].T
    return np.asarray(W @ H.T)


@check("F8.1")
def when_the_minimiser_is_unique(effort: Effort) -> Outcome:
    """Unique with full column rank and a gap; without either, another minimiser is exhibited."""
    clear, flat, tie = (
        shaped(effort.rng, CLEAR_GAP, 2),
        rank_deficient(effort.rng),
        tied(effort.rng),
    )
    Z, flat_Z, tie_Z = (low_rank_least_squares(i.X, i.Y, i.rank) for i in (clear, flat, tie))
    other, flat_other, tie_other = _alternate(clear, effort.rng), moved(flat, flat_Z), turned(tie)
    # sigma_3 / sigma_2 = 1/2: sixty alternations leave an angle of about 2^-120.
    size = float(np.linalg.norm(Z))
    thin = float(np.linalg.norm(_thin_svd_predictor(flat)) / np.linalg.norm(flat_Z))
    return Outcome(
        (
            equal(
                "distance of two minimisers, clear gap", np.linalg.norm(Z - other), 0, 1e-9 * size
            ),
            different(
                "distance of two minimisers, rank-deficient X",
                np.linalg.norm(flat_other - flat_Z),
                0.0,
                0.1,
                "the move has length 1",
            ),
            equal("their squared errors", _error(flat, flat_other), _error(flat, flat_Z), 1e-9),
            at_least("norm above the least", np.linalg.norm(flat_other), np.linalg.norm(flat_Z)),
            different(
                "distance of two minimisers, tie",
                np.linalg.norm(tie_other - tie_Z),
                0.0,
                1e-3,
                "far above rounding",
            ),
            equal("their squared errors", _error(tie, tie_other), _error(tie, tie_Z), 1e-9),
            at_least("norm with zero singular values inverted, over the least", thin, 1e6),
        )
    )


def _error(data: Instance, Z: Array) -> float:
    """Return the squared error on the instance."""
    return squared_error(data.X, data.Y, Z)


def moved(data: Instance, Z: Array) -> Array:
    """Return Z plus a step of length one along the null space of X, with the same row space."""
    null = np.linalg.svd(data.X)[2][-1]
    row = np.linalg.svd(Z)[2][0]
    return np.asarray(Z + np.outer(null, row))


def turned(data: Instance) -> Array:
    """Return the predictor that keeps a mixture of the k-th and (k+1)-th singular pairs."""
    problem, k = compress(data.X, data.Y), data.rank
    P, sigma, Qt = np.linalg.svd(problem.M, full_matrices=False)
    p, q = (P[:, k - 1] + P[:, k]) / np.sqrt(2), (Qt[k - 1] + Qt[k]) / np.sqrt(2)
    kept = (P[:, : k - 1] * sigma[: k - 1]) @ Qt[: k - 1] + sigma[k - 1] * np.outer(p, q)
    return problem.predictor(kept)


def _thin_svd_predictor(data: Instance) -> Array:
    """Return V S^-1 M_k with the zero singular values of X kept, as a thin decomposition has it."""
    U, sigma, Vt = np.linalg.svd(data.X, full_matrices=False)
    P, s, Qt = np.linalg.svd(U.T @ data.Y, full_matrices=False)
    k = data.rank
    return np.asarray(Vt.T @ (((P[:, :k] * s[:k]) @ Qt[:k]) / sigma[:, None]))


@check("F9")
def sum_of_norms(effort: Effort) -> Outcome:
    """The norms add only when squared; the minimiser is the same since one part is constant."""
    data = ordinary(effort.rng)
    U = np.linalg.svd(data.X, full_matrices=False)[0]
    inside, outside, whole = [], [], []
    for _ in range(20):
        R = data.Y - data.X @ effort.rng.standard_normal((8, 7))
        inside.append(np.linalg.norm(U.T @ R))
        outside.append(np.linalg.norm(R - U @ (U.T @ R)))
        whole.append(np.linalg.norm(R))
    a, b, c = (np.array(norms) for norms in (inside, outside, whole))
    return Outcome(
        (
            different(
                "sum of the two norms over the norm", (split_norm(a, b) / c).max(), 1.0, 1e-3
            ),
            equal("root of the sum of squares over it", (np.hypot(a, b) / c).max(), 1.0, 1e-13),
            equal("spread of the second norm over Z", np.ptp(b) / b[0], 0.0, 1e-12),
        )
    )


def split_norm(inside: Array, outside: Array) -> Array:
    """Return the norm of a sum of orthogonal parts as the proof's third line prints it."""
    return inside + outside


@check("F10")
def cplst_is_the_same_predictor(effort: Effort) -> Outcome:
    """Both closed forms give one Z and one objective; so does the route printed in the proof."""
    data = shaped(effort.rng, CLEAR_GAP, 2)
    instances = [i for _ in range(effort.pick(1, 8)) for i in adversarial(effort.rng)]
    reports = [cplst_report(i.X, i.Y, i.rank) for i in instances]
    apart = max(r.distance / (r.distance_tolerance or 1e-300) for r in reports if not r.tied)
    worse = max(
        abs(r.cplst_objective - r.minimum) / (r.objective_tolerance or 1e-300) for r in reports
    )
    Z, found = low_rank_least_squares(data.X, data.Y, 2), cplst(data.X, data.Y, 2)
    printed = _from_the_gram_matrix(data)
    least, size = least_squared_error(data.X, data.Y, 2), float(np.linalg.norm(Z))
    # The Gram matrix squares the singular values: their ratio 4 : 2 costs no digits here.
    return Outcome(
        (
            equal("objective (4)", cplst_objective(data.X, data.Y, found), least, 1e-11 * least),
            equal("distance of the two predictors", np.linalg.norm(Z - found.Z), 0, 1e-11 * size),
            equal("distance to the proof's route", np.linalg.norm(Z - printed), 0, 1e-9 * size),
            at_most("worst distance of all instances over rounding", apart, 1),
            at_most("worst residual of all instances over rounding", worse, 1),
        ),
        note=f"{len(instances)} instances, {sum(r.tied for r in reports)} of them tied.",
    )


def _from_the_gram_matrix(data: Instance) -> Array:
    """Return X^+ Y H H^T with H the top eigenvectors of Y^T X X^+ Y, as the proof has it."""
    pseudo = np.linalg.pinv(data.X)
    H = np.linalg.eigh(data.Y.T @ data.X @ pseudo @ data.Y)[1][:, -data.rank :]
    return np.asarray(pseudo @ data.Y @ H @ H.T)


@check("F10.1")
def the_objectives_are_one_function(effort: Effort) -> Outcome:
    """(4) is the squared error of W H^T at every feasible pair, not only at the minimisers."""
    data = ordinary(effort.rng)
    ratios: list[float] = []
    loose: list[float] = []
    for _ in range(50):
        W = effort.rng.standard_normal((8, 3))
        H = np.linalg.qr(effort.rng.standard_normal((7, 3)))[0]
        for factor, found in ((1.0, ratios), (1.5, loose)):
            pair = CPLST(W, factor * H, np.zeros(7))
            found.append(
                cplst_objective(data.X, data.Y, pair) / squared_error(data.X, data.Y, pair.Z)
            )
    return Outcome(
        (
            equal("objective (4) over the squared error, smallest", min(ratios), 1.0, 1e-12),
            equal("the same, largest", max(ratios), 1.0, 1e-12),
            different(
                "the same where H^T H = 2.25 I", max(loose, key=lambda r: abs(r - 1)), 1.0, 1e-3
            ),
        )
    )


@check("F10.2")
def ties_separate_the_closed_forms(effort: Effort) -> Outcome:
    """With sigma_k = sigma_{k+1} two right answers to (4) give two predictors; with a gap, one."""
    data = tied(effort.rng)
    report = cplst_report(data.X, data.Y, data.rank)
    clear = cplst_report(*_fields(shaped(effort.rng, CLEAR_GAP, 2)))
    found, other = cplst(data.X, data.Y, data.rank), _turned_cplst(data)
    values = [cplst_objective(data.X, data.Y, pair) for pair in (found, other)]
    apart = float(np.linalg.norm(found.Z - other.Z))
    return Outcome(
        (
            equal("objective (4) at the other solution", values[1], values[0], 1e-10 * values[0]),
            different("distance of the two predictors", apart, 0.0, 1e-3, "far above rounding"),
            equal("tie recognised", report.tied, 1, 0, "exact"),
            equal("tie seen where there is a gap", clear.tied, 0, 0, "exact"),
        ),
        note="; ".join(report.remarks),
    )


def _fields(data: Instance) -> tuple[Array, Array, int]:
    """Return X, Y and k."""
    return data.X, data.Y, data.rank


def _turned_cplst(data: Instance) -> CPLST:
    """Return the solution of (4) whose last column mixes the k-th and (k+1)-th vectors."""
    problem, k = compress(data.X, data.Y), data.rank
    Q = np.linalg.svd(problem.M, full_matrices=False)[2].T
    H = np.column_stack([Q[:, : k - 1], (Q[:, k - 1] + Q[:, k]) / np.sqrt(2)])
    return CPLST(problem.predictor(problem.M @ H), H, np.zeros(len(H)))


@check("F10.3")
def the_original_centres_the_labels(effort: Effort) -> Outcome:
    """Centring changes predictions and error unless the labels are centred already."""
    data = ordinary(effort.rng)
    off, on = data.Y + 3.0, data.Y - data.Y.mean(axis=0)
    far, near = (cplst_report(data.X, Y, data.rank) for Y in (off, on))
    gained = 1 - far.centred_objective / far.objective
    return Outcome(
        (
            different(
                "shift of predictions, labels off centre",
                far.centring_shift,
                0.0,
                0.1,
                "the labels' mean is three deviations",
            ),
            at_least("share of the squared error that centring saves", gained, 0.1),
            equal("shift of predictions, centred labels", near.centring_shift, 0.0, 1e-12),
        )
    )


@check("F11")
def transposes_in_the_proof(effort: Effort) -> Outcome:
    """The printed products do not conform, or where they do by chance, are not minimisers."""
    wide, square = rank_deficient(effort.rng), ordinary(effort.rng)
    problem = compress(square.X, square.Y)
    P, sigma, Qt = np.linalg.svd(problem.M, full_matrices=False)
    Mk = (P[:, :3] * sigma[:3]) @ Qt[:3]
    least = least_squared_error(square.X, square.Y, 3)
    printed = squared_error(
        square.X, square.Y, printed_predictor(problem.V, problem.singular_values, Mk)
    )
    correct = squared_error(square.X, square.Y, problem.predictor(Mk))
    shape = compress(wide.X, wide.Y)
    return Outcome(
        (
            equal(
                "printed products that conform when rank X < d",
                _conforms(shape.V, shape.singular_values, shape.M),
                0,
                0,
                "exact",
            ),
            different("squared error as printed, over the least", printed / least, 1.0, 1e-6),
            equal("squared error with V_X, over the least", correct / least, 1.0, 1e-11),
            different(
                "truncated SVD with V_k for its transpose",
                np.linalg.norm((P * sigma)[:, :7] @ printed_right_factor(Qt) - problem.M),
                0.0,
                1e-3,
            ),
            equal(
                "truncated SVD with the transpose",
                np.linalg.norm((P * sigma) @ Qt - problem.M),
                0.0,
                1e-12 * sigma.sum(),
            ),
        )
    )


def printed_predictor(V: Array, sigma: Array, M: Array) -> Array:
    """Return V_X^T S^-1 M as the proof prints it."""
    return np.asarray(V.T @ (M / sigma[:, None]))


def printed_right_factor(Qt: Array) -> Array:
    """Return the right factor of the truncated decomposition as the proof prints it, V_k."""
    return np.asarray(Qt.T)


def _conforms(V: Array, sigma: Array, M: Array) -> int:
    """Return 1 if the printed product can be formed."""
    try:
        printed_predictor(V, sigma, M)
    except ValueError:
        return 0
    return 1
