"""A bound as tables, pictures and the command line use it: name, label, formula and look."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, ParamSpec

from argument_checks import one_of
from leml_theory.bounds.setting import BoundValue

P = ParamSpec("P")
Line = str | tuple[int, tuple[float, ...]]
DRAWN = ("always", "if best", "if asked")


@dataclass(frozen=True, slots=True)
class BoundLook:
    """The line of a bound where it is valid, as a matplotlib line style and colour.

    Examples
    --------
    >>> from leml_theory import BoundLook
    >>> BoundLook(line="--", colour="darkred")
    BoundLook(line='--', colour='darkred')
    """

    line: Line = (0, (7, 2, 1.5, 2))
    colour: str = "#3c5f8f"


@dataclass(frozen=True, slots=True)
class Bound(Generic[P]):
    """One bound: call it with a setting to get a `BoundValue`.

    Parameters
    ----------
    name : str
        As in the columns of results.csv: letters, digits and underscores.
    label : str
        As in legends: 'Theorem 3, both balls'.
    formula : callable
        From a `Setting` (and, for bounds on risks, a `RiskSetting` and a bound on the Rademacher
        average) to a `BoundValue` of that name, with the assumptions that fail.
    look : BoundLook
        How it is drawn.
    drawn : {"always", "if best", "if asked"}
        Whether pictures draw it: always, when it is the best of its kind, or where a panel asks.
    phrase : str
        What a sentence calls it, such as "Chevet's inequality"; by default the label.

    Examples
    --------
    >>> from leml_theory import Bound, BoundValue, Setting
    >>> from simulations import IsotropicGaussian, UniformLabels
    >>> bound = Bound("crude", "no use of n", lambda setting: BoundValue("crude", setting.radius))
    >>> bound(Setting.of(IsotropicGaussian(4), UniformLabels(2), n=100, radius=3.0)).value
    3.0
    """

    name: str
    label: str
    formula: Callable[P, BoundValue]
    look: BoundLook = BoundLook()
    drawn: str = "always"
    phrase: str = ""

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise ValueError(
                f"`name` must be made of letters, digits and underscores, got {self.name!r}."
            )
        if not isinstance(self.look, BoundLook):
            raise TypeError(f"`look` must be BoundLook(line, colour), got {self.look!r}.")
        one_of(self.drawn, "drawn", DRAWN)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> BoundValue:
        """Return the value of the formula and the assumptions that fail."""
        value = self.formula(*args, **kwargs)
        if not isinstance(value, BoundValue) or value.name != self.name:
            raise ValueError(
                f"The formula of the bound '{self.name}' must return a BoundValue of that name, "
                f"got {value!r}."
            )
        return value
