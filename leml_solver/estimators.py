"""The scikit-learn face of the solver.

Importing it imports scikit-learn; the rest of `leml_solver` does not.

Paper: Section 3.
"""

from leml_solver.classifier import LEMLClassifier
from leml_solver.regressor import LEMLRegressor

__all__ = ["LEMLClassifier", "LEMLRegressor"]
