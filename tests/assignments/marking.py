"""Mutation testing of the marking: each slip in a reference answer must cost points in each term.

python tests/assignments/marking.py                        every mutant and rewrite, ten terms
python tests/assignments/marking.py --only a:q2 --list     show the mutants of one question
python tests/assignments/marking.py --sample 60            a seeded sample, one term for each mutant

Answers run in this process, without the grader's sandbox; the code of the tests is the grader's.
"""

from __future__ import annotations

import argparse
import ast
import copy
import hashlib
import json
import os
import resource
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1]), str(HERE.parent / "mutation")]

from marking_exceptions import EQUIVALENT, REWRITES  # noqa: E402
from mutants import _replacements, _Site, _sites, _text  # noqa: E402

from assignments.assignment import Assignment, read_assignment  # noqa: E402
from assignments.grading.specification import Question, Specification, Test  # noqa: E402
from assignments.source import find_sources, lines_of_term  # noqa: E402

TERMS = tuple(range(2027, 2037))
SEED = 2014
SECONDS = 1.5  # of processor time for one test, and eight times what the reference answer takes
MEMORY = 6 << 30
NORMS = (2, "fro", "nuc", 1)
OTHER_METHOD = {"mean": "median", "std": "var", "sum": "mean", "max": "mean", "norm": "cond"}
# What only changes how a picture looks, or how fast an answer comes.
LOOKS = {"figsize", "ms", "lw", "mfc", "color", "fontsize", "linewidth", "alpha", "ha", "va"}
LOOKS |= {"layout", "full_matrices", "tol", "draws", "textcoords"}
DECORATION = {"annotate", "text", "set_xticks", "set_yticks", "set_title", "grid", "minorticks_off"}
DECORATION |= {"fill_between", "axhline", "set_visible"}
OTHER_TEXT = {"trace": "frobenius", "frobenius": "trace", "log": "linear", "raw": "centred"}


@dataclass(frozen=True)
class Slip:
    """One change of one statement of a reference answer.

    Attributes
    ----------
    assignment, question : str
        The letter of the assignment and the name of the question.
    function, before, after : str
        Where, the statement as it is, and as the mutant has it.
    repeat : int
        How many equal changes come before.
    """

    assignment: str
    question: str
    function: str
    before: str
    after: str
    repeat: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names it in the list of equivalent ones."""
        return f"{self.assignment}:{self.question}", self.function, self.before, self.after

    def __str__(self) -> str:
        return f"{self.assignment}:{self.question} {self.function}: {self.before} -> {self.after}"


@cache
def specification(letter: str, term: int) -> Specification:
    """Return what the grader knows of an assignment in a term."""
    return _assignment(letter, term).specification(term)


@cache
def _assignment(letter: str, term: int) -> Assignment:
    return read_assignment(find_sources([letter])[0], term)


@cache
def reference(letter: str, question: str, term: int) -> str:
    """Return the reference answer to a question: its code without demonstrations."""
    cells = _assignment(letter, term).cells("solution", question)
    code = [cell.text for cell in cells if cell.kind == "code" and "solution" in cell.tags]
    return "\n\n".join(code)


def slips(letter: str, question: str, term: int) -> Iterator[tuple[Slip, str]]:
    """Yield each slip in a reference answer, with the code of the whole answer."""
    tree = ast.parse(reference(letter, question, term))
    seen: Counter[tuple[str, str, str]] = Counter()
    found: set[str] = set()
    looks = _looks(tree)
    for site in list(_sites(tree, _Site(tree, "body", None, "", None, None))):
        if site.node in looks:
            continue
        original, statement = site.node, site.statement or site.node
        before = _text(statement)
        for changed in [*_replacements(site), *_slips(site)]:
            site.put(changed)
            after = _text(changed if statement is original else statement)
            code = ast.unparse(ast.fix_missing_locations(tree))
            site.put(original)
            if after != before and code not in found:
                found.add(code)
                key = (site.function, before, after)
                yield Slip(letter, question, *key, seen[key]), code
                seen[key] += 1


def _looks(tree: ast.AST) -> set[ast.AST]:
    """Return the nodes that only decorate a picture: such options and statements, and all in them.

    What is drawn without a label is decoration too.
    """
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if (isinstance(node, ast.keyword) and node.arg in LOOKS) or _decorates(node):
            found |= set(ast.walk(node))
    return found


def _decorates(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name in ("shades", "note")
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="plot"), keywords=keywords)):
            return all(keyword.arg != "label" for keyword in keywords)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in DECORATION
    return False


def _slips(site: _Site) -> Iterator[ast.AST]:
    """Yield what students write by mistake: another norm, estimator, ball, argument or seed."""
    node = site.node
    match node:
        case ast.Constant(value=str() as text) if text in OTHER_TEXT:
            yield ast.Constant(OTHER_TEXT[text])
        case ast.Call(func=ast.Attribute(attr="norm"), args=args) if site.signature:
            used = args[1].value if len(args) > 1 and isinstance(args[1], ast.Constant) else "fro"
            for order in NORMS:
                if order != used:
                    yield _changed(node, args=[args[0], ast.Constant(order)])
        case ast.Call(func=ast.Attribute(attr=name)) if name in OTHER_METHOD and name != "norm":
            other = _changed(node.func, attr=OTHER_METHOD[name])
            kept = [k for k in node.keywords if k.arg != "ddof" or OTHER_METHOD[name] == "var"]
            yield _changed(node, func=other, keywords=kept)
        case ast.Name(id="rng", ctx=ast.Load()):
            yield ast.parse("np.random.default_rng(0)", mode="eval").body
        case ast.Name(id=name, ctx=ast.Load()) if site.signature:
            arguments = [argument.arg for argument in site.signature.args.args]
            if name in arguments and name not in ("rng", "ax"):
                after = arguments[(arguments.index(name) + 1) % len(arguments)]
                yield ast.Name(after, ast.Load())
                if not _only_shape(site.parent):
                    yield ast.BinOp(ast.Name(name, ast.Load()), ast.Add(), ast.Constant(1))
    if isinstance(node, ast.Return) and node.value is not None:
        yield _changed(node, value=ast.UnaryOp(ast.USub(), node.value))


def _only_shape(node: ast.AST) -> bool:
    """Say whether a node reads of an array what does not change when one is added to it."""
    is_nan = isinstance(node, ast.Call) and ast.unparse(node.func) == "np.isnan"
    return is_nan or isinstance(node, ast.Attribute)


def _changed(node: Any, **fields: object) -> Any:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


class OutOfTimeError(BaseException):
    """A mutant that takes too long."""


def _alarm(*_: object) -> None:
    raise OutOfTimeError


@cache
def _setup(letter: str, term: int) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(specification(letter, term).setup, "<setup>", "exec", dont_inherit=True), names)
    return names


@cache
def question_of(letter: str, name: str, term: int) -> Question:
    """Return a question as the grader has it."""
    questions = specification(letter, term).questions
    return next(question for question in questions if question.name == name)


def lost(letter: str, name: str, code: str, term: int, *, stop: bool = True) -> dict[str, str]:
    """Return the tests with points that an answer fails, with the message; the first if `stop`."""
    question = question_of(letter, name, term)
    answers = dict(_setup(letter, term))
    try:
        exec(compile(code, "<answer>", "exec", dont_inherit=True), answers)
    except Exception as error:
        return {"all": repr(error)}
    failed: dict[str, str] = {}
    for test in sorted(question.tests, key=lambda test: (test.hidden, _cost(letter, name, test))):
        key = (test.code, code)
        message = _SEEN.get(key, "") or _failure(letter, test, question, answers, term)
        if message and not test.hidden:
            _SEEN[key] = message
        if message and test.points:
            failed[test.name] = message
            if stop:
                break
    return failed


_TIMES: dict[tuple[str, str, str], float] = {}
# Visible tests do not know the term: an answer that failed one fails it again.
_SEEN: dict[tuple[str, str], str] = {}


def _cost(letter: str, name: str, test: Test) -> float:
    """Return how long a test takes for the reference answer, where that was measured."""
    return _TIMES.get((letter, name, test.name), 0.0)


def measure(letter: str, name: str, term: int) -> None:
    """Time each test on the reference answer."""
    question, answers = question_of(letter, name, term), dict(_setup(letter, term))
    exec(compile(reference(letter, name, term), "<answer>", "exec"), answers)
    for test in question.tests:
        start = time.process_time()
        if message := _failure(letter, test, question, answers, term):
            raise RuntimeError(f"{letter}:{name}: the reference answer fails: {message}")
        _TIMES[letter, name, test.name] = time.process_time() - start


def _failure(
    letter: str, test: Test, question: Question, answers: dict[str, Any], term: int
) -> str:
    """Return why an answer fails a test; empty when it passes."""
    import matplotlib.pyplot as plt

    names = {name: answers[name] for name in question.answers if name in answers}
    space = {**_setup(letter, term), "TERM": term, **names}
    limit = SECONDS + 8 * _cost(letter, question.name, test)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        exec(compile(test.code, f"<{test.name}>", "exec", dont_inherit=True), space)
    except OutOfTimeError:
        return f"more than {limit:.1f} s"
    except Exception as error:
        return str(error) or type(error).__name__
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        plt.close("all")
    return ""


@dataclass
class Tally:
    """What became of the mutants and rewrites of one question."""

    tried: int = 0
    caught: int = 0
    equivalent: int = 0
    rewrites: int = 0
    accepted: int = 0


def every(only: str) -> Iterator[tuple[str, str]]:
    """Yield the questions that are asked for, by letter and name."""
    for path in find_sources():
        letter = path.stem[0]
        for question in specification(letter, TERMS[0]).questions:
            if only in f"{letter}:{question.name}":
                yield letter, question.name


def place(slip: Slip) -> int:
    """Return the place of a slip in the draw: a hash of the seed and its own text."""
    text = repr((SEED, *slip.key, slip.repeat))
    return int(hashlib.sha256(text.encode()).hexdigest(), 16)


def campaign(only: str, terms: tuple[int, ...], sample: int) -> tuple[dict[str, Tally], list[str]]:
    """Try mutants and rewrites; return a tally for each question, and what went wrong."""
    tallies: dict[str, Tally] = {}
    complaints: list[str] = []
    questions = list(every(only))
    share = max(1, round(sample / len(questions))) if sample else 0
    for letter, name in questions:
        tally = tallies[f"{letter}:{name}"] = Tally()
        measure(letter, name, terms[0])
        complaints += _try_slips(letter, name, terms, share, tally)
        complaints += _try_rewrites(letter, name, terms, share, tally)
        print(f"{letter}:{name} {tally}", flush=True)
    return tallies, complaints


def _try_slips(
    letter: str, name: str, terms: tuple[int, ...], share: int, tally: Tally
) -> Iterator[str]:
    by_slip: dict[Slip, list[tuple[int, str]]] = {}
    for term in terms:
        for slip, code in slips(letter, name, term):
            by_slip.setdefault(slip, []).append((term, code))
    chosen = sorted(by_slip, key=place)
    tally.equivalent = sum(slip.key in EQUIVALENT for slip in chosen)
    chosen = [slip for slip in chosen if slip.key not in EQUIVALENT]
    for slip in chosen[: share or None]:
        tried = by_slip[slip]
        tried = [tried[place(slip) % len(tried)]] if share else tried
        survived = [term for term, code in tried if not lost(letter, name, code, term)]
        tally.tried, tally.caught = tally.tried + 1, tally.caught + (not survived)
        if survived:
            yield f"SURVIVED {len(survived)} of {len(tried)} terms: {slip}"


def _try_rewrites(
    letter: str, name: str, terms: tuple[int, ...], share: int, tally: Tally
) -> Iterator[str]:
    for number, rewrite in enumerate(REWRITES[f"{letter}:{name}"]):
        tried = [terms[number % len(terms)]] if share else terms
        code = {t: reference(letter, name, t) + "\n\n" + of_term(rewrite, t) for t in tried}
        failed = {t: found for t in tried if (found := lost(letter, name, code[t], t, stop=False))}
        tally.rewrites, tally.accepted = tally.rewrites + 1, tally.accepted + (not failed)
        if failed:
            yield f"REFUSED rewrite {number} of {letter}:{name}: {failed}"


def of_term(code: str, term: int) -> str:
    """Return code with the variants of a term."""
    return "\n".join(line for _, line in lines_of_term(code, term))


def main() -> int:
    """Run a campaign; the exit status is 1 if a mutant survives or a rewrite loses points."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a, b:q2, ...")
    parser.add_argument("--terms", type=int, default=len(TERMS), help="how many terms")
    parser.add_argument(
        "--sample", type=int, default=0, help="try so many mutants, in one term each"
    )
    parser.add_argument("--list", action="store_true", help="show the mutants, run nothing")
    parser.add_argument("--json", type=Path, help="file for the tallies")
    options = parser.parse_args()
    if options.list:
        for letter, name in every(options.only):
            for slip, _ in slips(letter, name, TERMS[0]):
                print("equivalent" if slip.key in EQUIVALENT else "          ", slip)
        return 0
    _confine()
    tallies, complaints = campaign(options.only, TERMS[: options.terms], options.sample)
    print(*complaints, sep="\n")
    if options.json:
        options.json.write_text(json.dumps({k: vars(t) for k, t in tallies.items()}, indent=1))
    caught, tried = (sum(getattr(t, f) for t in tallies.values()) for f in ("caught", "tried"))
    accepted = sum(t.accepted for t in tallies.values())
    print(f"{caught} of {tried} mutants caught, {accepted} rewrites accepted")
    return 1 if complaints else 0


def _confine() -> None:
    """Limit memory, forget warnings, and let an alarm end what takes too long."""
    signal.signal(signal.SIGPROF, _alarm)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")


if __name__ == "__main__":
    sys.exit(main())
