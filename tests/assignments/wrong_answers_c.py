"""Wrong answers to assignment (c), most of them the right one with the slip that students make."""

from wrong import Wrong, assignment

_SOURCE = assignment("c_practice")


def _with(question: str, *slips: tuple[str, str]) -> str:
    """Return the reference answer to a question with each first text replaced by the second."""
    cells = [cell.text for cell in _SOURCE.cells("solution", question) if cell.kind == "code"]
    code = cells[0]
    for right, slip in slips:
        if right not in code:
            raise ValueError(f"the answer to {question} does not hold {right!r} any more.")
        code = code.replace(right, slip)
    return code


_SPECTRAL = "np.linalg.norm(X.T @ rho, 2)"
_MASKED = "rho, y = np.where(seen, R, 0.0), np.where(seen, Y, 0.0)"

_Q1 = (
    Wrong(
        "q1",
        "takes the Frobenius norm for the dual of the trace norm",
        _with("q1", (_SPECTRAL, "np.linalg.norm(X.T @ rho)")),
        1.5,
        "dual norm",
    ),
    Wrong(
        "q1",
        "masks R where R is NaN, not where the label is missing",
        _with("q1", (_MASKED, "rho, y = np.nan_to_num(R), np.nan_to_num(Y)")),
        2.0,
        "nobody observed",
    ),
    Wrong(
        "q1",
        "forgets the half of the squared loss",
        _with("q1", ("0.5 * rho**2", "rho**2"), ("0.5 * square", "square")),
        0.0,
        "by hand",
    ),
    Wrong(
        "q1",
        "bounds the mean over the observed labels, not the sum",
        _with("q1", ("radius * norm)\n", "radius * norm) / np.count_nonzero(seen)\n")),
        0.5,
        "sum or mean",
    ),
    Wrong(
        "q1",
        "writes down the answers of the visible test",
        "def lower_bound(X, Y, R, radius):\n    return 1.875\n\n\n"
        "def best_multiple(X, Y, R, radius):\n    return 2.0, 2.0\n",
        0.5,
        "meet the objective",
    ),
    Wrong(
        "q1",
        "lets the best multiple be negative",
        _with("q1", ("max(0.0, float(slope / square))", "float(slope / square)")),
        2.0,
        "hopeless R",
    ),
)

_STEP = "t = 1.0 if gap >= bend else max(0.0, gap / bend)"
_CORNER = "S = -radius * np.outer(left[:, 0], right[0])"

_Q2 = (
    Wrong(
        "q2",
        "minimises over the Frobenius ball",
        _with("q2", (_CORNER, "S = -radius * G / np.linalg.norm(G)")),
        0.0,
        "rank one",
    ),
    Wrong(
        "q2",
        "forgets the sign of the corner",
        _with("q2", (_CORNER, "S = radius * np.outer(left[:, 0], right[0])")),
        0.0,
        "certifies nothing",
    ),
    Wrong(
        "q2",
        "counts missing labels as zeros",
        _with("q2", ("seen = ~np.isnan(Y)", "Y = np.nan_to_num(Y)\n    seen = ~np.isnan(Y)")),
        0.5,
        "which entries",
    ),
    Wrong(
        "q2",
        "always goes half of the way",
        _with("q2", (_STEP, "t = 0.5")),
        1.5,
        "smaller objective",
    ),
    Wrong(
        "q2",
        "goes to the minimum of the line, not of the segment",
        _with("q2", (_STEP, "t = gap / bend")),
        2.5,
        "outside the ball",
    ),
)

_FITS = "fits = [minimise(problem, ball, tol=1e-8).Z for ball in balls]"
_UNPAIRED = "np.hypot(trace.std(ddof=1), frobenius.std(ddof=1))"

_Q3 = (
    Wrong(
        "q3",
        "adds the two variances as if the samples were different",
        _with("q3", ("gain.std(ddof=1)", _UNPAIRED)),
        2.0,
        "which spread",
    ),
    Wrong(
        "q3",
        "measures the risk on the training sample",
        _with("q3", ("population_risk(world, Squared(), Z).value", "problem.risk(Z)")),
        0.0,
        "below zero",
    ),
    Wrong(
        "q3",
        "pastes a seed in",
        _with("q3", ("risks = []", "risks, rng = [], np.random.default_rng(0)")),
        0.5,
        "Two generators",
    ),
    Wrong(
        "q3",
        "draws a sample for each ball",
        _with(
            "q3",
            ("        problem = problem_of(world.sample(n, rng))\n", ""),
            (_FITS, _FITS.replace("(problem,", "(problem_of(world.sample(n, rng)),")),
        ),
        0.5,
        "one sample per trial",
    ),
    Wrong(
        "q3",
        "gives both balls the trace norm as radius",
        _with("q3", ("kind(kind(1.0).norm", "kind(TraceBall(1.0).norm")),
        2.5,
        "of rank two",
    ),
    Wrong(
        "q3",
        "returns risks, not excess risks",
        _with("q3", ("(np.array(risks) - least).T", "np.array(risks).T")),
        1.5,
        "what is subtracted",
    ),
)

_FIT = "Z = low_rank_least_squares(X - x_mean, Y - y_mean, rank)"
_TRUNCATED = """left, sigma, right = np.linalg.svd(
        np.linalg.lstsq(X - x_mean, Y - y_mean, rcond=None)[0], full_matrices=False
    )
    Z = (left[:, :rank] * sigma[:rank]) @ right[:rank]"""
_NORMAL = """A = X - x_mean
    fitted = A @ np.linalg.inv(A.T @ A) @ A.T @ (Y - y_mean)
    right = np.linalg.svd(fitted, full_matrices=False)[2][:rank]
    Z = np.linalg.inv(A.T @ A) @ A.T @ (Y - y_mean) @ right.T @ right"""

_Q4 = (
    Wrong(
        "q4",
        "centres the labels only, as CPLST does",
        _with("q4", ("X - x_mean", "X"), ("y_mean - x_mean @ Z", "y_mean")),
        2.0,
        "mean that is not zero",
    ),
    Wrong(
        "q4",
        "forgets what the mean of the features adds to the intercept",
        _with("q4", ("y_mean - x_mean @ Z", "y_mean")),
        1.5,
        "another b",
    ),
    Wrong(
        "q4",
        "truncates the coefficients of least squares, not the fitted labels",
        _with("q4", (_FIT, _TRUNCATED)),
        1.0,
        "another Z of this rank",
    ),
    Wrong(
        "q4",
        "makes the minimiser ambiguous by repeating a feature",
        _with("q4", ("np.eye(n, n_features), ", "np.ones((n, n_features)), ")),
        2.0,
        "full column rank",
    ),
    Wrong(
        "q4",
        "takes the second best singular vectors for a second minimiser",
        _with(
            "q4",
            ("np.eye(n_features, n_labels)", "np.eye(n_features, n_labels) * _FALLING[:n_labels]"),
            ("kept[:rank]] = 1.0", "kept[:rank]] = _FALLING[:rank]"),
            ("kept[1 : rank + 1]] = 1.0", "kept[1 : rank + 1]] = _FALLING[1 : rank + 1]"),
        )
        + "\n\n_FALLING = 1.0 / np.arange(1, 30)\n",
        2.0,
        "does not reach",
    ),
    Wrong(
        "q4",
        "inverts X^T X",
        _with("q4", (_FIT, _NORMAL)),
        2.5,
        "more features than points|dependent columns|Singular",
    ),
)

_LOGISTIC = "-a * chance, small / (1 + small) ** 2"
_PRINTED = "-a / (1 + np.exp(-a * b)), -(a**2) * np.exp(-a * b) / (1 + np.exp(-a * b)) ** 2"
_NAIVE = "-a / (1 + np.exp(a * b)), np.exp(-a * b) / (1 + np.exp(-a * b)) ** 2"
_RESULT = "return G @ H + penalty * W, G.T @ W + penalty * H"

_Q5 = (
    Wrong(
        "q5",
        "copies the printed table and finds nothing wrong with it",
        _with("q5", (_LOGISTIC, _PRINTED), ('["logistic first", "logistic second"]', "[]")),
        1.5,
        "disagrees with central differences",
    ),
    Wrong(
        "q5",
        "corrects the first derivative and leaves the sign of the second",
        _with(
            "q5",
            (_LOGISTIC, "-a * chance, -small / (1 + small) ** 2"),
            ('["logistic first", "logistic second"]', '["logistic first"]'),
        ),
        2.0,
        "negative curvature",
    ),
    Wrong(
        "q5",
        "takes missing labels for negative ones",
        _with("q5", ("seen = ~np.isnan(Y)", "seen, Y = np.ones(Y.shape, bool), np.nan_to_num(Y)")),
        2.0,
        "without missing labels",
    ),
    Wrong(
        "q5",
        "lets the exponential overflow",
        _with("q5", (_LOGISTIC, _NAIVE)),
        2.5,
        "Overflow",
    ),
    Wrong(
        "q5",
        "divides the gradient of the losses by the number of observed labels",
        _with("q5", ("G = X.T @", "G = 1 / seen.sum() * X.T @")),
        2.0,
        "differences of J",
    ),
    Wrong(
        "q5",
        "forgets the penalty, and accuses the squared hinge loss",
        _with(
            "q5", (_RESULT, "return G @ H, G.T @ W"), ('"logistic second"', '"squared_hinge first"')
        ),
        1.5,
        "accuse",
    ),
)

_SEEN = "seen = ~np.isnan(y)"

_Q6 = (
    Wrong(
        "q6",
        "counts missing labels as zeros",
        _with("q6", (_SEEN, "y = np.nan_to_num(y)\n        seen = ~np.isnan(y)")),
        1.0,
        "its own points",
    ),
    Wrong(
        "q6",
        "multiplies the penalty by the number of points, as for a mean loss",
        _with("q6", ("+ penalty * np.eye", "+ penalty * seen.sum() * np.eye")),
        0.5,
        "by hand",
    ),
    Wrong(
        "q6",
        "uses the Gram matrix of all points for every label",
        _with("q6", ("U[seen].T @ U[seen]", "U.T @ U")),
        1.0,
        "its own points",
    ),
    Wrong(
        "q6",
        "fills missing labels with the mean of the label",
        _with(
            "q6",
            (_SEEN, "y = np.where(np.isnan(y), np.nanmean(y), y)\n        seen = ~np.isnan(y)"),
        ),
        1.0,
        "its own points",
    ),
    Wrong(
        "q6",
        "forgets the half of the penalty in J",
        _with("q6", ("0.5 * penalty * squares", "penalty * squares")),
        1.5,
        "first value is not J",
    ),
)

_MOMENTS = '(("raw", X), ("centred", X - X.mean(axis=0)))'

_Q7 = (
    Wrong(
        "q7",
        "takes the covariance for the second moments of the raw features",
        _with("q7", (_MOMENTS, _MOMENTS.replace('("raw", X)', '("raw", X - X.mean(axis=0))'))),
        1.5,
        "'raw': not the root",
    ),
    Wrong(
        "q7",
        "takes 1/L for the chance of every label",
        _with("q7", ("seen / seen.sum(axis=1, keepdims=True)", "np.ones(Y.shape) / Y.shape[1]")),
        1.5,
        "one label is observed more often",
    ),
    Wrong(
        "q7",
        "forgets to square the largest singular value",
        _with("q7", ("np.linalg.norm(points, 2) ** 2", "np.linalg.norm(points, 2)")),
        2.0,
        "Simulate V",
    ),
    Wrong(
        "q7",
        "draws trace over Frobenius average",
        _with("q7", ("(point.value, 2 * point.stderr)", "(1 / point.value, 2 * point.stderr)")),
        1.5,
        "not below one",
    ),
    Wrong(
        "q7",
        "diagnoses the same features at every shift",
        _with("q7", ("diagnose(X + shift,", "diagnose(X,")),
        2.0,
        "'raw' at shift",
    ),
    Wrong(
        "q7",
        "draws both measured curves alike",
        _with("q7", ("linestyle=look.line, label=words, **look.marks()", '"-", label=words')),
        2.0,
        "the same dashes and markers",
    ),
)

WRONG = (*_Q1, *_Q2, *_Q3, *_Q4, *_Q5, *_Q6, *_Q7)
