"""The paper's text, if `LEML_PAPER` names it: its sentences by their checksums."""

import hashlib
import os
import re
from functools import cache
from pathlib import Path

import pytest


def checksum(sentence):
    """Return the first twelve digits of the sha256 of the lower-case letters and digits."""
    letters = re.sub("[^a-z0-9]", "", sentence.lower())
    return hashlib.sha256(letters.encode()).hexdigest()[:12]


@cache
def sentences(name):
    """Return the sentences of a file or of all text files of a folder, by checksum.

    A line ends a sentence, and so does a full stop, a question or an exclamation mark before a
    blank.
    """
    path = Path(name)
    files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    found = [part for line in lines for part in re.split(r"(?<=[.?!])\s+", line)]
    return {checksum(sentence): sentence for sentence in found}


def sentence(wanted):
    """Return the sentence of a checksum; skip the test where the text is not at hand."""
    name = os.environ.get("LEML_PAPER")
    if not name:
        pytest.skip("LEML_PAPER names no text of the paper")
    return sentences(name)[wanted]
