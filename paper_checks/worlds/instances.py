"""Data on which Claims 1 and 2 are tried: ordinary ones, and ones chosen to break them."""

from dataclasses import dataclass, replace

import numpy as np

from leml_theory.arrays import Array


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Features, full labels and a rank; what makes them special is in the name."""

    name: str
    X: Array
    Y: Array
    rank: int


def ordinary(rng: np.random.Generator, n: int = 40, d: int = 8, n_labels: int = 7) -> Instance:
    """Return Gaussian data with more points than features."""
    return Instance("ordinary", rng.standard_normal((n, d)), rng.standard_normal((n, n_labels)), 3)


def shaped(rng: np.random.Generator, sigma: list[float], k: int) -> Instance:
    """Return data whose labels, seen through X, have the given singular values."""
    n, d, n_labels = 30, len(sigma) + 1, len(sigma) + 4
    X = rng.standard_normal((n, d))
    U = np.linalg.qr(X)[0]
    P, Q = (np.linalg.qr(rng.standard_normal((size, len(sigma))))[0] for size in (d, n_labels))
    outside = rng.standard_normal((n, n_labels))
    outside -= U @ (U.T @ outside)
    return Instance("shaped", X, U @ ((P * sigma) @ Q.T) + outside, k)


def tied(rng: np.random.Generator) -> Instance:
    """Return data whose labels, seen through X, have sigma_2 = sigma_3."""
    return replace(shaped(rng, [5.0, 2.0, 2.0, 1.0, 0.5], 2), name="tied singular values")


def rank_deficient(rng: np.random.Generator) -> Instance:
    """Return features of rank 4 in 9 dimensions."""
    X = rng.standard_normal((30, 4)) @ rng.standard_normal((4, 9))
    return Instance("rank-deficient X", X, rng.standard_normal((30, 6)), 2)


def ill_conditioned(rng: np.random.Generator) -> Instance:
    """Return features whose singular values fall by eight orders of magnitude."""
    U, V = (np.linalg.qr(rng.standard_normal((size, 7)))[0] for size in (35, 7))
    X = (U * np.logspace(0, -8, 7)) @ V.T
    return Instance("ill-conditioned X", X, rng.standard_normal((35, 6)), 3)


def adversarial(rng: np.random.Generator) -> list[Instance]:
    """Return one instance of each kind that could break the closed forms."""
    plain = ordinary(rng)
    normal = rng.standard_normal
    sparse = (rng.random((60, 12)) < 0.08).astype(float)
    constant = np.column_stack([normal((40, 5)), np.ones(40)])
    repeated = np.repeat(normal((30, 3)), 3, axis=1)
    return [
        plain,
        Instance("fewer points than features", normal((12, 30)), normal((12, 9)), 4),
        rank_deficient(rng),
        Instance("repeated features", repeated, normal((30, 5)), 2),
        Instance("rank above that of X", normal((25, 3)), normal((25, 8)), 6),
        Instance("rank above the number of labels", normal((25, 6)), normal((25, 3)), 5),
        tied(rng),
        ill_conditioned(rng),
        Instance("badly scaled X", plain.X * np.logspace(-5, 5, 8), plain.Y, 3),
        Instance("sparse labels", normal((60, 10)), sparse, 4),
        Instance("centred labels", plain.X, plain.Y - plain.Y.mean(axis=0), 3),
        Instance("labels far from centred, constant feature", constant, normal((40, 6)) + 5, 2),
        Instance("one label", plain.X, plain.Y[:, :1], 1),
        Instance("labels that X explains", plain.X, plain.X @ normal((8, 7)), 8),
        Instance("labels of zeros", plain.X, np.zeros((40, 4)), 2),
    ]
