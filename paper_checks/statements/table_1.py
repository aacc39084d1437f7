"""Checks of Table 1: the derivatives of the losses against differences in fifty digits."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np

from leml_solver import LOSSES, Loss
from leml_theory.arrays import Array
from paper_checks.checking import Bears, Effort, Fact, Findings, Kind, Statement, Sure, Verdict
from paper_checks.checking.fact import CONTROL, MEANT, REFUTES, REPAIRED, SUPPORTS
from paper_checks.statements.section_3_operations import NEWTON, updated
from paper_checks.worlds.factored import FactorWorld, factor_world, vec

DIGITS, STEP = 50, Decimal("1e-15")
# Second differences: truncation 1e-30 / 12, rounding 1e-50 / 1e-30, both far below 1e-16.
PRECISE = "double precision of the formula; the reference has twenty digits"


def squared_value(a: Decimal, b: Decimal) -> Decimal:
    """Return (a - b)^2 / 2."""
    return (a - b) ** 2 / 2


def logistic_value(a: Decimal, b: Decimal) -> Decimal:
    """Return log(1 + exp(-ab))."""
    return (1 + (-a * b).exp()).ln()


def squared_hinge_value(a: Decimal, b: Decimal) -> Decimal:
    """Return max(0, 1 - ab)^2."""
    return max(Decimal(0), 1 - a * b) ** 2


def printed_squared(a: Array, b: Array) -> tuple[Array, Array]:
    """Return both derivatives in the squared loss's row as printed."""
    return b - a, np.ones_like(b)


def printed_logistic(a: Array, b: Array) -> tuple[Array, Array]:
    """Return both derivatives in the logistic loss's row as printed."""
    e = np.exp(-a * b)
    return -a / (1 + e), -(a**2) * e / (1 + e) ** 2


def printed_squared_hinge(a: Array, b: Array) -> tuple[Array, Array]:
    """Return both derivatives in the squared hinge loss's row as printed."""
    return -2 * a * np.maximum(0, 1 - a * b), np.where(a * b < 1, 2.0, 0.0)


def differences(
    value: Callable[[Decimal, Decimal], Decimal], a: Array, b: Array
) -> tuple[Array, Array]:
    """Return first and second derivatives in b by central differences in fifty digits."""
    with localcontext() as context:
        context.prec = DIGITS
        pairs = [(Decimal(float(x)), Decimal(float(y))) for x, y in zip(a, b, strict=True)]
        low, mid, high = ([value(x, y + t * STEP) for x, y in pairs] for t in (-1, 0, 1))
        first = [float((h - lo) / (2 * STEP)) for lo, h in zip(low, high, strict=True)]
        second = [
            float((h - 2 * m + lo) / STEP**2) for lo, m, h in zip(low, mid, high, strict=True)
        ]
    return np.array(first), np.array(second)


def _points(effort: Effort, a: tuple[float, ...]) -> tuple[Array, Array]:
    """Return labels and predictions, none of them within 1e-6 of the hinge's kink."""
    size = effort.pick(100, 2000)
    labels = effort.rng.choice(a, size)
    predictions = effort.rng.uniform(-4, 4, size)
    return labels, np.where(np.abs(labels * predictions - 1) < 1e-6, 0.0, predictions)


def _worst(found: Array, exact: Array) -> float:
    """Return the largest deviation."""
    return float(np.abs(found - exact).max())


def _right(bears: Bears, name: str, found: Array, exact: Array, tolerance: float = 1e-14) -> Fact:
    """Expect a formula to agree with the differences at every point."""
    return bears.equal(name, _worst(found, exact), 0.0, tolerance, PRECISE)


def _ours(loss: Loss, a: Array, b: Array) -> tuple[Array, Array]:
    """Return both derivatives as `leml_solver` computes them."""
    return loss.derivative(a, b), loss.second_derivative(a, b)


@Statement(
    id="A11",
    place="Table 1",
    says="Squared loss (a - b)^2 / 2: derivatives b - a and 1.",
    kind=Kind.EQUALITY,
    refuted_by="A difference beyond double precision.",
)
def squared_row(effort: Effort) -> Findings:
    """Differences in fifty decimal digits, for the printed formulas and for `leml_solver`."""
    a, b = _points(effort, (0.0, 1.0, -1.0, 2.5))
    exact = differences(squared_value, a, b)
    printed, ours = printed_squared(a, b), _ours(LOSSES["squared"], a, b)
    yield _right(SUPPORTS, "error of the printed first derivative", printed[0], exact[0])
    yield _right(SUPPORTS, "error of the printed second derivative", printed[1], exact[1])
    yield _right(CONTROL, "error of ours, first", ours[0], exact[0])
    yield _right(CONTROL, "error of ours, second", ours[1], exact[1])


@Statement(
    id="A12",
    where="Table 1, row 2",
    says="Logistic loss: first derivative -a / (1 + exp(-ab)).",
    kind=Kind.EQUALITY,
    verdict=Verdict.MISPRINT,
    refuted_by="A printed formula that agrees, or ours that does not.",
    correct="-a / (1 + exp(ab)).",
    why="The exponent has the wrong sign: the slope must vanish as ab grows, and the printed one "
    "tends to -a.",
    example="a = 1, b large: the loss is flat, the printed slope is -1.",
    sure=Sure.PROVED,
    matters=3,
)
def logistic_first_derivative(effort: Effort) -> Findings:
    """Differences in fifty decimal digits; the gradient that the printed formula would give."""
    a, b = _points(effort, (-1.0, 1.0))
    exact = differences(logistic_value, a, b)[0]
    printed, ours = printed_logistic(a, b)[0], LOSSES["logistic"].derivative(a, b)
    world = factor_world(effort.rng, LOSSES["logistic"])
    true, wrong = (_design_gradient(world, entry) for entry in (None, printed_logistic))
    error = float(np.linalg.norm(wrong - true) / np.linalg.norm(true))
    worst = _worst(printed, exact)
    yield REFUTES.different("error of the printed derivative", worst, 0.0, 0.5, PRECISE)
    yield _right(MEANT, "error of -a / (1 + exp(ab))", -a / (1 + np.exp(a * b)), exact)
    yield _right(CONTROL, "error of ours", ours, exact)
    yield REFUTES.at_least("relative error of the gradient it gives", error, 0.1)


def _design_gradient(world: FactorWorld, entry: Callable[..., tuple[Array, Array]] | None) -> Array:
    """Return the gradient (8) without penalty, with the loss's slopes or printed ones."""
    fitted = world.design @ vec(world.W)
    right = world.loss.derivative(world.targets, fitted)
    slopes = right if entry is None else entry(world.targets, fitted)[0]
    return np.asarray(world.design.T @ slopes)


@Statement(
    id="A13",
    where="Table 1, row 2",
    says="Logistic loss: second derivative -a^2 exp(-ab) / (1 + exp(-ab))^2.",
    kind=Kind.EQUALITY,
    verdict=Verdict.MISPRINT,
    refuted_by="A printed formula that agrees, or ours that does not.",
    correct="+a^2 exp(-ab) / (1 + exp(-ab))^2. With the printed sign the Hessian is negative and "
    "Newton's method breaks down.",
    why="log(1 + exp(-ab)) is convex in b, so that its second derivative is not negative.",
    example="a = 1, b = 0: printed -1/4, correct 1/4.",
    sure=Sure.PROVED,
    matters=3,
)
def logistic_second_derivative(effort: Effort) -> Findings:
    """Differences in fifty decimal digits; the least eigenvalue of the Hessian it would give."""
    a, b = _points(effort, (-1.0, 1.0))
    exact = differences(logistic_value, a, b)[1]
    printed, ours = printed_logistic(a, b)[1], LOSSES["logistic"].second_derivative(a, b)
    world = factor_world(effort.rng, LOSSES["logistic"])
    fitted = world.design @ vec(world.W)
    bends = printed_logistic(world.targets, fitted)[1]
    lowest = float(np.linalg.eigvalsh(world.design.T @ (bends[:, None] * world.design))[0])
    least = float(np.linalg.eigvalsh(world.hessian(vec(world.W)))[0])
    worst = _worst(printed, exact)
    yield REFUTES.different("error of the printed derivative", worst, 0.0, 0.25, PRECISE)
    yield _right(MEANT, "error with the sign changed", -printed, exact)
    yield _right(CONTROL, "error of ours", ours, exact)
    yield REFUTES.at_most("least eigenvalue of the Hessian it gives, no penalty", lowest, -0.05)
    yield REPAIRED.at_least("least eigenvalue of ours", least, world.penalty, 1e-10)


@Statement(
    id="A14",
    place="Table 1",
    says="Squared hinge loss, labels -1 and +1: derivatives -2a max(0, 1 - ab) and 2 where ab < 1.",
    kind=Kind.EQUALITY,
    refuted_by="A difference beyond double precision for labels -1 and +1.",
    correct="For other labels the second derivative is 2 a^2 where ab < 1.",
)
def squared_hinge_row(effort: Effort) -> Findings:
    """Differences in fifty decimal digits away from the kink; labels -2 and +2 for comparison."""
    a, b = _points(effort, (-1.0, 1.0))
    exact = differences(squared_hinge_value, a, b)
    printed, ours = printed_squared_hinge(a, b), _ours(LOSSES["squared_hinge"], a, b)
    a2, b2 = _points(effort, (-2.0, 2.0))
    general, wrong = differences(squared_hinge_value, a2, b2)[1], printed_squared_hinge(a2, b2)[1]
    yield _right(SUPPORTS, "error of the printed first derivative", printed[0], exact[0])
    yield _right(SUPPORTS, "error of the printed second derivative", printed[1], exact[1], 1e-13)
    yield _right(CONTROL, "error of ours, first", ours[0], exact[0])
    yield _right(CONTROL, "error of ours, second", ours[1], exact[1], 1e-13)
    name = "error of the second derivative for labels -2 and +2"
    yield CONTROL.different(name, _worst(wrong, general), 0.0, 1.0, PRECISE)
    yield _right(CONTROL, "the same with 2 a^2", a2**2 * wrong, general, 1e-13)


@Statement(
    id="A14.1",
    place="Section 3.1",
    says="The squared hinge loss is not twice differentiable, but the sub-differential of its "
    "derivative can be used in a trust region Newton method to solve Equation (7).",
    refuted_by="A gradient that does not vanish at the end, or an end that depends on the choice.",
)
def newton_across_the_kink(effort: Effort) -> Findings:
    """Start at the kink, take 0, 1 or 2 from the sub-differential there; compare the ends."""
    world = _at_the_kink(factor_world(effort.rng, LOSSES["squared_hinge"], share=1.1))
    w = vec(world.W)
    ends = [generalised_newton(world, w, at_kink) for at_kink in (0.0, 1.0, 2.0)]
    slope = max(np.linalg.norm(world.gradient(end)) for end in ends)
    bends = [np.linalg.norm(_kinked_hessian(world, w, at_kink)) for at_kink in (0.0, 2.0)]
    left = slope / np.linalg.norm(world.gradient(0 * w))
    apart = np.linalg.norm(ends[0] - ends[2]) / float(np.linalg.norm(ends[0]))
    solver = world.value(vec(updated(world, "W").W)) / world.value(ends[0])
    yield SUPPORTS.equal("worst gradient at the end over that at w = 0", left, 0.0, 1e-10)
    yield SUPPORTS.equal("distance of the ends for 0 and 2 at the kink", apart, 0.0, 1e-9)
    yield SUPPORTS.equal("objective at the solver's end over the least", solver, 1.0, 1e-2, NEWTON)
    yield CONTROL.at_least("Hessian at the kink, 2 over 0", bends[1] / bends[0], 2.0)


def _at_the_kink(world: FactorWorld) -> FactorWorld:
    """Return the world of the first label alone, its points scaled to margins of one at W."""
    H = world.H[:1]
    margins = (world.X @ world.W @ H.T) * world.Y[:, :1]
    return replace(world, X=world.X / margins, Y=world.Y[:, :1], seen=world.seen[:, :1], H=H)


def _kinked_hessian(world: FactorWorld, w: Array, at_kink: float) -> Array:
    """Return the Hessian (9) with a second derivative of `at_kink` where the margin is one."""
    margins = world.targets * (world.design @ w)
    bends = np.where(margins < 1, 2.0, 0.0)
    bends[np.abs(margins - 1) < 1e-12] = at_kink
    square = world.design.T @ (bends[:, None] * world.design)
    return np.asarray(square + world.penalty * np.eye(w.size))


def generalised_newton(world: FactorWorld, w: Array, at_kink: float, steps: int = 60) -> Array:
    """Return the end of Newton's method with steps halved until they pay."""
    for _ in range(steps):
        slope, value = world.gradient(w), world.value(w)
        step = np.linalg.solve(_kinked_hessian(world, w, at_kink), -slope)
        lengths = (0.5**power for power in range(40))
        pays = (t for t in lengths if world.value(w + t * step) <= value + 1e-4 * t * slope @ step)
        w = w + next(pays, 0.0) * step
    return w
