"""Whether a feature law is what it claims to be: moments, support, kind and sums, by samples."""

import math
from collections.abc import Iterator
from dataclasses import astuple
from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial import KDTree
from scipy.stats import binom, chi2, kstest

from argument_checks import open_probability, positive_integer
from leml_theory.arrays import Array
from leml_theory.bounds.setting import LAWS
from leml_theory.checks.finding import (
    ROUNDING,
    Finding,
    mean_finding,
    normal_finding,
    plain,
    settle,
    upper_finding,
)
from simulations.features import FeatureLaw, Moments, Support

# Points that show each label in the signed sums, and how many sums are drawn.
_COUNTS, _SUMS = (0, 1, 12), 20_000

_FEWEST_DRAWS = 30  # for a standard error that means something


def check_law(
    law: FeatureLaw,
    *,
    draws: int = 100_000,
    level: float = 1e-6,
    rng: np.random.Generator | None = None,
) -> list[Finding]:
    """Measure whether a feature law is what it claims to be; if not, raise an AssertionError.

    Mean, second moments, radius, proxy, support, symmetry, kind and signed sums are compared with
    samples.  What the law does not claim is not measured; nor are, with a warning, moments that
    heavy tails hide from this many draws.

    Parameters
    ----------
    law : FeatureLaw
        The law, in some dimension of interest.
    draws : int
        Number of points to draw.
    level : float
        Probability, at most, that a law that is what it claims to be fails.
    rng : Generator, optional
        Source of randomness; by default always the same.

    Examples
    --------
    >>> from leml_theory import check_law
    >>> from simulations import RademacherVectors
    >>> findings = check_law(RademacherVectors(3), draws=2_000)
    >>> findings[0].claim
    '`sample`: shape (n, d)'
    """
    open_probability(level, "level")
    source = np.random.default_rng(0) if rng is None else rng
    subject = type(law).__name__
    basics = settle(subject, list(_basics(law)), level)
    if positive_integer(draws, "draws") < _FEWEST_DRAWS:
        raise ValueError(f"`draws` must be at least {_FEWEST_DRAWS}, got {draws}.")
    X = law.sample(draws, source)
    findings = [*basics, *_consistency(law), *_moments(law, X), *_norms(law, X), *_support(law, X)]
    findings += [*_directions(law, X, source), *_kind(law, X, source), *_signed_sums(law, source)]
    return settle(subject, findings, level)


def _basics(law: FeatureLaw) -> Iterator[Finding]:
    """Check shapes and that draws depend on the generator alone."""
    once, again = (law.sample(3, np.random.default_rng(1)) for _ in range(2))
    moments, sound = law.moments, isinstance(law.moments, Moments)
    if not (sound and all(isinstance(x, Real | None) for x in astuple(moments))):
        yield plain("`moments`", False, f"{moments!r} is not of type Moments, with numbers")
        return
    d, mean, S = law.n_features, law.mean_vector, law.second_moments
    same, shape = np.array_equal(once, again), _shape(once)
    yield plain("`sample`: shape (n, d)", shape == (3, d), f"{shape} for n = 3, d = {d}")
    finite = shape != (3, d) or np.isfinite(once).all()
    yield plain("`sample`: finite", finite, "some values are NaN or infinite")
    yield plain("`sample`: randomness from `rng` alone", same, "equal `rng` gave different points")
    yield plain("`kind`", law.kind in LAWS, f"{law.kind!r}, which is none of {', '.join(LAWS)}")
    if mean is not None:
        yield plain("`mean_vector`: shape (d,)", _shape(mean) == (d,), f"{_shape(mean)}")
    if S is not None:
        yield plain("`second_moments`: shape (d, d)", _shape(S) == (d, d), f"{_shape(S)}")


def _shape(value: Any) -> Any:
    """Return the shape of an array, the name of its type for what is none."""
    return getattr(value, "shape", type(value).__name__)


def _consistency(law: FeatureLaw) -> Iterator[Finding]:
    """Check that the claims of a law do not contradict each other."""
    moments, mean, S = law.moments, law.mean_vector, law.second_moments
    if S is not None:
        values = np.linalg.eigvalsh(S)
        holds, found = values[0] >= -ROUNDING * values[-1], f"the smallest is {values[0]:.6g}"
        yield plain("`second_moments`: symmetric", np.allclose(S, S.T, rtol=ROUNDING), "it is not")
        yield plain("`second_moments`: no negative eigenvalue", holds, found)
        yield _equal("`moments.second_moment`", moments.second_moment, float(np.trace(S)))
        yield _equal("`moments.top_eigenvalue`", moments.top_eigenvalue, float(values[-1]))
    if mean is not None:
        same = moments.centred == (not mean.any())
        yield plain("`moments.centred`", same, f"{moments.centred} with `mean_vector` {mean[:3]}")
    if moments.proxy is not None:
        holds = moments.proxy >= moments.top_eigenvalue * (1 - ROUNDING)
        found = f"{moments.proxy:.6g} and {moments.top_eigenvalue:.6g}"
        yield plain("`moments.proxy`: at least the top eigenvalue", holds, found)


def _equal(claim: str, claimed: float, expected: float) -> Finding:
    """Compare a claimed number with the one that follows from `second_moments`."""
    measured = f"{claimed:.6g}, but {expected:.6g} follows from `second_moments`"
    return plain(claim, math.isclose(claimed, expected, rel_tol=ROUNDING), measured)


def _moments(law: FeatureLaw, X: Array) -> Iterator[Finding]:
    """Test mean and second moments against a sample."""
    mean, S, moments = law.mean_vector, law.second_moments, law.moments
    if mean is not None:
        yield mean_finding("mean, `mean_vector`", X, mean)
    if S is not None:
        yield _matrix_finding("covariance, `second_moments`", X, S)
    elif math.isfinite(moments.second_moment):
        squares = np.square(X).sum(axis=1)
        yield mean_finding("`moments.second_moment`", squares, moments.second_moment)
        half = len(X) // 2
        top = np.linalg.eigh(X[:half].T @ X[:half])[1][:, -1]
        # No direction has more than the top eigenvalue; one from other draws has nearly that.
        along = np.square(X[half:] @ top)
        yield upper_finding("`moments.top_eigenvalue`", along, moments.top_eigenvalue)
        # On the draws that chose it the direction beats the true one: nothing if it has more.
        best = np.square(X[:half] @ top)
        attained = max(moments.top_eigenvalue, float(best.mean()))
        yield mean_finding("`moments.top_eigenvalue`: attained", best, attained)


def _matrix_finding(claim: str, X: Array, expected: Array) -> Finding:
    """Test the means of x x^T, entry by entry, without keeping all the products."""
    n, squares = len(X), np.square(X)
    means = X.T @ X / n
    variances = np.maximum(squares.T @ squares / n - np.square(means), 0.0)
    fourth = np.square(squares).sum(axis=0)
    share = np.square(squares).max(axis=0) / np.where(fourth > 0, fourth, 1.0)
    # Rounding of the difference of two moments is no variance.
    variances[variances <= 1e-12 * np.square(means)] = 0.0
    errors = np.sqrt(variances / n)
    return normal_finding(claim, means, errors, expected, np.maximum.outer(share, share))


def _norms(law: FeatureLaw, X: Array) -> Iterator[Finding]:
    """Check that no point is longer than the radius."""
    longest = float(np.linalg.norm(X, axis=1).max())
    holds = longest <= law.moments.radius * (1 + ROUNDING)
    measured = f"a point of length {longest:.6g}, at most {law.moments.radius:.6g} claimed"
    yield plain("norm, `moments.radius`", holds, measured)


def _support(law: FeatureLaw, X: Array) -> Iterator[Finding]:
    """Check that every point is in the support, and test how often each value is met."""
    values = law.support
    if values is None:
        return
    shape = values.points.shape == (values.probabilities.size, law.n_features)
    if not shape or (values.probabilities < 0).any():
        yield plain("`support`", False, "needs (k, d) points and k probabilities >= 0")
        return
    distances, nearest = KDTree(values.points).query(X)
    strange = int((distances > ROUNDING * (1 + np.abs(X).max())).sum())
    counts = np.bincount(nearest, minlength=values.probabilities.size)
    chances = np.clip(values.probabilities, 0.0, 1.0)
    tails = np.minimum(binom.cdf(counts, len(X), chances), binom.sf(counts - 1, len(X), chances))
    worst = int(np.argmin(tails))
    often = f"{counts[worst] / len(X):.6g} measured, {chances[worst]:.6g} claimed of value {worst}"
    yield plain("`support`: all values of x", strange == 0, f"{strange} of {len(X)} points outside")
    yield Finding("`support`: probabilities", often, 2 * tails[worst], tails.size)
    yield from _support_moments(law, values)


def _support_moments(law: FeatureLaw, values: Support) -> Iterator[Finding]:
    """Check the moments of a law against those of its finite support, without any sampling."""
    weighted = values.points * values.probabilities[:, None]
    total, size = float(values.probabilities.sum()), float(np.square(values.points).max())
    pairs = {
        "mean": (law.mean_vector, weighted.sum(axis=0)),
        "second moments": (law.second_moments, weighted.T @ values.points),
    }
    yield plain("`support`: probabilities sum to one", abs(total - 1) < ROUNDING, f"{total}")
    for name, (claimed, found) in pairs.items():
        if claimed is not None:
            same = np.allclose(claimed, found, rtol=0, atol=ROUNDING * size)
            off = f"off by up to {np.abs(claimed - found).max():.3g}"
            yield plain(f"`support`: its {name}", same, off)


def _projections(X: Array, rng: np.random.Generator) -> dict[str, tuple[Array, Array]]:
    """Return a few unit vectors v and <x, v>, to test proxy, symmetry and kind along them.

    The top eigenvector is that of the first half of the points; all are tested on the second.
    """
    d, half = X.shape[1], len(X) // 2
    found = {"(1, ..., 1)": np.ones(d), "e_1": np.eye(d)[0], "random": rng.normal(size=d)}
    found["top eigenvector"] = np.linalg.eigh(X[:half].T @ X[:half])[1][:, -1]
    units = {name: v / np.linalg.norm(v) for name, v in found.items()}
    return {name: (v, X[half:] @ v) for name, v in units.items()}


def _directions(law: FeatureLaw, X: Array, rng: np.random.Generator) -> Iterator[Finding]:
    """Test the proxy and the symmetry along a few directions."""
    proxy = law.moments.proxy
    for name, (_, x) in _projections(X, rng).items():
        if proxy:
            # E cosh(t <x, v>) <= exp(proxy t^2 / 2) for every t bounds the tails.  Where they are
            # heavy the mean of cosh is that of one draw, and only this test sees it.
            longest = float(np.abs(x).max())
            p_value = min(1.0, 2 * x.size * math.exp(-(longest**2) / (2 * proxy)))
            measured = f"the largest of {x.size} is {longest / math.sqrt(proxy):.4g} sqrt(proxy)"
            yield Finding(f"`moments.proxy`, tails of <x, v> for v = {name}", measured, p_value, 1)
            for t in (0.3, 1.0, 2.0):
                claim = f"`moments.proxy`, E cosh(<x, v>) for v = {t:g}/sqrt(proxy) times {name}"
                values = np.cosh(t * x / math.sqrt(proxy))
                yield upper_finding(claim, values, math.exp(t**2 / 2))
        scale = float(np.sqrt(np.mean(np.square(x))))
        if law.symmetric and scale > 0:
            odd = np.tanh(x / scale)
            yield mean_finding(f"`symmetric`, E tanh(<x, v>) for v = {name}", odd, 0.0)


def _kind(law: FeatureLaw, X: Array, rng: np.random.Generator) -> Iterator[Finding]:
    """Test whether a law of a named kind is of that kind."""
    if law.kind == "rademacher":
        yield from _rademacher(X)
    if law.kind == "gaussian":
        yield from _gaussian(law, X, rng)


def _gaussian(law: FeatureLaw, X: Array, rng: np.random.Generator) -> Iterator[Finding]:
    """Test whether x is Gaussian along a few directions, and its whitened length that of one."""
    S = law.second_moments
    if S is None or not law.moments.centred:
        yield plain("`kind` gaussian", False, "needs `second_moments` and `moments.centred`")
        return
    for name, (unit, x) in _projections(X, rng).items():
        if (scale := math.sqrt(max(float(unit @ S @ unit), 0.0))) > 0:
            p_value = float(kstest(x / scale, "norm").pvalue)
            measured = f"Kolmogorov-Smirnov p-value {p_value:.2g}"
            yield Finding(f"`kind` gaussian along {name}", measured, p_value, 1)
    values, vectors = np.linalg.eigh(S)
    kept = values > ROUNDING * values[-1]
    lengths = np.square(X @ vectors[:, kept] / np.sqrt(values[kept])).sum(axis=1)
    p_value = float(kstest(lengths, chi2(int(kept.sum())).cdf).pvalue)
    measured = f"Kolmogorov-Smirnov p-value {p_value:.2g} of the whitened lengths"
    yield Finding("`kind` gaussian jointly", measured, p_value, 1)


def _rademacher(X: Array) -> Iterator[Finding]:
    """Check that entries are signs over sqrt(d), and test that their products are fair signs."""
    signs = X * math.sqrt(X.shape[1])
    off = float(np.abs(np.abs(signs) - 1).max())
    yield plain("`kind` rademacher: entries +-1/sqrt(d)", off < ROUNDING, f"off by {off:.3g}")
    if off < ROUNDING:
        running = np.asarray(np.cumprod(np.sign(signs), axis=1), dtype=np.float64)
        yield mean_finding("`kind` rademacher: independent signs", running, 0.0)


def _signed_sums(law: FeatureLaw, rng: np.random.Generator) -> Iterator[Finding]:
    """Test the signed sums: no points give zero, and means and second moments are those of sums."""
    counts = np.tile(np.array(_COUNTS, dtype=np.int64), _SUMS)
    V = law.signed_sums(counts, rng)
    shape = (law.n_features, counts.size)
    if V.shape != shape:
        yield plain("`signed_sums`: shape (d, L)", False, f"{V.shape}, expected {shape}")
        return
    nothing, *others = (V[:, begin :: len(_COUNTS)].T for begin in range(len(_COUNTS)))
    yield plain("`signed_sums`: zero without points", not nothing.any(), "not all are zero")
    S = law.second_moments
    for count, sums in zip(_COUNTS[1:], others, strict=True):
        yield mean_finding(f"`signed_sums` of {count}: mean zero", sums, 0.0)
        if S is not None:
            yield _matrix_finding(f"`signed_sums` of {count}: second moments", sums, count * S)
    products = (others[0] * others[1]).sum(axis=1)
    yield mean_finding("`signed_sums`: independent columns", products, 0.0)
