"""The builder: what students get, what they must not get, and that what is built runs."""

import ast
import importlib.util
import io
import json
import shutil
import subprocess
import sysconfig
import zipfile
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from table import question_table
from wrong import assignment

from assignments.assignment import read_assignment
from assignments.build import Builder, main
from assignments.bundles import BundleError, make_wheel
from assignments.grading.specification import Specification
from assignments.notebooks import otter_notebook, strip_solution, student_notebook
from assignments.source import SOURCES, SourceError, find_sources, lines_of_term, read_cells

NAMES = [path.stem for path in find_sources()]


def needs(*modules):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    reason = f"{missing} not installed: pip install -e '.[course]'"
    return pytest.mark.skipif(bool(missing), reason=reason)


def lines_of(cells):
    """Return the lines that are long enough to be told from others."""
    texts = [cell.text for cell in cells]
    return {line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 20}


def secrets(source):
    """Return the lines of solutions and hidden tests that stand nowhere else in the source."""
    secret, public = set(), set()
    for block in source.blocks:
        for cell in block.cells:
            if block.role == "solution":
                kept = strip_solution(cell.text) if cell.kind == "code" else ""
                kept = "" if "demonstration" in cell.tags else kept
                public |= {line.strip() for line in kept.splitlines()}
                secret |= lines_of([cell])
            elif block.role == "tests" and cell.test["hidden"]:
                secret |= lines_of([cell])
            else:
                public |= lines_of([cell])
    return {line for line in secret if not any(line in text for text in public)}


def strings(value):
    """Return every string in a notebook, metadata and all."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in strings(item)]


def leaks(source, notebook):
    everything = "\n".join(strings(notebook))
    return [line for line in secrets(source) if line in everything]


@pytest.mark.parametrize("name", NAMES)
def test_the_student_copy_tells_nothing(name):
    source = assignment(name)
    assert len(secrets(source)) > 50
    copy = student_notebook(source)
    assert leaks(source, copy) == []
    assert not any("SOLUTION" in text or "TERM" in text for text in strings(copy))
    assert leaks(source, otter_notebook(source, 0))  # the test can fail


@pytest.mark.parametrize("name", NAMES)
def test_the_student_copy_has_all_checks_and_prompts(name):
    source = assignment(name)
    cells = student_notebook(source)["cells"]
    checks = [cell for cell in cells if "check" in cell["metadata"].get("tags", [])]
    visible = [test for _, test in source.specification().tests() if not test.hidden]
    assert len(checks) == len(visible)
    assert all(test.code.strip() in "\n".join(strings(checks)) for test in visible)
    prompts = answers({"cells": cells}, "answer")
    assert len(prompts) >= len(source.questions)
    assert any("Type your answer here" in prompt for prompt in prompts)
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        if cell["cell_type"] == "code":
            ast.parse(cell["source"])
            assert cell["outputs"] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_question_says_its_goal_and_its_time(name):
    settings = assignment(name).questions
    assert all(entry.get("goal") or entry.get("manual") for entry in settings.values())
    minutes = {name: entry["minutes"] for name, entry in settings.items()}
    written = sum(minutes.pop(name) for name in list(minutes) if name.startswith("w"))
    assert 120 <= sum(minutes.values()) <= 240  # two to four hours
    assert written == 180  # "about three hours"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the wheel of this checkout, which pip cannot build without a package index."""
    try:
        return make_wheel(tmp_path_factory.mktemp("wheel"))
    except BundleError as error:
        pytest.skip(str(error)[:200])


@needs("nbclient", "ipykernel", "otter")
@pytest.mark.parametrize("name", NAMES)
def test_everything_is_built_and_runs(name, tmp_path, wheel, monkeypatch):
    """Executes the solution twice: in a notebook, and by otter, which must give full marks."""
    monkeypatch.setenv("MPLBACKEND", "Agg")  # as on a server: pictures must be there all the same
    source = read_assignment(SOURCES / f"{name}.md", term=5)
    builder = Builder(tmp_path, wheel, term=5, check=True)
    steps = {part: made for part, made, _ in builder.build(SOURCES / f"{name}.md")}
    assert list(steps) == ["students", "solution", "gradescope", "otter"]
    assert all(path.is_file() for path in steps.values())
    private = tmp_path / "instructor" / name
    _check_solution(json.loads((private / "solution" / f"{name}.ipynb").read_text()))
    otter_copy = tmp_path / "students" / "otter" / f"{name}.ipynb"
    _check_otter_copy(json.loads(otter_copy.read_text()), source)
    _check_zip(private / f"{name}-otter.zip", source)
    written = Specification.load(private / "autograder" / "specification.json")
    assert written == source.specification(5)
    _check_independence(private / "autograder")
    _check_students(tmp_path / "students", source)


def _check_students(folder, source):
    """Nothing that students get has a line of a solution or of a hidden test in it."""
    with zipfile.ZipFile(folder / f"{source.name}.zip") as archive:
        names = set(archive.namelist())
        texts = [archive.read(name).decode(errors="ignore") for name in names]
        inner = [name for name in names if name.endswith(".whl")]
        (wheel,) = [zipfile.ZipFile(io.BytesIO(archive.read(name))) for name in inner]
    assert {f"{source.name}.ipynb", "README.md", "requirements.txt"} < names
    assert any(f"pip install {inner[0]}`" in text for text in texts)
    assert not any("NAME.whl" in text for text in texts)
    assert not any(name.startswith(("assignments", "tests")) for name in wheel.namelist())
    hidden = [line for line in secrets(source) if len(line) > 60]
    assert [line for line in hidden if json.dumps(line)[1:-1] in "\n".join(texts)] == []
    modules = "\n".join(wheel.read(name).decode(errors="ignore") for name in wheel.namelist())
    # The package may well import what an answer imports.
    hidden = [line for line in hidden if not line.startswith(("from ", "import "))]
    assert len(hidden) > 100
    assert [line for line in hidden if line in modules] == []


def _check_solution(notebook):
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert all(output["output_type"] != "error" for output in outputs)
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 1
    assert not any("# BEGIN SOLUTION" in text for text in strings(notebook))


def _check_otter_copy(notebook, source):
    """otter takes answers out as the builder does."""
    assert leaks(source, notebook) == []
    assert answers(notebook, "otter_answer_cell") == answers(student_notebook(source), "answer")


def answers(notebook, tag):
    tagged = [cell for cell in notebook["cells"] if tag in cell["metadata"].get("tags", [])]
    return [text for cell in tagged if (text := "".join(cell["source"]).strip())]


def _check_zip(path, source):
    with zipfile.ZipFile(path) as archive:
        for question in source.specification().questions:
            text = archive.read(f"tests/{question.name}.py").decode()
            assert text.count("'code'") == len(question.tests)
            assert "TERM = 5" in text


def _check_independence(folder):
    """The autograder imports nothing of the repository but the packages that students install."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert not node.module.startswith(("assignments", "tests")), path
            elif isinstance(node, ast.Import):
                assert not any(alias.name.startswith("assignments") for alias in node.names), path


@pytest.mark.parametrize("name", NAMES)
def test_sources_are_read_as_a_viewer_of_markdown_reads_them(name):
    text = "\n".join(line for _, line in lines_of_term((SOURCES / f"{name}.md").read_text(), 0))
    theirs = [t for t in MarkdownIt().parse(text) if t.type == "fence"]  # which knows no variants
    ours = [cell for cell in read_cells(SOURCES / f"{name}.md") if cell.kind != "markdown"][1:]
    kinds = {"python": "code", "toml": "raw"}
    assert [cell.kind for cell in ours] == [kinds[token.info.split()[0]] for token in theirs]
    assert [cell.text for cell in ours] == [token.content.strip("\n") for token in theirs]
    assert len(ours) > 40


def ruff(command, code, name):
    """Return what ruff prints about code, as if it stood in a file beside the sources."""
    scripts = sysconfig.get_path("scripts")
    found = shutil.which("ruff", path=scripts) or shutil.which("ruff")
    if found is None:
        pytest.skip("ruff not installed: pip install -e '.[lint]'")
    words = [found, command, "--quiet", "--stdin-filename", str(SOURCES / f"{name}.py"), "-"]
    return subprocess.run(words, input=code, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("term", range(6))  # variants come in twos and threes
def test_the_code_of_a_source_is_formatted_and_in_order(name, term):
    """A line `# %%` names the line of the source from which the code below it was taken."""
    path = SOURCES / f"{name}.md"
    cells = {f"# %% {path}:{c.line}": c.text for c in read_cells(path, term) if c.kind == "code"}
    code = "\n\n".join(f"{mark}\n{text}" for mark, text in cells.items())
    compile(code, path.name, "exec")
    formatted = ruff("format", code, name)  # blank lines between cells are nobody's
    for (mark, text), block in zip(cells.items(), formatted.split("# %% ")[1:], strict=True):
        assert f"{mark}\n{text}" == f"# %% {block}".strip()
    assert ruff("check", formatted, name) == ""
    assert "F401" in ruff("check", f"import secrets\n\n{formatted}", name)  # the test can fail


TINY = (Path(__file__).parent / "tiny.md").read_text(encoding="utf-8")
FAULTS = {  # a change to the tiny source -> the line and the words of the message
    ("points = 3\n", "points = 4\n"): r"tiny.md:21: q1 is worth 4 points, but .* are 3\.",
    ("points = 5\n", "points = 7\n"): r"tiny.md:1: the questions have 5 points in all, .* says 7",
    ('"q2"', '"q1"'): r"tiny.md:\d+: a question needs a name of its own",
    ("q2 value", "q1 scaling"): r"tiny.md:\d+: a second test is called 'q1 scaling'",
    ("hidden=true", "hidden=false"): r"tiny.md:\d+: q1 needs a visible and a hidden test",
    ("TERM, 17", "TERMS, 17"): r"tiny.md:\d+: test 'q1 other data' uses 'TERMS'",
    ("default_rng(1)", "default_rng(TERM)"): "'q1 scaling' is visible and must not use TERM",
    ('tags=["solution"]', 'tags=["solutions"]'): r"tiny.md:\d+: a cell may have tags of",
    (' tags=["solution"]', ""): r"tiny.md:\d+: q1 has no solution that defines a name",
    ('cell tags=["solution"]', "cell"): r"tiny.md:\d+: open has no solution",
    ("exponent = -0.5", "exponent = (\n-0.5)"): r"tiny.md:\d+: a solution has functions with",
    ('question = "q2"', 'name = "q2"'): r"tiny.md:\d+: a question needs a name of its own",
    (
        '```python test="q2 is',
        '```python\nprint(1)\n```\n\n```python test="q2 is',
    ): "tests outside a question",
    ('test="q1 scaling" ', ""): r"tiny.md:\d+: a cell may have .* a test has hidden, points, test",
    ("points=1", "points=one"): r"tiny.md:\d+: cannot read the options",
    (" hidden=true", ""): "a test has hidden, points, test",
    ("title =", "name ="): "the file must begin with .*, its title and its points",
    ("norms.mean()\n```", "norms.mean()\n"): r"tiny.md:\d+: not closed: '```python tags=",
    ("+++\n\n", "\n\n"): r"tiny.md:1: not closed: '\+\+\+'",
    ("-->", ""): r"tiny.md:\d+: not closed: '<!-- cell tags",
    ("points=1 ", "points=1, "): r"tiny.md:\d+: cannot read the options",
    (' tags=["setup"]', ""): "the first code cell must have",
    ("assert np.isclose(mean_norm(X)", "np.isclose(mean_norm(X)) == (1"): "bare expression",
    ("exponent = -0.5", "print(1)"): r"tiny.md:\d+: a solution has functions with docstrings",
    ("exponent = -0.5", "exponent = (0"): r"tiny.md:\d+: not Python .*: 'exponent = \(0'",
    ("minutes = 10", "ten minutes"): r"tiny.md:\d+: cannot read the settings",
}


@pytest.mark.parametrize("change", FAULTS, ids=[" to ".join(change)[:60] for change in FAULTS])
def test_a_malformed_source_is_refused_with_file_and_line(change, tmp_path):
    old, new = change
    assert old in TINY
    path = tmp_path / "tiny.md"
    path.write_text(TINY.replace(old, new, 1))
    with pytest.raises(SourceError, match=FAULTS[change]):
        read_assignment(path)


def test_without_the_extra_the_builder_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main([]) == 2
    assert (
        "ipykernel, nbclient, otter not found; install the course extra" in capsys.readouterr().err
    )


def test_an_unknown_assignment_is_refused(capsys):
    assert main(["--only", "z"]) == 2
    assert "no assignment begins with 'z'; there are: a_promise" in capsys.readouterr().err


def test_the_instructors_table_is_that_of_the_sources():
    """If it is not: python -m tests.assignments.table, and paste."""
    readme = (SOURCES.parent / "README.md").read_text(encoding="utf-8")
    assert question_table() in readme


def test_a_term_has_its_variant_and_lines_keep_their_numbers(tmp_path):
    path = tmp_path / "tiny.md"
    first, rest = TINY.split("\n", 1)
    path.write_text(f"{first}\n# # variant 2 of 2\n# <!-- 1 of 2 -->\n# % variant 1 of 2\n{rest}")
    for term in (0, 1):
        cells = read_cells(path, term)
        assert cells[1].line == read_cells(path, term + 1)[1].line
    assert [
        number for number, _ in lines_of_term("a\nb # variant 1 of 2\nc <!-- 2 of 2 -->", 1)
    ] == [
        1,
        3,
    ]


@pytest.mark.parametrize("name", NAMES)
def test_students_of_a_term_see_their_variant_only(name):
    copies = [strings(student_notebook(read_assignment(SOURCES / f"{name}.md", t))) for t in (0, 1)]
    assert copies[0] != copies[1]
    assert not any("of 2 -->" in text or "variant" in text for copy in copies for text in copy)
