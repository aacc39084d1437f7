"""The paper's text, if `LEML_PAPER` names it: its sentences by their checksums."""

import hashlib
import os
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

# The full stop of these words ends no sentence.
ABBREVIATED = re.compile(r"\b(i\.e|e\.g|vs|al|etc|Eq|s\.t)\.$")


def checksum(sentence):
    """Return the first twelve digits of the sha256 of the lower-case letters and digits."""
    letters = re.sub("[^a-z0-9]", "", sentence.lower())
    return hashlib.sha256(letters.encode()).hexdigest()[:12]


def lines(name):
    """Return the lines of a file or of all text files of a folder."""
    path = Path(name)
    files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def split(line):
    """Return the sentences of a line."""
    return re.split(r"(?<=[.?!])\s+", line)


@cache
def sentences(name):
    """Return the sentences of a file or of all text files of a folder, by checksum.

    A line ends a sentence, and so does a full stop, a question or an exclamation mark before a
    blank.
    """
    found = [part for line in lines(name) for part in split(line)]
    return {checksum(sentence): sentence for sentence in found}


@cache
def places(name):
    """Return where each sentence stands, by checksum: 'Section 4, paragraph 12, sentence 3'.

    Formulas on lines of their own end a paragraph and are counted apart, line by line; rows of a
    table are counted below its head. A paragraph that a page break or a table divides counts once.
    """
    found, section, table, counts, unfinished = {}, "", "", Counter(), False
    for line in filter(str.strip, lines(name)):
        caption = re.match(r"(Table|Figure) \d+(?=:)", line)
        if line.startswith("#"):
            section, counts, unfinished = heading(line), Counter(), False
        elif caption:
            table, counts["row"] = caption[0], 0
            found.setdefault(checksum(split(line)[0]), f"caption of {table}")
        elif line.startswith("|"):
            counts["row"] = 0 if line.startswith("|-") or "| --" in line else counts["row"] + 1
            found.setdefault(checksum(line), f"{table}, row {counts['row']}")
        elif re.match(r"\$\$|[&=\\]", line):
            unfinished = False
            counts["formula"] += not re.fullmatch(r"\$\$|\\(begin|end)\{.*", line)
            found.setdefault(checksum(line), f"{section}, line {counts['formula']} of the formulas")
        else:
            counts["paragraph"] += not unfinished
            counts["sentence"] *= unfinished
            for part in split(line):
                counts["sentence"] += not unfinished
                unfinished = bool(ABBREVIATED.search(part))
                place = f"paragraph {counts['paragraph']}, sentence {counts['sentence']}"
                found.setdefault(checksum(part), f"{section}, {place}")
            unfinished = line.rstrip()[-1].isalnum() or line.rstrip()[-1] in "-$"
    return found


def heading(line):
    """Return 'Section 4' or 'Appendix B.1' of a line that opens one, else its words."""
    number = re.match(r"#+ +([0-9.]+|[A-D](?:\.[0-9.]+)?) ", line)
    if not number:
        return line.strip("# ")
    return f"{'Appendix' if number[1][0].isalpha() else 'Section'} {number[1]}"


def text_name():
    """Return the name of the text; skip the test where it is not at hand."""
    name = os.environ.get("LEML_PAPER")
    if not name:
        pytest.skip("LEML_PAPER names no text of the paper")
    return name


def sentence(wanted):
    """Return the sentence of a checksum; skip the test where the text is not at hand."""
    return sentences(text_name())[wanted]
