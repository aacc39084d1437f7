# %% [raw]
# title = "What does the bound promise?"
# points = 20

# %% [markdown]
# # What does the bound promise?
#
# A learner sees n points. Of the L labels of each point it sees **one**, drawn at random. It
# learns a matrix Z with one column for each label, and predicts label l at x by ⟨z_l, x⟩. Yu,
# Jain, Kar and Dhillon (ICML 2014) bound the risk of such a learner when the trace norm of Z is
# bounded (their Theorem 3). This assignment asks what that theorem promises, how much of it is
# needed, and when it says anything at all.
#
# **Learning goals.** When you are done you can
#
# 1. write the Rademacher average of a ball as an expected dual norm, and say which matrix attains
#    the supremum;
# 2. measure it, with a standard error, from data and from a law, at a cost that does not depend on
#    n;
# 3. find the constant in an upper bound and a law that attains it;
# 4. say how much a better theorem could gain, before anybody proves one;
# 5. turn a complexity into a statement about risk, and say from which n on that statement is not
#    vacuous.
#
# Use NumPy for Questions 1 to 5 and 7; the package is there to check yourself.

# %% tags=["setup"]
import itertools
import math

import matplotlib.pyplot as plt
import numpy as np

from leml_theory.plots import describe_axes
from leml_theory.rademacher import rademacher_averages
from simulations import (
    AnisotropicGaussian,
    IsotropicGaussian,
    NonNegative,
    RademacherVectors,
    RankOne,
    UniformLabels,
    WeightedLabels,
    heavy_label,
    zipf,
)

plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})

# %% tags=["setup"]
# Used by the checks: they say what is wrong when an answer is not of the right kind.


def number(value, name):
    """Return the answer as a float, if it is one finite number."""
    assert value is not None, f"`{name}` returns nothing yet."
    assert np.ndim(value) == 0, f"`{name}` should return one number."
    assert np.isfinite(value), f"`{name}` returns {value}."
    return float(value)


def matrix(value, shape, name):
    """Return the answer as an array, if it is one of the given shape."""
    assert value is not None, f"`{name}` returns nothing yet."
    assert np.shape(value) == shape, (
        f"`{name}` should return an array of shape {shape}, not {np.shape(value)}."
    )
    return np.asarray(value, dtype=float)


# %% [markdown]
# ## Notation
#
# | letter | meaning |
# |---|---|
# | n, d, L | number of points, of features, of labels |
# | $(x_i, l_i)$ | point i and its one seen label: l with probability $p_l$, whatever $x_i$ is |
# | Z | a d × L matrix; column $z_l$ predicts label l |
# | trace ball | all Z with $\lvert Z\rvert_{tr} \le r$: the singular values sum to at most r |
# | Frobenius ball | all Z with $\lvert Z\rvert_F \le r$: the squares sum to at most $r^2$ |
# | $\varepsilon_i$ | independent signs, +1 or −1 with probability 1/2: **one for each point** |
# | $\Sigma$, $\sigma_1$ | $E\lvert x\rvert^2$, and the largest eigenvalue of $S = E\,xx^T$ |
#
# The *Rademacher average* of a class of matrices is
# $$R_n = E \sup_Z \frac1n \sum_{i=1}^n \varepsilon_i \langle z_{l_i}, x_i\rangle
#       = \frac1n\, E \sup_Z \langle Z, V\rangle, \qquad
#   V = \sum_{i=1}^n \varepsilon_i\, x_i e_{l_i}^T .$$
# It measures how well the class can follow pure noise. All of the data that matters is in V, a d ×
# L matrix.

# %% [markdown]
# ## Warm-up: one label
#
# With L = 1 the class is $\{x \mapsto \langle w, x\rangle : |w| \le r\}$ and V is one vector. By
# the inequality of Cauchy and Schwarz
# $$\sup_{|w|\le r}\langle w, V\rangle = r\,|V|, \qquad\text{attained at } w = r V/|V| .$$
# So $R_n = \frac rn E|V|$: nothing has been lost. The signs are independent with mean zero, so
# the cross terms vanish and $E|V|^2 = n\Sigma$. Jensen's inequality then gives the bound
# $$R_n = \frac rn E|V| \le \frac rn\sqrt{E|V|^2} = r\sqrt{\Sigma/n}.$$
#
# *How much does Jensen lose?* Since $(E|V|)^2 = E|V|^2 - \mathrm{Var}\,|V|$, just the spread
# of the norm. Take $x \sim N(0, I/d)$, where Σ = 1 and V is exactly $N(0, (n/d) I)$. For d = 1 and
# d = 2 the mean of the norm is elementary: $\sqrt n\sqrt{2/\pi}$ and $\sqrt n\sqrt{\pi}/2$. We
# measure it, with a standard error: a measured number without one cannot be compared with
# anything. A right program is off by more than two standard errors once in twenty times, and by
# more than five practically never; that is the rule by which your answers are checked too.


# %%
def mean_and_error(values):
    """Return the mean of independent values and its standard error."""
    values = np.asarray(values)
    return values.mean(), values.std(ddof=1) / math.sqrt(values.size)


rng = np.random.default_rng(1)
n, draws = 50, 2000
exact = {1: math.sqrt(2 / math.pi), 2: math.sqrt(math.pi) / 2}
norms = {}
for d in (1, 2, 16, 128):
    norms[d] = np.empty(draws)
    for k in range(draws):
        signs = rng.choice([-1.0, 1.0], size=n)  # one sign per point
        V = signs @ rng.normal(scale=1 / math.sqrt(d), size=(n, d))
        norms[d][k] = np.linalg.norm(V) / math.sqrt(n)
    value, error = mean_and_error(norms[d])
    known = (
        f"exactly {exact[d]:.4f}, off by {(value - exact[d]) / error:+.1f} s.e." if d < 3 else ""
    )
    print(f"d = {d:3d}: sqrt(n) R_n = {value:.4f} +- {error:.4f}, the bound says 1   {known}")

# %%
figure, ax = plt.subplots(figsize=(6.2, 3.1), layout="constrained")
for d, shade, line in ((1, "0.6", ":"), (2, "0.45", "--"), (16, "0.25", "-."), (128, "0.0", "-")):
    heights, edges = np.histogram(norms[d], bins=24, density=True)
    ax.plot((edges[1:] + edges[:-1]) / 2, heights, line, color=shade, label=f"d = {d}")
    ax.plot(norms[d].mean(), 0, marker="^", color=shade, markersize=9, clip_on=False, zorder=5)
ax.axvline(1, color="#7a3b69", lw=1.2, zorder=0)
ax.annotate(
    "the bound", (1, ax.get_ylim()[1] * 0.93), (6, 0), textcoords="offset points", color="#7a3b69"
)
ax.set(xlabel=r"$|V|/\sqrt{n}$", ylabel="density", xlim=(0, 2.6), ylim=(0, None))
ax.set_title(
    "Jensen loses the spread: the mean (triangle) reaches the bound as d grows", fontsize=10
)
ax.legend(title="one label")
plt.show()

# %% [markdown]
# The bound is loose by 20 % in one dimension and by a fifth of a per cent in 128. It is the *norm*
# that must be nearly constant, not the data. Keep this in mind for Question 4.

# %% [raw]
# question = "q1"
# title = "the supremum over a ball"
# points = 3
# goal = "dual norms; which matrix attains the supremum over a ball"
# minutes = 25

# %% [markdown]
# For L > 1 the class is a ball of matrices, and $\sup_Z\langle Z, V\rangle$ over it is r times the
# *dual norm* of V. Work out both dual norms (for the trace ball write Z by its singular value
# decomposition, and ask which matrices are the extreme points of the ball).
#
# Write `ball_supremum(V, ball, radius)`, the value of the supremum, and `ball_maximiser(V, ball,
# radius)`, a matrix of the ball at which it is attained. `ball` is `"trace"` or `"frobenius"`; V
# is any d × L matrix that is not zero.


# %% tags=["solution"]
def ball_supremum(V, ball, radius):
    """Return the largest <Z, V> over the ball, a float."""
    return float(radius * np.linalg.norm(V, 2 if ball == "trace" else "fro"))


def ball_maximiser(V, ball, radius):
    """Return a matrix Z of the ball at which <Z, V> is largest, an array of the shape of V."""
    if ball == "frobenius":
        return radius * V / np.linalg.norm(V)
    left, _, right = np.linalg.svd(V, full_matrices=False)
    return radius * np.outer(left[:, 0], right[0])  # rank one: an extreme point of the trace ball


# %% [markdown] tags=["solution"]
# *Derivation.* Write $Z = \sum_k s_k u_k v_k^T$ with singular values $s_k \ge 0$. Then $\langle Z,
# V\rangle = \sum_k s_k u_k^T V v_k \le |V|_2 \sum_k s_k \le r|V|_2$, with equality at $r u
# v^T$ for a leading pair of singular vectors of V: the extreme points of the trace ball have rank
# one. For the Frobenius ball it is the warm-up with matrices read as vectors of length dL. A bound
# on the rank of Z beside the trace norm would change nothing.

# %% test="q1 a diagonal matrix" points=0.5 hidden=false
diagonal = np.diag([3.0, 4.0])
for kind, wanted in (("trace", 4.0), ("frobenius", 5.0)):
    got = number(ball_supremum(diagonal, kind, 1.0), "ball_supremum")
    assert np.isclose(got, wanted), (
        f"V = diag(3, 4), unit {kind} ball: <Z, V> can be {wanted}, not {got}."
    )
    Z = matrix(ball_maximiser(diagonal, kind, 1.0), (2, 2), "ball_maximiser")
    assert np.sum(Z * diagonal) > 0, (
        f"At your maximiser over the {kind} ball <Z, V> is not even positive."
    )

# %% test="q1 supremum over the trace ball" points=0.75 hidden=true
from leml_solver import TraceBall

rng = np.random.default_rng([TERM, 101])
for shape in ((3, 7), (9, 4), (1, 6), tuple(rng.integers(2, 12, size=2))):
    V, radius = rng.normal(size=shape), rng.uniform(0.2, 5.0)
    got = number(ball_supremum(V, "trace", radius), "ball_supremum")
    assert np.isclose(got, radius * TraceBall(radius).dual_norm(V)), (
        f"Trace ball, V of shape {shape}, radius {radius:.2f}: your value is not the supremum. "
        "Compare it with <Z, V> for a few Z of the ball, of rank one and of higher rank."
    )

# %% test="q1 supremum over the Frobenius ball" points=0.75 hidden=true
from leml_solver import FrobeniusBall

rng = np.random.default_rng([TERM, 102])
for shape in ((3, 7), (9, 4), (6, 1), tuple(rng.integers(2, 12, size=2))):
    V, radius = rng.normal(size=shape), rng.uniform(0.2, 5.0)
    got = number(ball_supremum(V, "frobenius", radius), "ball_supremum")
    assert np.isclose(got, radius * FrobeniusBall(radius).dual_norm(V)), (
        f"Frobenius ball, V of shape {shape}, radius {radius:.2f}: your value is not the "
        "supremum. Read the matrices as long vectors and look at the warm-up."
    )

# %% test="q1 maximisers" points=1 hidden=true
from leml_solver import FrobeniusBall, TraceBall

rng = np.random.default_rng([TERM, 103])
for kind, make in (("trace", TraceBall), ("frobenius", FrobeniusBall)):
    for shape in ((4, 6), (int(rng.integers(5, 12)), 3)):
        V, radius = rng.normal(size=shape), rng.uniform(0.2, 5.0)
        Z, ball = matrix(ball_maximiser(V, kind, radius), shape, "ball_maximiser"), make(radius)
        assert ball.norm(Z) <= radius * (1 + 1e-9), (
            f"{kind} ball of radius {radius:.2f}: your matrix has norm {ball.norm(Z):.2f} and lies "
            "outside."
        )
        assert np.sum(Z * V) >= radius * ball.dual_norm(V) * (1 - 1e-9), (
            f"{kind} ball: your matrix lies in it, but another one there has a larger <Z, V>."
        )

# %% [raw]
# question = "q2"
# title = "the average given the data"
# points = 3
# goal = "the average given the data, one sign per point, with a standard error"
# minutes = 25

# %% [markdown]
# So $R_n$ is r/n times the mean of a dual norm of V. Given the data only the signs are random, and
# the average can be measured on any data set.
#
# Write `conditional_averages(X, labels, n_labels, draws, rng)` for the *unit* balls (r = 1): X is
# n × d, `labels` holds the seen label of each point (0 to L − 1), `draws` is the number of
# independent draws of all signs. Return `{"trace": (value, error), "frobenius": (value, error)}`
# with the standard error of each value (as in the warm-up, with the divisor draws − 1), both balls
# from the same draws, all randomness from `rng`.


# %% tags=["solution"]
def conditional_averages(X, labels, n_labels, draws, rng):
    """Return the averages of both unit balls given the data, each with its standard error."""
    n = X.shape[0]
    seen = np.eye(n_labels)[labels]  # n x L: row i is e_{l_i}
    spectral, frobenius = np.empty(draws), np.empty(draws)
    for k in range(draws):
        signs = rng.choice([-1.0, 1.0], size=n)  # one sign per point, shared by all its features
        V = (signs[:, None] * X).T @ seen
        spectral[k], frobenius[k] = np.linalg.norm(V, 2) / n, np.linalg.norm(V) / n
    both = {"trace": spectral, "frobenius": frobenius}
    return {ball: (v.mean(), v.std(ddof=1) / math.sqrt(draws)) for ball, v in both.items()}


# %% test="q2 two points" points=0.5 hidden=false
# Orthogonal points with two labels: V has singular values 3 and 4 whatever the signs are.
answer = conditional_averages(
    np.diag([3.0, 4.0]), np.array([0, 1]), 2, 10, np.random.default_rng(1)
)
assert answer is not None, "`conditional_averages` returns nothing yet."
assert set(answer) == {"trace", "frobenius"}, "Return a dict with the keys 'trace' and 'frobenius'."
assert np.allclose(answer["trace"], (2.0, 0.0)), (
    "Trace ball: the singular values of V are 3 and 4 here."
)
assert np.allclose(answer["frobenius"], (2.5, 0.0)), (
    "Frobenius ball: V has the entries 3 and 4 here."
)

# %% test="q2 values against all signs" points=1 hidden=true
from leml_theory.rademacher import spectral_norms

rng = np.random.default_rng([TERM, 201])
d, L = (int(number) for number in rng.integers(2, 9, size=2))
worlds = ((NonNegative(30), 12, 8), (IsotropicGaussian(d), 11, L), (RankOne(12), 9, 5))
for law, n, L in (*worlds, (IsotropicGaussian(1), 8, 1)):
    X, labels = law.sample(n, rng), rng.integers(0, L, size=n)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))  # every one of the 2^n cases
    stack = np.einsum("ki,id,il->kdl", signs, X, np.eye(L)[labels])
    answer = conditional_averages(X, labels, L, 600, rng)
    assert answer is not None, "`conditional_averages` returns nothing yet."
    for ball, norms in (
        ("trace", spectral_norms(stack)),
        ("frobenius", np.sqrt((stack**2).sum((1, 2)))),
    ):
        # Five standard errors of a mean of 600 draws (and rounding, where all norms are equal).
        slack = 5 * norms.std() / n / math.sqrt(600) + 1e-9
        assert abs(answer[ball][0] - norms.mean() / n) <= slack, (
            f"{type(law).__name__}, n = {n}, d = {law.n_features}, L = {L}: the {ball} "
            "average is not the mean over all choices of the signs. Check where the signs go, "
            "which norm is taken, the factor in n, and the order of norm and mean."
        )

# %% test="q2 standard errors" points=1 hidden=true
from leml_theory.rademacher import spectral_norms

rng = np.random.default_rng([TERM, 202])
X, labels = NonNegative(8).sample(10, rng), rng.integers(0, 2, size=10)
signs = np.array(list(itertools.product([-1.0, 1.0], repeat=10)))
stack = np.einsum("ki,id,il->kdl", signs, X, np.eye(2)[labels])
for draws in (300, 1200):
    answer = conditional_averages(X, labels, 2, draws, rng)
    assert answer is not None, "`conditional_averages` returns nothing yet."
    for ball, norms in (
        ("trace", spectral_norms(stack)),
        ("frobenius", np.sqrt((stack**2).sum((1, 2)))),
    ):
        # A standard deviation from 300 draws is off by 1/sqrt(600) = 4 %: 25 % is six times that.
        assert 0.75 < answer[ball][1] / (norms.std() / 10 / math.sqrt(draws)) < 1.25, (
            f"{ball} ball, {draws} draws: this is not the standard error of a mean of so "
            "many draws. How should it change when there are four times as many?"
        )
# Two points, one feature, one label of twelve: the norm is 4 or 2, so the mean says how often.
value, error = conditional_averages(np.array([[3.0], [1.0]]), np.array([11, 11]), 12, 10, rng)[
    "trace"
]
share = value - 1
assert np.isclose(error, math.sqrt(share * (1 - share) / 9)), (
    "Ten draws of a norm that is 1 or 2 after division by n: the standard error is off by a few "
    "per cent. Which divisor has the variance?"
)

# %% test="q2 the generator is used" points=0.5 hidden=true
rng = np.random.default_rng([TERM, 203])
X, labels = IsotropicGaussian(4).sample(30, rng), rng.integers(0, 5, size=30)
answers = [
    conditional_averages(X, labels, 5, 40, np.random.default_rng([TERM, seed]))
    for seed in (1, 1, 2)
]
assert None not in answers, "`conditional_averages` returns nothing yet."
values = [answer["trace"][0] for answer in answers]
assert values[0] == values[1], (
    "The same generator gives two answers: some randomness does not come from `rng`."
)
assert values[0] != values[2], (
    "Different generators give the same answer: the signs must come from `rng`."
)

# %% [raw]
# question = "q3"
# title = "a billion points for the price of one"
# points = 3
# goal = "the law of V given the label counts, sampled at a cost free of n"
# minutes = 25

# %% [markdown]
# When the law of x is known there is no need to draw n points. Column l of V is the signed sum of
# the $n_l$ points that show label l, and given the counts $(n_1, \dots, n_L)$ the columns are
# independent. Find the law of such a column *exactly* for
#
# - `"gaussian"`: $x \sim N(0, I/d)$;
# - `"rademacher"`: $x = \rho/\sqrt d$ with d independent signs ρ;
# - `"rank-one"`: $x = \zeta\mu$ with one random sign ζ and a fixed unit vector μ,
#   $\mu = (1, 1, 1, 1, \dots)/\sqrt d$. <!-- 1 of 3 -->
#   $\mu = (1, -1, 1, -1, \dots)/\sqrt d$. <!-- 2 of 3 -->
#   $\mu = e_1 = (1, 0, 0, \dots)$. <!-- 3 of 3 -->
#
# Write `sample_V(law, n_features, counts, rng)`: one draw of V, an array d × L, at a cost that
# does not depend on the counts, which may be zero and may be $10^{12}$. No approximation: `counts`
# may be small as well.


# %% tags=["solution"]
def sample_V(law, n_features, counts, rng):
    """Return a draw of V, an array (n_features, len(counts)), given the counts of the labels."""
    counts = np.asarray(counts)
    shape = (n_features, counts.size)
    if law == "gaussian":  # a sum of n_l independent N(0, I/d)
        return rng.normal(size=shape) * np.sqrt(counts / n_features)
    if law == "rademacher":
        return (2.0 * rng.binomial(counts, 0.5, size=shape) - counts) / math.sqrt(n_features)
    mu = np.ones(n_features) / math.sqrt(n_features)  # variant 1 of 3
    mu = (-1.0) ** np.arange(n_features) / math.sqrt(n_features)  # variant 2 of 3
    mu = np.eye(n_features)[0]  # variant 3 of 3
    return np.outer(mu, 2.0 * rng.binomial(counts, 0.5) - counts)  # all features share one sign


# %% [markdown] tags=["solution"]
# *Derivation.* A signed Gaussian is a Gaussian, and $n_l$ of them add up to $N(0, (n_l/d) I)$. For
# signs ρ the products ερ of one point are d independent signs again, so an entry of V is a sum of
# $n_l$ signs over $\sqrt d$, and such a sum is $2\,\mathrm{Bin}(n_l, 1/2) - n_l$. For rank-one
# features εζ is one sign, and the column is μ times one such sum.

# %% test="q3 shapes and empty labels" points=0.5 hidden=false
for law in ("gaussian", "rademacher", "rank-one"):
    V = matrix(
        sample_V(law, 3, np.array([0, 1, 6, 2]), np.random.default_rng(5)), (3, 4), "sample_V"
    )
    assert not V[:, 0].any(), f"{law}: a label that is never seen has a column of zeros."
    assert np.isclose((V[:, 1] ** 2).sum(), 1) or law == "gaussian", (
        f"{law}: one signed point has length 1."
    )
    assert V[:, 1].any(), f"{law}: one signed point is not zero."

# %% test="q3 gaussian" points=0.75 hidden=true
rng = np.random.default_rng([TERM, 301])
counts = np.array([0, 1, int(rng.integers(4, 9)), int(rng.integers(300, 600))])
V = matrix(sample_V("gaussian", 3000, counts, rng), (3000, 4), "sample_V")
assert not V[:, 0].any(), "gaussian: a label that is never seen has a column of zeros."
scaled = V[:, 1:] * np.sqrt(3000 / counts[1:])
# Five standard errors each, from 3000 rows: sqrt(2/3000) for squares and 1/sqrt(3000) for products;
# nearly seven of sqrt(96/3000) for fourth powers, whose tails are heavy. (A sign has 1 there.)
assert np.all(abs((scaled**2).mean(0) - 1) < 0.13), (
    "gaussian: the entries of a column do not have the variance of a sum of its points. Work it "
    "out for 1 point and for 4."
)
assert np.all(abs((scaled**4).mean(0) - 3) < 1.2), (
    "gaussian: right variance, but the entries are not Gaussian."
)
assert abs((scaled[:, 0] * scaled[:, 2]).mean()) < 0.1, (
    "gaussian: columns of different labels should be independent."
)

# %% test="q3 rademacher" points=0.75 hidden=true
rng = np.random.default_rng([TERM, 302])
counts = np.array([1, 2, int(rng.integers(4, 9)), int(rng.integers(300, 600))])
sums = matrix(sample_V("rademacher", 3000, counts, rng), (3000, 4), "sample_V") * math.sqrt(3000)
whole = np.round(sums)
possible = (abs(sums - whole) < 1e-6) & ((whole - counts) % 2 == 0) & (abs(whole) <= counts)
assert possible.all(), (
    "rademacher: an entry of V has a value that no sum of so many signs, over sqrt(d), can have."
)
# Five standard errors from 3000 rows: the square of a sum of m signs has variance 2m(m-1); a sum
# of two signs is zero half of the time; the fourth power, over m^2, has the mean 3 - 2/m.
assert np.all(abs((sums**2).mean(0) / counts - 1) < 0.13), (
    "rademacher: wrong variance of the entries."
)
assert np.all(abs(sums.mean(0) / np.sqrt(counts)) < 0.1), (
    "rademacher: the features of a point have independent signs, so the rows of V should differ "
    "and have mean zero."
)
assert abs((sums[:, 1] == 0).mean() - 0.5) < 0.05, "rademacher: two signs cancel half of the time."
assert np.all(abs((sums**4).mean(0) / counts**2 - 3 + 2 / counts) < 1.2), (
    "rademacher: right variance, but not the law of a sum of signs."
)

# %% test="q3 rank-one" points=0.5 hidden=true
rng = np.random.default_rng([TERM, 303])
d = int(rng.integers(3, 9))
mu = np.ones(d) / math.sqrt(d)  # variant 1 of 3
mu = (-1.0) ** np.arange(d) / math.sqrt(d)  # variant 2 of 3
mu = np.eye(d)[0]  # variant 3 of 3
for count in (2, 4, int(rng.integers(5, 12))):
    V = matrix(sample_V("rank-one", d, np.full(3000, count), rng), (d, 3000), "sample_V")
    sums = mu @ V
    assert np.allclose(V, np.outer(mu, sums)), (
        "rank-one: every point is a multiple of mu, so every column of V is one too."
    )
    whole = np.round(sums)
    possible = (abs(sums - whole) < 1e-6) & ((whole - count) % 2 == 0) & (abs(whole) <= count)
    assert possible.all(), (
        "rank-one: a coefficient of mu has a value that no sum of so many signs can have."
    )
    # Five standard errors over 3000 labels, nearly seven for fourth powers, as above.
    assert abs((sums**2).mean() / count - 1) < 0.13, (
        "rank-one: wrong variance of the coefficients of mu."
    )
    assert abs((sums**4).mean() / count**2 - 3 + 2 / count) < 1.2, (
        "rank-one: right variance, but not the law of a sum of signs."
    )

# %% test="q3 free of n" points=0.5 hidden=true
rng = np.random.default_rng([TERM, 304])
for law in ("gaussian", "rademacher", "rank-one"):
    V = matrix(sample_V(law, 4, np.full(2000, 10**12), rng), (4, 2000), "sample_V")
    # |column|^2/n_l has mean 1; five standard errors of 2000 labels, at most sqrt(2/2000) each.
    assert abs((V**2).sum(0).mean() / 1e12 - 1) < 0.16, (
        f"{law}: with 10^12 points per label V has the wrong size."
    )
    pair = [sample_V(law, 4, np.full(9, 50), np.random.default_rng([TERM, k])) for k in (1, 2)]
    assert not np.array_equal(*pair), f"{law}: two generators give one V: take it all from `rng`."

# %% [raw]
# question = "q4"
# title = "find the constant"
# points = 3
# goal = "the constant of Theorem 3 is 1; rank-one features attain it in the limit, and how fast"
# minutes = 35

# %% [markdown]
# Both dual norms are at most the Frobenius norm, and $E|V|_F^2 = n\Sigma$ as in the warm-up. So
# for **both** balls
# $$R_n \le r\sqrt{\Sigma/n},$$
# which is what the proof of Theorem 3 shows about Rademacher averages. The theorem writes
# $O(\cdot)$; here the constant is 1. Can it be smaller?
#
# Take rank-one features and uniform labels. Then $V = \mu v^T$, both norms of V are |v|, and v is
# the place of a *simple random walk* on $\mathbb Z^L$ after n steps: every step is ±1 along one of
# the L axes, all 2L choices equally likely. The share of the bound that is used,
# $$\text{share}(n, L) = \frac{R_n}{r\sqrt{1/n}} = \frac{E|v|}{\sqrt n},$$
# is at most 1. Write
#
# - `exact_share(n, n_labels)`: its exact value for small n and L, by going through all $(2L)^n$
#   walks;
# - `limit_share(n_labels)`: its limit as n → ∞ (which law has $v/\sqrt n$ in the limit?), for L up
#   to 1000;
# - `labels_needed(share)`: the smallest L whose limit is at least `share`, for a share below 1.
#
# Look at $4L(1 - \text{limit\_share}(L))$ for growing L. What does it say about the constant?


# %% tags=["solution"]
def exact_share(n, n_labels):
    """Return E|v|/sqrt(n) for the simple random walk of n steps in dimension n_labels."""
    steps = np.vstack([np.eye(n_labels), -np.eye(n_labels)])
    walks = itertools.product(range(2 * n_labels), repeat=n)
    return float(
        np.mean([np.linalg.norm(steps[list(walk)].sum(0)) for walk in walks]) / math.sqrt(n)
    )


def limit_share(n_labels):
    """Return the limit of E|v|/sqrt(n) as n grows."""
    # The steps have covariance I/L, so v/sqrt(n) tends to g/sqrt(L) with g standard normal in R^L.
    half = n_labels / 2
    return math.exp(math.lgamma(half + 0.5) - math.lgamma(half)) / math.sqrt(half)


def labels_needed(share):
    """Return the smallest number of labels whose limit is at least `share`."""
    return next(n_labels for n_labels in itertools.count(1) if limit_share(n_labels) >= share)


# %% [markdown] tags=["solution"]
# *Derivation.* A step has mean zero and covariance $I/L$, so $v/\sqrt n$ tends to $g/\sqrt L$ with
# g standard normal in $\mathbb R^L$, and since $E|v|^2/n = 1$ is bounded the mean of the norm goes
# along (uniform integrability). $E|g| = \sqrt2\,\Gamma((L+1)/2)/\Gamma(L/2)$. Numerically $4L(1 -
# \text{share}) \to 1$: the share is $1 - 1/(4L) + O(L^{-2})$. It comes as close to 1 as we like,
# so no constant below 1 holds for all laws. (With n = 1 the share is exactly 1, and for every n it
# tends to 1 as L grows.)

# %% test="q4 one label" points=0.5 hidden=false
# After two steps the walk is at -2, 0, 0 or 2; in the limit it is the warm-up with d = 1.
assert np.isclose(number(exact_share(2, 1), "exact_share"), 1 / math.sqrt(2)), (
    "n = 2, L = 1: the mean distance is 1."
)
assert np.isclose(number(limit_share(1), "limit_share"), math.sqrt(2 / math.pi)), (
    "L = 1: see the warm-up with d = 1."
)
assert number(labels_needed(0.5), "labels_needed") == 1, "One label already has a limit above 0.5."

# %% test="q4 exact share" points=0.75 hidden=true
from leml_theory.rademacher import spectral_norms

for n, L in ((1, 3), (4, 3), (5, 2), (7, 1), (3, 3 + TERM % 4)):
    choices = np.indices((2 * L,) * n).reshape(n, -1)
    ends = np.vstack([np.eye(L), -np.eye(L)])[choices].sum(0)
    got = number(exact_share(n, L), "exact_share")
    assert np.isclose(got, spectral_norms(ends[:, None, :]).mean() / math.sqrt(n)), (
        f"n = {n}, L = {L}: not the mean distance over all {(2 * L) ** n} walks, over sqrt(n). For "
        "n = 1 you know the answer."
    )

# %% test="q4 limit" points=1 hidden=true
from leml_theory.predictions import chi_mean

rng = np.random.default_rng([TERM, 402])
for L in (2, 3, 7, int(rng.integers(10, 100)), int(rng.integers(500, 1000))):
    assert np.isclose(number(limit_share(L), "limit_share"), chi_mean(L), rtol=1e-6, atol=0), (
        f"L = {L}: not the limit. Compare it with `exact_share` at L = 2 and growing n; for large "
        "L it must be below 1 and the formula must not overflow."
    )

# %% test="q4 labels needed" points=0.75 hidden=true
from leml_theory.predictions import chi_mean

rng = np.random.default_rng([TERM, 403])
for L in (2, 5, int(rng.integers(10, 40)), int(rng.integers(400, 900))):
    for share, wanted in ((chi_mean(L) - 0.01 / L**2, L), (chi_mean(L) + 0.01 / L**2, L + 1)):
        got = number(labels_needed(share), "labels_needed")
        assert got == int(got) > 0, "The number of labels should be whole and positive."
        if got != wanted:  # a mistake in `limit_share` is counted once
            own = [limit_share(int(got)), limit_share(max(1, int(got) - 1)), limit_share(1)]
            follows = own[2] < own[0] and own[1] < share <= own[0]
            assert follows or got > wanted, (
                f"share {share:.7f}: with {got:.0f} labels the limit is still below it."
            )
            assert follows, f"share {share:.7f}: fewer than {got:.0f} labels are enough."

# %% [markdown]
# Your numbers for a few L, and what is measured at n = 1000 by the package:

# %%
rng = np.random.default_rng(4)
for L in (1, 4, 16, 64):
    measured = rademacher_averages(RankOne(5), UniformLabels(L), 1000, draws=4000, rng=rng)["trace"]
    share, error = measured.value * math.sqrt(1000), measured.stderr * math.sqrt(1000)
    print(f"L = {L:2d}: measured {share:.4f} +- {error:.4f}, your limit: {limit_share(L)}")

# %% [raw]
# question = "q5"
# title = "how much could a better theorem gain?"
# points = 2
# goal = "a lower bound on E|V|^2, and how much any theorem could gain over Theorem 3"
# minutes = 25

# %% [markdown]
# Rank-one features leave nothing to gain. Other laws do, for the trace ball: there the spectral
# norm may be far below the Frobenius norm. How far? For every unit vector u of length d, and for
# every label l,
# $$|V|_2 \ge |V^Tu| \qquad\text{and}\qquad |V|_2 \ge |V e_l| .$$
# Compute $E|V^Tu|^2$ and $E|Ve_l|^2$ from $S = E\,xx^T$, the label probabilities p and n. Choose u
# and l as well as possible. That gives a floor under $E|V|_2^2$ which no proof can get below.
#
# Write `rms_floor(S, p, n, radius)`, the floor that follows for the root mean square $\frac
# rn\sqrt{E|V|_2^2}$, and `largest_gain(S, p)`: Theorem 3's $r\sqrt{\Sigma/n}$ divided by that
# floor, the largest factor by which a bound on this root mean square could improve on it.


# %% tags=["solution"]
def rms_floor(S, p, n, radius):
    """Return a lower bound on radius/n times the root of E|V|_2^2, a float."""
    top = np.linalg.eigvalsh(S)[-1]  # E|V^T u|^2 = n u^T S u
    column = np.max(p) * np.trace(S)  # E|V e_l|^2 = n p_l E|x|^2
    return float(radius * math.sqrt(max(top, column) / n))


def largest_gain(S, p):
    """Return Theorem 3 over the floor, a float of at least 1."""
    return math.sqrt(np.trace(S)) / rms_floor(S, p, 1, 1.0)


# %% [markdown] tags=["solution"]
# *Derivation.* The signs of different points are independent with mean zero, so cross terms
# vanish: $E|V^Tu|^2 = \sum_i E\langle x_i, u\rangle^2 = n\,u^TSu$, largest at the top eigenvector,
# and $E|Ve_l|^2 = \sum_i P(l_i = l)\,E|x_i|^2 = n p_l\Sigma$. Hence $E|V|_2^2 \ge
# n\max(\sigma_1, \max_l p_l\,\Sigma)$, and the gain is $\sqrt{\min(\Sigma/\sigma_1,\, 1/\max_l
# p_l)}$: the smaller of an effective rank and an effective number of labels. It does not depend on
# n, on r or on the scale of x.

# %% test="q5 isotropic features" points=0.5 hidden=false
uniform = np.full(4, 0.25)
assert np.isclose(number(largest_gain(np.eye(9) / 9, uniform), "largest_gain"), 2.0), (
    "Isotropic, d = 9, four uniform labels: a factor 2."
)
assert np.isclose(number(rms_floor(np.eye(9) / 9, uniform, 100, 3.0), "rms_floor"), 0.15), (
    "The floor there, n = 100, radius 3."
)

# %% test="q5 floor" points=1 hidden=true
rng = np.random.default_rng([TERM, 501])
for law, p in (
    (AnisotropicGaussian((3.0, 1.0, 0.5, 0.1)), UniformLabels(20).probabilities),
    (AnisotropicGaussian((1.0, 0.9, 0.8, 0.7, 0.6)), np.array(heavy_label(6, 0.7))),
    (IsotropicGaussian(30, normalised=False), np.array(zipf(8, 1.0))),
):
    turn = np.linalg.qr(rng.normal(size=(law.n_features,) * 2))[0]  # the axes should not matter
    S = turn @ np.diag(getattr(law, "spectrum", np.ones(law.n_features))) @ turn.T
    n, radius, moments = int(rng.integers(20, 5000)), rng.uniform(0.5, 4.0), law.moments
    wanted = radius * math.sqrt(max(moments.top_eigenvalue, p.max() * moments.second_moment) / n)
    got = number(rms_floor(S, p, n, radius), "rms_floor")
    story = f"d = {law.n_features}, L = {p.size}, n = {n}, radius {radius:.2f}"
    assert got <= wanted * (1 + 1e-9), (
        f"{story}: your floor is above what the two inequalities give."
    )
    assert got >= wanted * (1 - 1e-9), f"{story}: another choice of u or l gives a higher floor."

# %% test="q5 gain" points=0.5 hidden=true
rng = np.random.default_rng([TERM, 502])
d = int(rng.integers(20, 50))
nonnegative = ((1 - 2 / math.pi) * np.eye(d) + 2 / math.pi * np.ones((d, d))) / d
for law, S, p in (
    (NonNegative(d), nonnegative, UniformLabels(50).probabilities),
    (RankOne(d), np.ones((d, d)) / d, UniformLabels(50).probabilities),
    (RademacherVectors(d), np.eye(d) / d, np.array(zipf(40, 0.8))),
    (IsotropicGaussian(d, normalised=False), np.eye(d), UniformLabels(5).probabilities),
):
    moments = law.moments
    floor = math.sqrt(max(moments.top_eigenvalue, p.max() * moments.second_moment))
    got, total = number(largest_gain(S, p), "largest_gain"), math.sqrt(moments.second_moment)
    own = number(rms_floor(S, p, 1, 1.0), "rms_floor")  # a mistake there is counted once
    doubled = number(largest_gain(4 * S, p), "largest_gain")
    hint = "" if np.isclose(doubled, got) else " It should not change when all features double."
    assert np.isclose(got, total / floor) or np.isclose(got * own, total), (
        f"{type(law).__name__} features, d = {d}, L = {p.size}: not the factor between Theorem 3 "
        f"and the floor.{hint}"
    )

# %% [markdown]
# Features that cannot be negative (counts, frequencies) share one direction, the mean. See what
# that does to the gain, for 64 features and 64 labels:

# %%
d = 64
shared = ((1 - 2 / math.pi) * np.eye(d) + 2 / math.pi * np.ones((d, d))) / d
print("isotropic    ", largest_gain(np.eye(d) / d, np.full(64, 1 / 64)))
print("non-negative ", largest_gain(shared, np.full(64, 1 / 64)))
print(
    "one label of ten seen half of the time",
    largest_gain(np.eye(d) / d, np.array(heavy_label(10, 0.5))),
)

# %% [raw]
# question = "q6"
# title = "a figure"
# points = 3
# goal = "a figure of measured averages beside the bound, on a scale on which slopes are seen"
# minutes = 25

# %% [markdown]
# Write `plot_promise(features, observation, n_values, radius, rng)`. It draws against n, both axes
# logarithmic, three lines made with `ax.plot` (or `ax.loglog`), each with one point for each n of
# `n_values`, and returns the Axes:
#
# - `"trace ball"` and `"Frobenius ball"`: the measured Rademacher averages of the balls of the
#   given radius, from `rademacher_averages(features, observation, n, draws=200, rng=rng)`, which
#   gives both for the *unit* balls (`.value` and `.stderr`);
# - `"Theorem 3"`: the bound $r\sqrt{\Sigma/n}$; Σ is `features.moments.second_moment`, and it need
#   not be 1.
#
# Label both axes and the lines (use these three names), add a legend, and let dashes or markers
# tell the lines apart, for readers who print in black and white. With `ax=None` the function makes
# its own Axes. Error bars are welcome; at 200 draws they are smaller than the markers.


# %% tags=["solution"]
def plot_promise(features, observation, n_values, radius, rng, ax=None):
    """Draw both measured averages and Theorem 3 against n and return the Axes."""
    if ax is None:
        _, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
    # BEGIN SOLUTION
    n_values = np.asarray(n_values)
    measured = [
        rademacher_averages(features, observation, int(n), draws=200, rng=rng) for n in n_values
    ]
    trace, frobenius = (
        np.array([m[ball].value for m in measured]) for ball in ("trace", "frobenius")
    )
    bound = radius * np.sqrt(features.moments.second_moment / n_values)
    ax.plot(n_values, bound, "-", color="black", lw=1.2, label="Theorem 3")
    ax.plot(
        n_values,
        radius * frobenius,
        "s--",
        color="#c0650a",
        ms=8,
        mfc="none",
        lw=1,
        label="Frobenius ball",
    )
    ax.plot(n_values, radius * trace, "o-", color="#0b5394", ms=4.5, lw=1, label="trace ball")
    ax.set(xscale="log", yscale="log", xlabel="number of points n", ylabel="Rademacher average")
    ax.grid(color="0.92")
    ax.legend()
    # END SOLUTION
    return ax


# %% test="q6 three lines" points=0.5 hidden=false
picture = describe_axes(
    plot_promise(IsotropicGaussian(5), UniformLabels(4), [10, 100], 1.0, np.random.default_rng(6))
)
found = [str(line.label) for line in picture.lines]
for name in ("trace ball", "Frobenius ball", "Theorem 3"):
    assert found.count(name) == 1, (
        f"There should be one line with the label '{name}', the labels are {found}."
    )
plt.close("all")

# %% test="q6 axes" points=0.5 hidden=true
picture = describe_axes(
    plot_promise(
        RankOne(3), UniformLabels(4), [16, 64, 256], 2.0, np.random.default_rng([TERM, 601])
    )
)
assert picture.x_scale == picture.y_scale == "log", (
    "A power of n is not seen as a straight line: check the scales of both axes."
)
assert picture.x_label, "The horizontal axis needs a label."
assert picture.y_label, "The vertical axis needs a label."
assert len(picture.legend) >= 3, "The lines cannot be told apart without a legend."
styles = {line.style for line in picture.lines if line.label}
assert len(styles) >= 3, (
    "In black and white two of the lines look the same: give them other dashes or marks."
)

# %% test="q6 the bound" points=1 hidden=true
from leml_theory.bounds import Setting, theorem_3

rng = np.random.default_rng([TERM, 602])
n_values = [20, 200, 2000]
for law in (IsotropicGaussian(7, normalised=False), AnisotropicGaussian((0.3, 0.1)), RankOne(4)):
    radius, labels = rng.uniform(0.5, 6.0), UniformLabels(6)
    picture = describe_axes(plot_promise(law, labels, n_values, radius, rng))
    line = next((line for line in picture.lines if line.label == "Theorem 3"), None)
    assert line is not None, "No line has the label 'Theorem 3'."
    wanted = [theorem_3(Setting.of(law, labels, n, radius=radius)).value for n in n_values]
    assert np.array_equal(np.round(line.x), n_values), (
        "The line 'Theorem 3' should have one point for each n, at that n."
    )
    assert np.allclose(line.y, wanted), (
        f"E|x|^2 = {law.moments.second_moment:g}, radius {radius:.2f}: the line 'Theorem 3' is "
        "not the bound. Check how it depends on n, on the radius and on the size of the features."
    )

# %% test="q6 the averages" points=1 hidden=true
rng = np.random.default_rng([TERM, 603])
n_values = [2, 900, 10**6]
size = int(rng.integers(8, 16))
for law, labels in (
    (IsotropicGaussian(size), UniformLabels(size)),
    (AnisotropicGaussian((4.0, 1.0, 1.0, 0.5)), WeightedLabels(zipf(9, 1.0))),
    (RademacherVectors(10), UniformLabels(25)),
):
    radius = rng.uniform(2.0, 6.0)
    picture = describe_axes(plot_promise(law, labels, n_values, radius, rng))
    wanted = [rademacher_averages(law, labels, n, draws=400, rng=rng) for n in n_values]
    for name, ball in (("trace ball", "trace"), ("Frobenius ball", "frobenius")):
        line = next((line for line in picture.lines if line.label == name), None)
        assert line is not None, f"No line has the label '{name}'."
        assert np.array_equal(np.round(line.x), n_values), (
            f"The line '{name}' should have one point for each n, at that n."
        )
        for y, estimate in zip(line.y, [w[ball] for w in wanted], strict=True):
            # Five standard errors of the difference of a mean of 200 and one of 400 draws.
            assert abs(y / radius - estimate.value) < 5 * math.sqrt(3) * estimate.stderr, (
                f"{type(law).__name__} features, radius {radius:.2f}: the line '{name}' is not "
                "where that ball's average was measured. Check which ball it is, and the radius."
            )
lines = [
    describe_axes(plot_promise(law, labels, [9, 99], 1.0, np.random.default_rng([TERM, k]))).lines
    for k in (1, 2)
]
heights = [[line.y[0] for line in found if line.label == "trace ball"] for found in lines]
assert heights[0] != heights[1], "Two generators give one line: measure with `rng`."

# %% [markdown]
# Two worlds side by side. In which of them does Theorem 3 tell the trace ball from the Frobenius
# ball? In which does nature?

# %%
rng = np.random.default_rng(66)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.7), sharey=True, layout="constrained")
worlds = (
    ("isotropic Gaussian features", IsotropicGaussian(64)),
    ("rank-one features", RankOne(64)),
)
for ax, (name, law) in zip(axes, worlds, strict=True):
    plot_promise(law, UniformLabels(64), 4 ** np.arange(2, 10), 1.0, rng, ax=ax)
    ax.set_title(f"{name}, d = L = 64", fontsize=10)
plt.show()

# %% [raw]
# question = "q7"
# title = "when does the bound say anything?"
# points = 3
# goal = "from complexity to excess risk with high probability; from which n on it is not vacuous"
# minutes = 30

# %% [markdown]
# Now the risk. Let $\mathcal L(Z)$ be the risk of Z, $\hat{\mathcal L}(Z)$ the mean loss on the
# sample, $\hat Z$ a minimiser of $\hat{\mathcal L}$ over the ball and $Z^*$ one of $\mathcal L$.
# The loss is C-Lipschitz in the prediction and all its values lie in an interval of length B.
# We bound the *excess risk*. Since $\hat Z$ minimises $\hat{\mathcal L}$, <!-- 1 of 2 -->
# We bound the *generalisation gap*. Since $\hat Z$ lies in the ball, <!-- 2 of 2 -->
# $$\mathcal L(\hat Z) - \mathcal L(Z^*) \;\le\; F := \sup_Z <!-- 1 of 2 -->
#   [(\mathcal L - \hat{\mathcal L})(Z) - (\mathcal L - \hat{\mathcal L})(Z^*)].$$ <!-- 1 of 2 -->
# $$\mathcal L(\hat Z) - \hat{\mathcal L}(\hat Z) \;\le\; F := \sup_Z <!-- 2 of 2 -->
#   (\mathcal L - \hat{\mathcal L})(Z).$$ <!-- 2 of 2 -->
# You may use two facts. *Symmetrisation and contraction*: $E F \le 2 C R_n$ (you prove this in the
# written part). *McDiarmid's inequality*: if changing one of n independent points moves F by at
# most c, then $P(F \ge EF + t) \le \exp(-2t^2/(nc^2))$. By how much can one point move F?
#
# Write
#
# - `risk_bound(complexity, n, lipschitz, loss_range, delta)`: the bound that follows and holds with
#   probability at least 1 − δ, `complexity` being $R_n$;
# - `smallest_n(rate, lipschitz, loss_range, delta)`: the smallest n at which that bound is *below
#   B*, when $R_n = \text{rate}/\sqrt n$. A bound of B or more is vacuous: nothing can be larger.


# %% tags=["solution"]
def risk_bound(complexity, n, lipschitz, loss_range, delta):
    """Return the bound that fails with probability at most delta, a float."""
    moves = 2 * loss_range / n  # each of the two differences by B/n  # variant 1 of 2
    moves = loss_range / n  # variant 2 of 2
    return 2 * lipschitz * complexity + moves * math.sqrt(n * math.log(1 / delta) / 2)


def smallest_n(rate, lipschitz, loss_range, delta):
    """Return the smallest n at which the bound is below the range of the loss, an int."""
    # Both terms are multiples of 1/sqrt(n): n has to be above the square of their sum over B.
    return math.floor((risk_bound(rate, 1, lipschitz, loss_range, delta) / loss_range) ** 2) + 1


# %% [markdown] tags=["solution"]
# *Derivation.* One point has the weight 1/n
# at Z and at $Z^*$ alike, so it moves F by c = 2B/n at most. <!-- 1 of 2 -->
# at Z, so it moves F by c = B/n at most. <!-- 2 of 2 -->
# Setting $\exp(-2t^2/(nc^2)) = \delta$ gives $t = c\sqrt{n\log(1/\delta)/2}$. With $R_n =
# \text{rate}/\sqrt n$ both terms are multiples of $1/\sqrt n$, and the bound is below B exactly
# when $\sqrt n$ is above the bound at n = 1, divided by B.

# %% test="q7 no complexity" points=0.5 hidden=false
# Without complexity the deviation term alone is left. With delta = exp(-2) its root is simple.
wanted, first = 0.2, 5  # variant 1 of 2
wanted, first = 0.1, 2  # variant 2 of 2
assert np.isclose(number(risk_bound(0.0, 100, 1.0, 1.0, math.exp(-2)), "risk_bound"), wanted), (
    f"No complexity, n = 100, B = 1: {wanted}."
)
assert number(smallest_n(0.0, 1.0, 1.0, math.exp(-2.1)), "smallest_n") == first, (
    f"No complexity, delta = exp(-2.1): n = {first} is the first."
)

# %% test="q7 the bound" points=1 hidden=true
from leml_theory.bounds import BoundValue, RiskSetting, Setting, mcdiarmid_excess, mcdiarmid_gap

mcdiarmid = (mcdiarmid_excess, mcdiarmid_gap)[TERM % 2]
rng = np.random.default_rng([TERM, 701])
for power in range(1, 5):
    n, R = int(rng.integers(20, 90)) ** power, rng.uniform(0.01, 0.3)
    C, B, delta = rng.uniform(0.3, 3.0), rng.uniform(1.5, 9.0), rng.uniform(0.001, 0.2)
    setting = Setting.of(IsotropicGaussian(5), UniformLabels(4), n)
    wanted = mcdiarmid(setting, RiskSetting("mine", C, B, delta), BoundValue("R_n", R)).value
    got = number(risk_bound(R, n, C, B, delta), "risk_bound")
    story = f"R_n = {R:.3f}, n = {n}, C = {C:.2f}, B = {B:.2f}, delta = {delta:.3f}"
    assert got > 0.999999 * wanted, f"{story}: too small, the two facts do not give so much."
    assert got < 1.000001 * wanted, (
        f"{story}: true, but larger than what follows from the two facts."
    )

# %% test="q7 smallest n" points=1 hidden=true
from leml_theory.bounds import BoundValue, RiskSetting, Setting, mcdiarmid_excess, mcdiarmid_gap

mcdiarmid = (mcdiarmid_excess, mcdiarmid_gap)[TERM % 2]
rng = np.random.default_rng([TERM, 702])
for _ in range(4):
    rate, C = rng.uniform(3.0, 40.0), rng.uniform(0.5, 2.0)
    B, delta = rng.uniform(1.5, 4.0), rng.uniform(0.001, 0.2)
    first = number(smallest_n(rate, C, B, delta), "smallest_n")
    story = f"R_n = {rate:.2f}/sqrt(n), C = {C:.2f}, B = {B:.2f}, delta = {delta:.3f}"
    # One point more or less is the next check's matter: 2 before and 2 after.
    values, own = [], []
    for n in (max(int(first) - 2, 1), max(int(first) + 2, 1)):
        setting, R = Setting.of(RankOne(2), UniformLabels(3), n), rate / math.sqrt(n)
        limits = RiskSetting("mine", C, B, delta)
        values.append(mcdiarmid(setting, limits, BoundValue("R_n", R)).value)
        own.append(number(risk_bound(R, n, C, B, delta), "risk_bound"))
    follows = own[0] >= B > own[1]  # a mistake in `risk_bound` is counted once
    assert values[1] < B or follows, f"{story}: at your n the bound is still vacuous."
    assert values[0] >= B or follows, f"{story}: the bound says something earlier than at your n."

# %% test="q7 the very first n" points=0.5 hidden=true
rng = np.random.default_rng([TERM, 703])
for _ in range(5):
    rate, B, delta = rng.uniform(0.5, 3.0), rng.uniform(1.5, 4.0), rng.uniform(0.01, 0.2)
    first = number(smallest_n(rate, 1.0, B, delta), "smallest_n")
    assert first == int(first), "The number of points should be whole."
    assert first > 1, "One point is not enough here: put n = 1 into the bound."
    own = [risk_bound(rate / math.sqrt(n), n, 1.0, B, delta) for n in (int(first) - 1, int(first))]
    assert own[0] >= B > own[1], (
        "Off by one or more: put your n, and your n minus 1, into your bound."
    )

# %% [markdown]
# Back to isotropic Gaussian features with d = L = 64. A prediction $\langle z_l, x\rangle$ has the
# variance $|z_l|^2/d$. Predictions of size one therefore need $|Z|_F = \sqrt{dL} = 64$, and a
# Z of rank one with that Frobenius norm has the same trace norm. So take r = 64 and the loss
# −clip(y f, −1, 1), for which C = 1 and B = 2, and δ = 0.05.

# %%
rng = np.random.default_rng(77)
n_values = np.unique(np.geomspace(16, 4e5, 16).astype(int))
world, r, B = (IsotropicGaussian(64), UniformLabels(64)), 64.0, 2.0
trace = [
    r * rademacher_averages(*world, int(n), draws=50, rng=rng)["trace"].value for n in n_values
]
figure, ax = plt.subplots(figsize=(6.6, 3.8), layout="constrained")
for averages, marks, name in (
    (r / np.sqrt(n_values), "s--", "Theorem 3, either ball"),
    (trace, "o-", "trace ball, measured average"),
    (np.zeros(n_values.size), ":", "the deviation term alone"),
):
    bounds = [risk_bound(R, int(n), 1.0, B, 0.05) for R, n in zip(averages, n_values, strict=True)]
    ax.plot(
        n_values,
        np.array(bounds, dtype=float),
        marks,
        color="black",
        mfc="white",
        lw=1.1,
        label=name,
    )
ax.axhspan(B, 100, color="0.88", lw=0)
ax.text(4e5, 25, "vacuous: B = 2 or more", ha="right", fontsize=9)
ax.axvline(64 * 64, color="#7a3b69", lw=1)
ax.annotate(
    "dL parameters",
    (64 * 64, 9),
    (4, 0),
    textcoords="offset points",
    color="#7a3b69",
    fontsize=9,
)
ax.set(
    xscale="log",
    yscale="log",
    ylim=(0.02, 50),
    xlabel="number of points n",
    ylabel="bound, with probability 95 %",
)
ax.legend(loc="lower left", fontsize=9)
plt.show()
print("first n that is not vacuous: Theorem 3", smallest_n(r, 1.0, B, 0.05))
print(
    "with the measured rate of the trace ball",
    smallest_n(trace[-1] * math.sqrt(n_values[-1]), 1.0, B, 0.05),
)

# %% [raw]
# question = "open"
# title = "what was promised?"
# manual = true
# points = 0
# goal = "what an upper bound does and does not say"
# minutes = 25

# %% [markdown]
# Three colleagues look at your figures.
#
# 1. *"Theorem 3 is the same for both balls, so for these data the trace norm has no advantage."*
# 2. *"At n = 1000 Theorem 3 is vacuous for d = L = 64, so nothing can be learnt from 1000
#    points."*
# 3. *"Rank-one features attain Theorem 3, so it cannot be improved."*
#
# Say in at most fifteen lines what is right and what is wrong with each sentence, each time with
# one number of yours. Then: your next data set has 64 word counts as features. Which number would
# you compute first, and what would it tell you?

# %% [markdown] tags=["solution"]
# 1. Wrong. Two equal upper bounds say nothing about the order of what they bound. For isotropic
#    features, d = L = 64, the measured average of the trace ball is about a quarter of the
#    Frobenius ball's ($\sqrt n R_n$ = 0.24 against 1.00 at r = 1), and the floor of Question 5
#    allows a factor of up to 8 in the root mean square. Right: Theorem 3 *alone* gives no reason
#    to prefer the trace ball.
# 2. Wrong. A vacuous bound is a statement about the bound. Theorem 3 speaks from
#    n = 4416 on, <!-- 1 of 2 -->
#    n = 4255 on, <!-- 2 of 2 -->
#    about the dL = 4096 parameters; the same argument with the measured average of the trace ball
#    speaks from about n = 300 on. Even that is an upper bound for the *worst* Z of the ball: what
#    is learnt at n = 1000 depends on the signal, and can only be measured. (The smaller number
#    rests on a Monte Carlo mean, which has a standard error, and on knowing the law of x. Its rate
#    was measured at n far above L; with the average at n itself, as in the figure, it is about
#    360.)
# 3. Right as a statement about all laws at once: the share of the bound that is used tends to 1,
#    like $1 - 1/(4L)$ (0.996 for L = 64), so no smaller constant holds for every law. Wrong as a
#    statement about a given law: where $\Sigma/\sigma_1$ and $1/\max p_l$ are both large there is
#    much to gain. It is also a statement about Rademacher averages, that is about uniform
#    deviations; it gives no lower bound on the excess risk of the minimiser.
#
# Word counts are not negative, so the mean direction carries much of $E|x|^2$: compute
# $\Sigma/\sigma_1$ (and $1/\max p_l$), the squares of the two candidates for the largest gain. For
# |Gaussian| features with d = 64 the gain is at most 1.25, whatever theorem is proved. Centring,
# or an intercept, is worth a thought before a better theorem is.
#
# *Marking guide (5 points).* One point for each sentence judged rightly (1 to 3), with a reason and
# a number of the student's own; one for "a vacuous bound says nothing about learning" or "tight for
# the class of all laws is not tight for one law", said clearly; one for the effective rank
# $\Sigma/\sigma_1$ of count data (or the top eigenvalue, or the mean direction) with what it
# implies for the trace ball. Take one off when average, gap and excess risk are mixed up.
