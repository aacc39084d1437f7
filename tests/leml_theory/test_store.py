"""The store: what is written comes back to the bit, and what is wrong is named."""

import contextlib
import errno
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leml_theory.runs import store as store_module
from leml_theory.runs.agreement import agree
from leml_theory.runs.cells import Cell
from leml_theory.runs.provenance import Source
from leml_theory.runs.store import Result, Shard, Store, StoreError, checked_records

HERE = Path(__file__).parent
PATHS = os.pathsep.join([str(HERE), str(HERE.parents[1])])
DESCRIPTION = {"preset": "toy"}
CELLS = [Cell("toy", {"n": n}, 0) for n in range(5)]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
RECORDS = st.lists(st.dictionaries(st.text(), SCALARS, max_size=5), max_size=4)


def bits(records):
    """Tell apart all that a record can hold, NaNs by their bits too."""
    return [{name: (type(v), exact(v)) for name, v in record.items()} for record in records]


def exact(value):
    return struct.pack(">d", value) if isinstance(value, float) else value


def records_of(cell):
    return [{"value": cell.parameters["n"] / 3, "limit": float("nan")}]


@pytest.fixture
def store(tmp_path):
    return Store.create(tmp_path / "out", CELLS, description=DESCRIPTION)


def fill(store, cells=CELLS):
    shard = Shard(store.shards)
    for cell in cells:
        shard.extend([Result(cell.key, records_of(cell), 0.25)])
    shard.close()
    (path,) = store.shards.glob(f"{os.getpid()}-*")
    return path


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# What is written comes back


@settings(deadline=None)  # A busy machine is not a failure.
@given(RECORDS)
def test_a_line_gives_back_its_records_to_the_bit(records):
    line = Result("key", records, 1.5).to_line()
    back = Result.from_line(line[:-1])
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert bits(back.records) == bits(records)
    assert (back.key, back.seconds) == ("key", 1.5)


@settings(deadline=None)
@given(RECORDS, st.data())
def test_a_changed_byte_is_noticed(records, data):
    line = bytearray(Result("key", records, 1.5).to_line()[:-1])
    position = data.draw(st.integers(0, len(line) - 1))
    line[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ValueError, match="checksum"):
        Result.from_line(bytes(line))


@settings(deadline=None)
@given(RECORDS, st.data())
def test_a_cut_line_is_noticed(records, data):
    line = Result("key", records, 1.5).to_line()[:-1]
    with pytest.raises(ValueError, match="checksum"):
        Result.from_line(line[: data.draw(st.integers(0, len(line) - 1))])


def test_lines_are_json_that_any_reader_takes(store):
    def refuse(word):
        raise AssertionError(word)

    for line in fill(store).read_text().splitlines():
        assert json.loads(line, parse_constant=refuse)["result"]["seconds"] == 0.25


def test_numpy_scalars_are_stored_as_plain_ones():
    given_records = [{"a": np.float64(0.1), "b": np.int32(3), "c": np.bool_(True), "d": None}]
    assert bits(checked_records(given_records)) == bits([{"a": 0.1, "b": 3, "c": True, "d": None}])


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ({"value": 1.0}, "must return a list of records"),
        ([1.0], "`record 0` must map strings to scalars"),
        ([{}, {2: 1.0}], "`record 1` must map strings to scalars"),
        ([{"value": [1.0]}], "`record 0: value` must be a number.*list"),
        ([{"value": np.longdouble(1)}], "`record 0: value` must be a number.*longdouble"),
    ],
)
def test_records_that_cannot_be_stored_are_named(records, message):
    with pytest.raises(TypeError, match=message):
        checked_records(records)


def test_all_results_are_loaded_in_the_order_of_the_keys(store):
    fill(store)
    loaded = Store.open(store.folder).load()
    assert list(loaded) == sorted(cell.key for cell in CELLS)
    for cell in CELLS:
        assert bits(loaded[cell.key]) == bits(records_of(cell))


def test_the_status_counts_cells_and_seconds(store):
    assert store.status() == type(store.status())(0, 5, 0.0, ())
    fill(store, CELLS[:3])
    assert store.status() == type(store.status())(3, 5, 0.75, ())


# Torn and damaged lines


@pytest.mark.parametrize("kept", [0, 1, 50, -1])
def test_a_torn_last_line_is_ignored(store, kept):
    path = fill(store)
    *whole, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(whole) + last[:kept])
    assert set(store.load()) == {cell.key for cell in CELLS[:-1]}
    assert store.status().damage == ()


def test_zeros_after_a_power_cut_are_a_torn_line(store):
    path = fill(store)
    path.write_bytes(path.read_bytes() + bytes(4096))
    assert len(store.load()) == len(CELLS)


def test_a_result_after_a_torn_line_goes_to_another_file(store):
    path = fill(store, CELLS[:2])
    path.write_bytes(path.read_bytes()[:-7])
    shard = Shard(store.shards)
    shard.extend([Result(CELLS[1].key, records_of(CELLS[1]), 1.0)])
    shard.close()
    assert len(store.load()) == 2


@pytest.mark.parametrize("line", [0, 2, 4])
def test_a_damaged_line_is_named_and_nothing_is_touched(store, line):
    path = fill(store)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b"value", b"valve")
    path.write_bytes(b"".join(lines))
    before = everything(store.folder)
    with pytest.raises(StoreError, match=rf"Line {line + 1} of `{path}` is damaged.*Delete that"):
        store.load()
    assert len(store.status().damage) == 1
    assert store.status().done == len(CELLS) - 1
    assert everything(store.folder) == before


def test_several_damaged_lines_are_counted(store):
    path = fill(store)
    path.write_bytes(b"\x00 garbage\n\n" + path.read_bytes())
    with pytest.raises(StoreError, match=r"Line 1 of .* \(1 more: see the status.\)"):
        store.load()


def test_equal_results_of_one_cell_are_fine_and_different_ones_are_not(store):
    fill(store)
    again = Shard(store.shards)
    again.extend([Result(CELLS[0].key, records_of(CELLS[0]), 9.0)])  # The time may differ.
    assert len(store.load()) == len(CELLS)
    again.extend([Result(CELLS[0].key, [{"value": -0.0, "limit": float("nan")}], 9.0)])
    again.close()
    with pytest.raises(StoreError, match=r"contradicts another result of the same cell.*Choose"):
        store.load()


def test_a_shard_that_cannot_be_read_is_named(store):
    (store.shards / "1-a.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"Could not read .*1-a\.jsonl`: Is a directory"):
        store.load()


@pytest.mark.parametrize(
    "change",
    [
        {"key": ["a"]},
        {"seconds": "1"},
        {"seconds": 10**400},
        {"source": {}},
        {"records": [{"a": []}]},
    ],
)
def test_lines_whose_checksum_is_right_and_whose_values_are_not(store, change):
    path = fill(store)
    content = json.loads(path.read_bytes().split(b"\n")[0])["result"] | change
    path.write_bytes(store_module._checked_line(json.dumps(content).encode()) + b"\n")
    with pytest.raises(StoreError, match=r"Line 1 of .* is damaged"):
        store.load()
    assert len(store.status().damage) == 1


def test_repeated_lines_and_records_that_are_pipes_cost_nothing(store):
    path = fill(store)
    path.write_bytes(path.read_bytes() * 3000)  # of which 4.5 million pairs were compared
    (store.folder / "provenance").mkdir()
    os.mkfifo(store.folder / "provenance" / "a.json")
    assert len(store.load()) == len(CELLS)
    os.truncate(path, 1 << 40)
    with pytest.raises(StoreError, match="does not fit into the free memory"):
        store.load()


@pytest.mark.parametrize("change", [{"cells": "5"}, {"description": {"plugins": [3]}}])
def test_a_manifest_of_other_types_is_refused(store, change):
    path = store.folder / "manifest.json"
    content = json.loads(path.read_bytes()) | change
    content["checksum"] = store_module.digest({k: content[k] for k in content if k != "checksum"})
    path.write_text(json.dumps(content))
    with pytest.raises(StoreError, match="is damaged or was written by another program"):
        Store.open(store.folder)


# Disks that refuse


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_says_to_free_space(store, monkeypatch):
    fill(store, CELLS[:2])
    full = lambda path: os.open("/dev/full", os.O_WRONLY)  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "_new_file", full)
        shard = Shard(store.shards)
        with pytest.raises(StoreError, match=r"No space left.*free space and run the same command"):
            shard.extend([Result(CELLS[2].key, [], 0.0)])
    assert len(store.load()) == 2
    shard.extend([Result(CELLS[2].key, [], 0.0)])  # Space again: the shard goes on in a new file.
    shard.close()
    assert len(store.load()) == 3


def test_an_input_output_error_says_to_check_the_disk(store, monkeypatch):
    def broken(descriptor):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    shard = Shard(store.shards)
    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(StoreError, match=r"Input/output error\. Check the disk"):
        shard.extend([Result(CELLS[0].key, [], 0.0)])


def test_a_full_disk_at_the_start_leaves_a_folder_that_can_be_used_later(tmp_path, monkeypatch):
    def full(*names):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        with pytest.raises(StoreError, match=r"No space left.*The disk is full"):
            Store.create(tmp_path / "out", CELLS, description=DESCRIPTION)
    assert Store.create(tmp_path / "out", CELLS, description=DESCRIPTION).load() == {}


def test_a_folder_that_may_not_be_written_is_refused(tmp_path, monkeypatch):
    # By hand: the superuser, who runs tests in containers, may write everywhere.
    def forbidden(*arguments, **options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "mkdir", forbidden)
    with pytest.raises(StoreError, match=r"Permission denied.*Choose a folder that you may write"):
        Store.create(tmp_path / "out", CELLS, description=DESCRIPTION)


# Folders that are not this grid's


def test_the_same_grid_is_opened_again_whatever_its_order(store):
    fill(store)
    again = Store.create(store.folder, [*CELLS[::-1], CELLS[0]], description={"preset": "other"})
    assert again.manifest == store.manifest
    assert len(again.load()) == len(CELLS)


def reseeded(seed):
    return [Cell(cell.kind, cell.parameters, seed) for cell in CELLS]


@pytest.mark.parametrize(
    ("cells", "description", "message"),
    [
        (reseeded(3), DESCRIPTION, r"other results: its seed is 0, yours 3\. Choose another"),
        (
            CELLS[:2],
            {"preset": "paper"},
            r"grid of 5 cells is not yours of 2 \(preset 'toy' there, 'paper' here\)\. Choose",
        ),
        (reseeded(3)[:2], DESCRIPTION, "its seed is 0, yours 3; its grid of 5 cells is not"),
    ],
)
def test_another_grid_or_seed_is_refused_and_nothing_is_touched(store, cells, description, message):
    fill(store)
    before = everything(store.folder)
    with pytest.raises(StoreError, match=message):
        Store.create(store.folder, cells, description=description)
    assert everything(store.folder) == before


def test_another_schema_is_refused(store, monkeypatch):
    monkeypatch.setattr(store_module, "SCHEMA", 99)
    with pytest.raises(StoreError, match="it was written in schema 1, this is 99"):
        Store.create(store.folder, CELLS, description=DESCRIPTION)


# Where results come from


def source(**changes):
    """Describe a process that measured, like all others but for the changes."""
    content = {"code": {"leml_theory": "a" * 64}, "versions": {"numpy": "2.0"}, "blas": ["SSE"]}
    content |= {"processor": "old", "command": ["sweep"], "host": "h", "started": "t", "process": 1}
    return Source(**content | changes)


OLD, SAME, NEW = source(), source(process=2), source(process=3, processor="new", blas=["AVX"])


def keep(store, process, value, stderr=0.1):
    """Store a result of the first cell."""
    records = [{"value": value, "stderr": stderr, "draws": 5}]
    with contextlib.closing(Shard(store.shards)) as shard:
        shard.extend([Result(CELLS[0].key, records, 1.0, process.id)], process)


def test_a_line_names_the_record_of_its_process(store):
    keep(store, OLD, 0.5)
    (line,) = next(store.shards.glob("*.jsonl")).read_text().splitlines()
    named = json.loads(line)["result"]["source"]
    kept = json.loads((store.folder / "provenance" / f"{named}.json").read_text())
    assert kept == OLD.content
    (origin,) = store.origins()
    assert (origin["cells"], origin["processor"]) == (1, "old")


def test_a_record_that_is_missing_or_changed_is_named(store):
    keep(store, OLD, 0.5)
    (path,) = (store.folder / "provenance").glob("*.json")
    path.write_text(path.read_text().replace("old", "new"))
    with pytest.raises(StoreError, match=rf"Line 1 of .*names `provenance/{OLD.id}.json`"):
        store.load()
    path.unlink()
    with pytest.raises(StoreError, match="which is missing or was changed"):
        store.load()


def test_processes_of_one_kind_must_agree_to_the_bit(store):
    keep(store, OLD, 0.5)
    keep(store, SAME, 0.5)
    assert len(store.load()) == 1
    keep(store, SAME, np.nextafter(0.5, 1))
    with pytest.raises(StoreError, match="contradicts another result of the same cell"):
        store.load()


@pytest.mark.parametrize(
    ("value", "stderr", "agrees"),
    [
        (0.5 + 4e-7, 0.0, True),  # 1e-6 relative
        (0.5 + 6e-7, 0.0, False),
        (0.5 + 9e-4, 0.1, True),  # a hundredth of the standard error
        (0.5 + 1.1e-3, 0.1, False),
        (float("nan"), 0.1, False),
    ],
)
def test_processors_of_two_kinds_must_agree_within_the_tolerance(store, value, stderr, agrees):
    keep(store, OLD, 0.5, stderr)
    keep(store, NEW, value, stderr)
    assert bool(store.status().damage) is not agrees


def test_the_chosen_result_does_not_depend_on_the_names_of_files(store):
    """It once was that of the file whose name came first."""
    chosen = set()
    for names in (("a.jsonl", "b.jsonl"), ("b.jsonl", "a.jsonl")):
        for name, process, value in zip(names, (OLD, NEW), (0.5, 0.5 + 1e-9), strict=True):
            keep(store, process, value)
            next(store.shards.glob(f"{os.getpid()}-*")).replace(store.shards / name)
        chosen.add(store.load()[CELLS[0].key][0]["value"])
    assert len(chosen) == 1


def test_only_numbers_may_differ_between_processors():
    first = [{"value": 1.0, "draws": 5, "law": "a", "wide": True, "none": None}]
    assert agree(first, [dict(first[0])])
    for change in ({"draws": 6}, {"law": "b"}, {"wide": 1}, {"none": 0.0}, {"value": 1}):
        assert not agree(first, [first[0] | change])
    assert not agree(first, [])
    assert not agree(first, [{"value": 1.0}])


def test_kernels_of_openblas_agree_on_a_fit(tmp_path):
    """Two kernels of one library stand for two processors; most of their bits differ."""
    found = []
    for kernel in ("Prescott", "Haswell"):
        code = "from test_store import fitted; fitted()"
        environment = {**os.environ, "OPENBLAS_CORETYPE": kernel, "PYTHONPATH": PATHS}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        if done.returncode < 0:
            pytest.skip(f"this processor cannot run the kernel {kernel}")
        assert done.returncode == 0, done.stderr
        found.append(json.loads(done.stdout))
    if found[0]["blas"] == found[1]["blas"]:
        pytest.skip("this BLAS does not let its kernel be chosen")
    assert found[0]["records"] != found[1]["records"]
    assert agree(found[0]["records"], found[1]["records"])


def fitted():
    """Print what a fit of the squared loss gives here, and the BLAS that computed it."""
    from leml_theory.measurements import measure
    from leml_theory.runs.provenance import source_of
    from leml_theory.sweep.experiments import EXPERIMENTS

    planned = next(p for p in EXPERIMENTS["X9"].plan("quick") if p.kind == "erm")
    records = checked_records(measure(Cell(planned.kind, {**planned.parameters, "draws": 3}, 0)))
    print(json.dumps({"records": records, "blas": source_of(measure).blas}))


def test_results_of_other_code_are_refused_and_can_be_forgotten(store):
    keep(store, OLD, 0.5)
    with contextlib.closing(Shard(store.shards)) as shard:  # by a version that kept no record
        shard.extend([Result(cell.key, records_of(cell), 1.0) for cell in CELLS[1:3]])
    new = source(code={"leml_theory": "b" * 64}, process=9)
    with contextlib.closing(Shard(store.shards)) as shard:
        shard.extend([Result(CELLS[4].key, [{"value": 2.0}], 1.0, new.id)], new)
    with pytest.raises(StoreError, match=r"holds 3 results that other code measured .*--recompute"):
        store.check_code(new.code)
    store.forget_other_code(new.code)
    store.check_code(new.code)
    assert list(store.load()) == [CELLS[4].key]


def test_a_store_takes_what_another_has_measured_with_its_records(store, tmp_path):
    other = Store.create(tmp_path / "other", CELLS, description=DESCRIPTION)
    keep(other, NEW, 0.5)
    keep(store, OLD, 0.5 + 1e-9)
    assert store.adopt(other, {CELLS[0].key}) == 1
    assert store.adopt(other, {CELLS[0].key}) == 0
    assert len(store.load()) == 1
    assert len(list((store.folder / "provenance").glob("*.json"))) == 2


def test_another_version_is_taken_over_when_asked(tmp_path):
    there = {"version": "0.2.0"}
    Store.create(tmp_path / "out", CELLS, description=there)
    here = {"version": "0.3.0"}
    with pytest.raises(StoreError, match=r"by version 0\.2\.0, this is 0\.3\.0.*--recompute"):
        Store.create(tmp_path / "out", CELLS, description=here)
    store = Store.create(tmp_path / "out", CELLS, description=here, recompute=True)
    assert store.manifest.description == here
    assert Store.open(tmp_path / "out").manifest == store.manifest


def test_results_of_version_0_1_0_are_loaded_or_refused_by_name(tmp_path):
    folder = shutil.copytree(Path(__file__).parent / "results_0_1_0", tmp_path / "old")
    cells = [Cell("toy", {"n": n, "law": "gaussian", "radius": 0.1 * n}, 7) for n in (1, 2, 3)]
    there = {"version": "0.1.0", "preset": "toy"}
    for store in (Store.open(folder), Store.create(folder, cells, description=there)):
        loaded = store.load()
        assert store.status().damage == ()
        for cell in cells:
            n = cell.parameters["n"]
            expected = {"quantity": "mean", "value": n / 3, "limit": float("nan")}
            expected |= {"stderr": -float("inf"), "wide": n > 1, "none": None}
            assert bits(loaded[cell.key]) == bits([expected])
    with pytest.raises(StoreError, match=r"measured by version 0\.1\.0, this is 0\.2\.0\. Choose"):
        Store.create(folder, cells, description={**there, "version": "0.2.0"})


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("mine")
    for folder in (tmp_path / "out", tmp_path / "out" / "deeper"):
        with pytest.raises(StoreError, match="is not a folder"):
            Store.create(folder, CELLS, description=DESCRIPTION)
    assert (tmp_path / "out").read_text() == "mine"


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(StoreError, match=r"holds other things \(`thesis.tex`\).*Choose another"):
        Store.create(tmp_path, CELLS, description=DESCRIPTION)
    assert os.listdir(tmp_path) == ["thesis.tex"]


@pytest.mark.parametrize("aside", [".manifest.json.x7_q2", "manifest.json.new"])
def test_a_start_that_was_killed_is_taken_up(tmp_path, aside):
    """The second name is that of version 0.1.0."""
    (tmp_path / "shards").mkdir()
    (tmp_path / "lock").touch()
    (tmp_path / aside).write_text('{"schema"')
    assert Store.create(tmp_path, CELLS, description=DESCRIPTION).status().total == 5


def test_results_without_their_manifest_are_refused(store):
    fill(store)
    (store.folder / "manifest.json").unlink()
    with pytest.raises(StoreError, match=r"has lost its `manifest.json`"):
        Store.create(store.folder, CELLS, description=DESCRIPTION)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": "a web page"}', "\x00\xff"])
def test_a_manifest_of_another_program_is_refused(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text, encoding="latin-1")
    with pytest.raises(StoreError, match="is damaged or was written by another program"):
        Store.create(tmp_path, CELLS, description=DESCRIPTION)


def test_a_changed_manifest_is_noticed(store):
    path = store.folder / "manifest.json"
    path.write_text(path.read_text().replace('"cells": 5', '"cells": 6'))
    with pytest.raises(StoreError, match=r"manifest.json` is damaged: its checksum"):
        Store.open(store.folder)


def test_opening_what_is_not_there_makes_nothing(tmp_path):
    with pytest.raises(StoreError, match="holds no results"):
        Store.open(tmp_path / "nowhere")
    assert os.listdir(tmp_path) == []


def test_a_grid_needs_cells_of_one_seed(tmp_path):
    for cells in ([], [*CELLS, *reseeded(1)]):
        with pytest.raises(ValueError, match="`cells` must be of one seed"):
            Store.create(tmp_path / "out", cells, description=DESCRIPTION)


def test_two_runs_cannot_write_to_one_folder(store):
    with store.lock():
        second = Store.open(store.folder)
        with pytest.raises(StoreError, match=r"Another run is writing to .*Wait"), second.lock():
            pass
    with store.lock():
        pass
