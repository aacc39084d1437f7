"""Runs of many measurements: cells, the store that keeps them, and the runner that fills it."""

from argument_checks.wrong_types import errors_name_arguments
from leml_theory.runs.cells import Cell
from leml_theory.runs.runner import Failure, RunError, execute
from leml_theory.runs.store import Record, Result, Shard, Store, StoreError, read_shard

__all__ = [
    "Cell",
    "Failure",
    "Record",
    "Result",
    "RunError",
    "Shard",
    "Store",
    "StoreError",
    "execute",
    "read_shard",
]

errors_name_arguments(globals())
