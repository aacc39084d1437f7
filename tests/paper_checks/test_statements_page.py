"""The statements as a page, in a real browser: verdicts, filters, evidence, links."""

import pytest

from paper_checks.__main__ import main
from paper_checks.checking import Outcome, Verdict
from paper_checks.checking.fact import SUPPORTS
from paper_checks.checking.running import Result, paper, run, select
from paper_checks.page import write_page
from tests.browser import check_narrow, chromium, opened

IDS = "A1,A12,A13,T5,F3"


@pytest.fixture(scope="module")
def results():
    return [*run(select(IDS), quick=True, seed=0)]


@pytest.fixture(scope="module")
def path(results, tmp_path_factory):
    target = tmp_path_factory.mktemp("page") / "statements.html"
    return write_page(results, str(target), quick=True, seed=0)


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


def shown(page):
    rows = page.locator("#statement-table > table > tbody > tr")
    return [row.locator("td").first.inner_text() for row in rows.all()]


def test_every_statement_has_its_verdict_and_its_evidence(browser, path, results):
    with opened(browser, path) as page:
        assert shown(page) == [result.statement.id for result in results]
        assert "All come out as recorded" in page.locator("#outcome").inner_text()
        page.locator("#open-all").click()
        for result in results:
            text = page.locator(f"details[data-id='{result.statement.id}']").inner_text()
            assert result.statement.says in text
            assert result.statement.refuted_by in text
            assert all(fact.name in text for fact in result.outcome.facts)
            assert result.statement.correct in text
        check_narrow(page)
        counts = page.locator("#verdict-figure svg").get_attribute("aria-label")
        wrong = sum(result.statement.verdict is Verdict.FALSE for result in results)
        assert f"{wrong} false as stated" in counts


def test_filters_sort_and_are_kept_in_the_address(browser, path, results):
    wanted = [r.statement.id for r in results if r.statement.verdict is Verdict.FALSE]
    others = {r.statement.verdict.value for r in results} - {Verdict.FALSE.value}
    with opened(browser, path) as page:
        for verdict in others:
            page.locator("#verdicts").get_by_label(verdict, exact=True).uncheck()
        assert shown(page) == wanted
        page.locator("th", has_text="place").get_by_role("button").click()
        assert sorted(shown(page)) == sorted(wanted)
        page.locator(f"details[data-id='{wanted[0]}'] summary").click()
        page.locator(f"details[data-id='{wanted[0]}'] table").wait_for()
        link = page.evaluate("location.hash")
    with opened(browser, path, link) as again:
        assert shown(again) == wanted
        assert again.locator("details[open] table").count() == 1
        again.locator("#reset").click()
        again.locator("#words").fill("no such words")
        assert shown(again) == []


def test_a_result_that_is_not_as_recorded_is_seen_and_its_text_stays_text(browser, tmp_path):
    statement = paper()["A12"]
    evil = "<img src=x onerror=document.title='taken'>"
    broken = Result(paper()["T5"], None, 0.1, f"ValueError: {evil}")
    failed = Result(statement, Outcome((SUPPORTS.at_most(evil, 1.0, 2.0),)), 0.1)
    path = write_page([failed, broken], str(tmp_path / "a.html"), quick=False, seed=3)
    with opened(browser, path, "#failed=true&open=A12,T5") as page:
        assert page.locator("#outcome").inner_text().endswith("NOT as recorded: A12, T5.")
        assert evil in page.locator("details[data-id='A12']").inner_text()
        assert "broke down" in page.locator("details[data-id='T5']").inner_text()
        assert page.locator("img").count() == 0
        assert page.title() == "The paper, statement by statement"


def test_the_command_writes_the_page(tmp_path, capsys):
    target = tmp_path / "a.html"
    assert main(["--quick", "--only", "A12", "--html", str(target)]) == 0
    assert target.read_text().startswith("<!doctype html>")
    assert str(target) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--html", "a.txt"], "needs a file named *.html"),
        (["--html", "none/a.html"], "is not a folder"),
        (["list", "--html", "a.html"], "belongs to `run`"),
    ],
)
def test_wrong_uses_are_refused_before_anything_runs(
    tmp_path, monkeypatch, capsys, arguments, message
):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
