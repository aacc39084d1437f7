"""What one submission is told: a JSON file that the grader reads again, a page for the student."""

import hashlib
import html
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assignments.assignment import Assignment
from assignments.collection import Handed
from assignments.grading.results import printable, write_json
from assignments.grading.specification import Specification
from assignments.handed_out import written_answers
from assignments.ledger import ADJUSTMENT, Ledger, Mark
from safe_files import write_text

_STYLE = Path(__file__).parent / "delivery" / "feedback.css"


def place(folder: Path, assignment: str, submission: str, suffix: str = ".json") -> Path:
    """Return the file of feedback of a submission."""
    return folder / (assignment or "unknown") / f"{submission}{suffix}"


def failed_mark(entry: Handed, problem: str) -> Mark:
    """Return no points for a file that could not be graded, and why."""
    feedback = {"outcomes": [], "remarks": [problem], "path": str(entry.path)}
    return Mark(entry.name, entry.assignment, 0.0, {}, (problem,), feedback)


def mark_of(entry: Handed, written: Path, assignment: Assignment, term: int, limit: float) -> Mark:
    """Return the mark that the grader wrote under a limit in seconds, and what people will mark."""
    feedback = json.loads(written.read_text(encoding="utf-8"))
    specification = assignment.specification(term)
    feedback |= {
        "submission": entry.name,
        "path": str(entry.path),
        "max_points": specification.points,
        "term": term,
        "answers": written_answers(entry.path, assignment),
        "fingerprint": _fingerprint(entry, specification, limit),
    }
    return _mark(entry, feedback)


def _mark(entry: Handed, feedback: dict[str, Any]) -> Mark:
    questions: dict[str, float] = {}
    for outcome in feedback["outcomes"]:
        before = questions.get(outcome["question"], 0.0)
        questions[outcome["question"]] = before + outcome["points"]
    remarks = tuple(feedback["remarks"])
    total = sum(questions.values())
    return Mark(entry.name, entry.assignment, total, questions, remarks, feedback)


def load_mark(
    folder: Path, entry: Handed, tests: Specification | None, limit: float
) -> Mark | None:
    """Return the mark of an earlier run, if the same notebook met the same tests and limit."""
    path = place(folder, entry.assignment, entry.name)
    if tests is None or entry.problem or not path.is_file():
        return None
    try:
        feedback = json.loads(path.read_text(encoding="utf-8"))
        same = feedback["fingerprint"] == _fingerprint(entry, tests, limit)
    except (ValueError, KeyError, TypeError):
        return None
    return _mark(entry, feedback) if same else None


def _fingerprint(entry: Handed, specification: Specification, limit: float) -> str:
    tests = json.dumps([asdict(specification), limit], sort_keys=True).encode()
    return hashlib.sha256(entry.path.read_bytes() + tests).hexdigest()


def known_names(folder: Path) -> dict[str, str]:
    """Return under which name each file was graded before, by its path."""
    found = {}
    for path in folder.rglob("*.json"):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and "path" in content:
            inside = path.relative_to(folder)
            found[content["path"]] = Path(*inside.parts[1:]).as_posix().removesuffix(".json")
    return found


def save(folder: Path, mark: Mark) -> None:
    """Keep the feedback of a mark."""
    path = place(folder, mark.assignment, mark.submission)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, mark.feedback)


def write_pages(folder: Path, ledger: Ledger, assignments: dict[str, Assignment]) -> int:
    """Write a page for each submission of the table; return how many."""
    written = 0
    for (name, assigned), row in ledger.rows.items():
        source = place(folder, assigned, name)
        if source.is_file():
            feedback = json.loads(source.read_text(encoding="utf-8"))
            page = _page(feedback, row, assignments.get(assigned))
            write_text(place(folder, assigned, name, ".html"), page)
            written += 1
    return written


def _page(feedback: dict[str, Any], row: dict[str, str], assignment: Assignment | None) -> str:
    title = assignment.title if assignment else "Not graded"
    manual = assignment.manual if assignment else {}
    most = feedback.get("max_points", 0) + sum(manual.values())
    remarks = [str(remark) for remark in feedback.get("remarks", [])]
    banner = "".join(f'<p class="banner">{_safe(r)}</p>' for r in remarks if "WEAK FENCE" in r)
    parts = [
        f"<h1>{_safe(title)}</h1><p>{_safe(row['submission'])}</p>{banner}",
        f'<p class="total"><b>{_safe(row.get("total", ""))}</b> of {most:g} points</p>',
        _table([_test_row(outcome, assignment) for outcome in feedback.get("outcomes", [])]),
        "<h2>Marked by hand</h2>" if manual else "",
        _table([_manual_row(name, points, row) for name, points in manual.items()]),
        f"<p>Adjustment: {_safe(row[ADJUSTMENT])}</p>" if row.get(ADJUSTMENT) else "",
        "<h2>Remarks</h2>" if remarks else "",
        "".join(f"<p>{_safe(remark)}</p>" for remark in remarks),
    ]
    style = _STYLE.read_text(encoding="utf-8")
    head = f"<meta charset='utf-8'><title>{_safe(title)}</title><style>{style}</style>"
    body = f"<body>{''.join(parts)}</body>"
    return f"<!doctype html>\n<html lang='en'><head>{head}</head>{body}</html>\n"


def _safe(text: str) -> str:
    return html.escape(printable(text)).replace("\n", "<br>")


def _table(rows: list[str]) -> str:
    head = "<tr><th>Question</th><th>Points</th><th>What was found</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>" if rows else ""


def _row(name: str, points: str, lost: bool, text: str) -> str:
    mark = ' class="lost"' if lost else ""
    return f'<tr{mark}><td>{_safe(name)}</td><td class="points">{points}</td><td>{text}</td></tr>'


def _test_row(outcome: dict[str, Any], assignment: Assignment | None) -> str:
    shown = assignment is None or assignment.show_hidden
    withheld = outcome["hidden"] and not shown
    message = "A hidden test failed." if withheld and outcome["message"] else outcome["message"]
    points = f"{outcome['points']:g} of {outcome['max_points']:g}"
    return _row(outcome["test"], points, bool(outcome["message"]), _safe(message or "Passed."))


def _manual_row(name: str, points: float, row: dict[str, str]) -> str:
    mark = row.get(name, "")
    most = f" of {points:g}" if points else ""
    text = _safe(row.get(f"{name} remark", "")) if mark else "Not marked yet."
    return _row(name, f"{_safe(mark)}{most}", False, text)
