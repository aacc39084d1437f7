"""The global minimiser among the Z of a rank, with the proof that it is one.

Paper: Equation (5).
"""

from __future__ import annotations

from typing import Any

from leml_solver._factored.fit import AlternatingOptions, FactorResult, fit_factors
from leml_solver._factored.rank_ascent import RankSearch


def minimise_rank(
    X: Any,
    Y: Any,
    rank: int,
    penalty: float,
    *,
    intercept: bool = False,
    search: RankSearch | None = None,
    progress: bool = False,
) -> FactorResult:
    """Minimise half of |Y - X Z|_F^2 plus penalty |Z|_tr over the Z of at most a given rank.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features, one row per point.
    Y : (n, L) array or sparse matrix
        Labels, all of them known.
    rank : int
        Largest rank of Z.
    penalty : float
        Weight of the trace norm.
    intercept : bool
        Fit an unpenalised intercept for each label; the rank binds Z only.
    search : RankSearch, optional
        When to stop; by default at a relative gap of 1e-9.
    progress : bool
        Show progress bars on the standard error stream.

    Returns
    -------
    FactorResult
        ``result.Z`` is the best point found; ``result.certificate.rank_gap`` bounds how far its
        objective is from the minimum. The bound is not tight for every problem, so look at it.

    Paper: Equation (5).

    Examples
    --------
    Alternating minimisation can stop at diag(0, 11/18), a local minimum of value 5.1667:

    >>> import numpy as np
    >>> from leml_solver import minimise_rank
    >>> found = minimise_rank(np.diag([1.0, 3.0]), np.diag([3.0, 13 / 6]), rank=1, penalty=1.0)
    >>> found.Z.round(6) + 0.0
    array([[2., 0.],
           [0., 0.]])
    >>> round(found.certificate.objective, 4), found.certificate.rank_gap < 1e-8
    (4.8472, True)
    """
    options = AlternatingOptions(
        max_iter=100,
        tol=1e-8,
        intercept=intercept,
        dtype="float64",
        certify="rank",
        rank_search=RankSearch(tol=1e-9) if search is None else search,
        progress=progress,
    )
    return fit_factors(X, Y, rank=rank, penalty=penalty, options=options)
