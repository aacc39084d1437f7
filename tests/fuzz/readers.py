"""Files of data: sound ones come back to the bit; damaged ones are refused by name, or are sound.

The files are made from known matrices in every format, then bent in ways that fit the format.
"""

import contextlib
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
from scipy import sparse

from leml_solver.readers import ReadError, ReadOptions, read, read_blocks

WORDS = (
    b"",
    *(b"0 1:1", b"1:", b":1", b"99999999999:1", b"0,1,2", b"1e999", b"nan", b"1:1 1:1", b"-1:2"),
    *(b"{0 1}", b"{", b"}", b"{99 1}", b"?", b"'", b'"', b"\\", b"@data", b"@attribute a {0,1}"),
    *(b"@attribute q string", b"%", b"#", b"3 4 5", b"0 0 0", b"1000000000 2 3", b"\xff\xfe"),
    *(b"\x00", b"\t", b",", b"qid:1", b"\xef\xbb\xbf", b"1_0", b"0x10", b"\xd9\xa1:1"),
)
SHAPES = ((0,), (1,), (0, 0), (3, 0), (0, 3), (2, 2), (10**8, 0), (7,), (8,), (7, 1), ())
TYPES = ("<f8", ">f8", "<f4", "<f2", "<i8", ">i4", "u8", "i1", "?", "U3", "S2", "c16", "M8[s]")


def matrices(rng):
    """Return X and Y of a few rows, whose last columns are used."""
    n, d, L = (int(size) for size in rng.integers(1, 9, 3))
    X = np.round(rng.normal(size=(n, d)), 3) * (rng.random((n, d)) < 0.6)
    Y = (rng.random((n, L)) < 0.4).astype(float)
    X[0, -1], Y[0, -1] = 1.5, 1.0
    X[:, 0] += X[:, 0] == 0  # an svmlight row without labels and features is an empty line
    return X, Y


def pair_text(X, Y, base, header):
    """Return the lines of svmlight or Extreme Classification files."""
    lines = [f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}"] if header else []
    for x, y in zip(X, Y, strict=True):
        pairs = " ".join(f"{j + base}:{x[j]!r}" for j in np.flatnonzero(x).tolist())
        lines.append(f"{','.join(map(str, np.flatnonzero(y)))} {pairs}".replace("np.float64", ""))
    return "\n".join(lines).replace("(", "").replace(")", "").encode() + b"\n"


def arff_text(X, Y, rng):
    """Return an ARFF file, dense or sparse, whose last attributes are labels."""
    names = [f"@attribute x{j} numeric" for j in range(X.shape[1])]
    names += [f"@attribute 'y {j}' {{0,1}}" for j in range(Y.shape[1])]
    rows, thin = [], rng.random() < 0.5
    for row in np.hstack([X, Y]).tolist():
        full = [repr(int(v)) if j >= X.shape[1] else repr(v) for j, v in enumerate(row)]
        pairs = (f"{j} {text}" for j, text in enumerate(full) if row[j])
        rows.append("{" + ", ".join(pairs) + "}" if thin else ",".join(full))
    return "\n".join(["@relation toy", *names, "@data", *rows]).encode() + b"\n"


def npz_parts(X, Y, rng):
    """Return the arrays of an npz file, dense or CSR."""
    if rng.random() < 0.3:
        return {"X": X, "Y": Y}
    parts = {}
    for name, matrix in (("X", sparse.csr_array(X)), ("Y", sparse.csr_array(Y))):
        parts[f"{name}_shape"] = np.array(matrix.shape)
        parts |= {f"{name}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}
    parts["train_idx"] = np.arange(X.shape[0])
    return parts


def bent_array(array, rng):
    """Return an array with another value, type, length or shape."""
    kind = rng.integers(5)
    if kind == 0 and array.size:
        made = array.copy()
        bad = (-1, 2**31, 2**62, 10**9, 0) if made.dtype.kind in "iu" else (np.nan, np.inf, 1e300)
        made.flat[rng.integers(made.size)] = np.array(rng.choice(bad)).astype(made.dtype)
        return made
    if kind == 1:
        with np.errstate(all="ignore"), contextlib.suppress(ValueError):
            return array.astype(rng.choice(TYPES))
    if kind == 2:
        return np.concatenate([array.ravel(), array.ravel()[:1]])
    if kind == 3:
        return array.ravel()[:-1]
    shape = SHAPES[rng.integers(len(SHAPES))]
    return np.zeros(shape, dtype=array.dtype) if 0 in shape else np.resize(array, shape)


def npz_bytes(parts, rng):
    """Return an npz file, compressed or not, perhaps with data around it or a foreign member."""
    file = io.BytesIO()
    (np.savez_compressed if rng.random() < 0.5 else np.savez)(file, **parts)
    if rng.random() < 0.1:
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(str(rng.choice(["a.txt", "../x.npy", "X.npy", "y.npy"])), b"\x93NUMPY")
    return file.getvalue()


def bent_text(text, rng):
    """Return text with lines or words exchanged for others."""
    lines = text.split(b"\n")
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(lines)))
        word = WORDS[rng.integers(len(WORDS))]
        kind = rng.integers(5)
        if kind == 0:
            lines[at] = word
        elif kind == 1:
            lines.insert(at, word)
        elif kind == 2:
            cut = int(rng.integers(len(lines[at]) + 1))
            lines[at] = lines[at][:cut] + word + lines[at][cut:]
        elif kind == 3:
            lines[at] = lines[at][: int(rng.integers(len(lines[at]) + 1))]
        elif len(lines) > 1:
            del lines[at]
    return b"\n".join(lines)


def bent_bytes(content, rng):
    """Return bytes of which some are changed, cut off or added."""
    made = bytearray(content or b"\0")
    for at in rng.integers(len(made), size=rng.integers(0, 4)):
        made[at] = int(rng.integers(256))
    cut = int(rng.integers(len(made))) if rng.random() < 0.2 else len(made)
    return bytes(made[:cut]) + (rng.bytes(3) if rng.random() < 0.2 else b"")


def written(rng, path):
    """Write a file and return the matrices if it is sound, and how to read it."""
    X, Y = matrices(rng)
    kind = ("svmlight", "extreme", "arff", "npz")[rng.integers(4)]
    sound = rng.random() < 0.25
    if kind == "npz":
        parts = npz_parts(X, Y, rng)
        if not sound and rng.random() < 0.8:
            name = sorted(parts)[rng.integers(len(parts))]
            parts[name] = bent_array(parts[name], rng)
        content = npz_bytes(parts, rng) if not sound else npz_bytes(parts, np.random.default_rng(1))
    else:
        made = arff_text(X, Y, rng) if kind == "arff" else None
        content = made or pair_text(X, Y, int(kind == "svmlight"), kind == "extreme")
        content = content if sound else bent_text(content, rng)
        content = gzip.compress(content) if rng.random() < 0.2 else content
    if not sound and rng.random() < 0.2:
        content = bent_bytes(content, rng)
    path.write_bytes(content)
    named = sound or rng.random() < 0.5
    options = ReadOptions(
        format=kind if named else None, labels=Y.shape[1], strict=bool(sound or rng.random() < 0.5)
    )
    return (X, Y) if sound else None, options


def check_sound(data):
    """Assert that whatever was read is a data set that nothing later can stumble over."""
    assert data.X.shape[0] == data.Y.shape[0] > 0
    assert np.isfinite(data.X.data).all()
    assert np.isin(data.Y.data, (1,)).all()
    for matrix in (data.X, data.Y):
        matrix.check_format(full_check=True)
        assert matrix.data.dtype.isnative
    for index in data.splits.values():
        assert ((index >= 0) & (index < data.X.shape[0])).all()
    assert len(data.label_names) in (0, data.Y.shape[1])


def case(rng: np.random.Generator, folder: Path) -> None:
    """Read one file, whole and in blocks."""
    path = folder / "fuzzed"
    truth, options = written(rng, path)
    try:
        data = read(path, options)
    except ReadError as error:
        assert "fuzzed" in str(error), error
        assert truth is None, error
        return
    check_sound(data)
    if truth is not None:
        for matrix, known in zip((data.X, data.Y), truth, strict=True):
            assert np.array_equal(matrix.toarray(), known), (matrix.toarray(), known)
    widths = ReadOptions(
        format=options.format,
        labels=options.labels,
        n_features=max(1, data.X.shape[1]),
        n_labels=max(1, data.Y.shape[1]),
        strict=options.strict,
    )
    if min(data.X.shape[1], data.Y.shape[1]):
        rows = sum(block.X.shape[0] for block in read_blocks(path, widths, rows=2))
        assert rows == data.X.shape[0]
