"""The house is in order: imports go one way, importing is light, references are spelt one way."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# package -> the packages of the house that it may import
MAY_IMPORT = {
    "argument_checks": set(),
    "documents": set(),
    "simulations": {"argument_checks"},
    "leml_solver": {"argument_checks"},
    "leml_theory": {"argument_checks", "simulations", "leml_solver"},
    "paper_checks": {"argument_checks", "documents", "simulations", "leml_solver", "leml_theory"},
    "assignments": {"leml_theory"},
}
HEAVY = ("cvxpy", "matplotlib", "seaborn")
PLACE = r"(Theorem|Lemma|Claim|Table|Algorithm|Section|Equation|Appendix) \(?[A-D0-9.]+"


def modules(package):
    """Return the Python files of a package; the sources of notebooks are none."""
    return sorted(p for p in (ROOT / package).rglob("*.py") if "sources" not in p.parts)


def imported(path):
    """Return the top-level names that a module imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(str(node.module).split(".")[0])
    return names


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_go_one_way(package):
    assert modules(package)
    for path in modules(package):
        house = imported(path) & set(MAY_IMPORT) - {package}
        assert house <= MAY_IMPORT[package], f"{path} imports {house - MAY_IMPORT[package]}"


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_importing_a_package_is_light(package):
    """cvxpy alone takes a second to import: only what needs it may pay."""
    code = f"import sys, {package}; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_references_to_the_paper_are_spelt_one_way():
    for package in MAY_IMPORT:
        for path in modules(package):
            for line in re.findall(r"^\s*Paper: (.*)$", path.read_text(), re.MULTILINE):
                assert re.match(PLACE, line), f"{path}: 'Paper: {line}'"


def test_no_machine_paths_are_written_down():
    pattern = re.compile(r"(^|[^.\w])/(root|home|tmp)/")
    files = [p for s in ("*.py", "*.md", "*.toml", "*.cff", "Makefile") for p in ROOT.glob(s)]
    files += [path for package in MAY_IMPORT for path in modules(package)]
    files += sorted((ROOT / "docs").glob("*.md"))
    assert len(files) > 30
    for path in files:
        assert not pattern.search(path.read_text()), path
