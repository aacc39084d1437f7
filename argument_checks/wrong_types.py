"""Errors that name the argument of the wrong type, for the public functions of a module.

A call that works costs a fraction of a microsecond more. When one fails deep inside, its arguments
are compared with their annotations, and the first that differs is named.
"""

import collections.abc
import dataclasses
import functools
import inspect
import numbers
import re
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

# What Python and numpy raise when a value is not what the code takes it for.
# scipy's sparse matrices raise NotImplementedError where a number is added to them.
_RAW = (AttributeError, TypeError, LookupError, ArithmeticError, NotImplementedError, ValueError)
_SHOWN = 60  # characters of a value


def errors_name_arguments(namespace: dict[str, Any]) -> None:
    """Wrap the functions and dataclasses in ``__all__``, there and in the module they come from.

    It is called at the end of a module or package, with its ``globals()``.
    """
    for name in namespace["__all__"]:
        made = namespace.get(name)  # None if it is loaded when it is asked for
        home = vars(sys.modules[getattr(made, "__module__", None) or __name__])
        if inspect.isfunction(made) and not hasattr(made, "__wrapped__"):
            namespace[name] = wrapped = _wrapped(made)
            if home.get(name) is made:  # pickles look for it there
                home[name] = wrapped
        elif _is_open_dataclass(made):
            made.__init__ = _wrapped(made.__init__)  # type: ignore[misc, method-assign]
            if not hasattr(made, "get_params"):
                _wrap_methods(made)


def _wrap_methods(made: Any) -> None:
    """Wrap the public methods of a class in the class of its package that defines them."""
    for owner in made.__mro__:
        if owner.__module__.partition(".")[0] != made.__module__.partition(".")[0]:
            continue
        for key, part in [*vars(owner).items()]:
            of_class = isinstance(part, classmethod)
            function = part.__func__ if of_class else part
            named = inspect.isfunction(function) and not hasattr(function, "__wrapped__")
            if key[0] != "_" and named:
                wrapped = _wrapped(function)
                setattr(owner, key, classmethod(wrapped) if of_class else wrapped)


def _is_open_dataclass(made: Any) -> bool:
    named = inspect.isclass(made) and dataclasses.is_dataclass(made)
    return named and not hasattr(made.__init__, "__wrapped__")


def _wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except _RAW as error:
            _raise_named(function, args, options, error)
            raise

    @functools.wraps(function)
    def generate(*args: Any, **options: Any) -> Iterator[Any]:
        try:
            yield from function(*args, **options)
        except _RAW as error:
            _raise_named(function, args, options, error)
            raise

    return generate if inspect.isgeneratorfunction(function) else call


def _raise_named(
    function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any], error: Exception
) -> None:
    """Raise an error that names an argument, unless this one does or none is to blame."""
    if isinstance(error, ValueError) and "is ambiguous" not in str(error):  # an array as a scalar
        return
    try:
        bound = inspect.signature(function).bind(*args, **options).arguments
    except TypeError:  # too many or too few: Python's own words name them
        return
    given = {name: value for name, value in bound.items() if name not in ("self", "cls")}
    if not given:
        return
    checked = function.__name__ == "__init__" and str(error).startswith("`")  # a field, by a check
    if type(error) is TypeError and (checked or any(f"`{x}`" in str(error) for x in given)):
        return
    if isinstance(error, NotImplementedError) and not any(map(sparse.issparse, given.values())):
        return  # a method that somebody's own class has still to define
    if type(error).__module__.partition(".")[0] not in ("builtins", "numpy"):
        return  # an error of our own
    parameters = inspect.signature(function).parameters
    for unlike in (_is_unusual, _is_no_array):
        for name, value in given.items():
            if unlike(value, parameters[name], function):
                shown = repr(value)[:_SHOWN].replace("\n", " ")
                kind = _words(parameters[name].annotation)
                kind = "an array of numbers" if kind in ("Any", "Array") else f"of type {kind}"
                text = f"`{name}` must be {kind}, got {shown} ({type(value).__name__})."
                raise TypeError(text) from error
    listed = ", ".join(f"`{name}`" for name in given)
    if isinstance(error, ArithmeticError):
        raise ValueError(f"{listed}: out of the range of numbers ({error}).") from error
    wrong = listed if len(given) == 1 else f"{listed}: one of them"
    reason = f"KeyError: {error}" if isinstance(error, KeyError) else error
    raise TypeError(f"{wrong} is not what is expected ({reason}).") from error


def _words(annotation: Any) -> str:
    """Return an annotation as the source has it: text where annotations are not evaluated."""
    annotation = getattr(annotation, "__value__", annotation)  # numpy 2.5: NDArray is an alias
    origin = typing.get_origin(annotation)
    if origin is np.ndarray:
        return "Array"
    if origin in (typing.Union, types.UnionType):
        return " | ".join(map(_words, typing.get_args(annotation)))
    if inspect.isclass(annotation) and origin is None:
        return annotation.__name__.replace("NoneType", "None")
    return re.sub(r"(?:\w+\.)+|<class '|'>", "", str(annotation))  # without names of modules


def _is_unusual(value: Any, parameter: inspect.Parameter, function: Callable[..., Any]) -> bool:
    """Whether an argument is neither its default nor of the type that its annotation says."""
    if value is parameter.default or parameter.kind in (2, 4):  # *args and **options
        return False
    hint = parameter.annotation
    if isinstance(hint, str):
        try:
            hint = eval(hint, function.__globals__)  # our own source, never a user's text
        except Exception:  # a name that only type checkers import
            return False
    return not _fits(value, hint)


def _is_no_array(value: Any, parameter: inspect.Parameter, _: Callable[..., Any]) -> bool:
    """Whether a list or a sparse matrix came where only an array may have worked."""
    arrays = _words(parameter.annotation).startswith(("Any", "Array", "NDArray", "Factor"))
    return arrays and value is not parameter.default and not isinstance(value, np.ndarray)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a type; yes where that cannot be decided."""
    hint = getattr(hint, "__value__", hint)  # as in `_words`
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is None or hint is type(None):
        return value is None
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in inner)
    if hint is Any or origin is np.ndarray or hint is np.ndarray:
        return _is_numeric(value)
    if hint in (int, float):
        kind = numbers.Integral if hint is int else numbers.Real
        return isinstance(value, kind) and not isinstance(value, bool)
    if origin is collections.abc.Callable or hint is collections.abc.Callable:
        return callable(value)
    if inspect.isclass(origin) and issubclass(origin, collections.abc.Mapping):
        return isinstance(value, collections.abc.Mapping)
    if inspect.isclass(origin) and issubclass(origin, collections.abc.Iterable):
        return _holds(value, inner)
    if getattr(hint, "_is_protocol", False):
        members = {name for part in hint.__mro__ for name in vars(part) if name[0] != "_"}
        return not inspect.isclass(value) and all(hasattr(value, name) for name in members)
    return not inspect.isclass(origin or hint) or isinstance(value, origin or hint)


def _holds(value: Any, inner: tuple[Any, ...]) -> bool:
    """Whether a value is a collection whose items are of the types within a generic type."""
    if not isinstance(value, collections.abc.Iterable) or isinstance(value, str | bytes | dict):
        return False
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    kinds = [kind for kind in inner if kind is not Ellipsis]
    items = list(value) if isinstance(value, list | tuple | np.ndarray) else []
    if len(kinds) > 1 and Ellipsis not in inner and isinstance(value, list | tuple):
        return len(items) == len(kinds) and all(map(_fits, items, kinds))
    return all(_fits(item, kinds[0]) for item in items) if kinds else True


def _is_numeric(value: Any) -> bool:
    """Whether a value is an array, table or sparse matrix of real numbers with rows."""
    if sparse.issparse(value):
        return bool(value.dtype.kind in "biuf")
    try:
        array = np.asarray(value)
    except ValueError:
        return False
    return array.dtype.kind in "biuf" and array.ndim > 0
