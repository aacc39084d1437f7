"""Wrong answers to assignment (a), with what each of them keeps and what the student is told."""

from __future__ import annotations

from wrong import Wrong

_Q1_RIGHT_MAXIMISER = """
def ball_maximiser(V, ball, radius):
    if ball == "frobenius":
        return radius * V / np.linalg.norm(V)
    left, _, right = np.linalg.svd(V, full_matrices=False)
    return radius * np.outer(left[:, 0], right[0])
"""

_Q4_RIGHT_WALKS = """
def exact_share(n, n_labels):
    steps = np.vstack([np.eye(n_labels), -np.eye(n_labels)])
    walks = itertools.product(range(2 * n_labels), repeat=n)
    norms = [np.linalg.norm(steps[list(walk)].sum(0)) for walk in walks]
    return np.mean(norms) / math.sqrt(n)
"""

_Q4_RIGHT_LIMIT = """
def limit_share(n_labels):
    half = n_labels / 2
    return math.exp(math.lgamma(half + 0.5) - math.lgamma(half)) / math.sqrt(half)
"""

_Q4_SEARCH = """
def labels_needed(share):
    n_labels = 1
    while limit_share(n_labels) < share:
        n_labels += 1
    return n_labels
"""

_Q5_GAIN = """
def largest_gain(S, p):
    return math.sqrt(np.trace(S)) / rms_floor(S, p, 1, 1.0)
"""


def _averages(body: str) -> str:
    """Return an answer to question 2: `body` fills the lists `spectral` and `frobenius`."""
    return f"""
def conditional_averages(X, labels, n_labels, draws, rng):
    n, seen = X.shape[0], np.eye(n_labels)[labels]
    spectral, frobenius = [], []
{body}
    both = {{"trace": spectral, "frobenius": frobenius}}
    return {{ball: (np.mean(v), np.std(v, ddof=1) / math.sqrt(draws)) for ball, v in both.items()}}
"""


def _figure(averages: str, bound: str, finish: str = 'ax.set(xscale="log", yscale="log")') -> str:
    """Return an answer to question 6 with the given `trace, frobenius`, bound and axes."""
    return f"""
def plot_promise(features, observation, n_values, radius, rng, ax=None):
    if ax is None:
        _, ax = plt.subplots()
    n_values = np.asarray(n_values)
    measured = [
        rademacher_averages(features, observation, int(n), draws=200, rng=rng) for n in n_values
    ]
    unit = {{ball: np.array([m[ball].value for m in measured]) for ball in ("trace", "frobenius")}}
    second = features.moments.second_moment
    trace, frobenius = {averages}
    ax.plot(n_values, trace, "o-", label="trace ball")
    ax.plot(n_values, frobenius, "s--", label="Frobenius ball")
    ax.plot(n_values, {bound}, "k-", label="Theorem 3")
    {finish}
    ax.set(xlabel="n", ylabel="Rademacher average")
    ax.legend()
    return ax
"""


_RIGHT_AVERAGES = 'radius * unit["trace"], radius * unit["frobenius"]'
_RIGHT_BOUND = "radius * np.sqrt(second / n_values)"


def _vacuous(bound: str, first: str) -> str:
    """Return an answer to question 7 from two expressions."""
    return f"""
def risk_bound(complexity, n, lipschitz, loss_range, delta):
    t = math.log(1 / delta)
    return {bound}


def smallest_n(rate, lipschitz, loss_range, delta):
    t = math.log(1 / delta)
    return {first}
"""


_RIGHT_EXCESS = "2 * lipschitz * complexity + loss_range * math.sqrt(2 * t / n)"

WRONG: tuple[Wrong, ...] = (
    Wrong(
        "q1",
        "the Frobenius norm for the spectral norm: the dual of every ball taken for its own",
        """
def ball_supremum(V, ball, radius):
    return radius * np.linalg.norm(V)


def ball_maximiser(V, ball, radius):
    return radius * V / np.linalg.norm(V)
""",
        keeps=0.75,
        says="Trace ball, V of shape .* not the supremum",
    ),
    Wrong(
        "q1",
        "the norm of the ball in place of its dual norm",
        """
def ball_supremum(V, ball, radius):
    return radius * np.linalg.norm(V, "nuc" if ball == "trace" else "fro")
"""
        + _Q1_RIGHT_MAXIMISER,
        keeps=1.75,
        says="Trace ball, V of shape .* not the supremum",
    ),
    Wrong(
        "q1",
        "the radius forgotten, in the value and in the maximiser",
        """
def ball_supremum(V, ball, radius):
    return np.linalg.norm(V, 2 if ball == "trace" else "fro")
"""
        + _Q1_RIGHT_MAXIMISER.replace("radius * ", ""),
        keeps=0.5,
        says="Frobenius ball, V of shape .* not the supremum",
    ),
    Wrong(
        "q1",
        "all singular directions at full weight: the maximiser of another ball",
        """
def ball_supremum(V, ball, radius):
    return radius * np.linalg.norm(V, 2 if ball == "trace" else "fro")


def ball_maximiser(V, ball, radius):
    if ball == "frobenius":
        return radius * V / np.linalg.norm(V)
    left, _, right = np.linalg.svd(V, full_matrices=False)
    return radius * left @ right
""",
        keeps=2,
        says="trace ball of radius .* lies outside",
    ),
    Wrong(
        "q1",
        "the largest eigenvalue for the largest singular value",
        """
def ball_supremum(V, ball, radius):
    if ball == "trace":
        return radius * np.abs(np.linalg.eigvals(V)).max()
    return radius * np.linalg.norm(V)
"""
        + _Q1_RIGHT_MAXIMISER,
        keeps=2.25,
        says="(?i)square",
    ),
    Wrong(
        "q2",
        "a sign for every entry of X: it hides the direction that all points share",
        _averages(
            """
    for _ in range(draws):
        V = (rng.choice([-1.0, 1.0], size=X.shape) * X).T @ seen / n
        spectral.append(np.linalg.norm(V, 2))
        frobenius.append(np.linalg.norm(V))
"""
        ),
        keeps=1,
        says="NonNegative.* where the signs go",
    ),
    Wrong(
        "q2",
        "every second draw is the one before with all signs turned: half as many draws as said",
        _averages(
            """
    for k in range(draws):
        signs = -signs if k % 2 else rng.choice([-1.0, 1.0], size=n)
        V = (signs[:, None] * X).T @ seen / n
        spectral.append(np.linalg.norm(V, 2))
        frobenius.append(np.linalg.norm(V))
"""
        ),
        keeps=2.5,
        says="each draw needs signs of its own",
    ),
    Wrong(
        "q2",
        "the factor 1/n missing",
        _averages(
            """
    for _ in range(draws):
        V = (rng.choice([-1.0, 1.0], size=n)[:, None] * X).T @ seen
        spectral.append(np.linalg.norm(V, 2))
        frobenius.append(np.linalg.norm(V))
"""
        ),
        keeps=0.5,
        says="the factors r and n",
    ),
    Wrong(
        "q2",
        "the norm of the mean in place of the mean of the norm",
        """
def conditional_averages(X, labels, n_labels, draws, rng):
    n, seen = X.shape[0], np.eye(n_labels)[labels]
    signs = rng.choice([-1.0, 1.0], size=(draws, n)).mean(0)
    V = (signs[:, None] * X).T @ seen / n
    error = 1 / math.sqrt(draws)
    return {"trace": (np.linalg.norm(V, 2), error), "frobenius": (np.linalg.norm(V), error)}
""",
        keeps=0.5,
        says="the order of norm and mean",
    ),
    Wrong(
        "q2",
        "the standard deviation of a draw in place of the standard error of the mean",
        _averages(
            """
    for _ in range(draws):
        V = (rng.choice([-1.0, 1.0], size=n)[:, None] * X).T @ seen / n
        spectral.append(np.linalg.norm(V, 2))
        frobenius.append(np.linalg.norm(V))
"""
        ).replace(" / math.sqrt(draws)", ""),
        keeps=2,
        says="not the standard error of a mean",
    ),
    Wrong(
        "q2",
        "a seed pasted in: the generator that is handed over is never asked",
        _averages(
            """
    rng = np.random.default_rng(0)
    for _ in range(draws):
        V = (rng.choice([-1.0, 1.0], size=n)[:, None] * X).T @ seen / n
        spectral.append(np.linalg.norm(V, 2))
        frobenius.append(np.linalg.norm(V))
"""
        ),
        keeps=2.5,
        says="Different generators give the same answer",
    ),
    Wrong(
        "q2",
        "the root mean square for the mean: Jensen's loss is lost",
        _averages(
            """
    for _ in range(draws):
        V = (rng.choice([-1.0, 1.0], size=n)[:, None] * X).T @ seen / n
        spectral.append(np.linalg.norm(V, 2))
        frobenius.append(np.linalg.norm(V))
"""
        ).replace("np.mean(v)", "math.sqrt(np.mean(np.square(v)))"),
        keeps=1,
        says="the order of norm and mean",
    ),
    Wrong(
        "q2",
        "the variance with the divisor `draws`",
        _averages(
            """
    for _ in range(draws):
        V = (rng.choice([-1.0, 1.0], size=n)[:, None] * X).T @ seen / n
        spectral.append(np.linalg.norm(V, 2))
        frobenius.append(np.linalg.norm(V))
"""
        ).replace("ddof=1", "ddof=0"),
        keeps=2,
        says="Which divisor has the variance",
    ),
    Wrong(
        "q3",
        "the root of the count for the length of a walk: one sign times sqrt(count)",
        """
def sample_V(law, n_features, counts, rng):
    shape = (n_features, len(counts))
    if law == "gaussian":
        return rng.normal(size=shape) * np.sqrt(counts / n_features)
    if law == "rademacher":
        return (2.0 * rng.binomial(counts, 0.5, size=shape) - counts) / math.sqrt(n_features)
    signs = rng.choice([-1.0, 1.0], size=len(counts)) * np.sqrt(counts)
    return np.ones((n_features, 1)) * signs / math.sqrt(n_features)
""",
        keeps=2.5,
        says="no sum of so many signs|law of a sum of signs",
    ),
    Wrong(
        "q3",
        "a Gaussian rounded to the numbers that a sum of signs can be",
        """
def sample_V(law, n_features, counts, rng):
    shape = (n_features, len(counts))
    if law == "gaussian":
        return rng.normal(size=shape) * np.sqrt(counts / n_features)
    size = shape if law == "rademacher" else (1, len(counts))
    sums = 2 * np.round((rng.normal(size=size) * np.sqrt(counts) - counts) / 2) + counts
    return np.ones((n_features, 1)) * sums / math.sqrt(n_features)
""",
        keeps=1.75,
        says="no sum of so many signs",
    ),
    Wrong(
        "q3",
        "the square root forgotten: a sum of m Gaussians given the spread m",
        """
def sample_V(law, n_features, counts, rng):
    if law == "gaussian":
        return rng.normal(size=(n_features, len(counts))) * counts / math.sqrt(n_features)
    rows = n_features if law == "rademacher" else 1
    sums = 2.0 * rng.binomial(counts, 0.5, size=(rows, len(counts))) - counts
    return np.ones((n_features, 1)) * sums / math.sqrt(n_features)
""",
        keeps=1.75,
        says="variance of a sum of its points",
    ),
    Wrong(
        "q3",
        "the central limit theorem where an exact law was asked for",
        """
def sample_V(law, n_features, counts, rng):
    rows = 1 if law == "rank-one" else n_features
    sums = rng.normal(size=(rows, len(counts))) * np.sqrt(counts)
    return np.ones((n_features, 1)) * sums / math.sqrt(n_features)
""",
        keeps=1.25,
        says="no sum of so many signs",
    ),
    Wrong(
        "q3",
        "a Gaussian rounded to even or odd numbers, whichever the count is",
        """
def sample_V(law, n_features, counts, rng):
    rows = 1 if law == "rank-one" else n_features
    sums = rng.normal(size=(rows, len(counts))) * np.sqrt(counts)
    if law != "gaussian":
        sums = np.clip(2 * np.round((sums - counts) / 2) + counts, -counts, counts)
    return np.ones((n_features, 1)) * sums / math.sqrt(n_features)
""",
        keeps=1.75,
        says="two signs cancel half",
    ),
    Wrong(
        "q3",
        "the features not scaled by sqrt(d)",
        """
def sample_V(law, n_features, counts, rng):
    if law == "gaussian":
        return rng.normal(size=(n_features, len(counts))) * np.sqrt(counts)
    rows = n_features if law == "rademacher" else 1
    return np.ones((n_features, 1)) * (
        2.0 * rng.binomial(counts, 0.5, size=(rows, len(counts))) - counts
    )
""",
        keeps=0,
        says="has the wrong size",
    ),
    Wrong(
        "q3",
        "every point drawn: right for small counts, out of memory for a million million",
        """
def sample_V(law, n_features, counts, rng):
    columns = []
    for count in counts:
        signs = rng.choice([-1.0, 1.0], size=count)
        if law == "gaussian":
            X = rng.normal(size=(count, n_features))
        elif law == "rademacher":
            X = rng.choice([-1.0, 1.0], size=(count, n_features))
        else:
            X = np.outer(rng.choice([-1.0, 1.0], size=count), np.ones(n_features))
        columns.append(signs @ X / math.sqrt(n_features))
    return np.array(columns).T
""",
        keeps=2.5,
        says="(?i)memory|allocate",
    ),
    Wrong(
        "q3",
        "rank-one features with a sign of their own in every row",
        """
def sample_V(law, n_features, counts, rng):
    shape = (n_features, len(counts))
    if law == "gaussian":
        return rng.normal(size=shape) * np.sqrt(counts / n_features)
    return (2.0 * rng.binomial(counts, 0.5, size=shape) - counts) / math.sqrt(n_features)
""",
        keeps=2.5,
        says="every column of V is one too",
    ),
    Wrong(
        "q4",
        "the root of the mean square in place of the mean: Jensen's loss is lost",
        """
def exact_share(n, n_labels):
    steps = np.vstack([np.eye(n_labels), -np.eye(n_labels)])
    walks = itertools.product(range(2 * n_labels), repeat=n)
    squares = [(steps[list(walk)].sum(0) ** 2).sum() for walk in walks]
    return math.sqrt(np.mean(squares) / n)


def limit_share(n_labels):
    return 1.0
"""
        + _Q4_SEARCH,
        keeps=0,
        says="not the mean distance over all",
    ),
    Wrong(
        "q4",
        "the expansion 1 - 1/(4L) in place of the limit",
        _Q4_RIGHT_WALKS
        + """
def limit_share(n_labels):
    return 1 - 1 / (4 * n_labels)
"""
        + _Q4_SEARCH,
        keeps=1.5,
        says="not the limit",
    ),
    Wrong(
        "q4",
        "Gamma functions of large arguments, which overflow",
        _Q4_RIGHT_WALKS
        + """
def limit_share(n_labels):
    half = n_labels / 2
    return math.gamma(half + 0.5) / math.gamma(half) / math.sqrt(half)
"""
        + _Q4_SEARCH,
        keeps=1.25,
        says="OverflowError|math range error",
    ),
    Wrong(
        "q4",
        "the labels dealt out in turn: only the signs are averaged over",
        """
def exact_share(n, n_labels):
    norms = []
    for signs in itertools.product([-1, 1], repeat=n):
        v = np.zeros(n_labels)
        for i, sign in enumerate(signs):
            v[i % n_labels] += sign
        norms.append(np.linalg.norm(v))
    return np.mean(norms) / math.sqrt(n)
"""
        + _Q4_RIGHT_LIMIT
        + _Q4_SEARCH,
        keeps=2.25,
        says="not the mean distance over all",
    ),
    Wrong(
        "q4",
        "the numbers of the visible check",
        """
def exact_share(n, n_labels):
    return 1 / math.sqrt(2)


def limit_share(n_labels):
    return math.sqrt(2 / math.pi)


def labels_needed(share):
    return 1
""",
        keeps=0.5,
        says="the limit is still below it",
    ),
    Wrong(
        "q5",
        "the largest entry of S for its largest eigenvalue",
        """
def rms_floor(S, p, n, radius):
    return radius * math.sqrt(max(S.max(), p.max() * np.trace(S)) / n)
"""
        + _Q5_GAIN,
        keeps=1,
        says="another choice of u or l gives a higher floor",
    ),
    Wrong(
        "q5",
        "the columns of V forgotten",
        """
def rms_floor(S, p, n, radius):
    return radius * math.sqrt(np.linalg.eigvalsh(S)[-1] / n)
"""
        + _Q5_GAIN,
        keeps=0.5,
        says="another choice of u or l gives a higher floor",
    ),
    Wrong(
        "q5",
        "the two lower bounds added up",
        """
def rms_floor(S, p, n, radius):
    return radius * math.sqrt((np.linalg.eigvalsh(S)[-1] + p.max() * np.trace(S)) / n)
"""
        + _Q5_GAIN,
        keeps=0.5,
        says="above what the two inequalities give",
    ),
    Wrong(
        "q5",
        "E|x|^2 taken for one in the gain",
        """
def rms_floor(S, p, n, radius):
    return radius * math.sqrt(max(np.linalg.eigvalsh(S)[-1], p.max() * np.trace(S)) / n)


def largest_gain(S, p):
    return 1 / rms_floor(S, p, 1, 1.0)
""",
        keeps=1.5,
        says="when all features double",
    ),
    Wrong(
        "q5",
        "1/L for the largest probability: every law of the labels taken for the uniform one",
        """
def rms_floor(S, p, n, radius):
    return radius * math.sqrt(max(np.linalg.eigvalsh(S)[-1], np.trace(S) / len(p)) / n)
"""
        + _Q5_GAIN,
        keeps=1,
        says="another choice of u or l gives a higher floor",
    ),
    Wrong(
        "q6",
        "linear axes",
        _figure(_RIGHT_AVERAGES, _RIGHT_BOUND, "ax.grid()"),
        keeps=2.5,
        says="check the scales of both axes",
    ),
    Wrong(
        "q6",
        "Theorem 3 as printed: E|x|^2 taken for one",
        _figure(_RIGHT_AVERAGES, "radius / np.sqrt(n_values)"),
        keeps=2,
        says="the line 'Theorem 3' is not the bound",
    ),
    Wrong(
        "q6",
        "the square root of n forgotten in the bound",
        _figure(_RIGHT_AVERAGES, "radius * math.sqrt(second) / n_values"),
        keeps=2,
        says="the line 'Theorem 3' is not the bound",
    ),
    Wrong(
        "q6",
        "the radius forgotten: unit balls beside the bound of a larger one",
        _figure('unit["trace"], unit["frobenius"]', _RIGHT_BOUND),
        keeps=2,
        says="not where that ball's average was measured",
    ),
    Wrong(
        "q6",
        "the Frobenius ball's average drawn for both balls",
        _figure('radius * unit["frobenius"], radius * unit["frobenius"]', _RIGHT_BOUND),
        keeps=2,
        says="'trace ball' is not where that ball's average was measured",
    ),
    Wrong(
        "q6",
        "three solid lines without markers, told apart by their colours",
        _figure(_RIGHT_AVERAGES, _RIGHT_BOUND).replace('"o-", ', "").replace('"s--", ', ""),
        keeps=2.5,
        says="In black and white two of the lines look the same",
    ),
    Wrong(
        "q7",
        "the bound on the expectation used as one with high probability",
        _vacuous(
            "2 * lipschitz * complexity",
            "math.floor((2 * lipschitz * rate / loss_range) ** 2) + 1",
        ),
        keeps=1,
        says="too small, the two facts do not give so much",
    ),
    Wrong(
        "q7",
        "one point moves only one of the two differences: the term of the generalisation gap",
        _vacuous(
            "2 * lipschitz * complexity + loss_range * math.sqrt(t / (2 * n))",
            "math.floor((2 * lipschitz * rate / loss_range + math.sqrt(t / 2)) ** 2) + 1",
        ),
        keeps=1.5,
        says="too small, the two facts do not give so much",
    ),
    Wrong(
        "q7",
        "the range of the loss forgotten in the deviation",
        _vacuous(
            "2 * lipschitz * complexity + math.sqrt(2 * t / n)",
            "math.floor(((2 * lipschitz * rate + math.sqrt(2 * t)) / loss_range) ** 2) + 1",
        ),
        keeps=2,
        says="too small, the two facts do not give so much",
    ),
    Wrong(
        "q7",
        "the bound compared with 1 in place of the range of the loss",
        _vacuous(
            _RIGHT_EXCESS,
            "math.floor((2 * lipschitz * rate + loss_range * math.sqrt(2 * t)) ** 2) + 1",
        ),
        keeps=1.5,
        says="says something earlier than at your n",
    ),
    Wrong(
        "q7",
        "rounded down in place of up",
        _vacuous(
            _RIGHT_EXCESS,
            "int((2 * lipschitz * rate / loss_range + math.sqrt(2 * t)) ** 2)",
        ),
        keeps=2,
        says="Off by one or more",
    ),
)
