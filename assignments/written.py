"""The written part of an assignment: questions for people to mark, read from a TOML file."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WRITTEN_PART = """## Written part

These questions are marked by a person. Write in the cell below each question: text, formulas
between dollar signs, as many cells as you like. The argument is what is marked:
wherever a step needs an assumption, say which."""

_NEEDED: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "title": str,
    "points": (int, float),
    "minutes": int,
    "text": str,
    "model_answer": str,
}


class WrittenError(ValueError):
    """A file of written questions that cannot be used; the message names file and question."""


@dataclass(frozen=True)
class WrittenQuestion:
    """One question that is marked by hand."""

    id: str
    title: str
    points: float
    text: str  # the question, in Markdown
    model_answer: str
    # Points and what they are given for; they add up to `points`.
    rubric: tuple[tuple[float, str], ...]
    minutes: int  # how long it takes
    wrong_turns: tuple[str, ...] = ()  # what students often write instead

    @property
    def prompt(self) -> str:
        """The question as students read it."""
        worth = f"{self.points:g} points, {self.minutes} minutes"
        return f"**Question {self.id}: {self.title} ({worth}).**\n\n{self.text}"

    @property
    def guide(self) -> str:
        """The model answer and how to mark, in Markdown."""
        rubric = [f"- {points:g}: {criterion}" for points, criterion in self.rubric]
        turns = [f"- {turn}" for turn in self.wrong_turns]
        parts = [self.model_answer, "**Points**", "\n".join(rubric)]
        return "\n\n".join(
            [*parts, *(["**Common wrong turns**", "\n".join(turns)] if turns else [])]
        )


def read_written(path: Path) -> tuple[WrittenQuestion, ...]:
    """Return the questions of a file; none when there is no such file."""
    if not path.is_file():
        return ()
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8")).get("question", [])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrittenError(f"{path}: {error}.") from error
    questions = tuple(_question(path, entry) for entry in entries)
    names = [question.id for question in questions]
    if len(set(names)) < len(names):
        raise WrittenError(f"{path}: two questions have one id; got {', '.join(names)}.")
    return questions


def _question(path: Path, entry: dict[str, Any]) -> WrittenQuestion:
    place = f"{path}: question {entry.get('id', '?')}"
    for key, kind in _NEEDED.items():
        if not isinstance(entry.get(key), kind):
            raise WrittenError(f"{place} needs `{key}`; got {entry.get(key)!r}.")
    try:
        rubric = tuple((line["points"], str(line["criterion"])) for line in entry["rubric"])
    except (KeyError, TypeError) as error:
        raise WrittenError(f"{place} needs `rubric`, a list of points and criterion.") from error
    if sum(points for points, _ in rubric) != entry["points"]:
        total = sum(points for points, _ in rubric)
        raise WrittenError(
            f"{place} is worth {entry['points']:g}, its rubric adds up to {total:g}."
        )
    taken = {key: entry[key] for key in _NEEDED}
    turns = tuple(map(str, entry.get("wrong_turns", ())))
    return WrittenQuestion(**taken, rubric=rubric, wrong_turns=turns)
