"""What an outer iteration of alternating minimisation does, and how much of it."""

from dataclasses import dataclass, replace

from leml_solver._factored.cg import CGOptions
from leml_solver._factored.tron import TronOptions
from leml_solver._linalg.factors import Groups


@dataclass(frozen=True, slots=True)
class Plan:
    """The improvements over plain alternating minimisation, each of which can be turned off.

    Attributes
    ----------
    columnwise : bool
        Rotate the factors by the eigenvectors of H^T H, after which the squared W-problem with full
        labels separates into one problem per column; each gets its own conjugate gradient step.
    precondition : bool
        Divide by the (approximate) diagonal of the Hessian.
    balance : bool
        Replace (W, H) by the factorisation of the same W H^T with the least penalty.
    factorise : bool
        Solve the squared W-problem with full labels exactly, from the eigenvectors of X^T X, when d
        is small.
    trust_region : bool
        Use the trust-region Newton method for the squared loss too, where conjugate gradients alone
        would do: H^T is still solved for exactly if every label is known. With all labels known it
        takes effect only if `columnwise` and `factorise` are off, as in `PLAIN`.
    cg_steps, newton_steps : int
        Largest numbers of steps in one update.
    accepted_steps : int or None
        Most Newton steps in one update that lower the objective; None sets no limit of its own.
    cg_tol : float
        Conjugate gradients stop when the residual has shrunk by this factor.
    """

    columnwise: bool = True
    precondition: bool = True
    balance: bool = True
    factorise: bool = True
    trust_region: bool = False
    cg_steps: int = 4
    newton_steps: int = 2
    accepted_steps: int | None = None
    cg_tol: float = 1e-2

    def cg(self, groups: Groups) -> CGOptions:
        """Return the options of a conjugate gradient run."""
        return CGOptions(self.cg_steps, self.cg_tol, groups)

    def tron(self) -> TronOptions:
        """Return the options of a trust-region Newton run."""
        return TronOptions(self.newton_steps, self.cg_steps, accepted_steps=self.accepted_steps)


PLAIN = Plan(
    columnwise=False,
    precondition=False,
    balance=False,
    factorise=False,
    cg_steps=20,
    newton_steps=5,
    cg_tol=1e-3,
)
"""The paper's own variant: Algorithms 1 to 3 as printed."""

# A rejected step shrinks the trust region and is not counted; from a saturated start the logistic
# loss needs about ten of them.
AUTHORS = replace(PLAIN, trust_region=True, newton_steps=60, accepted_steps=5)
"""The program of the paper's authors: few Newton steps in each update, which regularises."""

FAST = Plan()
"""All improvements."""
