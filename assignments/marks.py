"""Marks after grading: `python -m assignments.marks COMMAND marks.csv`.

export writes one marking file per question that people mark, with every answer and a place for
mark and remark; import reads them back into the table. feedback writes a page for each student;
canvas and moodle fill the gradebook that these have exported. The table as it was is kept in
NAME-before/ each time.
"""

import argparse
import json
import sys
from pathlib import Path

from assignments.assignment import OPEN_POINTS, Assignment, read_assignment
from assignments.feedback import place, write_pages
from assignments.gradebooks import fill_gradebook
from assignments.ledger import Ledger, keep_previous, read_csv, write_csv
from assignments.source import find_sources
from command_line import counted, run_command
from documents import html_page
from safe_files import write_text

_COLUMNS = ["submission", "mark", "remark", "answer"]


def read_assignments() -> dict[str, Assignment]:
    """Return all assignments by name."""
    return {path.stem: read_assignment(path) for path in find_sources()}


def feedback_folder(marks: Path) -> Path:
    """Return the folder of feedback beside a table of marks."""
    return marks.with_name(f"{marks.stem}-feedback")


def export_answers(
    marks: Path, out: Path, assignments: dict[str, Assignment]
) -> list[tuple[Path, int]]:
    """Write a CSV file to mark in, and a page to read, for each question; return what is in them.

    Marks that are in the table already are written too, so that nothing is entered twice.
    """
    ledger = Ledger.read(marks, {name: a.manual for name, a in assignments.items()})
    made = []
    for name, assignment in assignments.items():
        keys = sorted(key for key in ledger.rows if key[1] == name)
        for question in assignment.manual if keys else ():
            rows = [_marking_row(marks, ledger, key, question) for key in keys]
            path = out / f"{name}-{question}.csv"
            out.mkdir(parents=True, exist_ok=True)
            keep_previous(path)
            write_csv(path, _COLUMNS, rows)
            text = _reading_page(assignment, question, rows)
            write_text(path.with_suffix(".html"), html_page(text, f"{name} {question}"))
            made.append((path, sum(bool(row["answer"]) for row in rows)))
    return made


def _marking_row(
    marks: Path, ledger: Ledger, key: tuple[str, str], question: str
) -> dict[str, str]:
    source, row = place(feedback_folder(marks), key[1], key[0]), ledger.rows[key]
    feedback = json.loads(source.read_text(encoding="utf-8")) if source.is_file() else {}
    answer = str(feedback.get("answers", {}).get(question, ""))
    entered = {"mark": row.get(question, ""), "remark": row.get(f"{question} remark", "")}
    return {"submission": key[0], **entered, "answer": answer}


def _reading_page(assignment: Assignment, question: str, rows: list[dict[str, str]]) -> str:
    """Return the question, its guide and all answers; an answer is quoted, so that it ends."""
    asked = [cell.text for cell in assignment.cells("text", question)]
    guide = [cell.text for cell in assignment.cells("solution", question)]
    parts = [f"# {assignment.title}: {question}", *asked, "## Guide", *guide, "## Answers"]
    for row in rows:
        quoted = "\n".join(f"> {line}" for line in (row["answer"] or "_No answer._").splitlines())
        own = f"### {row['submission']}\n\n{quoted}"
        parts.append(own.replace("![", "!\\["))  # a picture would be asked of its host
    return "\n\n".join(parts)


def import_marks(marks: Path, files: list[Path], assignments: dict[str, Assignment]) -> int:
    """Read marking files into the table; return how many marks. An empty mark changes nothing."""
    ledger = Ledger.read(marks, {name: a.manual for name, a in assignments.items()})
    entered = sum(_import_file(ledger, path, assignments) for path in files)
    keep_previous(marks)
    ledger.write(marks)
    write_pages(feedback_folder(marks), ledger, assignments)
    return entered


def _import_file(ledger: Ledger, path: Path, assignments: dict[str, Assignment]) -> int:
    name, _, question = path.stem.rpartition("-")
    if question not in getattr(assignments.get(name), "manual", {}):
        raise ValueError(f"{path} must be named like ASSIGNMENT-QUESTION.csv, as export names it.")
    columns, rows = read_csv(path)
    if not set(_COLUMNS[:3]) <= set(columns):
        raise ValueError(f"{path} needs the columns submission, mark and remark.")
    entered = 0
    for number, row in enumerate(rows, start=2):
        key = (row["submission"], name)
        if key not in ledger.rows:
            raise ValueError(f"{path}, row {number}: {key[0]!r} is not in the table of marks.")
        if row.get("mark", "").strip():
            most = assignments[name].manual[question] or OPEN_POINTS
            ledger.rows[key][question] = _checked(row["mark"], most, f"{path}, row {number}")
            ledger.rows[key][f"{question} remark"] = row.get("remark", "")
            entered += 1
    return entered


def _checked(text: str, most: float, where: str) -> str:
    """Return a mark as it is written into the table."""
    try:
        mark = float(text.strip().replace(",", "."))
    except ValueError:
        raise ValueError(f"{where}: the mark must be a number, got {text!r}.") from None
    if not 0 <= mark <= most:
        raise ValueError(f"{where}: the mark must be from 0 to {most:g}, got {text!r}.")
    return f"{mark:g}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m assignments.marks", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    names = ("export", "import", "feedback", "canvas", "moodle")
    made = {name: commands.add_parser(name) for name in names}
    for command in made.values():
        command.add_argument("marks", type=Path, help="the table that assignments.grade wrote")
    made["export"].add_argument("--out", type=Path, default=Path("marking"), help="(%(default)s)")
    made["import"].add_argument("files", nargs="+", type=Path, help="marking files")
    for name in ("canvas", "moodle"):
        made[name].add_argument("gradebook", type=Path, help=f"as {name.title()} exported it")
        made[name].add_argument("--assignment", required=True, help="a or a_promise")
        made[name].add_argument("--out", type=Path, help="(beside the gradebook, '-filled')")
        made[name].add_argument("--incomplete", action="store_true", help="not all are marked yet")
    made["canvas"].add_argument("--column", help="of the assignment, as Canvas names it")
    made["moodle"].set_defaults(column="Grade")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit status."""
    options = _parser().parse_args(arguments)
    return run_command("marks", lambda: _run(options))


def _run(options: argparse.Namespace) -> None:
    if not options.marks.is_file():
        raise ValueError(f"{options.marks} is not there; python -m assignments.grade writes it.")
    assignments = read_assignments()
    if options.command == "export":
        for path, answered in export_answers(options.marks, options.out, assignments):
            answers, page = counted(answered, "answer"), path.with_suffix(".html").name
            print(f"{path}: {answers}; read them in {page}")
    elif options.command == "import":
        entered = import_marks(options.marks, options.files, assignments)
        print(f"{counted(entered, 'mark')} entered: {options.marks}")
    elif options.command == "feedback":
        ledger = Ledger.read(options.marks, {name: a.manual for name, a in assignments.items()})
        folder = feedback_folder(options.marks)
        print(f"{counted(write_pages(folder, ledger, assignments), 'page')}: {folder}")
    else:
        _fill(options, assignments)


def _fill(options: argparse.Namespace, assignments: dict[str, Assignment]) -> None:
    name = find_sources([options.assignment])[0].stem
    ledger = Ledger.read(options.marks, {key: a.manual for key, a in assignments.items()})
    unmarked = [key[0] for key in ledger.rows if key[1] == name and ledger.pending(key)]
    if unmarked and not options.incomplete:
        raise ValueError(
            f"{counted(len(unmarked), 'submission')} not fully marked, such as {unmarked[0]}; "
            "--incomplete exports their totals all the same."
        )
    out = options.out or options.gradebook.with_stem(f"{options.gradebook.stem}-filled")
    totals = {key[0]: ledger.total(key) for key in ledger.rows if key[1] == name}
    filled = fill_gradebook(options.gradebook, out, totals, options.column or name)
    print(f"{filled.matched} of {filled.students} students have a mark: {out}")
    for submission in filled.unmatched:
        print(f"no student for {submission}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
