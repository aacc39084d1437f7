"""A small data set in the form of the public ones."""

import numpy as np
from scipy import sparse

N_TRAIN, N_TEST, N_FEATURES, N_LABELS = 90, 40, 12, 8


def tiny_arrays(seed=0):
    """Return X and Y of a rank-3 linear world with one to three labels a point."""
    rng = np.random.default_rng(seed)
    n = N_TRAIN + N_TEST
    X = rng.random((n, N_FEATURES)) * (rng.random((n, N_FEATURES)) < 0.6)
    scores = X @ rng.standard_normal((N_FEATURES, 3)) @ rng.standard_normal((3, N_LABELS))
    Y = scores >= np.sort(scores, axis=1)[:, [-2]]
    return X, Y


def write_npz(path, X, Y):
    """Write a data set with its split as the readers expect it."""
    parts = {}
    for name, matrix in (("X", X), ("Y", Y.astype(np.int8))):
        csr = sparse.csr_array(matrix)
        values = {"data": csr.data, "indices": csr.indices, "indptr": csr.indptr}
        parts |= {f"{name}_{key}": value for key, value in values.items()}
        parts[f"{name}_shape"] = np.array(csr.shape)
    n = X.shape[0]
    np.savez(path, train_idx=np.arange(N_TRAIN), test_idx=np.arange(N_TRAIN, n), **parts)


def tiny_folder(folder):
    """Write the small data set into a folder and return it."""
    folder.mkdir(exist_ok=True)
    write_npz(folder / "tiny.npz", *tiny_arrays())
    return folder
