r"""From the Rademacher average to risks: in expectation, McDiarmid, Bousquet, Gaussian, given data.

All for the risk averaged over the s observed labels, from which s cancels.  A block is a point with
its s labels; blocks are independent, labels within one need not be.  `complexity` is a bound on the
Rademacher average of the ball (its radius included), and its failed assumptions are inherited.

Notation: C the Lipschitz constant, B the length of the range of the loss, t = log(1/delta), and
excess risk L(Zhat) - min L, generalisation gap L(Zhat) - Lhat(Zhat).  Excess bounds include the gap
of the certificate.

Where points show random numbers k of labels, s on average, they count k/s times in R_n and in a
block: McDiarmid has max k/s before B, or sqrt(E k^2)/s given the numbers, the risk being that of
the labels seen; for Bousquet the moments of the setting hold what changes.
"""

import math

from leml_theory.bounds.bound import Bound
from leml_theory.bounds.failures import Failures, bounded_features, law_is, radius_fixed, unless
from leml_theory.bounds.setting import BoundValue, RiskSetting, Setting


def expectation_bound(setting: Setting, risk: RiskSetting, complexity: BoundValue) -> BoundValue:
    r"""Bound the expected excess risk, and the expected supremum of L - Lhat, by 2 C R_n.

    Symmetrise the triples (x, y, l) at once, contract one-sidedly; for s > 1 the supremum of an
    average over slots is at most the average of the suprema.  No bounded loss is needed.

    Paper: Theorem 3.

    Examples
    --------
    >>> from leml_solver.losses import LOSSES
    >>> from leml_theory import RiskSetting, Setting, expectation_bound
    >>> from leml_theory.bounds import theorem_3
    >>> from simulations import RademacherVectors, UniformLabels
    >>> setting = Setting.of(RademacherVectors(8), UniformLabels(4), n=100)
    >>> risk = RiskSetting.of(LOSSES["linear"], setting)
    >>> expectation_bound(setting, risk, theorem_3(setting)).value
    0.2
    """
    del setting  # what it says of points and labels is in `complexity`
    value = _symmetrised(risk, complexity) + risk.certificate_gap
    return _bound("expectation", value, _common(risk, complexity))


def mcdiarmid_gap(
    setting: Setting, risk: RiskSetting, complexity: BoundValue, *, two_sided: bool = False
) -> BoundValue:
    r"""Bound the supremum of L - Lhat: :math:`2CR_n + B\sqrt{t/(2n)}`, log(2/delta) if two-sided.

    McDiarmid: one block moves the supremum by at most B/n.

    Paper: Theorem 3.
    """
    sides = 2 if two_sided else 1
    spread = _moved(setting, risk) * math.sqrt(math.log(sides / risk.delta) / (2 * setting.n))
    failures = _common(risk, complexity) + _bounded_loss(risk) + _numbers(setting, given=True)
    return _bound("mcdiarmid_gap", _symmetrised(risk, complexity) + spread, failures)


def mcdiarmid_excess(setting: Setting, risk: RiskSetting, complexity: BoundValue) -> BoundValue:
    r"""Bound the excess risk with high probability by :math:`2CR_n + B\sqrt{2t/n}`.

    McDiarmid for the supremum of (L - Lhat)(Z) - (L - Lhat)(Z*), which has the same expectation
    bound and which one block moves by at most 2B/n.

    Paper: Theorem 3.
    """
    spread = _moved(setting, risk) * math.sqrt(2 * math.log(1 / risk.delta) / setting.n)
    value = _symmetrised(risk, complexity) + spread + risk.certificate_gap
    failures = _common(risk, complexity) + _bounded_loss(risk)
    return _bound("mcdiarmid_excess", value, failures)


def paper_literal_excess(setting: Setting, risk: RiskSetting, complexity: BoundValue) -> BoundValue:
    r"""Bound the excess risk as the paper's proof does, with its own constants.

    :math:`8CR_n + 2B\sqrt{(1+1/s)\log(2/\delta)/(2n)}`: two uniform deviations, each with 4 C R_n
    from two symmetrisations, and McDiarmid with s/n for a point and 1/n for a label, over s.

    Paper: Theorem 3, Theorem 4, Theorem 6.
    """
    blocks = (1 + 1 / setting.labels_per_point) * math.log(2 / risk.delta) / (2 * setting.n)
    spread = 2 * risk.loss_range * math.sqrt(blocks)
    value = 4 * _symmetrised(risk, complexity) + spread + risk.certificate_gap
    failures = _common(risk, complexity) + _bounded_loss(risk) + _numbers(setting)
    return _bound("paper_literal_excess", value, failures)


def bousquet_excess(setting: Setting, risk: RiskSetting, complexity: BoundValue) -> BoundValue:
    r"""Bound the excess risk for |x| <= R and a loss that need not be bounded.

    :math:`2CR_n + \sqrt{2t(\sigma^2 + 2b\cdot 2CR_n)/n} + bt/(3n)` with
    :math:`\sigma^2 = 4C^2 r^2\sigma_1P` and b = 4 C r R for radius r: Bousquet's inequality for the
    class :math:`\ell_Z - \ell_{Z^*}`, centred, with variance at most
    :math:`C^2\sum_l p_l|S^{1/2}(Z-Z^*)_l|^2` and :math:`|Z-Z^*|_F \le 2r`.
    """
    value = _bousquet_value(setting, risk, complexity, setting.moments.radius, risk.delta)
    failures = _common(risk, complexity) + bounded_features(setting.moments)
    failures += _numbers(setting, given=False)
    return _bound("bousquet_excess", value + risk.certificate_gap, failures)


def bousquet_linear_gap(
    setting: Setting, risk: RiskSetting, complexity: BoundValue, *, symmetric: bool = False
) -> BoundValue:
    r"""Bound the supremum of L - Lhat for the linear loss and |x| <= R.

    Bousquet's inequality for the class of :math:`y\langle z_l, x\rangle`, centred:
    :math:`\sigma^2 = C^2r^2\sigma_1P`, b = 2 C r R and mean 2 C R_n.  When y x and -y x have one
    law given l (`symmetric`, as in Appendix C) the risk of every Z is zero and b and the mean are
    half of that.

    Paper: Appendix C.
    """
    factor = 1 if symmetric else 2
    size = risk.lipschitz * setting.radius
    variance = size**2 * setting.moments.top_eigenvalue * setting.max_probability
    mean = factor * risk.lipschitz * complexity.value
    value = _bousquet(mean, variance, factor * size * setting.moments.radius, setting.n, risk.delta)
    failures = _common(risk, complexity) + _linear(risk) + bounded_features(setting.moments)
    failures += _numbers(setting, given=False)
    return _bound("bousquet_linear_gap", value, failures)


def gaussian_excess(setting: Setting, risk: RiskSetting, complexity: BoundValue) -> BoundValue:
    r"""Bound the excess risk for centred Gaussian x, by truncation at R_delta.

    :math:`R_\delta = \sqrt\Sigma + \sqrt{2\sigma_1\log(2n/\delta)}` bounds all n points but for
    delta/2 (|x| is a Lipschitz function of a standard Gaussian); there Bousquet's bound holds for
    the truncated x with delta/2, its Rademacher average and covariance being no larger; and
    truncation changes a difference of risks by at most :math:`2Cr\,E|x|1\{|x|>R_\delta\} \le
    2Cr(R_\delta + \sigma_1/(R_\delta-\sqrt\Sigma))\delta/(2n)`.
    """
    moments, numbers = setting.feature_moments, setting.label_numbers
    excursion = math.sqrt(2 * moments.top_eigenvalue * math.log(2 * setting.n / risk.delta))
    cut = math.sqrt(moments.second_moment) + excursion
    tail = (cut + moments.top_eigenvalue / excursion) * risk.delta / (2 * setting.n)
    largest = numbers.largest_factor if numbers else 1.0
    inside = _bousquet_value(setting, risk, complexity, largest * cut, risk.delta / 2)
    value = inside + 2 * risk.lipschitz * setting.radius * tail + risk.certificate_gap
    failures = _common(risk, complexity) + _gaussian(setting) + _numbers(setting, given=False)
    return _bound("gaussian_excess", value, failures)


def gaussian_linear_gap(
    setting: Setting, risk: RiskSetting, *, symmetric: bool = False
) -> BoundValue:
    r"""Bound the supremum of L - Lhat for the linear loss, Gaussian x and one label per point.

    :math:`(Cr/n)(a + \sqrt{2\sigma_1M\log(2/\delta)})` for labels of fixed size C that keep y x
    Gaussian given l: given the labels :math:`\|V\|` is a :math:`\sqrt{\sigma_1\max n_l}`-Lipschitz
    function of a standard Gaussian with mean at most a (Chevet :math:`\sqrt{n\sigma_1} +
    \sqrt{\Sigma M}` for the spectral norm, :math:`\sqrt{n\Sigma}` for the Frobenius norm), and
    :math:`\max n_l \le M = nP + \sqrt{2nPu} + u/3`, u = log(2L/delta), except with probability
    delta/2 (Bernstein).

    `symmetric` says that they do: labels that are all one, or signs drawn without looking at x, as
    in Appendix C.  A setting does not know the labels, so nothing is assumed unless it is said.

    Paper: Appendix C.
    """
    moments, mean = setting.moments, setting.n * setting.max_probability
    u = math.log(2 * setting.n_labels / risk.delta)
    count = min(float(setting.n), mean + math.sqrt(2 * mean * u) + u / 3)
    rows = math.sqrt(setting.n * moments.top_eigenvalue)
    chevet = rows + math.sqrt(moments.second_moment * count)
    center = chevet if setting.ball == "trace" else math.sqrt(setting.n * moments.second_moment)
    spread = math.sqrt(2 * moments.top_eigenvalue * count * math.log(2 / risk.delta))
    value = risk.lipschitz * setting.radius / setting.n * (center + spread)
    failures = _sampling(risk) + _linear(risk) + _gaussian(setting) + _numbers(setting)
    s, given = setting.labels_per_point, "needs y x to be Gaussian given the label"
    failures += unless(s == 1, "needs one label per point", f"s = {s:g}")
    failures += unless(symmetric, given, "it is not said to be (`symmetric`)")
    return _bound("gaussian_linear_gap", value, failures)


def data_dependent_gap(setting: Setting, risk: RiskSetting, complexity: BoundValue) -> BoundValue:
    r"""Bound the supremum of L - Lhat by the average given the data, which real data permit.

    :math:`2C\hat R + 3B\sqrt{\log(2/\delta)/(2n)}`: McDiarmid once for the supremum and once for
    the empirical average, which one block moves by at most B/n.  `complexity` is the average given
    the data, one sign and one random slot per point, or a sign per entry with Maurer's factor.
    """
    spread = 3 * _moved(setting, risk) * math.sqrt(math.log(2 / risk.delta) / (2 * setting.n))
    failures = _common(risk, complexity) + _bounded_loss(risk) + _numbers(setting, given=True)
    return _bound("data_dependent_gap", _symmetrised(risk, complexity) + spread, failures)


def _bound(name: str, value: float, failures: Failures) -> BoundValue:
    """Return the bound; a formula with infinity times zero in it has no finite value."""
    return BoundValue(name, math.inf if math.isnan(value) else value, failures)


def _symmetrised(risk: RiskSetting, complexity: BoundValue) -> float:
    """Return 2 C R_n."""
    return 2 * risk.lipschitz * complexity.value


def _bousquet(mean: float, variance: float, b: float, n: int, delta: float) -> float:
    """Return mean + sqrt(2t(variance + 2 b mean)/n) + b t/(3n): Bousquet's inequality over n."""
    t = math.log(1 / delta)
    return mean + math.sqrt(2 * t * (variance + 2 * b * mean) / n) + b * t / (3 * n)


def _bousquet_value(
    setting: Setting, risk: RiskSetting, complexity: BoundValue, bound: float, delta: float
) -> float:
    """Return Bousquet's bound on the excess when |x| <= bound."""
    size = 2 * risk.lipschitz * setting.radius
    variance = size**2 * setting.moments.top_eigenvalue * setting.max_probability
    mean = _symmetrised(risk, complexity)
    return _bousquet(mean, variance, 2 * size * bound, setting.n, delta)


def _moved(setting: Setting, risk: RiskSetting) -> float:
    """Return n times McDiarmid's difference: B k/s, root mean square given all k, else largest."""
    numbers = setting.label_numbers
    if numbers is None:
        return risk.loss_range
    factor = math.sqrt(numbers.spread) if numbers.given else numbers.largest_factor
    return factor * risk.loss_range


def _sampling(risk: RiskSetting) -> Failures:
    """Collect what every risk bound requires: a finite C, and a radius fixed before the data."""
    here = f"the {risk.loss} loss has none on the ball and the support of x and y"
    finite = math.isfinite(risk.lipschitz)
    lipschitz = unless(finite, "needs a finite Lipschitz constant", here)
    return lipschitz + radius_fixed(risk.radius_fixed)


def _common(risk: RiskSetting, complexity: BoundValue) -> Failures:
    """Add to `_sampling` what fails in the bound on the Rademacher average."""
    inherited = tuple(failure.taken_from(complexity.name) for failure in complexity.failures)
    return _sampling(risk) + inherited


def _numbers(setting: Setting, *, given: bool | None = None) -> Failures:
    """Refuse different numbers of labels, unless they are given, or drawn, as the bound needs."""
    numbers = setting.label_numbers
    return () if numbers is None or numbers.given is given else (setting.different_numbers,)


def _bounded_loss(risk: RiskSetting) -> Failures:
    here = f"the range of the {risk.loss} loss is infinite"
    return unless(math.isfinite(risk.loss_range), "needs a bounded loss", here)


def _gaussian(setting: Setting) -> Failures:
    return law_is(setting.feature_law, "gaussian", "centred Gaussian features")


def _linear(risk: RiskSetting) -> Failures:
    return unless(risk.loss == "linear", "needs the linear loss", risk.loss)


# Bounds on the excess risk that hold with probability 1 - delta: single draws are compared
# with the smallest valid one.
RISK_BOUNDS: dict[str, Bound[[Setting, RiskSetting, BoundValue]]] = {
    formula.__name__: Bound(formula.__name__, label, formula, drawn="if asked")
    for formula, label in (
        (mcdiarmid_excess, "Theorem 3 by McDiarmid's inequality"),
        (bousquet_excess, "Theorem 3 by Bousquet's inequality"),
        (gaussian_excess, "Theorem 3 for Gaussian features"),
    )
}
