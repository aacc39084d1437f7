"""Every path that writes, with every fault once at every call: old or new content, never a mixture.

The table of path x fault x outcome is printed by ``pytest -s`` and kept by `record_property`.
"""

import errno
import json
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp

from assignments.grading.results import write_json
from assignments.ledger import Ledger, Mark
from leml_solver import AlternatingOptions, LEMLRegressor, fit_factors, load_model, save_model
from leml_solver._archives import read_arrays, write_arrays
from leml_solver.blocks import BlockFolder, write_blocks
from leml_solver.readers import Dataset
from leml_theory.runs import Cell, Store, StoreError, execute
from safe_files import write_text

FAULTS = ("ENOSPC", "EIO", "EROFS", "crash before rename", "crash after rename")
CRASHED = 77  # exit status of a child that an injected crash ended
REFUSED = 3
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a system that can fork")


# What is written: each `write(folder, version)` leaves content that `read(folder)` gives back.
def write_model(folder, version):
    X = np.eye(4)
    save_model(LEMLRegressor(1, penalty=float(version), random_state=0).fit(X, X), folder / "model")


def write_table(folder, version):
    write_text(folder / "table.csv", f"version\n{version}\n" * 2000)


def write_archive(folder, version):
    write_arrays(folder / "arrays.npz", {"version": np.full(5000, version)})


def write_checkpoint(folder, version):
    """Fit one iteration, or go on to the second."""
    X = np.random.default_rng(0).standard_normal((9, 4))
    options = AlternatingOptions(max_iter=version, tol=0.0, checkpoint=folder / "fit.npz")
    fit_factors(X, X @ np.ones((4, 3)), rank=1, penalty=1.0, options=options)


def read_checkpoint(folder):
    if not (folder / "fit.npz").exists():
        return None
    arrays = read_arrays(folder / "fit.npz")
    return len(json.loads(arrays["header"].tobytes())["trace"]), arrays["W"].tobytes()


def write_folder_of_blocks(folder, version):
    if version > 1:
        shutil.rmtree(folder / "blocks", ignore_errors=True)
        X = sp.csr_array(np.eye(4))
        write_blocks(folder / "blocks", [Dataset(X, X)])


def read_folder_of_blocks(folder):
    if not (folder / "blocks").exists():
        return None
    return BlockFolder.open(folder / "blocks").shape


def write_marks(folder, version):
    ledger = Ledger({"a": {"proof": 5.0}})
    ledger.enter(Mark("ada", "a", float(version), {"q1": float(version)}, [], []))
    ledger.write(folder / "marks.csv")


def write_report(folder, version):
    from documents import write_document

    write_document(f"# Version {version}\n" * 500, folder / "report.md", title="t")


def write_pdf(folder, version):
    """Write a document as the errata are, without the browser that prints it."""
    from documents import printing

    made = b"%PDF " + str(version).encode() * 5000
    with mock.patch.multiple(printing, _printed=lambda _: made, _browser=lambda: "none"):
        printing.write_document("# Errata", folder / "errata.pdf", title="t")


def write_answers(folder, version):
    from leml_solver.__main__ import _output

    with _output(str(folder / "answers.txt")) as file:
        for row in range(3):
            file.write(f"{row}:{version}\n".encode())


def write_grades(folder, version):
    write_json(folder / "results.json", {"score": version})


def write_picture(folder, version):
    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    from leml_theory.plots import save_figure

    figure = Figure(figsize=(1, 1))
    figure.add_subplot(title=str(version))
    save_figure(figure, folder, "picture")


CELLS = [Cell("toy", {"n": n}, seed=1) for n in range(3)]


def write_store(folder, version):
    store = Store.create(folder / "run", CELLS, description={"version": "1"})
    if version > 1:
        execute(CELLS, store, jobs=1, measure=measured, progress=False)


def write_merged_store(folder, version):
    """Take over the results of another store, with the record of what measured them."""
    if version == 1:
        other = Store.create(folder / "other", CELLS, description={"version": "1"})
        execute(CELLS, other, jobs=1, measure=measured, progress=False)
        Store.create(folder / "run", CELLS, description={"version": "1"})
    else:
        keys = {cell.key for cell in CELLS}
        Store.open(folder / "run").adopt(Store.open(folder / "other"), keys)


def measured(cell):
    return [{"value": cell.parameters["n"] / 3}]


def read_store(folder):
    if not (folder / "run" / "manifest.json").exists():
        return None
    loaded = Store.open(folder / "run").load()
    known = {cell.key: measured(cell) for cell in CELLS}
    assert all(known[key] == records for key, records in loaded.items())
    return len(loaded)


def whole(name):
    """Return a reader of a file whose content is all or nothing."""
    return lambda folder: (folder / name).read_bytes() if (folder / name).exists() else None


# One line adds a path: how it is written, and how it is read back.
PATHS = {
    "model": (write_model, lambda folder: present(folder, "model", load_model, "penalty")),
    "arrays": (write_archive, lambda folder: arrays(folder)),
    "checkpoint of a fit": (write_checkpoint, read_checkpoint),
    "folder of blocks": (write_folder_of_blocks, read_folder_of_blocks),
    "marks of a class": (write_marks, whole("marks.csv")),
    "tables, summaries": (write_table, whole("table.csv")),
    "report (Markdown)": (write_report, whole("report.md")),
    "errata (PDF)": (write_pdf, whole("errata.pdf")),
    "answers of a command": (write_answers, whole("answers.txt")),
    "result of the grader": (write_grades, whole("results.json")),
    "pictures": (write_picture, whole("picture.svg")),
    "store of a sweep": (write_store, read_store),
    "store of merged results": (write_merged_store, read_store),
}


def present(folder, name, load, attribute):
    return getattr(load(folder / name), attribute) if (folder / name).exists() else None


def arrays(folder):
    found = read_arrays(folder / "arrays.npz")["version"] if any(folder.iterdir()) else None
    return None if found is None else found.tolist()


def written_in_a_child(folder, path, fault, at):
    """Write version 2 in a forked child with a fault; return its status and what it said.

    Where the fault is not reached, that is the number of calls at which it might have struck.
    """
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from 3.12
        child = os.fork()
    if child == 0:
        status, say = 0, os.write
        try:
            countdown = inject(fault, at)
            PATHS[path][0](folder, 2)
            say(write, str(at - countdown.left).encode())
        except (OSError, StoreError) as error:
            status = REFUSED
            say(write, str(error).encode())
        except BaseException as error:
            status = 1
            say(write, repr(error).encode())
        os._exit(status)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


class Countdown:
    """Raises, or ends the process, at the call with a given number."""

    def __init__(self, fault, at):
        self.fault, self.left = fault, at

    def strike(self):
        self.left -= 1
        if self.left != 0:
            return
        if self.fault.startswith("crash"):
            os._exit(CRASHED)
        number = getattr(errno, self.fault)
        raise OSError(number, os.strerror(number))


def inject(fault, at):
    """Let the at-th call that writes to the disk fail; each such call of this process counts."""
    countdown = Countdown(fault, at)
    after = fault == "crash after rename"
    watched = (
        ("replace", "rename")
        if fault.startswith("crash")
        else ("write", "fsync", "replace", "rename")
    )
    for name in watched:
        setattr(os, name, struck(getattr(os, name), countdown, after))
    if not fault.startswith("crash"):
        tempfile.mkstemp = struck(tempfile.mkstemp, countdown, False)
        os.fdopen = watching(os.fdopen, countdown)
    return countdown


def struck(function, countdown, after):
    """Return a function before or after whose call the fault may strike."""

    def call(*args, **options):
        if after:
            made = function(*args, **options)
            countdown.strike()
            return made
        countdown.strike()
        return function(*args, **options)

    return call


def watching(fdopen, countdown):
    """Return `os.fdopen` whose files count their writes as well."""

    def opened(descriptor, mode="r", *args, **options):
        file = fdopen(descriptor, mode, *args, **options)
        return Striking(file, countdown) if "w" in mode else file

    return opened


class Striking:
    """A file of which a write may fail."""

    def __init__(self, file, countdown):
        self._file, self._countdown = file, countdown

    def write(self, data):
        self._countdown.strike()
        return self._file.write(data)

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()


def outcome(path, fault, at):
    """Write version 1, then version 2 with a fault at one call; return what a reader finds."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write, read = PATHS[path]
        write(folder, 1)
        old, before = read(folder), names(folder)
        status, said = written_in_a_child(folder, path, fault, at)
        assert status in (0, REFUSED, CRASHED), said
        found = read(folder)
        left = sorted(names(folder) - before)
        write(folder, 2)
        new = read(folder)
        assert new != old
    kept = "new" if found == new else "old" if found == old else "?"
    if path.startswith("store") and kept == "?" and isinstance(found, int):
        kept = "part"  # `read_store` has compared each result with the truth
    return status, kept, left, said


def names(folder):
    return {path.name for path in folder.rglob("*") if path.suffix != ".jsonl"}


TABLE = {}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("path", PATHS)
def test_a_fault_leaves_the_old_or_the_new(path, fault, record_property):
    """Of a store, all results before the fault are kept, whichever they are."""
    seen, never = [], 10**6
    outcome(path, fault, never)  # compiles, and keeps what it compiled: more calls the first time
    count = int(outcome(path, fault, never)[3])
    calls = {1, 2, 3, count // 2, count - 2, count - 1, count}
    for at in sorted(calls & set(range(1, count + 1))):
        status, kept, left, said = outcome(path, fault, at)
        seen.append(
            f"{kept}, {'written' if status == 0 else 'crash' if status == CRASHED else 'error'}"
        )
        assert kept in ("old", "new", "part")
        if status == REFUSED:  # refused in words that fit the fault, and nothing left behind
            assert os.strerror(getattr(errno, fault)) in said
            assert not [name for name in left if name.startswith(".")], left
        assert status == (CRASHED if fault.startswith("crash") else REFUSED)
    TABLE[path, fault] = "; ".join(dict.fromkeys(seen)) + f" ({len(seen)} of {count} calls)"
    record_property("outcome", json.dumps([path, fault, TABLE[path, fault]]))
    assert seen


def test_the_table(capsys):
    """Print what was found: run with -s to see it."""
    if not TABLE:
        pytest.skip("needs the tests above in the same process")
    with capsys.disabled():
        print("\n| path | " + " | ".join(FAULTS) + " |\n|---|" + "---|" * len(FAULTS))
        for path in PATHS:
            cells = [TABLE.get((path, fault), "not run") for fault in FAULTS]
            print(f"| {path} | " + " | ".join(cells) + " |")
    assert all("?" not in text for text in TABLE.values())


def test_a_store_goes_on_after_every_fault(tmp_path):
    """What a fault interrupted is measured again, to the bit."""
    write_store(tmp_path, 1)
    with pytest.raises(StoreError):
        Store.create(tmp_path / "run", CELLS, description={"version": "2"})
    write_store(tmp_path, 2)
    assert read_store(tmp_path) == 3
