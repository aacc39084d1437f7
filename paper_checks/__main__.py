"""The command `python -m paper_checks`: the paper's statements, checked one by one."""

import argparse
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from tqdm import tqdm

from command_line import add_seed, counted, output_folder, page_parser, run_command
from documents import check_target, write_document
from paper_checks.checking import Statement, Verdict
from paper_checks.checking.errata import TITLE, errata
from paper_checks.checking.report import evidence, write_report
from paper_checks.checking.running import Result, paper, run, select
from paper_checks.page import check_page, write_page

_DESCRIPTION = """\
Check every statement of the paper: what it says, how it fared when it was tried, and the
numbers.  The verdict follows from the facts of the check; it comes out 'as recorded' when that
is the verdict on record.

commands:
  run     run the checks, one line each (the default)
  list    list the statements with their verdicts
  show    run one check and print everything about it: show A12
  errata  write everything that is not plainly right, most important first: a page of summary,
          then each entry with its place, an example and the correct form; Markdown or PDF
  reproduce  train on data and set the tables of Section 5 beside the paper's: reproduce --help
"""
_EPILOGUE = """\
examples:
  python -m paper_checks --quick                  every statement at a smaller size, under a minute
  python -m paper_checks --only 'A*'              the algorithms
  python -m paper_checks --only 'Lemma 2,false*'  a place, and all that is false as stated
  python -m paper_checks show A6                  one statement in full
  python -m paper_checks errata --out errata.pdf  a list one could send to the authors
  python -m paper_checks run --report report      a report with pictures
  python -m paper_checks --html statements.html   a page with filters and all evidence, in one file

Exit status: 0 all come out as recorded, 1 some do not, 2 wrong usage or folder.
"""

_BELONGS = {"json": ("run", "show"), "out": ("errata",), "report": ("run",), "html": ("run",)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given[:1] == ["reproduce"]:  # a command with options of its own
        from paper_checks.reproduction.command import main as reproduce

        return reproduce(given[1:])
    options = _parser().parse_args(given)
    commands = {"run": _run, "list": _list, "show": _show, "errata": _errata}

    def work() -> int:
        _check_usage(options)
        return commands[options.command](options)

    return run_command("paper_checks", work)


def _parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    parser = page_parser("paper_checks", _DESCRIPTION, _EPILOGUE)
    add = parser.add_argument
    add("command", nargs="?", default="run", choices=("run", "list", "show", "errata"))
    add("ids", nargs="*", metavar="ID", help="the statements to show")
    add("--quick", action="store_true", help="smaller sizes, under a minute")
    add("--only", metavar="PATTERN", help="ids, places or verdicts, such as 'T4.*,Lemma 2'")
    add("--json", action="store_true", help="print only a JSON object")
    add_seed(parser)
    add("--out", metavar="FILE", help="write the errata there: FILE.md, or FILE.pdf by Chromium")
    add("--report", metavar="DIR", help="write a report with pictures there")
    add("--html", metavar="FILE", help="write a page with filters and evidence")
    return parser


def _check_usage(options: argparse.Namespace) -> None:
    """Refuse options that the command would not look at."""
    if options.ids and options.command != "show":
        raise ValueError(f"ids belong to `show`, got {options.ids}; choose with --only instead.")
    if options.command == "show" and (not options.ids) == (options.only is None):
        raise ValueError("`show` takes ids or --only PATTERN, such as `show A12`.")
    for name, commands in _BELONGS.items():
        given = getattr(options, name) not in (None, False)
        if given and options.command not in commands:
            meant = " and ".join(f"`{command}`" for command in commands)
            raise ValueError(f"--{name} belongs to {meant}, not to `{options.command}`.")
    # Better now than after minutes of checks.
    for path, check in (
        (options.out, check_target),
        (options.report, partial(output_folder, option="--report")),
        (options.html, check_page),
    ):
        if path is not None:
            check(path)


def _results(
    options: argparse.Namespace,
    statements: Sequence[Statement],
    line: Callable[[Result], str] | None = None,
) -> list[Result]:
    """Run the checks, printing a line each if asked to, with a bar on stderr if it takes long."""
    found = []
    lines_are_seen = line is not None and sys.stdout.isatty()
    with tqdm(
        total=len(statements),
        unit="check",
        delay=3,
        leave=False,
        file=sys.stderr,
        disable=lines_are_seen or not sys.stderr.isatty(),
    ) as bar:
        for result in run(statements, quick=options.quick, seed=options.seed):
            found.append(result)
            if line is not None:
                print(line(result), flush=True)
            bar.set_postfix_str(result.statement.id, refresh=False)
            bar.update()
    return found


def _print_json(results: Sequence[Result]) -> None:
    """Print the results as one JSON object."""
    print(json.dumps({"checks": [result.record() for result in results]}, indent=1))


def _status(results: Sequence[Result]) -> int:
    """Return 0 if all came out as recorded, else 1."""
    return int(not all(result.as_recorded for result in results))


def _run(options: argparse.Namespace) -> int:
    """Run the checks, one line each, and a summary."""
    statements = select(options.only)
    if options.json:
        results = _results(options, statements)
        _print_json(results)
    else:
        width = max(len(statement.place) for statement in statements)
        print(_header(width), flush=True)
        results = _results(options, statements, lambda result: _line(result, width))
        for text in _summary(results):
            print(text)
    if options.report is not None:
        path = write_report(results, options.report, quick=options.quick, seed=options.seed)
        print(f"Report in {path}", file=sys.stderr)
    if options.html is not None:
        path = write_page(results, options.html, quick=options.quick, seed=options.seed)
        print(f"Page in {path}", file=sys.stderr)
    return _status(results)


def _header(width: int) -> str:
    """Return the names of the columns."""
    return (
        f"{'id':<6}{'place':<{width}}  {'verdict':<11}{'measured':>12}    {'predicted':>11}"
        f"{'margin':>10}{'time':>8}"
    )


def _line(result: Result, width: int) -> str:
    """Return one aligned line for a result."""
    statement = result.statement
    verdict = statement.verdict.name.lower()
    start = f"{statement.id:<6}{statement.place:<{width}}  {verdict:<11}"
    time = f"{result.seconds:>6.2f} s"
    if result.outcome is None:
        return f"{start}{'BROKE DOWN':>12} {time}  {result.error}"
    fact = result.outcome.shown
    mark = "" if result.as_recorded else f"  NOT AS RECORDED: {result.objection}"
    numbers = f"{fact.measured:>12.5g} {fact.relation:<2} {fact.predicted:>11.5g}"
    return f"{start}{numbers}{fact.margin:>10.2g}{time}{mark}"


def _summary(results: Sequence[Result]) -> list[str]:
    """Return the closing lines: how many of each verdict, and what did not come out."""
    counts = Counter(result.statement.verdict for result in results)
    verdicts = ", ".join(f"{counts[v]} {v.name.lower()}" for v in Verdict if counts[v])
    seconds = sum(result.seconds for result in results)
    line = f"{counted(len(results), 'statement')}: {verdicts}; {seconds:.1f} s"
    failed = ", ".join(result.statement.id for result in results if not result.as_recorded)
    wrong = f"NOT as recorded: {failed}; see `python -m paper_checks show ID`."
    return ["", line, wrong if failed else "All come out as recorded."]


def _list(options: argparse.Namespace) -> int:
    """List the statements with their verdicts."""
    statements = select(options.only)
    width = max(len(statement.place) for statement in statements)
    for s in statements:
        start = f"{s.id:<6}{s.place:<{width}}  {s.verdict.name.lower():<11}"
        print(start + textwrap.shorten(s.says, 100 - min(len(start), 50), placeholder=" ..."))
    return 0


def _show(options: argparse.Namespace) -> int:
    """Run some checks and print everything about them."""
    statements = select(options.only) if options.only else [_statement(i) for i in options.ids]
    results = _results(options, statements)
    if options.json:
        _print_json(results)
    else:
        print("\n\n".join(_page(result) for result in results))
    return _status(results)


def _statement(name: str) -> Statement:
    """Return the statement of an id, written in upper or lower case."""
    found = next((s for s in paper().values() if s.id.lower() == name.lower()), None)
    if found is None:
        raise ValueError(f"no statement {name!r}; see `python -m paper_checks list`.")
    return found


def _page(result: Result) -> str:
    """Return everything about one statement."""
    s = result.statement
    parts = {
        "statement": s.says,
        "kind": s.kind.value,
        "verdict": s.verdict.value,
        "correct form": s.correct,
        "how checked": s.how,
        "refuted by": s.refuted_by,
        "outcome": "as recorded" if result.as_recorded else f"NOT AS RECORDED: {result.objection}",
        "note": result.outcome.note if result.outcome else result.error,
        "time": f"{result.seconds:.2f} s",
    }
    lines = [f"{s.id}  {s.place}"]
    for name, text in parts.items():
        if text:
            indent = " " * 16
            lines.append(
                textwrap.fill(text, 100, initial_indent=f"  {name:<14}", subsequent_indent=indent)
            )
    return "\n".join([*lines, *(f"  {text}" for text in evidence(result))])


def _errata(options: argparse.Namespace) -> int:
    """Write everything that is not plainly right."""
    chosen = select(options.only)
    results = _results(options, [s for s in chosen if s.verdict is not Verdict.HOLDS])
    text = errata(results, len(chosen))
    if options.out is None:
        print(text, end="")
    else:
        print(f"Errata in {write_document(text, options.out, title=TITLE)}", file=sys.stderr)
    return _status(results)


if __name__ == "__main__":
    sys.exit(main())
