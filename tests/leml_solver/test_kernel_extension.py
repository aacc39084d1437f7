"""The kernel extension is the linear method in the kernel's own features."""

import numpy as np
import pytest

from leml_solver._factored.fit import AlternatingOptions, fit_factors
from leml_solver._factored.kernel_method import fit_kernel_factors, kernel_features

OPTIONS = AlternatingOptions(max_iter=400, tol=1e-13)


def _data(seed=0, n=20, d=5, L=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = (X @ rng.standard_normal((d, L)) > 0).astype(float)
    return X, Y


def _gaussian(A, B):
    return np.exp(-0.1 * np.square(A[:, None] - B[None]).sum(axis=2))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_linear_kernel_gives_the_linear_method_back(loss, intercept):
    X, Y = _data()
    options = AlternatingOptions(max_iter=400, tol=1e-13, intercept=intercept)
    arguments = {"rank": 4, "penalty": 1.0, "loss": loss, "options": options}
    linear = fit_factors(X, Y, **arguments)
    kernel = fit_kernel_factors(X @ X.T, Y, **arguments)
    # Both gaps are below 1e-8 of the objective, and the loss is strongly convex in predictions.
    np.testing.assert_allclose(kernel.scores(X @ X.T), linear.scores(X), atol=2e-3)
    assert kernel.fit.objective == pytest.approx(linear.objective, rel=1e-7)


def test_penalty_is_the_trace_norm_of_root_K_times_Z():
    X, Y = _data()
    K = _gaussian(X, X)
    result = fit_kernel_factors(K, Y, rank=4, penalty=0.5, options=OPTIONS)
    Z = result.V @ result.H.T
    values, vectors = np.linalg.eigh(K)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    penalty = np.linalg.svd(root @ Z, compute_uv=False).sum()
    loss = 0.5 * np.square(Y - K @ Z).sum()
    assert loss + 0.5 * penalty == pytest.approx(result.fit.certificate.objective, rel=1e-8)
    # Optimal: |K^(1/2) D|_2 is the penalty.
    norm = np.linalg.norm(root @ (K @ Z - Y), 2)
    assert norm == pytest.approx(result.fit.certificate.gradient_norm, rel=1e-6)
    assert norm == pytest.approx(0.5, rel=1e-3)
    assert result.fit.certificate.relative_gap < 1e-5


def test_a_kernel_function_and_its_gram_matrix_are_the_same():
    X, Y = _data()
    arguments = {"rank": 2, "penalty": 0.5, "options": AlternatingOptions(max_iter=5)}
    one = fit_kernel_factors(_gaussian(X, X), Y, **arguments)
    two = fit_kernel_factors(X, Y, kernel=_gaussian, **arguments)
    np.testing.assert_array_equal(one.V, two.V)
    new = X[:3] + 0.1
    np.testing.assert_allclose(
        one.scores(_gaussian(new, X)), two.transform(_gaussian(new, X)) @ two.H.T
    )


@pytest.mark.parametrize("rank", [3, 20])
def test_features_reproduce_the_kernel(rank):
    Phi0 = np.random.default_rng(0).standard_normal((20, rank))
    K = Phi0 @ Phi0.T
    Phi, B = kernel_features(K)
    assert Phi.shape[1] == rank
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=1e-12 * np.abs(K).max() * 20)
    np.testing.assert_allclose(K @ B, Phi, atol=1e-7)  # divides by eigenvalues down to 1e-3


@pytest.mark.parametrize(
    ("K", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (-np.eye(2), "positive semidefinite"),
        (np.full((2, 2), np.nan), "K"),
    ],
)
def test_a_bad_gram_matrix_is_refused(K, message):
    with pytest.raises(ValueError, match=message):
        fit_kernel_factors(K, np.ones((2, 1)), rank=1, penalty=1.0)


def test_an_unknown_kernel_name_is_refused():
    with pytest.raises(ValueError, match="precomputed"):
        fit_kernel_factors(np.eye(2), np.ones((2, 1)), kernel="rbf", rank=1, penalty=1.0)


def test_a_gram_matrix_may_be_asymmetric_by_rounding_only():
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    K[0, 1] += 0.5e-8
    Phi, _ = kernel_features(K)
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=1e-8)
    K[0, 1] += 1e-8
    with pytest.raises(ValueError, match="symmetric"):
        kernel_features(K)


@pytest.mark.parametrize(("below", "allowed"), [(3e-8, True), (5e-8, False)])
def test_eigenvalues_may_be_negative_by_rounding_only(below, allowed):
    """The limit is 1e-8 of the largest eigenvalue, 4, or of the largest entry, 1."""
    mean = np.full((4, 4), 0.25)
    K = 4 * mean - below * (np.eye(4) - mean)
    if allowed:
        assert kernel_features(K)[0].shape == (4, 1)
        return
    with pytest.raises(ValueError, match="positive semidefinite"):
        kernel_features(K)


def test_the_limits_grow_with_the_kernel():
    K = 1e3 * np.array([[1.0, 0.5], [0.5, 1.0]])
    K[0, 1] += 0.5e-5
    assert kernel_features(K)[0].shape == (2, 2)
    assert kernel_features(np.diag([1e3, -0.5e-5]))[0].shape == (2, 1)


def test_eigenvalues_of_the_size_of_rounding_are_dropped():
    """Below n eps of the largest one: here 2 eps, and eigenvalues of a diagonal are exact."""
    eps = np.finfo(np.float64).eps
    for size in (1e-3, 1.0, 1e3):
        assert kernel_features(size * np.diag([1.0, 3 * eps]))[0].shape == (2, 2)
        assert kernel_features(size * np.diag([1.0, 1.5 * eps]))[0].shape == (2, 1)


def test_a_kernel_of_zeros_has_no_features():
    assert kernel_features(np.zeros((2, 2)))[0].shape == (2, 0)
