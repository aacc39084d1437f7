"""Losses, entry by entry: values, derivatives, conjugates and the constants the bounds need.

A loss of your own derives from `Loss`; solvers, certificates, cvxpy, population risks and bounds
ask the loss. Only the squared loss itself has shortcuts of its own.

Paper: Table 1.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, xlog1py, xlogy

from argument_checks import one_of

Array = NDArray[np.float64]


class Loss(ABC):
    """A convex loss of a label y and a prediction f; every method works entry by entry.

    A loss must have a `name`, a `curvature`, values, derivatives and a conjugate.  The defaults of
    the rest are right for a conjugate that is finite everywhere, and claim no constant.
    `leml_theory.checks.check_loss` measures whether a loss has the properties it claims.

    Attributes
    ----------
    name : str
        The key in `LOSSES`.
    curvature : float or None
        Supremum of the second derivative; None when the loss has a kink.
    binary : bool
        Whether labels are -1 and +1.
    residual : bool
        Whether the loss depends on y - f only.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Logistic, Loss
    >>> loss: Loss = Logistic()
    >>> y, f = np.array([1.0]), np.array([0.0])
    >>> loss.derivative(y, f), loss.second_derivative(y, f)
    (array([-0.5]), array([0.25]))
    >>> loss.curvature
    0.25
    """

    __slots__ = ()

    name: str
    curvature: float | None
    binary: bool = False
    residual: bool = False

    @property
    def smooth(self) -> bool:
        """Whether the loss has a derivative everywhere."""
        return self.curvature is not None

    def encode(self, values: Array) -> Array:
        """Labels as the loss needs them: signs for a binary loss, unchanged otherwise."""
        return _encode_signs(values, self.name) if self.binary else values

    @abstractmethod
    def value(self, y: Array, f: Array) -> Array:
        """Loss of predicting f when the label is y."""

    @abstractmethod
    def derivative(self, y: Array, f: Array) -> Array:
        """Derivative in f; a subgradient at a kink."""

    @abstractmethod
    def second_derivative(self, y: Array, f: Array) -> Array:
        """Second derivative in f; zero where there is none."""

    @abstractmethod
    def conjugate(self, y: Array, u: Array) -> Array:
        """Supremum over f of u f - loss(y, f); infinite outside its domain."""

    def clip_dual(self, y: Array, u: Array) -> Array:  # noqa: ARG002
        """Nearest point to u at which the conjugate is finite."""
        return u

    def dual_scales(self, y: Array, u: Array) -> tuple[float, float]:  # noqa: ARG002
        """Interval of t for which the conjugate is finite at t u, given that it is finite at u."""
        return 0.0, np.inf

    def lipschitz(self, prediction_bound: float, label_bound: float) -> float:  # noqa: ARG002
        """Supremum of the derivative's size over |f| <= prediction_bound, |y| <= label_bound."""
        return np.inf

    def range_length(self, prediction_bound: float, label_bound: float) -> float:  # noqa: ARG002
        """Length of the interval of values over |f| <= prediction_bound, |y| <= label_bound."""
        return np.inf

    def cvxpy_expression(self, y: Array, f: Any, weights: Array) -> Any:
        """Weighted sum of losses in cvxpy, where f is an expression with one entry per label."""
        raise NotImplementedError(
            f"The {self.name} loss has no `cvxpy_expression`, which must return the weighted sum "
            "of losses for the engine 'cvxpy'; add it to the class."
        )


def _cvxpy() -> Any:
    """Return cvxpy, which takes a second to import."""
    return import_module("cvxpy")


def _encode_signs(values: Array, name: str) -> Array:
    """Return labels as -1 and +1; {0, 1} and {-1, +1} are understood."""
    ones = values == 1
    if not any((ones | (values == other)).all() for other in (0, -1)):
        shown = np.unique(values)[:5].tolist()
        raise ValueError(
            f"`values` must be in {{0, 1}} or in {{-1, +1}} for the {name} loss, got {shown}; "
            "threshold them first or take the squared loss."
        )
    return np.where(values > 0, 1.0, -1.0)


class _UnitSlopes(Loss):
    """A loss whose derivative is at most 1 in size, and so are dual variables."""

    __slots__ = ()

    def clip_dual(self, y: Array, u: Array) -> Array:
        """Return u moved into [-1, 1], for a binary loss -y u into [0, 1]."""
        return -y * np.clip(-y * u, 0.0, 1.0) if self.binary else np.clip(u, -1.0, 1.0)

    def dual_scales(self, y: Array, u: Array) -> tuple[float, float]:  # noqa: ARG002
        """Return the t with t |u| <= 1."""
        largest = float(np.abs(u).max())
        return 0.0, (np.inf if largest == 0 else 1 / largest)

    def second_derivative(self, y: Array, f: Array) -> Array:
        """Return zero: without a curve there are kinks at most."""
        return np.zeros(np.broadcast_shapes(y.shape, f.shape))

    def lipschitz(self, prediction_bound: float, label_bound: float) -> float:  # noqa: ARG002
        """Return one."""
        return 1.0


@dataclass(frozen=True, slots=True)
class Linear(Loss):
    """-y f: the loss of Appendix C.

    Paper: Appendix C.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Linear
    >>> Linear().value(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    array([-0.5,  0.5])
    """

    name = "linear"
    curvature = 0.0

    def value(self, y: Array, f: Array) -> Array:
        """Return -y f."""
        return -y * f

    def derivative(self, y: Array, f: Array) -> Array:
        """Return -y."""
        return np.broadcast_to(-y, np.broadcast_shapes(y.shape, f.shape)).copy()

    def second_derivative(self, y: Array, f: Array) -> Array:
        """Return zero."""
        return np.zeros(np.broadcast_shapes(y.shape, f.shape))

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return 0 at u = -y and infinity elsewhere."""
        return np.where(u == -y, 0.0, np.inf)

    def clip_dual(self, y: Array, u: Array) -> Array:
        """Return -y, the only point of the domain."""
        return np.broadcast_to(-y, u.shape).copy()

    def dual_scales(self, y: Array, u: Array) -> tuple[float, float]:  # noqa: ARG002
        """Return (1, 1): the domain is one point."""
        return 1.0, 1.0

    def lipschitz(self, prediction_bound: float, label_bound: float) -> float:  # noqa: ARG002
        """Return the largest label."""
        return label_bound

    def range_length(self, prediction_bound: float, label_bound: float) -> float:
        """Return 2 |f| |y|."""
        return 2 * prediction_bound * label_bound

    def cvxpy_expression(self, y: Array, f: Any, weights: Array) -> Any:
        """Return -(w y) . f."""
        return -(weights * y) @ f


@dataclass(frozen=True, slots=True)
class Squared(Loss):
    """(y - f)^2 / 2.

    Paper: Table 1.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Squared
    >>> Squared().value(np.array([1.0]), np.array([-2.0]))
    array([4.5])
    >>> Squared().derivative(np.array([1.0]), np.array([-2.0]))
    array([-3.])
    """

    name = "squared"
    curvature = 1.0
    residual = True

    def value(self, y: Array, f: Array) -> Array:
        """Return (y - f)^2 / 2."""
        return 0.5 * np.square(y - f)

    def derivative(self, y: Array, f: Array) -> Array:
        """Return f - y."""
        return f - y

    def second_derivative(self, y: Array, f: Array) -> Array:
        """Return one."""
        return np.ones(np.broadcast_shapes(y.shape, f.shape))

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return u^2 / 2 + u y."""
        return u * (0.5 * u + y)

    def lipschitz(self, prediction_bound: float, label_bound: float) -> float:
        """Return |f| + |y|."""
        return prediction_bound + label_bound

    def range_length(self, prediction_bound: float, label_bound: float) -> float:
        """Return (|f| + |y|)^2 / 2."""
        return 0.5 * (prediction_bound + label_bound) ** 2

    def cvxpy_expression(self, y: Array, f: Any, weights: Array) -> Any:
        """Return |sqrt(w) (f - y)|^2 / 2."""
        cp = _cvxpy()
        return 0.5 * cp.sum_squares(cp.multiply(np.sqrt(weights), f - y))


@dataclass(frozen=True, slots=True)
class Logistic(_UnitSlopes):
    """log(1 + exp(-y f)), labels -1 and +1.

    Paper: Table 1.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Logistic
    >>> Logistic().value(np.array([1.0, -1.0]), np.array([0.0, 2.0])).round(4)
    array([0.6931, 2.1269])
    """

    name = "logistic"
    curvature = 0.25
    binary = True

    def value(self, y: Array, f: Array) -> Array:
        """Return log(1 + exp(-y f))."""
        return np.logaddexp(0.0, -y * f)

    def derivative(self, y: Array, f: Array) -> Array:
        """Return -y / (1 + exp(y f))."""
        return np.asarray(-y * expit(-y * f))

    def second_derivative(self, y: Array, f: Array) -> Array:
        """Return p (1 - p) with p = 1 / (1 + exp(-y f))."""
        margin = y * f
        return np.asarray(expit(margin) * expit(-margin))

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return p log p + (1 - p) log(1 - p) with p = -y u in [0, 1]."""
        p = -y * u
        inside = (p >= 0) & (p <= 1)
        q = np.clip(p, 0.0, 1.0)
        # log1p keeps the digits of a small q, without which the dual bound could exceed the minimum
        return np.where(inside, xlogy(q, q) + xlog1py(1 - q, -q), np.inf)

    def lipschitz(self, prediction_bound: float, label_bound: float) -> float:  # noqa: ARG002
        """Return 1 / (1 + exp(-|f|))."""
        return float(expit(prediction_bound))

    def range_length(self, prediction_bound: float, label_bound: float) -> float:  # noqa: ARG002
        """Return |f|, since log(1 + e^a) - log(1 + e^-a) = a."""
        return prediction_bound

    def cvxpy_expression(self, y: Array, f: Any, weights: Array) -> Any:
        """Return w . log(1 + exp(-y f))."""
        cp = _cvxpy()
        return weights @ cp.logistic(-cp.multiply(y, f))


@dataclass(frozen=True, slots=True)
class SquaredHinge(Loss):
    """max(0, 1 - y f)^2, labels -1 and +1.

    Paper: Table 1.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import SquaredHinge
    >>> SquaredHinge().value(np.array([1.0, 1.0, -1.0]), np.array([2.0, 0.5, 0.5]))
    array([0.  , 0.25, 2.25])
    """

    name = "squared_hinge"
    curvature = 2.0
    binary = True

    def value(self, y: Array, f: Array) -> Array:
        """Return max(0, 1 - y f)^2."""
        return np.square(np.maximum(0.0, 1 - y * f))

    def derivative(self, y: Array, f: Array) -> Array:
        """Return -2 y max(0, 1 - y f)."""
        return -2 * y * np.maximum(0.0, 1 - y * f)

    def second_derivative(self, y: Array, f: Array) -> Array:
        """Return 2 where y f < 1 and 0 elsewhere."""
        return np.where(y * f < 1, 2.0, 0.0)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return v^2 / 4 - v with v = -y u >= 0."""
        v = -y * u
        return np.where(v >= 0, v * (0.25 * v - 1), np.inf)

    def clip_dual(self, y: Array, u: Array) -> Array:
        """Return u with -y u moved above 0."""
        return -y * np.maximum(-y * u, 0.0)

    def lipschitz(self, prediction_bound: float, label_bound: float) -> float:  # noqa: ARG002
        """Return 2 (1 + |f|)."""
        return 2 * (1 + prediction_bound)

    def range_length(self, prediction_bound: float, label_bound: float) -> float:  # noqa: ARG002
        """Return the span of max(0, 1 - m)^2 over margins |m| <= |f|."""
        return float((1 + prediction_bound) ** 2 - max(0.0, 1 - prediction_bound) ** 2)

    def cvxpy_expression(self, y: Array, f: Any, weights: Array) -> Any:
        """Return |sqrt(w) max(0, 1 - y f)|^2."""
        cp = _cvxpy()
        return cp.sum_squares(cp.multiply(np.sqrt(weights), cp.pos(1 - cp.multiply(y, f))))


@dataclass(frozen=True, slots=True)
class Absolute(_UnitSlopes):
    """|y - f|.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Absolute
    >>> Absolute().value(np.array([1.0]), np.array([-2.0]))
    array([3.])
    >>> Absolute().smooth
    False
    """

    name = "absolute"
    curvature = None
    residual = True

    def value(self, y: Array, f: Array) -> Array:
        """Return |y - f|."""
        return np.abs(y - f)

    def derivative(self, y: Array, f: Array) -> Array:
        """Return the sign of f - y."""
        return np.sign(f - y)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return u y for |u| <= 1."""
        return np.where(np.abs(u) <= 1, u * y, np.inf)

    def range_length(self, prediction_bound: float, label_bound: float) -> float:
        """Return |f| + |y|."""
        return prediction_bound + label_bound

    def cvxpy_expression(self, y: Array, f: Any, weights: Array) -> Any:
        """Return w . |f - y|."""
        return weights @ _cvxpy().abs(f - y)


@dataclass(frozen=True, slots=True)
class Hinge(_UnitSlopes):
    """max(0, 1 - y f), labels -1 and +1.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Hinge
    >>> Hinge().value(np.array([1.0, 1.0, -1.0]), np.array([2.0, 0.5, 0.5]))
    array([0. , 0.5, 1.5])
    """

    name = "hinge"
    curvature = None
    binary = True

    def value(self, y: Array, f: Array) -> Array:
        """Return max(0, 1 - y f)."""
        return np.maximum(0.0, 1 - y * f)

    def derivative(self, y: Array, f: Array) -> Array:
        """Return -y where y f < 1 and 0 elsewhere."""
        return np.where(y * f < 1, -y, 0.0)

    def conjugate(self, y: Array, u: Array) -> Array:
        """Return u y for -y u in [0, 1]."""
        p = -y * u
        return np.where((p >= 0) & (p <= 1), -p, np.inf)

    def range_length(self, prediction_bound: float, label_bound: float) -> float:  # noqa: ARG002
        """Return the span of max(0, 1 - m) over margins |m| <= |f|."""
        return float(1 + prediction_bound - max(0.0, 1 - prediction_bound))

    def cvxpy_expression(self, y: Array, f: Any, weights: Array) -> Any:
        """Return w . max(0, 1 - y f)."""
        cp = _cvxpy()
        return weights @ cp.pos(1 - cp.multiply(y, f))


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (Linear(), Squared(), Logistic(), SquaredHinge(), Absolute(), Hinge())
}


def as_loss(loss: Any) -> Loss:
    """Return a loss, given as itself or by its name."""
    if isinstance(loss, str):
        return LOSSES[one_of(loss, "loss", tuple(LOSSES))]
    if not hasattr(loss, "encode"):
        raise TypeError(f"`loss` must be a Loss such as LOSSES['squared'], got {loss!r}.")
    checked: Loss = loss
    return checked
