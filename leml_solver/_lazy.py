"""Attributes that are computed when they are first asked for."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_Value = TypeVar("_Value")


class cached_property(Generic[_Value]):  # noqa: N801  named as in functools
    """As in functools, without the lock that Python 3.11 holds while it computes.

    A child forked while another thread held that lock would wait for it forever. Two threads may
    compute the same value at the same time, and one of the two is kept.
    """

    def __init__(self, function: Callable[[Any], _Value]) -> None:
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _Value: ...
    def __get__(self, instance: object | None, owner: type) -> Self | _Value:
        """Compute the value and keep it where the instance finds it before this descriptor."""
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.function(instance)
        return value
