"""Theory meets a real data set: which bounds apply, what they promise, and what is measured."""

from argument_checks.wrong_types import errors_name_arguments
from leml_theory.diagnose.comparison import Comparison, ModelFacts, gap_bound
from leml_theory.diagnose.features import FeatureFacts
from leml_theory.diagnose.labels import LabelFacts
from leml_theory.diagnose.summary import Diagnosis, diagnose

__all__ = [
    "Comparison",
    "Diagnosis",
    "FeatureFacts",
    "LabelFacts",
    "ModelFacts",
    "diagnose",
    "gap_bound",
]

errors_name_arguments(globals())
