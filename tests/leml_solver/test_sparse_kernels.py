"""The compiled products agree with numpy for every shape that takes another path through them."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from leml_solver._factored.entry_sums import entries_of
from leml_solver._linalg import threads
from leml_solver._linalg.matrices import SparseMatrix, Tiles, as_matrix
from leml_solver._linalg.threads import (
    available_threads,
    balanced_rows,
    even_rows,
    limit_threads,
    matmul,
    one_blas_thread,
    parallel_map,
    thread_count,
)
from leml_solver.labels import Labels, as_labels
from leml_solver.losses import LOSSES, Squared

# k below, at and above the widths of narrow and wide panels, with full and partial last panels.
WIDTHS = (1, 7, 16, 20, 33, 64, 70, 130)


def _matrix(n, d, density, dtype, seed=0):
    # sp.random draws a permutation of all n d positions: a minute for the largest matrix here.
    rng = np.random.default_rng(seed)
    size = round(n * d * density)
    places = (rng.integers(n, size=size), rng.integers(d, size=size))
    return sp.csr_matrix((rng.standard_normal(size).astype(dtype), places), shape=(n, d))


def _close(actual, expected, dtype, terms):
    # A sum of m terms is off by at most m roundings of the largest size that the terms add up to.
    bound = 4 * (terms + 1) * np.finfo(dtype).eps * np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", WIDTHS)
def test_sparse_products_agree_with_numpy(dtype, k):
    rng = np.random.default_rng(k)
    X = _matrix(150, 90, 0.2, dtype)
    W, A = (rng.standard_normal((size, k)).astype(dtype) for size in (90, 150))
    matrix = as_matrix(X, dtype)
    _close(matrix.times(W), X.toarray() @ W, dtype, 90)
    _close(matrix.adjoint(A), X.toarray().T @ A, dtype, 150)


def test_tiles_of_several_kinds_give_the_same_product():
    # More than 2^16 columns are cut into tiles with 16-bit indices; more than 2^14 rows as well.
    X = _matrix(3000, 70_000, 1e-3, np.float64)
    rng = np.random.default_rng(0)
    W, A = rng.standard_normal((70_000, 5)), rng.standard_normal((3000, 5))
    tiles, transposed = Tiles.of(X), Tiles.of_transpose(X)
    assert tiles.pointers.shape[0] > 1
    assert tiles.index.dtype == transposed.index.dtype == np.uint16
    _close(tiles.times(W), X @ W, np.float64, 200)
    _close(transposed.times(A), X.T @ A, np.float64, 200)
    A = rng.standard_normal((40_000, 5))
    for density, count in ((0.05, 10), (0.01, 3)):  # columns with many entries get lower tiles
        columns = _matrix(40_000, 50, density, np.float64)
        transposed = Tiles.of_transpose(columns)
        assert transposed.pointers.shape[0] == count
        _close(transposed.times(A), columns.T @ A, np.float64, 3000)


@pytest.mark.parametrize("d", [2049, 70_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_panels_beyond_the_cache_agree_with_scipy(d, dtype):
    # Rows of such panels are asked for ahead of use, in one tile and in several.
    X = _matrix(400, d, 20 / d, dtype)
    W = np.random.default_rng(d).standard_normal((d, 70)).astype(dtype)
    _close(as_matrix(X, dtype).times(W), X @ W, dtype, 50)


def test_double_precision_factors_meet_single_precision_features():
    X = _matrix(60, 40, 0.3, np.float32)
    W = np.random.default_rng(0).standard_normal((40, 35))
    product = as_matrix(X, np.float32).times(W)
    assert product.dtype == np.float64
    _close(product, X.toarray().astype(np.float64) @ W, np.float64, 40)


def test_empty_rows_and_columns_are_zero():
    X = sp.csr_matrix((4, 5))
    assert not as_matrix(X).times(np.ones((5, 3))).any()
    assert not as_matrix(X).adjoint(np.ones((4, 3))).any()


def test_repeated_entries_of_a_sparse_matrix_are_added():
    X = sp.csr_matrix((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_array_equal(as_matrix(X).times(np.eye(2)), [[0, 2], [1, 0]])


def test_column_squares_and_rows_agree_with_dense():
    X = _matrix(30, 20, 0.3, np.float64)
    for matrix in (as_matrix(X), as_matrix(X.toarray())):
        np.testing.assert_allclose(matrix.column_squares(), np.square(X.toarray()).sum(axis=0))
        np.testing.assert_array_equal(matrix.rows(3, 7), X.toarray()[3:7])


def test_sparse_matrix_shares_the_memory_of_x():
    X = _matrix(30, 20, 0.3, np.float64)
    assert np.shares_memory(as_matrix(X).csr.data, X.data)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shares_cover_the_rows_and_balance_entries(count):
    pointers = np.concatenate([[0], np.cumsum([100, 1, 1, 1, 97])])
    with limit_threads(count):
        shares = balanced_rows(pointers, work=np.inf)
        even = even_rows(5, work=np.inf)
        assert balanced_rows(pointers, work=0) == even_rows(5, work=0) == [(0, 5)]
    for parts in (shares, even):
        assert len(parts) <= count
        np.testing.assert_array_equal(np.concatenate([np.arange(*p) for p in parts]), np.arange(5))
    if count == 2:
        assert shares == [(0, 1), (1, 5)]


def _blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


def test_blas_has_one_thread_within_and_what_it_had_after():
    with threadpool_limits(limits=2, user_api="blas"):
        before = _blas_threads()
        assert 2 in before  # a library that a solver brings may know one thread only
        with one_blas_thread():
            assert _blas_threads() == {1}
        assert _blas_threads() == before


def test_threads_are_limited_before_numba_is_loaded(monkeypatch):
    monkeypatch.delitem(sys.modules, "numba")
    with limit_threads(1):
        assert thread_count() == 1
        assert _blas_threads() == {1}


def test_threads_follow_the_limit_and_share_the_work():
    with limit_threads(2):
        assert thread_count() == 2
        assert parallel_map(lambda part: part + 1, [1, 2, 3]) == [2, 3, 4]
    assert thread_count() == available_threads() >= 1


def _problem(seed=0, n=70, L=40, k=19):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((n, L))
    Y[rng.random((n, L)) < 0.6] = np.nan
    A, B = rng.standard_normal((n, k)), rng.standard_normal((n, k))
    H, S = rng.standard_normal((L, k)), rng.standard_normal((L, k))
    return Y, A, B, H, S


@pytest.mark.parametrize("name", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_entry_sums_agree_with_dense_formulas(name, missing, dtype):
    loss = LOSSES[name]
    Y, *factors = _problem()
    A, B, H, S = (F.astype(dtype) for F in factors)
    Y = np.where(np.isnan(Y), np.nan, Y > 0) if loss.binary else Y
    mask = ~np.isnan(Y) if missing else np.ones(Y.shape, dtype=bool)
    Y = np.where(mask, np.nan_to_num(Y), np.nan)
    offset = np.linspace(-1, 1, Y.shape[1])
    entries = entries_of(as_labels(Y), loss, dtype)
    y = np.where(mask, np.nan_to_num(Y), 0)
    y = np.where(y > 0, 1.0, -1.0) if loss.binary else y
    F = A.astype(float) @ H.T + offset
    D, C = mask * loss.derivative(y, F), mask * loss.second_derivative(y, F)
    slopes, curvatures = entries.slopes(A, H, offset), entries.curvatures(A, H, offset)
    losses = (mask * loss.value(y, F)).sum(axis=0)
    # Predictions of size 10 carry 19 roundings each; sums run over at most 70 of them.
    tolerance = {"rtol": 0, "atol": 70 * 20 * 10 * np.finfo(dtype).eps * 10}
    np.testing.assert_allclose(entries.label_losses(A, H, offset), losses, **tolerance)
    np.testing.assert_allclose(entries.rows(slopes, H), D @ H, **tolerance)
    np.testing.assert_allclose(entries.columns(slopes, A), D.T @ A, **tolerance)
    np.testing.assert_allclose(entries.rows_gradient(A, H, offset), D @ H, **tolerance)
    D = mask * loss.derivative(y, F - offset)
    np.testing.assert_allclose(entries.columns_gradient(A, H), D.T @ A, **tolerance)
    if name != "squared_hinge" or dtype == np.float64:  # a kink may fall the other way in float32
        rows, columns = (C * (B @ H.T)) @ H, (C * (A @ S.T)).T @ A
        np.testing.assert_allclose(entries.rows_product(curvatures, B, H), rows, **tolerance)
        np.testing.assert_allclose(entries.columns_product(curvatures, A, S), columns, **tolerance)


def test_weights_count_an_entry_as_often_as_it_was_seen():
    _, A, _, H, _ = _problem()
    rows, columns = np.array([0, 3, 3, 5]), np.array([1, 2, 2, 0])
    values = np.array([1.0, -1.0, -1.0, 2.0])
    loss = LOSSES["squared"]
    repeated = Labels.observed(rows, columns, values, (70, 40))
    weighted = Labels.observed(
        rows[[0, 1, 3]], columns[[0, 1, 3]], values[[0, 1, 3]], (70, 40), [1, 2, 1]
    )
    one, two = (entries_of(labels, loss, np.float64) for labels in (repeated, weighted))
    np.testing.assert_allclose(one.label_losses(A, H, None), two.label_losses(A, H, None))
    for gradients in (
        [e.rows(e.slopes(A, H, None), H) for e in (one, two)],
        [e.rows_gradient(A, H, H[:, 0]) for e in (one, two)],
        [e.columns_gradient(A, H) for e in (one, two)],
    ):
        np.testing.assert_allclose(*gradients)


def test_factors_may_lie_in_memory_in_any_way():
    Y, A, B, H, _ = _problem()
    entries = entries_of(as_labels(Y), LOSSES["squared"], np.float64)
    D = entries.slopes(A, H, None)

    def sums(A, B, H):
        found = [entries.predictions(A, H, None), entries.rows(D, H), entries.columns(D, A)]
        return [*found, entries.rows_product(D, B, H), entries.columns_gradient(A, H)]

    frozen = H.copy()
    frozen.flags.writeable = False
    for others in (
        [np.asfortranarray(F) for F in (A, B, H)],
        [np.repeat(F, 2, axis=1)[:, ::2] for F in (A, B, H)],
        (A, B, frozen),
    ):
        for one, other in zip(sums(A, B, H), sums(*others), strict=True):
            np.testing.assert_array_equal(one, other)


def test_labels_in_every_form_are_the_same_labels():
    Y, *_ = _problem()
    mask = ~np.isnan(Y)
    rows, columns = np.nonzero(mask)
    order = np.random.default_rng(0).permutation(rows.size)
    filled = np.nan_to_num(Y)
    forms = [
        Labels.with_missing(Y),
        Labels.masked(filled, mask),
        Labels.masked(sp.csr_matrix(filled), sp.csr_matrix(mask)),
        Labels.observed(rows[order], columns[order], Y[rows, columns][order], Y.shape),
    ]
    for labels in forms:
        assert labels.n_observed == mask.sum()
        assert not labels.is_full
        np.testing.assert_array_equal(labels.entries.values, Y[mask])
    assert as_labels(sp.csr_matrix(filled)).is_full
    assert as_labels(filled).is_full


def test_a_masked_zero_is_known_and_an_unobserved_label_is_listed():
    labels = Labels.with_missing(np.array([[0.0, np.nan], [np.nan, np.nan]]))
    assert labels.n_observed == 1
    np.testing.assert_array_equal(labels.unobserved_labels, [1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Labels.with_missing(np.full((2, 2), np.nan)), "must have an observed entry"),
        (lambda: Labels.full(np.array([[np.inf]])), "Y"),
        (lambda: Labels.full(sp.csr_matrix([[np.nan]])), "missing labels go into `mask`"),
        (lambda: Labels.masked(np.ones((2, 2)), np.ones((2, 3))), "must have the shape of `Y`"),
        (lambda: Labels.observed([2], [0], [1.0], (2, 2)), "must lie in \\[0, 2\\)"),
        (lambda: Labels.observed([0], [0, 1], [1.0], (2, 2)), "one index per value"),
        (lambda: Labels.observed([0], [0], [1.0], (2, 2), [-1.0]), "must not be negative"),
        (lambda: Labels.with_missing(np.ones(3)), "two axes"),
        (lambda: Labels.full(sp.csr_matrix((0, 3))), "rows and columns"),
    ],
)
def test_bad_labels_are_refused_with_a_reason(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_float_indices_are_a_type_error():
    with pytest.raises(TypeError, match="integers"):
        Labels.observed([0.5], [0], [1.0], (2, 2))


def test_products_are_the_same_on_one_thread_and_on_all():
    # Each row is summed by one thread, so that sharing rows changes nothing, not even a bit.
    X = _matrix(1000, 300, 0.1, np.float32)
    W = np.random.default_rng(0).standard_normal((300, 64)).astype(np.float32)
    matrix, products = SparseMatrix(X), []
    for count in (1, 2, 3):
        with limit_threads(count):
            products.append(matrix.times(W))
    np.testing.assert_array_equal(products[0], products[1])
    np.testing.assert_array_equal(products[0], products[2])


def test_one_thread_is_one():
    with limit_threads(3), threads.one_thread():
        assert threads.thread_count() == 1


def test_shared_matmul_is_matmul():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((4000, 120)), rng.standard_normal((120, 120))
    with limit_threads(3):
        product = matmul(A, B)
    # Blocks of rows may be summed in another order by BLAS.
    np.testing.assert_allclose(product, A @ B, rtol=0, atol=120 * 1e-14)


def test_sums_over_tiles_have_the_bits_of_sums_at_once(monkeypatch):
    """A factor too large for the cache is met in tiles; each sum keeps its order."""
    rng = np.random.default_rng(0)
    n, L, k, m = 40, 30, 3, 700
    listed = rng.integers(n, size=m), rng.integers(L, size=m), rng.normal(size=m)
    A, H = rng.normal(size=(n, k)), rng.normal(size=(L, k))

    def sums():
        entries = entries_of(Labels.observed(*listed, (n, L)), Squared(), np.float64)
        D, C = entries.slopes(A, H, None), entries.curvatures(A, H, None)
        found = [D, entries.rows(D, H), entries.columns(D, A)]
        found += [entries.rows_product(C, A, H), entries.columns_product(C, A, H)]
        return found, len(entries.labels.entries.by_label.cuts(A))

    at_once, ends = sums()
    monkeypatch.setattr("leml_solver.labels._TILE_BYTES", 100)
    monkeypatch.setattr("leml_solver.labels._TILE_ENTRIES", 2)
    in_tiles, more_ends = sums()
    assert (ends, more_ends) == (2, 1 + 10)
    for one, other in zip(at_once, in_tiles, strict=True):
        assert np.array_equal(one, other)


def test_one_thread_keeps_no_counts_of_rows(monkeypatch):
    """Each block of a large folder kept d numbers: memory grew with the number of blocks."""
    X = sp.random(50, 40, density=0.2, format="csr", random_state=0)
    B = np.ones((40, 3))
    monkeypatch.setattr(Tiles, "_row_ends", property(lambda self: pytest.fail("counts of rows")))
    with limit_threads(1):
        assert np.allclose(Tiles.of(X).times(B), X @ B, rtol=1e-12)  # rounding of 40 additions
