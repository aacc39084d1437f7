"""The compiled loops with bounds checks on, beside plain numpy, in a process of its own.

numba checks the bounds of every array that its own code indexes. The loops over a row are written
in LLVM and checked by nobody: here they run between guards (NaN around what they read, marks around
what they write), and beside a reference that numba compiles with bounds checks, or numpy.
"""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
GUARD = 512  # elements around an array: two wide vectors of the smallest type, and more
MARK = 12345.0


def guarded(array, fill):
    """Return a copy of an array with guards of `fill` on both sides, and the whole buffer."""
    buffer = np.full(array.size + 2 * GUARD, fill, dtype=array.dtype)
    inside = buffer[GUARD : GUARD + array.size].reshape(array.shape)
    inside[...] = array
    return inside, buffer


def gathers():
    """Return the gather loop in LLVM, and as numba compiles it, every index checked."""
    import numba

    from leml_solver._linalg.compiled import _gather

    @numba.njit
    def gather(dest, at, panel, index, data, span):
        _gather(dest, at, panel, index, data, span)

    @numba.njit(boundscheck=True)
    def checked(dest, at, panel, index, data, span):
        for p in range(span[0], span[1]):
            for c in range(panel.shape[1]):
                dest[at + c] += data[p] * panel[index[p], c]

    return gather, checked


def check_gather(rng, gather, reference):
    """Compare the LLVM loop with the reference on one random row, between guards."""
    from leml_solver._linalg import compiled

    dtype = (np.float32, np.float64)[rng.integers(2)]
    width = (compiled.WIDE_BYTES, compiled.NARROW_BYTES)[rng.integers(2)] // np.dtype(
        dtype
    ).itemsize
    rows = int(rng.choice([1, 3, 50, compiled._NEAR_ROWS + 1]))
    panel, _ = guarded(rng.normal(size=(rows, width)).astype(dtype), np.nan)
    entries = int(rng.integers(0, 40))
    kinds = (np.int32, np.int64, np.uint16)
    index, _ = guarded(rng.integers(rows, size=entries).astype(kinds[rng.integers(3)]), 0)
    data_type = (np.float32, np.float64)[rng.integers(2)]
    data, _ = guarded(rng.normal(size=entries).astype(data_type), np.nan)
    low, high = sorted(int(end) for end in rng.integers(0, entries + 1, 2))
    dest, buffer = guarded(np.zeros(3 * width, dtype), MARK)
    at = int(rng.integers(0, 2 * width + 1))
    expected = dest.copy()
    reference(expected, at, panel, index, data, (low, high))
    gather(dest, at, panel, index, data, (low, high))
    assert (buffer[:GUARD] == MARK).all(), "wrote before the array"
    assert (buffer[-GUARD:] == MARK).all(), "wrote after the array"
    # 40 products of size one, contracted and reordered: 40 roundings of the type.
    assert np.allclose(dest, expected, rtol=0, atol=400 * np.finfo(dtype).eps)


def check_products(rng):
    """Compare sparse products and sums over entries with numpy."""
    import scipy.sparse as sp

    from leml_solver._linalg import compiled, matrices

    n, d, k = (int(size) for size in rng.integers(1, 40, 3))
    dense = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.random())
    csr = sp.csr_array(dense)
    if rng.random() < 0.5:
        csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    limits = ("_SHARED_ROWS", "_CACHED_ROWS", "_NEAR_ROWS", "_LONG_RUN")
    with pytest.MonkeyPatch.context() as patch:
        for name in limits:
            patch.setattr(matrices, name, int(rng.integers(1, 30)))
        X = matrices.as_matrix(csr)
        B, A = rng.normal(size=(d, k)), rng.normal(size=(n, k))
        # Sums of at most 40 products of size one.
        assert np.allclose(X.times(B), dense @ B, atol=1e-12)
        assert np.allclose(X.adjoint(A), dense.T @ A, atol=1e-12)
        assert np.allclose(X.column_squares(), (dense**2).sum(axis=0), atol=1e-12)
    tiles = int(rng.integers(1, d + 1))
    cuts = compiled.run_cuts(csr.indptr, csr.indices, -(-d // tiles), tiles)
    check_entries(rng, csr, cuts, (A, B))


def check_entries(rng, csr, cuts, factors):
    """Compare sums over entries with numpy, factors between guards."""
    from leml_solver._linalg import compiled

    dtype = (np.float32, np.float64)[rng.integers(2)]
    A, B = (guarded(factor.astype(dtype), np.nan)[0] for factor in factors)
    (out, _), (sums, buffer) = (
        guarded(np.zeros(shape, dtype), MARK) for shape in (csr.nnz, A.shape)
    )
    i, j = np.repeat(np.arange(len(A)), np.diff(csr.indptr)), csr.indices
    shift = rng.normal(size=csr.nnz) if rng.random() < 0.5 else None
    products = (A[i].astype(float) * B[j]).sum(axis=1)
    scales = csr.data * products - (0 if shift is None else shift)
    # Sums of at most 40 products, each of which may be a sum of 40: numbers of size 100.
    close = partial(np.allclose, rtol=0, atol=1600 * 100 * np.finfo(dtype).eps)
    where = cuts, csr.indices
    compiled.entry_products(A, B, *where, out, (0, len(A)))
    assert close(out, products)
    for numbers, write in (
        (csr.data, partial(compiled.entry_sums, csr.data, B)),
        (scales, partial(compiled.entry_curvature, csr.data, shift, A, B)),
    ):
        write(*where, sums, (0, len(A)))
        expected = np.zeros(A.shape)
        np.add.at(expected, i, numbers[:, None] * B[j])
        assert close(sums, expected)
    assert (buffer[:GUARD] == MARK).all(), "wrote before the array"
    assert (buffer[-GUARD:] == MARK).all(), "wrote after the array"


def check_that_bounds_are_checked():
    """Assert that an index outside raises here: else this process proves nothing."""
    from leml_solver._linalg import compiled

    out = np.zeros(2)
    try:
        compiled.group_sums(np.ones(1), np.array([7]), out)
    except IndexError:
        return
    raise AssertionError("bounds are not checked")


def child(first, cases):
    """Run cases in this process; print how many."""
    check_that_bounds_are_checked()
    gather, reference = gathers()
    for seed in range(first, first + cases):
        rng = np.random.default_rng(seed)
        try:
            check_gather(rng, gather, reference)
            check_products(rng)
        except Exception as error:
            raise AssertionError(f"kernels, seed {seed}") from error
    print(cases)


def run_child(first: int, cases: int) -> int:
    """Run cases in a process with bounds checks on, compiled anew; return how many were run."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": cache}
        code = f"from tests.fuzz.kernels import child; child({first}, {cases})"
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True
        )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)
