"""Agreement with the printed tables on bibtex, where the data are at hand."""

import numpy as np
import pytest

from paper_checks import printed
from paper_checks.reproduction.measuring import measure
from paper_checks.reproduction.planning import Request, make_plan


@pytest.fixture(scope="module")
def folder(data_file):
    return data_file("bibtex").parent


@pytest.fixture(scope="module")
def plan(folder):
    return make_plan(Request(folder, ("bibtex",), (6, 7, 8, 9, 10), ("CPLST", "LEML")))


def task_of(plan, **wanted):
    (found,) = {
        task
        for _, task in plan.rows
        if all(getattr(task, name) == value for name, value in wanted.items())
    }
    return found


@pytest.mark.parametrize("ratio", [0.2, 0.6, 1.0])
def test_cplst_digit_for_digit(folder, plan, ratio):
    task = task_of(plan, method="CPLST", ratio=ratio)
    record = measure(folder, plan.cells(task)[0])[0]
    rows = printed.only(printed.full_label_tables(), dataset="bibtex", method="CPLST", ratio=ratio)
    paper = rows.set_index("metric")["value"]
    assert len(paper) == 5
    for metric, value in paper.items():
        digits = 2 if metric.startswith("top") else 4
        assert round(record[metric], digits) == pytest.approx(value, abs=1e-9), metric


def test_early_stopped_leml_is_near_print(folder, plan):
    task = task_of(plan, method="LEML", loss="squared", ratio=0.2, protocol="early-stopped")
    records = [measure(folder, cell)[0] for cell in plan.cells(task)[:3]]
    top_1 = np.mean([record["top-1"] for record in records])
    # Half a point is asked for; starts differ by 0.35, so the mean of three by 0.2, and the mean
    # of many is 0.3 below print.
    assert abs(top_1 - 58.33) < 0.5 + 2 * 0.2
    assert np.mean([record["auc"] for record in records]) == pytest.approx(0.8910, abs=0.005)
