"""The house is in order: imports go one way, importing is light, references are spelt one way."""

import ast
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from assignments.source import read_cells

ROOT = Path(__file__).resolve().parents[1]
# Tools that every package may use; of the house they import each other at most.
TOOLS = {"argument_checks", "command_line", "documents", "safe_files"}
# package -> the packages of the house that it may import
MAY_IMPORT = {tool: set() for tool in sorted(TOOLS)} | {
    "documents": {"argument_checks", "safe_files"},
    "simulations": {"argument_checks"},
    "leml_solver": TOOLS,
    "leml_theory": TOOLS | {"simulations", "leml_solver"},
    "paper_checks": TOOLS | {"simulations", "leml_solver", "leml_theory"},
    "assignments": TOOLS | {"leml_theory"},
}
# The one door from a simulated sample to the solver, `Sample.problem`, opened when it is used: the
# README's five lines need no joining function, and simulating still loads no solver.
DOORS = {"simulations/scenario.py": {"leml_solver"}}
# Most .py files that lie directly in a package; more of them want a room.
MOST_FLAT = {"leml_solver": 20, "leml_theory": 10, "paper_checks": 10}
HEAVY = ("cvxpy", "matplotlib", "seaborn")
PLACE = r"(Theorem|Lemma|Claim|Table|Algorithm|Section|Equation|Appendix) \(?[A-D0-9.]+"


def modules(package):
    """Return the Python files of a package."""
    return sorted((ROOT / package).rglob("*.py"))


def code(path):
    """Return the code of a module or, in Markdown, of the source of a notebook."""
    if path.suffix == ".py":
        return path.read_text()
    return "\n".join(cell.text for cell in read_cells(path) if cell.kind == "code")


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
        allowed = MAY_IMPORT[package] | DOORS.get(str(path.relative_to(ROOT)), set())
        house = imported(path) & set(MAY_IMPORT) - {package}
        assert house <= allowed, f"{path} imports {house - allowed}"


def dotted_imports(path):
    """Return what a module imports, spelt in full: 'package.module.name'."""
    for node in ast.walk(ast.parse(code(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def private_imports(path, package):
    """Return what a module imports of other packages of the house that is private to them."""
    for name in dotted_imports(path):
        top, *parts = name.split(".")
        private = any(part.startswith("_") and not part.endswith("__") for part in parts)
        if top in MAY_IMPORT and top != package and private:
            yield name


@pytest.mark.parametrize("package", [*MAY_IMPORT, "benchmarks"])
def test_private_rooms_are_entered_by_their_own_package_alone(package):
    sources = [*modules(package), *(ROOT / package).glob("sources/*.md")]  # students see them
    assert {str(p): found for p in sources if (found := [*private_imports(p, package)])} == {}


def test_private_imports_are_seen(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "from leml_solver import _linalg\nimport leml_solver._exact.balls\n"
        "from leml_theory.bounds import _private\nfrom leml_solver import __version__, minimise\n"
    )
    found = ["leml_solver._linalg", "leml_solver._exact.balls", "leml_theory.bounds._private"]
    assert [*private_imports(path, "paper_checks")] == found


class _Typing(ast.NodeTransformer):
    def visit_If(self, node):
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)


def test_no_import_cycle_within_functions_either():
    """What type checkers alone import is left out."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in set(MAY_IMPORT) - {"assignments"}
        for path in modules(package)
    }
    graph = {}
    for module, path in paths.items():
        found = _Typing().visit(ast.parse(path.read_text()))
        names = {
            f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            for node in ast.walk(found)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        }
        graph[module] = {n for name in names for n in (name, name.rpartition(".")[0]) if n in paths}
        graph[module] -= {module}
    assert len(list(TopologicalSorter(graph).static_order())) == len(paths)  # CycleError names one


def test_the_exact_solver_does_not_know_the_factored_one():
    for path in sorted((ROOT / "leml_solver/_exact").glob("*.py")):
        assert not any("._factored" in name for name in dotted_imports(path)), path


@pytest.mark.parametrize("package", MOST_FLAT)
def test_few_modules_lie_outside_rooms(package):
    flat = sorted(path.name for path in (ROOT / package).glob("*.py"))
    assert 1 < len(flat) <= MOST_FLAT[package], flat


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


def test_pinned_requirements_satisfy_the_declared_ones():
    """Each with its hash, none with the address of an index."""
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    pinned = re.findall(r"^([\w.-]+)==([^ ;\\]+)[^\n]*\\\n +--hash=sha256:", text, re.M)
    assert len(pinned) == sum(line[0] not in " #" for line in text.splitlines())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in extras if name != "rivals")]
    for requirement in map(Requirement, (line for group in groups for line in group)):
        found = [version for name, version in pinned if name == requirement.name]
        assert found, f"{requirement} is not pinned"
        assert all(map(requirement.specifier.contains, found)), requirement
