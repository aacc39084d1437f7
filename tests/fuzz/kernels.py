"""The compiled loops with bounds checks on, beside plain numpy, in a process of its own.

numba checks the bounds of every array that its own code indexes. The gather loop is written in LLVM
and checked by nobody: here it runs between guards (NaN around what it reads, marks around what it
writes), and beside a reference that numba compiles with bounds checks.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
GUARD = 512  # elements around an array: two wide vectors of the smallest type, and more
MARK = 12345.0


def guarded(array, fill):
    """Return a copy of an array with guards of `fill` on both sides, and the whole buffer."""
    buffer = np.full(array.size + 2 * GUARD, fill, dtype=array.dtype)
    inside = buffer[GUARD : GUARD + array.size].reshape(array.shape)
    inside[...] = array
    return inside, buffer


def checked_gather():
    """Return the gather loop as numba compiles it, every index checked."""
    import numba

    @numba.njit(boundscheck=True)
    def gather(dest, at, panel, index, data, span):
        for p in range(span[0], span[1]):
            for c in range(panel.shape[1]):
                dest[at + c] += data[p] * panel[index[p], c]

    return gather


def check_gather(rng, reference):
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
    data, _ = guarded(rng.normal(size=entries).astype(dtype), np.nan)
    low, high = sorted(int(end) for end in rng.integers(0, entries + 1, 2))
    dest, buffer = guarded(np.zeros(3 * width, dtype), MARK)
    at = int(rng.integers(0, 2 * width + 1))
    expected = dest.copy()
    reference(expected, at, panel, index, data, (low, high))
    compiled._gather(dest, at, panel, index, data, (low, high))
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
    saved = matrices._SHARED_ROWS, matrices._CACHED_ROWS
    matrices._SHARED_ROWS, matrices._CACHED_ROWS = (int(size) for size in rng.integers(1, 30, 2))
    try:
        X = matrices.as_matrix(csr)
        B, A = rng.normal(size=(d, k)), rng.normal(size=(n, k))
        # Sums of at most 40 products of size one.
        assert np.allclose(X.times(B), dense @ B, atol=1e-12)
        assert np.allclose(X.adjoint(A), dense.T @ A, atol=1e-12)
        assert np.allclose(X.column_squares(), (dense**2).sum(axis=0), atol=1e-12)
    finally:
        matrices._SHARED_ROWS, matrices._CACHED_ROWS = saved
    out, sums, rows = np.empty(csr.nnz), np.empty((n, k)), (0, n)
    tiles = int(rng.integers(1, d + 1))
    cuts = compiled.run_cuts(csr.indptr, csr.indices, -(-d // tiles), tiles)
    compiled.entry_products(A, B, cuts, csr.indices, out, rows)
    i, j = np.repeat(np.arange(n), np.diff(csr.indptr)), csr.indices
    assert np.allclose(out, (A[i] * B[j]).sum(axis=1), atol=1e-12)
    compiled.entry_sums(csr.data, B, cuts, csr.indices, sums, rows)
    assert np.allclose(sums, dense @ B, atol=1e-12)
    compiled.entry_curvature(csr.data, A, B, cuts, csr.indices, sums, rows)
    weights = sp.csr_array((csr.data * out, csr.indices, csr.indptr), csr.shape).toarray()
    assert np.allclose(sums, weights @ B, atol=1e-11)


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
    reference = checked_gather()
    for seed in range(first, first + cases):
        rng = np.random.default_rng(seed)
        try:
            check_gather(rng, reference)
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
