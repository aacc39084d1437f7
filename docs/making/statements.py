"""A page for each statement of the paper, from the registry, with what its check finds."""

import hashlib
import inspect
import json
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from making.reference import PACKAGES
from making.text import OUT, ROOT, plain, table, write
from paper_checks.checking import CHECKS
from paper_checks.checking.running import run
from paper_checks.statements import PAPER


def results():
    """Return what every check finds at the quick size; kept until the code changes."""
    code = sorted(p for package in PACKAGES for p in (ROOT / package).rglob("*.py"))
    digest = hashlib.sha256(b"".join(p.read_bytes() for p in code)).hexdigest()
    kept = OUT / f"checks-{digest[:16]}.json"
    if not kept.is_file():
        for old in OUT.glob("checks-*.json"):
            old.unlink()
        write(kept, json.dumps(run_checks()))
    return json.loads(kept.read_text())


def run_checks():
    """Run every check in two processes; return the results in paper order."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        return list(pool.map(checked, PAPER, chunksize=4))


def checked(name):
    """Run one check; return its id, whether it is as recorded, and its facts as plain values."""
    (result,) = run([PAPER[name]], quick=True, seed=0)
    facts = result.outcome.facts if result.outcome else ()
    rows = [(f.bears.value, f.name, f.measured, f.relation, f.predicted, f.reason) for f in facts]
    if not result.as_recorded:
        raise RuntimeError(f"{name} is not as recorded: {result.objection}")
    return name, rows, result.outcome.note


def statement_pages(found):
    """Return an index of the paper's statements and one page for each."""
    pages = {"statements/index.md": _statement_index(PAPER)}
    return pages | {f"statements/{n}.md": _statement_page(PAPER[n], r, t) for n, r, t in found}


def _badge(verdict):
    """Return a verdict as a coloured label."""
    return f'<span class="verdict verdict-{verdict.name.lower()}">{verdict.value}</span>'


def _statement_index(paper):
    """Return the table of all statements."""
    counts = Counter(s.verdict for s in paper.values())
    summary = ", ".join(f"{n} {_badge(v)}" for v, n in counts.most_common())
    rows = [
        (f"[{s.id}]({s.id}.md)", s.place, plain(s.says), _badge(s.verdict)) for s in paper.values()
    ]
    toctree = "\n".join(["```{toctree}", ":hidden:", ":maxdepth: 1", "", *paper, "```"])
    return f"""# The paper, statement by statement

Every checkable statement of *Large-scale Multi-label Learning with Missing Labels* (ICML 2014),
told in our words, with what became of it when a program tried it. A verdict follows from the
comparisons of its check by one rule (`paper_checks.checking.verdict`); all of them were made when
this site was built, at the quick size.

{len(paper)} statements: {summary}.

`python -m paper_checks` runs them at full size, and
`python -m paper_checks errata --out errata.pdf` prints what is not plainly right.

{table(("id", "place", "statement", "verdict"), *rows)}

{toctree}
"""


def _statement_page(s, rows, note):
    """Return the page of one statement."""
    check = inspect.unwrap(CHECKS[s.id])
    where = Path(inspect.getsourcefile(check)).relative_to(ROOT)
    parts = [
        f"# {s.id}: {s.place}",
        _badge(s.verdict),
        f"**The paper says, in our words:** {plain(s.says)}",
    ]
    told = {
        "Where": s.where,
        "Why": s.why,
        "Example by hand": s.example,
        "Correct form": s.correct,
        "How sure": s.sure.value if s.sure else "",
        "How it is checked": s.how,
        "What would refute the verdict": s.refuted_by,
    }
    parts += [f"**{name}:** {plain(text)}" for name, text in told.items() if text]
    parts += ["## What the check found", _facts(rows)]
    if note:
        parts.append(plain(note))
    parts += [
        "This is the quick size, seed 0; the full size:",
        f"```bash\npython -m paper_checks show {s.id}\n```",
        f"## The check itself\n\nFrom `{where.as_posix()}`:",
        f"```python\n{inspect.getsource(check).rstrip()}\n```",
    ]
    return "\n\n".join(parts) + "\n"


_SIGNS = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥"}


def _facts(rows):
    """Return the comparisons of a check as a table."""
    head = ("compared", "measured", "", "expected", "if so", "tolerance")
    body = [
        (plain(name), f"{measured:.6g}", _SIGNS[sign], f"{expected:.6g}", plain(bears), plain(why))
        for bears, name, measured, sign, expected, why in rows
    ]
    return table(head, *body)
