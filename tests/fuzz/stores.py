"""Folders of results that were damaged: refused by `StoreError`, or what is loaded is the truth."""

import functools
import shutil
import tempfile
from pathlib import Path

import numpy as np

from leml_theory.runs import Cell, Store, StoreError, execute
from leml_theory.runs.cells import canonical_json

CELLS = [Cell("toy", {"n": n, "x": n / 7}, seed=3) for n in range(5)]
WORDS = (
    b"",
    b"{}",
    b"[]",
    b"null",
    b"[" * 3000,
    b'{"checksum":"' + b"0" * 64 + b'"}',
    b"\xff",
    b"1",
)


def measure(cell):
    """Return records with every kind of value."""
    n = cell.parameters["n"]
    return [{"value": n / 3, "odd": n % 2 == 1, "name": f"cell {n}", "none": None, "nan": np.nan}]


@functools.cache
def finished():
    """Return a folder with a finished run, its files by name, and what it loads."""
    folder = Path(tempfile.mkdtemp(prefix="leml_fuzz_"))
    store = Store.create(folder / "run", CELLS, description={"version": "1"})
    execute(CELLS, store, jobs=1, measure=measure, progress=False)
    truth = {key: repr(records) for key, records in store.load().items()}
    files = {path.relative_to(folder): path.read_bytes() for path in (folder / "run").rglob("*.*")}
    shutil.rmtree(folder)
    return files, truth


def bent(content, rng):
    """Return the content of a file with bytes or lines changed."""
    lines = content.split(b"\n")
    at, kind = int(rng.integers(len(lines))), rng.integers(7)
    if kind == 0:
        lines[at] = WORDS[rng.integers(len(WORDS))]
    elif kind == 1:
        lines.insert(at, lines[int(rng.integers(len(lines)))])
    elif kind == 2 and len(lines) > 1:
        del lines[at]
    elif kind == 3:
        return content[: int(rng.integers(len(content) + 1))]
    elif kind == 4:
        return content + WORDS[rng.integers(len(WORDS))] + b"\n"
    elif content:
        made = bytearray(content)
        for where in rng.integers(len(made), size=rng.integers(1, 4)):
            made[where] = int(rng.integers(256))
        return bytes(made)
    return b"\n".join(lines)


def case(rng: np.random.Generator, folder: Path) -> None:
    """Damage one or two files of a run, then open, load, look at and continue it."""
    files, truth = finished()
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    names = sorted(files)
    for _ in range(rng.integers(1, 3)):
        path = folder / names[rng.integers(len(names))]
        if not path.exists() or rng.random() < 0.05:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(bent(path.read_bytes(), rng))
    try:
        store = Store.open(folder / "run")
        store.status()
        loaded = store.load()
    except StoreError:
        return
    assert all(truth[key] == repr(records) for key, records in loaded.items()), loaded
    try:
        store = Store.create(folder / "run", CELLS, description={"version": "1"})
        execute(CELLS, store, jobs=1, measure=measure, progress=False)
    except StoreError:
        return
    again = {key: repr(records) for key, records in store.load().items()}
    assert canonical_json(again) == canonical_json(truth)
