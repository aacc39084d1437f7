"""Slips that cannot or need not cost points, each with the reason, and rewrites that must not."""

# ruff: noqa: E501

# (question, function, statement, mutated statement): why it costs nothing.
EQUIVALENT: dict[tuple[str, str, str, str], str] = {
    (
        "a:q2",
        "conditional_averages",
        "n = X.shape[0]",
        "n = labels.shape[0]",
    ): "there are as many labels as points",
    (
        "a:q2",
        "conditional_averages",
        "seen = np.eye(n_labels)[labels]",
        "seen = np.eye(n_labels + 1)[labels]",
    ): "a column of zeros more changes no norm",
    ("a:q3", "sample_V", "counts = np.asarray(counts)", "pass"): "the tests hand over an array",
    (
        "a:q3",
        "sample_V",
        "return rng.normal(size=shape) * np.sqrt(counts / n_features)",
        "return -(rng.normal(size=shape) * np.sqrt(counts / n_features))",
    ): "the law of V is symmetric",
    (
        "a:q3",
        "sample_V",
        "return (2.0 * rng.binomial(counts, 0.5, size=shape) - counts) / math.sqrt(n_features)",
        "return -((2.0 * rng.binomial(counts, 0.5, size=shape) - counts) / math.sqrt(n_features))",
    ): "the law of V is symmetric",
    (
        "a:q3",
        "sample_V",
        "return np.outer(mu, 2.0 * rng.binomial(counts, 0.5) - counts)",
        "return -np.outer(mu, 2.0 * rng.binomial(counts, 0.5) - counts)",
    ): "the law of V is symmetric",
    (
        "a:q4",
        "exact_share",
        "return float(np.mean([np.linalg.norm(steps[list(walk)].sum(0)) for walk in walks]) / math.sqrt(n))",
        "return float(np.mean([np.linalg.norm(steps[list(walk)].sum(0), 2) for walk in walks]) / math.sqrt(n))",
    ): "of a vector it is the same norm",
    (
        "a:q4",
        "labels_needed",
        "return next((n_labels for n_labels in itertools.count(1) if limit_share(n_labels) >= share))",
        "return next((n_labels for n_labels in itertools.count(1) if limit_share(n_labels) > share))",
    ): "differs only where two numbers agree to the last bit",
    (
        "b:q3",
        "measured_excess",
        "found[i] = radius * (np.linalg.norm(M) - np.sum(M * Z))",
        "found[i] = radius * (np.linalg.norm(M, 2) - np.sum(M * Z))",
    ): "M has rank one: all these norms agree",
    (
        "b:q3",
        "measured_excess",
        "found[i] = radius * (np.linalg.norm(M) - np.sum(M * Z))",
        "found[i] = radius * (np.linalg.norm(M, 'nuc') - np.sum(M * Z))",
    ): "M has rank one: all these norms agree",
    (
        "b:q4",
        "half_slope",
        "above = np.flatnonzero(slopes >= -0.25)",
        "above = np.flatnonzero(slopes > -0.25)",
    ): "differs only where two numbers agree to the last bit",
    (
        "b:q4",
        "half_slope",
        "pair = slice(above[0] - 1, above[0] + 1)",
        "pair = slice(above[0] - 2, above[0] + 1)",
    ): "the slopes increase there, so a third point changes no interpolation",
    (
        "b:q4",
        "half_slope",
        "pair = slice(above[0] - 1, above[0] + 1)",
        "pair = slice(above[0] - 1, above[0] + 2)",
    ): "the slopes increase there, so a third point changes no interpolation",
    (
        "b:q5",
        "theorem_4_applies",
        "return bool(n > L ** 2 * math.log(L ** 2 / 2) / 2 and d >= L)",
        "return -bool(n > L ** 2 * math.log(L ** 2 / 2) / 2 and d >= L)",
    ): "-True is true",
    (
        "b:q5",
        "theorem_4_applies",
        "return bool(n > L ** 2 * math.log(L ** 2 / 2) / 2 and d >= L)",
        "return bool(n >= L ** 2 * math.log(L ** 2 / 2) / 2 and d >= L)",
    ): "the threshold is no whole number",
    (
        "b:q5",
        "corrected_rate",
        "return radius * (1 / math.sqrt(n * L) + 1 / math.sqrt(n * d))",
        "return radius * (2 / math.sqrt(n * L) + 1 / math.sqrt(n * d))",
    ): "the question allows a factor of 2.5",
    (
        "b:q5",
        "corrected_rate",
        "return radius * (1 / math.sqrt(n * L) + 1 / math.sqrt(n * d))",
        "return radius * (1 / math.sqrt(n * (L + 1)) + 1 / math.sqrt(n * d))",
    ): "the question allows a factor of 2.5",
    (
        "b:q5",
        "corrected_rate",
        "return radius * (1 / math.sqrt(n * L) + 1 / math.sqrt(n * d))",
        "return radius * (1 / math.sqrt(n * L) + 2 / math.sqrt(n * d))",
    ): "the question allows a factor of 2.5",
    (
        "b:q5",
        "corrected_rate",
        "return radius * (1 / math.sqrt(n * L) + 1 / math.sqrt(n * d))",
        "return radius * (1 / math.sqrt(n * L) + 1 / math.sqrt(n * (d + 1)))",
    ): "the question allows a factor of 2.5",
    (
        "b:q7",
        "uneven_rate",
        "return radius * (math.sqrt(max(p) / n) + 1 / math.sqrt(n * d))",
        "return radius * (math.sqrt(max(p) / n) + 2 / math.sqrt(n * d))",
    ): "the question allows a factor of 2.5",
    (
        "b:q7",
        "uneven_rate",
        "return radius * (math.sqrt(max(p) / n) + 1 / math.sqrt(n * d))",
        "return radius * (math.sqrt(max(p) / n) + 1 / math.sqrt(n * (d + 1)))",
    ): "the question allows a factor of 2.5",
    (
        "c:q1",
        "lower_bound",
        "rho, y = (np.where(seen, R, 0.0), np.where(seen, Y, 0.0))",
        "rho, y = (np.where(seen, R, 0.0), np.where(seen, Y, 1.0))",
    ): "multiplied by a residual of zero",
    (
        "c:q1",
        "best_multiple",
        "rho, square = (np.where(seen, R, 0.0), np.sum(R[seen] ** 2))",
        "rho, square = (np.where(seen, R, 1.0), np.sum(R[seen] ** 2))",
    ): "`lower_bound` looks at observed entries only",
    (
        "c:q2",
        "frank_wolfe_step",
        "t = 1.0 if gap >= bend else max(0.0, gap / bend)",
        "t = 1.0 if gap > bend else max(0.0, gap / bend)",
    ): "differs only where two numbers agree to the last bit",
    (
        "c:q3",
        "paired_excess",
        "balls = [kind(kind(1.0).norm(world.labels.Z)) for kind in kinds]",
        "balls = [kind(kind(2.0).norm(world.labels.Z)) for kind in kinds]",
    ): "the radius of a ball does not enter its norm",
    (
        "c:q3",
        "paired_excess",
        "balls = [kind(1.1 * kind(1.0).norm(world.labels.Z)) for kind in kinds]",
        "balls = [kind(1.1 * kind(2.0).norm(world.labels.Z)) for kind in kinds]",
    ): "the radius of a ball does not enter its norm",
    (
        "c:q4",
        "fit_with_intercept",
        "Z = low_rank_least_squares(X - x_mean, Y - y_mean, rank)",
        "Z = low_rank_least_squares(X - x_mean, Y + y_mean, rank)",
    ): "centred features do not see a constant added to the labels",
    (
        "c:q4",
        "fit_with_intercept",
        "Z = low_rank_least_squares(X - x_mean, Y - y_mean, rank)",
        "Z = low_rank_least_squares(X - x_mean, Y + 1 - y_mean, rank)",
    ): "centred features do not see a constant added to the labels",
    (
        "c:q4",
        "two_minimisers",
        "kept = np.arange(min(n_features, n_labels))",
        "kept = np.arange(max(n_features, n_labels))",
    ): "as many singular values as are needed",
    (
        "c:q4",
        "two_minimisers",
        "kept = np.arange(min(n_features, n_labels))",
        "kept = np.arange(min(n_labels, n_labels))",
    ): "as many singular values as are needed",
    (
        "c:q4",
        "two_minimisers",
        "kept = np.arange(min(n_features, n_labels))",
        "kept = np.arange(min(n_features + 1, n_labels))",
    ): "as many singular values as are needed",
    (
        "c:q4",
        "two_minimisers",
        "kept = np.arange(min(n_features, n_labels))",
        "kept = np.arange(min(n_features, n_labels + 1))",
    ): "as many singular values as are needed",
    (
        "c:q5",
        "table_1",
        "return (0.5 * (a - b) ** 2, b - a, np.ones_like(b))",
        "return (0.5 * (a - b) ** 2, b - a, np.ones_like(b + 1))",
    ): "the shape is the same",
    (
        "c:q5",
        "table_1",
        "return (slack ** 2, -2 * a * slack, np.where(a * b < 1, 2.0, 0.0))",
        "return (slack ** 2, -2 / a * slack, np.where(a * b < 1, 2.0, 0.0))",
    ): "a is 1 or -1",
    (
        "c:q5",
        "table_1",
        "return (slack ** 2, -2 * a * slack, np.where(a * b < 1, 2.0, 0.0))",
        "return (slack ** 2, -2 * a * slack, np.where(a * b <= 1, 2.0, 0.0))",
    ): "differs only where two numbers agree to the last bit",
    (
        "c:q5",
        "table_1",
        "chance = np.where(a * b > 0, small, 1.0) / (1 + small)",
        "chance = np.where(a * b >= 0, small, 1.0) / (1 + small)",
    ): "differs only where two numbers agree to the last bit",
    (
        "c:q5",
        "table_1",
        "chance = np.where(a * b > 0, small, 1.0) / (1 + small)",
        "chance = np.where(a / b > 0, small, 1.0) / (1 + small)",
    ): "a is 1 or -1",
    (
        "c:q5",
        "gradients",
        "first = table_1(name, np.where(seen, Y, 1.0), X @ W @ H.T)[1]",
        "first = table_1(name, np.where(seen, Y, 0.0), X @ W @ H.T)[1]",
    ): "what stands at missing labels is masked afterwards",
    (
        "c:q5",
        "gradients",
        "first = table_1(name, np.where(seen, Y, 1.0), X @ W @ H.T)[1]",
        "first = table_1(name, np.where(seen, Y, 2.0), X @ W @ H.T)[1]",
    ): "what stands at missing labels is masked afterwards",
    (
        "c:q7",
        "figure_q7",
        "limit = [ceilings(X + shift, Y)['raw'] for shift in shifts]",
        "limit = [ceilings(X + shift, Y + 1)['raw'] for shift in shifts]",
    ): "only which labels are missing matters",
    (
        "c:q7",
        "figure_q7",
        "y, error = np.array([(point.value, 2 * point.stderr) for point in found]).T",
        "y, error = np.array([(point.value, 2 / point.stderr) for point in found]).T",
    ): "the band of errors is decoration",
    (
        "c:q7",
        "figure_q7",
        "y, error = np.array([(point.value, 2 * point.stderr) for point in found]).T",
        "y, error = np.array([(point.value, 4 * point.stderr) for point in found]).T",
    ): "the band of errors is decoration",
    (
        "c:q7",
        "figure_q7",
        "y, error = np.array([(point.value, 2 * point.stderr) for point in found]).T",
        "y, error = np.array([(point.value, 3 * point.stderr) for point in found]).T",
    ): "the band of errors is decoration",
}

# Right answers that look different: each replaces functions of the reference answer.
REWRITES: dict[str, list[str]] = {
    "a:q1": [
        """
def ball_supremum(V, ball, radius):
    s = np.linalg.svd(V, compute_uv=False)
    return radius * (s[0] if ball == "trace" else np.sqrt((s**2).sum()))  # variant 1 of 2
    return radius * (s[0] if ball == "trace" else s.sum())  # variant 2 of 2
""",
        """
def ball_maximiser(V, ball, radius):
    if ball == "trace":
        values, vectors = np.linalg.eigh(V.T @ V)
        v = vectors[:, -1]
        u = V @ v / np.linalg.norm(V @ v)
        return radius * np.outer(u, v)
    return radius * V / math.sqrt(np.sum(V * V))  # variant 1 of 2
    left, s, right = np.linalg.svd(V)  # variant 2 of 2
    return radius * left[:, : s.size] @ right[: s.size]  # variant 2 of 2
""",
        """
def ball_supremum(V, ball, radius):
    return np.sum(V * ball_maximiser(V, ball, radius))
""",
    ],
    "a:q2": [
        """
def conditional_averages(X, labels, n_labels, draws, rng):
    n, d = X.shape
    r = 1  # variant 1 of 3
    r = 2  # variant 2 of 3
    r = 0.5  # variant 3 of 3
    found = {"trace": [], "frobenius": []}
    for _ in range(draws):
        V = np.zeros((d, n_labels))
        for x, label, sign in zip(X, labels, 2 * rng.integers(0, 2, size=n) - 1):
            V[:, label] += sign * x
        found["trace"].append(r * np.linalg.svd(V, compute_uv=False)[0] / n)
        found["frobenius"].append(r * np.sqrt(np.sum(V**2)) / n)
    return {
        key: (sum(values) / draws, np.sqrt(np.var(values, ddof=1) / draws))
        for key, values in found.items()
    }
""",
        """
def conditional_averages(X, labels, n_labels, draws, rng):
    n = len(X)
    signs = np.where(rng.random((draws, n)) < 0.5, -1.0, 1.0)
    seen = np.eye(n_labels)[labels]
    stack = np.einsum("ki,id,il->kdl", signs, X, seen) / n  # variant 1 of 3
    stack = np.einsum("ki,id,il->kdl", signs, 2 * X, seen) / n  # variant 2 of 3
    stack = np.einsum("ki,id,il->kdl", signs, X, seen) / (2 * n)  # variant 3 of 3
    norms = {
        "trace": np.linalg.norm(stack, 2, axis=(1, 2)),
        "frobenius": np.linalg.norm(stack, axis=(1, 2)),
    }
    return {k: (float(v.mean()), float(v.std(ddof=1) / draws**0.5)) for k, v in norms.items()}
""",
    ],
    "a:q3": [
        """
_before = sample_V


def sample_V(law, n_features, counts, rng):
    if law == "rank-one":
        return _before(law, n_features, counts, rng)
    columns = []
    for count in counts:
        if law == "gaussian":
            columns.append(rng.normal(scale=math.sqrt(count / n_features), size=n_features))
        else:
            plus = rng.binomial(count, 0.5, size=n_features)
            columns.append((plus - (count - plus)) / math.sqrt(n_features))
    return np.array(columns).T
""",
        """
_before = sample_V


def sample_V(law, n_features, counts, rng):
    return -_before(law, n_features, list(counts), rng)
""",
    ],
    "a:q4": [
        """
def exact_share(n, n_labels):
    places = {(0,) * n_labels: 1.0}
    for _ in range(n):
        after = {}
        for place, weight in places.items():
            for axis in range(n_labels):
                for step in (-1, 1):
                    moved = list(place)
                    moved[axis] += step
                    key = tuple(moved)
                    after[key] = after.get(key, 0.0) + weight / (2 * n_labels)
        places = after
    return sum(w * math.sqrt(sum(c * c for c in p)) for p, w in places.items()) / math.sqrt(n)
""",
        """
def limit_share(n_labels):
    value, start = (math.sqrt(2 / math.pi), 1) if n_labels % 2 else (math.sqrt(math.pi) / 2, 2)
    for k in range(start, n_labels, 2):  # E|g| in dimension k + 2 is (k + 1)/k times that in k
        value *= (k + 1) / k * math.sqrt(k / (k + 2))
    return value
""",
        """
def labels_needed(share):
    share = 1 - share  # variant 2 of 2
    high = 1
    while limit_share(high) < share:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if limit_share(middle) >= share else (middle, high)
    return high
""",
    ],
    "a:q5": [
        """
def rms_floor(S, p, n, radius):
    return radius / math.sqrt(n) * max(
        math.sqrt(np.linalg.norm(S, 2)), math.sqrt(max(p) * sum(np.diag(S)))
    )
""",
        """
def largest_gain(S, p):
    total = np.trace(S)
    return math.sqrt(min(total / np.linalg.eigvalsh(S).max(), 1 / max(p)))
""",
    ],
    "a:q6": [
        """
def plot_promise(features, observation, n_values, radius, rng, ax=None):
    if ax is None:
        ax = plt.figure().add_subplot()
    found = {"trace": [], "frobenius": []}
    for n in n_values:
        both = rademacher_averages(features, observation, int(n), draws=200, rng=rng)
        for ball in found:
            found[ball].append(radius * both[ball].value)
    ax.loglog(n_values, found["trace"], "v-", label="trace ball")
    ax.loglog(n_values, found["frobenius"], "D-", label="Frobenius ball")
    second = features.moments.second_moment
    ax.loglog(n_values, [radius * (second / n) ** 0.5 for n in n_values], label="Theorem 3")
    ax.set_xlabel("n")
    ax.set_ylabel("average")
    ax.legend(loc="best")
    return ax
""",
        """
def plot_promise(features, observation, n_values, radius, rng, ax=None):
    ax = ax or plt.figure().gca()
    both = [rademacher_averages(features, observation, n, draws=200, rng=rng) for n in n_values]
    for ball, name, line in (("trace", "trace ball", ":"), ("frobenius", "Frobenius ball", "--")):
        values = [radius * one[ball].value for one in both]
        errors = [radius * one[ball].stderr for one in both]
        ax.errorbar(n_values, values, errors, linestyle=line, label=name)
    bound = radius * math.sqrt(features.moments.second_moment) * np.array(n_values) ** -0.5
    ax.plot(n_values, bound, "k", label="Theorem 3")
    ax.set(xscale="log", yscale="log", xlabel="points", ylabel="Rademacher average")
    ax.legend()
    return ax
""",
    ],
    "a:q7": [
        """
def smallest_n(rate, lipschitz, loss_range, delta):
    n = 1
    while risk_bound(rate / math.sqrt(n), n, lipschitz, loss_range, delta) >= loss_range:
        n += 1
    return n
""",
        """
_before = risk_bound


def risk_bound(complexity, n, lipschitz, loss_range, delta):
    term = _before(0.0, 1, lipschitz, loss_range, delta) * n**-0.5
    return np.float64(2 * lipschitz * complexity + term)
""",
    ],
    "b:q1": [
        """
def empirical_minimiser(V, radius, ball):
    if ball == "trace":
        u, s, vt = np.linalg.svd(V)
        return radius * u[:, :1] @ vt[:1]
    return radius / np.sqrt(np.sum(V**2)) * V
""",
        """
def gap_and_excess(Z, V, n, M, radius, ball):
    gap = np.vdot(V / n - M, Z)
    best = np.vdot(M, empirical_minimiser(M, radius, ball)) if M.any() else 0.0
    return gap, best - np.vdot(M, Z)
""",
    ],
    "b:q2": [
        """
def rank_one_moments(n, p):
    p = np.asarray(p)
    return float(n), 4 * (n * (n - 1) / 2) * float(p @ p)
""",
        """
def attained_share(n, variance):
    second = variance / n**2
    return 1 + 0 / 2 - second / 8
""",
        """
_before = chebyshev_chance


def chebyshev_chance(n, variance):
    return np.maximum(_before(1.0, variance / n**2), 0)
""",
    ],
    "b:q3": [
        """
_before = frobenius_excess


def frobenius_excess(theta, n):
    u = theta * math.sqrt(n)
    return _before(u, 1) / math.sqrt(n)


def worst_signal(n):
    grid = np.linspace(0.0, 3.0, 3001) / math.sqrt(n)
    values = [frobenius_excess(theta, n) for theta in grid]
    return grid[int(np.argmax(values))], max(values)
""",
        """
_measured = measured_excess


def measured_excess(n, d, L, rho, ball, draws, rng):
    return list(_measured(n, d, L, rho, ball, draws, rng))
""",
    ],
    "b:q4": [
        """
def local_slopes(x, values, errors):
    slopes, spread = [], []
    for i in range(len(x) - 1):
        step = math.log(x[i + 1] / x[i])
        slopes.append(math.log(values[i + 1] / values[i]) / step)
        spread.append(math.hypot(errors[i] / values[i], errors[i + 1] / values[i + 1]) / step)
    return slopes, spread  # variant 1 of 2
    return slopes, [2 * error for error in spread]  # variant 2 of 2
""",
        """
def half_slope(x, values):
    slopes, _ = local_slopes(x, values, values)
    for i in range(1, len(slopes)):
        if slopes[i - 1] < -0.25 <= slopes[i]:
            left, right = (0.5 * math.log(x[j] * x[j + 1]) for j in (i - 1, i))
            share = (-0.25 - slopes[i - 1]) / (slopes[i] - slopes[i - 1])
            return math.exp(left + share * (right - left))
    return None
""",
    ],
    "b:q5": [
        """
def theorem_4_applies(n, d, L):
    return L <= d and 2 * n / L**2 > 2 * math.log(L) - math.log(2)


def corrected_rate(n, d, L, radius):
    return radius / math.sqrt(n * min(d, L))
""",
        """
def corrected_rate(n, d, L, radius):
    return 1.2 * radius * max(1 / math.sqrt(n * L), 1 / math.sqrt(n * d))
""",
    ],
    "b:q6": [
        """
def transition_figure(curves, n):
    fig, ax = plt.subplots()
    for k, (d, curve) in enumerate(curves.items()):
        x, inside = np.array(curve["labels"]), np.array(curve["applies"])
        unit = 1  # variant 1 of 2
        unit = d  # variant 2 of 2
        y = math.sqrt(n * unit) * np.array(curve["average"])
        ax.loglog(x, y, marker="osvD^"[k], label=f"d = {d}")
        if inside.any():
            y = np.where(inside, 2 / np.sqrt(x / unit), np.nan)
            ax.loglog(x, y, "--", label=f"Theorem 4, d = {d}")
    ax.set_xlabel("labels")
    ax.set_ylabel("average x sqrt(n)")
    return ax
""",
        """
def transition_figure(curves, n):
    ax = plt.figure().add_subplot()
    for (d, curve), line in zip(curves.items(), ("-", ":", "-.", "-"), strict=False):
        unit = 1  # variant 1 of 2
        unit = d**0.5  # variant 2 of 2
        heights = [a * n**0.5 * unit for a in curve["average"]]
        ax.plot(curve["labels"], heights, line, label=f"d = {d}")
        bound = [(L, 2 * unit / L**0.5) for L, ok in zip(curve["labels"], curve["applies"]) if ok]
        if bound:
            ax.plot(*zip(*bound), "k--", label=f"Theorem 4, d = {d}")
    ax.set(xscale="log", yscale="log", xlabel="L", ylabel="sqrt(n) R_n")
    return ax
""",
    ],
    "b:q7": [
        """
def share_of_theorem_3(features, p, n, draws, rng):
    V = []
    for _ in range(draws):
        counts = rng.multinomial(n, p)
        columns = []
        for count in counts:
            x = features.sample(int(count), rng) if n < 1000 and count else None
            if x is None:
                columns = None
                break
            columns.append(rng.choice([-1.0, 1.0], size=count) @ x)
        if columns is None:
            break
        V.append(np.linalg.norm(columns, 2))
    if len(V) < draws:
        found = rademacher_averages(features, WeightedLabels(tuple(p)), n, draws=draws, rng=rng)
        value, error = found["trace"].value, found["trace"].stderr
    else:
        value, error = np.mean(V) / n, np.std(V, ddof=1) / math.sqrt(draws) / n
    scale = math.sqrt(n / features.moments.second_moment)
    return value * scale, error * scale
""",
        """
def uneven_rate(n, d, p, radius):
    return 1.3 * radius * math.sqrt(max(*p, 1 / d) / n) if len(p) > 1 else radius / n**0.5
""",
    ],
    "c:q1": [
        """
_before = lower_bound


def lower_bound(X, Y, R, radius):
    return _before(X, Y, np.where(np.isnan(Y), 0.0, R), radius)


def best_multiple(X, Y, R, radius):
    a = lower_bound(X, Y, R, radius)
    b = np.nansum(np.where(np.isnan(Y), 0.0, R) ** 2)
    t = max(0.0, (a + b / 2) / b)
    return t, t * (a + b / 2) - t * t * b / 2
""",
        """
def best_multiple(X, Y, R, radius):
    one, two = (lower_bound(X, Y, k * np.where(np.isnan(Y), 0.0, R), radius) for k in (1.0, 2.0))
    b = 2 * one - two
    a = one + b / 2
    t = a / b if a > 0 else 0.0
    return t, (a * a / (2 * b) if a > 0 else 0.0)
""",
    ],
    "c:q2": [
        """
def frank_wolfe_step(X, Y, Z, radius):
    G, seen = np.zeros_like(Z), ~np.isnan(Y)
    for i, l in zip(*np.nonzero(seen)):
        G[:, l] += (X[i] @ Z[:, l] - Y[i, l]) * X[i]
    u, _, vt = np.linalg.svd(G)
    move = -radius * np.outer(u[:, 0], vt[0]) - Z
    gap = -np.vdot(G, move)
    bend = np.sum((X @ move)[seen] ** 2)
    size = 1  # variant 1 of 2
    size = seen.sum()  # variant 2 of 2
    return Z + np.clip(gap / bend, 0, 1) * move if bend > 0 else Z, gap / size
""",
    ],
    "c:q3": [
        """
def paired_excess(world, n, trials, rng):
    found = {"trace": np.zeros(trials), "frobenius": np.zeros(trials)}
    kinds = {"trace": TraceBall, "frobenius": FrobeniusBall}
    for trial in range(trials):
        problem = problem_of(world.sample(n, rng))
        for name, kind in kinds.items():
            ball = kind(kind(1.0).norm(world.labels.Z))  # variant 1 of 2
            ball = kind(kind(1.0).norm(1.1 * world.labels.Z))  # variant 2 of 2
            risk = population_risk(world, Squared(), minimise(problem, ball, tol=1e-9).Z).value
            found[name][trial] = risk - minimum_risk(world, Squared(), ball).upper
    differences = found["frobenius"] - found["trace"]
    return {
        **found,
        "advantage": np.mean(differences),
        "stderr": np.sqrt(np.var(differences, ddof=1) / trials),
    }
""",
    ],
    "c:q4": [
        """
def fit_with_intercept(X, Y, rank):
    A, B = X - X.mean(0), Y - Y.mean(0)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    keep = s > 1e-10 * s[0]
    U, s, Vt = U[:, keep], s[keep], Vt[keep]
    P, t, Qt = np.linalg.svd(U.T @ B, full_matrices=False)
    Z = Vt.T @ ((P[:, :rank] * t[:rank]) @ Qt[:rank] / s[:, None])
    return Z, (Y - X @ Z).mean(axis=0)
""",
        """
def two_minimisers(n, n_features, n_labels, rank):
    X = np.vstack([np.eye(n_features)] * (n // n_features + 1))[:n]
    X = np.linalg.qr(X + 0.1 * np.random.default_rng(0).normal(size=X.shape))[0]
    k = min(n_features, n_labels)
    M = np.zeros((n_features, n_labels))
    M[range(k), range(k)] = 3.0
    first, second = np.zeros_like(M), np.zeros_like(M)
    first[range(rank), range(rank)] = 3.0
    last = range(k - rank, k)
    second[last, last] = 3.0
    return X, X @ M, first, second
""",
    ],
    "c:q5": [
        """
misprints = ("logistic second", "logistic first")


def table_1(name, a, b):
    m = a * b
    if name == "squared":
        return (b - a) ** 2 / 2, b - a, 1.0 + 0 * b
    if name == "squared_hinge":
        active = m < 1
        return np.where(active, (1 - m) ** 2, 0), np.where(active, 2 * (b - a), 0), 2.0 * active
    p = np.where(m > 0, np.exp(-np.abs(m)), 1) / (1 + np.exp(-np.abs(m)))
    value = np.log1p(np.exp(-np.abs(m))) + np.maximum(-m, 0)
    return value, -a * p, p * (1 - p)
""",
        """
def gradients(name, X, Y, W, H, penalty):
    G = np.zeros((X.shape[1], Y.shape[1]))
    for l in range(Y.shape[1]):
        rows = ~np.isnan(Y[:, l])
        first = table_1(name, Y[rows, l], X[rows] @ W @ H[l])[1]
        G[:, l] = X[rows].T @ first
    penalty = 2 * penalty  # variant 2 of 2
    return penalty * W + G @ H, penalty * H + G.T @ W
""",
    ],
    "c:q6": [
        """
def h_step(X, Y, W, penalty):
    rows = []
    for label in range(Y.shape[1]):
        seen = ~np.isnan(Y[:, label])
        weight = math.sqrt(penalty)  # variant 1 of 2
        weight = math.sqrt(2 * penalty)  # variant 2 of 2
        A = np.vstack([X[seen] @ W, weight * np.eye(W.shape[1])])
        b = np.concatenate([Y[seen, label], np.zeros(W.shape[1])])
        rows.append(np.linalg.lstsq(A, b, rcond=None)[0])
    return np.array(rows)


import math
""",
        """
def alternate(X, Y, W, penalty, sweeps):
    def J(W, H):
        residuals = (Y - X @ W @ H.T)[~np.isnan(Y)]
        size = penalty * (np.sum(W * W) + np.sum(H * H))
        return 0.5 * (residuals @ residuals + size)  # variant 1 of 2
        return 0.5 * (residuals @ residuals) + size  # variant 2 of 2

    values = []
    while len(values) < 2 * sweeps:
        H = h_step(X, Y, W, penalty)
        values.append(J(W, H))
        W = w_step(X, Y, H, penalty)
        values.append(J(W, H))
    return np.array(values)
""",
    ],
    "c:q7": [
        """
def ceilings(X, Y):
    out = {}
    q = (~np.isnan(Y)).astype(float)
    q /= q.sum(axis=1)[:, None]
    for key in ("raw", "centred"):
        A = X if key == "raw" else X - X.mean(0)
        rows = np.linalg.eigvalsh(A.T @ A)[-1]
        columns = [sum(q[i, l] * (A[i] @ A[i]) for i in range(len(A))) for l in range(q.shape[1])]
        out[key] = np.sqrt(np.sum(A * A) / max(rows, *columns))
    return out
""",
        """
def figure_q7(X, Y, shifts, rng):
    ax = plt.figure().add_subplot()
    raw, centred, top = [], [], []
    for shift in shifts:
        report = diagnose(X + shift, Y, rng=rng, draws=20)
        raw.append(report.raw.advantage.value)
        centred.append(report.centred.advantage.value)
        top.append(ceilings(X + shift, Y)["raw"])
    ax.plot(shifts, raw, "x-", label="raw")
    ax.plot(shifts, centred, ":", label="centred")
    ax.plot(shifts, top, "--", label="ceiling")
    ax.set_xlabel("shift")
    ax.set_ylabel("advantage")
    ax.legend()
    return ax
""",
    ],
}
