"""Command lines of odd words over odd files: an exit status, one line of reason, no traceback."""

import contextlib
import functools
import io
from itertools import pairwise
from pathlib import Path

import numpy as np

from leml_solver.__main__ import main as solver
from leml_theory.diagnose.__main__ import main as diagnose
from leml_theory.sweep.__main__ import main as sweep
from paper_checks.__main__ import main as checks
from tests.fuzz import models, readers

ODD = (
    *("", "-", "--", "0", "1", "-1", "1e999", "nan", "2,2", ",", "a", "1.5", "0.5", "99999999999"),
    *("/", ".", "/dev/null", "absent", "absent/x", "\udcff", "é", "x" * 300, "--help", "--version"),
)
# Words of each command; {data}, {model} and {out} become paths of the case.
WORDS = {
    "solver": (
        *("train", "evaluate", "predict", "{data}", "{model}", "{out}", "--model", "--rank"),
        *("--penalty", "--loss", "logistic", "--iterations", "1", "--tol", "--no-intercept"),
        *("--quiet", "--label-names", "--top", "--positive", "--names", "--probabilities"),
        *("--split", "all", "--seed", "--format", "npz", "svmlight", "--labels", "--lenient"),
    ),
    "diagnose": (
        *("--data", "{data}", "--split", "--observed", "--draws", "1", "--seed", "--no-fit"),
        *("--json", "--out", "{out}", "--quiet", "--format", "--labels", "--lenient"),
    ),
    "sweep": (
        *("status", "plot", "--preset", "huge", "--only", "X99", "--out", "{out}", "{data}"),
        *("--seed", "--jobs", "--n", "--d", "--L", "--s", "--skew", "--observed", "--law"),
        *("--world", "--draws", "--radius", "--plugin"),
    ),
    "checks": ("show", "A12", "Z99", "list", "--json", "--seed", "errata", "--out", "{out}"),
}
STARTS = {
    "solver": (
        ("train", "{data}", "--model", "{out}", "--quiet"),
        ("evaluate", "{model}", "{data}"),
        ("predict", "{model}", "{data}"),
        (),
    ),
    "diagnose": (("--data", "{data}", "--no-fit", "--quiet", "--draws", "1"),),
    "sweep": (("status", "--out", "{out}"), ("plot", "--out", "{out}"), ("--only", "X99")),
    "checks": (("show",), ("list",)),
}
MAINS = {"solver": solver, "diagnose": diagnose, "sweep": sweep, "checks": checks}


@functools.cache
def model_bytes():
    """Return a sound model file."""
    return models.saved(0)[2]


def words(name, rng):
    """Return a command line: a usual beginning and words of the command or odd ones."""
    starts = STARTS[name]
    line = list(starts[rng.integers(len(starts))])
    for _ in range(rng.integers(0, 4)):
        pool = WORDS[name] if rng.random() < 0.7 else ODD
        line.insert(int(rng.integers(len(line) + 1)), pool[rng.integers(len(pool))])
    return line


def is_costly(name, line):
    """Whether a line would start a sweep or all checks, which take minutes."""
    if name == "sweep":
        refused = {("--only", "X99"), ("--preset", "huge")} & set(pairwise(line))
        return line[:1] not in (["status"], ["plot"]) and not refused
    return name == "checks" and (line[:1] not in (["show"], ["list"]) or "errata" in line)


def case(rng: np.random.Generator, folder: Path) -> None:
    """Run one command in this process."""
    name = ("solver", "solver", "diagnose", "sweep", "checks")[rng.integers(5)]
    readers.written(rng, folder / "data")
    content = model_bytes() if rng.random() < 0.7 else readers.bent_bytes(model_bytes(), rng)
    (folder / "model").write_bytes(content)
    line = words(name, rng)
    if is_costly(name, line):
        line = [*STARTS[name][0]]
    paths = {part: str(folder / part) for part in ("data", "model", "out")}
    line = [word.format(**paths) if word[:1] == "{" else word for word in line]
    out, said = io.TextIOWrapper(io.BytesIO(), "utf-8", "replace"), io.StringIO()
    # There, as an odd word may be taken for the name of a file to write.
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(said),
    ):
        status = exit_status(MAINS[name], line)
    assert status in (0, 1, 2), (line, status)
    assert "Traceback" not in said.getvalue(), (line, said.getvalue())
    assert status == 0 or said.getvalue().strip() or name == "sweep", line


def exit_status(main, line):
    """Return what a command would exit with."""
    try:
        return main(line)
    except SystemExit as end:
        return end.code or 0
