"""Names for laws, losses and label models of one's own, without editing the package.

A registered name works wherever the names of the package do: in `feature_law`, `label_model` and
`LOSSES`, in the cells of a sweep and on its command line.  A name stands for one thing: giving a
name of the package, or one's own a second time, is refused unless it is for the same object.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TypeVar

from argument_checks import one_of
from leml_solver.losses import LOSSES, Loss
from leml_theory.sweep.experiments.custom import WORLDS
from leml_theory.worlds import LABELS, LAWS, LabelFactory, LawFactory

__all__ = ["register_labels", "register_law", "register_loss"]

_Entry = TypeVar("_Entry")


def register_law(name: str, factory: LawFactory) -> None:
    """Register a feature law.

    Parameters
    ----------
    name : str
        What cells, tables and `--law` call it.
    factory : callable
        Takes the dimension d and returns a `FeatureLaw`; the class of the law will often do.
    """
    _register(LAWS, name, factory, "law")


def register_labels(name: str, factory: LabelFactory, *, loss: str = "squared") -> None:
    """Register a label model.

    Parameters
    ----------
    name : str
        What cells, tables and `--world` call it.
    factory : callable
        Takes d, L and a generator, and returns a `LabelModel`.
    loss : str
        The loss, by its name in `LOSSES`, that `--world` measures the labels with.
    """
    one_of(loss, "loss", LOSSES)
    _register(LABELS, name, factory, "label model")
    _register(WORLDS, name, (name, loss), "world")


def register_loss(loss: Loss) -> None:
    """Register a loss under its own name in `LOSSES`, where cells and estimators find it."""
    _register(LOSSES, loss.name, loss, "loss")


def _register(table: MutableMapping[str, _Entry], name: str, entry: _Entry, kind: str) -> None:
    """Add an entry, refusing a name that stands for something else."""
    if not isinstance(name, str) or not name or set(name) & set(", \t\n"):
        raise ValueError(f"`name` must be a word without spaces and commas, got {name!r}.")
    if name in table and table[name] != entry:
        raise ValueError(f"`name` must be new, got {name!r}, which is a {kind} already.")
    table[name] = entry
