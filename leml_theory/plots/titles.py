"""Titles of pictures: a topic, and what the judged slopes and checks of this run say.

No title is written by hand.  A slope 'is' what it should be in the limit only where it agrees with
what its rule asks and is within three standard errors of the limit too; else its number is given.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress

import pandas as pd

from leml_theory.plots.style import LOOKS, MINUS
from leml_theory.sweep.experiments import EXPERIMENTS, CheckRow, SlopeRow
from leml_theory.sweep.experiments.design import AGREES

_MOST_PHRASES = 4
_TARGETS = {-1.0: "1/{}", -0.5: "1/√{}", 0.0: "level in {}", 0.5: "√{}"}
_VERBS = {-1.0: "falls as", -0.5: "falls as", 0.0: "is", 0.5: "grows as"}
_COUNTED = {
    "agrees": "agree",
    "fails": "fail",
    "approaches": "approach their limit",
    "fast rate": "not slower than the bound's rate",
    "slow window": "slower than the bound's rate",
}
_PLURAL = {"falls": "fall", "grows": "grow", "is": "are", "has": "have", "approaches": "approach"}
_SHORT = {"frobenius": "Frobenius", "leml": "LEML"}


def signed(slope: float) -> str:
    """Return a slope in three digits with a proper minus sign, and none before zero."""
    return f"{round(slope, 3) + 0.0:+.3f}".replace("-", MINUS).replace("+0.000", "0.000")


def derived_title(
    topic: str,
    slopes: Iterable[SlopeRow],
    checks: Iterable[CheckRow],
    told: Mapping[tuple[str, str], str],
) -> str:
    """Return the title of a picture: its topic, and in a second line what slopes and checks say.

    Parameters
    ----------
    topic : str
        What is shown, claiming nothing.
    slopes, checks : iterable of SlopeRow, of CheckRow
        As judged on the frame that is drawn.
    told : mapping of (str, str) to str
        Experiments and series whose slopes are given, and the words before them.  Where there are
        none, the verdicts are counted.
    """
    rows, checked = list(slopes), list(checks)
    chosen = [row for row in rows if (row.experiment, row.series) in told]
    phrases = _phrases(chosen, told) if chosen else _counts(rows, checked)
    verdicts = [row.verdict for row in rows] + [row.verdict for row in checked]
    start = "Not confirmed in this run: " if "fails" in verdicts else ""
    told_text = "; ".join(phrases)
    return f"{start}{topic}\n{told_text[:1].upper()}{told_text[1:]}".rstrip()


def judged(frame: pd.DataFrame, ids: Iterable[str]) -> tuple[list[SlopeRow], list[CheckRow]]:
    """Return the judged slopes and checks of experiments, none for those that are not known."""
    known = [EXPERIMENTS[name] for name in ids if name in EXPERIMENTS]
    checks: list[CheckRow] = []
    for experiment in known:
        with suppress(IndexError, KeyError):  # some series alone cannot be checked, only drawn
            checks += experiment.check_rows(frame)
    return [row for experiment in known for row in experiment.slopes(frame)], checks


def _phrases(rows: list[SlopeRow], told: Mapping[tuple[str, str], str]) -> list[str]:
    """Return the sentence on every such series, balls with the same sentence together.

    Of a slope that is judged by two rules the first is given.
    """
    first: dict[tuple[str, str, str], SlopeRow] = {}
    for row in rows:
        first.setdefault((row.experiment, row.series, row.ball), row)
    said: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in first.values():
        of_series = said.setdefault((row.experiment, row.series), {})
        of_series.setdefault(claim(row), []).append(row.ball)
    return [
        told[series] + ", ".join(_sentence(balls, text) for text, balls in texts.items())
        for series, texts in said.items()
    ]


def _sentence(balls: list[str], text: str) -> str:
    """Return the sentence on one ball, or on several at once."""
    names = [_SHORT.get(ball, LOOKS[ball].name) for ball in balls]
    if len(names) == 1:
        return f"{names[0]} {text}"
    verb, rest = text.split(" ", 1)
    return f"{' and '.join(names)} {_PLURAL[verb]} {rest}"


def claim(row: SlopeRow) -> str:
    """Return what one judged slope says; 'approaches' and 'reported' never become 'is'."""
    number = f"slope {signed(row.slope)} in {row.axis}"
    target = _TARGETS.get(row.asymptotic, f"slope {signed(row.asymptotic)} in {{}}")
    target = target.format(row.axis)
    if row.verdict in ("agrees", "marginal"):
        return _agreeing(row, number, target)
    return {
        "approaches": f"approaches {target} ({number} here)",
        "fast rate": f"has {number} (not slower than {target})",
        "slow window": f"has {number} (slower than {target})",
        "fails": f"has {number}, which fails its rule '{row.rule}'",
    }.get(row.verdict, f"has {number} (reported, not judged)")


def _agreeing(row: SlopeRow, number: str, target: str) -> str:
    """Return the phrase for a slope that agrees with what its rule asks."""
    if row.rule in ("reject", "excluded"):
        return f"has {number}: the claimed slope {signed(row.asymptotic)} is rejected"
    if row.rule == "steeper":
        return f"is steeper than {target} ({number})"
    near = abs(row.slope - row.asymptotic) <= AGREES * row.stderr
    if near and row.verdict == "agrees" and row.asymptotic in _VERBS:
        return f"{_VERBS[row.asymptotic]} {target}"
    doubt = "" if row.verdict == "agrees" else ", marginally"
    return f"has {number} as predicted{doubt} (limit: {target})"


def _counts(slopes: list[SlopeRow], checks: list[CheckRow]) -> list[str]:
    """Return the passed checks by name where they are few, and counted verdicts else."""
    verdicts = Counter(_COUNTED.get(row.verdict, row.verdict) for row in slopes)
    words = [f"{number} of {len(slopes)} slopes {name}" for name, number in verdicts.items()]
    if len(checks) <= _MOST_PHRASES:
        return words + [f"{'' if row.verdict == 'agrees' else 'NOT '}{row.name}" for row in checks]
    passed = sum(row.verdict == "agrees" for row in checks)
    return [*words, f"{passed} of {len(checks)} checks come out as recorded"]
