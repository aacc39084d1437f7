"""Bends of what the checks of `claims_1_and_2` rely on."""

from dataclasses import replace

import numpy as np
from bends import shifted
from mutation import Mutation, constant, returning, scaled


def off_by_one_rank(original):
    """Keep one singular value fewer or more."""
    return lambda X, Y, rank, **kwargs: original(X, Y, rank + 1, **kwargs)


def untied(original):
    """Return data without a tie in place of tied ones."""
    from paper_checks.worlds.instances import shaped

    return lambda rng: shaped(rng, [5.0, 3.0, 2.0, 1.0, 0.5], 2)


def full_rank(original):
    """Return data of full column rank in place of rank-deficient ones."""
    from paper_checks.worlds.instances import ordinary

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


MUTATIONS = {
    "F8": [
        Mutation("rank k + 1", ".low_rank_least_squares", off_by_one_rank),
        Mutation("labels exchanged", ".low_rank_least_squares", swapped_columns),
        Mutation("scaled predictor", ".low_rank_least_squares", scaled(1 + 1e-5)),
        Mutation("another minimum", ".least_squared_error", scaled(1 + 1e-6)),
    ],
    "F8.1": [
        Mutation("no tie", ".tied", untied),
        Mutation("full column rank", ".rank_deficient", full_rank),
        Mutation("not of least norm", ".low_rank_least_squares", shifted(0.01)),
        Mutation("a gap that is a tie", ".CLEAR_GAP", constant([5.0, 2.0, 2.0, 1.0, 0.5])),
    ],
    "F9": [Mutation("squares where printed", ".split_norm", lambda _: np.hypot)],
    "F10": [
        Mutation("a column of H exchanged", ".cplst", worse_H),
        Mutation("centred", ".cplst", always_centred),
        Mutation("labels exchanged", ".low_rank_least_squares", swapped_columns),
        Mutation("report's CPLST bent", "paper_checks.cplst.cplst", worse_H),
    ],
    "F10.1": [
        Mutation(
            "second term lost",
            ".cplst_objective",
            lambda _: lambda X, Y, f: float(np.square(X @ f.W - Y @ f.H).sum()),
        ),
        Mutation("error doubled", ".squared_error", scaled(2)),
    ],
    "F10.2": [
        Mutation("no tie", ".tied", untied),
        Mutation("tie everywhere", ".CLEAR_GAP", constant([5.0, 2.0, 2.0, 1.0, 0.5])),
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
            ".printed_predictor",
            lambda _: lambda V, sigma, M: V @ (M / sigma[:, None]),
        ),
        Mutation("right factor printed right", ".printed_right_factor", lambda _: lambda Q: Q),
    ],
}
