"""The methods that LEML is compared with, one file each, under the interface of LEMLClassifier.

Each class is imported when first asked for.

Paper: Section 5.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leml_solver.baselines.base import Baseline
    from leml_solver.baselines.bayesian_cs import BayesianCSClassifier
    from leml_solver.baselines.binary_relevance import BinaryRelevanceClassifier
    from leml_solver.baselines.compressed_sensing import CompressedSensingClassifier
    from leml_solver.baselines.cplst import CPLSTClassifier
    from leml_solver.baselines.label_frequencies import LabelFrequencyClassifier
    from leml_solver.baselines.plst import PLSTClassifier
    from leml_solver.baselines.wsabie import WSABIEClassifier

__all__ = [
    "Baseline",
    "BayesianCSClassifier",
    "BinaryRelevanceClassifier",
    "CPLSTClassifier",
    "CompressedSensingClassifier",
    "LabelFrequencyClassifier",
    "PLSTClassifier",
    "WSABIEClassifier",
]

_WHERE = {
    "Baseline": "base",
    "BayesianCSClassifier": "bayesian_cs",
    "BinaryRelevanceClassifier": "binary_relevance",
    "CPLSTClassifier": "cplst",
    "CompressedSensingClassifier": "compressed_sensing",
    "LabelFrequencyClassifier": "label_frequencies",
    "PLSTClassifier": "plst",
    "WSABIEClassifier": "wsabie",
}


def __getattr__(name: str) -> Any:
    """Import a class when it is first asked for."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
