"""An assumption of a bound that fails: a value that tables keep and pictures read back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from simulations.features import Moments


@dataclass(frozen=True, slots=True)
class FailedAssumption:
    """What a bound needs, and what holds instead.

    Parameters
    ----------
    needs : str
        The assumption in a few words, the same wherever it fails: 'needs d >= L'.  Pictures name a
        bound that is not valid by these words.  A number that changes from place to place is
        written as {}: 'needs n > {}'.
    here : str
        What is the case, with the numbers: 'd = 4 and L = 8'.
    number : float, optional
        The number that {} in `needs` stands for.
    source : str
        Name of the bound that the assumption comes from, empty when it is the bound's own.

    Examples
    --------
    >>> from leml_theory import FailedAssumption
    >>> print(FailedAssumption("needs n > {}", "n = 50", number=200.0))
    needs n > 200, here n = 50
    """

    needs: str
    here: str
    number: float | None = None
    source: str = ""

    @property
    def sentence(self) -> str:
        """The failure in one sentence, without its source: 'needs d >= L, here d = 4 and L = 8'."""
        needs = self.needs if self.number is None else self.needs.format(f"{self.number:.6g}")
        return f"{needs}, here {self.here}"

    def __str__(self) -> str:
        return f"{self.source} {self.sentence}".strip()

    def taken_from(self, bound: str) -> FailedAssumption:
        """Return the failure as another bound reports it; the first source stays."""
        return replace(self, source=self.source or bound)


Failures = tuple[FailedAssumption, ...]


def unless(holds: bool, needs: str, here: str) -> Failures:
    """Return the failure of one assumption, nothing where it holds."""
    return () if holds else (FailedAssumption(needs, here),)


def failures_to_json(failures: Mapping[str, Sequence[FailedAssumption]]) -> str:
    """Return the failures of several bounds, by their names, as one line of JSON."""
    table = {
        name: [{"needs": f.needs, "here": f.here, "number": f.number} for f in found]
        for name, found in failures.items()
        if found
    }
    return json.dumps(table)


def bounded_features(moments: Moments) -> Failures:
    """Return the failure of bounds that need a largest |x|."""
    known = math.isfinite(moments.radius)
    return unless(known, "needs |x| <= R almost surely", "|x| is unbounded")


def law_is(found: str, law: str, words: str) -> Failures:
    """Return the failure of bounds that need features of one kind of law."""
    return unless(found == law, f"needs {words}", f"the law is '{found}'")


def radius_fixed(fixed: bool) -> Failures:
    """Return the failure of bounds on risks that need a radius fixed beforehand."""
    return unless(fixed, "needs a radius fixed before the data", "it was chosen from the data")


def failures_from_json(text: str, bound: str) -> Failures:
    """Return the failures of one bound from what `failures_to_json` wrote."""
    return tuple(FailedAssumption(**fields) for fields in json.loads(text).get(bound, []))
