"""What a solver returns: a point, what is proved about it, and what to do next."""

from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray


class Status(Enum):
    """How a solver ended; each value says what to do next.

    Examples
    --------
    >>> from leml_solver import Status
    >>> print(Status.SOLVED.value)
    The certified gap is within `tol`: use the result.
    """

    SOLVED = "The certified gap is within `tol`: use the result."
    GAP_ABOVE_TOL = (
        "The gap is above `tol` after `max_iter` iterations: use the result with its gap, "
        "raise `max_iter`, or pass its Z as `start`."
    )
    STALLED = (
        "The gap is above `tol` and has stopped shrinking, as rounding forces when the radius is "
        "far from binding: use the result with its gap, raise `tol`, or lower the radius."
    )
    ENGINE_FAILED = (
        "The engine found no solution, so Z = 0 and the gap is the trivial one: "
        "rescale the problem or take the other engine."
    )


@dataclass(frozen=True, slots=True)
class Certificate:
    """Bounds, at the returned point, on how far its objective is from the minimum.

    Examples
    --------
    >>> from leml_solver import Certificate
    >>> certificate = Certificate(objective=1.5, lower_bound=1.25, infeasibility=0.0, scale=5.0)
    >>> certificate.gap, certificate.relative_gap
    (0.25, 0.05)
    """

    objective: float
    """Weighted sum of losses, evaluated afresh at the returned Z."""

    lower_bound: float
    """No point of the ball has a smaller objective."""

    infeasibility: float
    """How far Z lies outside the ball, relative to the radius."""

    scale: float
    """Objective at Z = 0, the unit of the relative gap."""

    @property
    def gap(self) -> float:
        """Objective minus lower bound."""
        return self.objective - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """Gap over the objective at Z = 0 (over the size of the lower bound if that is zero)."""
        unit = self.scale or abs(self.lower_bound)
        return self.gap / unit if unit else self.gap


@dataclass(frozen=True, slots=True, eq=False)
class SolverResult:
    """A feasible Z with its certificate.

    Attributes
    ----------
    Z : (d, L) array
        The returned point.
    status : Status
        How the solver ended and what to do next.
    certificate : Certificate
        Computed at `Z` from the problem alone.
    trace : tuple of float
        The engine's own gap estimate each time it looked.
    iterations : int
        Gradient evaluations of our engine, iterations of the solver inside cvxpy.
    seconds : float
        Wall time.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import Problem, TraceBall, minimise
    >>> result = minimise(Problem("squared", np.eye(2), 2 * np.eye(2)), TraceBall(1.0))
    >>> np.diag(result.Z).round(6)
    array([0.5, 0.5])
    >>> result.status.name, result.certificate.relative_gap < 1e-6
    ('SOLVED', True)
    """

    Z: NDArray[np.float64]
    status: Status
    certificate: Certificate
    trace: tuple[float, ...]
    iterations: int
    seconds: float = 0.0
