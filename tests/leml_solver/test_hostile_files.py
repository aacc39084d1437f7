"""Files that ask for more than they are, never end, or are not files: refused, and at once."""

import gzip
import io
import json
import os
import resource
import tracemalloc
import zipfile

import numpy as np
import pytest

from leml_solver import LEMLRegressor, ModelFileError, load_model, save_model
from leml_solver.blocks import BlockFolder, _checksum, _text_checksum, fit_blocks, write_blocks
from leml_solver.readers import Dataset, ReadError, ReadOptions, read
from safe_files import write_text

MOST = 64e6  # bytes of memory while a small file is refused: imports and buffers


def refused(path, match, **options):
    """Assert that a file is refused with little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ReadError, match=match):
            read(path, ReadOptions(**options))
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()


def member(shape, descr="<f8", body=b""):
    """Return an npy member with a shape of one's choice."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + body


@pytest.mark.parametrize("shape", [(10**8, 0), (10**13, 0), (0, 5), (0, 0)])
def test_rows_without_columns(tmp_path, shape):
    """450 bytes took 1.2 GB, or ended in a MemoryError."""
    path = tmp_path / "hollow.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", member(shape))
        archive.writestr("Y.npy", member(shape))
    refused(path, "plain array")


def test_zip_bombs(tmp_path, monkeypatch):
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", member((2**20, 25), body=b"\0" * (200 * 2**20)))
    monkeypatch.setattr("leml_solver._archives.memory_budget", lambda most: 100 * 2**20)
    refused(path, "more than the 104857600 allowed")
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02")
    content[at + 24 : at + 28] = (2**31).to_bytes(4, "little")  # the size that it promises
    path.write_bytes(content)
    refused(path, "cannot be|sound npz")


def test_gzipped_newlines(tmp_path):
    """512 MB of them ran for minutes."""
    path = tmp_path / "newlines.svm.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(64):
            file.write(b"\n" * 2**20)
    refused(path, "more than 100 times its size")
    path.write_bytes(gzip.compress(b"10000000000 2 2\n" + b"\n" * 2**25))
    refused(path, "more than 100 times its size", format="extreme")


def test_sparse_rows_whose_defaults_are_not_zero(tmp_path, monkeypatch):
    """Each `{}` stands for as many features as there are attributes."""
    monkeypatch.setattr("leml_solver.readers.reading._FREE_ROWS", 2**20)
    names = "".join(f"@attribute x{j} {{1,0}}\n" for j in range(1000))
    path = tmp_path / "wide.arff"
    path.write_text(f"@relation r\n{names}@attribute y {{0,1}}\n@data\n" + "{}\n" * 2000)
    refused(path, "bytes of memory", labels=1)


@pytest.mark.parametrize("header", ["{'shape': (3,", "'''text", "((("])
def test_types_of_arrays_that_are_no_python(tmp_path, header):
    """numpy reads them with Python's tokenizer, whose error is of a kind of its own."""
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    path = tmp_path / "file.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X_data.npy", array)
    refused(path, "not a sound npz file")
    with pytest.raises(ModelFileError):
        load_model(path)
    folder, _ = blocks(tmp_path)
    (folder / "block-00000" / "X_data.npy").write_bytes(array)
    with pytest.raises(ReadError, match="missing or damaged"):
        fit_blocks(folder, rank=1, penalty=1.0)


@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_pipes_and_devices(tmp_path, kind):
    path = tmp_path / "pipe"
    os.mkfifo(path) if kind == "fifo" else path.symlink_to("/dev/zero")
    refused(path, "Not a regular file")
    refused(path, "Not a regular file", format="npz")
    with pytest.raises(OSError, match="Not a regular file"):
        load_model(path)
    with pytest.raises(OSError, match="Not a regular file"):
        write_text(path, "text")
    assert not path.is_file()


def blocks(tmp_path):
    """Write a folder of one block; return it and its index."""
    rows = np.arange(8.0).reshape(4, 2)
    write_blocks(tmp_path / "b", [Dataset(rows, np.eye(4, 3, dtype=int), np.eye(4, 3, 1, bool))])
    return tmp_path / "b", json.loads((tmp_path / "b" / "blocks.json").read_text())


def write_index(folder, index):
    """Write the index of a folder of blocks with the checksum of what it says."""
    said = {key: value for key, value in index.items() if key != "checksum"}
    text = json.dumps(said | {"checksum": _text_checksum(said)})
    (folder / "blocks.json").write_text(text)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("X_index", lambda a: a + 2),
        ("XT_index", lambda a: a.astype(np.int64) - 1),
        ("Y_index", lambda a: a[:-1]),
        ("YT_pointers", lambda a: a[:, ::-1].copy()),
        ("X_pointers", lambda a: np.minimum(a, 3)),
        ("X_pointers", lambda a: a.astype(float)),
        ("Y_pointers", lambda a: a[:, :-1]),
        ("X_data", lambda a: a * np.nan),
        ("X_data", lambda a: a.astype(np.int64)),
        ("missing_indices", lambda a: a + 7),
        ("missing_indptr", lambda a: a - 1),
    ],
)
def test_blocks_with_sound_checksums_that_lead_out_of_bounds(tmp_path, name, change):
    """Compiled loops read where these say, whatever lies there."""
    folder, index = blocks(tmp_path)
    file = folder / "block-00000" / f"{name}.npy"
    changed = change(np.load(file))
    np.save(file, changed)
    index["blocks"][0]["checksums"][name] = _checksum(changed)
    write_index(folder, index)
    with pytest.raises(ReadError, match="block 0 is damaged"):
        fit_blocks(folder, rank=1, penalty=1.0)


@pytest.mark.parametrize(
    "change",
    [
        {"n_features": -1},
        {"n_labels": 2.5},
        {"dtype": "object"},
        {"blocks": [{}]},
        {"blocks": [3]},
        {"blocks": None},
        {"more": 1},
        {"missing": "yes"},
    ],
)
def test_the_index_of_blocks_is_checked(tmp_path, change):
    folder, index = blocks(tmp_path)
    zero = [index["blocks"][0] | {"tiles": index["blocks"][0]["tiles"] | {"X": 0}}]
    for strange in (change, {"blocks": zero}):
        write_index(folder, index | strange)
        with pytest.raises(ReadError, match=r"blocks.json: damaged \((?!its checksum)"):
            BlockFolder.open(folder)
    (folder / "blocks.json").write_text(json.dumps(index | change))
    with pytest.raises(ReadError, match=r"blocks.json: damaged \(its checksum"):
        BlockFolder.open(folder)


def test_a_disk_that_refuses_a_block_is_named_with_its_reason(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(OSError, match=r"File too large: '[^']*/b'"):
            write_blocks(tmp_path / "b", [Dataset(np.ones((99, 99)), np.eye(99, dtype=int))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


def test_an_index_that_is_deep_or_large_only_in_name(tmp_path):
    (tmp_path / "blocks.json").write_text("[" * 10**5)
    with pytest.raises(ReadError, match=r"blocks.json: damaged \("):
        BlockFolder.open(tmp_path)
    os.truncate(tmp_path / "blocks.json", 1 << 40)
    with pytest.raises(ReadError, match="does not fit into the free memory"):
        BlockFolder.open(tmp_path)


@pytest.mark.parametrize("name", ["blocks.json", "block-00000/X_data.npy"])
def test_pipes_in_folders_of_blocks(tmp_path, name):
    folder, _ = blocks(tmp_path)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ReadError, match="Not a regular file"):
        fit_blocks(folder, rank=1, penalty=1.0)


def parts(**changes):
    one = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2])}
    made = {f"{name}_{key}": value for name in "XY" for key, value in one.items()}
    made |= {"X_shape": np.array([2, 2]), "Y_shape": np.array([2, 2])}
    return made | changes


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"X_data": np.ones(3), "X_indices": np.array([0, 1, 1])}, "as long as X_indptr says"),
        ({"X_indptr": np.array([1, 1, 2])}, "as long as X_indptr says"),
        ({"X": np.eye(2)}, "stored twice"),
        ({"X_shape": np.array([2, 10**9])}, "at most 100000000 columns"),
    ],
)
def test_surplus_data_and_widths(tmp_path, changes, match):
    path = tmp_path / "data.npz"
    np.savez(path, **parts(**changes))
    refused(path, match)


def test_data_around_an_archive(tmp_path):
    file = io.BytesIO()
    np.savez(file, **parts())
    for content in (b"#!/bin/sh\n" + file.getvalue(), file.getvalue() + b"more"):
        (tmp_path / "data.npz").write_bytes(content)
        refused(tmp_path / "data.npz", "before or after|sound npz", format="npz")


def test_widths_are_capped_alike(tmp_path):
    (tmp_path / "a").write_text("1 1000000000 2\n0 1:1\n")
    refused(tmp_path / "a", "more than 100000000 columns")
    (tmp_path / "b").write_text("0 1000000000:1\n")
    refused(tmp_path / "b", "100000000 features")
    with pytest.raises(ValueError, match="at most 100000000"):
        ReadOptions(n_features=10**9)


def test_other_byte_orders_come_back(tmp_path):
    np.savez(tmp_path / "data.npz", **parts(X_data=np.array([1.5, 2.5], dtype=">f8")))
    data = read(tmp_path / "data.npz")
    assert data.X.toarray().tolist() == [[1.5, 0], [0, 2.5]]
    assert data.X.dtype.isnative


def test_models_are_saved_through_links(tmp_path):
    model = LEMLRegressor(1, penalty=1.0, random_state=0).fit(np.eye(3), np.eye(3))
    (tmp_path / "real").mkdir()
    link = tmp_path / "latest"
    link.symlink_to(tmp_path / "real" / "model")
    save_model(model, link)
    assert link.is_symlink()
    assert np.array_equal(load_model(tmp_path / "real" / "model").W_, model.W_)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OSError, match="symbolic links"):
        save_model(model, tmp_path / "loop")
    with pytest.raises(ModelFileError):
        load_model(__file__)
