"""What arrays may look like: equal to the canonical form to the bit, or refused by name."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel

from leml_solver import (
    AlternatingOptions,
    EntrySplit,
    Labels,
    LEMLClassifier,
    LEMLRegressor,
    Problem,
    evaluate_estimator,
    evaluate_scores,
    fit_factors,
)
from leml_solver.baselines import BinaryRelevanceClassifier
from leml_solver.readers import Dataset

RNG = np.random.default_rng(0)
X = RNG.integers(-4, 5, (30, 6)).astype(float)  # exact in every type below
Y = (RNG.random((30, 4)) < 0.4).astype(float)


def fitted(X, Y, **arguments):
    model = LEMLClassifier(2, penalty=0.5, random_state=0).fit(X, Y, **arguments)
    return model.W_.astype(float), model.H_.astype(float)


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


LAYOUTS = {
    "read-only": lambda A: _read_only(A),
    "negative strides": lambda A: A[::-1, ::-1].copy()[::-1, ::-1],
    "every other column": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "Fortran order": np.asfortranarray,
    "other byte order": lambda A: A.astype(">f8"),
    "half precision": lambda A: A.astype(np.float16),
    "objects": lambda A: A.astype(object),
    "integers": lambda A: A.astype(np.int16),
    "nothing masked": lambda A: np.ma.masked_array(A),
    "list": lambda A: A.tolist(),
}


def _read_only(A):
    A = A.copy()
    A.flags.writeable = False
    return A


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_arrays_do_not_matter(layout):
    expected = fitted(X, Y)
    assert same(fitted(LAYOUTS[layout](X), Y), expected)
    assert same(fitted(X, LAYOUTS[layout](Y)), expected)


def _duplicated(A):
    made = A.tocoo()
    twice = [np.concatenate([part, part]) for part in (made.row, made.col)]
    return sparse.csr_matrix((np.concatenate([made.data, 0 * made.data]), twice), made.shape)


def _unsorted(A):
    made = A.copy()
    for i in range(made.shape[0]):
        row = slice(made.indptr[i], made.indptr[i + 1])
        made.indices[row], made.data[row] = (
            made.indices[row][::-1].copy(),
            made.data[row][::-1].copy(),
        )
    made.has_sorted_indices = made.has_canonical_format = False
    return made


def _long(A):
    made = A.copy()
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


def _explicit_zeros(A):
    dense = A.toarray()
    where = np.nonzero(np.ones_like(dense))
    return sparse.csr_matrix((dense[where], where), dense.shape)


SPARSE = {
    "duplicates": _duplicated,
    "unsorted": _unsorted,
    "long indices": _long,
    "explicit zeros": _explicit_zeros,
    "csc": lambda A: A.tocsc(),
    "coo": lambda A: A.tocoo(),
    "lil": lambda A: A.tolil(),
    "csr array": sparse.csr_array,
}


@pytest.mark.parametrize("layout", SPARSE)
def test_layouts_of_sparse_matrices_do_not_matter(layout):
    A, B = sparse.csr_matrix(X), sparse.csr_matrix(Y)
    expected = fitted(A, B)
    # Explicit zeros change the order of some sums: rounding of 30 terms.
    for found in (fitted(SPARSE[layout](A), B), fitted(A, SPARSE[layout](B))):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_a_mask_is_a_missing_label_and_an_error_in_the_features():
    hidden = RNG.random(Y.shape) < 0.3
    missing, masked = np.where(hidden, np.nan, Y), np.ma.masked_array(Y, hidden)
    assert same(fitted(X, masked), fitted(X, missing))
    assert same(fitted(X, masked.astype(int)), fitted(X, missing))
    plain, partly = (fit_factors(X, labels, rank=2, penalty=1.0) for labels in (missing, masked))
    assert np.array_equal(plain.W, partly.W)
    scores = RNG.standard_normal(Y.shape)
    assert evaluate_scores(masked, scores) == evaluate_scores(missing, scores)
    with pytest.raises(ValueError, match="`X` must not have masked entries"):
        fitted(np.ma.masked_array(X, X > 3), Y)
    with pytest.raises(ValueError, match="`X` must not have masked entries"):
        Problem("squared", np.ma.masked_array(X, X > 3), Y)
    with pytest.raises(ValueError, match="`Y` must not have masked entries"):
        Labels.full(masked)


@pytest.mark.parametrize("where", ["X", "Y"])
def test_complex_numbers_are_refused(where):
    data = {"X": X, "Y": Y}
    data[where] = data[where] + 1j
    with pytest.raises((TypeError, ValueError), match=r"[Cc]omplex"):
        fit_factors(data["X"], data["Y"], rank=2, penalty=1.0)
    with pytest.raises((TypeError, ValueError), match=r"[Cc]omplex|numbers"):
        fitted(data["X"], data["Y"])


def damaged(A, kind):
    """Return a sparse matrix with an index outside, made behind the back of its checks."""
    made = A.copy()
    if kind == "coo":
        made = made.tocoo()
        made.row[0] = 10**6
    elif kind == "pointers":
        made.indptr[3] = made.indptr[-1] + 5
    else:
        made.indices[0] = {"negative": -7, "too large": 10**6}[kind]
    return made


@pytest.mark.parametrize("kind", ["negative", "too large", "pointers", "coo"])
@pytest.mark.parametrize("estimator", [LEMLClassifier, LEMLRegressor, BinaryRelevanceClassifier])
def test_damaged_sparse_matrices_are_refused(kind, estimator):
    A, B = sparse.csr_matrix(X), sparse.csr_matrix(Y)
    with pytest.raises(ValueError, match="`X` is a damaged sparse matrix"):
        estimator().fit(damaged(A, kind), B)
    with pytest.raises(ValueError, match="`y` is a damaged sparse matrix"):
        estimator().fit(A, damaged(B, kind))
    model = estimator().fit(A, B)
    with pytest.raises(ValueError, match="`X` is a damaged sparse matrix"):
        model.predict(damaged(A, kind))
    with pytest.raises(ValueError, match="`Y` is a damaged sparse matrix"):
        fit_factors(A, damaged(B, kind), rank=2, penalty=1.0)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_values_near_overflow_end_in_a_clear_message(size):
    with pytest.raises(ValueError, match="between 1e-50 and 1e50"):
        fitted(X * size, Y)
    with pytest.raises(ValueError, match="between 1e-50 and 1e50"):
        LEMLRegressor().fit(X, Y * size)


def test_a_list_matrix_with_a_column_out_of_range_is_refused():
    broken = sparse.lil_matrix(np.eye(4))
    broken.rows[0], broken.data[0] = [99], [1.0]
    with pytest.raises(ValueError, match="`X` is a damaged sparse matrix"):
        fit_factors(broken, np.eye(4), rank=1, penalty=1.0)


def test_a_sparse_matrix_whose_data_are_masked_is_refused():
    masked = sparse.csr_matrix(np.eye(4))
    masked.data = np.ma.array(masked.data, mask=[True, False, False, False])
    with pytest.raises(ValueError, match="masked entries"):
        Labels.full(masked)


def test_masks_of_rows_in_a_list_count():
    Y, mask = np.eye(4), np.eye(4, k=1, dtype=bool)
    rows = [np.ma.array(y, mask=m) for y, m in zip(Y, mask, strict=True)]
    assert Labels.with_missing(rows).n_observed == 13
    with pytest.raises(ValueError, match="`X` must not have masked entries"):
        fit_factors(rows, Y, rank=1, penalty=1.0)


def test_masked_objects_are_missing_not_question_marks():
    y = np.ma.array(["a", "b"] * 3, mask=[0, 0, 0, 0, 0, 1])
    model = LEMLClassifier(1, penalty=1.0, random_state=0).fit(np.eye(6), y)
    assert model.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("strange", ["M8[s]", "m8[s]", complex, [("a", float)]])
def test_dates_records_and_complex_tables_are_refused(strange):
    X = np.zeros((4, 4), dtype=strange)
    tables = [X] if isinstance(strange, list) else [X, pd.DataFrame(X)]
    for table in tables:
        with pytest.raises(ValueError, match="`X` must hold real numbers"):
            fit_factors(table, np.eye(4), rank=1, penalty=1.0)
        with pytest.raises(ValueError, match="`X` must hold real numbers"):
            LEMLClassifier(1).fit(table, np.eye(4))


def test_repeated_entries_do_not_change_the_penalty_that_follows_the_data():
    rng = np.random.default_rng(1)
    X, Y = rng.integers(1, 4, size=(12, 3)).astype(float), np.tile(np.eye(2), (6, 1))
    once = sparse.csr_matrix(X)
    twice = sparse.csr_matrix((12, 3))
    twice.data, twice.indices = np.repeat(once.data, 2) / 2, np.repeat(once.indices, 2)
    twice.indptr = 2 * once.indptr
    for options in ({}, {"kernel": linear_kernel, "penalty": 1.0}):
        models = [LEMLClassifier(2, random_state=0, **options).fit(A, Y) for A in (once, twice)]
        assert np.array_equal(models[0].decision_function(X), models[1].decision_function(X))


def test_missing_need_not_be_boolean_and_repeated_entries_of_a_mask_count_once():
    Y, hidden = np.eye(3), np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0]])
    for missing in (hidden, hidden.tolist(), sparse.csr_matrix(hidden), hidden.astype(bool)):
        assert Labels.with_missing(Y, missing).unobserved_labels.size == 0
        assert Labels.with_missing(Y, missing).n_observed == 8
    twice = sparse.csr_matrix((np.ones(2, bool), [1, 1], [0, 2, 2, 2]), shape=(3, 3))
    assert Labels.masked(Y, twice).n_observed == 1
    assert twice.nnz == 2  # the caller's own stays as it was
    with pytest.raises(TypeError, match="`mask` must be boolean"):
        Labels.masked(Y, np.full((3, 3), np.nan))


def test_masks_of_masks_and_scores_are_refused():
    Y = np.eye(4)
    hidden = np.ma.array(Y > 0, mask=Y > 0)
    with pytest.raises(ValueError, match="`mask` must not have masked entries"):
        LEMLClassifier(1).fit(Y, Y, mask=hidden)
    with pytest.raises(ValueError, match="`mask` must not have masked entries"):
        evaluate_scores(Y, Y, ks=(1,), mask=hidden)
    with pytest.raises(ValueError, match="`scores` must not have masked entries"):
        evaluate_scores(Y, np.ma.array(Y, mask=Y > 0), ks=(1,))


def test_scores_of_a_regressor_see_masks_weights_and_damage():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    model = LEMLRegressor(2, penalty=1.0, random_state=0).fit(X, Y)
    mask, weights = rng.random(Y.shape) < 0.2, rng.integers(1, 4, 20)
    hidden = np.where(mask, np.nan, Y)
    assert model.score(X, np.ma.array(Y, mask=mask)) == model.score(X, hidden)
    repeated = model.score(np.repeat(X, weights, axis=0), np.repeat(hidden, weights, axis=0))
    assert model.score(X, hidden, weights) == pytest.approx(repeated, abs=1e-12)  # rounding
    broken = sparse.csr_matrix(Y)
    broken.indptr[1] = 10**6
    with pytest.raises(ValueError, match="`y` is a damaged sparse matrix"):
        model.score(X, broken)
    with pytest.raises(ValueError, match="`y` must have shape"):
        model.score(X, hidden[:, :1])


def test_accuracy_refuses_masked_classes():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 3)), np.tile([0, 1], 6)
    model = LEMLClassifier(1, penalty=1.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="`y` must not have masked entries"):
        model.score(X, np.ma.array(y, mask=y > 0))


@pytest.mark.parametrize("wrong", [{"a": 1}, len, object(), "text", [[10**400]]])
def test_features_that_are_no_numbers_are_named(wrong):
    with pytest.raises((TypeError, ValueError), match="`X` must be"):
        Problem("squared", wrong, np.eye(4))
    with pytest.raises((TypeError, ValueError), match=r"`X` must|Expected 2D"):
        LEMLClassifier(1).fit(wrong, np.eye(4))


def _objects(A, kind):
    made = np.empty(A.shape, dtype=object)
    for place, value in np.ndenumerate(A):
        made[place] = kind(value)
    return made


class Foreign:
    """An array of another package."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array if dtype is None else self.array.astype(dtype)


HIDDEN_COMPLEX = {
    "objects": lambda A: _objects(A, np.complex128),
    "list of rows": lambda A: list(A.astype(complex)),
    "buffer": lambda A: memoryview(np.ascontiguousarray(A.astype(complex))),
    "foreign": lambda A: Foreign(A.astype(complex)),
    "table": lambda A: pd.DataFrame(_objects(A, np.complex128)),
}


@pytest.mark.parametrize("kind", HIDDEN_COMPLEX)
def test_complex_numbers_within_other_containers_are_refused(kind):
    """numpy casts each of these to floats, and drops the imaginary part."""
    strange_X, strange_Y = HIDDEN_COMPLEX[kind](X), HIDDEN_COMPLEX[kind](Y)
    for call in (
        lambda: fit_factors(strange_X, Y, rank=1, penalty=1.0),
        lambda: fit_factors(X, strange_Y, rank=1, penalty=1.0),
        lambda: LEMLClassifier(1).fit(strange_X, Y),
        lambda: LEMLClassifier(1).fit(X, strange_Y),
        lambda: evaluate_scores(strange_Y, Y),
        lambda: LEMLRegressor(1).fit(X, Y).score(X, strange_Y),
    ):
        with pytest.raises(ValueError, match="Complex data not supported"):
            call()


@pytest.mark.parametrize("kind", [np.datetime64, np.timedelta64])
def test_dates_among_objects_are_refused(kind):
    strange = _objects(Y, lambda value: kind(int(value), "ns"))
    for call in (
        lambda: fit_factors(strange, Y, rank=1, penalty=1.0),
        lambda: LEMLClassifier(1).fit(strange, Y),
        lambda: LEMLClassifier(1).fit(X, strange),
        lambda: Labels.full(strange),
    ):
        with pytest.raises(ValueError, match="must hold real numbers"):
            call()
    with pytest.raises(ValueError, match="`rows` must hold real numbers"):
        Labels.observed(np.array([0], "m8[s]"), [0], [1.0], (2, 2))


def test_the_mask_of_an_array_of_another_package_is_seen():
    masked = np.ma.array(Y, mask=Y > 0)
    for call in (
        lambda: LEMLClassifier(1).fit(Foreign(masked), Y),
        lambda: LEMLClassifier(1).fit(X, Foreign(masked)),
        lambda: Labels.with_missing(Foreign(masked)),
        lambda: evaluate_scores(Foreign(masked), Y),
    ):
        with pytest.raises(ValueError, match="must not have masked entries"):
            call()
    with pytest.raises(ValueError, match="`rows` must not have masked entries"):
        Labels.observed(np.ma.array([0, 1], mask=[1, 0]), [0, 1], [1.0, 0.0], (2, 2))


@pytest.mark.parametrize("dtype", [object, np.float16])
def test_sparse_matrices_that_scipy_cannot_compute_with_are_refused(dtype):
    strange = sparse.csr_matrix(Y)
    strange.data = strange.data.astype(dtype)
    for call in (
        lambda: fit_factors(strange, Y, rank=1, penalty=1.0),
        lambda: LEMLClassifier(1).fit(X, strange),
    ):
        with pytest.raises(ValueError, match=f"has type {np.dtype(dtype)}, which scipy"):
            call()


WEIGHTS = {
    "masked": (np.ma.array(np.ones(30), mask=Y[:, 0] > 0), "must not have masked entries"),
    "negative": (-np.ones(30), "must not be negative"),
    "zeros": (np.zeros(30), "must have a positive entry"),
    "short": (np.ones(3), "must have one weight per row"),
    "huge": (np.full(30, 1e200), "must have its largest absolute value"),
    "periods": (np.ones(30).astype("m8[s]"), "must hold real numbers"),
}


@pytest.mark.parametrize("kind", WEIGHTS)
def test_weights_of_rows_pass_one_gate_in_fits_and_scores(kind):
    strange, said = WEIGHTS[kind]
    hidden = np.where(Y > 0, np.nan, 0.0)
    hidden[:2] = [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    for estimator in (LEMLClassifier(1, penalty=1.0), LEMLRegressor(1, penalty=1.0)):
        model = estimator.fit(X, Y)
        for labels in (Y, hidden):
            with pytest.raises(ValueError, match=f"`sample_weight` {said}"):
                model.score(X, labels, sample_weight=strange)
        with pytest.raises(ValueError, match=f"`sample_weight` {said}"):
            estimator.fit(X, Y, sample_weight=strange)


@pytest.mark.parametrize("y", [Y, Y[:, 0]])
def test_weights_of_classes_are_named(y):
    for strange, said in (
        ({0: -1.0, 1: 1.0}, "`class_weight` must not be negative"),
        ({0: 1.0, 1: np.nan}, "`class_weight` must be finite"),
    ):
        with pytest.raises(ValueError, match=said):
            LEMLClassifier(1, penalty=1.0, class_weight=strange).fit(X, y)


@pytest.mark.parametrize("shape", [(2.5, 2), (2, 2, 2), "ab", (float("nan"), 2), (2**31, 2)])
def test_lists_of_entries_need_the_shape_of_a_matrix(shape):
    """Numbers of rows are kept in 32 bits: 2^31 of them would wrap around."""
    with pytest.raises((TypeError, ValueError), match="`shape` must be"):
        Labels.observed([0, 1], [0, 1], [1.0, 0.0], shape)


def test_scores_take_rows_in_every_form():
    model = LEMLClassifier(1, penalty=1.0, random_state=0).fit(X, Y)
    whole = evaluate_estimator(model, X, Y)
    for rows in (X.tolist(), sparse.coo_matrix(X), pd.DataFrame(X)):
        assert evaluate_estimator(model, rows, Y) == whole
    assert model.score(X.tolist(), Y, sample_weight=[1] * 30) == model.score(X, Y)


def test_entries_are_dealt_into_any_number_of_parts_and_rows_must_fit():
    parts = EntrySplit(40_000)._folds(np.ones((200, 201), dtype=bool))
    assert (parts.min(), parts.max()) == (0, 39_999)  # 16 bits wrapped around
    for rows in (X[:5], np.vstack([X, X])):
        with pytest.raises(ValueError, match="same number of rows"):
            EntrySplit(2).stacked(rows, Y)
    with pytest.raises(TypeError, match="`random_state` must be"):
        next(EntrySplit(2, "seed").split(Y))


def test_thresholds_of_metrics_are_numbers_and_masks_may_be_lists():
    for strange in (float("nan"), "0.5", True):
        with pytest.raises((TypeError, ValueError), match="`threshold` must be"):
            evaluate_scores(Y, Y, threshold=strange)
    seen = X[:, :4] > 0
    assert evaluate_scores(Y, X[:, :4], mask=seen.tolist()) == evaluate_scores(
        Y, X[:, :4], mask=seen
    )
    with pytest.raises(ValueError, match="`propensities` must be 4 probabilities"):
        evaluate_scores(Y, Y, propensities=[1e-300, 1, 1, 1])


@pytest.mark.parametrize("kind", ["negative", "too large", "pointers", "coo"])
@pytest.mark.parametrize("part", ["X", "Y", "missing"])
def test_data_sets_refuse_damaged_matrices(part, kind):
    """Folders of blocks are made of them by compiled loops, which would write out of bounds."""
    good = {"X": sparse.csr_array(X), "Y": sparse.csr_array(Y), "missing": None}
    whole = sparse.csr_array(Y > 0) if part == "missing" else good[part]
    with pytest.raises(ValueError, match=f"`{part}` is a damaged sparse matrix"):
        Dataset(**(good | {part: damaged(whole, kind)}))


def test_data_sets_hold_one_form_of_everything():
    A, B = sparse.csr_array(X), sparse.csr_array(Y)
    hidden = sparse.csr_array(([True, True, False], ([0, 0, 1], [1, 1, 2])), shape=Y.shape)
    data = Dataset(A.tocsc(), B.toarray(), hidden)
    assert (data.X != A).nnz == (data.Y != B).nnz == 0
    assert data.hidden.nnz == 1  # repeated ones count once, stored False not at all
    for changed, said in (
        ({"X": A[:5]}, "same number of rows"),
        ({"X": 1j * A}, "Complex data"),
        ({"X": A * np.inf}, "`X` must be finite"),
        ({"Y": 2 * B}, "`Y` must hold ones"),
        ({"missing": hidden[:, :2]}, "`missing` must have the shape of `Y`"),
    ):
        with pytest.raises(ValueError, match=said):
            replace(data, **changed)


def test_lists_and_diagonals_that_do_not_match_are_refused():
    lil, dia, csr = sparse.lil_matrix(X), sparse.dia_matrix(X), sparse.csr_matrix(X)
    csr.indptr[-1] = -1  # a matrix that scipy takes for an empty one
    lil.data[3] = lil.data[3] + [1.0] * 50  # scipy's loop would write past its array
    dia.offsets = np.repeat(dia.offsets[:1], dia.offsets.size)
    for broken in (lil, dia, csr):
        with pytest.raises(ValueError, match="`X` is a damaged sparse matrix"):
            LEMLClassifier(1).fit(broken, Y)


@pytest.mark.parametrize("kind", ["negative", "too large", "pointers", "coo"])
def test_what_is_fitted_or_split_without_an_estimator_passes_the_gate(kind):
    model, model_32 = (fit_factors(X.astype(t), Y, rank=2, penalty=1.0) for t in (float, "f4"))
    for call in (
        lambda A: model.scores(A),
        lambda A: EntrySplit(2).stacked(A, Y),
        lambda A: evaluate_estimator(LEMLClassifier(1, penalty=1.0).fit(X, Y), A, Y),
    ):
        with pytest.raises(ValueError, match="`X` is a damaged sparse matrix"):
            call(damaged(sparse.csr_array(X), kind))
        with pytest.raises(ValueError, match="`X` must not have masked entries"):
            call(np.ma.array(X, mask=X > 3))
    for strange, said in ((1j * X, "Complex"), (X[:, :5], "6 columns"), (X * np.nan, "finite")):
        with pytest.raises(ValueError, match=said):
            model.scores(strange)
        with pytest.raises(ValueError, match=said):
            model_32.scores(sparse.csr_matrix(strange))


def test_repeated_entries_are_added_in_the_type_of_the_matrix_before_anything_looks_at_them():
    seen = sparse.csr_array((30, 4), dtype=bool)
    seen.data, seen.indices = np.ones(60, bool), np.repeat(np.arange(30) % 4, 2)
    seen.indptr = 2 * np.arange(31)
    assert same(fitted(X, seen), fitted(X, seen.toarray()))
    assert Labels.full(seen).known_values().max() == 1
    dealt = [sum(part.nnz for part in parts) for parts in EntrySplit(2).split_mask(seen)]
    assert dealt == [30, 30]  # no entry is in both parts
    twice = seen.astype(float)
    with pytest.raises(ValueError, match="`y` must be a matrix of 0/1 labels"):
        fitted(X, twice)
    with pytest.raises(ValueError, match="`Y` must hold labels"):
        evaluate_scores(twice, Y)
    stale = _unsorted(sparse.csr_matrix(X))
    stale.has_sorted_indices = stale.has_canonical_format = True  # which is wrong
    assert same(fitted(stale, Y), fitted(sparse.csr_matrix(X), Y))


def test_layouts_do_not_matter_with_weights_and_starts_are_checked():
    weights = RNG.integers(1, 4, 30)
    expected = fitted(X, Y, sample_weight=weights)
    for layout in (np.asfortranarray, lambda A: np.frombuffer(b"0" + A.tobytes(), offset=1)):
        A, B = (layout(part).reshape(part.shape) for part in (X, Y))
        assert same(fitted(A, Y, sample_weight=weights), expected)
        assert same(fitted(X, B, sample_weight=weights), expected)
    for strange in (np.ones((6, 2)) * 1j, np.full((6, 2), np.nan), np.ma.array(X[:6, :2], mask=1)):
        options = AlternatingOptions(start=(strange, np.ones((4, 2))))
        with pytest.raises(ValueError, match="`start`"):
            fit_factors(X, Y, rank=2, penalty=1.0, options=options)
    with pytest.raises(ValueError, match="`Z` must have shape"):
        Problem("squared", X, Y).gradient(np.ones((2, 2)))
    with pytest.raises(ValueError, match="`y` must hold real numbers"):
        LEMLClassifier(1).fit(X, np.zeros(30, dtype=[("a", float), ("b", float)]))


def test_labels_beyond_32_bits_are_refused_before_memory_is_asked_for():
    """18 GB were filled first."""
    with pytest.raises(ValueError, match=r"`Y` must be below 2\^31 rows and columns"):
        LEMLClassifier(1).fit(X, sparse.csr_array((30, 2**31 + 5)))


def test_rows_of_different_lengths_are_named():
    for call in (
        lambda: evaluate_scores([[1, 0], [1]], np.ones((2, 2))),
        lambda: LEMLClassifier(1).fit([[1.0, 2.0], [3.0]], [[1, 0], [0, 1]]),
    ):
        with pytest.raises(ValueError, match=r"`[XY]` must be an array, or a list of rows of one"):
            call()
