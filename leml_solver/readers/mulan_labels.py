"""Which attributes of an ARFF file are labels: Mulan's XML files, counts, MEKA's relation names."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from leml_solver.readers.lines import ReadError
from safe_files import open_regular

_MAX_XML = 8 * 2**20  # a hundred thousand labels; elements take twenty times their text
_MEKA = re.compile(r"-C\s+(-?\d{1,9})\b")


def xml_label_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names in a label file of Mulan, nested ones included.

    Document types and entities are refused: a label file needs none, and they can be made to
    expand without end.
    """
    try:
        with open_regular(path) as file:
            text = file.read(_MAX_XML + 1)
    except OSError as error:
        raise ReadError(f"{path}: cannot be read ({error.strerror or error}).") from error
    if len(text) > _MAX_XML or b"<!DOCTYPE" in text or b"<!ENTITY" in text or b"\0" in text:
        raise ReadError(f"{path}: not a label file of Mulan (too long, or with a DOCTYPE).")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise ReadError(f"{path}: not a label file of Mulan ({error}).") from error
    names = [node.get("name") for node in root.iter() if node.tag.rpartition("}")[2] == "label"]
    found = [name for name in names if name]
    if not found:
        raise ReadError(f"{path}: expected <label name=...> elements, got none.")
    return found


def label_positions(
    path: str, labels: str | os.PathLike[str] | int | None, relation: str, names: Sequence[str]
) -> list[int]:
    """Return which attributes are labels, in the order of the labels.

    `labels` is a label file of Mulan; or a count: the last attributes, the first ones if negative;
    or None: a label file beside the ARFF file (``emotions.xml`` for ``emotions-train.arff``), else
    the ``-C`` of MEKA in the relation's name.
    """
    if labels is None:
        labels = _guessed(Path(path), relation)
    if isinstance(labels, int):
        if not 0 < abs(labels) < len(names):
            raise ReadError(
                f"{path}: {labels} labels asked for, but the file has {len(names)} attributes."
            )
        chosen = range(len(names))
        return list(chosen[-labels:] if labels > 0 else chosen[:-labels])
    wanted = xml_label_names(labels)
    where = {name: at for at, name in enumerate(names)}
    if absent := [name for name in wanted if name not in where]:
        raise ReadError(f"{path}: has no attribute {absent[0]!r}, a label according to {labels}.")
    return [where[name] for name in dict.fromkeys(wanted)]


def _guessed(path: Path, relation: str) -> Path | int:
    """Return the label file beside an ARFF file, or MEKA's count with our sign."""
    stem = re.sub(r"\.arff(\.gz)?$", "", path.name, flags=re.IGNORECASE)
    short = re.sub(r"[-_.](train|test|sparse)", "", stem, flags=re.IGNORECASE)
    for name in dict.fromkeys((stem, short)):
        if (beside := path.with_name(f"{name}.xml")).is_file():
            return beside
    if match := _MEKA.search(relation):
        return -int(match.group(1))  # MEKA counts the first attributes with a positive number
    raise ReadError(
        f"{path}: it is not known which attributes are labels; pass labels=FILE.xml of Mulan, or "
        "labels=COUNT for the last attributes (-COUNT for the first)."
    )
