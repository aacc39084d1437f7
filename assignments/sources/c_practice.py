# %% [raw]
# title = "Does it matter in practice?"
# points = 20

# %% [markdown]
# # Does it matter in practice?
#
# A bound compares two numbers that nobody has computed yet: the risk of the *exact* minimiser over
# one ball, and over another. To test it you need minimisers that are proved to be minimisers, risks
# that are not measured on the training sample, and data that meet the assumptions. This assignment
# builds all three.
#
# **Learning goals.** When you are done you can
#
# 1. prove, from one matrix of residuals, that no point of a ball does better than a given number;
# 2. minimise over the trace ball with nothing but leading singular vectors, and say how far from
#    the minimum you are;
# 3. compare two estimators with a paired standard error and an exact population risk;
# 4. say when the closed form of CPLST *is* the low-rank least-squares fit, and build a case where
#    two correct programs return different matrices;
# 5. check a printed derivative before you use it, and do half a step of LEML with missing labels;
# 6. read off a data set which bound applies to it and how much it can promise.
#
# **Notation.** $X$ is $n \times d$ with one point per row, $Y$ is $n \times L$, and `NaN` in $Y$ is
# a label that was not observed; $\Omega$ is the set of observed entries. $Z$ is $d \times L$ and
# predicts $f_{il} = \langle x_i, z_l\rangle$. $|Z|_{tr}$ is the sum of the singular values of $Z$,
# $|Z|_2$ the largest of them, $|Z|_F$ the Frobenius norm. The squared loss is $\tfrac12 (y -
# f)^2$, *with* the half; an **objective is a sum** over $\Omega$, a **risk an average**.
#
# Use the package as much as you like to solve, measure and check; where a question asks for a
# formula, derive it.

# %% tags=["setup"]
import os
import textwrap

import matplotlib.pyplot as plt
import numpy as np

from leml_solver import (
    LOSSES,
    FrobeniusBall,
    Problem,
    Squared,
    TraceBall,
    certify,
    dual_bound,
    minimise,
)
from leml_solver.algorithms import low_rank_least_squares
from leml_solver.datasets import load_dataset
from leml_theory.diagnose import diagnose
from leml_theory.plots import describe_axes
from leml_theory.plots.style import LOOKS, picture_style
from leml_theory.risk import minimum_risk, population_risk
from paper_checks.cplst import cplst_report, squared_error
from simulations import (
    AnisotropicGaussian,
    IsotropicGaussian,
    LinearLabels,
    LogisticLabels,
    NonNegative,
    RademacherVectors,
    Scenario,
    UniformLabels,
    low_rank_coefficients,
    shared_coefficients,
)

plt.ion()  # figures appear when their cell ends, also after the style was changed for one


def small_data(n, n_features, n_labels, *, missing, rng):
    """Draw features and noisy labels of rank two, of which a share `missing` is NaN."""
    X = rng.normal(size=(n, n_features))
    Z = low_rank_coefficients(n_features, n_labels, 2, rng) / np.sqrt(n_features)
    Y = X @ Z + rng.normal(size=(n, n_labels))
    Y[rng.random(Y.shape) < missing] = np.nan
    return X, Y


def signs_of(Y):
    """Turn real labels into -1 and +1; NaN stays NaN."""
    return np.where(np.isnan(Y), np.nan, np.where(Y > 0, 1.0, -1.0))


def problem_of(sample):
    """Return the empirical risk of a simulated sample, its weights included."""
    return sample.problem(Squared())


def w_step(X, Y, H, penalty):
    """Minimise the LEML objective over W for fixed H: ridge with the points h_l (x) x_i."""
    rows, columns = np.nonzero(~np.isnan(Y))
    design = np.einsum("ek,ed->ekd", H[columns], X[rows]).reshape(rows.size, -1)
    normal = design.T @ design + penalty * np.eye(design.shape[1])
    w = np.linalg.solve(normal, design.T @ Y[rows, columns])
    return w.reshape(H.shape[1], X.shape[1]).T


def observed_labels(features, n_labels, labels_per_point, n, rng):
    """Draw n points and 0/1 labels of rank one, all NaN but `labels_per_point` of each point."""
    labels = LogisticLabels(low_rank_coefficients(features.n_features, n_labels, 1, rng))
    sample = Scenario(features, labels, UniformLabels(n_labels, labels_per_point)).sample(n, rng)
    Y = np.full((n, n_labels), np.nan)
    Y[sample.rows, sample.columns] = sample.values
    return sample.X, Y


# %% [markdown]
# ## Warm-up (worked): what a certificate says
#
# `minimise` solves $\min_{|Z|_{tr} \le r} \sum_{\Omega} \tfrac12 (y_{il} - f_{il})^2$. It returns
# a feasible $Z$ and a `Certificate`: the objective *at that* $Z$, and a lower bound that holds for
# every point of the ball. Both come from the data alone, so you need not trust the algorithm.
# Below, three radii, and beside each minimiser a point that somebody guessed: least squares with
# zeros for the missing labels, projected onto the ball.

# %%
X, Y = small_data(60, 8, 6, missing=0.5, rng=np.random.default_rng(0))
problem = Problem.from_dense(Squared(), X, Y)
print(f"{problem.values.size} of {Y.size} labels observed; objective at 0: {problem.scale:.3f}\n")
print("radius  who        objective  lower bound  relative gap  rank of Z")
for radius in (0.5, 2.0, 4.0):
    ball = TraceBall(radius)
    guess = ball.project(np.linalg.lstsq(X, np.nan_to_num(Y), rcond=None)[0])
    for who, Z in (("minimise", minimise(problem, ball, tol=1e-9).Z), ("guess", guess)):
        says = certify(problem, ball, Z)
        print(
            f"{radius:6.1f}  {who:9} {says.objective:10.4f} {says.lower_bound:12.4f}"
            f" {says.relative_gap:13.1e} {np.linalg.matrix_rank(Z, tol=1e-6):10d}"
        )

# %% [markdown]
# The minimiser's two numbers agree to nine digits: the minimum is known. The guess has a gap: its
# certificate does not say that the guess is bad, it says how bad it can be *at most*. Note the
# rank: the corners of the trace ball are the rank-one matrices, and a small ball has its minimum
# near one.

# %% [raw]
# question = "q1"
# title = "prove that nobody can do better"
# points = 3
# goal = "weak duality with missing labels; a lower bound from residuals, and its best multiple"
# minutes = 30

# %% [markdown]
# For any numbers $y$, $f$ and $\rho$,
# $$\tfrac12 (y - f)^2 \;\ge\; \rho\,(y - f) - \tfrac12 \rho^2,
# \qquad\text{with equality iff } \rho = y - f.$$
# Sum this over $\Omega$, with one number $\rho_{il}$ for each entry, and make the right-hand side
# as small as a $Z$ of the ball can make it. The ball is
# the **trace ball**, $|Z|_{tr} \le r$. <!-- 1 of 2 -->
# the **Frobenius ball**, $|Z|_F \le r$. <!-- 2 of 2 -->
# What is left does not depend on $Z$: a lower bound on the minimum, for *every* choice of
# $R = (\rho_{il})$. (Which norm is dual to that of the ball?)
#
# 1. Write `lower_bound`. $R$ may hold anything, `NaN` too, where $Y$ is missing.
# 2. A bad $R$ can be improved by its length alone. Write `best_multiple`: the $t \ge 0$ for which
#    $tR$ gives the largest bound, and that bound. It is a parabola in $t$, so no search is needed.


# %% tags=["solution"]
def lower_bound(X, Y, R, radius):
    """Return a number that no Z of the ball gets below.

    Parameters
    ----------
    X : (n, d) array
    Y : (n, L) array, NaN where a label is missing
    R : (n, L) array, one number per entry; what stands at missing labels must not matter
    radius : float

    Returns
    -------
    float, on the scale of the objective (a sum, squared loss with its half)
    """
    seen = ~np.isnan(Y)
    rho, y = np.where(seen, R, 0.0), np.where(seen, Y, 0.0)
    norm = np.linalg.norm(X.T @ rho, 2)  # dual to the trace norm  # variant 1 of 2
    norm = np.linalg.norm(X.T @ rho)  # the Frobenius norm is its own dual  # variant 2 of 2
    return float(np.sum(rho * y - 0.5 * rho**2) - radius * norm)


def best_multiple(X, Y, R, radius):
    """Return (t, bound): the best multiple t >= 0 of R, and the lower bound of t R."""
    seen = ~np.isnan(Y)
    rho, square = np.where(seen, R, 0.0), np.sum(R[seen] ** 2)
    slope = lower_bound(X, Y, rho, radius) + 0.5 * square  # t a - t^2 b/2 at t = 1, and b/2
    t = max(0.0, float(slope / square))
    return t, lower_bound(X, Y, t * rho, radius)


# %% tags=["demonstration"]
def show_q1():
    """Print what the answer finds."""
    ball = TraceBall(2.0)  # variant 1 of 2
    ball = FrobeniusBall(2.0)  # variant 2 of 2
    Z = minimise(problem, ball, tol=1e-9).Z
    for name, R in (("residuals at the minimiser", Y - X @ Z), ("residuals at 0", Y)):
        t, bound = best_multiple(X, Y, R, ball.radius)
        plain = lower_bound(X, Y, R, ball.radius)
        print(f"{name:27} plain {plain:9.4f}   best multiple t = {t:.4f}: {bound:9.4f}")
    print(f"{'objective at the minimiser':27} {problem.objective(Z):15.4f}")


show_q1()

# %% [markdown] tags=["solution"]
# *Derivation.* $\sum_\Omega \rho f = \langle X^T R_\Omega, Z\rangle \le r\,|X^T R_\Omega|_*$, with
# the dual norm: the spectral norm for the trace ball, the Frobenius norm for the Frobenius ball.
# $R_\Omega$, which is zero outside $\Omega$, makes the missing labels drop out. So
# $$\min \ge \sum_\Omega (\rho y - \tfrac12\rho^2) - r\,|X^T R_\Omega|_* .$$
# For $tR$ this is $t\,a - \tfrac12 t^2 b$ with $a = \sum_\Omega \rho y - r|X^T R_\Omega|_*$ and
# $b = \sum_\Omega \rho^2$: best at $t = \max(0, a)/b$, where it is $\max(0, a)^2/(2b)$. At the
# minimiser $\rho = y - f$ is the right answer and $t = 1$.

# %% test="q1 one entry" points=0.5 hidden=false
one = np.ones((1, 1))
got = lower_bound(one, 3 * one, 1.5 * one, 1.0)
assert np.isclose(got, 1.875), (
    "With one entry you can do it by hand: x = 1, y = 3, rho = 1.5, r = 1."
)
assert np.isclose(best_multiple(one, 3 * one, one, 1.0)[1], 2.0), (
    "With one entry the best multiple reaches the minimum, (3 - 1)^2 / 2."
)

# %% test="q1 missing labels" points=1 hidden=true
Ball = (TraceBall, FrobeniusBall)[TERM % 2]
for seed, missing, radius in ((101, 0.0, 1.0), (102, 0.6, 1.5), (103, 0.7, 0.4)):
    rng = np.random.default_rng([TERM, seed])
    X, Y = small_data(30, int(rng.integers(4, 9)), 5, missing=missing, rng=rng)
    problem, ball = Problem.from_dense(Squared(), X, Y), Ball(radius)
    answer = minimise(problem, ball, tol=1e-9)
    R = Y - 0.8 * X @ answer.Z
    got, other = (lower_bound(X, Y, np.where(np.isnan(Y), x, R), radius) for x in (np.nan, 50.0))
    assert np.isclose(got, other), (
        "The bound depends on what R holds at labels that nobody observed."
    )
    # A point of the ball has this objective; 1e-9 of it is rounding.
    assert got <= answer.certificate.objective * (1 + 1e-9), (
        "That is above the objective of a point of the ball, so it is no lower bound."
    )
    u = -R[problem.rows, problem.columns]
    expected = -np.sum(problem.loss.conjugate(problem.values, u))
    expected -= radius * ball.dual_norm(problem.adjoint(u))
    # Sums of at most 150 terms of order one: rounding is below 1e-12.
    assert np.isclose(got, expected, rtol=1e-9), (
        "A bound, but not the one of the derivation: check the half, the dual norm, sum or mean."
    )

# %% test="q1 tight at the minimiser" points=0.5 hidden=true
Ball = (TraceBall, FrobeniusBall)[TERM % 2]
for seed, radius in ((111, 0.3), (112, 2.0)):
    X, Y = small_data(50, 7, 6, missing=0.5, rng=np.random.default_rng([TERM, seed]))
    problem, ball = Problem.from_dense(Squared(), X, Y), Ball(radius)
    answer = minimise(problem, ball, tol=1e-9)
    bound = lower_bound(X, Y, Y - X @ answer.Z, radius)
    # The solver stops at 1e-9 of the scale by a bound that is this one up to its multiple t.
    assert abs(answer.certificate.objective - bound) <= 1e-6 * answer.certificate.scale, (
        "At the residuals of the minimiser the bound should meet the objective, and does not."
    )

# %% test="q1 best multiple" points=1 hidden=true
Ball = (TraceBall, FrobeniusBall)[TERM % 2]
for seed, missing, factor in ((121, 0.5, 0.6), (122, 0.3, 1.7), (123, 0.6, 4.0)):
    X, Y = small_data(40, 6, 5, missing=missing, rng=np.random.default_rng([TERM, seed]))
    problem, ball = Problem.from_dense(Squared(), X, Y), Ball(1.0)
    R = Y - X @ minimise(problem, ball, tol=1e-9).Z + 0.2 * np.nan_to_num(Y)
    t, bound = best_multiple(X, Y, np.where(np.isnan(Y), 50.0, factor * R), 1.0)
    best = dual_bound(problem, ball, -R[problem.rows, problem.columns])
    # `dual_bound` looks for the same t and rounds its bound down, by far less than 1e-6. A mistake
    # in `lower_bound` is counted once: then the best multiple of the student's own bound will do.
    own = [lower_bound(X, Y, t * s * factor * R, 1.0) for s in (0.98, 1.0, 1.02)]
    follows = np.isclose(bound, own[1]) and own[0] < own[1] > own[2]
    assert follows or np.isclose(bound, best, rtol=1e-6), (
        "Another multiple of R gives a larger bound."
    )
    t_before, _ = best_multiple(X, Y, R, 1.0)
    assert np.isclose(t * factor, t_before, rtol=1e-9), "t R should not depend on the length of R."
    t, bound = best_multiple(X, Y, -R, 1.0)
    assert (t, bound) == (0, 0), "For a hopeless R the best multiple is not below zero."

# %% [raw]
# question = "q2"
# title = "walk from corner to corner"
# points = 3
# goal = "linear minimisation over the trace ball; the Frank-Wolfe gap as a free certificate"
# minutes = 30

# %% [markdown]
# Let $F(Z) = \sum_\Omega \tfrac12 (y_{il} - \langle x_i, z_l\rangle)^2$ and $G$ its gradient at
# $Z$. One step of Frank and Wolfe goes from $Z$ towards the point $S$ of the ball that minimises
# $\langle G, S\rangle$, as far as $F$ falls:
# $$Z_{next} = Z + t\,(S - Z), \qquad t = \arg\min_{0 \le t \le 1} F(Z + t (S - Z)).$$
# $S$ is a corner of the ball, so one pair of singular vectors is all a step needs. And the number
# $g = \langle G, Z - S\rangle$ is never below $F(Z) - \min F$ (why?): the step brings its own
# certificate. Write `frank_wolfe_step`, with the exact $t$.


# %% tags=["solution"]
def frank_wolfe_step(X, Y, Z, radius):
    """Return (Z_next, gap): the next point, and the gap <G, Z - S> at the old one.

    Parameters
    ----------
    X : (n, d) array
    Y : (n, L) array, NaN where a label is missing
    Z : (d, L) array of trace norm at most `radius`
    radius : float
    """
    seen = ~np.isnan(Y)
    G = X.T @ np.where(seen, X @ Z - Y, 0.0)
    left, _, right = np.linalg.svd(G, full_matrices=False)
    S = -radius * np.outer(left[:, 0], right[0])
    gap = float(np.sum(G * (Z - S)))
    bend = np.sum(np.where(seen, X @ (S - Z), 0.0) ** 2)
    t = 1.0 if gap >= bend else max(0.0, gap / bend)
    return Z + t * (S - Z), gap


# %% tags=["demonstration"]
def show_q2():
    """Print what the answer finds."""
    X, Y = small_data(60, 8, 6, missing=0.5, rng=np.random.default_rng(0))
    problem, ball, Z = Problem.from_dense(Squared(), X, Y), TraceBall(2.0), np.zeros((8, 6))
    least = minimise(problem, ball, tol=1e-9).certificate.lower_bound
    print("step  F(Z) - min F   promised by the gap  rank of Z")
    for step in range(65):
        Z_next, gap = frank_wolfe_step(X, Y, Z, ball.radius)
        if step in (0, 1, 2, 4, 8, 16, 32, 64):
            rank = np.linalg.matrix_rank(Z)
            print(f"{step:4d} {problem.objective(Z) - least:13.5f} {gap:20.5f} {rank:10d}")
        Z = Z_next


show_q2()

# %% [markdown] tags=["solution"]
# *Why.* $F$ is convex, so $F(Z') \ge F(Z) + \langle G, Z' - Z\rangle \ge F(Z) - g$ for every $Z'$
# of the ball. It is Question 1 again: the bound of the residuals at $Z$ is exactly $F(Z) - g$.
# Along the segment $F$ is a parabola with slope $-g$ and curvature $\sum_\Omega \langle x_i, s_l -
# z_l\rangle^2$. The gap shrinks like one over the number of steps: good for a rough answer of low
# rank, slow for nine digits.

# %% test="q2 downhill" points=0.5 hidden=false
X, Y = small_data(25, 4, 3, missing=0.0, rng=np.random.default_rng(5))
problem = Problem.from_dense(Squared(), X, Y)
Z, gap = frank_wolfe_step(X, Y, np.zeros((4, 3)), 1.0)
assert np.shape(Z) == (4, 3), "Z_next should have the shape of Z."
assert np.ndim(gap) == 0, "The gap should be one number."
assert problem.objective(Z) < problem.scale, "The objective did not fall on the first step from 0."
assert np.linalg.matrix_rank(Z) == 1, "One step from 0 should end at a matrix of rank one."

# %% test="q2 gap" points=1 hidden=true
for seed, missing, radius in ((201, 0.0, 1.0), (202, 0.6, 2.0), (203, 0.4, 0.3)):
    rng = np.random.default_rng([TERM, seed])
    d = int(rng.integers(3, 9))
    X, Y = small_data(40, d, 5, missing=missing, rng=rng)
    problem, ball = Problem.from_dense(Squared(), X, Y), TraceBall(radius)
    Z = ball.project(rng.normal(size=(d, 5)))
    _, gap = frank_wolfe_step(X, Y, Z, radius)
    least = minimise(problem, ball, tol=1e-9).certificate.lower_bound
    # 1e-9 of the scale is the solver's own gap.
    assert gap >= problem.objective(Z) - least - 1e-9 * problem.scale, (
        "The gap is smaller than the distance to the minimum: it certifies nothing."
    )
    G = problem.gradient(Z)
    expected = np.sum(G * (Z - ball.linear_minimiser(G)))
    assert np.isclose(gap, expected, rtol=1e-9), (  # rounding
        "Not the gap: check which entries the gradient sums over, and that S is a best corner."
    )

# %% test="q2 exact step" points=1 hidden=true
for seed, missing, radius in ((211, 0.0, 3.0), (212, 0.6, 6.0), (213, 0.5, 4.0)):
    rng = np.random.default_rng([TERM, seed])
    X, Y = small_data(45, 6, 5, missing=missing, rng=rng)
    problem, ball = Problem.from_dense(Squared(), X, Y), TraceBall(radius)
    Z = ball.project(rng.normal(size=(6, 5)))
    Z_next, _ = frank_wolfe_step(X, Y, Z, radius)
    S = ball.linear_minimiser(problem.gradient(Z))
    start, middle, end = (problem.objective(Z + t * (S - Z)) for t in (0.0, 0.5, 1.0))
    # Three points determine the parabola, and so its lowest point, to rounding.
    slope, bend = 4 * middle - 3 * start - end, 4 * (start - 2 * middle + end)
    t = min(1.0, -slope / bend)
    least = problem.objective(Z + t * (S - Z))
    assert problem.objective(Z_next) <= least + 1e-9 * problem.scale, (
        "Another point of the segment from Z to S has a smaller objective."
    )
    assert np.allclose(Z_next, Z + t * (S - Z), atol=1e-6), (
        "Z_next is not a point between Z and the best corner of the ball."
    )

# %% test="q2 many steps" points=0.5 hidden=true
X, Y = small_data(50, 5, 6, missing=0.5, rng=np.random.default_rng([TERM, 221]))
problem = Problem.from_dense(Squared(), X, Y)
for radius in (0.05, 3.0):
    ball, Z, gaps = TraceBall(radius), np.zeros((5, 6)), []
    for _ in range(40):
        Z_next, gap = frank_wolfe_step(X, Y, Z, radius)
        gaps.append(gap)
        if gap <= 1e-9 * problem.scale:
            break  # a corner is the minimiser, and what is left is rounding
        fall = problem.objective(Z) - problem.objective(Z_next)
        assert fall >= -1e-9 * problem.scale, "One of forty steps went uphill."
        Z = Z_next
        assert ball.norm(Z) <= radius * (1 + 1e-9), "After a few steps Z is outside the ball."
    least = minimise(problem, ball, tol=1e-9).certificate.lower_bound
    # 1e-9 of the scale is the solver's own gap.
    assert problem.objective(Z) - least <= min(gaps) + 1e-9 * problem.scale, (
        "Forty steps end above the minimum by more than the smallest gap promised."
    )
    # Jaggi's rate: after k steps some gap is below 7 F''/(k + 2), F'' <= 4 r^2 |X|^2.
    limit = 28 * radius**2 * np.linalg.norm(X, 2) ** 2 / 42
    assert min(gaps) <= limit, "Forty steps hardly reduce the gap: is the corner the best one?"

# %% [markdown]
# ## A picture (given)
#
# `draw_excess` draws what Question 3 measures, when you have it.


# %%
def draw_excess(sizes, results, oracle):
    """Draw the excess risks of both balls against n, with bars of two standard errors."""
    with picture_style():
        _, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
        for key in ("frobenius", "trace"):
            look, values = LOOKS[key], np.array([result[key] for result in results])
            error = 2 * values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
            bars = {"yerr": error, "linestyle": look.line, "capsize": 2.5, **look.marks()}
            ax.errorbar(sizes, values.mean(axis=1), label=f"{look.name} ball", **bars)
        look = LOOKS["pooled"]
        ax.plot(
            sizes, oracle, linestyle=look.line, label="pooled: knows that Z* = z1ᵀ", **look.marks()
        )
        ax.set(xscale="log", yscale="log", xlabel="number of points n", ylabel="excess risk")
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
        ax.set_title("What sharing is worth: one predictor, 8 labels, 2 of them seen per point")
        handles, names = ax.get_legend_handles_labels()
        ax.legend([*handles[1:], handles[0]], [*names[1:], names[0]])  # as the curves lie
    return ax


# %% [raw]
# question = "q3"
# title = "one predictor for all labels"
# points = 3
# goal = "an honest comparison of the two balls - exact population risk, same samples, paired error"
# minutes = 35

# %% [markdown]
# If all labels share one predictor, $Z^\star = z 1^T$, a learner that knows it pools all $n s$
# observed labels. The trace ball of radius $|Z^\star|_{tr}$ does not know it, but matrices of low
# rank are its corners; the Frobenius ball of radius $|Z^\star|_F$ treats the labels one by one.
# How much is that worth?
#
# In a simulated world you need no test set: `population_risk(world, loss, Z)` is exact for the
# squared loss (take its `.value`), and so is `minimum_risk(world, loss, ball)`, the least risk in a
# ball (take its `.upper`). *Excess risk* is the difference of the two.
#
# Write `paired_excess`. For each of `trials` trials, draw **one** sample with `world.sample(n,
# rng)`, turn it into a `Problem` with `problem_of` (from the first cell) and fit **both** balls to
# it with `minimise(..., tol=1e-8)`. The two excess risks of a trial then share the luck of its
# sample, and the standard error of their mean difference should profit from that.
#
# To see the whole: $d = 16$, $L = 8$, $s = 2$ labels per point, `shared_coefficients`, 12 trials at
# each $n = 64, 128, \dots, 1024$, and `draw_excess(sizes, results, oracle)`, where the oracle is
# pooled least squares, whose expected excess is exactly $d/(2 s (n - d - 1))$.


# %% tags=["solution"]
def paired_excess(world, n, trials, rng):
    """Fit both balls to the same samples and compare their excess risks.

    Parameters
    ----------
    world : Scenario
        With linear labels; `world.labels.Z` is the true Z. The radius of each ball is the norm of
        the true Z, the ball's own norm (`TraceBall(1.0).norm`, `FrobeniusBall(1.0).norm`).
    n, trials : int
        Points per sample, and number of samples.
    rng : Generator
        `world.sample(n, rng)` is drawn once per trial, and nothing else.

    Returns
    -------
    dict with
        "trace", "frobenius" : (trials,) arrays, the excess risks
        "advantage" : float, mean of Frobenius minus trace
        "stderr" : float, standard error of that mean
    """
    balls = [kind(kind(1.0).norm(world.labels.Z)) for kind in (TraceBall, FrobeniusBall)]
    least = [minimum_risk(world, Squared(), ball).upper for ball in balls]
    risks = []
    for _ in range(trials):
        problem = problem_of(world.sample(n, rng))
        fits = [minimise(problem, ball, tol=1e-8).Z for ball in balls]
        risks.append([population_risk(world, Squared(), Z).value for Z in fits])
    trace, frobenius = (np.array(risks) - least).T
    gain = frobenius - trace
    return {
        "trace": trace,
        "frobenius": frobenius,
        "advantage": float(gain.mean()),
        "stderr": float(gain.std(ddof=1) / np.sqrt(trials)),
    }


# %% tags=["demonstration"]
def show_q3():
    """Print what the answer finds."""
    d, L, s, rng = 16, 8, 2, np.random.default_rng(3)
    truth = LinearLabels(shared_coefficients(d, L, rng))
    world = Scenario(IsotropicGaussian(d), truth, UniformLabels(L, s))
    sizes = np.array([64, 128, 256, 512, 1024])
    results = [paired_excess(world, n, 12, rng) for n in sizes]
    # Least squares on all n s labels at once has this expected excess, exactly.
    draw_excess(sizes, results, d / (2 * s * (sizes - d - 1)))
    for n, result in zip(sizes, results, strict=True):
        apart = [np.std(result[key], ddof=1) / np.sqrt(12) for key in ("trace", "frobenius")]
        print(
            f"n = {n:5d}  advantage {result['advantage']:.4f} +- {result['stderr']:.4f} paired,"
            f" +- {np.hypot(*apart):.4f} as if the samples were different"
        )


show_q3()

# %% [markdown] tags=["solution"]
# *What you see.* The trace ball lies between the two others and gains a factor, not another slope:
# for a fixed truth both excess risks fall like $1/n$ once there is enough to learn from, faster
# than the $1/\sqrt n$ of the bounds, which are about the worst truth for each $n$. The paired
# error is a half to two thirds of the other: worth two to four times as many trials, for nothing.

# %% test="q3 shapes" points=0.5 hidden=false
rng = np.random.default_rng(31)
world = Scenario(
    IsotropicGaussian(6), LinearLabels(shared_coefficients(6, 4, rng)), UniformLabels(4, 2)
)
found = paired_excess(world, 60, 4, rng)
assert set(found) == {"trace", "frobenius", "advantage", "stderr"}, "Return these four keys."
for key in ("trace", "frobenius"):
    assert np.shape(found[key]) == (4,), f"'{key}' should hold one number per trial."
    assert np.min(found[key]) > 0, f"'{key}': no point of the ball has an excess risk below zero."
assert np.isfinite([found["advantage"], found["stderr"]]).all(), "Two finite numbers are needed."

# %% test="q3 excess risks" points=1 hidden=true
rng = np.random.default_rng([TERM, 301])
world = Scenario(
    IsotropicGaussian(8),
    LinearLabels(shared_coefficients(8, 6, rng)),
    UniformLabels(6, 1 + TERM % 3),
)
found = paired_excess(world, 150, 5, np.random.default_rng([TERM, 302]))
again = paired_excess(world, 150, 5, np.random.default_rng([TERM, 303]))
assert not np.allclose(found["trace"], again["trace"]), (
    "Two generators gave the same excess risks: where do your samples come from?"
)
rng = np.random.default_rng([TERM, 302])
problems = [problem_of(world.sample(150, rng)) for _ in range(5)]
for key, kind in (("trace", TraceBall), ("frobenius", FrobeniusBall)):
    ball = kind(kind(1.0).norm(world.labels.Z))
    least = minimum_risk(world, Squared(), ball).upper
    fits = [minimise(problem, ball, tol=1e-9).Z for problem in problems]
    expected = [population_risk(world, Squared(), Z).value - least for Z in fits]
    # Two points within a gap of 1e-8 of the scale have predictions within sqrt(2e-8) of each other.
    assert np.allclose(found[key], expected, atol=3e-4), (
        f"'{key}': not the excess risks of the minimisers on the samples drawn from `rng`, "
        "one sample per trial: check the radius, the risk, and what is subtracted."
    )

# %% test="q3 paired error" points=1 hidden=true
rng = np.random.default_rng([TERM, 311])
world = Scenario(
    IsotropicGaussian(10), LinearLabels(shared_coefficients(10, 5, rng)), UniformLabels(5, 2)
)
found = paired_excess(world, 60, 8, np.random.default_rng([TERM, 312]))
rng, gains = np.random.default_rng([TERM, 312]), []
for _ in range(8):
    problem, risks = problem_of(world.sample(60, rng)), []
    for kind in (FrobeniusBall, TraceBall):
        fit = minimise(problem, kind(kind(1.0).norm(world.labels.Z)), tol=1e-9)
        risks.append(population_risk(world, Squared(), fit.Z).value)
    gains.append(risks[0] - risks[1])
# Each risk is known to about 3e-4, as above.
assert np.isclose(found["advantage"], np.mean(gains), atol=3e-4), (
    "The advantage is not the mean difference on common samples (Frobenius minus trace)."
)
expected = np.std(gains, ddof=1) / np.sqrt(8)
assert np.isclose(found["stderr"], expected, rtol=0.02), (
    "Not the standard error of that mean: which spread is it made of, and over how many trials?"
)

# %% test="q3 other worlds" points=0.5 hidden=true
rng = np.random.default_rng([TERM, 321])
laws = (RademacherVectors(6), AnisotropicGaussian(tuple(1 / np.arange(1, 7))))
for law, seen in zip(laws, (UniformLabels(5, 2), UniformLabels(4, 3, replace=True)), strict=True):
    Z = low_rank_coefficients(6, seen.n_labels, 2, rng)
    world = Scenario(law, LinearLabels(Z, noise=0.5), seen)
    found = paired_excess(world, 100, 3, np.random.default_rng([TERM, 322]))
    sampler = np.random.default_rng([TERM, 322])
    problems = [problem_of(world.sample(100, sampler)) for _ in range(3)]
    for key, kind in (("trace", TraceBall), ("frobenius", FrobeniusBall)):
        ball = kind(kind(1.0).norm(Z))
        least = minimum_risk(world, Squared(), ball).upper
        fits = [minimise(problem, ball, tol=1e-9).Z for problem in problems]
        expected = [population_risk(world, Squared(), Z).value - least for Z in fits]
        assert np.allclose(found[key], expected, atol=3e-4), (  # as above
            "Wrong in a world of another law, of rank two, or with labels drawn with replacement."
        )

# %% [raw]
# question = "q4"
# title = "closed forms, and two right answers"
# points = 3
# goal = "Claims 1 and 2 - the closed form, what an intercept changes, and where uniqueness fails"
# minutes = 30

# %% [markdown]
# Claim 1: with $X = U \Sigma V^T$ (positive singular values only) and $M = U^T Y$, the matrix $V
# \Sigma^{-1} M_k$ minimises $|Y - XZ|_F^2$ over $\mathrm{rank}(Z) \le k$, where $M_k$ keeps the
# $k$ largest singular values. Claim 2: CPLST gives the same matrix. `cplst_report(X, Y, rank)`
# checks both on any data. Two things the claims do not say:
#
# 1. **An intercept.** CPLST as its authors define it centres the labels; the claims do not. What
#    one wants is the minimum of $|Y - XZ - 1b^T|_F^2$ over $\mathrm{rank}(Z) \le k$ *and* $b$.
#    Write `fit_with_intercept`. (Neither labels nor features are centred.)
# 2. **Uniqueness.** Write `two_minimisers`: data whose $X$ has full column rank, and two different
#    matrices of rank at most $k$ that both reach the minimum, so that two correct programs may
#    disagree. (What would $M_k$ have to be unsure about?)


# %% tags=["solution"]
def fit_with_intercept(X, Y, rank):
    """Return (Z, b), the minimiser of |Y - X Z - 1 b^T|^2 over rank(Z) <= rank and b.

    Parameters
    ----------
    X : (n, d) array
    Y : (n, L) array, no label missing
    rank : int

    Returns
    -------
    Z : (d, L) array
    b : (L,) array
    """
    x_mean, y_mean = X.mean(axis=0), Y.mean(axis=0)
    Z = low_rank_least_squares(X - x_mean, Y - y_mean, rank)
    return Z, y_mean - x_mean @ Z


def two_minimisers(n, n_features, n_labels, rank):
    """Return (X, Y, Z_1, Z_2): data, and two minimisers of |Y - X Z| over rank(Z) <= rank.

    X (n, n_features) has full column rank, n >= n_features, and 1 <= rank < min(n_features,
    n_labels). The two differ clearly: |Z_1 - Z_2|_F is at least a tenth of |Z_1|_F > 0.
    """
    X, M = np.eye(n, n_features), np.eye(n_features, n_labels)
    kept = np.arange(min(n_features, n_labels))
    Z_1, Z_2 = np.zeros_like(M), np.zeros_like(M)
    Z_1[kept[:rank], kept[:rank]] = 1.0
    Z_2[kept[1 : rank + 1], kept[1 : rank + 1]] = 1.0
    return X, X @ M, Z_1, Z_2


# %% tags=["demonstration"]
def show_q4():
    """Print what the answer finds."""
    rng = np.random.default_rng(4)
    X, Y = small_data(80, 6, 5, missing=0.0, rng=rng)
    X, Y = X + 2.0, Y + 3.0
    Z, b = fit_with_intercept(X, Y, 2)
    print(f"no centring (Claims 1, 2)  {cplst_report(X, Y, 2).objective:9.2f}")
    print(f"labels centred (CPLST)     {cplst_report(X, Y, 2).centred_objective:9.2f}")
    print(f"intercept                  {np.sum((Y - X @ Z - b) ** 2):9.2f}\n")
    X, Y, Z_1, Z_2 = two_minimisers(6, 4, 5, 2)
    print(f"two minimisers: {squared_error(X, Y, Z_1):g} and {squared_error(X, Y, Z_2):g}")
    print("\n".join(cplst_report(X, Y, 2).remarks))


show_q4()

# %% [markdown] tags=["solution"]
# *Why.* For fixed $Z$ the best $b$ is $\bar y - Z^T \bar x$; put it in, and the problem is Claim 1
# for $X - 1\bar x^T$ and $Y - 1\bar y^T$. Centring the labels alone is enough only if $\bar x =
# 0$. And if $\sigma_k = \sigma_{k+1}$, the pair that $M_k$ keeps can be turned into the pair that
# it drops: the minimum is one number, the minimiser is not one matrix.

# %% test="q4 centred data" points=0.5 hidden=false
X, Y = small_data(30, 5, 4, missing=0.0, rng=np.random.default_rng(41))
X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
report = cplst_report(X, Y, 2)
Z, b = fit_with_intercept(X, Y, 2)
assert (np.shape(Z), np.shape(b)) == ((5, 4), (4,)), "Z should be (d, L), b (L,)."
assert abs(squared_error(X, Y, Z) - report.minimum) <= report.objective_tolerance, (
    "On centred data no intercept is needed, and Z should reach the minimum of Claim 1."
)

# %% test="q4 intercept" points=1 hidden=true
for seed, rank, shift in ((401, 1, 1.0), (402, 2, -3.0), (403, 3, 0.5)):
    rng = np.random.default_rng([TERM, seed])
    X, Y = small_data(50, 7, 5, missing=0.0, rng=rng)
    X, Y = X + shift * rng.normal(size=7), Y + 2 * shift * rng.normal(size=5)
    Z, b = fit_with_intercept(X, Y, rank)
    assert np.linalg.matrix_rank(Z, tol=1e-8) <= rank, "The rank of Z is too large."
    errors = Y - X @ Z - b
    # Rounding: the errors are of order one and there are fifty per label.
    assert np.abs(errors.mean(axis=0)).max() < 1e-9, (
        "The errors of some label have a mean that is not zero: another b would do better."
    )
    report = cplst_report(X - X.mean(axis=0), Y - Y.mean(axis=0), rank)
    # The report says what rounding explains.
    assert abs(np.sum(errors**2) - report.minimum) <= 10 * report.objective_tolerance, (
        "b suits this Z, but another Z of this rank, with its own b, has a smaller squared error."
    )

# %% test="q4 more features than points" points=0.5 hidden=true
rng = np.random.default_rng([TERM, 411])
X, Y = small_data(12, 20, 6, missing=0.0, rng=rng)
X, Y = np.column_stack([X + 1.0, np.ones(12)]), Y - 2.0
Z, b = fit_with_intercept(X, Y, 2)
report = cplst_report(X - X.mean(axis=0), Y - Y.mean(axis=0), 2)
error = np.sum((Y - X @ Z - b) ** 2)
assert np.isfinite(error), (
    "Not finite where X has dependent columns: drop its zero singular values."
)
# The report says what rounding explains.
assert abs(error - report.minimum) <= 10 * report.objective_tolerance, (
    "Not the least squared error where there are more features than points."
)

# %% test="q4 two minimisers" points=1 hidden=true
for n, d, L, rank in ((6, 4, 5, 2), (9, 5, 3, 1), (7 + TERM % 4, 7, 4, 3)):
    X, Y, *pair = two_minimisers(n, d, L, rank)
    assert (np.shape(X), np.shape(Y)) == ((n, d), (n, L)), "X or Y has another shape."
    report = cplst_report(X, Y, rank)
    assert report.feature_rank == d, "X has not full column rank."
    assert np.linalg.norm(pair[0]) > 0, "The first matrix is zero."
    assert np.linalg.norm(np.subtract(*pair)) >= 0.1 * np.linalg.norm(pair[0]), (
        "The two matrices are (nearly) the same."
    )
    for Z in pair:
        assert np.linalg.matrix_rank(Z, tol=1e-8) <= rank, "A matrix has too large a rank."
        # The report says what rounding explains.
        assert abs(squared_error(X, Y, Z) - report.minimum) <= 10 * report.objective_tolerance, (
            "One of the two matrices does not reach the least squared error of this rank."
        )

# %% [raw]
# question = "q5"
# title = "never trust a printed derivative"
# points = 3
# goal = "check printed derivatives by differences; gradients of the objective with missing labels"
# minutes = 35

# %% [markdown]
# Newton's method for LEML needs the first and second derivative in $b$ of a loss $\ell(a, b)$, $a$
# the label and $b$ the prediction. Table 1 of the paper prints:
#
# | loss | $\ell(a, b)$ | first | second |
# |---|---|---|---|
# | squared | $\tfrac12 (a - b)^2$ | $b - a$ | $1$ |
# | logistic | $\log(1 + e^{-ab})$ | $-a/(1 + e^{-ab})$ | $-a^2 e^{-ab}/(1 + e^{-ab})^2$ |
# | squared hinge | $\max(0, 1 - ab)^2$ | $-2a \max(0, 1 - ab)$ | $2$ if $ab < 1$, else $0$ |
#
# with $a = \pm 1$ in the last two.
#
# 1. Check all six derivatives by central differences, and list the misprints in `misprints`:
#    strings such as `"squared first"` or `"squared_hinge second"`.
# 2. Write `table_1` with the right ones, by formulas of your own (`LOSSES` is for checking). It
#    must stay finite for $|ab|$ of several hundred.
# 3. Write `gradients`, of
#    $J(W, H) = \sum_\Omega \ell(y_{il}, x_i^T W h_l) + \tfrac{\mu}{2}(|W|_F^2 + |H|_F^2)$.

# %% tags=["solution"]
misprints = ["logistic first", "logistic second"]


def table_1(name, a, b):
    """Return (value, first, second): the loss and its two derivatives in b, entry by entry.

    Parameters
    ----------
    name : "squared", "logistic" or "squared_hinge"
    a, b : arrays of one shape, labels and predictions
    """
    if name == "squared":
        return 0.5 * (a - b) ** 2, b - a, np.ones_like(b)
    slack = np.maximum(0.0, 1 - a * b)
    if name == "squared_hinge":
        return slack**2, -2 * a * slack, np.where(a * b < 1, 2.0, 0.0)
    # exp of a number that is never positive: nothing overflows.
    small = np.exp(-np.abs(a * b))
    chance = np.where(a * b > 0, small, 1.0) / (1 + small)
    return np.logaddexp(0.0, -a * b), -a * chance, small / (1 + small) ** 2


def gradients(name, X, Y, W, H, penalty):
    """Return the gradients of J in W (d, k) and in H (L, k); NaN in Y is a missing label.

    Parameters
    ----------
    name : "squared", "logistic" or "squared_hinge"
    X : (n, d) array
    Y : (n, L) array, NaN where a label is missing
    W, H : (d, k) and (L, k) arrays
    penalty : float, mu
    """
    seen = ~np.isnan(Y)
    first = table_1(name, np.where(seen, Y, 1.0), X @ W @ H.T)[1]
    G = X.T @ np.where(seen, first, 0.0)
    return G @ H + penalty * W, G.T @ W + penalty * H


# %% tags=["demonstration"]
def show_q5():
    """Print what the answer finds."""
    a, b, h = np.array([1.0, -1.0, 1.0]), np.array([0.3, 0.9, -1.2]), 1e-4
    e = np.exp(-a * b)
    printed = -a / (1 + e), -(a**2) * e / (1 + e) ** 2
    for name in ("squared", "logistic", "squared_hinge"):
        below, at, above = (table_1(name, a, b + move)[0] for move in (-h, 0.0, h))
        differences = (above - below) / (2 * h), (above - 2 * at + below) / h**2
        shown = {"corrected": table_1(name, a, b)[1:]}
        shown |= {"printed": printed} if name == "logistic" else {}
        for which, found in shown.items():
            errors = [np.abs(x - y).max() for x, y in zip(found, differences, strict=True)]
            print(f"{name:14} {which:10} error of first {errors[0]:.0e}, of second {errors[1]:.0e}")


show_q5()

# %% [markdown] tags=["solution"]
# *What goes wrong.* The printed slope of the logistic loss is that of $-a$ times the chance of
# being *right*: it is largest where the prediction is best, so a gradient step would leave the
# good points. The printed curvature is negative, and Newton's method for a convex loss would
# climb.

# %% test="q5 squared and hinge" points=0.5 hidden=false
a, b, h = np.array([1.0, -1.0, 1.0]), np.array([0.3, 0.9, 2.5]), 1e-4
for name in ("squared", "squared_hinge"):
    low, middle, high = (table_1(name, a, b + move) for move in (-h, 0.0, h))
    assert np.allclose(middle[0], LOSSES[name].value(a, b)), f"The {name} loss itself is wrong."
    # Both losses are parabolas near these points: only rounding over h or h^2 is left.
    slope, bend = (high[0] - low[0]) / (2 * h), (high[0] - 2 * middle[0] + low[0]) / h**2
    assert np.allclose(middle[1], slope, atol=1e-6), f"{name}: first derivative is off."
    assert np.allclose(middle[2], bend, atol=1e-5), f"{name}: second derivative is off."

# %% test="q5 misprints" points=0.5 hidden=true
assert isinstance(misprints, list | tuple), "List the entries that are wrong."
wrong = {"logistic first", "logistic second"}
assert set(misprints) <= wrong, "You accuse an entry that agrees with central differences."
assert set(misprints) >= wrong, "There is another entry that central differences do not confirm."

# %% test="q5 logistic slope" points=0.5 hidden=true
rng, loss = np.random.default_rng([TERM, 501]), LOSSES["logistic"]
a, b = rng.choice([-1.0, 1.0], size=20), 3 * rng.normal(size=20)
low, middle, high = (table_1("logistic", a, b + move) for move in (-1e-4, 0.0, 1e-4))
# Rounding over the step: 1e-16 / 1e-4, and 1e-8 for the curvature of the third order.
assert np.allclose(middle[1], (high[0] - low[0]) / 2e-4, atol=1e-6), (
    "The first derivative of the logistic loss disagrees with central differences."
)
assert np.allclose(middle[1], loss.derivative(a, b), atol=1e-12), "The loss itself is not logistic."

# %% test="q5 logistic curvature and large margins" points=0.5 hidden=true
rng, loss = np.random.default_rng([TERM, 511]), LOSSES["logistic"]
a, b = rng.choice([-1.0, 1.0], size=20), 3 * rng.normal(size=20)
second = table_1("logistic", a, b)[2]
assert np.min(second) >= 0, "A convex loss has no negative curvature."
assert np.allclose(table_1("squared_hinge", a, b)[2], np.where(a * b < 1, 2.0, 0.0)), (
    "The second derivative of the squared hinge loss is wrong for some labels and margins."
)
assert np.allclose(second, loss.second_derivative(a, b), atol=1e-12), (  # rounding
    "The second derivative of the logistic loss is not the derivative of the first."
)
a, b = np.array([1.0, 1.0, -1.0, -1.0]), np.array([800.0, -800.0, 900.0, -900.0])
for got, expected in zip(
    table_1("logistic", a, b),
    (loss.value(a, b), loss.derivative(a, b), loss.second_derivative(a, b)),
    strict=True,
):
    assert np.allclose(got, expected, atol=1e-12), "Overflow, or not exact, at margins of +-800."

# %% test="q5 gradients" points=1 hidden=true
for seed, name in ((521, "squared"), (522, "logistic"), (523, "squared_hinge")):
    rng = np.random.default_rng([TERM, seed])
    X, Y = small_data(25, 6, 5, missing=0.5, rng=rng)
    Y = Y if name == "squared" else signs_of(Y)
    W, H = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    G = Problem.from_dense(LOSSES[name], X, Y).gradient(W @ H.T)
    own = table_1(name, np.where(np.isnan(Y), 1.0, Y), X @ W @ H.T)[1]
    if np.shape(own) == Y.shape:  # a mistake in `table_1` is counted once
        G = X.T @ np.where(np.isnan(Y), 0.0, own)
    expected = {"W": G @ H + 0.7 * W, "H": G.T @ W + 0.7 * H}  # the chain rule
    for letter, got in zip("WH", gradients(name, X, Y, W, H, 0.7), strict=True):
        assert np.shape(got) == expected[letter].shape, (
            f"The gradient in {letter} has a wrong shape."
        )
        assert np.allclose(got, expected[letter], rtol=1e-9), (  # rounding
            f"{name}: the gradient in {letter} is off. Compare with differences of J, once with "
            "penalty 0 and once without missing labels, to see which part it is."
        )

# %% [raw]
# question = "q6"
# title = "half a step of LEML"
# points = 2
# goal = "the H-step of LEML with missing labels; alternating minimisation never climbs"
# minutes = 20

# %% [markdown]
# For the squared loss, $J(W, H) = \sum_\Omega \tfrac12 (y_{il} - x_i^T W h_l)^2 +
# \tfrac{\mu}{2}(|W|_F^2 + |H|_F^2)$. For fixed $W$ the rows of $H$ are independent of each
# other: each is a ridge regression on the $k$ features $W^T x_i$ of *its own* observed points.
#
# 1. Write `h_step`. A label without any observed point has a minimiser too.
# 2. Write `alternate`: H-step, W-step, H-step, ... (`w_step(X, Y, H, penalty)` is given, in the
#    first cell), and the value of $J$ after each half-step.


# %% tags=["solution"]
def h_step(X, Y, W, penalty):
    """Return the H (L, k) that minimises J(W, H) for fixed W (d, k); NaN is a missing label."""
    U, H = X @ W, np.zeros((Y.shape[1], W.shape[1]))
    for label, y in enumerate(Y.T):
        seen = ~np.isnan(y)
        normal = U[seen].T @ U[seen] + penalty * np.eye(W.shape[1])
        H[label] = np.linalg.solve(normal, U[seen].T @ y[seen])
    return H


def alternate(X, Y, W, penalty, sweeps):
    """Return the 2 `sweeps` values of J after each half-step (H first), from the given W."""
    values = []
    for _ in range(sweeps):
        H = h_step(X, Y, W, penalty)
        W_next = w_step(X, Y, H, penalty)
        for V in (W, W_next):
            loss = 0.5 * np.nansum((Y - X @ V @ H.T) ** 2)
            values.append(float(loss + 0.5 * penalty * (np.sum(V**2) + np.sum(H**2))))
        W = W_next
    return values


# %% tags=["demonstration"]
def show_q6():
    """Print what the answer finds."""
    X, Y = small_data(60, 8, 6, missing=0.5, rng=np.random.default_rng(0))
    for seed in (1, 2):
        start = np.random.default_rng(seed).normal(size=(8, 6))
        shown = ", ".join(f"{value:.4f}" for value in alternate(X, Y, start, 3.0, 150)[::50])
        print(f"start {seed}: J = {shown}")


show_q6()

# %% [markdown] tags=["solution"]
# Both starts end at one value. With $k \ge \min(d, L)$ the minimum of $J$ is that of the convex
# problem $\sum_\Omega \ell + \mu |Z|_{tr}$, so Question 1 has a word to say here as well:
# scale the residuals until $|X^T R_\Omega|_2 \le \mu$, and $\sum_\Omega (\rho y - \rho^2/2)$
# is a lower bound. With small $k$ there may be local minima.

# %% test="q6 one number" points=0.5 hidden=false
X, Y = np.array([[1.0], [2.0]]), np.array([[3.0, 1.0], [1.0, 2.0]])
H = h_step(X, Y, np.ones((1, 1)), 5.0)
assert np.shape(H) == (2, 1), "H should have one row per label."
assert np.allclose(H, 0.5), "With one feature and k = 1 you can find each h by hand."

# %% test="q6 missing labels" points=1 hidden=true
for seed, missing, penalty in ((601, 0.5, 0.3), (602, 0.7, 2.0), (603, 0.0, 1.0)):
    rng = np.random.default_rng([TERM, seed])
    X, Y = small_data(30, 6, 5, missing=missing, rng=rng)
    W = rng.normal(size=(6, 3))
    H = h_step(X, Y, W, penalty)
    slope = Problem.from_dense(Squared(), X, Y).gradient(W @ H.T).T @ W + penalty * H
    # Rounding of a solve of size 3, relative to the slope at H = 0.
    size = np.abs(X.T @ np.nan_to_num(Y)).sum()
    assert np.abs(slope).max() <= 1e-9 * size, (
        "Not the minimiser: the slope of J in H is not zero. Each label has its own points."
    )
Y[:, 2] = np.nan
H = h_step(X, Y, W, 1.0)
assert np.isfinite(H).all(), "A label that nobody saw makes H infinite or NaN."
assert np.allclose(H[2], 0), "What minimises J for a label that nobody saw?"

# %% test="q6 never climbs" points=0.5 hidden=true
for seed, k, penalty in ((611, 2, 0.5), (612, 5, 3.0)):
    rng = np.random.default_rng([TERM, seed])
    X, Y = small_data(35, 6, 5, missing=0.5, rng=rng)
    W, problem = rng.normal(size=(6, k)), Problem.from_dense(Squared(), X, Y)
    values = alternate(X, Y, W, penalty, 4)
    assert np.shape(values) == (8,), "Four sweeps have eight half-steps."
    H = h_step(X, Y, W, penalty)  # a mistake there is counted once
    first = problem.objective(W @ H.T) + 0.5 * penalty * (np.sum(W**2) + np.sum(H**2))
    assert np.isclose(values[0], first, rtol=1e-9), (
        "The first value is not J after the first H-step."
    )
    W = w_step(X, Y, H, penalty)
    second = problem.objective(W @ H.T) + 0.5 * penalty * (np.sum(W**2) + np.sum(H**2))
    assert np.isclose(values[1], second, rtol=1e-9), "The second value is not J after the W-step."
    H = h_step(X, Y, W, penalty)
    third = problem.objective(W @ H.T) + 0.5 * penalty * (np.sum(W**2) + np.sum(H**2))
    assert np.isclose(values[2], third, rtol=1e-9), "The third value is not J after an H-step."

# %% [markdown]
# ## A data set (worked): promised and measured
#
# Question 7 is about data as they come. The cell below takes a real data set if the environment
# variable `LEML_DATA` names a folder with one, and draws one otherwise: non-negative features, as
# counts and frequencies are, and four of sixteen labels observed per point. Every feature is scaled
# to one mean square, so that $\Sigma = 1$. `diagnose` says what the theory has to say about them.

# %%
folder = os.environ.get("LEML_DATA")
if folder:
    data = load_dataset("emotions", folder)
    X_own, Y_own = data.X.toarray().astype(float), data.Y.toarray().astype(float)
else:
    X_own, Y_own = observed_labels(NonNegative(40), 16, 4, 600, np.random.default_rng(7))
X_own /= np.sqrt(X_own.shape[1] * np.mean(X_own**2, axis=0))
for sentence in diagnose(X_own, Y_own, rng=np.random.default_rng(8)).sentences():
    print(textwrap.fill(sentence, 98, initial_indent="- ", subsequent_indent="  "))

# %% [markdown]
# And what is measured? A third of the points trains both balls at several radii, a third chooses
# the radius, a third is the test, the same rows for both. *Centred* takes the training means of
# features and labels off, which is what an intercept does.


# %%
def held_out(X, Y, rng, *, centred):
    """Return the test risks of trace and Frobenius ball and, paired by row, their difference."""
    train, check, test = np.array_split(rng.permutation(len(X)), 3)
    if centred:
        X, Y = X - X[train].mean(axis=0), Y - np.nanmean(Y[train], axis=0)
    problem, errors = Problem.from_dense(Squared(), X[train], Y[train]), []
    for kind in (TraceBall, FrobeniusBall):
        fits = [minimise(problem, kind(radius)).Z for radius in 2.0 ** np.arange(-5, 7)]
        best = min(fits, key=lambda Z: np.nanmean((Y[check] - X[check] @ Z) ** 2))
        errors.append(0.5 * np.nanmean((Y[test] - X[test] @ best) ** 2, axis=1))
    gain = errors[1] - errors[0]
    return *np.mean(errors, axis=1), gain.mean(), gain.std(ddof=1) / np.sqrt(gain.size)


for name in ("raw", "centred"):
    found = held_out(X_own, Y_own, np.random.default_rng(9), centred=name == "centred")
    print("{:8} test risk: trace {:.4f}, Frobenius {:.4f}".format(name, *found[:2]), end="; ")
    print("trace better by {:.4f} +- {:.4f}".format(*found[2:]))

# %% [markdown]
# On the generated data promise and measurement go opposite ways. Centring doubles the ratio of the
# *averages*, and takes away the difference of the *risks*: with raw features most of what can be
# learnt is how frequent each label is, one rank-one matrix along the mean of x, which the trace
# ball finds; once the means are subtracted, little is left for either. (On the real data set
# `emotions` the trace ball is better by about three standard errors, centred or not, where the
# averages differ by factors of 1.1 and 1.5.) A ratio of bounds is no ratio of risks.

# %% [raw]
# question = "q7"
# title = "how much can be promised at all?"
# points = 3
# goal = "how much any bound can promise for given data, and what centring the features changes"
# minutes = 35

# %% [markdown]
# The bounds compare Rademacher averages: with $V = \sum_i \varepsilon_i x_i e_{l_i}^T$, one sign
# per point and $l_i$ one of its observed labels, uniformly, the Frobenius ball has $E|V|_F/n$ and
# the trace ball $E|V|_2/n$. The *advantage* of the trace ball is their ratio; `diagnose` measures
# it, for the features as they are (`.raw.advantage`, an `Estimate` with `.value` and `.stderr`)
# and with their mean subtracted (`.centred.advantage`).
#
# 1. The data are given; only signs and labels are random. Show that $E|V|_F^2 = \sum_i |x_i|^2$
#    and $E|V|_2^2 \ge \max(|E\,VV^T|_2, |E\,V^TV|_2)$, and work out both matrices. The root of the
#    ratio is a **ceiling** of the advantage (of root mean squares). Write `ceilings`, for the
#    features as they are and with their mean subtracted. Labels may be observed with any pattern,
#    as long as every point has as many observed labels as every other.
# 2. How far from zero may the mean be? Write `figure_q7`: add a number to *every* feature and draw,
#    against that number, the advantage of the raw features, their ceiling, and the advantage of the
#    centred features. Label the curves `"raw"`, `"ceiling"` and `"centred"` (more words are
#    welcome, but each of the three in one label only), and the axes, and let dashes or markers
#    tell the curves apart.


# %% tags=["solution"]
def ceilings(X, Y):
    """Return the ceilings of the advantage as {"raw": float, "centred": float}.

    Parameters
    ----------
    X : (n, d) array
    Y : (n, L) array of 0 and 1, NaN where a label is missing, as many observed in every row
    """
    seen = ~np.isnan(Y)
    chances = seen / seen.sum(axis=1, keepdims=True)
    found = {}
    for name, points in (("raw", X), ("centred", X - X.mean(axis=0))):
        squares = np.sum(points**2, axis=1)
        largest = max(np.linalg.norm(points, 2) ** 2, np.max(squares @ chances))
        found[name] = float(np.sqrt(squares.sum() / largest))
    return found


def figure_q7(X, Y, shifts, rng):
    """Draw the advantages of X + shift against `shifts`, with `ax.plot`, and return the Axes.

    One call `diagnose(X + shift, Y, rng=rng, draws=20)` per shift gives both measured advantages.
    """
    reports = [diagnose(X + shift, Y, rng=rng, draws=20) for shift in shifts]
    limit = [ceilings(X + shift, Y)["raw"] for shift in shifts]
    with picture_style():
        _, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
        ax.plot(
            shifts,
            limit,
            color="black",
            linewidth=1,
            label="ceiling: more cannot be promised",
        )
        for side, key, words in (
            ("centred", "frobenius", "centred features, measured"),
            ("raw", "trace", "raw features, measured"),
        ):
            look, found = LOOKS[key], [getattr(report, side).advantage for report in reports]
            y, error = np.array([(point.value, 2 * point.stderr) for point in found]).T
            ax.plot(shifts, y, linestyle=look.line, label=words, **look.marks())
            ax.fill_between(shifts, y - error, y + error, color=look.colour, alpha=0.2)
        ax.axhline(1.0, color="0.6", linewidth=0.8)
        ax.text(shifts[-1], 1.0, "nothing gained", ha="right", va="bottom", color="0.4")
        ax.set(xlabel="number added to every feature", ylabel="Frobenius average ÷ trace average")
        ax.set_title("A mean far from zero takes the advantage away")
        ax.legend()
    return ax


# %% tags=["demonstration"]
def show_q7():
    """Print what the answer finds."""
    X, Y = observed_labels(IsotropicGaussian(32), 24, 2, 400, np.random.default_rng(9))
    deviation = 1 / np.sqrt(32)  # of a feature
    figure_q7(X, Y, deviation * np.linspace(0, 1.5, 11), np.random.default_rng(10))
    for name, value in ceilings(X_own, Y_own).items():
        print(f"ceiling of the data set above, {name} features: {value:.3f}")


show_q7()

# %% [markdown] tags=["solution"]
# *Why.* Signs of different points are independent, so only $i = j$ survives: $E|V|_F^2 =
# \sum|x_i|^2$, $E\,VV^T = \sum x_i x_i^T = X^TX$, and $E\,V^TV$ is diagonal with entries $\sum_i
# q_{il}|x_i|^2$, where $q_{il}$ is the chance that point $i$ shows label $l$. ($|E A|_2 \le
# E|A|_2$ for $A = VV^T$ and $V^TV$.) With $\sigma_1 = |X^TX|_2/n$, $\Sigma = \sum |x_i|^2/n$ and
# labels that do not depend on $|x|$ the ceiling is $1/\sqrt{\max(\sigma_1/\Sigma, P)}$: one heavy
# label or one heavy direction is enough. A mean is a heavy direction: $\sigma_1 \ge |\bar x|^2$.
# That is why non-negative features leave little to promise, and why an intercept, which takes the
# mean out, gives much of it back.

# %% test="q7 picture" points=0.5 hidden=false
X, Y = observed_labels(IsotropicGaussian(10), 6, 2, 80, np.random.default_rng(71))
shifts = np.array([0.0, 0.2, 0.4])
picture = describe_axes(figure_q7(X, Y, shifts, np.random.default_rng(72)))
plt.close("all")
assert all((picture.x_label, picture.y_label)), "Both axes need a label."
assert picture.legend, "The curves cannot be told apart without a legend."
for word in ("raw", "ceiling", "centred"):
    curve = picture.line(word)
    assert np.shape(curve.x) == np.shape(shifts), f"'{word}': there should be one point per shift."
    assert np.allclose(curve.x, shifts), f"'{word}' is not drawn against the shifts."
    assert np.min(curve.y) > 0.9, f"'{word}': an advantage is a ratio that is not below one."

# %% test="q7 ceilings" points=1 hidden=true
laws = (IsotropicGaussian(40), NonNegative(9), AnisotropicGaussian(tuple(2.0 ** -np.arange(8))))
for seed, law in enumerate(laws):
    rng = np.random.default_rng([TERM, 701 + seed])
    X, Y = observed_labels(law, 5, 3, 90, rng)
    found = ceilings(X, Y)
    assert set(found) == {"raw", "centred"}, "Return the two keys 'raw' and 'centred'."
    chances = ~np.isnan(Y) / 3
    for key, points in (("raw", X), ("centred", X - X.mean(axis=0))):
        squares = np.sum(points**2, axis=1)
        both = np.linalg.eigvalsh(points.T @ points)[-1], np.max(chances.T @ squares)
        # An eigenvalue to rounding.
        assert np.isclose(found[key], np.sqrt(squares.sum() / max(both)), rtol=1e-9), (
            f"'{key}': not the root of the ratio. Simulate V a thousand times and compare "
            "E|V|_F^2, E VV^T and E V^T V with yours, one after the other."
        )

# %% test="q7 one heavy label" points=0.5 hidden=true
rng = np.random.default_rng([TERM, 711])
X, Y = rng.normal(size=(80, 10)), np.full((80, 8), np.nan)
X[:30] *= 2.0
Y[np.arange(80), rng.integers(1, 8, size=80)] = 1.0
Y[:30, 0], Y[30:, 0], Y[:30, 1:] = 0.0, np.nan, np.nan
squares = np.sum(X**2, axis=1)
expected = np.sqrt(squares.sum() / max(np.linalg.norm(X, 2) ** 2, squares[:30].sum()))
assert np.isclose(ceilings(X, Y)["raw"], expected, rtol=1e-9), (  # rounding
    "Wrong where one label is observed more often than others, at the longer points."
)

# %% test="q7 curves" points=1 hidden=true
rng = np.random.default_rng([TERM, 721])
d, L = int(rng.integers(10, 18)), int(rng.integers(6, 12))
X, Y = observed_labels((RademacherVectors(d), NonNegative(d))[TERM % 2], L, 2, 150, rng)
X += 0.05  # so that a shift has a side
shifts = np.array([0.0, 0.1, 0.3])
picture, other = (
    describe_axes(figure_q7(X, Y, shifts, np.random.default_rng([TERM, k]))) for k in (722, 724)
)
assert not np.array_equal(picture.line("raw").y, other.line("raw").y), (
    "Two generators give one curve: measure with `rng`."
)
styles = {picture.line(word).style for word in ("raw", "ceiling", "centred")}
assert len(styles) == 3, "Two curves have the same dashes and markers."
for j, shift in enumerate(shifts):
    report = diagnose(X + shift, Y, rng=np.random.default_rng([TERM, 723]), draws=80)
    for key, facts in (("raw", report.raw), ("centred", report.centred)):
        # A mean of 20 draws has four times the variance of one of 80: six standard errors of the
        # difference leave, by Student's law with 79 degrees of freedom, one chance in 10^7.
        slack = 6 * np.sqrt(5) * facts.advantage.stderr
        assert abs(picture.line(key).y[j] - facts.advantage.value) <= slack, (
            f"'{key}' at shift {shift}: not Frobenius average over trace average of those features."
        )
    assert np.isclose(picture.line("ceiling").y[j], ceilings(X + shift, Y)["raw"]), (
        f"The ceiling at shift {shift} is not your own `ceilings` of the shifted features."
    )

# %% [raw]
# question = "open"
# title = "what would you tell a colleague?"
# manual = true
# points = 0
# goal = "advice to a colleague, what theory, diagnosis and measurement say together"
# minutes = 20

# %% [markdown]
# A colleague has $n = 5000$ documents, word counts of $d = 1800$ words, $L = 160$ tags, all of
# them known, and writes: "I use the trace norm, because Theorem 4 promises an excess risk $\sqrt L
# \approx 13$ times smaller than the Frobenius norm's." Answer in half a page. Which of the
# assumptions of Theorem 4 hold for these data, which do not, and which could be made to hold, at
# what price? What can be promised, what would you *measure*, and how would you make the
# measurement fair? Which result would change your mind?

# %% [markdown] tags=["solution"]
# *A good answer.* **Assumptions.** Counts are not negative, so $E x \ne 0$: the third condition of
# Theorem 4 fails, and $\sigma_1/\Sigma \ge |\bar x|^2/\Sigma$ is far above $1/d$, so the ceiling
# of Question 7 is a small number (1.25 for $|g|$ features; 2.1 on `bibtex`, a data set of about
# these sizes, whose sparse features have $\sigma_1/\Sigma = 0.22$) and *no* proof can promise 13.
# $d \ge L$ holds. All labels are known, so $P = 1/L$ and labels do not spoil it; but the paper's
# own constant and its condition $n \gtrsim L^2 \log L / 2$ are far out of reach ($n = 5000$).
# **What can be made to hold.** An intercept for each label (centred features) removes the mean
# direction; the price is $L$ parameters that are not penalised, centring with a mean from the same
# sample, and a dense matrix unless it is done implicitly. After it the spectrum decides: word
# counts have a few heavy directions, so the ceiling is again well below $\sqrt L$ (4.7 on
# `bibtex`); rescaling the features changes it, and changes the class of predictors too. **Promise
# and measurement.** A ratio of upper bounds is not a ratio of risks: an advantage in the bound
# says nothing about *these* labels. Measure held-out risk of both minimisers (with certificates),
# each with its own radius or penalty chosen on training data, on the same test rows, with a paired
# standard error, over several splits. If the labels have little to share the trace norm can lose.
# **Changing one's mind.** A paired difference of many standard errors in either direction; a
# spectrum after centring that is nearly flat; labels of clearly low rank.
#
# *Marking guide (5 points).* One point each: (1) the mean, or $\sigma_1/\Sigma$, as the assumption
# that fails, with the ceiling or a number; (2) a repair with its price; (3) that a ratio of bounds
# is no ratio of risks, or that the rate is about the worst case; (4) a fair measurement: held-out
# data, tuning on training data for *both*, same rows, paired error; (5) a result named that would
# speak against the answer given. Half a point off for each false statement, for instance that
# Theorem 4 needs $L > d$, that rank regularisation lowers the Rademacher average of the trace
# ball, or that a certificate bounds the population risk.
