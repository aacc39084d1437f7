"""What a grid will cost, learnt from cells of which the cost is known."""

import pytest

from leml_theory.runs.cells import Cell
from leml_theory.sweep import effort
from leml_theory.sweep.__main__ import main
from leml_theory.sweep.effort import Effort, duration, is_large, memory_of, predicted_effort

PLACE = {"law": "gaussian", "labels": "rank-1", "loss": "squared", "skew": "uniform", "s": 1}


def cell(n, size, draws=10, **more):
    return Cell("erm", {**PLACE, "n": n, "d": size, "L": size, "draws": draws, **more}, 0)


class World:
    """A clock, and measurements that take as long as a formula says."""

    def __init__(self):
        self.now, self.measured = 0.0, []

    def seconds(self, p):
        return p["draws"] * (1e-4 + 2e-8 * p["n"] * p["d"] + 1e-7 * p["d"] ** 3)

    def measure(self, cell):
        self.measured.append(cell.parameters)
        self.now += self.seconds(cell.parameters)
        return [{"value": 1.0, "stderr": 0.28 / cell.parameters["draws"] ** 0.5}]

    def clock(self):
        return self.now


def test_small_cells_teach_what_large_ones_cost():
    world, large = World(), [cell(10**6, 256), cell(10**5, 512)]
    found = predicted_effort(large, {}, world.measure, clock=world.clock)
    expected = [world.seconds(one.parameters) for one in large]
    assert found.seconds == pytest.approx(sum(expected), rel=1e-3)
    assert found.longest == pytest.approx(max(expected), rel=1e-3)
    assert found.learnt_from == 6
    assert all(p["n"] <= 16384 and p["d"] <= 64 for p in world.measured)


def test_what_starts_a_cell_is_not_counted_with_every_draw():
    class Starting(World):
        def seconds(self, p):
            return 0.6 + super().seconds(p)

    world, cells = Starting(), [cell(1024, 8, 500)]
    found = predicted_effort(cells, {}, world.measure, clock=world.clock)
    assert found.seconds == pytest.approx(world.seconds(cells[0].parameters), rel=1e-3)


@pytest.mark.parametrize(
    ("kind", "law", "counted"),
    [
        ("averages", "gaussian", False),
        ("averages", "heavy-tailed", True),
        ("erm", "gaussian", True),
    ],
)
def test_points_cost_where_they_are_drawn(kind, law, counted):
    """A billion of them, whose signed sum the law knows, were said to take 20 days."""
    parameters = {"law": law, "n": 10**9, "d": 4, "L": 4}
    assert (effort._features(kind, parameters, 1.0)[-1] > 0) == counted


def test_measured_cells_of_the_grid_teach_too_and_cost_nothing_more():
    world, cells = World(), [cell(1000, 8), cell(2000, 8)]
    known = {one.key: 5.0 for one in cells[:1]}
    found = predicted_effort(cells, known, world.measure, clock=world.clock)
    assert (found.cells, found.measured, found.learnt_from) == (2, 1, 6)
    assert predicted_effort(cells, dict.fromkeys([c.key for c in cells], 1.0), None).seconds == 0


def test_a_precision_takes_as_many_draws_as_the_spread_needs():
    world = World()
    found = predicted_effort(
        [cell(64, 4, 20, precision=0.02)], {}, world.measure, clock=world.clock
    )
    # 0.28 of spread: 200 draws, the schedule has 320
    assert found.seconds == pytest.approx(
        16 * world.seconds({"draws": 20, "n": 64, "d": 4}), rel=0.01
    )


def test_a_million_rows_are_warned_of(monkeypatch):
    big = cell(10**6, 1024)
    assert is_large([big])
    assert not is_large([cell(4096, 32)])
    assert memory_of(big) > 8 * 10**6 * 1024  # the sample alone
    monkeypatch.setattr(effort, "free_memory", lambda: 16e9)
    (_, warning) = Effort(1, 0, 1.0, 1.0, memory_of(big), 1).memory_lines(2)
    assert "WARNING: only 16.0 GB is available; lower n, d or L" in warning
    (_, warning) = Effort(2, 0, 1.0, 1.0, 9e9, 1).memory_lines(2)
    assert "give --jobs 1" in warning
    assert len(Effort(2, 0, 1.0, 1.0, 1e9, 1).memory_lines(2)) == 1


def test_patterns_that_draw_a_number_for_every_label_need_memory_for_it():
    alone, several = cell(10**5, 64), cell(10**5, 64, s=2)
    assert memory_of(several) - memory_of(alone) > 8 * 10**5 * 64


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (90, "90 s"), (600, "10 min"), (9000, "2.5 h")]
)
def test_durations_in_words(seconds, text):
    assert duration(seconds) == text


def test_a_dry_run_measures_nothing_that_is_kept(tmp_path, capsys):
    grid = ["--n", "1e6", "--d", "4", "--L", "3,4", "--draws", "4", "--dry-run", "--jobs", "1"]
    assert main([*grid, "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("2 cells\nabout ")
    assert "memory: up to 0.3 GB per process" in printed
    assert not (tmp_path / "out").exists()
