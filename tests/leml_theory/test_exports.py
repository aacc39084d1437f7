"""The face of leml_theory: what its root exports, and which rooms may know each other."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import leml_theory

ROOT = Path(leml_theory.__file__).parent
# room -> rooms that must not know it
UNKNOWN_TO = {
    "plots": ("bounds", "measurements", "risk", "runs", "sweep"),
    "sweep": ("bounds", "measurements", "risk", "runs"),
    "measurements": ("bounds", "risk", "runs"),
}


def imported(path):
    """Return the modules that a file imports, anywhere in it, under their full names."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {
        f"{node.module}.{alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize(("room", "others"), UNKNOWN_TO.items())
def test_rooms_know_each_other_one_way(room, others):
    """The command alone, which nothing imports, stands above tables and pictures."""
    for path in (path for other in others for path in sorted((ROOT / other).rglob("*.py"))):
        known = any(name.startswith(f"leml_theory.{room}") for name in imported(path))
        assert not known or path.name == "__main__.py", f"{path} imports {room}"


def test_every_exported_name_is_there_and_loads_nothing_heavy():
    code = (
        "import sys, leml_theory\n"
        "assert [name for name in sys.modules if name.startswith('leml_theory.')] == []\n"
        "for name in leml_theory.__all__:\n"
        "    assert getattr(leml_theory, name).__module__.startswith('leml_theory'), name\n"
        "    assert name in dir(leml_theory)\n"
        "print([name for name in ('matplotlib', 'seaborn', 'cvxpy') if name in sys.modules])\n"
        "from leml_theory.diagnose import diagnose\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'theorem_5'"):
        leml_theory.theorem_5  # noqa: B018
