"""The written part: points and rubrics add up, and the numbers of the model answers are right."""

import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from wrong import assignment

from assignments.source import SOURCES, find_sources

NAMES = [path.stem for path in find_sources()]
FOLDER = SOURCES.parent / "written"


def questions(name):
    """Return the written questions of an assignment."""
    return tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))["question"]


def model_answer(name, which):
    """Return a model answer as one line, for finding numbers in it."""
    found = next(q for q in questions(name) if q["id"] == which)
    return " ".join(found["model_answer"].split())


def test_each_assignment_has_a_written_part():
    assert sorted(path.stem for path in FOLDER.glob("*.toml")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_points_and_rubrics_add_up(name):
    found = questions(name)
    assert [q["id"] for q in found] == [f"w{k}" for k in range(1, len(found) + 1)]
    assert 2 <= len(found) <= 3
    assert sum(q["points"] for q in found) == 20
    keys = {"id", "title", "points", "minutes", "text", "model_answer", "rubric", "wrong_turns"}
    for q in found:
        assert set(q) == keys
        assert sum(entry["points"] for entry in q["rubric"]) == q["points"]
        assert all(set(entry) == {"points", "criterion"} for entry in q["rubric"])
        assert len(q["wrong_turns"]) >= 2
        assert len(q["model_answer"]) > 500
        assert "docs/" not in q["text"]  # students have no checkout


@pytest.mark.parametrize("name", NAMES)
def test_every_part_of_a_question_has_an_answer_and_a_criterion(name):
    for q in questions(name):
        parts = [line[0] for line in q["text"].splitlines() if line[1:3] == ". "]
        answers = [line[0] for line in q["model_answer"].splitlines() if line[1:3] == ". "]
        assert parts == answers == [str(k) for k in range(1, len(parts) + 1)]
        marked = {entry["criterion"].partition(":")[0] for entry in q["rubric"]}
        assert marked == set(parts)


def test_the_notebooks_say_what_the_written_part_is_worth():
    for name in NAMES:
        text = "\n".join(cell.text for block in assignment(name).blocks for cell in block.cells)
        assert "20 points" in text
        assert "written part" in text


def test_where_d_and_L_enter_the_constants_are_right():
    text = model_answer("b_witnesses", "w1")
    q, root_m = math.sqrt(2 * math.log(9)), math.sqrt(1 + math.sqrt(2) + 1 / 3)
    for c, shown in ((1, "7.9"), (4, "10.1")):
        constant = 4 / 3 * root_m * (math.sqrt(c) + q + 1 / q)
        assert f"{constant:.1f}" == shown
        assert shown in text
    assert 4 / 3 * root_m * (1 + q + 1 / q) <= 7.9
    # The rounded numbers are rounded up.
    for exact, shown in ((root_m, 1.658), (q, 2.097), (1 / q, 0.478), (4 / 3 * 1.658, 2.211)):
        assert exact <= shown < exact + 1.5e-3
        assert str(shown) in text


@pytest.mark.parametrize(("n", "L"), [(1, 2), (5, 2), (40, 7)])
def test_the_mean_of_a_walk_is_at_least_what_the_fourth_moment_says(n, L):
    rng = np.random.default_rng(n)
    steps = np.eye(L)[rng.integers(0, L, size=(20_000, n))]
    v = (steps * rng.choice([-1.0, 1.0], size=(20_000, n, 1))).sum(axis=1)
    norms = np.linalg.norm(v, axis=1)
    slack = 5 * norms.std() / math.sqrt(20_000)  # five standard errors
    assert norms.mean() + slack >= math.sqrt(n / (1 + 2 / L))
    assert norms.mean() + slack >= math.sqrt(n / 2)


def test_the_excess_beyond_d_labels_tends_to_its_limit():
    from leml_theory.predictions import clipped_excess

    limit = math.erfc(1 / math.sqrt(2))  # 2 Phi(-1)
    assert f"{limit:.3f}" == "0.317"
    assert "0.317" in model_answer("b_witnesses", "w2")
    found = [clipped_excess(L**3, L, 1 / L) * L for L in (16, 64, 256)]  # sqrt(n/L) = L
    errors = [abs(value - limit) for value in found]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.005
    assert all(0.5 * L**2 * math.log(L**2 / 2) < L**3 for L in range(2, 100))


def test_gap_and_excess_on_a_single_sample():
    mu, m = 0.5, -0.2  # -mu < m < 0
    gap, excess = abs(m) - mu * np.sign(m), mu - mu * np.sign(m)
    assert excess > gap


def test_the_certificate_is_the_gap_of_frank_and_wolfe():
    from leml_solver import Problem, Squared, TraceBall

    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(20, 5)), rng.normal(size=(20, 4))
    Y[rng.random(Y.shape) < 0.4] = np.nan
    problem, ball = Problem(Squared(), X, Y), TraceBall(1.3)
    Z = ball.project(rng.normal(size=(5, 4)))
    R = np.where(np.isnan(Y), 0.0, Y - X @ Z)
    bound = np.sum(R * np.nan_to_num(Y) - R**2 / 2) - 1.3 * np.linalg.norm(X.T @ R, 2)
    G = problem.gradient(Z)
    gap = np.sum(G * (Z - ball.linear_minimiser(G)))
    assert bound == pytest.approx(problem.objective(Z) - gap, rel=1e-12)


def test_the_trace_norm_is_the_least_of_its_factorisations():
    rng = np.random.default_rng(5)
    W, H = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    U, s, Vt = np.linalg.svd(W @ H.T, full_matrices=False)
    assert s.sum() <= (np.sum(W**2) + np.sum(H**2)) / 2
    W, H = U * np.sqrt(s), Vt.T * np.sqrt(s)
    assert s.sum() == pytest.approx((np.sum(W**2) + np.sum(H**2)) / 2)


@pytest.mark.parametrize(("a", "b", "mu"), [(3.0, 2.0, 1.0), (2.1, 2.0, 1.9)])
def test_the_example_of_rank_one(a, b, mu):
    """The bound meets the point; convex duality leaves (b - mu)^2/2."""
    from leml_solver import minimise_rank

    Y, C = np.diag([a, b]), np.diag([a - mu, b - mu])
    assert np.linalg.norm(Y - C, 2) <= mu * (1 + 1e-12)
    bound = 0.5 * np.sum(Y**2) - 0.5 * (a - mu) ** 2
    point = 0.5 * np.sum((Y - np.diag([a - mu, 0.0])) ** 2) + mu * (a - mu)
    assert bound == pytest.approx(point)
    assert minimise_rank(np.eye(2), Y, 1, penalty=mu).objective == pytest.approx(point, rel=1e-6)
    every_rank = minimise_rank(np.eye(2), Y, 2, penalty=mu).objective
    assert point - every_rank == pytest.approx(0.5 * (b - mu) ** 2, rel=1e-5)


def test_files_are_named_like_their_assignments():
    assert all((SOURCES / f"{path.stem}.md").is_file() for path in Path(FOLDER).glob("*.toml"))
