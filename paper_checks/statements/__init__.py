"""The paper's checkable statements, each beside its check; one file for each part of the paper.

`PAPER` has all of them by id, in the order of the paper. A new file is found by itself.
"""

from importlib import import_module
from pkgutil import iter_modules

from paper_checks.checking import STATEMENTS, Statement

__all__ = ["PAPER", "PARTS"]

# The first letter of an id, in the order of the paper: the formulation (Sections 1 and 2),
# algorithms (Section 3, Appendix A), theorems (Section 4), their proofs (Appendix B), lower bounds
# (Appendix C), and data (Section 5 and its tables).
PARTS = ("F", "A", "T", "B", "C", "D")


def _place(name: str) -> tuple[int, list[int]]:
    """Return where an id stands: its part, then its numbers, so that A2 comes before A10.1."""
    return PARTS.index(name[0]), [int(number) for number in name[1:].split(".")]


for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

PAPER: dict[str, Statement] = {name: STATEMENTS[name] for name in sorted(STATEMENTS, key=_place)}
