"""Faces of the balls: the projection and its derivative, against finite differences."""

import numpy as np
import pytest

from leml_solver import FrobeniusBall, TraceBall
from leml_solver._exact import faces
from leml_solver._exact.faces import LowRank, Round, face_of
from leml_solver._exact.objective import Quadratic

SHAPES = [(5, 4), (4, 6), (3, 3)]
CASES = [
    *((TraceBall(radius), shape) for radius in (0.5, 1.5, 3.0, 6.0) for shape in SHAPES),
    *((FrobeniusBall(0.7), shape) for shape in SHAPES),
    *((ball(100.0), (3, 4)) for ball in (TraceBall, FrobeniusBall)),
]
EVERY = pytest.mark.parametrize(("ball", "shape"), CASES, ids=str)


def drawn(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape), rng.standard_normal(shape)


def derivative(ball, Y, E, h=1e-6):
    """The derivative of the projection at Y along E, by central differences."""
    return (ball.project(Y + h * E) - ball.project(Y - h * E)) / (2 * h)


def test_the_cases_meet_every_kind_of_face():
    found = [face_of(ball, drawn(shape)[0]) for ball, shape in CASES]
    assert {face.rank for face in found if isinstance(face, LowRank)} >= {1, 2, 3}
    on_sphere = {face.direction is None for face in found if isinstance(face, Round)}
    assert on_sphere == {True, False}


@EVERY
def test_a_face_holds_the_projection(ball, shape):
    Y, _ = drawn(shape)
    np.testing.assert_allclose(face_of(ball, Y).Z, ball.project(Y), atol=1e-14)  # one SVD each


@EVERY
def test_tangent_coordinates_are_orthonormal(ball, shape):
    Y, E = drawn(shape)
    face = face_of(ball, Y)
    T = face.tangent(E)
    # Orthogonal matrices of side at most six: a few roundings.
    np.testing.assert_allclose(face.tangent(face.embed(T)), T, atol=1e-13)
    assert np.vdot(face.embed(T), E) == pytest.approx(np.vdot(T, T), rel=1e-12)
    assert np.linalg.norm(face.embed(T)) == pytest.approx(np.linalg.norm(T), rel=1e-12)


def test_tangent_coordinates_do_not_depend_on_the_order_in_memory():
    """Products with several blocks come in Fortran order, where reshaping once made a copy."""
    Y, E = drawn((5, 4))
    face = face_of(TraceBall(3.0), Y)
    np.testing.assert_array_equal(face.tangent(np.asfortranarray(E)), face.tangent(E))


@EVERY
def test_the_projection_bends_as_the_face_says(ball, shape):
    """With C = (1 - theta) / theta, the derivative D along E has (1 + C) D = E, tangent both."""
    Y, E = drawn(shape)
    face = face_of(ball, Y)
    D = derivative(ball, Y, E)
    T = face.tangent(D)
    # Central differences: h^2 times third derivatives, and rounding of size 1e-16 / h.
    np.testing.assert_allclose(face.embed(T), D, atol=1e-7)
    np.testing.assert_allclose(T + face.apply_curvature(T), face.tangent(E), atol=1e-6)


@pytest.mark.parametrize("radius", [0.5, 3.0])
def test_no_move_along_the_tangent_leaves_the_trace_norm_at_first_order(radius):
    Y, E = drawn((5, 4))
    ball = TraceBall(radius)
    face = face_of(ball, Y)
    moved = face.Z + 1e-5 * face.embed(face.tangent(E))
    assert ball.norm(moved) == pytest.approx(radius, abs=1e-7)  # second order in 1e-5


def quadratic(shape, blocks, seed=1):
    """A strongly convex quadratic with one block for all labels, or one each."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((blocks, shape[0], 2 * shape[0]))
    return Quadratic(root @ root.transpose(0, 2, 1), rng.standard_normal(shape), 0.0)


def image(face, model, step, T):
    """(C + step * Hessian) T in tangent coordinates."""
    curved = np.ascontiguousarray(model.apply(face.embed(T)))
    return face.apply_curvature(T) + step * face.tangent(curved)


def largest_number(face, model, step, shape):
    """The largest number of the matrix of the system, coordinate by coordinate.

    On a low-rank face those coordinates still have the identity of the corner among them.
    """
    if isinstance(face, Round):
        return np.abs(step * model.grams()).max()
    k, best = face.rank, 0.0
    for i, j in np.ndindex(*shape):
        if i < k or j < k:
            T = np.zeros(shape)
            T[i, j] = 1.0
            rotated = face.U.T @ model.apply(face.U @ T @ face.Vt) @ face.Vt.T
            column = face.apply_curvature(T) + step * rotated
            column[k:, k:] = 0
            best = max(best, np.abs(column).max())
    return best


@EVERY
@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_the_system_of_newton_is_solved(ball, shape, several, ridge):
    Y, E = drawn(shape)
    face, step = face_of(ball, Y), 0.3
    model = quadratic(shape, shape[1] if several else 1)
    right = face.tangent(E)
    T = face.solve(model, step, ridge, right)
    added = ridge * (1 + largest_number(face, model, step, shape))
    # Condition numbers below 1e4.
    np.testing.assert_allclose(image(face, model, step, T) + added * T, right, atol=1e-11)
    np.testing.assert_allclose(face.tangent(face.embed(T)), T, atol=1e-11)


@pytest.mark.parametrize("ball", [TraceBall(3.0), FrobeniusBall(0.7)], ids=str)
def test_systems_that_are_too_large_are_left_to_conjugate_gradients(ball, monkeypatch):
    shape = (5, 4)
    Y, E = drawn(shape)
    face, model = face_of(ball, Y), quadratic(shape, 4)
    right = face.tangent(E)
    monkeypatch.setattr(faces, "_LARGEST_BLOCKS", 4 * 5 * 5)
    assert face.solve(model, 0.3, 0.0, right) is not None
    if isinstance(face, LowRank):
        size = face.rank * (5 + 4 - face.rank)
        monkeypatch.setattr(faces, "_LARGEST_SYSTEM", size)
        assert face.solve(model, 0.3, 0.0, right) is not None
        monkeypatch.setattr(faces, "_LARGEST_SYSTEM", size - 1)
        assert face.solve(model, 0.3, 0.0, right) is None
        monkeypatch.setattr(faces, "_LARGEST_SYSTEM", size)
    monkeypatch.setattr(faces, "_LARGEST_BLOCKS", 4 * 5 * 5 - 1)
    assert face.solve(model, 0.3, 0.0, right) is None


def test_a_system_that_is_not_positive_definite_is_left_alone():
    shape = (5, 4)
    Y, E = drawn(shape)
    face = face_of(TraceBall(3.0), Y)
    model = Quadratic(-100 * np.eye(5)[None], np.zeros(shape), 0.0)
    assert face.solve(model, 1.0, 0.0, face.tangent(E)) is None
