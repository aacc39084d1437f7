"""Our engine: a first-order phase finds the face of the ball, semismooth Newton the exact point.

Three first-order phases, by what the objective allows: splitting for quadratics, second-order
models of it (minimised over the ball by the same engine) when a Gram matrix per label is
affordable, and accelerated gradient otherwise. After each of them Newton steps are tried and
abandoned at once if they do not cut the gap.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from leml_solver._exact.balls import Ball
from leml_solver._exact.certificate import certify
from leml_solver._exact.faces import Round, face_of
from leml_solver._exact.objective import Entries, Model, Quadratic, reduce
from leml_solver._exact.steps import accelerate, newton_step, split
from leml_solver.losses import Linear
from leml_solver.problem import Problem
from leml_solver.result import SolverResult, Status

Array = NDArray[np.float64]

_WARM_UP = 10
# Rounds in which the step of splitting may change; it converges only if that ends.
_BALANCINGS = 6
_SPLITTINGS = 10
_FIRST_GRADIENTS = 20
_MOST_GRADIENTS = 200
_NEWTON_STEPS = 30
# Longest step of the normal map, in inverse curvatures.
_LONGEST = 1e4
# A Newton step must cut the gap by this factor, or the face is not the right one yet.
_NEWTON_CUT = 0.6
# Where Newton steps descend, this decrease of the value is enough.
_NEWTON_FALL = 1e-6
_LENGTHS = (1.0, 0.3, 0.1)
# A second-order model is minimised to this share of the gap.
_INNER_SHARE = 0.05
# Damping of a second-order model: its penalty on doubling Z, in units of the gap.
_DAMPING = 0.5
# Rounds without halving the best gap after which the search has stalled.
_PATIENCE = 25


@dataclass(frozen=True, eq=False)
class Point:
    """A feasible matrix with its value, gradient and gap."""

    Z: Array
    value: float
    gradient: Array
    gap: float


@dataclass(eq=False)
class Search:
    """One run of the engine on one model; `iterations` counts gradients."""

    model: Model
    ball: Ball
    max_iter: int
    trace: list[float] = field(default_factory=list)
    iterations: int = 0
    step: float = 0.0
    rounds: int = 0
    n_gradients: int = _FIRST_GRADIENTS

    def run(self, start: Array, target: float) -> Point:
        """Return a point with a gap below target, or the best one found."""
        warm_up = min(_WARM_UP, self.max_iter)
        warm = accelerate(self.model, self.ball, start, 1 / self.model.smoothness, warm_up)
        self.iterations += warm_up
        best = point = self.at(warm)
        Y, waited, mark = point.Z, 0, point.gap
        while best.gap > target and self.iterations < self.max_iter and waited < _PATIENCE:
            Y, point = self.polish(*self.advance(Y, point), target)
            best = min(best, point, key=lambda p: p.gap)
            waited, mark = (0, best.gap) if best.gap < 0.5 * mark else (waited + 1, mark)
        return best

    def at(self, Z: Array) -> Point:
        """Evaluate a feasible Z; its gap is to the linearised bound or to the model's floor."""
        value, G = self.model.evaluate(Z)
        self.iterations += 1
        linear = float(np.vdot(G, Z)) + self.ball.radius * self.ball.dual_norm(G)
        gap = min(value - self.model.floor, linear)
        self.trace.append(gap)
        return Point(Z, value, G, gap)

    def advance(self, Y: Array, point: Point) -> tuple[Array, Point]:
        """Make progress from the point (or from Y, where splitting left off)."""
        self.rounds += 1
        model = self.model
        # Splitting may stall while its step is out of balance; gradient steps cannot.
        if isinstance(model, Quadratic) and self.rounds % 4 != 0:
            return self._split(model, Y, point)
        if self.rounds % 2 == 1 and isinstance(model, Entries) and model.has_small_blocks:
            point = self._minimise_quadratic(model, point)
        else:
            point = self._accelerate(point)
        # Inside the ball P does nothing, and a long step in Y would lead far from Z.
        inside = self.ball.norm(point.Z) < (1 - 1e-9) * self.ball.radius
        self.step = 1 / self.model.smoothness if inside else self._balanced(point)
        return point.Z - self.step * point.gradient, point

    def polish(self, Y: Array, point: Point, target: float) -> tuple[Array, Point]:
        """Take Newton steps while they cut the gap."""
        for _ in range(_NEWTON_STEPS):
            moved = None if point.gap <= target else self._newton(Y, point)
            if moved is None:
                break
            Y, point = moved
        return Y, point

    def _newton(self, Y: Array, point: Point) -> tuple[Array, Point] | None:
        """Return Y and its projection after Newton's step, or None if that does not help."""
        face = face_of(self.ball, Y)
        phi = Y - face.Z + self.step * self.model.evaluate(face.Z)[1]
        change = newton_step(face, self.model.hessian(face.Z), phi, self.step)
        # On a low-rank face a failed step has the wrong rank, which a shorter one does not cure;
        # elsewhere it is a descent direction.
        is_round = isinstance(face, Round)
        for length in _LENGTHS if is_round else (1.0,):
            new = self.at(self.ball.project(Y + length * change))
            falls = is_round and new.value < point.value - _NEWTON_FALL * abs(point.value)
            if new.gap < _NEWTON_CUT * point.gap or falls:
                return Y + length * change, new
        return None

    def _balanced(self, point: Point) -> float:
        """Return the step that gives Z and step * gradient the same size, within limits."""
        size, slope = float(np.linalg.norm(point.Z)), float(np.linalg.norm(point.gradient))
        limit = _LONGEST / self.model.smoothness
        return min(size / slope, limit) if size > 0 and slope > 0 else limit

    def _split(self, model: Quadratic, Y: Array, point: Point) -> tuple[Array, Point]:
        wanted = self._balanced(point)
        settled = self.rounds > _BALANCINGS and self.step > 0
        if not settled and not self.step / 3 < wanted < self.step * 3:
            self.step, Y = wanted, point.Z - wanted * point.gradient
        Y = split(model, self.ball, Y, self.step, _SPLITTINGS)
        self.iterations += _SPLITTINGS
        return Y, self.at(self.ball.project(Y))

    def _accelerate(self, point: Point) -> Point:
        n, step = self.n_gradients, 1 / self.model.smoothness
        self.iterations += n
        self.n_gradients = min(2 * n, _MOST_GRADIENTS)
        return self.at(accelerate(self.model, self.ball, point.Z, step, n))

    def _minimise_quadratic(self, model: Entries, point: Point) -> Point:
        """Move towards the minimiser of the second-order model, as far as the value falls."""
        damping = _DAMPING * point.gap / max(float(np.vdot(point.Z, point.Z)), 1e-300)
        quadratic = model.quadratic_at(point.Z, point.value, point.gradient, damping)
        inner = Search(quadratic, self.ball, self.max_iter - self.iterations)
        aim = inner.run(point.Z, _INNER_SHARE * point.gap).Z
        self.iterations += inner.iterations
        slope = float(np.vdot(point.gradient, aim - point.Z))
        for halvings in range(20):
            length = 0.5**halvings
            new = self.at(point.Z + length * (aim - point.Z))
            if new.value <= point.value + 1e-4 * length * slope:
                return new
        return self._accelerate(point)


def search_minimum(
    problem: Problem, ball: Ball, *, tol: float, max_iter: int, start: Array | None
) -> SolverResult:
    """Minimise a smooth objective over the ball until the certified relative gap is below tol."""
    if type(problem.loss) is Linear:
        Z = ball.linear_minimiser(problem.gradient(np.zeros(problem.shape)))
        return SolverResult(Z, Status.SOLVED, certify(problem, ball, Z), (), 1)
    model, basis = reduce(problem)
    Z = np.zeros(model.shape)
    if model.smoothness == 0:  # X vanishes at every entry: all Z are equally good
        answer = np.zeros(problem.shape)
        certificate = certify(problem, ball, answer)
        solved = certificate.gap <= tol * problem.scale
        return SolverResult(answer, Status.SOLVED if solved else Status.STALLED, certificate, (), 1)
    search = Search(model, ball, max_iter)
    if start is not None:
        Z = ball.project(start if basis is None else basis.T @ start)
    return _until_certified(problem, search, basis, Z, tol)


def _until_certified(
    problem: Problem, search: Search, basis: Array | None, Z: Array, tol: float
) -> SolverResult:
    """Tighten the engine's own target until the certificate agrees, or rounding prevents it."""
    target = 0.5 * tol * problem.scale
    status = Status.STALLED
    for _ in range(3):
        Z = search.run(Z, target).Z
        answer = Z if basis is None else np.asarray(basis @ Z)
        certificate = certify(problem, search.ball, answer)
        if certificate.gap <= tol * problem.scale:
            status = Status.SOLVED
            break
        if search.iterations >= search.max_iter:
            status = Status.GAP_ABOVE_TOL
            break
        target /= 10
    return SolverResult(answer, status, certificate, tuple(search.trace), search.iterations)
