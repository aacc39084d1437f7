"""Where things are, and Markdown by hand."""

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
OUT = DOCS / "generated"


def table(*rows):
    """Return a Markdown table; the first row is its head, and numbers are right-aligned."""
    numbers = [all(_is_number(row[k]) for row in rows[1:]) for k in range(len(rows[0]))]
    rule = ["---:" if number else "---" for number in numbers]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def _is_number(text):
    return not text or bool(re.fullmatch(r"[-+.\de]+|inf|-inf|nan", text))


def plain(text):
    """Return text in which Markdown sees no marks."""
    return re.sub(r"([\\`*_{}\[\]<>|#$~^])", r"\\\1", text)


def write(path, text):
    """Write a page unless it is there already: Sphinx reads what is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)
