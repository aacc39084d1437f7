"""What a mutation is: a function or constant that a check uses, bent so that it must fail."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self


@dataclass(frozen=True)
class Mutation:
    """One way to bend a statement, the data or the solver.

    Parameters
    ----------
    name : str
        What is bent, in words.
    target : str
        Dotted path of the function or constant, as the check looks it up
        ('leml_solver.losses.Logistic.derivative'); '.minimise' is a name in the check's own module.
    replacement : callable
        Takes the original and returns the bent one.
    """

    name: str
    target: str
    replacement: Callable[[Any], Any]

    def within(self, module: str) -> Self:
        """Return the mutation with the full path of its target."""
        return replace(self, target=module + self.target) if self.target[0] == "." else self


def scaled(factor: float) -> Callable[[Any], Any]:
    """Return a replacement that multiplies a constant, or what a function returns, by `factor`."""

    def replacement(original: Any) -> Any:
        if not callable(original):
            return original * factor
        return lambda *args, **kwargs: original(*args, **kwargs) * factor

    return replacement


def constant(value: Any) -> Callable[[Any], Any]:
    """Return a replacement that puts `value` in place of a constant."""
    return lambda _: value


def returning(value: Any) -> Callable[[Any], Any]:
    """Return a replacement by a function that always returns `value`."""
    return lambda _: lambda *_args, **_kwargs: value
