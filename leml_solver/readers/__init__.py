"""Readers of multi-label data: svmlight, Extreme Classification, ARFF of Mulan, npz.

They read line by line into compact arrays, execute nothing, and report errors with file and line.
"""

from argument_checks.wrong_types import errors_name_arguments
from leml_solver.readers.dataset import Dataset
from leml_solver.readers.formats import FORMATS, ReadOptions, detect_format
from leml_solver.readers.lines import ReadError
from leml_solver.readers.reading import read, read_blocks

__all__ = ["FORMATS", "Dataset", "ReadError", "ReadOptions", "detect_format", "read", "read_blocks"]

errors_name_arguments(globals())
