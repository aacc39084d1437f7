# %% [raw]
# title = "Who attains it?"
# points = 20

# %% [markdown]
# # Who attains it?
#
# An upper bound says *never worse than*. It does not say that anything is ever that bad, nor that
# the bad thing is the one you care about. Here you meet the distributions that make the bounds of
# low-rank multi-label learning tight (Yu, Jain, Kar and Dhillon, ICML 2014, Appendix C), and a
# theorem whose statement leaves out an assumption that its proof needs.
#
# **Learning goals.** When you are done you can
#
# 1. tell the *generalisation gap* from the *excess risk*, compute both, and name a world in which
#    one is as large as a bound allows while the other is zero;
# 2. verify a witness: derive what its minimiser does and check the derivation by experiment;
# 3. find a hidden assumption in measurements, by local slopes with standard errors;
# 4. state a theorem as two functions, where it applies and what it promises there, and draw a bound
#    only where it is one.

# %% [markdown]
# ## Notation
#
# A point has features $x\in\mathbb R^d$ and shows *one* of its $L$ labels, $y=y^l$, where label $l$
# comes up with probability $p_l$ (mostly $1/L$). A predictor is a $d\times L$ matrix $Z$, and its
# prediction of label $l$ is $\langle z_l, x\rangle$. All of Appendix C uses the **linear loss**
# $-y\,\langle z_l,x\rangle$, because everything it asks of $n$ points is one matrix:
#
# $$V=\sum_{i=1}^n y_i\,x_i e_{l_i}^T\ (d\times L),\qquad
# \hat{\mathcal L}(Z)=-\tfrac1n\langle V,Z\rangle,\qquad
# \mathcal L(Z)=-\langle M,Z\rangle,\quad M=E[\,y\,x\,e_l^T].$$
#
# | word | meaning |
# |---|---|
# | trace ball | $\lvert Z\rvert_{tr}\le r$, the sum of singular values |
# | Frobenius ball | $\lvert Z\rvert_F\le r$ |
# | $\hat Z$ | a minimiser of $\hat{\mathcal L}$ over the ball |
# | **generalisation gap** | $\mathcal L(\hat Z)-\hat{\mathcal L}(\hat Z)$: what training hides |
# | **excess risk** | $\mathcal L(\hat Z)-\min_{\text{ball}}\mathcal L$: what sampling costs |
# | average $R_n$ | $\frac rn E\lvert V\rvert$ with random signs for $y$ (Rademacher average) |
# | its norm | $\lvert V\rvert_2$ (spectral) for the trace ball, $\lvert V\rvert_F$ for the other |
# | Theorem 3 | $R_n\le r\sqrt{E\lvert x\rvert^2/n}$, for both balls |
# | Theorem 4 | $R_n\le c\,r/\sqrt{nL}$: trace ball, isotropic $x$, $E\lvert x\rvert^2=1$ |
#
# Theorems 3 and 4 bound the excess risk by a multiple of $R_n$ plus a term for the probability of
# failure; the table says what they promise for $R_n$, where they differ. (The paper takes the loss
# $+y\langle z_l,x\rangle$; the sign changes nothing but that of $\hat Z$.)

# %% tags=["setup"]
import math

import matplotlib.pyplot as plt
import numpy as np

from leml_theory.plots import describe_axes
from leml_theory.rademacher import rademacher_averages
from simulations import (
    AllOnes,
    IsotropicGaussian,
    Planted,
    RademacherVectors,
    RankOne,
    Scenario,
    UniformLabels,
    WeightedLabels,
    heavy_label,
    zipf,
)

# %% [markdown]
# ## Warm-up: one feature, one label (worked)
#
# Let $d=L=1$, $x=\pm1$, and let $yx=1$ with probability $(1+\mu)/2$. A predictor is a number
# $z\in[-1,1]$; with $m=\frac1n\sum_i y_ix_i$ the training loss is $-mz$ and the risk $-\mu z$. So
# $\hat z=\mathrm{sign}(m)$, and
#
# $$\text{gap}=|m|-\mu\,\mathrm{sign}(m),\qquad
# \text{excess}=\mu-\mu\,\mathrm{sign}(m)=2\mu\,[m<0].$$
#
# With $u=\mu\sqrt n$ the central limit theorem gives $\sqrt n\,E\,\text{gap}\to2\varphi(u)$ and
# $\sqrt n\,E\,\text{excess}\to2u\,\Phi(-u)$. We measure both.

# %%
rng = np.random.default_rng(2014)
n, draws = 2001, 20_000  # odd, so that m is never zero
u = np.linspace(0.0, 3.0, 13)
mu = u / math.sqrt(n)
m = 2 * rng.binomial(n, (1 + mu) / 2, size=(draws, u.size)) / n - 1
z = np.sign(m)
gap, excess = np.abs(m) - mu * z, mu - mu * z

fine = np.linspace(0.0, 3.0, 200)
density = np.exp(-(fine**2) / 2) / math.sqrt(2 * math.pi)
tail = np.array([math.erfc(t / math.sqrt(2)) / 2 for t in fine])
_, ax = plt.subplots(figsize=(6.4, 3.8))
ax.plot(fine, 2 * density, "-", color="0.1", label=r"gap: $2\varphi(u)$")
ax.plot(fine, 2 * fine * tail, "--", color="0.5", label=r"excess: $2u\,\Phi(-u)$")
for values, look in ((gap, {"marker": "o", "color": "0.1"}), (excess, {"marker": "s", "mfc": "w"})):
    errors = 4 * values.std(axis=0) / math.sqrt(draws) * math.sqrt(n)
    ax.errorbar(
        u, math.sqrt(n) * values.mean(axis=0), errors, ls="", ecolor="0.5", mec="0.1", **look
    )
ax.set(xlabel=r"signal, $u=\mu\sqrt{n}$", ylabel=r"mean $\times\sqrt{n}$")
ax.set_title("Where nothing can be learnt the gap is largest and the excess zero", fontsize=10)
ax.legend(frameon=False)
plt.show()

# %% [markdown]
# Read three things off the picture.
#
# * At $u=0$ there is no signal. All $z$ have risk 0, so *nothing can be lost* by learning: the
#   excess is exactly zero. Yet the training loss is too optimistic by $0.80/\sqrt n$, the largest
#   gap of all.
# * The excess is largest where the signal is of the size of the noise, $u\approx0.75$: there
#   $0.34/\sqrt n$ is lost. A signal must be worth something and still be missed now and then.
# * A strong signal ($u\ge3$) makes both vanish in the mean. A *fixed* $\mu$ means
#   $u=\mu\sqrt n\to\infty$: the rate $1/\sqrt n$ is seen only by a signal that shrinks as $n$
#   grows.
#
# A large gap is therefore no lower bound on the excess risk. Keep the two apart in all that
# follows.

# %% [raw]
# question = "q1"
# title = "the minimiser, its gap and its excess"
# points = 4
# goal = "the minimiser of the linear loss over each ball, its generalisation gap and excess risk"
# minutes = 30

# %% [markdown]
# (a) `empirical_minimiser(V, radius, ball)` returns a minimiser $\hat Z$ of $-\langle V,Z\rangle$
# over the ball, as a $d\times L$ array; `ball` is `"trace"` or `"frobenius"`. Hölder's inequality
# (dual norms) tells you both the smallest value and where equality holds. Use numpy's singular
# value decomposition.
#
# (b) `gap_and_excess(Z, V, n, M, radius, ball)` returns the pair (generalisation gap, excess risk),
# two numbers, of a given `Z` such as the minimiser of (a), for the sums $V$ of $n$ points of a
# world with cross moments $M$.
#
# Then look at the two worlds of Appendix C: all labels one, $x=\pm w$ with a random sign and a
# fixed unit vector $w$ (`RankOne`, Claim 7) or $x$ a vector of random signs over $\sqrt d$
# (`RademacherVectors`, Claim 8). In both $M=0$.
# `Scenario(features, AllOnes(L), UniformLabels(L)).label_sums(n, rng)` draws $V$ in a time that
# does not grow with $n$.

# %% [markdown] tags=["solution"]
# *Solution.* $\langle V,Z\rangle\le|V|_2|Z|_{tr}$, with equality for $Z=r\,u_1v_1^T$, the
# leading singular vectors: the extreme points of the trace ball have rank one. And
# $\langle V,Z\rangle\le|V|_F|Z|_F$, with equality for $Z=rV/|V|_F$. The smallest risk on the
# ball follows from the same inequality with $M$ in the place of $V/n$.


# %% tags=["solution"]
def empirical_minimiser(V, radius, ball):
    """Return a minimiser of -<V, Z> over the ball, shape (d, L).

    Parameters
    ----------
    V : array of shape (d, L)
    radius : float
    ball : "trace" or "frobenius"
    """
    if ball == "frobenius":
        return radius * V / np.linalg.norm(V)
    left, _, right = np.linalg.svd(V, full_matrices=False)
    return radius * np.outer(left[:, 0], right[0])


def gap_and_excess(Z, V, n, M, radius, ball):
    """Return (generalisation gap, excess risk) of Z, two floats.

    Parameters
    ----------
    Z : array of shape (d, L)
        In the ball.
    V : array of shape (d, L)
        Sum of y x e_l^T over the n points.
    n : int
    M : array of shape (d, L)
        Cross moments E[y x e_l^T].
    radius : float
    ball : "trace" or "frobenius"
    """
    risk, training = -np.sum(M * Z), -np.sum(V * Z) / n
    dual_norm = np.linalg.norm(M, 2 if ball == "trace" else "fro")
    return float(risk - training), float(risk + radius * dual_norm)


# %% tags=["demonstration"]
rng = np.random.default_rng(1)
n, d, L = 10_000, 64, 64
for features in (RankOne(d), RademacherVectors(d)):
    world = Scenario(features, AllOnes(L), UniformLabels(L))
    sums = [world.label_sums(n, rng) for _ in range(50)]
    for ball in ("trace", "frobenius"):
        pairs = [
            gap_and_excess(empirical_minimiser(V, 1.0, ball), V, n, np.zeros((d, L)), 1.0, ball)
            for V in sums
        ]
        gap, excess = np.mean(pairs, axis=0)
        name = f"{type(features).__name__:18} {ball:10}"
        print(f"{name} gap {gap * n**0.5:.3f}/sqrt(n), excess {excess:.3f}")

# %% [markdown] tags=["solution"]
# Claim 7: rank-one features make $V$ a matrix of rank one, both norms agree, and both gaps are
# Theorem 3's $1/\sqrt n$. Claim 8: with isotropic features the Frobenius ball still has
# $1/\sqrt n$, the trace ball about $2/\sqrt{nL}=0.25/\sqrt n$. In all four the excess risk is zero:
# Appendix C bounds gaps from below, not excess risks.

# %% test="q1 a matrix you can check by hand" points=0.5 hidden=false
V = np.array([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
for ball, best in (("trace", 4.0), ("frobenius", 5.0)):
    Z = np.asarray(empirical_minimiser(V, 1.0, ball))
    assert Z.shape == V.shape, "The minimiser should have the shape of V, (d, L)."
    assert np.isclose(np.sum(V * Z), best), f"<V, Z> is not the largest value over the {ball} ball."

# %% test="q1 minimiser over the trace ball" points=0.75 hidden=true
from leml_solver import TraceBall

rng = np.random.default_rng([TERM, 11])
for shape, radius in (((5, 9), 2.5), (tuple(rng.integers(2, 12, size=2)), 0.3), ((1, 6), 1.7)):
    V, ball = rng.normal(size=shape), TraceBall(radius)
    Z = np.asarray(empirical_minimiser(V, radius, "trace"))
    # Both are closed forms: what is left is the rounding of a singular value decomposition.
    assert ball.norm(Z) <= radius * (1 + 1e-9), (
        "For the trace ball Z lies outside the ball: what is its trace norm?"
    )
    assert np.isclose(np.sum(V * Z), radius * ball.dual_norm(V), rtol=1e-9), (
        "For the trace ball Z is in the ball but not a minimiser: another Z of the same trace "
        "norm does better."
    )

# %% test="q1 minimiser over the Frobenius ball" points=0.75 hidden=true
from leml_solver import FrobeniusBall

rng = np.random.default_rng([TERM, 12])
for shape, radius in (((4, 7), 2.5), (tuple(rng.integers(2, 12, size=2)), 0.3)):
    V, ball = rng.normal(size=shape), FrobeniusBall(radius)
    Z = np.asarray(empirical_minimiser(V, radius, "frobenius"))
    assert ball.norm(Z) <= radius * (1 + 1e-9), "For the Frobenius ball Z lies outside the ball."
    assert np.isclose(np.sum(V * Z), radius * ball.dual_norm(V), rtol=1e-9), (
        "For the Frobenius ball Z is in the ball but not a minimiser: does it use all of the "
        "radius?"
    )

# %% test="q1 worlds without a signal" points=0.5 hidden=true
from leml_solver import FrobeniusBall, Linear, TraceBall
from leml_theory.risk import minimum_risk

rng = np.random.default_rng([TERM, 13])
n, radius = 700, 1.5
for features in (RankOne(6), RademacherVectors(6)):
    world = Scenario(features, AllOnes(10), UniformLabels(10))
    V = world.label_sums(n, rng)
    for name, ball in (("trace", TraceBall(radius)), ("frobenius", FrobeniusBall(radius))):
        Z = ball.linear_minimiser(-V)
        gap, excess = gap_and_excess(Z, V, n, np.zeros((6, 10)), radius, name)
        assert np.isclose(gap, radius * ball.dual_norm(V) / n, rtol=1e-9), (
            "Where M = 0 every Z has risk zero, so the gap is minus the training loss of the "
            "minimiser. Yours is not: "
            "check the definition, the radius and the division by n."
        )
        assert np.isclose(excess, -minimum_risk(world, Linear(), ball).upper, atol=1e-12), (
            "Where M = 0 no Z is better than any other. What can a learner lose there?"
        )

# %% test="q1 gap with a signal" points=0.75 hidden=true
from leml_solver import FrobeniusBall, Linear, TraceBall
from leml_theory.risk import cross_moments, population_risk
from simulations import LinearLabels, independent_coefficients

rng = np.random.default_rng([TERM, 14])
n, d, L, radius = int(rng.integers(20, 60)), 5, int(rng.integers(3, 9)), rng.uniform(0.5, 3.0)
world = Scenario(
    IsotropicGaussian(d), LinearLabels(independent_coefficients(d, L, rng)), UniformLabels(L)
)
V, M = world.label_sums(n, rng), cross_moments(world)
for name, ball in (("trace", TraceBall(radius)), ("frobenius", FrobeniusBall(radius))):
    Z = ball.linear_minimiser(-V)
    gap, _ = gap_and_excess(Z, V, n, M, radius, name)
    expected = population_risk(world, Linear(), Z).value + np.sum(V * Z) / n
    assert np.isclose(gap, expected, rtol=1e-9), (
        f"The gap over the {name} ball is wrong where there is a signal: which risk is taken on "
        f"the sample, "
        "which on the population, and which is subtracted?"
    )

# %% test="q1 excess with a signal" points=0.75 hidden=true
from leml_solver import FrobeniusBall, Linear, TraceBall
from leml_theory.risk import cross_moments, minimum_risk, population_risk
from simulations import LinearLabels, independent_coefficients

rng = np.random.default_rng([TERM, 15])
n, d, L, radius = 60, int(rng.integers(3, 9)), 5, rng.uniform(0.5, 3.0)
world = Scenario(
    IsotropicGaussian(d), LinearLabels(independent_coefficients(d, L, rng)), UniformLabels(L)
)
V, M = world.label_sums(n, rng), cross_moments(world)
for name, ball in (("trace", TraceBall(radius)), ("frobenius", FrobeniusBall(radius))):
    Z = ball.linear_minimiser(-V)
    _, excess = gap_and_excess(Z, V, n, M, radius, name)
    risk = population_risk(world, Linear(), Z).value
    assert np.isclose(excess, risk - minimum_risk(world, Linear(), ball).upper, rtol=1e-9), (
        f"The excess over the {name} ball is wrong where there is a signal: compare with the "
        f"best Z of the same ball."
    )

# %% [raw]
# question = "q2"
# title = "how nearly is Theorem 3 attained?"
# points = 3
# goal = "a derivation, Lemma 2 for any label law (variance, Chebyshev, the factor 1 - 1/(4L))"
# minutes = 35

# %% [markdown]
# In the world of Claim 7 the gap is $|v|/n$ (radius 1) with $v_l=\sum_i\zeta_i\,[l_i=l]$, where the
# signs $\zeta_i$ are fair and $l_i=l$ with probability $p_l$, *any* law, all independent. Derive,
# on paper,
#
# * the mean and the variance of $|v|^2$. Both have exact forms for every $n$; start from
#   $|v|^2=n+W$, $W=\sum_{i\ne j}\zeta_i\zeta_j[l_i=l_j]$;
# * the lower bound that Chebyshev's inequality for $W$ gives on the probability of
#   $|v|^2\ge n/2$. <!-- 1 of 3 -->
#   $|v|^2\ge n/4$. <!-- 2 of 3 -->
#   $|v|^2\ge 2n/3$. <!-- 3 of 3 -->
#   Where it says nothing, the bound is 0;
# * the expected gap relative to Theorem 3, $E|v|/\sqrt n$: put $t=W/n$ and both moments, as they
#   are for this $n$, into $\sqrt{1+t}\approx1+t/2-t^2/8$. (So a factor $1-1/n$ stays where it is.)
#
# `rank_one_moments(n, p)` returns the pair (mean, variance), `chebyshev_chance(n, variance)` the
# lower bound on the probability, and `attained_share(n, variance)` the ratio. The last two are
# marked with the right variance, whatever yours is. Check yourself by simulation before you believe
# a formula.

# %% [markdown] tags=["solution"]
# *Solution.* $E W=0$, since $\zeta_i\zeta_j$ is a fair sign for $i\ne j$. In $E W^2$ the terms
# $(i,j)$ and $(k,m)$ have a mean other than zero only if $\{i,j\}=\{k,m\}$, which happens in two
# orders: $\mathrm{Var}|v|^2=2n(n-1)P(l_1=l_2)=2n(n-1)\sum_lp_l^2$. Chebyshev, for a share $a$ of
# $n$: $P(W<-(1-a)n)\le\mathrm{Var}/((1-a)n)^2$. With $t=W/n$:
# $E|v|/\sqrt n\approx1-\mathrm{Var}/(8n^2)=1-\frac14(1-\frac1n)\sum_lp_l^2$, which for uniform
# labels is about $1-\frac1{4L}$. The paper's Lemma 2 claims the chance $3/4$ of $|v|^2\ge n/2$ for
# every $L$; Chebyshev gives it from $8(n-1)/(nL)\le1/4$ on, so for $L\ge32$.


# %% tags=["solution"]
def rank_one_moments(n, p):
    """Return (mean, variance) of |v|^2.

    Parameters
    ----------
    n : int
        Points.
    p : sequence of L floats
        Probability of each label; they sum to one.
    """
    return n, 2 * n * (n - 1) * sum(share**2 for share in p)


def chebyshev_chance(n, variance):
    """Return a lower bound on the probability asked for, from the variance of |v|^2."""
    fall = n / 2  # variant 1 of 3
    fall = 3 * n / 4  # variant 2 of 3
    fall = n / 3  # variant 3 of 3
    return max(0.0, 1 - variance / fall**2)


def attained_share(n, variance):
    """Return E|v|/sqrt(n) by the expansion of the root, from the variance of |v|^2."""
    return 1 - variance / (8 * n**2)


# %% tags=["demonstration"]
rng = np.random.default_rng(2)
for name, law in (
    ("4 equal", zipf(4, 0.0)),
    ("64 equal", zipf(64, 0.0)),
    ("64 Zipf", zipf(64, 1.0)),
):
    counts = rng.multinomial(500, law, size=4000)
    v = 2 * rng.binomial(counts, 0.5) - counts  # sums of signs, label by label
    square, (_, variance) = (v**2).sum(axis=1), rank_one_moments(500, law)
    print(
        f"{name:9} variance {square.var():8.0f} ({variance:8.0f})   "
        f"chance at least {chebyshev_chance(500, variance):.3f}   "
        f"ratio {np.sqrt(square / 500).mean():.4f} ({attained_share(500, variance):.4f})"
    )

# %% test="q2 two points and two equal labels" points=0.5 hidden=false
mean, variance = rank_one_moments(2, [0.5, 0.5])
# |v|^2 is 0 or 4 with probability 1/4 each, else 2.
assert np.isclose(mean, 2.0), "The mean of |v|^2 is wrong for two points: list the cases."
assert np.isclose(variance, 2.0), "The variance of |v|^2 is wrong for two points: list the cases."
assert np.isclose(attained_share(2, 2.0), 0.9375), "Two points: put E t^2 = 1/2 into the expansion."

# %% test="q2 variance for uneven labels" points=1 hidden=true
from itertools import product

rng = np.random.default_rng([TERM, 21])
for n in (1, 3, 4 + TERM % 2):
    p = rng.dirichlet([1.0, 2.0, 3.0])
    signs = np.array(list(product([-1, 1], repeat=n)))
    labels = np.array(list(product(range(3), repeat=n)))
    chances = np.prod(p[labels], axis=1) / len(signs)
    seen = np.eye(3)[labels]
    squares = (np.einsum("si,kil->skl", signs, seen) ** 2).sum(axis=2)
    mean = np.sum(squares * chances)
    variance = np.sum((squares - mean) ** 2 * chances)
    found = rank_one_moments(n, p.tolist())
    # Every outcome is listed, so only rounding is left.
    assert np.isclose(found[0], mean, rtol=1e-9), (
        "The mean of |v|^2 is not that of all outcomes listed."
    )
    assert np.isclose(found[1], variance, rtol=1e-9, atol=1e-12), (
        f"The variance of |v|^2 is not that of all outcomes listed, for n = {n} and three uneven "
        f"labels: "
        "how likely do two points share a label, and what does n = 1 give?"
    )

# %% test="q2 chance by Chebyshev" points=0.75 hidden=true
from itertools import product

rng = np.random.default_rng([TERM, 22])
n, L = 3, 36
p = rng.dirichlet(np.full(L, 20.0))
labels = np.array(list(product(range(L), repeat=n)))
chances = np.prod(p[labels], axis=1)
first, second, third = labels.T
pairs = np.stack([first == second, first == third, second == third]).astype(float)
signs = np.array(list(product([-1, 1], repeat=n)))
crosses = np.stack(
    [signs[:, 0] * signs[:, 1], signs[:, 0] * signs[:, 2], signs[:, 1] * signs[:, 2]]
)
squares = n + 2 * crosses.T @ pairs
variance = np.mean((squares - n) ** 2, axis=0) @ chances
fall = (n / 2, 3 * n / 4, n / 3)[TERM % 3]
found = chebyshev_chance(n, variance)
assert found <= np.mean(squares >= n - fall, axis=0) @ chances, (
    "Your lower bound is above the true probability."
)
assert np.isclose(found, max(0.0, 1 - variance / fall**2), rtol=1e-9), (
    "Not what Chebyshev's inequality gives: how far must W fall below its mean, and what does "
    "the inequality divide by?"
)
assert np.isclose(
    chebyshev_chance(100 * n, variance), 1 - variance / (100 * fall) ** 2, rtol=1e-9
), "Not what Chebyshev's inequality gives when there are many points for this variance."
assert chebyshev_chance(50, 2450.0) == 0, (
    "With two labels Chebyshev's inequality says nothing; a probability is never negative."
)

# %% test="q2 how nearly Theorem 3 is attained" points=0.75 hidden=true
from leml_theory.predictions import frobenius_norm

rng = np.random.default_rng([TERM, 23])
for n, L in ((5, 3), (60, 12), (10**6, 40)):
    p = rng.dirichlet(np.full(L, 1.5))
    overlap = float(np.sum(p**2))
    expected = frobenius_norm(1.0, overlap, n) / math.sqrt(n)
    assert np.isclose(attained_share(n, 2 * n * (n - 1) * overlap), expected, rtol=1e-9), (
        "E|v|/sqrt(n) is not its expansion: put E t and E t^2, with t = W/n, into that of the root."
    )

# %% [raw]
# question = "q3"
# title = "a world that does cost excess risk"
# points = 3
# goal = "the planted signal, a world in which the Frobenius ball pays in excess risk"
# minutes = 35

# %% [markdown]
# The worlds of Appendix C have excess risk zero, so they do not show that the Frobenius ball
# *learns* worse. As in the warm-up, a signal is needed. **Planted world**: $x=\zeta/\sqrt d$ with
# random signs $\zeta$, and every label agrees with $\zeta_1$ with probability $(1+\rho)/2$. Then
# $M=\theta\,e_1\mathbf 1^T/\sqrt L$ with strength $\theta=|M|_F=\rho/\sqrt{dL}$, and
# $V/n=M+N$, where the $dL$ entries of the noise have mean zero and, for a weak signal, variance
# $1/(ndL)$ each.
#
# The balls have
# radius 1. <!-- 1 of 3 -->
# radius 2. <!-- 2 of 3 -->
# radius 1/2. <!-- 3 of 3 -->
#
# (a) Let $dL$ be large: sums of many squares are then equal to their means, and
# $\langle M,N\rangle$ is negligible. Derive the excess risk of the Frobenius-ball minimiser and
# write `frobenius_excess(theta, n)`.
#
# (b) `worst_signal(n)` returns the pair $(\theta,\text{excess})$ at the strength $\theta$ for which
# that excess is largest. (If your formula of (a) is wrong, its own largest value counts.)
#
# (c) `measured_excess(n, d, L, rho, ball, draws, rng)` returns (mean, standard error of the mean,
# with the divisor `draws - 1`) of the excess risk over `draws` samples of the planted world, for
# `ball` `"trace"` or `"frobenius"`. Call
# `Scenario(RademacherVectors(d), Planted(L, rho), UniformLabels(L)).label_sums(n, rng)` once for
# each sample, and take nothing else from `rng`.
#
# Then compare the two balls at the strength that is worst for the Frobenius ball.

# %% [markdown] tags=["solution"]
# *Solution.* $|V/n|_F^2\approx\theta^2+1/n$ and $\langle M,V/n\rangle\approx\theta^2$, so
# for radius 1 $\langle M,\hat Z\rangle\approx\theta^2/\sqrt{\theta^2+1/n}$ and the excess is
# $\theta\,(1-\theta/\sqrt{\theta^2+1/n})$. With $u=\theta\sqrt n$ it is
# $(u-u^2/\sqrt{1+u^2})/\sqrt n$. Setting the derivative to zero and $w=u^2$ gives
# $(1+w)^3=w(w+2)^2$, that is $w^2+w=1$: the golden ratio. So $u=0.786$ and the excess is
# $g^{5/2}/\sqrt n=0.3003/\sqrt n$ with $g=(\sqrt5-1)/2$. Every excess grows with the radius.


# %% tags=["solution"]
def frobenius_excess(theta, n):
    """Return the excess risk of the Frobenius-ball minimiser, for many entries.

    Parameters
    ----------
    theta : float
        Strength of the signal, |M|_F.
    n : int
        Points.
    """
    radius = 1.0  # variant 1 of 3
    radius = 2.0  # variant 2 of 3
    radius = 0.5  # variant 3 of 3
    return radius * theta * (1 - theta / math.sqrt(theta**2 + 1 / n))


def worst_signal(n):
    """Return (theta, excess) where `frobenius_excess` is largest."""
    theta = math.sqrt((math.sqrt(5) - 1) / 2 / n)
    return theta, frobenius_excess(theta, n)


def measured_excess(n, d, L, rho, ball, draws, rng):
    """Return (mean, standard error) of the excess risk in the planted world.

    Parameters
    ----------
    n, d, L : int
        Points, features and labels.
    rho : float
        Correlation of each label with the first feature.
    ball : "trace" or "frobenius"
    draws : int
        Independent samples of n points.
    rng : numpy Generator
    """
    world = Scenario(RademacherVectors(d), Planted(L, rho), UniformLabels(L))
    radius = 1.0  # variant 1 of 3
    radius = 2.0  # variant 2 of 3
    radius = 0.5  # variant 3 of 3
    M = np.zeros((d, L))
    M[0] = rho / (L * math.sqrt(d))
    found = np.empty(draws)
    for i in range(draws):
        V = world.label_sums(n, rng)
        if ball == "trace":
            left, _, right = np.linalg.svd(V, full_matrices=False)
            Z = np.outer(left[:, 0], right[0])
        else:
            Z = V / np.linalg.norm(V)
        found[i] = radius * (np.linalg.norm(M) - np.sum(M * Z))  # M has rank one: norms agree
    return float(found.mean()), float(found.std(ddof=1) / math.sqrt(draws))


# %% tags=["demonstration"]
n = 100_000
theta, worst = worst_signal(n)
print(f"worst strength {theta * n**0.5:.4f}/sqrt(n), excess {worst * n**0.5:.4f}/sqrt(n)")
for size in (8, 16, 32, 64):
    pair = [
        measured_excess(n, size, size, theta * size, ball, 100, np.random.default_rng(size))
        for ball in ("frobenius", "trace")
    ]
    text = "   ".join(f"{mean * n**0.5:.4f} +- {error * n**0.5:.4f}" for mean, error in pair)
    print(f"d = L = {size:2}   Frobenius, trace, times sqrt(n):   {text}")

# %% [markdown] tags=["solution"]
# The Frobenius ball pays $0.3003$ times the radius over $\sqrt n$ whatever $d=L$ is. The trace ball
# pays less and less: its own worst signal is weaker, and costs it about $1/\sqrt{nL}$.

# %% test="q3 no signal, nothing lost" points=0.5 hidden=false
assert np.isclose(frobenius_excess(0.0, 100), 0.0), "Without a signal no Z is better than another."
radius = 1.0  # variant 1 of 3
radius = 2.0  # variant 2 of 3
radius = 0.5  # variant 3 of 3
assert 0 < frobenius_excess(0.1, 100) < 0.1 * radius, (
    "The excess lies between 0 and the excess of Z = 0: which one is that?"
)
assert frobenius_excess(0.1, 10_000) < frobenius_excess(0.1, 100), (
    "More points should cost less, at the same signal."
)

# %% test="q3 formula" points=0.5 hidden=true
from leml_theory.predictions import planted_frobenius_excess

radius = (1.0, 2.0, 0.5)[TERM % 3]
rng = np.random.default_rng([TERM, 31])
for n in (50, 4000, 10**7):
    theta = rng.uniform(0.3, 2.0) / math.sqrt(n)
    # With 10^6 entries the finite-size formula is within a few 1e-6 of its limit.
    expected = radius * planted_frobenius_excess(theta, n, 10**6)
    assert np.isclose(frobenius_excess(theta, n), expected, rtol=1e-4), (
        "The formula is not the limit of many entries: how long is V/n, and how much of it is "
        "noise?"
    )

# %% test="q3 worst signal" points=0.5 hidden=true
from leml_theory.predictions import planted_frobenius_excess, worst_frobenius_excess

radius = (1.0, 2.0, 0.5)[TERM % 3]
for n in (4, 30 + TERM % 7, 10**8):
    theta, excess = worst_signal(n)
    best = radius * worst_frobenius_excess(n, 10**6)
    at = radius * planted_frobenius_excess(theta, n, 10**6)
    # A mistake in (a) is counted once: the largest value of the student's own formula, inside.
    grid = [frobenius_excess(u / math.sqrt(n), n) for u in np.geomspace(0.05, 20, 200)]
    top = max(grid)
    follows = np.isclose(frobenius_excess(theta, n), top, rtol=2e-3) and grid[0] < top > grid[-1]
    # The maximum is flat: a strength within 5 per cent costs less than 0.2 per cent.
    assert np.isclose(excess, top if follows else best, rtol=2e-3), (
        "The excess is not the largest over all signals, for every n."
    )
    assert follows or np.isclose(at, best, rtol=2e-3), (
        "Your strength is not where the excess is largest: does it change with n as it should?"
    )

# %% test="q3 measured, Frobenius ball" points=0.75 hidden=true
from leml_solver import FrobeniusBall, Linear
from leml_theory.risk import minimum_risk, population_risk

radius = (1.0, 2.0, 0.5)[TERM % 3]
rng, ball = np.random.default_rng([TERM, 31]), FrobeniusBall(radius)
d, L, draws = int(rng.integers(2, 6)), int(rng.integers(6, 10)), int(rng.integers(11, 20))
for n, rho in ((int(rng.integers(30, 60)), 0.5), (3000, 0.2)):
    world = Scenario(RademacherVectors(d), Planted(L, rho), UniformLabels(L))
    seed = [TERM, 32, n]
    mean, error = measured_excess(n, d, L, rho, "frobenius", draws, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    best = minimum_risk(world, Linear(), ball).upper
    minimisers = [ball.linear_minimiser(-world.label_sums(n, rng)) for i in range(draws)]
    risks = np.array([population_risk(world, Linear(), Z).value for Z in minimisers]) - best
    # The same samples, so only rounding is left.
    assert np.isclose(mean, risks.mean(), rtol=1e-6), (
        "The mean is not the excess risk of the Frobenius-ball minimiser on the samples drawn from "
        "rng: is it an excess, with the M of this world?"
    )
    assert np.isclose(error, risks.std(ddof=1) / math.sqrt(draws), rtol=1e-6), (
        "The second number is not the standard error of a mean of `draws` samples."
    )

# %% test="q3 measured, trace ball" points=0.75 hidden=true
from leml_solver import Linear, TraceBall
from leml_theory.risk import minimum_risk, population_risk

radius = (1.0, 2.0, 0.5)[TERM % 3]
rng, ball = np.random.default_rng([TERM, 35]), TraceBall(radius)
n, rho, draws = int(rng.integers(50, 5000)), 0.3, 12
d, L = int(rng.integers(8, 16)), int(rng.integers(4, 8))
world = Scenario(RademacherVectors(d), Planted(L, rho), UniformLabels(L))
mean, error = measured_excess(n, d, L, rho, "trace", draws, np.random.default_rng([TERM, 36]))
best, rng = minimum_risk(world, Linear(), ball).upper, np.random.default_rng([TERM, 36])
minimisers = [ball.linear_minimiser(-world.label_sums(n, rng)) for i in range(draws)]
risks = np.array([population_risk(world, Linear(), Z).value for Z in minimisers]) - best
# The same samples, so only rounding is left.
assert np.isclose(mean, risks.mean(), rtol=1e-6), (
    "The mean is not the excess risk of the trace-ball minimiser on the samples drawn from rng: is "
    "it an excess, and of the right ball?"
)

# %% [raw]
# question = "q4"
# title = "does the advantage last?"
# points = 3
# goal = "local slopes with standard errors; where the average stops falling with L"
# minutes = 30

# %% [markdown]
# Theorem 4 promises the trace ball $R_n\le c\,r/\sqrt{nL}$ for isotropic features: every doubling
# of $L$ should lower the average by the same factor. Measure it. A slope is worth nothing without
# its standard error, and one line through everything hides a bend.
#
# (a) `local_slopes(x, values, errors)` returns two lists, the slope of $\log(\text{value})$ against
# $\log x$ between each point and the next, and its standard error. The values are independent; by
# the delta method $\log(\text{value})$ has the standard error error/value. `x` is increasing.
#
# (b) `half_slope(x, values)` returns the `x` at which the local slope passes $-1/4$, half-way
# between Theorem 4's slope and none. A local slope belongs to the *geometric* mean of its two
# points; interpolate linearly in $\log x$ between the last slope below $-1/4$ and the first that is
# not. Return `None` if no slope is below $-1/4$ or none is at or above it.
#
# Then measure, for $d=32,64,128,256$ and $L=2,8,32,128,512,2048$, the trace ball's average of
# `IsotropicGaussian(d)` with `UniformLabels(L)`, and print the table of slopes. Where does each $d$
# have its half slope? The call
# `rademacher_averages(features, observation, n, draws=50, rng=rng)["trace"]` returns an estimate
# with `.value` and `.stderr`; its cost does not depend on `n`, so take $n=10^6$.


# %% tags=["solution"]
def local_slopes(x, values, errors):
    """Return (slopes, standard errors) between neighbours in log-log scale, two lists.

    Parameters
    ----------
    x, values, errors : sequences of k positive floats
        Increasing x, means, and their standard errors.
    """
    steps = np.diff(np.log(x))
    relative = np.square(np.divide(errors, values))
    return (
        (np.diff(np.log(values)) / steps).tolist(),
        (np.sqrt(relative[1:] + relative[:-1]) / steps).tolist(),
    )


def half_slope(x, values):
    """Return the x at which the local slope passes -1/4, or None if it does not.

    Parameters
    ----------
    x, values : sequences of k positive floats
        Increasing x, and means.
    """
    log_x = np.log(x)
    slopes = np.diff(np.log(values)) / np.diff(log_x)
    middles = (log_x[1:] + log_x[:-1]) / 2
    above = np.flatnonzero(slopes >= -0.25)
    if above.size == 0 or above[0] == 0:
        return None
    pair = slice(above[0] - 1, above[0] + 1)
    return float(np.exp(np.interp(-0.25, slopes[pair], middles[pair])))


# %% tags=["demonstration"]
labels, n = [2, 8, 32, 128, 512, 2048], 10**6
rng = np.random.default_rng(4)
measured = {}
print("slope ± error between L =    ", *(f"{L:4}-{4 * L:<4}  " for L in labels[:-1]))
for d in (32, 64, 128, 256):
    draws = [
        rademacher_averages(IsotropicGaussian(d), UniformLabels(L), n, draws=50, rng=rng)["trace"]
        for L in labels
    ]
    measured[d] = [draw.value for draw in draws]
    slopes, errors = local_slopes(labels, measured[d], [draw.stderr for draw in draws])
    row = "  ".join(f"{s:.2f}±{e:.3f}" for s, e in zip(slopes, errors, strict=True))
    print(f"d = {d:3}: half slope at {half_slope(labels, measured[d]):5.0f}  {row}")

# %% [markdown] tags=["solution"]
# The slope does not stay near $-1/2$: it climbs towards 0, many standard errors at a time, and
# passes $-1/4$ at an $L$ that grows with $d$, somewhat below $d$ itself. Theorem 4's factor
# $1/\sqrt L$ is used up when $L$ reaches $d$.

# %% test="q4 a power law" points=0.5 hidden=false
x = [1.0, 10.0, 1000.0]
slopes, errors = local_slopes(x, [t**-0.7 for t in x], [0.01 * t**-0.7 for t in x])
assert np.allclose(slopes, -0.7), "A power law has one slope, its exponent, on any grid."
assert len(errors) == 2, "Three points have two slopes between them."
assert errors[1] < errors[0], "Points farther apart should fix the slope better."

# %% test="q4 slopes" points=0.75 hidden=true
from leml_theory.sweep import rates

rng = np.random.default_rng([TERM, 41])
x = np.cumprod(rng.uniform(1.5, 4.0, size=6))
values, errors = rng.uniform(0.1, 3.0, size=6), rng.uniform(0.001, 0.05, size=6)
found, _ = local_slopes(x.tolist(), values.tolist(), errors.tolist())
expected = [slope.slope for slope in rates.local_slopes(x, values, errors)]
assert np.allclose(found, expected, rtol=1e-9), (
    "The slopes are not those between neighbours with both axes logarithmic."
)

# %% test="q4 standard errors" points=0.75 hidden=true
from leml_theory.sweep import rates

rng = np.random.default_rng([TERM, 42])
x = np.cumprod(rng.uniform(1.5, 4.0, size=6))
values, errors = rng.uniform(0.1, 3.0, size=6), rng.uniform(0.001, 0.05, size=6)
_, found = local_slopes(x.tolist(), values.tolist(), errors.tolist())
expected = [slope.stderr for slope in rates.local_slopes(x, values, errors)]
assert np.allclose(found, expected, rtol=1e-9), (
    "The standard errors are wrong: how do the errors of two independent logarithms add, and "
    "what are they divided by?"
)

# %% test="q4 half slope" points=1 hidden=true
from itertools import pairwise

from leml_theory.predictions import spectral_norm
from leml_theory.sweep import rates

for d, ratio in ((24 + TERM % 5, 2), (90 + TERM % 11, 3)):
    x = [ratio**k for k in range(1, 10) if ratio**k < 3000]
    values = [spectral_norm(d, np.full(L, 1 / L)) / math.sqrt(d) for L in x]
    slopes = [slope.slope for slope in rates.local_slopes(x, values, values)]
    middles = [(math.log(a) + math.log(b)) / 2 for a, b in pairwise(x)]
    expected = math.exp(np.interp(-0.25, slopes, middles))  # these slopes increase
    found = half_slope(x, values)
    assert found is not None, "The slope of this curve does pass -1/4, but you return None."
    assert np.isclose(found, expected, rtol=1e-6), (
        f"Not where the local slope passes -1/4 on a grid in factors of {ratio}: to which x does "
        f"a slope belong, and "
        "in which scale is it interpolated?"
    )
x = [2.0, 4.0, 8.0, 16.0]
bent = half_slope(x, [1.0, 2**-0.5, 2**-0.9, 2**-1.0])  # slopes -0.5, -0.4, -0.1
assert bent is not None, "One slope above -1/4 is enough."
assert np.isclose(bent, 4 * 2**1.0), "Half-way between the last two slopes, on the scale of log x."
for exponent in (-0.1, -0.4):
    assert half_slope(x, [t**exponent for t in x]) is None, (
        "A slope that never passes -1/4 should give None."
    )

# %% [raw]
# question = "q5"
# title = "what Theorem 4 does not say"
# points = 3
# goal = "the hidden assumption of Theorem 4 as a function, and a right-hand side without it"
# minutes = 30

# %% [markdown]
# As printed, Theorem 4 asks for no relation between $n$, $d$ and $L$. Its proof needs two. One is
# stated in Appendix B (Lemma 1): for uniform labels and isotropic features with $E|x|^2=1$ it reads
# $n>\frac12L^2\log(L^2/2)$; take it as given. The other is used once, inside the last estimate, and
# your measurements show it. It allows equality.
#
# (a) `theorem_4_applies(n, d, L)` returns `True` where both conditions hold and `False` elsewhere.
#
# (b) `corrected_rate(n, d, L, radius)` returns a right-hand side for the trace ball's average
# without the second condition. It must stay within a factor of 2.5 of the true average, above or
# below, for *all* $d$ and $L$ (isotropic features, uniform labels, $n\ge100L$). *Hint*: given the
# labels, $V$ has nearly independent entries of variance $n/(dL)$; how do its rows and its columns
# bound the spectral norm from below?

# %% [markdown] tags=["solution"]
# *Solution.* The hidden condition is $L\le d$. The $d$ rows of $V$ have length about $\sqrt{n/d}$
# and its $L$ columns $\sqrt{n/L}$; a spectral norm is at least the longest row and the longest
# column. For a Gaussian matrix the sum of the two is an upper bound (Chevet's inequality), so that
# $R_n$ is $r(1/\sqrt{nL}+1/\sqrt{nd})$ up to a factor of two: below $2r/\sqrt{nL}$ for $L\le d$,
# and saturated at $r/\sqrt{nd}$ for $L\gg d$. The larger of the two terms does as well as their
# sum. (The sum has the slope $-1/4$ in $L$ exactly at $L=d$: this is why Question 4 asked for that
# slope.)


# %% tags=["solution"]
def theorem_4_applies(n, d, L):
    """Return whether the proof of Theorem 4 covers n points, d features and L labels."""
    return bool(n > L**2 * math.log(L**2 / 2) / 2 and d >= L)


def corrected_rate(n, d, L, radius):
    """Return a right-hand side for the trace ball's average, for every d and L.

    Parameters
    ----------
    n, d, L : int
        Points, features and labels.
    radius : float
        Of the trace ball.
    """
    return radius * (1 / math.sqrt(n * L) + 1 / math.sqrt(n * d))


# %% tags=["demonstration"]
for d in (16, 128):
    for L in (4, 64, 1024):
        draw = rademacher_averages(
            IsotropicGaussian(d), UniformLabels(L), 10**7, draws=20, rng=np.random.default_rng(5)
        )["trace"]
        print(
            f"d = {d:3}, L = {L:4}: average/printed {draw.value * math.sqrt(1e7 * L):5.2f}, "
            f"average/corrected {draw.value / corrected_rate(10**7, d, L, 1.0):.2f}, "
            f"Theorem 4 applies: {theorem_4_applies(10**7, d, L)}"
        )

# %% test="q5 the case of the paper" points=0.5 hidden=false
assert theorem_4_applies(10**6, 64, 64), (
    "With d = L = 64 and a million points the proof goes through."
)
assert not theorem_4_applies(1000, 64, 64), "A thousand points are too few for 64 labels."
assert np.isclose(corrected_rate(4000, 30, 20, 1.0), corrected_rate(1000, 30, 20, 2.0) / 4), (
    "Four times the points and half the radius should give a quarter."
)

# %% test="q5 where Theorem 4 applies" points=0.75 hidden=true
from leml_theory.bounds import Setting, paper_route

rng = np.random.default_rng([TERM, 51])
for trial in range(12):
    L = int(rng.integers(3, 200))
    d = (L, 2 * L, L - 1, max(1, L // 2))[trial % 4]
    threshold = L**2 * math.log(L**2 / 2) / 2
    for n in (int(threshold), int(threshold) + 1):
        side = "below" if n < threshold else "above"
        expected = paper_route(Setting.of(IsotropicGaussian(d), UniformLabels(L), n)).valid
        assert bool(theorem_4_applies(n, d, L)) is expected, (
            f"Wrong for some d and L, where n is {side} what Lemma 1 asks: "
            "look at the half slopes of several d again."
        )

# %% test="q5 corrected rate, labels up to d" points=0.75 hidden=true
rng = np.random.default_rng([TERM, 52])
for d, L in ((96, 96), (256, 4), (200, 50), (2, 2)):
    n, radius = 100 * L * int(rng.integers(1, 9)), float(rng.uniform(0.5, 3.0))
    measured = rademacher_averages(RademacherVectors(d), UniformLabels(L), n, draws=40, rng=rng)[
        "trace"
    ]
    # Forty draws know the average to 3 per cent or better, small beside the factor of 2.5.
    ratio = corrected_rate(n, d, L, radius) / (radius * measured.value)
    assert 0.4 < ratio < 2.5, (
        "Your rate is not within a factor of 2.5 of the measured average, for some d, L, n and "
        "radius."
    )

# %% test="q5 corrected rate, many labels" points=1 hidden=true
from leml_theory.predictions import spectral_norm

rng = np.random.default_rng([TERM, 53])
for d, L in ((1, 300), (8, 2000), (50, 10_000), (40, 100)):
    n = 100 * L * int(rng.integers(1, 9))
    # Gaussian entries of variance 1/(dL): a formula that simulation confirms to a few per cent.
    expected = spectral_norm(d, np.full(L, 1 / L)) / math.sqrt(d * n)
    assert 0.4 < corrected_rate(n, d, L, 1.0) / expected < 2.5, (
        "For more labels than features your rate is not within a factor of 2.5 of the average: "
        "fix d and let L grow."
    )

# %% [raw]
# question = "q6"
# title = "a picture that does not lie"
# points = 2
# goal = "a figure of the transition that draws the bound only where it holds"
# minutes = 25

# %% [markdown]
# Chevet's inequality makes $c=2$ a valid constant for Gaussian features, many points and the region
# where Theorem 4 applies. `transition_figure(curves, n)` draws the transition and returns the
# `Axes`:
#
# * `curves[d]` is a dict of three lists of one length: `"labels"` (values of $L$), `"average"`
#   (measured $R_n$, radius 1) and `"applies"` (whether Theorem 4 applies there);
# * both axes logarithmic and labelled, $L$ horizontally, the average *times* $\sqrt n$ vertically;
# * for each `d` a line (`ax.plot`) labelled `d = 16`, for example, through all measured points;
# * for each `d` a line labelled `Theorem 4, d = 16` of the bound, in the same units, at those `L`
#   where it applies *and nowhere else*; if it applies nowhere, no such line.
#
# More lines and text are welcome. Let dashes or markers tell the lines of different `d` from each
# other and from the bound, for readers who print in black and white. Call it with measurements of
# your own.


# %% tags=["solution"]
def transition_figure(curves, n):
    """Draw the averages and, where it applies, Theorem 4 against L; return the Axes.

    Parameters
    ----------
    curves : dict of int to dict
        For each d lists "labels", "average" and "applies" of one length.
    n : int
        Points.
    """
    _, ax = plt.subplots(figsize=(7.2, 4.8))
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.7, len(curves)))
    for (d, curve), shade, marker in zip(curves.items(), shades, "os^Dv<>p*hXd", strict=False):
        labels, inside = np.array(curve["labels"]), np.array(curve["applies"], dtype=bool)
        scaled = np.array(curve["average"]) * math.sqrt(n)
        ax.plot(labels, scaled, f"{marker}-", color=shade, lw=1.3, ms=5.5, label=f"d = {d}")
        ax.plot(labels[~inside], scaled[~inside], marker, color=shade, mfc="white", ms=5.5)
        ax.annotate(
            f"d = {d}", (labels[-1], scaled[-1]), (7, 0), textcoords="offset points", va="center"
        )
        if inside.any():
            bound = 2 / np.sqrt(labels[inside])
            ax.plot(labels[inside], bound, "k--", lw=1.0, label=f"Theorem 4, d = {d}")
            ax.plot(labels[inside][-1], bound[-1], "kx", ms=8)
            note = f"ends for d = {d}"
            ax.annotate(
                note,
                (labels[inside][-1], bound[-1]),
                (8, 4),
                textcoords="offset points",
                fontsize=8,
            )
        ax.axhline(1 / math.sqrt(d), color=shade, lw=0.8, ls=":")
    ax.set(xscale="log", yscale="log")
    ax.set_xticks([2**k for k in range(1, 12, 2)], [f"{2**k}" for k in range(1, 12, 2)])
    ax.set_yticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
    ax.minorticks_off()
    ax.set(
        xlabel="number of labels L",
        ylabel=r"Rademacher average of the trace ball $\times\,\sqrt{n}$",
    )
    ax.set_title(
        r"Theorem 4 with constant 2 (dashed) ends at L = d; beyond, the average saturates",
        fontsize=10,
    )
    note = "full marks: Theorem 4 applies\nopen marks: it does not\ndotted: $1/\\sqrt{d}$"
    ax.text(0.99, 0.97, note, transform=ax.transAxes, fontsize=8, ha="right", va="top")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.92")
    return ax


# %% tags=["demonstration"]
rng = np.random.default_rng(6)
n, curves = 10**8, {}
for d in (8, 32, 128):
    labels = [2**k for k in range(1, 12)]
    average = [
        rademacher_averages(IsotropicGaussian(d), UniformLabels(L), n, draws=20, rng=rng)[
            "trace"
        ].value
        for L in labels
    ]
    applies = [theorem_4_applies(n, d, L) for L in labels]
    curves[d] = {"labels": labels, "average": average, "applies": applies}
ax = transition_figure(curves, n)
plt.show()

# %% test="q6 axes and names" points=0.5 hidden=false
curve = {"labels": [2, 4, 8], "average": [0.1, 0.08, 0.07], "applies": [True, True, False]}
picture = describe_axes(transition_figure({40: curve}, 100))
plt.close("all")
assert picture.x_scale == picture.y_scale == "log", (
    "Both axes should be logarithmic: a power law is then a line."
)
assert picture.x_label, "The horizontal axis has no label."
assert picture.y_label, "The vertical axis has no label."
names = [line.label for line in picture.lines]
for name in ("d = 40", "Theorem 4, d = 40"):
    assert name in names, f"No line is labelled '{name}'."

# %% test="q6 measured lines" points=0.75 hidden=true
rng = np.random.default_rng([TERM, 61])
n, curves = int(rng.integers(1000, 5000)), {}
for d in (5, int(rng.integers(8, 20))):
    labels = [2, 3, 5, 8, 20, 50]
    average = np.sort(rng.uniform(0.002, 0.02, size=6))[::-1]
    curves[d] = {"labels": labels, "average": average.tolist(), "applies": [d >= L for L in labels]}
lines = {line.label: line for line in describe_axes(transition_figure(curves, n)).lines}
plt.close("all")
for d, curve in curves.items():
    assert f"d = {d}" in lines, f"No line is labelled 'd = {d}'."
    line = lines[f"d = {d}"]
    assert np.array_equal(np.round(line.x), curve["labels"]), (
        "A measured line does not go through all values of L, or not against L."
    )
    assert np.allclose(line.y, math.sqrt(n) * np.array(curve["average"])), (
        "The heights of a measured line are wrong: which power of n makes them free of n?"
    )
styles = [lines[f"d = {d}"].style for d in curves]
styles += [line.style for name, line in lines.items() if name.startswith("Theorem 4")][:1]
assert len(set(styles)) == 3, (
    "In black and white two of the lines look the same: give them other dashes or markers."
)

# %% test="q6 Theorem 4 only where it applies" points=0.75 hidden=true
labels, n = [2, 4, 8, 16, 32], 900 + TERM % 50
masks = {4: [True, True, False, False, False], 64: [True, True, True, False, False], 1: [False] * 5}
curves = {
    d: {"labels": labels, "average": [0.02] * 5, "applies": mask} for d, mask in masks.items()
}
lines = {line.label: line for line in describe_axes(transition_figure(curves, n)).lines}
plt.close("all")
for d, mask in masks.items():
    inside = np.array(labels)[np.array(mask)]
    name = f"Theorem 4, d = {d}"
    if inside.size == 0:
        assert name not in lines or len(lines[name].x) == 0, (
            "Theorem 4 is drawn for a d for which it applies nowhere."
        )
    else:
        assert name in lines, f"No line is labelled '{name}'."
        visible = np.isfinite(lines[name].y)  # matplotlib leaves out a NaN
        x, y = lines[name].x[visible], lines[name].y[visible]
        where = (
            "Theorem 4 is drawn at other L than those where it applies: use the list that says so."
        )
        assert len(x) == inside.size, where
        assert np.allclose(np.sort(x), inside), where
        assert np.allclose(np.sort(y), np.sort(2 / np.sqrt(inside))), (
            "The height of Theorem 4's line is wrong: is it in the units of the measured lines?"
        )

# %% [raw]
# question = "q7"
# title = "one label too popular"
# points = 2
# goal = "Theorem 6, a label that is seen too often takes the advantage away"
# minutes = 30

# %% [markdown]
# Theorem 6 allows uneven labels. What decides about the advantage of the trace ball: how many
# labels there are, or something else?
#
# (a) `share_of_theorem_3(features, p, n, draws, rng)` returns (ratio, standard error): the trace
# ball's measured average over Theorem 3's bound $r\sqrt{E|x|^2/n}$, for labels of probabilities
# `p`. The law `features` says its $E|x|^2$ as `features.moments.second_moment`, which need not be
# 1, and `WeightedLabels(p)` is the pattern of observation. A ratio near 1 means that the trace ball
# has no advantage left.
#
# (b) `uneven_rate(n, d, p, radius)` returns a right-hand side for the trace ball's average,
# isotropic features with $E|x|^2=1$, within a factor of 2.5 of the truth for every `p` in which
# each label is expected at least 100 times. For uniform labels it does what `corrected_rate` did.
#
# Try `heavy_label(L, share)`, the law in which one label has the given share and the others are
# equal, and `zipf(L, exponent)`.

# %% [markdown] tags=["solution"]
# *Solution.* Column $l$ of $V$ has length about $\sqrt{np_l}$, so that the longest column is that
# of the most frequent label: $1/L$ gives way to $P=\max_lp_l$. The rows keep their length
# $\sqrt{n/d}$. With $P$ of order one the average is Theorem 3's up to a constant, however many
# labels there are.


# %% tags=["solution"]
def share_of_theorem_3(features, p, n, draws, rng):
    """Return (ratio, standard error) of the trace ball's average over Theorem 3's bound.

    Parameters
    ----------
    features : FeatureLaw
    p : sequence of L floats
        Label probabilities.
    n, draws : int
        Points; independent matrices V.
    rng : numpy Generator
    """
    average = rademacher_averages(features, WeightedLabels(tuple(p)), n, draws=draws, rng=rng)[
        "trace"
    ]
    bound = math.sqrt(features.moments.second_moment / n)
    return average.value / bound, average.stderr / bound


def uneven_rate(n, d, p, radius):
    """Return a right-hand side for the trace ball's average, right up to a factor for every p.

    Parameters
    ----------
    n, d : int
        Points and features.
    p : sequence of L floats
        Label probabilities.
    radius : float
        Of the trace ball.
    """
    return radius * (math.sqrt(max(p) / n) + 1 / math.sqrt(n * d))


# %% tags=["demonstration"]
rng = np.random.default_rng(7)
d, L, n = 128, 128, 10**7
laws = {f"one label {share:4.0%}": heavy_label(L, share) for share in (0.01, 0.05, 0.2, 0.8)}
laws |= {f"Zipf, power {power}": zipf(L, power) for power in (0.5, 1.0, 2.0)}
for name, law in laws.items():
    ratio, error = share_of_theorem_3(IsotropicGaussian(d), law, n, 20, rng)
    print(
        f"{name:15} P = {max(law):.3f}: {ratio:.3f} +- {error:.3f} of Theorem 3 "
        f"(sqrt(P) = {max(law) ** 0.5:.3f})"
    )

# %% test="q7 one label" points=0.5 hidden=false
ratio, error = share_of_theorem_3(IsotropicGaussian(1), (1.0,), 50, 2000, np.random.default_rng(70))
# V is normal with variance n, so E|V| = sqrt(2 n/pi). Five standard errors.
assert abs(ratio - math.sqrt(2 / math.pi)) < 5 * 0.603 / math.sqrt(2000), (
    "One feature and one label: the ratio is not that of E|V|."
)
assert np.isclose(
    uneven_rate(4000, 30, [0.5, 0.5], 1.0), uneven_rate(1000, 30, [0.5, 0.5], 2.0) / 4
), "Four times the points and half the radius should give a quarter."

# %% test="q7 measured share" points=0.5 hidden=true
rng = np.random.default_rng([TERM, 71])
worlds = (
    (IsotropicGaussian(int(rng.integers(10, 30)), normalised=False), heavy_label(15, 0.4)),
    (RademacherVectors(10), zipf(int(rng.integers(20, 40)), 1.5)),
)
for features, law in worlds:
    # One Gaussian point: its length is random. One of signs has length 1.
    for n in (1 if features is worlds[0][0] else 900, 90_000):
        expected = rademacher_averages(features, WeightedLabels(law), n, draws=200, rng=rng)[
            "trace"
        ]
        unit = math.sqrt(features.moments.second_moment / n)
        ratio, error = share_of_theorem_3(
            features, law, n, 200, np.random.default_rng([TERM, 72, n])
        )
        # Two independent means of 200 draws: five standard errors of their difference.
        assert abs(ratio - expected.value / unit) < 5 * math.sqrt(2) * expected.stderr / unit, (
            "The ratio is wrong for some n, law of x or law of the labels: which ball, which "
            "power of n, which E|x|^2?"
        )
        # A standard error from 200 draws is known to a few per cent; a factor of 1.6 leaves room.
        assert 0.6 < error / (expected.stderr / unit) < 1.6, (
            "The standard error is not in the units of the ratio."
        )
seeds = [[TERM, 73], [TERM, 74]]
pair = [
    share_of_theorem_3(RademacherVectors(3), (0.5, 0.5), 100, 20, np.random.default_rng(seed))
    for seed in seeds
]
assert not np.array_equal(pair[0], pair[1]), (
    "Two generators give one answer: is the randomness taken from rng?"
)

# %% test="q7 rate for uneven labels" points=1 hidden=true
from leml_theory.predictions import spectral_norm

rng = np.random.default_rng([TERM, 75])
worlds = (
    (4096, heavy_label(4096, 0.05)),
    (1000, zipf(500, 1.0)),
    (300, heavy_label(40, 0.8)),
    (6, zipf(200, 0.5)),
    (50, zipf(1000, 0.0)),
)
for d, law in worlds:
    n, radius = int(100 / min(law)) + int(rng.integers(1, 10**6)), float(rng.uniform(0.5, 3.0))
    # Gaussian columns of variance p_l/d: a formula that simulation confirms to a few per cent.
    expected = radius * spectral_norm(d, np.array(law)) / math.sqrt(d * n)
    assert 0.4 < uneven_rate(n, d, law, radius) / expected < 2.5, (
        "For some label law your rate is not within a factor of 2.5 of the average: how long are "
        "the columns of V?"
    )

# %% [raw]
# question = "open"
# title = "what may one write?"
# manual = true
# points = 0
# goal = "what a missing condition protects, a proof or learning itself"
# minutes = 25

# %% [markdown]
# A referee report on a paper that cites Theorem 4 and Appendix C says: *"The trace norm learns from
# missing labels at the rate $1/\sqrt{nL}$, and by the lower bound of Appendix C.2 the Frobenius
# norm cannot do better than $1/\sqrt n$ in excess risk. We should use the trace norm whenever $L$
# is large."*
#
# In about 15 lines: (i) correct what is wrong, with a number of yours for each correction; (ii) say
# whether the missing condition of Question 5 protects only a proof, or learning itself. For this,
# think of the warm-up with $L$ labels instead of one: $d=1$, each label its own $z_l\in[-1,1]$,
# radius $\sqrt L$, the loss clipped to $[-1,1]$, signal $\mu=\sqrt{L/n}$; (iii) list what you would
# look at in a data set before you quote Theorem 4 for it.

# %% [markdown] tags=["solution"]
# *An answer.* (i) Appendix C.2 bounds the generalisation gap; in its world every $Z$ has risk zero
# and the excess is 0 (Question 1). The sentence can be rescued by the planted world, where the
# Frobenius ball pays $0.3003/\sqrt n$ in excess risk (Question 3). The rate $1/\sqrt{nL}$ needs
# $L\le d$: at fixed $d$ the average stops falling at $1/\sqrt{nd}$ (Questions 4 and 5). It also
# needs labels that are seen about equally often: one label with a share of 80 per cent leaves nine
# tenths of Theorem 3 (Question 7). "Whenever $L$ is large" is thus wrong twice. Theorem 4 with high
# probability has a further term $\sqrt{\log(1/\delta)/n}$ which, for a bounded radius, is larger
# than $1/\sqrt{nL}$.
#
# (ii) Learning itself. Label $l$ has about $n/L$ points, so its $u=\mu\sqrt{n/L}=1$ and the warm-up
# gives the excess $2\mu\,\Phi(-1)=0.317\sqrt{L/n}$, the radius $\sqrt L$ leaving each label free.
# Theorem 4's right-hand side without the condition would be of order $\sqrt L/\sqrt{nL}=1/\sqrt n$
# (and so is its second term, since the loss is bounded by one). The ratio grows like $\sqrt L$: the
# statement about excess risk is false for $L>d$, not only unproved.
# (`leml_theory.predictions.clipped_excess` computes it exactly.)
#
# (iii) $L$ against $d$, better against the effective dimension $E|x|^2/|E\,xx^T|$, since
# features are rarely isotropic; whether features are centred (counts and frequencies are not); the
# largest share of a label; points per label; the scale of $x$; what the loss and its range are; and
# whether gap or excess is what one measures.
#
# *Marking guide (5 points).* (i) 2: gap is not excess, with the zero of Question 1 (1); the
# condition $L\le d$ with a measured number, or uneven labels, or the second term (1). (ii) 2:
# "learning itself", with $n/L$ points per label (1); the comparison with what the theorem would say
# at that radius (1). (iii) 1: three relevant items with their reasons. An answer that calls the gap
# "excess" anywhere gets at most 3.
