"""Bends of what the checks of `appendix_a` rely on."""

from dataclasses import replace

from mutation import Mutation


def one_step_less(original):
    """Run one conjugate gradient step fewer than asked."""

    def bent(product, residual, options, preconditioner=None):
        return original(
            product, residual, replace(options, steps=options.steps - 1), preconditioner
        )

    return bent


def wrong_beta(original):
    """Bend the recursion's direction."""
    return lambda H, residual, steps: original(1.1 * H, residual, steps)


MUTATIONS = {
    "A18": [
        Mutation("a step fewer", ".conjugate_gradient", one_step_less),
        Mutation("another matrix", ".algorithm_3", wrong_beta),
    ],
    "A18.1": [
        Mutation(
            "logistic in both",
            ".LOSSES",
            lambda losses: ({**losses, "squared": losses["logistic"]}),
        ),
        Mutation(
            "squared in both", ".LOSSES", lambda losses: ({**losses, "logistic": losses["squared"]})
        ),
    ],
}
