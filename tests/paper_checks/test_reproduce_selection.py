"""Choices are made on training rows alone, and early stopping stops where it says."""

import json

import numpy as np
import pytest
from reproduce_data import N_TRAIN, tiny_arrays, tiny_folder, write_npz
from scipy import sparse

from leml_solver.labels import Labels
from leml_solver.metrics import evaluate_rows, evaluate_scores
from leml_solver.problem import Problem
from paper_checks.reproduction import early_stopped, measuring
from paper_checks.reproduction.data import Rows, training_part
from paper_checks.reproduction.measuring import measure, row_hits
from paper_checks.reproduction.planning import Task, rank_of
from paper_checks.reproduction.selection import Setting, best_setting, folds_of, held_out_hits
from paper_checks.reproduction.tables import Difference

SELECTED = Task("tiny", "content", "LEML", "squared", 0.5, 1.0, "selected", 2)


def corrupted_folder(folder):
    """Write the small data set with the labels of its test rows turned round."""
    X, Y = tiny_arrays()
    Y[N_TRAIN:] = Y[N_TRAIN:, ::-1]
    folder.mkdir()
    write_npz(folder / "tiny.npz", X, Y)
    return folder


@pytest.mark.parametrize(
    ("method", "observed"),
    [("LEML", 1.0), ("LEML", 0.4), ("BR", 1.0), ("BCS", 1.0), ("WSABIE", 1.0)],
)
def test_no_choice_looks_at_test_rows(tmp_path, method, observed):
    folders = tiny_folder(tmp_path / "right"), corrupted_folder(tmp_path / "wrong")
    ratio = None if method == "BR" else 0.5
    task = Task("tiny", "content", method, "squared", ratio, observed, "selected", 2)
    first, second = (measure(folder, task.cell(0, 0))[0] for folder in folders)
    assert first["choice"] == second["choice"]
    assert json.loads(first["choice"])["held_out"] > 0
    assert first["top-1"] > second["top-1"] + 10  # the corruption is not small


def test_patterns_are_shared_by_methods_and_differ_between_repetitions(tmp_path):
    folder = tiny_folder(tmp_path / "data")
    masks = [
        training_part(
            Task("tiny", "content", method, "squared", 0.5, 0.4, "selected", 2), folder, number, 0
        ).mask.toarray()
        for method, number in (("LEML", 0), ("BR", 0), ("LEML", 1))
    ]
    np.testing.assert_array_equal(masks[0], masks[1])
    assert (masks[0] != masks[2]).any()
    assert abs(masks[0].mean() - 0.4) < 0.1  # four standard errors of 720 coins


def test_every_row_is_judged_once():
    X = sparse.csr_array(np.arange(10.0)[:, None] + 1)
    rows = Rows(X, sparse.csr_array(np.ones((10, 1))))
    judged = []
    for fitted, held_out in folds_of(rows, 3, np.random.default_rng(0)):
        judged += held_out.X.toarray().ravel().tolist()
        assert fitted.shape[0] + held_out.shape[0] == 10
    assert sorted(judged) == [float(i) for i in range(1, 11)]


def test_only_observed_labels_are_judged():
    Y = sparse.csr_array(np.array([[1, 0, 0, 0], [0, 1, 0, 0]]))
    scores = np.array([[4.0, 3, 2, 1], [4.0, 3, 2, 1]])
    assert held_out_hits(Rows(None, Y), scores).share == 0.5  # one of two first labels
    mask = sparse.csr_array(np.array([[1, 0, 0, 1], [0, 1, 1, 0]], dtype=bool))
    hits = held_out_hits(Rows(None, Y, mask), scores)
    assert (hits.positive, hits.judged) == (2, 3)  # of the first three, those that are seen


def test_the_best_setting_is_the_best_over_all_folds():
    rows = Rows(sparse.csr_array(np.eye(9)), sparse.csr_array(np.eye(9)))
    settings = [Setting(False, False, penalty) for penalty in (1.0, 2.0)]

    def tried(fitted, held_out):
        right = np.eye(9)[held_out.X.indices]
        yield settings[0], held_out_hits(held_out, -right)
        yield settings[1], held_out_hits(held_out, right)

    found = best_setting(rows, tried, folds=3, rng=np.random.default_rng(0))
    assert found == (settings[1], 1.0)


def test_ranks_are_rounded_up_as_printed():
    assert [rank_of(ratio, 159) for ratio in (0.2, 0.4, 0.6, 0.8, 1.0)] == [32, 64, 96, 128, 159]
    assert rank_of(0.6, 5) == 3  # not 4 for the rounding of 0.6 * 5


def test_hits_of_rows_come_back():
    record = {"hits_3": "0312"}
    np.testing.assert_allclose(row_hits(record, 3), [0, 100, 100 / 3, 200 / 3])
    assert Difference(1.0, 0.4).clear
    assert not Difference(-0.7, 0.4).clear


def test_rows_average_to_the_metrics():
    rng = np.random.default_rng(0)
    Y, scores = (rng.random((50, 7)) < 0.3).astype(float), rng.standard_normal((50, 7))
    mask = rng.random((50, 7)) < 0.7
    rows = evaluate_rows(Y, scores, ks=(1, 3), threshold=0.1, mask=mask)
    whole = evaluate_scores(Y, scores, ks=(1, 3), threshold=0.1, mask=mask)
    seen = rows.observed > 0
    for k in (1, 3):
        assert rows.top_k[k][seen].mean() == pytest.approx(whole.top_k[k])
    assert np.nanmean(rows.auc) == pytest.approx(whole.auc)
    assert rows.errors.sum() / rows.observed.sum() == pytest.approx(whole.hamming)


def test_the_squared_problem_is_the_general_one():
    """The short products of Algorithm 2 against Algorithm 1 on the same data."""
    X, Y = tiny_arrays()
    W, H = np.random.default_rng(1).random((12, 3)), np.random.default_rng(2).random((8, 3))
    labels = Labels.full(Y.astype(float))
    matrix = Problem("squared", X, labels).matrix
    sides = [
        early_stopped._Squared(matrix, labels, 0.05),
        early_stopped._General(matrix, labels, "squared", 0.05),
    ]
    short, general = (side.improve_W(W, X @ W, H)[0] for side in sides)
    # Two ways to the same sums, through a hundred CG steps whose rounding errors grow.
    np.testing.assert_allclose(short, general, rtol=1e-6, atol=1e-8)


def test_no_more_than_five_steps_are_accepted(monkeypatch):
    """A step that is rejected shrinks the region and is not counted: a saturated start needs it."""
    X, Y = tiny_arrays()
    labels, counts = Labels.full(Y.astype(float)), []
    original = early_stopped._improved

    def improved(problem, start, point):
        moved = original(problem, start, point)
        counts.append((problem.values(problem.at(start)), problem.values(moved[1])))
        return moved

    monkeypatch.setattr(early_stopped, "_improved", improved)
    early_stopped.early_stopped_factors(
        100 * X, labels, loss="logistic", rank=4, penalty=0.1, rng=np.random.default_rng(0)
    )
    assert len(counts) == 2 * early_stopped.OUTER_ITERATIONS
    first_before, first_after = counts[0]
    assert first_after.sum() < 0.5 * first_before.sum()
    assert all((after <= before).all() for before, after in counts)


def test_metrics_of_few_labels(tmp_path, monkeypatch):
    """Fewer than five labels: top-5 is not defined, and nothing breaks."""
    X, Y = tiny_arrays()
    folder = tmp_path / "data"
    folder.mkdir()
    write_npz(folder / "tiny.npz", X, Y[:, :4])
    task = Task("tiny", "content", "CPLST", "squared", 1.0, 1.0, "closed form", 2)
    record = measuring.measure(folder, task.cell(0, 0))[0]
    assert np.isnan(record["top-5"])
    assert record["top-3"] > 0
