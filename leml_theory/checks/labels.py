"""Whether a label model is what it claims to be: its moments and probabilities, by samples."""

from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from argument_checks import open_probability, positive_integer
from leml_theory.arrays import Array
from leml_theory.checks.finding import Finding, mean_finding, plain, settle
from simulations.features import FeatureLaw
from simulations.labels import LabelModel


def check_labels(
    labels: LabelModel,
    law: FeatureLaw,
    *,
    draws: int = 20_000,
    level: float = 1e-6,
    rng: np.random.Generator | None = None,
) -> list[Finding]:
    """Measure whether a label model is what it claims to be; if not, raise an AssertionError.

    Parameters
    ----------
    labels : LabelModel
        The model.
    law : FeatureLaw
        A law of the features that it labels.
    draws : int
        Number of points to draw, all their labels seen.
    level : float
        Probability, at most, that a model that is what it claims to be fails.
    rng : Generator, optional
        Source of randomness; by default always the same.

    Examples
    --------
    >>> from leml_theory import check_labels
    >>> from simulations import AllOnes, IsotropicGaussian
    >>> findings = check_labels(AllOnes(2), IsotropicGaussian(3), draws=2000)
    >>> findings[0].claim
    '`draw`: one label each'
    """
    open_probability(level, "level")
    source = np.random.default_rng(0) if rng is None else rng
    labels.check_features(law)
    X, n_labels = law.sample(positive_integer(draws, "draws"), source), labels.n_labels
    rows, columns = np.divmod(np.arange(draws * n_labels), n_labels)
    drawn = np.asarray(labels.draw(X, rows, columns, source))
    shape = plain("`draw`: one label each", drawn.shape == rows.shape, f"{drawn.shape}")
    findings = settle(type(labels).__name__, [shape])
    Y = drawn.reshape(draws, n_labels)
    findings += [*_values(labels, Y), *_moments(labels, law, X, Y)]
    findings += [*_outcomes(labels, X, Y), *_kind(labels, X, Y)]
    return settle(type(labels).__name__, findings, level)


def _values(labels: LabelModel, Y: Array) -> Iterator[Finding]:
    """Check the values that are drawn."""
    seen = set(np.unique(Y).tolist())
    yield plain("`draw`: finite", np.isfinite(Y).all(), "some labels are NaN or infinite")
    if labels.binary:
        two = seen <= {0.0, 1.0} or seen <= {-1.0, 1.0}
        yield plain("`binary`", two, f"labels such as {sorted(seen)[:3]}")


def _moments(labels: LabelModel, law: FeatureLaw, X: Array, Y: Array) -> Iterator[Finding]:
    """Test E[y x] and E y^2 label by label."""
    M, squares = labels.cross_moments(law), labels.square_moments(law)
    for label, column in enumerate([] if M is None else M.T):
        yield mean_finding(f"`cross_moments` of label {label}", X * Y[:, [label]], column)
    if squares is not None:
        yield mean_finding("`square_moments`", np.square(Y), squares)


def _outcomes(labels: LabelModel, X: Array, Y: Array) -> Iterator[Finding]:
    """Test the probabilities of every value, given the drawn points and weighted by features."""
    outcomes = labels.outcomes(X)
    if outcomes is None:
        return
    total = sum(outcome.probabilities for outcome in outcomes)
    yield plain("`outcomes`: probabilities sum to one", np.allclose(total, 1.0), "they do not")
    for value, chances in outcomes:
        surprise = (value == Y) - chances
        tilted = surprise * np.sign(X[:, :1])
        yield mean_finding(f"`outcomes`: probability of {value:g}", surprise, 0.0)
        yield mean_finding(f"`outcomes`: probability of {value:g} given x", tilted, 0.0)


def _kind(labels: LabelModel, X: Array, Y: Array) -> Iterator[Finding]:
    """Test that labels of a named kind have the mean which that kind gives them at every x."""
    Z = labels.coefficients
    if labels.kind == "other":
        return
    if labels.kind not in ("linear", "logistic") or Z is None:
        yield plain("`kind`", False, f"{labels.kind!r} needs to be known and `coefficients`")
        return
    means = X @ Z if labels.kind == "linear" else expit(X @ Z)
    for residuals in (Y - means, (Y - means) * means):
        yield mean_finding(f"`kind` {labels.kind}: mean given x", residuals, 0.0)
    if labels.kind == "linear" and labels.noise is not None:
        yield mean_finding("`noise`: its square", np.square(Y - means), labels.noise**2)
