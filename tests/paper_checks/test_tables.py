"""The transcription of Tables 2 to 15 is what was printed, and the checks of it are in order."""

import time
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from bent_tables import bent
from mutations import MUTATIONS
from test_mutations import lookup

from paper_checks import printed
from paper_checks.checking import CHECKS, Bears, Effort, Verdict
from paper_checks.printed import off_lattice
from paper_checks.statements import PAPER
from paper_checks.statements.section_5_1 import growth_for, largest_z
from paper_checks.statements.tables_values import hamming_ceiling

STATEMENTS = {name: statement for name, statement in PAPER.items() if name.startswith("D")}

# numbers, bold marks and sum of each table, from the paper's text by a second, separate reading
READING = {
    2: (56, 0, 1847756.7900),
    3: (96, 29, 2784.1943),
    4: (48, 24, 262029.5332),
    5: (27, 9, 383.4943),
    6: (120, 24, 7893.6500),
    7: (120, 25, 6491.7500),
    8: (120, 20, 5846.6100),
    9: (100, 26, 5.8658),
    10: (120, 20, 103.7676),
    11: (252, 112, 12368.2300),
    12: (252, 108, 9495.4000),
    13: (252, 108, 8447.9500),
    14: (252, 107, 20.1942),
    15: (252, 108, 192.8658),
}
# table, data set, method, loss, k/L, observed, value, bold: read by eye, some in corners
BY_EYE = [
    (6, "bibtex", "LEML", "squared", 0.2, 1.0, 58.33, True),
    (6, "delicious", "WSABIE", "weighted_rank", 1.0, 1.0, 46.25, False),
    (7, "compphys", "BCS", "squared", 0.8, 1.0, 53.33, False),
    (8, "autofood", "LEML", "squared_hinge", 1.0, 1.0, 83.16, True),
    (9, "autofood", "BCS", "squared", 0.8, 1.0, 1.0, False),
    (9, "delicious", "CPLST", "squared", 1.0, 1.0, 0.0182, True),
    (10, "bibtex", "CPLST", "squared", 1.0, 1.0, 0.8878, False),
    (11, "bibtex", "BR", "logistic", 0.6, 0.4, 58.57, True),
    (12, "autofood", "BCS", "squared", 0.2, 0.1, 5.26, False),
    (12, "compphys", "BR", "squared_hinge", 0.6, 0.4, 43.33, False),
    (13, "compphys", "LEML", "logistic", 0.4, 0.2, 55.50, True),
    (14, "bibtex", "LEML", "squared", 0.2, 0.05, 0.0158, False),
    (15, "bibtex", "BCS", "squared", 0.4, 0.2, 0.7817, False),
    (15, "compphys", "BR", "squared_hinge", 0.6, 0.4, 0.7730, False),
]


@pytest.mark.parametrize("table", READING)
def test_each_table_has_the_numbers_and_marks_that_a_second_reading_found(table):
    frame = printed.load(table)
    numbers, marks, total = READING[table]
    assert (len(frame), int(frame["bold"].sum())) == (numbers, marks)
    # sums of at most 252 decimals: rounding of doubles only
    assert frame["value"].sum() == pytest.approx(total, abs=1e-6)


@pytest.mark.parametrize("cell", BY_EYE, ids=lambda cell: f"{cell[0]}-{cell[1]}-{cell[2]}")
def test_numbers_read_by_eye(cell):
    table, dataset, method, loss, ratio, observed, value, bold = cell
    where = {"dataset": dataset, "method": method, "loss": loss, "ratio": ratio}
    found = printed.only(printed.load(table), observed=observed, **where)
    assert found[["value", "bold"]].to_numpy().tolist() == [[value, bold]]


def test_every_number_has_one_place_and_all_its_coordinates():
    frame = printed.load()
    place = ["table", *printed.KEY, "rank", "metric"]
    assert len(frame) == sum(numbers for numbers, _, _ in READING.values())
    assert not frame.duplicated(place).any()
    results = frame[frame["table"] > 2]
    assert results["observed"].notna().all()
    assert (results["ratio"].isna() == results["rank"].notna()).all()
    assert set(results["loss"]) == {"squared", "logistic", "squared_hinge", "weighted_rank"}
    assert set(results["metric"]) == {*printed.METRICS, "seconds"}


def test_values_lie_where_their_metric_allows():
    frame = printed.load(*range(3, 16))
    top = frame["metric"].str.startswith("top")
    share = frame["metric"].isin(["hamming", "auc"])
    assert frame[top]["value"].between(0, 100).all()
    assert frame[share]["value"].between(0, 1).all()
    assert (frame[top]["half_unit"] == 0.005).all()
    np.testing.assert_allclose(frame[share]["half_unit"], 0.00005, rtol=1e-12)  # rounding


def test_a_caller_may_change_what_it_was_given():
    frame = printed.load(6)
    frame.loc[:, "value"] = 0.0
    assert (printed.load(6)["value"] > 0).all()


def test_gains_are_positive_where_leml_is_better_whatever_the_metric():
    frame = printed.load(5)
    assert (printed.gains(frame, "BR") > 0).all()
    hamming = printed.only(frame, dataset="bibtex", metric="hamming")
    assert printed.gains(hamming, "BR").item() == pytest.approx(0.0193 - 0.0136, abs=1e-9)
    assert (printed.gains(frame, "LEML") == 0).all()


def test_two_values_at_one_place_are_refused_rather_than_averaged():
    twice = pd.concat([printed.load(2), printed.load(2)])
    with pytest.raises(ValueError, match="duplicate"):
        printed.spread(twice, ["dataset"], "metric")


def test_the_lattice_knows_what_a_count_can_round_to():
    values = pd.DataFrame({"value": [2.63, 2.64, 5.26, 50.0], "half_unit": 0.005})
    missed, chance = off_lattice(values, pd.Series([0.38] * 4))  # multiples of 100/38
    assert missed == 1
    assert chance == pytest.approx(4 * (1 - 0.01 * 0.38))


def test_the_ceiling_of_the_hamming_loss_by_trying_all_scores():
    """All patterns of one row with three labels, not all of them present; scores about 1/2."""
    worst = {True: 0.0, False: 0.0}
    for scores in np.ndindex(3, 3, 3):
        for labels in np.ndindex(2, 2, 2):
            score, label = np.array(scores) * 0.4, np.array(labels)
            if label.all():
                continue  # such rows are the share that the ceiling sets aside
            hit = bool(label[score == score.max()].any())  # ties may be broken in favour of a hit
            worst[hit] = max(worst[hit], float(((score >= 0.5) != label).mean()))
    assert worst[False] == 1
    ceiling = hamming_ceiling(pd.Series([100.0]), pd.Series([0.0]), pd.Series([3])).item()
    assert worst[True] == pytest.approx(ceiling)


def test_growth_solves_its_equation():
    g = growth_for(2 * 86400.0)
    assert 7000 + 16000 + 36000 * (1 + g + g * g) == pytest.approx(2 * 86400)


def test_a_lead_of_h_points_has_z_at_most_root_h():
    gain = printed.gains(printed.only(printed.load(6), loss="squared"), "CPLST")
    bound = largest_z(gain).xs("autofood", level="dataset").xs(0.6, level="ratio").item()
    assert bound == pytest.approx(np.sqrt(8))  # 73.68 against 52.63 of 38 points


def test_cells_must_be_the_same_and_not_just_as_many():
    facts = Bears.REFUTES.cells("x", frozenset({"a"}), frozenset({"b"}))
    assert [fact.holds for fact in facts] == [True, False]


def test_statements_checks_and_mutations_go_together():
    assert all(len(MUTATIONS[name]) >= 2 for name in STATEMENTS)
    for name, statement in STATEMENTS.items():
        assert bool(statement.correct) == (statement.verdict is not Verdict.HOLDS), name


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_comparison_of_a_check_can_fail(name):
    """A check may notice all mutations through one of its comparisons; each must earn its place."""
    failed = set()
    for mutation in MUTATIONS[name]:
        owner, attribute = mutation.target.rsplit(".", 1)
        original = lookup(owner, attribute)
        with patch(mutation.target, mutation.replacement(original)):
            facts = CHECKS[name](Effort(True, np.random.default_rng(7))).facts
        failed |= {place for place, fact in enumerate(facts) if not fact.holds}
    assert failed == set(range(len(facts)))


def test_a_bent_cell_must_exist():
    with pytest.raises(AssertionError):
        bent({"value": 1.0}, table=6, dataset="no such data set")(printed.load)


def test_the_checks_of_the_tables_are_quick_and_come_out_as_recorded():
    began = time.process_time()
    for name in STATEMENTS:
        outcome = CHECKS[name](Effort(True, np.random.default_rng(7)))
        assert outcome.verdict is STATEMENTS[name].verdict, (name, outcome.shown)
    # 1.2 s on one core; room for a slower machine
    assert time.process_time() - began < 5
