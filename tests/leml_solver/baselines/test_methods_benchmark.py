"""The benchmark of methods runs, and its Pareto fronts are fronts."""

import json
import re
import warnings

import numpy as np
import pytest

from benchmarks import methods
from benchmarks.contenders import Contender


def row(method, top_1, size, seconds, auc=0.5):
    return {
        "method": method, "package": "ours", "top_1": top_1, "auc": auc, "bytes": size,
        "train_seconds": seconds,
    }  # fmt: skip


def test_a_front_holds_what_nothing_else_beats_in_everything():
    rows = [
        row("LEML small", 50, 10, 5.0),
        row("LEML large", 60, 40, 5.0),
        row("rival", 60, 30, 9.0),
        row("twin", 60, 30, 9.0),  # equal in everything: neither beats the other
    ]
    by_size, by_time, by_both = methods.fronts(rows)[:3]
    assert by_size["front"] == ["LEML small", "rival", "twin"]
    assert by_size["leml_not_on_it"] == {"LEML large": ["rival", "twin"]}
    assert by_time["front"] == ["LEML large"]
    assert by_both["front"] == [one["method"] for one in rows]


def test_scores_at_chance_do_not_pass_in_silence(capsys):
    """Past bug: int8 labels made scikit-learn permute columns, and the table showed chance."""
    rows = [row("label frequencies", 15, 1, 1.0), row("broken", 1, 1, 1.0), row("LEML", 60, 1, 1.0)]
    rows = [one | {"top_1_stderr": 1.0} for one in rows]
    methods._tell("bibtex", rows, methods.fronts(rows))
    assert re.findall("SUSPECT: (.*) does", capsys.readouterr().out) == ["broken"]


def test_settings_are_chosen_on_training_rows_only():
    seen = []

    class Fitted:
        def __init__(self, sign):
            self.sign = sign

        def scores(self, X):
            return self.sign * np.column_stack([X[:, 0], -X[:, 0]])

    def fit(X, Y, threads, sign):
        seen.append(X.shape[0])
        return Fitted(sign)

    X = np.random.default_rng(0).standard_normal((50, 1))
    Y = np.column_stack([X > 0, X <= 0]).astype(int)
    contender = Contender("sign", "ours", fit, ({"sign": -1}, {"sign": 1}))
    assert methods.choose(contender, X, Y, 1) == {"sign": 1}
    assert seen == [40, 40]


@pytest.mark.filterwarnings("ignore")
def test_a_quick_run_writes_rows_and_fronts(tmp_path, capsys):
    out = tmp_path / "methods.json"
    with warnings.catch_warnings():
        assert (
            methods.main(["--quick", "--only", "ridge", "squared k=4", "frequ", "--out", str(out)])
            == 0
        )
    report = json.loads(out.read_text())
    assert [one["method"] for one in report["rows"]] == [
        "label frequencies", "LEML squared k=4", "ridge",
    ]  # fmt: skip
    for one in report["rows"]:
        assert one["bytes"] > 0 < one["train_seconds"]
        assert 0 <= one["top_1"] <= 100
        assert 0 <= one["auc"] <= 1
    assert len(report["fronts"]["synthetic"]) == 6
    assert "front of top_1 against bytes" in capsys.readouterr().out


def test_an_absent_package_is_named(monkeypatch):
    monkeypatch.setattr("benchmarks.contenders.find_spec", lambda name: None)
    absent = Contender("PLT", "napkinXC", lambda: None, ({},), "napkinxc")
    found = methods.run(absent, "bibtex", methods._arguments([]))
    assert found["failed"] == "not installed: pip install napkinxc"
