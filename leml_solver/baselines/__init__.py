"""The methods that LEML is compared with, under the interface of LEMLClassifier.

Importing this package loads scikit-learn and numba.

Paper: Section 5.
"""

from leml_solver.baselines.base import Baseline
from leml_solver.baselines.bayesian_cs import BayesianCSClassifier
from leml_solver.baselines.binary_relevance import BinaryRelevanceClassifier
from leml_solver.baselines.compressed_sensing import CompressedSensingClassifier
from leml_solver.baselines.label_frequencies import LabelFrequencyClassifier
from leml_solver.baselines.label_space import CPLSTClassifier, PLSTClassifier
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
