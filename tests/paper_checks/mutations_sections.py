"""Bent statements, data and solvers for Sections 1 to 3 and Appendix A."""

from dataclasses import replace

import numpy as np
from mutation import Mutation, constant, returning, scaled


def transposed_gradient(original):
    """Swap the roles of the entries' rows and of X's in the sum of Algorithm 1."""
    return lambda self, D, H: -original(self, D, H)


def without_penalty(original):
    """Forget the penalty of a world."""
    return lambda *args, **kwargs: original(*args, **{**kwargs, "penalty": 0.0})


def off_by_one_rank(original):
    """Keep one singular value fewer or more."""
    return lambda X, Y, rank, **kwargs: original(X, Y, rank + 1, **kwargs)


def shifted(amount):
    """Add a constant to what a function returns."""
    return lambda original: lambda *args, **kwargs: original(*args, **kwargs) + amount


def damped_slopes(original):
    """Return a fraction of the derivative."""
    return lambda self, y, f: 0.9 * original(self, y, f)


def negated(original):
    """Change the sign of what a method returns."""
    return lambda self, y, f: -original(self, y, f)


def untied(original):
    """Return data without a tie in place of tied ones."""
    from paper_checks.instances import shaped

    return lambda rng: shaped(rng, [5.0, 3.0, 2.0, 1.0, 0.5], 2)


def full_rank(original):
    """Return data of full column rank in place of rank-deficient ones."""
    from paper_checks.instances import ordinary

    return lambda rng: ordinary(rng)


def swapped_columns(original):
    """Return the predictor with two labels exchanged."""
    return lambda *args, **kwargs: original(*args, **kwargs)[:, ::-1]


def worse_H(original):
    """Return CPLST with one column of H replaced by an unused one."""

    def bent(X, Y, rank, **kwargs):
        found = original(X, Y, rank, **kwargs)
        H = np.linalg.qr(np.column_stack([found.H[:, :-1], np.ones(len(found.H))]))[0]
        return replace(found, H=H)

    return bent


def always_centred(original):
    """Ignore the wish not to centre, or to centre."""
    return lambda X, Y, rank, centre=False: original(X, Y, rank, centre=not centre)


def wrong_balance(original):
    """Return factors of the same product that are not balanced."""
    return lambda W, H: tuple(2.0 ** (1 - 2 * i) * F for i, F in enumerate(original(W, H)))


def fewer_iterations(original):
    """Stop alternating after two iterations."""
    return lambda X, Y, penalty, W, iterations: original(X, Y, penalty, W, 2)


def noisy_start(original):
    """Move every start away from saddles."""

    def bent(X, Y, penalty, W, iterations):
        rng = np.random.default_rng(0)
        return original(X, Y, penalty, W + 1e-3 * rng.standard_normal(W.shape), iterations)

    return bent


def row_major(original):
    """Stack rows where columns should be stacked."""
    return lambda A: A.ravel()


def swapped_kron(original):
    """Exchange the factors of the design."""

    class Bent:
        def __get__(self, world, owner):
            pairs = zip(*np.nonzero(world.seen), strict=True)
            return np.array([np.kron(world.X[i], world.H[j]) for i, j in pairs])

    return Bent()


def doubled_products(original):
    """Multiply by X twice where once is enough."""
    return lambda self, B: (original(self, B), original(self, B))[0]


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


def square_root_forgotten(original):
    """Use K where K^(1/2) belongs, and the other way round."""
    return lambda data, power, penalty=3.0: original(data, 1.5 - power, penalty)


def small_rank(original):
    """Fit with one column only."""
    return lambda data, rank, penalty: original(data, 1, penalty)


def kernel_penalty(original):
    """Penalise twice as much where the features are a Gram matrix."""
    return lambda data, rank, penalty: original(
        data, rank, penalty * (2 if data.X.shape[0] == data.X.shape[1] else 1)
    )


def bent_slopes(original):
    """Bend the solver's derivative of an entry."""
    return lambda self, A, H, offset: 1.01 * original(self, A, H, offset)


SECTION_2, SECTION_3 = "paper_checks.section_2", "paper_checks.section_3"
CLAIMS, COSTS = "paper_checks.claims", "paper_checks.costs"
CONVERGENCE, OPERATIONS = "paper_checks.convergence", "paper_checks.operations"
WORLDS, TABLE_1 = "paper_checks.factor_worlds", "paper_checks.table_1"
SPARSE = "leml_solver._factored.entry_sums.SparseEntries"

MUTATIONS = {
    "F1": [
        Mutation("three times the size", "paper_checks.section_1.CLAIMED_GIGABYTES", scaled(3)),
        Mutation("single precision", "paper_checks.section_1.model_gigabytes", scaled(0.5)),
    ],
    "F2": [
        Mutation("gain d", "paper_checks.section_1.predicted_gain", lambda _: lambda s, d: d),
        Mutation(
            "twice the products", "leml_solver._linalg.matrices.Counted.times", doubled_products
        ),
    ],
    "F3": [
        Mutation(
            "half the risk",
            "paper_checks.section_1.worst_planted",
            lambda original: (
                lambda *a: [{**row, "value": row["value"] / 2} for row in original(*a)]
            ),
        ),
        Mutation("no second term", "paper_checks.section_1.theorem_4_terms", returning((1.0, 1.0))),
    ],
    "F4": [
        Mutation("threshold lowered", "paper_checks.section_1.ORDERS_OF_MAGNITUDE", scaled(0.5)),
        Mutation(
            "hundredfold times",
            "paper_checks.printed.spread",
            lambda original: lambda *a: original(*a).assign(WSABIE=lambda t: 100 * t["WSABIE"]),
        ),
    ],
    "F5": [
        Mutation("printed right", f"{SECTION_2}.PRINTED_INDICES", constant(("ij", "j"))),
        Mutation("correction wrong", f"{SECTION_2}.CORRECT_INDICES", constant(("ij", "k"))),
    ],
    "F6": [
        Mutation("penalised twice as much", f"{SECTION_2}.penalised_predictor", scaled(1.05)),
        Mutation(
            "one predictor for both",
            f"{SECTION_2}.minimise",
            lambda original: (
                lambda problem, ball, **k: original(problem, replace(ball, radius=2.0), **k)
            ),
        ),
    ],
    "F7": [
        Mutation("rows counted, not edges", f"{SECTION_2}.largest_biclique", shifted(1)),
        Mutation("error doubled", f"{SECTION_2}.weighted_rank_one", scaled(2)),
    ],
    "F8": [
        Mutation("rank k + 1", f"{CLAIMS}.low_rank_least_squares", off_by_one_rank),
        Mutation("labels exchanged", f"{CLAIMS}.low_rank_least_squares", swapped_columns),
        Mutation("scaled predictor", f"{CLAIMS}.low_rank_least_squares", scaled(1 + 1e-5)),
        Mutation("another minimum", f"{CLAIMS}.least_squared_error", scaled(1 + 1e-6)),
    ],
    "F8.1": [
        Mutation("no tie", f"{CLAIMS}.tied", untied),
        Mutation("full column rank", f"{CLAIMS}.rank_deficient", full_rank),
        Mutation("not of least norm", f"{CLAIMS}.low_rank_least_squares", shifted(0.01)),
        Mutation("a gap that is a tie", f"{CLAIMS}.CLEAR_GAP", constant([5.0, 2.0, 2.0, 1.0, 0.5])),
    ],
    "F9": [
        Mutation("squares where printed", f"{CLAIMS}.split_norm", lambda _: np.hypot),
    ],
    "F10": [
        Mutation("a column of H exchanged", f"{CLAIMS}.cplst", worse_H),
        Mutation("centred", f"{CLAIMS}.cplst", always_centred),
        Mutation("labels exchanged", f"{CLAIMS}.low_rank_least_squares", swapped_columns),
        Mutation("report's CPLST bent", "paper_checks.cplst.cplst", worse_H),
    ],
    "F10.1": [
        Mutation(
            "second term lost",
            f"{CLAIMS}.cplst_objective",
            lambda _: lambda X, Y, f: float(np.square(X @ f.W - Y @ f.H).sum()),
        ),
        Mutation("error doubled", f"{CLAIMS}.squared_error", scaled(2)),
    ],
    "F10.2": [
        Mutation("no tie", f"{CLAIMS}.tied", untied),
        Mutation("tie everywhere", f"{CLAIMS}.CLEAR_GAP", constant([5.0, 2.0, 2.0, 1.0, 0.5])),
        Mutation("ties never seen", "paper_checks.cplst._gap", returning((1.0, False))),
    ],
    "F10.3": [
        Mutation(
            "never centred",
            "paper_checks.cplst.cplst",
            lambda original: lambda X, Y, rank, centre=False: original(X, Y, rank),
        ),
        Mutation("centred the other way", "paper_checks.cplst.cplst", always_centred),
    ],
    "F11": [
        Mutation(
            "printed right",
            f"{CLAIMS}.printed_predictor",
            lambda _: lambda V, sigma, M: V @ (M / sigma[:, None]),
        ),
        Mutation(
            "right factor printed right", f"{CLAIMS}.printed_right_factor", lambda _: lambda Q: Q
        ),
    ],
    "F12": [
        Mutation("slope without half", f"{SECTION_2}._directional", scaled(2)),
        Mutation(
            "penalty not halved",
            f"{SECTION_2}.soft_threshold",
            lambda original: lambda A, level: original(A, 2 * level),
        ),
    ],
    "F13": [
        Mutation("closed form shrunk", f"{CONVERGENCE}.low_rank_least_squares", scaled(0.5)),
        Mutation("penalty useless", f"{CONVERGENCE}.penalised_predictor", scaled(3)),
    ],
    "A1": [
        Mutation("not balanced", f"{SECTION_3}.balancing", wrong_balance),
        Mutation("half forgotten", f"{SECTION_3}.half_squares", scaled(2)),
        Mutation("half twice", f"{SECTION_3}.half_squares", scaled(0.5)),
    ],
    "A2": [
        Mutation("one column", f"{SECTION_3}._fit", small_rank),
        Mutation(
            "another threshold",
            f"{SECTION_3}.soft_threshold",
            lambda original: lambda A, level: original(A, 1.1 * level),
        ),
        Mutation("factors not balanced", f"{SECTION_3}.half_squares", scaled(1.001)),
    ],
    "A3": [
        Mutation("negative curvature", "leml_solver.losses.Logistic.second_derivative", negated),
        Mutation("penalty misread", f"{SECTION_3}._lowest", shifted(-1.0)),
    ],
    "A4": [
        Mutation("slopes bent", f"{SPARSE}.slopes", bent_slopes),
        Mutation("no penalty", f"{SECTION_3}.factor_world", without_penalty),
    ],
    "A5": [
        Mutation("two iterations", f"{CONVERGENCE}.alternate", fewer_iterations),
        Mutation("starts moved off saddles", f"{CONVERGENCE}.alternate", noisy_start),
        Mutation("higher saddle", f"{CONVERGENCE}.saddle_height", scaled(1.1)),
        Mutation("other minimum", f"{CONVERGENCE}.orthogonal_minimum", scaled(0.99)),
    ],
    "A6": [
        Mutation(
            "orthogonal X",
            f"{CONVERGENCE}.TWO_MINIMA",
            constant((np.eye(2), np.diag([3.0, 13 / 6]), 1.0)),
        ),
        Mutation(
            "no penalty",
            f"{CONVERGENCE}.TWO_MINIMA",
            constant((np.diag([1.0, 3.0]), np.diag([3.0, 13 / 6]), 1e-9)),
        ),
        Mutation(
            "condition reversed",
            f"{CONVERGENCE}.strict_minimum",
            lambda original: lambda a, b, r, mu: original(a, b, 1 / r, mu),
        ),
    ],
    "A7": [
        Mutation(
            "another penalty",
            f"{OPERATIONS}.label_regression",
            lambda original: lambda A, y, penalty: original(A, y, 2 * penalty),
        ),
        Mutation("curvature bent", f"{SPARSE}.columns", transposed_gradient),
    ],
    "A7.1": [
        Mutation("factors of the design exchanged", f"{WORLDS}.FactorWorld.design", swapped_kron),
        Mutation("rows stacked", f"{OPERATIONS}.vec", row_major),
    ],
    "A8": [
        Mutation(
            "printed right",
            f"{COSTS}.printed_average",
            lambda _: lambda X, i: float(X.sum() / len(X)),
        ),
    ],
    "A9": [
        Mutation(
            "exact count",
            f"{COSTS}.printed_design_nonzeros",
            lambda _: lambda nonzeros, counts, k: float(k * (nonzeros * counts).sum()),
        ),
        Mutation("rank forgotten", f"{COSTS}.printed_design_nonzeros", scaled(1 / 3)),
    ],
    "A10": [
        Mutation("slopes damped", "leml_solver.losses.Logistic.derivative", damped_slopes),
        Mutation("factors of the design exchanged", f"{WORLDS}.FactorWorld.gradient", scaled(-1)),
    ],
    "A10.1": [
        Mutation(
            "curvature damped", "leml_solver.losses.Logistic.second_derivative", damped_slopes
        ),
        Mutation(
            "curvature of the hinge halved",
            "leml_solver.losses.SquaredHinge.second_derivative",
            damped_slopes,
        ),
    ],
    "A10.2": [Mutation("rows stacked", f"{OPERATIONS}.vec", row_major)],
    "A10.3": [
        Mutation("sign of D H", f"{SPARSE}.rows", transposed_gradient),
        Mutation("slopes bent", f"{SPARSE}.slopes", bent_slopes),
        Mutation("factors of the design exchanged", f"{WORLDS}.FactorWorld.design", swapped_kron),
    ],
    "A10.4": [
        Mutation("curvatures bent", f"{SPARSE}.curvatures", bent_slopes),
        Mutation("rows stacked", f"{OPERATIONS}.vec", row_major),
    ],
    "A11": [
        Mutation(
            "sign printed wrong",
            f"{TABLE_1}.printed_squared",
            lambda _: lambda a, b: (a - b, np.ones_like(b)),
        ),
        Mutation("our slope damped", "leml_solver.losses.Squared.derivative", damped_slopes),
        Mutation("no half", f"{TABLE_1}.squared_value", scaled(2)),
    ],
    "A12": [
        Mutation(
            "printed right",
            f"{TABLE_1}.printed_logistic",
            lambda original: lambda a, b: (original(a, -b)[0], original(a, b)[1]),
        ),
        Mutation(
            "ours as printed",
            "leml_solver.losses.Logistic.derivative",
            lambda _: lambda self, y, f: -y / (1 + np.exp(-y * f)),
        ),
    ],
    "A13": [
        Mutation(
            "printed right",
            f"{TABLE_1}.printed_logistic",
            lambda original: lambda a, b: (original(a, b)[0], -original(a, b)[1]),
        ),
        Mutation("ours as printed", "leml_solver.losses.Logistic.second_derivative", negated),
    ],
    "A14": [
        Mutation(
            "factor lost",
            f"{TABLE_1}.printed_squared_hinge",
            lambda original: lambda a, b: (original(a, b)[0], original(a, b)[1] / 2),
        ),
        Mutation(
            "sign lost",
            f"{TABLE_1}.printed_squared_hinge",
            lambda original: lambda a, b: (-original(a, b)[0], original(a, b)[1]),
        ),
        Mutation(
            "our curvature damped",
            "leml_solver.losses.SquaredHinge.second_derivative",
            damped_slopes,
        ),
    ],
    "A15": [
        Mutation(
            "twice the products", "leml_solver._linalg.matrices.Counted.adjoint", doubled_products
        ),
        Mutation("smaller constant", f"{COSTS}.CONSTANT", constant(1.5)),
    ],
    "A16": [
        Mutation("cost with dk", f"{COSTS}.printed_cost", shifted(60_000)),
        Mutation("products not counted", f"{COSTS}._algorithm_2", returning((1.0, 1.0))),
    ],
    "A17": [
        Mutation(
            "penalty of the wrong sign",
            f"{OPERATIONS}.gradient_12",
            lambda original: lambda world: original(replace(world, penalty=-world.penalty)),
        ),
        Mutation(
            "labels transposed in order",
            f"{OPERATIONS}.gradient_12",
            lambda original: lambda world: original(replace(world, Y=world.Y[::-1])),
        ),
    ],
    "A17.1": [
        Mutation(
            "penalty lost",
            f"{OPERATIONS}.hessian_product_13",
            lambda original: lambda world, S: original(replace(world, penalty=0.0), S),
        ),
        Mutation("rows stacked", f"{OPERATIONS}.vec", row_major),
    ],
    "A17.2": [
        Mutation(
            "conjugate gradients cut short",
            "leml_solver._factored.algorithm_2.conjugate_gradient",
            lambda original: lambda p, r, o, c=None: original(p, r, replace(o, steps=2), c),
        ),
        Mutation("rows stacked", f"{OPERATIONS}.vec", row_major),
    ],
    "A18": [
        Mutation("a step fewer", "paper_checks.appendix_a.conjugate_gradient", one_step_less),
        Mutation("another matrix", "paper_checks.appendix_a.algorithm_3", wrong_beta),
    ],
    "A18.1": [
        Mutation(
            "logistic in both",
            "paper_checks.appendix_a.LOSSES",
            lambda losses: ({**losses, "squared": losses["logistic"]}),
        ),
        Mutation(
            "squared in both",
            "paper_checks.appendix_a.LOSSES",
            lambda losses: ({**losses, "logistic": losses["squared"]}),
        ),
    ],
    "A19": [
        Mutation("powers exchanged", f"{SECTION_3}._kernel_change", square_root_forgotten),
        Mutation("no change", f"{SECTION_3}._kernel_change", returning(0.0)),
        Mutation("another penalty for kernels", f"{SECTION_3}._fit", kernel_penalty),
    ],
    "A20": [
        Mutation("another penalty", f"{SECTION_3}._ridge", scaled(1.01)),
        Mutation("rank free of charge", f"{SECTION_3}._best_of_rank", returning(0.0)),
    ],
}
