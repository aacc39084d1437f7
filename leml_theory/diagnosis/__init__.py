"""Theory meets a real data set: which bounds apply, what they promise, and what is measured."""

from leml_theory.diagnosis.comparison import Comparison, ModelFacts, gap_bound
from leml_theory.diagnosis.features import FeatureFacts
from leml_theory.diagnosis.labels import LabelFacts
from leml_theory.diagnosis.summary import Diagnosis, diagnose

__all__ = [
    "Comparison",
    "Diagnosis",
    "FeatureFacts",
    "LabelFacts",
    "ModelFacts",
    "diagnose",
    "gap_bound",
]
