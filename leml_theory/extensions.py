"""Names for laws, losses, label models, bounds and experiments of your own.

A registered name works wherever the names of the package do: in `feature_law`, `label_model` and
`LOSSES`, in the cells of a sweep and on its command line, in its tables and pictures.  A name
stands for one thing: a name that is already taken, by the package or by you, is refused unless it
is registered for the same object again.
"""

import re
from collections.abc import MutableMapping
from inspect import signature
from typing import Any, TypeVar

from argument_checks import one_of
from argument_checks.wrong_types import errors_name_arguments
from leml_solver.losses import LOSSES, Loss
from leml_theory.bounds import (
    COMPLEXITY_BOUNDS,
    RISK_BOUNDS,
    Bound,
    BoundValue,
    RiskSetting,
    Setting,
)
from leml_theory.measurements import MEASUREMENTS, Measurement
from leml_theory.sweep.experiments import EXPERIMENTS, Experiment
from leml_theory.sweep.experiments.custom import GRID, WORLDS
from leml_theory.sweep.frame import columns
from leml_theory.worlds import LABELS, LAWS, LabelFactory, LawFactory
from simulations import IsotropicGaussian, UniformLabels

__all__ = [
    "register_bound",
    "register_experiment",
    "register_labels",
    "register_law",
    "register_loss",
    "register_measurement",
    "register_risk_bound",
]

_Entry = TypeVar("_Entry")
# What a bound is tried on when it is registered, rather than after a sweep has measured.
_SETTING = Setting.of(IsotropicGaussian(2), UniformLabels(2), 100)


def register_law(name: str, factory: LawFactory) -> None:
    """Register a feature law.

    Parameters
    ----------
    name : str
        What cells, tables and `--law` call it.
    factory : callable
        Takes the dimension d and returns a `FeatureLaw`; the class of the law will often do.

    Examples
    --------
    >>> from leml_theory import register_law
    >>> from leml_theory.worlds import feature_law
    >>> from simulations import AnisotropicGaussian
    >>> register_law("decaying", lambda d: AnisotropicGaussian(tuple(0.5**k for k in range(d))))
    >>> feature_law("decaying", 4).moments.top_eigenvalue
    1.0
    """
    _check_call(factory, "`factory`", "d")
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

    Examples
    --------
    >>> import numpy as np
    >>> from leml_theory import register_labels
    >>> from leml_theory.worlds import label_model
    >>> from simulations import RandomSigns
    >>> register_labels("coins", lambda d, n_labels, rng: RandomSigns(n_labels), loss="logistic")
    >>> label_model("coins", 3, 2, np.random.default_rng(0)).binary
    True
    """
    one_of(loss, "loss", LOSSES)
    _check_call(factory, "`factory`", "d, L, rng")
    _register(WORLDS, name, (name, loss), "world")
    _register(LABELS, name, factory, "label model")


def register_loss(loss: Loss) -> None:
    """Register a loss under its own name in `LOSSES`, where cells and estimators find it.

    Examples
    --------
    >>> from leml_solver.losses import LOSSES, Squared
    >>> from leml_theory import register_loss
    >>> class LeastSquares(Squared):
    ...     name = "least-squares"
    >>> register_loss(LeastSquares())
    >>> LOSSES["least-squares"].curvature
    1.0
    """
    if not (isinstance(loss, Loss) and hasattr(loss, "curvature")):
        needs = "an instance of a subclass of Loss with a `curvature`"
        raise TypeError(f"`loss` must be {needs}, got {loss!r}.")
    _register(LOSSES, loss.name, loss, "loss")


def register_bound(bound: Bound[[Setting]]) -> Bound[[Setting]]:
    """Register a bound on the Rademacher average and return it.

    It joins `complexity_bounds` and `best_bound`, has its columns in results.csv, is compared with
    every measurement where it is valid, and is drawn as its `drawn` says.

    Examples
    --------
    >>> from leml_theory import Bound, BoundValue, Setting, complexity_bounds, register_bound
    >>> from simulations import IsotropicGaussian, UniformLabels
    >>> crude = Bound("crude", "twice Theorem 3", lambda s: BoundValue("crude", 2 * s.n**-0.5))
    >>> crude = register_bound(crude)
    >>> complexity_bounds(Setting.of(IsotropicGaussian(4), UniformLabels(4), n=100))["crude"].value
    0.2
    """
    if bound.name not in COMPLEXITY_BOUNDS and bound.name in columns():
        raise ValueError(f"`name` must be new, got {bound.name!r}, which is a column already.")
    bound(_SETTING)
    _register(COMPLEXITY_BOUNDS, bound.name, bound, "bound")
    return bound


def register_risk_bound(
    bound: Bound[[Setting, RiskSetting, BoundValue]],
) -> Bound[[Setting, RiskSetting, BoundValue]]:
    """Register a bound on the excess risk that holds with probability 1 - delta, and return it.

    Single draws are compared with the smallest valid one: `high_probability` in results.csv.

    Examples
    --------
    >>> from leml_theory import Bound, BoundValue, register_risk_bound
    >>> from leml_theory.bounds import RISK_BOUNDS
    >>> def formula(setting, risk, complexity):
    ...     return BoundValue("crude_risk", risk.loss_range)
    >>> bound = register_risk_bound(Bound("crude_risk", "the range of the loss", formula))
    >>> RISK_BOUNDS["crude_risk"].label
    'the range of the loss'
    """
    bound(_SETTING, RiskSetting("linear", 1.0, 2.0), BoundValue("theorem_3", 0.1))
    _register(RISK_BOUNDS, bound.name, bound, "bound")
    return bound


def register_measurement(kind: str, run: Measurement) -> None:
    """Register a kind of cell.

    Parameters
    ----------
    kind : str
        What the cells of an experiment call it.
    run : callable
        Takes the parameters of a cell and a generator, and returns rows, which
        `leml_theory.measurements.record` makes.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_theory import Estimate, register_measurement
    >>> from leml_theory.measurements import MEASUREMENTS, record
    >>> def norms(parameters, rng):
    ...     draws = np.linalg.norm(rng.normal(size=(10, parameters["d"])), axis=1)
    ...     return [record("norm", "frobenius", parameters, Estimate.of(draws))]
    >>> register_measurement("norms", norms)
    >>> [row] = MEASUREMENTS["norms"]({"n": 1, "d": 4, "L": 1}, np.random.default_rng(0))
    >>> row["quantity"], row["draws"]
    ('norm', 10)
    """
    _check_call(run, "`run`", "parameters, rng")
    _register(MEASUREMENTS, kind, run, "measurement")


def register_experiment(experiment: Experiment) -> Experiment:
    """Register an experiment under its id, which `--only` takes, and return it.

    Examples
    --------
    >>> from leml_theory import Experiment, Planned, register_experiment
    >>> from leml_theory.sweep.experiments import EXPERIMENTS
    >>> cell = {"law": "gaussian", "skew": "uniform", "n": 64, "d": 8, "L": 8, "draws": 50}
    >>> plan = [Planned("Gaussian features", "rademacher", cell)]
    >>> mine = register_experiment(Experiment("MINE", "One average", lambda preset: plan))
    >>> EXPERIMENTS["MINE"].title
    'One average'
    """
    name = experiment.id
    _check_call(experiment.plan, "The plan of `experiment`", "preset")
    if not re.fullmatch(r"[\w-]+", name) or name == GRID:
        raise ValueError(f"`id` must be letters, digits, '-' or '_', not '{GRID}', got {name!r}.")
    if name not in EXPERIMENTS and name.upper() in map(str.upper, EXPERIMENTS):
        raise ValueError(f"`id` must differ from the others in more than case, got {name!r}.")
    _register(EXPERIMENTS, name, experiment, "experiment")
    return experiment


def _check_call(function: Any, name: str, takes: str) -> None:
    """Refuse what cannot be called with these arguments, before a sweep comes to it."""
    try:
        signature(function).bind(*takes.split(", "))
    except TypeError as error:
        raise TypeError(f"{name} must be callable with ({takes}): {error}.") from error


def _register(table: MutableMapping[str, _Entry], name: str, entry: _Entry, kind: str) -> None:
    """Add an entry, refusing a name that stands for something else."""
    if not isinstance(name, str) or not name or set(name) & set(", \t\n"):
        raise ValueError(f"`name` must be a word without spaces and commas, got {name!r}.")
    if name in table and table[name] != entry:
        raise ValueError(f"`name` must be new, got {name!r}, which is a {kind} already.")
    table[name] = entry


errors_name_arguments(globals())
