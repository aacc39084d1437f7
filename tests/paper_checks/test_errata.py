"""The errata: complete entries whose sentences are in the paper, the gravest first, PDF too."""

import re
import shutil
from dataclasses import replace

import pytest
from anchors import ANCHORS
from paper_text import checksum, places, text_name

from documents import write_document
from documents.printing import BROWSERS
from paper_checks.__main__ import main
from paper_checks.checking import Bears, Fact, Outcome, Sure, Verdict
from paper_checks.checking.errata import TITLE, errata, ordered
from paper_checks.checking.running import Result
from paper_checks.statements import PAPER

ENTRIES = [s for s in PAPER.values() if s.verdict is not Verdict.HOLDS]
IDS = [s.id for s in ENTRIES]
FOUND = Outcome(
    (
        Fact("x", 2.0, 1.0, ">=", 0.0, "exact", Bears.REFUTES),
        Fact("y", 1, 1, "==", 0, "exact", Bears.REPAIRED),
    )
)


def results(statements):
    """Return results as if every check had come out."""
    return [Result(replace(s, verdict=Verdict.FALSE), FOUND, 0.1) for s in statements]


@pytest.mark.parametrize("statement", ENTRIES, ids=IDS)
def test_an_entry_is_complete(statement):
    for text in (statement.why, statement.example, statement.correct):
        assert text.strip() == text
        assert text[-1] in ".?)", text
    assert statement.matters in (1, 2, 3)
    assert statement.place
    assert statement.where
    guessed = statement.verdict is Verdict.CONJECTURE
    assert (statement.sure is Sure.CONJECTURE) == guessed
    assert statement.sure is not None


@pytest.mark.parametrize("statement", [s for s in PAPER.values() if s.id not in IDS])
def test_what_holds_has_no_entry(statement):
    assert not any((statement.why, statement.example, statement.sure))


def test_every_entry_has_the_checksum_of_its_sentence():
    assert list(ANCHORS) == IDS
    assert all(re.fullmatch("[0-9a-f]{12}", anchor) for anchor in ANCHORS.values())


@pytest.mark.parametrize("statement", ENTRIES, ids=IDS)
def test_the_sentence_is_in_the_paper_where_the_entry_says(statement):
    assert places(text_name())[ANCHORS[statement.id]] == statement.where


def test_what_the_paper_prints_is_not_copied():
    """No sentence of ours is one of the paper's."""
    known = places(text_name())
    for s in ENTRIES:
        assert checksum(s.says) not in known, s.id


def test_entries_that_matter_most_come_first():
    text = errata(results(ENTRIES), len(PAPER))
    numbers = [int(n) for n in re.findall(r"^### (\d+)\. ", text, re.MULTILINE)]
    assert numbers == list(range(1, len(ENTRIES) + 1))
    ids = re.findall(r"^### .*\((\w[0-9.]+)\): false as stated$", text, re.MULTILINE)
    assert ids == [result.statement.id for result in ordered(results(ENTRIES))]
    matters = [PAPER[name].matters for name in ids]
    assert matters == sorted(matters, reverse=True)


def test_the_summary_counts_and_names_the_gravest():
    text = errata(results(ENTRIES), len(PAPER))
    summary = text.split("\n## ")[0]
    assert f"of {len(PAPER)} statements {len(PAPER) - len(ENTRIES)} hold" in summary
    assert f"| false as stated | {len(ENTRIES)} |" in summary
    for statement in ENTRIES:
        assert (f"({statement.id})." in summary) == (statement.matters == 3)


def test_marks_of_markdown_stay_as_they_are():
    odd = replace(PAPER["B8"], says="<Z, V> <= |Z|_tr at Z* and x_1.")
    text = errata(results([odd]), 1)
    assert r"\<Z, V> \<= |Z|\_tr at Z\* and x_1." in text


def test_the_command_writes_a_file(capsys, tmp_path):
    target = tmp_path / "errata.md"
    assert main(["errata", "--quick", "--only", "F5,F1", "--out", str(target)]) == 0
    assert target.read_text().startswith(f"# {TITLE}")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Errata in" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["errata", "--out", "errata.txt"], "must be named"),
        (["list", "--out", "errata.md"], "--out belongs to"),
    ],
)
def test_wrong_targets_are_refused_before_the_checks(capsys, arguments, message):
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_without_a_browser_the_status_is_two(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("documents.printing.shutil.which", lambda name: None)
    assert main(["errata", "--out", str(tmp_path / "errata.pdf")]) == 2
    assert "Chromium" in capsys.readouterr().err


@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no browser is installed")
def test_the_summary_fits_on_one_page(tmp_path):
    summary = errata(results(ENTRIES), len(PAPER)).split("\n## ")[0]
    printed = write_document(summary, tmp_path / "summary.pdf", title=TITLE).read_bytes()
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) == 1
