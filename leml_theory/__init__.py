"""What theory promises for low-rank multi-label learning, and how measurements compare with it.

Rooms, in reading order: `bounds` (what is promised, and where), `rademacher` and `predictions`
(averages, measured and sharp), `risk` (population risks), `worlds` (laws and labels by name),
`measurements` (what a cell measures), `runs` (cells, store and runner), `sweep` (experiments,
tables and the command), `plots`, `diagnose` (the theory on a data set); `extensions`, `plugins` and
`checks` for laws, losses, labels, bounds and experiments of your own.

Each name in `__all__` is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leml_theory.bounds import (
        Bound,
        BoundLook,
        BoundValue,
        FailedAssumption,
        RiskSetting,
        Setting,
        best_bound,
        complexity_bounds,
        expectation_bound,
    )
    from leml_theory.checks import check_bound, check_labels, check_law, check_loss
    from leml_theory.extensions import (
        register_bound,
        register_experiment,
        register_labels,
        register_law,
        register_loss,
        register_measurement,
        register_risk_bound,
    )
    from leml_theory.predictions import Predicted, predict, predict_world
    from leml_theory.rademacher import (
        Estimate,
        conditional_rademacher_averages,
        rademacher_average,
        rademacher_averages,
    )
    from leml_theory.risk import minimum_risk, population_risk
    from leml_theory.sweep.experiments import Experiment, Fit, Planned

__all__ = [
    "Bound",
    "BoundLook",
    "BoundValue",
    "Estimate",
    "Experiment",
    "FailedAssumption",
    "Fit",
    "Planned",
    "Predicted",
    "RiskSetting",
    "Setting",
    "best_bound",
    "check_bound",
    "check_labels",
    "check_law",
    "check_loss",
    "complexity_bounds",
    "conditional_rademacher_averages",
    "expectation_bound",
    "minimum_risk",
    "population_risk",
    "predict",
    "predict_world",
    "rademacher_average",
    "rademacher_averages",
    "register_bound",
    "register_experiment",
    "register_labels",
    "register_law",
    "register_loss",
    "register_measurement",
    "register_risk_bound",
]

_ROOMS = (
    "bounds", "rademacher", "risk", "predictions", "sweep.experiments", "checks", "extensions",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import an exported name when it is first used."""
    if name in __all__:
        for room in _ROOMS:
            module = import_module(f"{__name__}.{room}")
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the exported names together with those already present."""
    return sorted({*globals(), *__all__})
