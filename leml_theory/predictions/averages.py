"""Predictions: what a measured average should be, not only what bounds it.

A bound's slope is no target for a measurement, because a bound may be loose by a factor that
changes with n or L.  The formulas here are limits of random matrix theory with their first
finite-size corrections; they are predictions, checked by simulation, and never used as bounds.

A prediction is *sharp* where it is within 3 % of the mean at the size at hand, as measured by
simulation, and a *limit* where it is the value approached as sizes grow: `spectral_norm_is_sharp`
and `frobenius_norm_is_sharp` tell the two apart.
"""

import math
from functools import cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln, ndtr
from scipy.stats import binom, chi2

from argument_checks import finite_array, nonnegative, positive, positive_integer
from leml_theory.arrays import Array

# Mean and variance of the Tracy-Widom law of order one, the limit of the top eigenvalue.
TRACY_WIDOM_MEAN = -1.2065335745820
TRACY_WIDOM_VARIANCE = 1.6077810345810

# Where the spectral norm's prediction is within 3 %: see `spectral_norm_is_sharp`.
_SHARP_SIZE, _SHARP_ROWS, _EVEN = 32, 12, 1.25
# Squared chance of interference up to which the Frobenius norm's prediction is within 3 %.
_SHARP_OVERLAP = 0.5

# Largest value of u - u^2/sqrt(1+u^2): the worst excess of a vector seen through unit noise.
WORST_ANGLE = 0.300283


def chi_mean(degrees: float) -> float:
    """Return E sqrt(chi^2) / sqrt(degrees), about 1 - 1/(4 degrees)."""
    half = positive(degrees, "degrees") / 2
    return math.exp(gammaln(half + 0.5) - gammaln(half) - 0.5 * math.log(half))


def spectral_norm(n_rows: int, variances: Array) -> float:
    r"""Predict :math:`E|G\,\mathrm{diag}(\sqrt v)|_2` for a Gaussian G with n_rows rows.

    Parameters
    ----------
    n_rows : int
        Number of rows d.
    variances : array, shape (L,)
        Variance of the entries of each column.

    Notes
    -----
    The bulk edge and its Tracy-Widom fluctuation follow El Karoui's formula, with the half-integer
    correction of Johnstone and Ma; equal variances give Johnstone's white case.  One column that
    stands out beyond the transition of Baik, Ben Arous and Peche gives the spiked-column formula.
    """
    values = finite_array(variances, "variances", 1)
    positive_integer(n_rows, "n_rows")
    if (values < 0).any() or not values.any():
        raise ValueError("`variances` must not be negative and not all zero.")
    values = np.sort(values[values > 0])
    if values.size == 1:
        return math.sqrt(float(values[0]) * n_rows) * chi_mean(n_rows)
    return _outlier_norm(n_rows, values) or _bulk_norm(n_rows, values)


def spectral_norm_is_sharp(n_rows: int, variances: Array) -> bool:
    """Return whether `spectral_norm` is within 3 % of the mean; elsewhere it is a limit, too low.

    Parameters
    ----------
    n_rows, variances : int, array of shape (L,)
        As in `spectral_norm`.

    Notes
    -----
    The region was measured: 10^2 to 2 10^4 draws for each of several hundred settings, d from 1 to
    128 and L from 1 to 512 with even variances, d from 2 to 64 with one heavy column, Zipf laws and
    two or three equal heavy columns.
    With d times the effective number of columns at least 32, and either d at least 12 or no
    variance above 1.25 times their mean, the largest error was 2.8 %.  Outside, the formula is
    12 % low at d = 2, L = 4, and 10 % low at d = 2, L = 64 with one column of share 0.2.  One
    column is exact.
    """
    values = finite_array(variances, "variances", 1)
    values = values[values > 0]
    if values.size == 1:
        return True
    effective = float(values.sum() ** 2 / np.square(values).sum())
    even = bool(values.max() <= _EVEN * values.mean())
    return n_rows * effective >= _SHARP_SIZE and (even or n_rows >= _SHARP_ROWS)


def _edge(n_rows: float, values: Array, share: float) -> float:
    """Return alpha above max(values) at which the bulk edge of the spectrum lies."""
    top = values[-1]

    def excess(alpha: float) -> float:
        return share * float(np.square(values / (alpha - values)).sum()) / n_rows - 1

    width = math.sqrt(share / n_rows)
    lower = top * (1 + 0.5 * width)  # one term alone exceeds 1 there
    upper = top * (1 + 2 * math.sqrt(values.size) * width)
    return float(brentq(excess, lower, upper, xtol=1e-12 * top))


def _bulk_norm(n_rows: int, values: Array) -> float:
    """Predict the norm when no column stands out."""
    rows = n_rows - 0.5
    share = (values.size - 0.5) / values.size
    alpha = _edge(rows, values, share)
    ratios = values / (alpha - values)
    centre = rows * alpha + share * alpha * float(ratios.sum())
    scale = alpha * math.cbrt(rows + share * float((ratios**3).sum()))
    mean = centre + scale * TRACY_WIDOM_MEAN
    return math.sqrt(mean) * (1 - TRACY_WIDOM_VARIANCE * (scale / mean) ** 2 / 8)


def _outlier_norm(n_rows: int, values: Array) -> float:
    """Predict the norm when the largest column stands out of the bulk of the others, else 0."""
    bulk, spike = values[:-1], float(values[-1])
    if spike <= _edge(n_rows, bulk, 1.0):
        return 0.0
    location = n_rows * spike + spike * float((bulk / (spike - bulk)).sum())
    return math.sqrt(location) * chi_mean(n_rows)


def planted_trace_excess(theta: float, n: int, n_features: int, n_labels: int) -> float:
    r"""Predict the excess risk of the trace-ball minimiser in the planted model, radius 1.

    Parameters
    ----------
    theta : float
        Strength of the signal, :math:`\rho/\sqrt{dL}`.
    n, n_features, n_labels : int
        Points, d and L.

    Notes
    -----
    Below the transition of Baik, Ben Arous and Peche nothing is learnt and the excess is theta;
    above it the overlap of singular vectors gives the rest.

    Paper: Theorem 4.
    """
    t2 = nonnegative(theta, "theta") ** 2 * n * n_features
    c = n_features / n_labels
    if t2 <= math.sqrt(c):
        return theta
    left = 1 - c * (1 + t2) / (t2 * (t2 + c))
    right = 1 - (c + t2) / (t2 * (t2 + 1))
    return theta * (1 - math.sqrt(max(left, 0.0) * max(right, 0.0)))


def planted_frobenius_excess(theta: float, n: int, size: int) -> float:
    r"""Predict the excess risk of the Frobenius-ball minimiser in the planted model, radius 1.

    Parameters
    ----------
    theta : float
        Strength of the signal.
    n : int
        Points.
    size : int
        Number dL of entries; the limit of many is
        :math:`\theta(1-\theta/\sqrt{\theta^2+1/n})`.
    """
    strength = nonnegative(theta, "theta") * math.sqrt(positive_integer(n, "n"))
    return theta * (1 - _expected_cosine(strength * math.sqrt(size), size))


def _expected_cosine(shift: float, size: int) -> float:
    """Return E cos of the angle between e_1 and shift e_1 + g, g standard normal in R^size."""
    if size == 1:
        return float(2 * ndtr(shift) - 1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    rest = _chi_square_quantiles(size - 1)
    along = shift + nodes[:, None]
    return float((weights @ (along / np.sqrt(along**2 + rest))).mean())


def worst_frobenius_excess(n: int, size: int) -> float:
    """Return the largest planted Frobenius excess over all signals: 0.3003/sqrt(n) for many labels.

    In the limit, with u = theta sqrt(n), the excess is u - u^2/sqrt(1+u^2), over sqrt(n).
    """
    return _worst_angle(size) / math.sqrt(positive_integer(n, "n"))


@cache
def _chi_square_quantiles(degrees: int) -> Array:
    """Return 200 equally likely values of a chi square."""
    return np.asarray(chi2.ppf((np.arange(200) + 0.5) / 200, degrees))


@cache
def _worst_angle(size: int) -> float:
    """Return the largest planted Frobenius excess for n = 1."""
    found = minimize_scalar(
        lambda u: -planted_frobenius_excess(u, 1, size), bounds=(0.2, 3.0), method="bounded"
    )
    return float(-found.fun)


def worst_trace_excess(n: int, n_features: int, n_labels: int) -> float:
    """Return the largest `planted_trace_excess` over all signals, radius 1.

    The largest value is either at the transition, (dL)^(-1/4), or beyond it, where it is found
    numerically.  This is a limit for d and L that grow together: at d = L = 32 the measured excess
    is a fifth below it.  With one feature or one label the two balls coincide, and the value is
    that of `worst_frobenius_excess`, which holds at every size.
    """
    d, labels = positive_integer(n_features, "n_features"), positive_integer(n_labels, "n_labels")
    if min(d, labels) == 1:
        return worst_frobenius_excess(n, d * labels)
    return _worst_trace(d, labels) / math.sqrt(positive_integer(n, "n"))


@cache
def _worst_trace(n_features: int, n_labels: int) -> float:
    """Return the largest planted trace excess for n = 1."""
    transition = math.pow(n_features * n_labels, -0.25)
    found = minimize_scalar(
        lambda u: -planted_trace_excess(math.exp(u), 1, n_features, n_labels),
        # after its dip behind the transition the excess has one more peak, at a strength below 3
        bounds=(math.log(1.2 * transition), math.log(max(3.0, 3 * transition))),
        method="bounded",
    )
    return max(transition, float(-found.fun))


def clipped_excess(n: int, n_labels: int, bias: float) -> float:
    """Return the exact expected excess of sign(m_l), each label seen Bin(n, 1/L) times.

    The world is x = +-1 in one dimension, y = x with probability (1 + bias)/2, the loss
    -clip(y f, -1, 1) and a radius of sqrt(L), which lets every label have its own sign; a label
    whose signs cancel is predicted zero.

    Paper: Theorem 4, which claims O(1/sqrt(n)) here.
    """
    mean = positive_integer(n, "n") / positive_integer(n_labels, "n_labels")
    reach = 12 * math.sqrt(mean) + 12  # beyond twelve deviations the mass is below rounding
    seen = np.arange(max(0, int(mean - reach)), min(n, int(mean + reach)) + 1)
    weights = binom.pmf(seen, n, 1 / n_labels)
    chance = (1 + bias) / 2
    behind = binom.cdf(np.ceil(seen / 2) - 1, seen, chance)
    tied = np.where(seen % 2 == 0, binom.pmf(seen // 2, seen, chance), 0.0)
    return float(2 * bias * (weights * (behind + tied / 2)).sum())


def frobenius_norm(second_moment: float, overlap: float, n: int) -> float:
    r"""Predict :math:`E|V|_F` from :math:`E|V|_F^2 = n\Sigma` and the variance of :math:`|V|_F^2`.

    Parameters
    ----------
    second_moment : float
        :math:`\Sigma`.
    overlap : float
        :math:`\mathrm{tr}(S^2)/\Sigma^2 \sum_l p_l^2`, the chance that two points interfere.
    n : int
        Points.

    Paper: Lemma 2 and Lemma 3, which compute the variance; it is why the average stays below
    Theorem 3 by the factor 1 - 1/(4L) for rank-one features.
    """
    return math.sqrt(n * second_moment) * (1 - overlap * (1 - 1 / n) / 4)


def frobenius_norm_is_sharp(overlap: float, n: int) -> bool:
    """Return whether `frobenius_norm` is within 3 % of the mean; elsewhere it is a limit.

    The formula leaves out terms of the second order in the overlap, and in 1/n: at an overlap of
    one it is 6 % low.
    """
    return overlap + 1 / positive_integer(n, "n") <= _SHARP_OVERLAP
