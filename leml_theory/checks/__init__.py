"""Measure whether laws, label models, losses and bounds of your own are what they claim to be.

In the manner of scikit-learn's `check_estimator`: each function returns what it measured, one
`Finding` per claim, and raises an AssertionError that names every claim that does not hold.
"""

from argument_checks.wrong_types import errors_name_arguments
from leml_theory.checks.bound import check_bound
from leml_theory.checks.finding import Finding, settle
from leml_theory.checks.labels import check_labels
from leml_theory.checks.law import check_law
from leml_theory.checks.loss import check_loss

__all__ = ["Finding", "check_bound", "check_labels", "check_law", "check_loss", "settle"]

errors_name_arguments(globals())
