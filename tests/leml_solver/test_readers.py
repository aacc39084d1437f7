"""Readers give back what was written, name file and line of what is wrong, and never crash."""

import gzip
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from leml_solver import readers
from leml_solver.readers import FORMATS, ReadError, ReadOptions, detect_format, read, read_blocks
from leml_solver.readers import lines as lines_module

ROOT = Path(__file__).resolve().parents[2]
LENIENT = {"strict": False}

XML = (
    '<labels xmlns="http://mulan.sourceforge.net/labels">'
    '<label name="a b"/><label name="c"/></labels>'
)
DENSE_ARFF = """% a comment
@relation 'toy'
@attribute width numeric
@attribute kind {red, green}
@attribute id string
@ATTRIBUTE 'a b' {0,1}
@attribute c {0,1}

@data
1.5, red, 'x,1', 1, 0
0, green, y, 0, ?
"""


def written(folder, name, content):
    path = Path(folder) / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def pair_lines(X, Y, base):
    """Return the lines of a matrix in svmlight (base 1) or Extreme Classification form (base 0)."""
    X, Y = sparse.csr_array(X), sparse.csr_array(Y)
    for i in range(X.shape[0]):
        x = slice(X.indptr[i], X.indptr[i + 1])
        labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
        pairs = (
            f"{j + base}:{value!r}"
            for j, value in zip(X.indices[x], X.data[x].tolist(), strict=True)
        )
        yield f"{labels} {' '.join(pairs)}"


def random_pair(seed, n=7, d=5, L=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    Y = (rng.random((n, L)) < 0.4).astype(np.int8)
    X[:, -1], Y[:, -1] = 1.0, 1  # every width shows, and no row is empty
    return X, Y


def assert_names(error, name):
    assert name in str(error)


def assert_same(data, X, Y):
    assert np.array_equal(data.X.toarray(), X)
    assert np.array_equal(data.Y.toarray(), Y)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_matrices_come_back_to_the_bit(seed, extreme, zipped):
    X, Y = random_pair(seed)
    head = [f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}"] if extreme else []
    text = "\n".join(head + list(pair_lines(X, Y, 0 if extreme else 1))).encode()
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, "data.txt", gzip.compress(text) if zipped else text)
        assert detect_format(path) == ("extreme" if extreme else "svmlight")
        assert_same(read(path), X, Y)


@pytest.mark.parametrize("rows", [1, 3, 7, 100])
def test_blocks_together_are_the_file(tmp_path, rows):
    X, Y = random_pair(3)
    path = written(tmp_path, "data.svm", "\n".join(pair_lines(X, Y, 1)))
    blocks = list(read_blocks(path, ReadOptions(n_features=5, n_labels=4), rows=rows))
    assert [block.X.shape[0] for block in blocks[:-1]] == [rows] * (len(blocks) - 1)
    assert np.array_equal(sparse.vstack([block.X for block in blocks]).toarray(), X)
    assert np.array_equal(sparse.vstack([block.Y for block in blocks]).toarray(), Y)


def test_svmlight_blocks_need_widths(tmp_path):
    path = written(tmp_path, "data.svm", "0 1:1\n")
    with pytest.raises(ReadError, match="pass n_features"):
        next(read_blocks(path))


def test_svmlight_details(tmp_path):
    text = "# comment\n2,0,2 qid:3 3:1.5 1:-2e-1 # tail\n\n 2:4\n1.0\t1:1\n3:1\n"
    data = read(written(tmp_path, "data.svm", text))
    assert_same(
        data,
        [[-0.2, 0, 1.5], [0, 4, 0], [1, 0, 0], [0, 0, 1]],
        [[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]],
    )
    assert data.missing is None
    assert data.targets() is data.Y


def test_zero_based_is_said_not_guessed(tmp_path):
    path = written(tmp_path, "data.svm", "0 0:1 2:1\n")
    with pytest.raises(ReadError, match="zero_based=True"):
        read(path)
    assert read(path, ReadOptions(zero_based=True)).X.shape == (1, 3)


BAD_LINES = [
    ("x 1:1", "expected labels"),
    ("-1 1:1", "expected labels"),
    ("0 1:1:2", "expected feature:value"),
    ("0 1:1 2", "got '2'"),
    ("0 1:nan", "got '1:nan'"),
    ("0 1:1_0", "got '1:1_0'"),
    ("0 1:1e999", "too large"),
    ("0 1:1 1:2", "twice"),
    ("0 99999999999:1", "expected feature:value"),
    ("0 999999999:1", "but there are 100000000"),
    ("999999999 1:1", "labels run from 0"),
    ("0 \xff:1", "expected feature:value"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_a_bad_line_is_named_or_skipped(tmp_path, line, message):
    path = written(tmp_path, "data.svm", f"0 1:1\n{line}\n1 2:1\n".encode("latin-1"))
    with pytest.raises(ReadError, match=f"data.svm, line 2: .*{message}"):
        read(path)
    data = read(path, ReadOptions(**LENIENT))
    assert_same(data, [[1, 0], [0, 1]], [[1, 0], [0, 1]])
    assert data.skipped == 1
    assert "line 2" in data.messages[0]


def test_many_bad_lines_are_counted_and_the_first_shown(tmp_path):
    path = written(tmp_path, "data.svm", "0 1:1\n" + "bad line\n" * 100)
    data = read(path, ReadOptions(**LENIENT))
    assert data.skipped == 100
    assert len(data.messages) == 5
    only_bad = written(tmp_path, "bad.svm", "bad line\n" * 3)
    with pytest.raises(ReadError, match=r"got none and 3 bad lines: .*bad.svm, line 1"):
        read(only_bad, ReadOptions(**LENIENT))


def test_overlong_lines_are_skipped_in_bounded_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(lines_module, "MAX_LINE", 100)
    path = written(tmp_path, "data.svm", "0 1:1\n" + "7" * 1000 + "\n1 1:2\n")
    data = read(path, ReadOptions(**LENIENT))
    assert_same(data, [[1], [2]], [[1, 0], [0, 1]])
    assert "longer than 100" in data.messages[0]


@pytest.mark.parametrize("strict", [True, False])
def test_a_file_of_zeros_is_refused_at_once(tmp_path, strict):
    # It was read to its end, at the speed of the disk: a file of no size on it took minutes.
    path = tmp_path / "hollow.svm"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(ReadError, match="line 1: zero bytes; not a text file"):
        read(path, ReadOptions(strict=strict))


def test_extreme_header_is_held_to_its_word(tmp_path):
    short = written(tmp_path, "short.txt", "3 2 2\n0 1:1\n")
    with pytest.raises(ReadError, match="promises 3 rows, got 1"):
        read(short)
    assert read(short, ReadOptions(**LENIENT)).X.shape == (1, 2)
    with pytest.raises(ReadError, match="line 2: feature 5, but there are 2"):
        read(written(tmp_path, "wide.txt", "1 2 2\n0 5:1\n"))
    with pytest.raises(ReadError, match="line 2: label 2, but labels run from 0 to 1"):
        read(written(tmp_path, "label.txt", "1 2 2\n2 1:1\n"))
    with pytest.raises(ReadError, match="expected 'n d L'"):
        read(written(tmp_path, "none.txt", "0 1:1\n"), ReadOptions(format="extreme"))
    with pytest.raises(ReadError, match="expected 9 features and 2 labels, got 2 and 2"):
        read(short, ReadOptions(n_features=9))


def test_an_empty_line_of_an_extreme_file_is_a_point(tmp_path):
    data = read(written(tmp_path, "data.txt", "2 3 2\n\n1 0:2\n\n"))
    assert_same(data, [[0, 0, 0], [2, 0, 0]], [[0, 0], [0, 1]])


def test_dense_arff(tmp_path):
    written(tmp_path, "toy.xml", XML)
    data = read(written(tmp_path, "toy-train.arff", DENSE_ARFF))  # finds toy.xml
    assert_same(data, [[1.5, 1, 0], [0, 0, 1]], [[1, 0], [0, 0]])
    assert data.feature_names == ("width", "kind=red", "kind=green")
    assert data.label_names == ("a b", "c")
    assert np.array_equal(data.targets(), [[1, 0], [0, np.nan]], equal_nan=True)
    assert any("'id' of type string is dropped" in message for message in data.messages)


def test_sparse_arff_leaves_out_the_first_value(tmp_path):
    text = """@relation 'toy: -C 2'
@attribute y1 {0,1}
@attribute y2 {0,1}
@attribute x1 numeric
@attribute x2 {no,yes}
@attribute x3 {3,5}
@data
{0 1, 2 2.5, 3 yes}
{}
{1 1,4 5}
"""
    data = read(written(tmp_path, "toy.arff", text))
    # a sparse row leaves out the first nominal value: 3 for x3, which is not zero
    assert_same(data, [[2.5, 1, 3], [0, 0, 3], [0, 0, 5]], [[1, 0], [0, 0], [0, 1]])
    counted = read(written(tmp_path, "toy.arff", text), ReadOptions(labels=-1))
    assert counted.label_names == ("y1",)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,red,x,1", "expected 5 values, got 4"),
        ("?,red,x,1,0", "missing"),
        ("1,blue,x,1,0", "'blue' is not a value of attribute 'kind'"),
        ("1,red,x,2,0", "'2' is not a value of attribute 'a b'"),
        ("inf,red,x,1,0", "finite"),
        ("1,red,'x,1,0", "quotes do not match"),
        ("{9 1}", "attribute 9, but there are 5"),
        ("{0 1, 0 1}", "occurs twice"),
        ("{0 1", "end with a brace"),
        ("{x 1}", "NUMBER VALUE"),
    ],
)
def test_bad_arff_rows(tmp_path, row, message):
    xml = written(tmp_path, "labels.xml", XML)
    path = written(tmp_path, "toy.arff", DENSE_ARFF + row + "\n")
    with pytest.raises(ReadError, match=f"line 12: .*{message}"):
        read(path, ReadOptions(labels=xml))
    assert read(path, ReadOptions(labels=xml, strict=False)).skipped == 1


def test_arff_labels_must_be_known(tmp_path):
    path = written(tmp_path, "toy.arff", DENSE_ARFF)
    with pytest.raises(ReadError, match=r"pass labels=FILE\.xml"):
        read(path)
    with pytest.raises(ReadError, match="9 labels asked for, but the file has 5 attributes"):
        read(path, ReadOptions(labels=9))
    other = written(tmp_path, "other.xml", '<labels><label name="zebra"/></labels>')
    with pytest.raises(ReadError, match="no attribute 'zebra'"):
        read(path, ReadOptions(labels=other))
    with pytest.raises(ReadError, match="must be 0/1"):
        read(path, ReadOptions(labels=-3))


def test_entities_in_label_files_are_refused(tmp_path):
    bomb = (
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><labels><label name="&b;"/></labels>'
    )
    path = written(tmp_path, "toy.arff", DENSE_ARFF)
    with pytest.raises(ReadError, match="DOCTYPE"):
        read(path, ReadOptions(labels=written(tmp_path, "bomb.xml", bomb)))


def npz_parts(X, Y):
    parts = {}
    for name, matrix in (("X", sparse.csr_array(X)), ("Y", sparse.csr_array(Y))):
        parts[f"{name}_shape"] = np.array(matrix.shape)
        for part in ("data", "indices", "indptr"):
            parts[f"{name}_{part}"] = getattr(matrix, part)
    return parts


def test_npz(tmp_path):
    X, Y = random_pair(1)
    path = tmp_path / "data.npz"
    np.savez_compressed(
        path, **npz_parts(X, Y), train_idx=[0, 2], label_names=np.array(list("abcd"))
    )
    data = read(path)
    assert_same(data, X, Y)
    assert data.splits["train_idx"].tolist() == [0, 2]
    assert data.label_names == ("a", "b", "c", "d")
    np.savez(path, X=X, Y=np.where(X[:, :4] > 0, np.nan, Y))
    assert np.array_equal(np.isnan(read(path).targets()), X[:, :4] > 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_indices": 99}, "indices must be < 5"),
        ({"X_indices": np.array([0])}, "indices"),
        ({"X_indptr": np.array([0, 5])}, "X_indptr must be 8 numbers"),
        ({"Y_data": 3}, "labels 0 and 1"),
        ({"train_idx": np.array([99])}, r"train_idx must lie in \[0, 7\)"),
        ({"label_names": np.array([1, 2])}, "label_names must be 4 strings"),
        ({"X_data": np.array([{}], dtype=object)}, "plain array|sound npz"),
        ({"X_shape": np.array([7, 5, 1])}, "two whole numbers"),
    ],
)
def test_damaged_npz(tmp_path, changes, message):
    path = tmp_path / "data.npz"
    parts = npz_parts(*random_pair(1))
    for name, value in changes.items():  # a number stands for an array of as many
        parts[name] = np.full_like(parts[name], value) if isinstance(value, int) else value
    np.savez(path, **parts)
    with pytest.raises(ReadError, match=message):
        read(path)


def test_npz_that_asks_for_more_memory_than_it_has(tmp_path):
    path = tmp_path / "bomb.npz"
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
    member = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", member)
    with pytest.raises(ReadError, match="plain array of 0 bytes"):
        read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../X.npy", member)
    with pytest.raises(ReadError, match=r"NAME\.npy"):
        read(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ReadError, match=r"absent.svm: cannot be read \(No such file"):
        read(tmp_path / "absent.svm")
    with pytest.raises(ReadError, match=r"expected a folder with blocks\.json; make one"):
        read(tmp_path)
    with pytest.raises(ReadError, match="empty file"):
        read(written(tmp_path, "empty.svm", ""))
    cut = gzip.compress(b"0 1:1\n" * 1000)[:-20]
    with pytest.raises(ReadError, match="damaged or cut short"):
        read(written(tmp_path, "cut.svm.gz", cut))
    with pytest.raises(ValueError, match="`format` must be one of"):
        ReadOptions(format="csv")


HEADS = [
    b"",
    b"3 4 5\n",
    b"@relation x\n@attribute a numeric\n@attribute b {0,1}\n@data\n",
    b"@attribute 'a",
    b"\x1f\x8b",
    b"PK\x03\x04",
]
TOKENS = st.sampled_from([b"0", b"1:", b"2:3", b",", b"{", b"}", b" ", b"'", b"?", b"@data", b"\n"])


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(HEADS),
    st.binary(max_size=80) | st.lists(TOKENS, max_size=30).map(b"".join),
    st.sampled_from([None, *FORMATS]),
    st.booleans(),
)
def test_any_bytes_give_data_or_the_readers_own_error(head, body, kind, strict):
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, "fuzz", head + body)
        try:
            data = read(path, ReadOptions(format=kind, strict=strict, labels=1))
        except ReadError as error:
            assert_names(error, "fuzz")
        else:
            assert data.X.shape[0] == data.Y.shape[0] > 0
            assert np.isfinite(data.X.data).all()


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**16), st.integers(0, 255)), max_size=8), st.integers(1))
def test_a_damaged_npz_gives_data_or_the_readers_own_error(changes, cut):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez_compressed(path, **npz_parts(*random_pair(1)))
        content = bytearray(path.read_bytes())
        for at, value in changes:
            content[at % len(content)] = value
        path.write_bytes(content[: max(1, len(content) - cut % 7)])
        try:
            data = read(path, ReadOptions(format="npz"))
        except ReadError as error:
            assert_names(error, "data.npz")
        else:
            assert data.X.shape[0] == 7


def test_reading_is_streamed(tmp_path):
    """Blocks of a long file take the memory of a block, not of the file."""
    import tracemalloc

    path = tmp_path / "long.svm"
    with path.open("w") as file:
        for i in range(6_000):
            file.write(f"{i % 3} " + " ".join(f"{j}:1" for j in range(1, 21)) + "\n")
    options = ReadOptions(n_features=20, n_labels=3)
    next(read_blocks(path, options, rows=100))  # what is made once is not counted
    tracemalloc.start()
    rows = sum(block.X.shape[0] for block in read_blocks(path, options, rows=100))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows == 6_000
    # a block is 100 x 20 x 12 bytes, a few copies of it and the file's buffer 0.3 MB; the buffers
    # of the whole would be 1.5 MB and its matrices as much again
    assert peak < 0.6e6


@pytest.mark.parametrize("name", ["bibtex", "emotions", "delicious"])
def test_real_data(data_file, name):
    data = read(data_file(name))
    shapes = {"bibtex": (7395, 1836, 159), "emotions": (593, 72, 6), "delicious": (16105, 500, 983)}
    assert (*data.X.shape, data.Y.shape[1]) == shapes[name]
    assert set(data.splits["train_idx"]).isdisjoint(data.splits["test_idx"])


def test_everything_promised_is_there():
    assert all(hasattr(readers, name) for name in readers.__all__)


def test_labels_of_many_columns_go_through_scikit_learn(tmp_path):
    """int8 labels did not: beyond 128 columns scikit-learn's binarizer permuted them in silence."""
    from sklearn.linear_model import RidgeClassifier

    X = sparse.eye_array(140, format="csr")
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape}
    named = {f"{name}_{part}": value for name in "XY" for part, value in parts.items()}
    np.savez(tmp_path / "many.npz", **named)
    data = read(str(tmp_path / "many.npz"))
    model = RidgeClassifier(alpha=1e-3).fit(data.X, data.Y.toarray())
    assert (np.argmax(model.decision_function(data.X), axis=1) == np.arange(140)).all()
