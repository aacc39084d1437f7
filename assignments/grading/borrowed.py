"""Which functions of the packages an answer takes that only the tests should need.

Tests compute what they expect with documented functions of the packages, which students have too.
An answer that calls the same function is right; whether it was asked for, a person must say.
"""

import ast

from .fences import PACKAGES
from .specification import Specification, names_bound, names_used


def borrowed(specification: Specification, cells: tuple[str, ...]) -> list[str]:
    """Return a remark if the cells name what tests import and the setup does not offer."""
    offered = names_bound(specification.setup)
    wanted = {name for _, test in specification.tests() for name in _imported(test.code)} - offered
    found = sorted({name for code in cells for name in _named(code)} & wanted)
    if not found:
        return []
    names = ", ".join(f"`{name}`" for name in found)
    return [f"it takes {names} from the package: look whether the question allows that."]


def _imported(code: str) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.ImportFrom)]
    own = [node for node in nodes if str(node.module).partition(".")[0] in PACKAGES]
    return {alias.name for node in own for alias in node.names}


def _named(code: str) -> set[str]:
    """Return the names by which code may reach a function: imported, after a dot, or as text.

    A name that is only read comes from elsewhere (`import *`); the student's own are bound.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = names_used(code) - names_bound(code, inside=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            names.add(node.name)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    return names
