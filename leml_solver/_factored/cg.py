"""Conjugate gradients for the quadratic subproblems of alternating minimisation.

Paper: Algorithm 3.
"""

from collections.abc import Callable
from dataclasses import dataclass

from leml_solver._linalg.conjugate_gradient import ConjugateGradient, Product
from leml_solver._linalg.factors import Groups
from leml_solver._linalg.matrices import Factor


@dataclass(frozen=True, slots=True)
class CGOptions:
    """When to stop and how to group.

    Attributes
    ----------
    steps : int
        Largest number of steps.
    tol : float
        A group stops when its residual has shrunk by this factor.
    groups : Groups
        `TOGETHER` is Algorithm 3 as printed; the others run one Algorithm 3 per column or row.
    """

    steps: int
    tol: float
    groups: Groups = Groups.TOGETHER


def conjugate_gradient(
    product: Callable[[Factor], Factor],
    residual: Factor,
    options: CGOptions,
    preconditioner: Factor | None = None,
) -> Factor:
    """Return an approximate solution S of `product(S) = residual`, started from zero.

    Parameters
    ----------
    product : callable
        The symmetric positive definite operator, from factor to factor.
    residual : (r, k) array
        The right-hand side, in a Newton step the negative gradient; overwritten.
    options : CGOptions
        When to stop and how to group.
    preconditioner : (r, k) array, optional
        Reciprocals of the operator's diagonal, entry by entry.

    Paper: Algorithm 3.
    """
    groups = options.groups
    run = ConjugateGradient(
        Product(product, groups), residual, groups, tol=options.tol, preconditioner=preconditioner
    )
    return run.run(options.steps).solution
