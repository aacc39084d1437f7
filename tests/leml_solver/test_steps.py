"""The steps of the exact engine: as published, and with the rates that theory promises."""

import numpy as np
import pytest

from leml_solver import LOSSES, FrobeniusBall, Problem, TraceBall, minimise
from leml_solver._exact import faces, steps
from leml_solver._exact.faces import face_of
from leml_solver._exact.objective import Entries, Quadratic
from leml_solver._exact.steps import accelerate, newton_step, split

BALLS = pytest.mark.parametrize("ball", [TraceBall(2.0), FrobeniusBall(1.0)], ids=str)


def quadratic(shape=(5, 4), blocks=4, seed=1, decay=0.7):
    """A quadratic whose blocks have eigenvalues that fall by `decay` each."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((blocks, shape[0], shape[0])))[0]
    A = (Q * decay ** np.arange(shape[0])) @ Q.transpose(0, 2, 1)
    return Quadratic(A, 3 * rng.standard_normal(shape), 0.0)


def gap(model, ball, Z):
    """Value minus the linearised bound, which no point of the ball is below."""
    G = model.evaluate(Z)[1]
    return float(np.vdot(G, Z)) + ball.radius * ball.dual_norm(G)


@BALLS
def test_accelerated_gradient_is_that_of_beck_and_teboulle_with_restarts(ball):
    """Their recursion, t+ = (1 + sqrt(1 + 4 t^2)) / 2, with O'Donoghue and Candes' restart."""
    model = quadratic(decay=0.2)
    step = 1 / model.smoothness
    x = y = np.zeros(model.shape)
    t, restarts = 1.0, 0
    for n_steps in range(1, 60):
        new = ball.project(y - step * model.evaluate(y)[1])
        if np.sum((y - new) * (new - x)) > 0:
            t, restarts = 1.0, restarts + 1
        following = (1 + np.sqrt(1 + 4 * t * t)) / 2
        x, y, t = new, new + (t - 1) / following * (new - x), following
        ours = accelerate(model, ball, np.zeros(model.shape), step, n_steps)
        np.testing.assert_allclose(ours, x, atol=1e-11)  # the same operations, rounded otherwise
    assert restarts > 0


@BALLS
def test_accelerated_gradient_keeps_its_promise(ball):
    """f(Z_k) - f* <= 2 L |Z_0 - Z*|^2 / (k + 1)^2, Beck and Teboulle's Theorem 4.4."""
    model = quadratic(decay=0.5)
    best = accelerate(model, ball, np.zeros(model.shape), 1 / model.smoothness, 5000)
    assert gap(model, ball, best) < 1e-12
    start = ball.project(np.random.default_rng(0).standard_normal(model.shape))
    distance = float(np.square(start - best).sum())
    for k in (1, 2, 5, 10, 20):
        Z = accelerate(model, ball, start, 1 / model.smoothness, k)
        excess = model.evaluate(Z)[0] - model.evaluate(best)[0]
        assert excess <= 2 * model.smoothness * distance / (k + 1) ** 2


@BALLS
@pytest.mark.parametrize("blocks", [1, 4])
def test_a_splitting_step_is_an_over_relaxed_reflection(ball, blocks):
    """Y + 1.6 (prox of the quadratic at 2 Z - Y, minus Z), Z = P(Y); labels one at a time."""
    model, step = quadratic(blocks=blocks, decay=0.5), 0.7
    Y = np.random.default_rng(3).standard_normal(model.shape)
    Z = ball.project(Y)
    prox = np.empty_like(Y)
    for label in range(Y.shape[1]):
        block = model.A[label % blocks]
        right = 2 * Z[:, label] - Y[:, label] + step * model.B[:, label]
        prox[:, label] = np.linalg.solve(np.eye(5) + step * block, right)
    # A system with condition number below 2.
    np.testing.assert_allclose(split(model, ball, Y, step, 1), Y + 1.6 * (prox - Z), atol=1e-13)


@BALLS
def test_splitting_converges_to_the_minimum(ball):
    model = quadratic(decay=0.5)
    Y = split(model, ball, np.zeros(model.shape), 1.0, 400)
    assert gap(model, ball, ball.project(Y)) < 1e-11
    # At the fixed point Y = Z - step * gradient.
    Z = ball.project(Y)
    np.testing.assert_allclose(Y, Z - model.evaluate(Z)[1], atol=1e-11)


def logistic():
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((20, 5)), np.sign(rng.standard_normal((20, 4)))
    return Entries(Problem.from_dense(LOSSES["logistic"], X, Y))


@pytest.mark.parametrize("make", [quadratic, logistic])
@pytest.mark.parametrize(
    "ball", [TraceBall(2.0), TraceBall(0.5), FrobeniusBall(1.0), TraceBall(1e3)], ids=str
)
@pytest.mark.parametrize("way", ["factorisation", "conjugate gradients"])
def test_newtons_step_solves_the_linearised_normal_map(make, ball, way, monkeypatch):
    """phi(Y) = Y - P(Y) + step * gradient(P(Y)): its derivative along the step is -phi."""
    if way == "conjugate gradients":
        monkeypatch.setattr(faces, "_LARGEST_BLOCKS", 0)
        monkeypatch.setattr(steps, "_ACCURACY", 1e-10)
    model, step, h = make(), 0.3, 1e-6

    def normal_map(Y):
        Z = ball.project(Y)
        return Y - Z + step * model.evaluate(Z)[1]

    Y = np.random.default_rng(5).standard_normal(model.shape)
    face = face_of(ball, Y)
    change = newton_step(face, model.hessian(face.Z), normal_map(Y), step)
    along = (normal_map(Y + h * change) - normal_map(Y - h * change)) / (2 * h)
    # Central differences: rounding 1e-16 / h of numbers of size ten, h^2 times third derivatives.
    np.testing.assert_allclose(along, -normal_map(Y), atol=1e-7)


@BALLS
def test_newtons_method_converges_quadratically(ball):
    model, step = logistic(), 0.3
    problem = model.problem
    solved = minimise(problem, ball, tol=1e-13)
    Y = solved.Z - step * problem.gradient(solved.Z)
    Y = Y + 1e-3 * np.random.default_rng(6).standard_normal(Y.shape)
    errors = []
    for _ in range(3):
        face = face_of(ball, Y)
        phi = Y - face.Z + step * model.evaluate(face.Z)[1]
        errors.append(np.linalg.norm(phi))
        Y = Y + newton_step(face, model.hessian(face.Z), phi, step)
    # Third derivatives of twenty logistic losses are some ten: error -> 10 error^2, then rounding.
    assert errors[1] <= 100 * errors[0] ** 2
    assert errors[2] <= max(100 * errors[1] ** 2, 1e-12)


def test_conjugate_gradients_stop_at_their_accuracy_and_at_their_limit(monkeypatch):
    """They are for large systems: a residual of a hundredth is enough, 120 products the most."""
    monkeypatch.setattr(faces, "_LARGEST_BLOCKS", 0)
    model, ball = quadratic((40, 3), 3, decay=0.8), FrobeniusBall(1.0)
    Y = np.random.default_rng(7).standard_normal(model.shape)
    face, products = face_of(ball, Y), []

    class Counting:
        def apply(self, E):
            products.append(1)
            return model.apply(E)

    phi = np.random.default_rng(8).standard_normal(model.shape)
    step = 1e3
    newton_step(face, Counting(), phi, step)
    few = len(products)
    monkeypatch.setattr(steps, "_ACCURACY", 1e-6)
    newton_step(face, Counting(), phi, step)
    assert 2 < few < len(products) - few <= 122
    monkeypatch.setattr(steps, "_MAX_PRODUCTS", 5)
    products.clear()
    newton_step(face, Counting(), phi, step)
    assert len(products) == 6  # five, and one for what the step leaves
