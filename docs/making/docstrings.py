"""Docstrings as Sphinx wants them: |Z|_tr, Z* and W_ are text, not references."""

import re

_CODE = re.compile(r"(:\w+:)?`+[^`]+`+")
_EMPHASIS = re.compile(r"(?<![\w|*])\*(?=[A-Za-z])[^*|]+?(?<=[a-z.])\*(?![\w*])")
_MARKS = re.compile(r"\||(?<=\S)\*|\*(?=\S)|_(?!\w)")  # not the star of a list


def escape(app, what, name, obj, options, lines):
    """Escape marks in the prose of a docstring, in place; examples and code stay as they are."""
    lines[:] = escaped("\n".join(lines)).split("\n")


def escaped(text):
    """Return a docstring in which marks of reStructuredText are text."""
    paragraphs, literal = [], False
    for paragraph in re.split(r"(\n\s*\n)", text):
        indented = paragraph.startswith((" ", "\t"))
        literal = literal and (indented or not paragraph.strip())
        example = paragraph.lstrip().startswith(">>>")
        paragraphs.append(paragraph if literal or example else _prose(paragraph))
        literal = literal or paragraph.rstrip().endswith("::")
    return "".join(paragraphs)


def _prose(text):
    """Escape marks outside code, formulas and emphasis."""
    kept = re.compile(f"({_CODE.pattern}|{_EMPHASIS.pattern})", re.DOTALL)
    parts, end = [], 0
    for match in kept.finditer(text):
        parts += [_marks(text[end : match.start()]), match.group()]
        end = match.end()
    return "".join([*parts, _marks(text[end:])])


def _marks(text):
    """Escape every mark of a piece of text."""
    return _MARKS.sub(lambda found: "\\" + found.group(), text)


def skip(app, what, name, obj, skip, options):
    """Leave out what a dataclass or scikit-learn adds to a class."""
    return True if name.startswith(("set_", "get_metadata")) and what == "class" else skip
