"""Data sets by name: loaded as they are or refused with a remedy, and never fetched from afar."""

import os
import socket
import zipfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from leml_solver import datasets
from leml_solver.datasets import (
    DATASETS,
    KnownDataset,
    PartStatistics,
    available,
    content_checksum,
    load_dataset,
    table_2_differences,
)
from leml_solver.readers import Dataset, ReadError


def toy(n=12, d=5, L=3, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.integers(0, 3, (n, d)) / 2)
    Y = sparse.csr_array((rng.random((n, L)) < 0.4).astype(np.int8))
    splits = {"train_idx": np.arange(8), "test_idx": np.arange(8, n)}
    return Dataset(X, Y, splits={name: index.astype(np.int64) for name, index in splits.items()})


def parts(name, matrix):
    names = ("data", "indices", "indptr", "shape")
    values = (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape))
    return {f"{name}_{part}": value for part, value in zip(names, values, strict=True)}


def save(folder, name, data, writer=np.savez_compressed):
    path = Path(folder) / f"{name}.npz"
    writer(path, **parts("X", data.X), **parts("Y", data.Y), **data.splits)
    return path


@pytest.fixture
def known(monkeypatch):
    """A data set that is known as 'toy'."""
    data = toy()
    facts = KnownDataset((12, 5, 3), content_checksum(data))
    monkeypatch.setitem(datasets.DATASETS, "toy", facts)
    return data


@pytest.mark.parametrize("name", DATASETS)
def test_the_public_data_sets_are_what_they_are_said_to_be(data_file, name):
    data, facts = load_dataset(name, data_file(name).parent), DATASETS[name]
    assert (*data.X.shape, data.Y.shape[1]) == facts.shape


def test_the_default_split_of_bibtex_is_the_papers_and_mulans_is_not(data_file):
    data = load_dataset("bibtex", data_file("bibtex").parent)
    assert data.messages == ()
    train, test = data.split()
    assert (train.X.shape, test.X.shape) == ((4880, 1836), (2515, 1836))
    others = {part: data.splits[f"mulan_{part}"] for part in ("train_idx", "test_idx")}
    other = Dataset(data.X, data.Y, splits=others)
    assert len(table_2_differences(other, "bibtex")) == 1


def test_delicious_says_that_its_split_is_not_the_papers(data_file):
    (message,) = load_dataset("delicious", data_file("delicious").parent).messages
    assert "not the paper's" in message
    assert "18.54" in message
    assert "18.17" in message


@pytest.mark.parametrize("writer", [np.savez, np.savez_compressed])
def test_a_file_saved_anew_is_the_same_data_set(tmp_path, known, writer):
    save(tmp_path, "toy", known, writer)
    assert load_dataset("toy", tmp_path).messages == ()


def test_the_checksum_does_not_depend_on_storage_but_on_content(known):
    as_float32 = Dataset(known.X.astype(np.float32), known.Y.astype(float), splits=known.splits)
    assert content_checksum(as_float32) == content_checksum(known)
    X = known.X.copy()
    X.data[0] += 0.5
    assert content_checksum(Dataset(X, known.Y, splits=known.splits)) != content_checksum(known)
    assert content_checksum(Dataset(known.X, known.Y)) != content_checksum(known)


def test_the_folder_comes_from_the_environment(tmp_path, known, monkeypatch):
    save(tmp_path, "toy", known)
    monkeypatch.setenv("LEML_DATA", str(tmp_path))
    assert load_dataset("toy").X.shape == (12, 5)
    assert available() == ("toy",)


def test_without_a_folder_the_error_says_what_to_set(monkeypatch, tmp_path):
    monkeypatch.delenv("LEML_DATA", raising=False)
    with pytest.raises(ReadError, match=r"set LEML_DATA to a folder with NAME\.npz .*bibtex"):
        load_dataset("bibtex")
    with pytest.raises(ReadError, match="absent: expected a folder of data sets"):
        load_dataset("bibtex", tmp_path / "absent")


def test_an_absent_file_is_named_with_those_that_are_there(tmp_path, known):
    save(tmp_path, "toy", known)
    message = r"bibtex.npz does not exist; npz files in the folder: toy\."
    with pytest.raises(ReadError, match=message):
        load_dataset("bibtex", tmp_path)


@pytest.mark.parametrize("name", ["", "../toy", "a/b", ".hidden", "/etc/passwd"])
def test_a_name_is_not_a_path(tmp_path, name):
    with pytest.raises(ReadError, match="not a path"):
        load_dataset(name, tmp_path)


def test_an_unknown_name_is_loaded_with_a_message(tmp_path):
    save(tmp_path, "mine", toy(seed=1))
    (message,) = load_dataset("mine", tmp_path).messages
    assert "content was not checked" in message


def test_another_content_or_shape_is_refused(tmp_path, known):
    save(tmp_path, "toy", toy(seed=1))
    with pytest.raises(ReadError, match=r"expected the content with SHA-256 [0-9a-f]{64}, got"):
        load_dataset("toy", tmp_path)
    save(tmp_path, "toy", toy(n=13))
    with pytest.raises(ReadError, match=r"expected n, d, L = \(12, 5, 3\), got \(13, 5, 3\)"):
        load_dataset("toy", tmp_path)
    assert known.X.shape[0] == 12


def test_damaged_files_are_refused_in_one_line(tmp_path, known):
    path = save(tmp_path, "toy", known)
    whole = path.read_bytes()
    for bad in (
        b"",
        b"not a zip",
        whole[: len(whole) // 2],
        whole[:60] + b"\xff" * 40 + whole[100:],
    ):
        path.write_bytes(bad)
        with pytest.raises(ReadError, match=r"toy\.npz") as caught:
            load_dataset("toy", tmp_path)
        assert "\n" not in str(caught.value)


def test_links_to_nothing_and_pipes_are_refused_without_waiting(tmp_path, known):
    assert known.X.shape[1] == 5
    path = tmp_path / "toy.npz"
    path.symlink_to(tmp_path / "nowhere.npz")
    with pytest.raises(ReadError, match="is not a regular file"):
        load_dataset("toy", tmp_path)
    path.unlink()
    os.mkfifo(path)  # reading it would wait for ever
    with pytest.raises(ReadError, match="is not a regular file"):
        load_dataset("toy", tmp_path)


def test_an_archive_that_would_flood_memory_is_refused_before_unpacking(
    tmp_path, known, monkeypatch
):
    monkeypatch.setattr(datasets, "_MAX_BYTES", 2**20)  # writing a real gibibyte takes seconds
    path = save(tmp_path, "toy", known)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X_data.npy", b"\0" * (2**20 + 1))
    assert path.stat().st_size < 2**13
    with pytest.raises(ReadError, match="would take 1048577 bytes, more than the 1048576"):
        load_dataset("toy", tmp_path)


def test_pickled_objects_are_never_loaded(tmp_path, known):
    path = tmp_path / "toy.npz"
    np.savez(path, X=np.array([print], dtype=object), Y=known.Y.toarray())
    with pytest.raises(ReadError, match="plain array"):
        load_dataset("toy", tmp_path)


def test_nothing_is_downloaded(tmp_path, known, monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket, "socket", refuse)
    save(tmp_path, "toy", known)
    assert load_dataset("toy", tmp_path).X.nnz == known.X.nnz
    with pytest.raises(ReadError):
        load_dataset("bibtex", tmp_path)


def test_statistics_are_averages_a_row_and_printed_figures_have_two_decimals():
    data = toy()
    found = PartStatistics.of(data)
    assert (found.n_samples, found.nonzeros * 12) == (12, pytest.approx(data.X.nnz))
    near = PartStatistics(12, found.nonzeros + 0.009, found.labels)
    far = PartStatistics(12, found.nonzeros + 0.011, found.labels)
    assert found.agrees(near)
    assert not found.agrees(far)


def test_a_split_is_two_parts_that_share_no_row():
    data = toy()
    train, test = data.split()
    assert (train.X.shape[0], test.X.shape[0]) == (8, 4)
    np.testing.assert_array_equal(
        np.vstack([train.X.toarray(), test.X.toarray()]), data.X.toarray()
    )
    with pytest.raises(ValueError, match="no rows mulan_train_idx; row numbers there: test_idx"):
        data.split("mulan")
    splits = {"train_idx": np.arange(9), "test_idx": np.arange(8, 12)}
    with pytest.raises(ValueError, match="got 9 and 4 with 1 in both"):
        Dataset(data.X, data.Y, splits=splits).split()
    splits = {"train_idx": np.arange(9), "test_idx": np.arange(0)}
    with pytest.raises(ValueError, match="got 9 and 0"):
        Dataset(data.X, data.Y, splits=splits).split()
