"""Checks of Claims 1 and 2 in depth: the closed forms on ordinary and on adversarial data."""

import numpy as np

from leml_solver.algorithms import CPLST, Compression, compress, cplst, low_rank_least_squares
from leml_theory.arrays import Array
from paper_checks.checking import Effort, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import CONDITION, CONTROL, MEANT, REFUTES, REPAIRED, SUPPORTS
from paper_checks.cplst import cplst_objective, cplst_report, least_squared_error, squared_error
from paper_checks.worlds.instances import (
    Instance,
    adversarial,
    ordinary,
    rank_deficient,
    shaped,
    tied,
)

CLEAR_GAP = [5.0, 4.0, 2.0, 1.0, 0.5]  # singular values of labels with a unique minimiser


@Statement(
    id="F8",
    place="Claim 1",
    says="With X = U S V^T and M = U^T Y, the matrix V S^-1 M_k minimises |Y - XZ|_F^2 over "
    "rank(Z) <= k.",
    kind=Kind.EQUALITY,
    refuted_by="A squared error away from that value by more than rounding, or undercut.",
)
def best_predictor_of_given_rank(effort: Effort) -> Findings:
    """Random and adversarial data: error against the Eckart-Young value, rank, and alternation."""
    data = ordinary(effort.rng)
    instances = [i for _ in range(effort.pick(1, 8)) for i in adversarial(effort.rng)]
    worst, rank, beaten = 0.0, -np.inf, 0.0
    for i in instances:
        Z = low_rank_least_squares(i.X, i.Y, i.rank)
        report = cplst_report(i.X, i.Y, i.rank)
        room = report.objective_tolerance or 1e-300
        value = squared_error(i.X, i.Y, Z)
        worst = max(worst, abs(value - report.minimum) / room)
        above_rounding = 1e-9 * float(np.linalg.norm(Z, 2))
        rank = max(rank, float(np.linalg.matrix_rank(Z, tol=above_rounding)) - i.rank)
        found = min(squared_error(i.X, i.Y, _alternate(i, effort.rng)) for _ in range(3))
        beaten = max(beaten, (value - found) / room)
    Z = low_rank_least_squares(data.X, data.Y, data.rank)
    least = least_squared_error(data.X, data.Y, data.rank)
    yield SUPPORTS.equal("squared error", squared_error(data.X, data.Y, Z), least, 1e-11 * least)
    yield SUPPORTS.at_most("worst residual of all instances over rounding", worst, 1)
    yield SUPPORTS.at_most("rank above k", rank, 0)
    yield SUPPORTS.at_most("undercut by alternating least squares, over rounding", beaten, 1)
    yield f"{len(instances)} instances: " + ", ".join(dict.fromkeys(i.name for i in instances))


def _alternate(data: Instance, rng: np.random.Generator, iterations: int = 60) -> Array:
    """Alternate between exact least squares in H and in W: brute force, for any X and rank."""
    pseudo = np.linalg.pinv(data.X)
    W = rng.standard_normal((data.X.shape[1], data.rank))
    for _ in range(iterations):
        A = np.linalg.qr(data.X @ W)[0]
        H = data.Y.T @ A
        W = pseudo @ np.linalg.lstsq(H, data.Y.T, rcond=None)[0].T
    return np.asarray(W @ H.T)


@Statement(
    id="F8.1",
    place="Equation (3)",
    says="That matrix is the minimiser, with the thin decomposition of X.",
    kind=Kind.EQUALITY,
    verdict=Verdict.HIDDEN,
    refuted_by="Two minimisers under both assumptions, or only one without them.",
    correct="It is the only minimiser if and only if X has full column rank and sigma_k > "
    "sigma_{k+1} (or sigma_{k+1} = 0) for M. Zero singular values of X must be left out; then it "
    "is the minimiser of least norm, given M_k.",
    why="Directions outside the row space of X change nothing in X Z, tied singular values leave "
    "the truncation open, and zero singular values cannot be inverted.",
    example="X = (1 0), Y = 1, k = 1: Z = (1, t)^T is a minimiser for every t.",
    sure=Sure.PROVED,
    where="Section 2.1, paragraph 4, sentence 1",
)
def when_the_minimiser_is_unique(effort: Effort) -> Findings:
    """Alternating least squares where both conditions hold; another minimiser where one fails."""
    clear, flat = shaped(effort.rng, CLEAR_GAP, 2), rank_deficient(effort.rng)
    tie = tied(effort.rng)
    Z, flat_Z, tie_Z = (low_rank_least_squares(i.X, i.Y, i.rank) for i in (clear, flat, tie))
    other, flat_other, tie_other = _alternate(clear, effort.rng), moved(flat, flat_Z), turned(tie)
    # sigma_3 / sigma_2 = 1/2: sixty alternations leave an angle of about 2^-120.
    size, least = float(np.linalg.norm(Z)), float(np.linalg.norm(flat_Z))
    flat_move, tie_move = np.linalg.norm(flat_other - flat_Z), np.linalg.norm(tie_other - tie_Z)
    thin = float(np.linalg.norm(_thin_svd_predictor(flat)) / least)
    length, far = "the move has length 1", "far above rounding"
    apart = np.linalg.norm(Z - other)
    yield CONDITION.equal("distance of two minimisers, clear gap", apart, 0, 1e-9 * size)
    yield REFUTES.different("the same, rank-deficient X", flat_move, 0.0, 0.1, length)
    first, second = _error(flat, flat_other), _error(flat, flat_Z)
    yield REFUTES.equal("their squared errors", first, second, 1e-9)
    yield REPAIRED.at_least("norm above the least", np.linalg.norm(flat_other), least)
    yield REFUTES.different("distance of two minimisers, tie", tie_move, 0.0, 1e-3, far)
    yield REFUTES.equal("their squared errors", _error(tie, tie_other), _error(tie, tie_Z), 1e-9)
    yield REFUTES.at_least("norm with zero singular values inverted, over the least", thin, 1e6)


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


@Statement(
    id="F9",
    place="Claim 1",
    says="Third line of the proof: the norm of a sum of two orthogonal parts is replaced by the "
    "sum of their norms (and the fifth line has a stray parenthesis).",
    kind=Kind.EQUALITY,
    verdict=Verdict.MISPRINT,
    refuted_by="Equal sides, or a second part that depends on Z.",
    correct="Norms squared: |a + b|^2 = |a|^2 + |b|^2; the minimiser is the same either way.",
    why="For orthogonal parts the squares of the norms add up, not the norms.",
    example="a = (3, 0), b = (0, 4): |a + b| = 5, |a| + |b| = 7.",
    sure=Sure.PROVED,
    where="Section 2.1, line 4 of the formulas",
)
def sum_of_norms(effort: Effort) -> Findings:
    """Evaluate both sides at random Z."""
    data = ordinary(effort.rng)
    U = np.linalg.svd(data.X, full_matrices=False)[0]
    inside, outside, whole = [], [], []
    for _ in range(20):
        R = data.Y - data.X @ effort.rng.standard_normal((8, 7))
        inside.append(np.linalg.norm(U.T @ R))
        outside.append(np.linalg.norm(R - U @ (U.T @ R)))
        whole.append(np.linalg.norm(R))
    a, b, c = (np.array(norms) for norms in (inside, outside, whole))
    plain, squared = ((split_norm(a**p, b**p) / c**p).max() for p in (1, 2))
    yield REFUTES.different("sum of the two norms over the norm", plain, 1.0, 1e-3)
    yield MEANT.equal("sum of squares over |Y - XZ|^2, which is minimised", squared, 1.0, 1e-13)
    yield REPAIRED.equal("spread of the second norm over Z", np.ptp(b) / b[0], 0.0, 1e-12)


def split_norm(inside: Array, outside: Array) -> Array:
    """Return the norm of a sum of orthogonal parts as the proof's third line prints it."""
    return inside + outside


@Statement(
    id="F10",
    place="Claim 2",
    says="The closed form of CPLST, without centring, is the minimiser of Equation (3).",
    kind=Kind.EQUALITY,
    refuted_by="Predictors or objectives farther apart than rounding explains.",
)
def cplst_is_the_same_predictor(effort: Effort) -> Findings:
    """The instances of Claim 1: predictors and objectives of both forms and the proof's route."""
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
    objective = cplst_objective(data.X, data.Y, found)
    yield SUPPORTS.equal("objective (4)", objective, least, 1e-11 * least)
    near, far = (np.linalg.norm(Z - other) for other in (found.Z, printed))
    yield SUPPORTS.equal("distance of the two predictors", near, 0, 1e-11 * size)
    yield SUPPORTS.equal("distance to the proof's route", far, 0, 1e-9 * size)
    yield SUPPORTS.at_most("worst distance of all instances over rounding", apart, 1)
    yield SUPPORTS.at_most("worst residual of all instances over rounding", worse, 1)
    yield f"{len(instances)} instances, {sum(r.tied for r in reports)} of them tied."


def _from_the_gram_matrix(data: Instance) -> Array:
    """Return X^+ Y H H^T with H the top eigenvectors of Y^T X X^+ Y, as the proof has it."""
    pseudo = np.linalg.pinv(data.X)
    H = np.linalg.eigh(data.Y.T @ data.X @ pseudo @ data.Y)[1][:, -data.rank :]
    return np.asarray(pseudo @ data.Y @ H @ H.T)


@Statement(
    id="F10.1",
    place="Equation (4)",
    says="The objective of CPLST is the squared error of the predictor W H^T.",
    kind=Kind.EQUALITY,
    refuted_by="Different values at a feasible pair.",
    correct="Stronger than the claim: |XW - YH|^2 + |Y - YHH^T|^2 = |Y - XWH^T|^2 at every "
    "feasible pair, so both problems are one, ties or not.",
)
def the_objectives_are_one_function(effort: Effort) -> Findings:
    """Evaluate both at random W and random H with orthonormal columns, and with H scaled."""
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
    yield SUPPORTS.equal("objective (4) over the squared error, smallest", min(ratios), 1.0, 1e-12)
    yield SUPPORTS.equal("the same, largest", max(ratios), 1.0, 1e-12)
    worst = max(loose, key=lambda r: abs(r - 1))
    yield CONTROL.different("the same where H^T H = 2.25 I", worst, 1.0, 1e-3)


@Statement(
    id="F10.2",
    place="Claim 2",
    says="Both closed forms are the same matrix.",
    kind=Kind.EQUALITY,
    verdict=Verdict.HIDDEN,
    refuted_by="One predictor in spite of a tie.",
    correct="For sigma_k > sigma_{k+1} (or k at least the rank of M) and k <= L; with a tie they "
    "are two minimisers of one problem.",
    why="With tied singular values each closed form may pick another of the minimisers.",
    example="X = Y = I of size 2, k = 1: diag(1, 0) and diag(0, 1) both solve both problems.",
    sure=Sure.PROVED,
    where="Section 2.1, paragraph 7, sentence 1",
)
def ties_separate_the_closed_forms(effort: Effort) -> Findings:
    """With sigma_k = sigma_{k+1}, write down a second solution of Equation (4)."""
    data = tied(effort.rng)
    report = cplst_report(data.X, data.Y, data.rank)
    free = shaped(effort.rng, CLEAR_GAP, 2)
    clear = cplst_report(free.X, free.Y, free.rank)
    found, other = cplst(data.X, data.Y, data.rank), _turned_cplst(data)
    values = [cplst_objective(data.X, data.Y, pair) for pair in (found, other)]
    apart = float(np.linalg.norm(found.Z - other.Z))
    first, second = values
    yield REFUTES.equal("objective (4) at the other solution", second, first, 1e-10 * first)
    yield REFUTES.different("distance of both predictors", apart, 0.0, 1e-3, "far above rounding")
    distance = clear.distance / clear.distance_tolerance
    yield CONDITION.at_most("distance of both where there is a gap, over rounding", distance, 1)
    yield CONTROL.equal("tie recognised", report.tied, 1, 0, "exact")
    yield CONTROL.equal("tie seen where there is a gap", clear.tied, 0, 0, "exact")
    yield "; ".join(report.remarks)


def _turned_cplst(data: Instance) -> CPLST:
    """Return the solution of (4) whose last column mixes the k-th and (k+1)-th vectors."""
    problem, k = compress(data.X, data.Y), data.rank
    Q = np.linalg.svd(problem.M, full_matrices=False)[2].T
    H = np.column_stack([Q[:, : k - 1], (Q[:, k - 1] + Q[:, k]) / np.sqrt(2)])
    return CPLST(problem.predictor(problem.M @ H), H, np.zeros(len(H)))


@Statement(
    id="F10.3",
    place="Claim 2",
    says="CPLST as Chen and Lin (2012) define it, whose labels are centred, is a special case of "
    "Equation (1).",
    kind=Kind.EQUALITY,
    verdict=Verdict.HIDDEN,
    refuted_by="Equal predictions on labels that are not centred.",
    correct="For labels whose mean has been subtracted, as the original method does.",
    why="The original subtracts the mean of the labels before it fits; Equation (4) does not.",
    example="X = (1, -1)^T, Y = (1, 1)^T: Equation (3) predicts 0, the original the mean, 1.",
    sure=Sure.PROVED,
    where="Section 2.1, paragraph 6, sentence 1",
)
def the_original_centres_the_labels(effort: Effort) -> Findings:
    """Fit with and without centring the labels, on labels with and without a mean."""
    data = ordinary(effort.rng)
    off, on = data.Y + 3.0, data.Y - data.Y.mean(axis=0)
    far, near = (cplst_report(data.X, Y, data.rank) for Y in (off, on))
    gained = 1 - far.centred_objective / far.objective
    reason = "the labels' mean is three deviations"
    shift = far.centring_shift
    yield REFUTES.different("shift of predictions, labels off centre", shift, 0.0, 0.1, reason)
    yield REFUTES.at_least("share of the squared error that centring saves", gained, 0.1)
    yield CONDITION.equal("shift of predictions, centred labels", near.centring_shift, 0.0, 1e-12)


@Statement(
    id="F11",
    place="Claim 2",
    says="The proof writes V_X^T S^-1 and the truncated decomposition as U_k S_k V_k.",
    kind=Kind.EQUALITY,
    verdict=Verdict.MISPRINT,
    refuted_by="Printed products that conform and minimise.",
    correct="V_X S^-1, and U_k S_k V_k^T.",
    why="V_X is d x r, so that V_X^T cannot stand before an r x r matrix unless d = r.",
    example="X = (3 4): V_X = (0.6, 0.8)^T, S = 5; V_X/5 is 2 x 1 as it must be, V_X^T/5 is 1 x 2.",
    sure=Sure.PROVED,
    where="Section 2.1, line 17 of the formulas",
)
def transposes_in_the_proof(effort: Effort) -> Findings:
    """Form the printed products: their shapes, and where d equals the rank, their values."""
    wide, square = rank_deficient(effort.rng), ordinary(effort.rng)
    problem = compress(square.X, square.Y)
    P, sigma, Qt = np.linalg.svd(problem.M, full_matrices=False)
    Mk = (P[:, :3] * sigma[:3]) @ Qt[:3]
    least = least_squared_error(square.X, square.Y, 3)
    printed = squared_error(
        square.X, square.Y, printed_predictor(problem.V, problem.singular_values, Mk)
    )
    correct = squared_error(square.X, square.Y, problem.predictor(Mk))
    conforms = _conforms(compress(wide.X, wide.Y))
    pseudo = np.linalg.norm(problem.predictor(problem.M) - np.linalg.pinv(square.X) @ square.Y)
    turned = np.linalg.norm((P * sigma)[:, :7] @ printed_right_factor(Qt) - problem.M)
    right = np.linalg.norm((P * sigma) @ Qt - problem.M)
    size = float(np.linalg.norm(square.Y))
    yield REFUTES.equal("printed products that conform when rank X < d", conforms, 0, 0, "exact")
    yield REFUTES.different("squared error as printed, over the least", printed / least, 1.0, 1e-6)
    yield REPAIRED.equal("squared error with V_X, over the least", correct / least, 1.0, 1e-11)
    yield MEANT.equal("error of V_X S^-1 U_X^T, a few lines above", pseudo, 0.0, 1e-12 * size)
    yield REFUTES.different("truncated SVD with V_k for its transpose", turned, 0.0, 1e-3)
    yield REPAIRED.equal("truncated SVD with the transpose", right, 0.0, 1e-12 * sigma.sum())


def printed_predictor(V: Array, sigma: Array, M: Array) -> Array:
    """Return V_X^T S^-1 M as the proof prints it."""
    return np.asarray(V.T @ (M / sigma[:, None]))


def printed_right_factor(Qt: Array) -> Array:
    """Return the right factor of the truncated decomposition as the proof prints it, V_k."""
    return np.asarray(Qt.T)


def _conforms(problem: Compression) -> bool:
    """Return whether the printed product can be formed."""
    try:
        printed_predictor(problem.V, problem.singular_values, problem.M)
    except ValueError:
        return False
    return True
