r"""The kernel extension with the penalty that belongs to it, :math:`|K^{1/2} Z|_{tr}`.

The paper keeps the trace norm of the coefficients Z (n, L), which is a different problem: with a
linear kernel it does not reduce to the linear method. The trace norm of the functions is
:math:`|K^{1/2} Z|_{tr}`, and with K = Phi Phi^T the problem is the linear one on the features Phi.

Paper: Section 3.2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from argument_checks import finite_array
from leml_solver._factored.fit import FactorResult, fit_factors

Array = NDArray[np.float64]
Kernel = Callable[[Any, Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class KernelResult:
    """Functions f_j(x) = sum_t kernel(x, x_t) (V h_j)_t fitted to labels.

    Attributes
    ----------
    V : (n, k) array
        Coefficients of the latent functions: Z = V H^T.
    fit : FactorResult
        The fit on the features Phi, with H, the intercept and the certificate, whose condition
        |Phi^T D|_2 <= penalty is |K^(1/2) D|_2 <= penalty.
    """

    V: Array
    fit: FactorResult

    @property
    def H(self) -> Any:
        """The (L, k) label factor."""
        return self.fit.H

    def transform(self, K: Any) -> Array:
        """Return the latent functions at new points; K (m, n) is their kernel with old points."""
        return np.asarray(finite_array(K, "K", 2) @ self.V)

    def scores(self, K: Any) -> Array:
        """Return the predictions at new points; K (m, n) is their kernel with old points."""
        scores: Array = self.transform(K) @ self.H.T
        return scores if self.fit.intercept is None else scores + self.fit.intercept


def kernel_features(K: Any) -> tuple[Array, Array]:
    """Return Phi (n, r) with K = Phi Phi^T, and B (n, r) such that Phi w = K B w for every w.

    Parameters
    ----------
    K : (n, n) array
        A symmetric positive semidefinite Gram matrix.
    """
    K = finite_array(K, "K", 2)
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"The kernel matrix must be square, points by points, got {K.shape}.")
    size = float(np.abs(K).max())
    if np.abs(K - K.T).max() > 1e-8 * size:
        raise ValueError("The kernel matrix must be symmetric, got K - K^T of size above 1e-8 |K|.")
    values, vectors = scipy.linalg.eigh(0.5 * (K + K.T))
    floor = len(K) * np.finfo(np.float64).eps * max(values[-1], 0.0)
    if values[0] < -1e-8 * max(values[-1], size):
        raise ValueError(
            f"The kernel matrix must be positive semidefinite, got an eigenvalue {values[0]!r}; "
            "add a multiple of the identity or take another kernel."
        )
    kept = values > floor
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, vectors[:, kept] / roots


def fit_kernel_factors(
    X: Any,
    Y: Any,
    *,
    kernel: str | Kernel = "precomputed",
    fit: Callable[..., FactorResult] = fit_factors,
    **arguments: Any,
) -> KernelResult:
    """Minimise the sum of losses + penalty |K^(1/2) Z|_tr over Z = V H^T.

    Parameters
    ----------
    X : (n, n) or (n, d) array
        The Gram matrix of the training set, or its points if `kernel` is a function.
    Y
        Labels, as in `fit_factors`.
    kernel : "precomputed" or callable
        A function of two arrays of points that returns the matrix of their kernels.
    fit : callable
        Fits factors to features and labels.
    **arguments
        `rank`, `penalty`, `loss`, `random_state`, `options`, as in `fit_factors`.

    Paper: Section 3.2.
    """
    if isinstance(kernel, str) and kernel != "precomputed":
        raise ValueError(f'`kernel` must be "precomputed" or a function, got {kernel!r}.')
    Phi, B = kernel_features(X if isinstance(kernel, str) else kernel(X, X))
    made = fit(Phi, Y, **arguments)
    return KernelResult(B @ made.W.astype(np.float64), made)
