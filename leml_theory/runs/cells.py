"""Cells: the frozen parameters of one measurement, their key and their random numbers."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

# Part of every key. Raise it when a kind of measurement comes to mean something else: results
# stored under the old meaning are then refused rather than mixed with the new ones.
SCHEMA = 1

Scalar = None | bool | int | float | str


def plain_scalar(value: Any, name: str) -> Scalar:
    """Return `value` as the None, bool, int, float or str that it is, numpy scalars unwrapped."""
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is not None and type(plain) not in (bool, int, float, str):
        raise TypeError(
            f"`{name}` must be a number, a string, a Boolean or None, "
            f"got {value!r} ({type(value).__name__}); convert it first."
        )
    if isinstance(plain, str):
        _check_text(plain, name)
    return plain  # type: ignore[no-any-return]


def _check_text(text: str, name: str) -> None:
    """Refuse lone surrogates: two of them would come back from JSON as another text."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"`{name}` must be text that UTF-8 can encode, got {text!r}.") from None


def plain_value(value: Any, name: str) -> Any:
    """Return a copy of `value` made of JSON's types only, every number finite, or raise."""
    if isinstance(value, Mapping):
        return {_plain_name(key, name): plain_value(value[key], f"{name}.{key}") for key in value}
    if isinstance(value, list | tuple):
        return [plain_value(item, f"{name}[{i}]") for i, item in enumerate(value)]
    plain = plain_scalar(value, name)
    if isinstance(plain, float) and not math.isfinite(plain):
        raise ValueError(f"`{name}` must be finite, got {plain!r}; use None for 'no value'.")
    return plain


def _plain_name(key: Any, name: str) -> str:
    """Return the name of a value, which must be a text."""
    if type(key) is not str:
        raise TypeError(f"Names in `{name}` must be strings, got {key!r} ({type(key).__name__}).")
    _check_text(key, name)
    return key


def canonical_json(value: Any) -> str:
    """Return the one JSON text of `value`: sorted names, no blanks, floats that read back exactly.

    Numbers are written as they are typed, so 1, 1.0 and True are three different values, and so
    are 0.0 and -0.0. Lists and tuples are the same.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()


def json_ready(value: Any) -> Any:
    """Return `value` in JSON's own types, dataclasses as mappings, None for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if is_dataclass(value):
        return {f.name: json_ready(getattr(value, f.name)) for f in fields(value)}
    item = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(item, float) and not math.isfinite(item) else item


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Cell:
    """One measurement: what kind, with which parameters, from which seed.

    Cells are equal when their keys are. The parameters are kept as canonical JSON and handed out
    as a fresh dictionary, so nothing that is done to it can change the cell.

    Parameters
    ----------
    kind : str
        Name of the measurement.
    parameters : mapping of str to JSON values
        Numbers (finite), strings, Booleans, None, and lists and mappings of these. The number 1
        and the number 1.0 make different cells.
    seed : int, at least 0
        Seed of the whole run; another seed makes every cell another cell.
    """

    kind: str
    parameters_json: str
    seed: int
    key: str

    def __init__(self, kind: str, parameters: Mapping[str, Any], seed: int) -> None:
        plain = _checked_parameters(parameters)
        seed = _checked_seed(seed)
        if type(kind) is not str or not kind:
            raise TypeError(f"`kind` must be the name of a measurement, got {kind!r}.")
        _check_text(kind, "kind")
        content = {"schema": SCHEMA, "kind": kind, "parameters": plain, "seed": seed}
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "parameters_json", canonical_json(plain))
        object.__setattr__(self, "seed", seed)
        object.__setattr__(self, "key", digest(content))

    def __repr__(self) -> str:
        return f"Cell(kind={self.kind!r}, parameters={self.parameters!r}, seed={self.seed!r})"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, as a fresh dictionary (tuples have become lists)."""
        return json.loads(self.parameters_json)  # type: ignore[no-any-return]

    def rng(self) -> np.random.Generator:
        """Return a new generator seeded by the key, so by this cell alone."""
        words = [int(self.key[i : i + 8], 16) for i in range(0, len(self.key), 8)]
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))


def _checked_parameters(parameters: Any) -> Any:
    """Return a copy of the parameters made of JSON's types only."""
    if not isinstance(parameters, Mapping):
        raise TypeError(
            f"`parameters` must map names to values, got {parameters!r} "
            f"({type(parameters).__name__})."
        )
    return plain_value(parameters, "parameters")


def _checked_seed(seed: Any) -> int:
    """Return a seed as an int, which must be a whole number not below zero."""
    plain = plain_scalar(seed, "seed")
    if type(plain) is not int:
        raise TypeError(f"`seed` must be a whole number, got {seed!r} ({type(seed).__name__}).")
    if plain < 0:
        raise ValueError(f"`seed` must not be negative, got {seed!r}.")
    return plain
