"""Whether a loss is what it claims to be: derivatives, conjugate, constants, cvxpy expression."""

import math
from numbers import Real
from typing import Any

import numpy as np

from leml_solver.losses import Loss
from leml_theory.arrays import Array
from leml_theory.checks.finding import ROUNDING, Finding, plain, settle

# Bounds on predictions and labels at which the constants of the bounds are measured.
_BOUNDS = ((0.4, 1.0), (1.0, 1.0), (2.5, 1.0), (2.5, 2.0), (30.0, 2.0))


def check_loss(loss: Loss) -> list[Finding]:
    """Measure whether a loss is what it claims to be; if not, raise an AssertionError.

    Derivatives are compared with differences, the conjugate with the Fenchel-Young inequality,
    constants with a grid of labels and predictions, and the cvxpy expression with the value.

    Parameters
    ----------
    loss : Loss
        The loss.

    Examples
    --------
    >>> from leml_solver.losses import LOSSES
    >>> from leml_theory import check_loss
    >>> all(finding.p_value == 1.0 for finding in check_loss(LOSSES["logistic"]))
    True
    """
    y, f = _grid(loss, 4.0, 2.0)
    methods = ("value", "derivative", "second_derivative", "conjugate")
    found = {f"`{name}`: entry by entry": np.shape(getattr(loss, name)(y, f)) for name in methods}
    shapes = [plain(claim, shape == f.shape, f"shape {shape}") for claim, shape in found.items()]
    constants = {name: getattr(loss, name)(1.0, 1.0) for name in ("lipschitz", "range_length")}
    for name, number in constants.items():
        shapes.append(plain(f"`{name}`: a number", isinstance(number, Real), f"{number!r}"))
    scales = loss.dual_scales(y, np.zeros_like(f))
    shapes.append(plain("`dual_scales`: two numbers", np.shape(scales) == (2,), f"{scales!r}"))
    findings = settle(f"The {loss.name} loss", shapes) + _encoding(loss)
    findings += _derivatives(loss, y, f) + _curvature(loss, y, f) + _conjugate(loss, y, f)
    findings += _domain(loss, y, f) + _constants(loss) + _residual(loss, y, f) + _in_cvxpy(loss)
    return settle(f"The {loss.name} loss", findings)


def _grid(loss: Loss, prediction_bound: float, label_bound: float) -> tuple[Array, Array]:
    """Return all pairs of a label and a prediction, as two flat arrays; predictions grow."""
    labels = np.array([-1.0, 1.0]) if loss.binary else np.linspace(-label_bound, label_bound, 9)
    f, y = np.meshgrid(np.linspace(-prediction_bound, prediction_bound, 801), labels)
    return y.ravel(), f.ravel()


def _worst(claim: str, excess: Array, y: Array, f: Array, words: str) -> Finding:
    """Return the finding on a claim that holds where `excess` is not positive."""
    place = int(np.argmax(excess))
    measured = f"off by {excess[place]:.3g} at y = {y[place]:.4g}, {words} = {f[place]:.4g}"
    return plain(claim, excess[place] <= 0, measured)


def _encoding(loss: Loss) -> list[Finding]:
    """Check how labels are turned into what the loss needs."""
    if not loss.binary:
        values = np.array([-1.5, 0.0, 0.3])
        same = np.array_equal(loss.encode(values), values)
        return [plain("`encode`: labels unchanged", same, f"{loss.encode(values)} for {values}")]
    signs = np.array([-1.0, 1.0])
    understood = all(
        np.array_equal(loss.encode(np.array([low, 1.0])), signs) for low in (0.0, -1.0)
    )
    return [plain("`encode`: {0, 1} and {-1, 1} as signs", understood, "they are not")]


def _derivatives(loss: Loss, y: Array, f: Array) -> list[Finding]:
    """Check that the derivative lies between the slopes to both sides, and grows."""
    h, value, slope = 1e-5, loss.value(y, f), loss.derivative(y, f)
    if not np.isfinite(value).all():
        return [plain("`value`: finite", False, "some values are NaN or infinite")]
    # Rounding of two values over their distance.
    slack = 1e-14 * (1 + np.abs(value)) / h
    right, left = loss.value(y, f + h) - value, value - loss.value(y, f - h)
    outside = np.maximum(slope - right / h, left / h - slope) - slack
    growth = np.diff(slope.reshape(-1, 801), axis=1, append=np.inf).ravel()
    return [
        _worst("`derivative`: the slope of `value`", outside, y, f, "f"),
        _worst("convex: `derivative` grows with f", -growth - slack, y, f, "f"),
    ]


def _curvature(loss: Loss, y: Array, f: Array) -> list[Finding]:
    """Check the second derivative against differences, and the curvature against both."""
    h, slope, second = 1e-5, loss.derivative(y, f), loss.second_derivative(y, f)
    right, left = loss.derivative(y, f + h) - slope, slope - loss.derivative(y, f - h)
    near = (loss.derivative(y, f + h / 2) - loss.derivative(y, f - h / 2)) / h
    slack = 1e-13 * (1 + np.abs(slope)) / h
    # A kink of value or slope has no second derivative: the two sides differ, or the two steps do.
    spread = np.maximum(np.abs(right - left) / h, np.abs((right + left) / (2 * h) - near))
    tolerance = 1e-3 * (1 + np.abs(second))
    gaps = np.where(spread > tolerance, 0.0, np.abs(second - near) - tolerance)
    found = [_worst("`second_derivative`: the slope of `derivative`", gaps, y, f, "f")]
    if loss.curvature is not None:
        found.append(plain("`curvature`: None at a kink", np.isfinite(loss.curvature), "infinite"))
        largest = np.maximum(np.maximum(right, left) / h, second)
        excess = largest - loss.curvature * (1 + 1e-6) - slack
        found.append(_worst("`curvature`: no larger second derivative", excess, y, f, "f"))
    return found


def _conjugate(loss: Loss, y: Array, f: Array) -> list[Finding]:
    """Check Fenchel and Young: equality at the derivative, an inequality everywhere."""
    u, value = loss.derivative(y, f), loss.value(y, f)
    gap = np.abs(value + loss.conjugate(y, u) - u * f)
    slack = ROUNDING * (1 + np.abs(value) + np.abs(u * f))
    found = [_worst("`conjugate`: equality at the derivative", gap - slack, y, f, "f")]
    below = np.full(f.shape, -np.inf)
    for dual in np.linspace(-3.0, 3.0, 49):
        v = np.full(f.shape, dual)
        below = np.maximum(below, v * f - value - loss.conjugate(y, v) - slack - ROUNDING)
    return [*found, _worst("`conjugate`: at least u f - value", below, y, f, "f")]


def _domain(loss: Loss, y: Array, f: Array) -> list[Finding]:
    """Check that clipping enters the domain of the conjugate and that scales stay in it."""
    u = f.copy()
    clipped = loss.clip_dual(y, u)
    inside = np.isfinite(loss.conjugate(y, u))
    moved = np.where(inside, np.abs(clipped - u), 0.0)
    outside = (~np.isfinite(loss.conjugate(y, clipped))).astype(float)
    slope = loss.derivative(y, f)
    low, high = loss.dual_scales(y, slope)
    ends = [
        t for t in (low, 0.5 * (low + 1), 1.0, min(high * (1 - 1e-12), 2.0)) if low <= t <= high
    ]
    finite = all(np.isfinite(loss.conjugate(y, t * slope)).all() for t in ends)
    return [
        _worst("`clip_dual`: a finite conjugate", outside, y, u, "u"),
        _worst("`clip_dual`: keeps what is inside", moved - ROUNDING, y, u, "u"),
        plain(
            "`dual_scales`: an interval around 1 with a finite conjugate",
            low <= 1 <= high * (1 + ROUNDING) and finite,
            f"({low:.6g}, {high:.6g}) at the derivative",
        ),
    ]


def _constants(loss: Loss) -> list[Finding]:
    """Check that no slope and no range on a grid is above the constants of the bounds."""
    found = []
    for predictions, labels in _BOUNDS:
        y, f = _grid(loss, predictions, labels)
        value = loss.value(y, f)
        where = f"for |f| <= {predictions:g}, |y| <= {labels:g}"
        steepest = float(np.abs(loss.derivative(y, f)).max())
        measured = {
            f"`lipschitz` {where}": (steepest, loss.lipschitz(predictions, labels)),
            f"`lipschitz` without bounds, {where}": (steepest, loss.lipschitz(math.inf, math.inf)),
            f"`range_length` {where}": (np.ptp(value), loss.range_length(predictions, labels)),
        }
        found += [
            plain(claim, size <= bound * (1 + ROUNDING), f"{size:.6g}, at most {bound:.6g} claimed")
            for claim, (size, bound) in measured.items()
        ]
    return found


def _residual(loss: Loss, y: Array, f: Array) -> list[Finding]:
    """Check that a loss of y - f is one."""
    if not loss.residual:
        return []
    value, shifted = loss.value(y, f), loss.value(y + 1.7, f + 1.7)
    excess = np.abs(shifted - value) - ROUNDING * (1 + np.abs(value))
    return [_worst("`residual`: a loss of y - f only", excess, y, f, "f")]


def _in_cvxpy(loss: Loss) -> list[Finding]:
    """Check that the cvxpy expression is convex and has the value of the loss."""
    import cvxpy

    y, f = (array[::97] for array in _grid(loss, 4.0, 2.0))
    weights = np.linspace(0.5, 2.0, y.size)
    try:
        found: Any = loss.cvxpy_expression(y, cvxpy.Constant(f), weights)
    except NotImplementedError:
        return [plain("`cvxpy_expression`", True, "not given, so the engine 'cvxpy' is out")]
    expected = float(weights @ loss.value(y, f))
    convex = loss.cvxpy_expression(y, cvxpy.Variable(y.size), weights).is_convex()
    measured = f"{float(found.value):.9g}, but the weighted sum of losses is {expected:.9g}"
    # cvxpy evaluates the same formulas, in another order.
    same = math.isclose(float(found.value), expected, rel_tol=ROUNDING, abs_tol=ROUNDING)
    return [
        plain("`cvxpy_expression`: the weighted sum of values", same, measured),
        plain("`cvxpy_expression`: convex", convex, "cvxpy does not see that it is"),
    ]
