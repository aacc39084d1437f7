"""Rows in blocks: the same fit, whatever holds the blocks, and a fit that goes on after a kill."""

import errno
import io
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import weakref
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from leml_solver import AlternatingOptions, Labels, LEMLClassifier, Problem, fit_factors
from leml_solver.__main__ import main
from leml_solver._archives import read_arrays, write_arrays
from leml_solver._blocked.block import Sent
from leml_solver._blocked.passes import tree_sum
from leml_solver._factored import certificate
from leml_solver._linalg.matrices import SparseMatrix, TiledMatrix
from leml_solver.algorithms import FAST, certify_factors
from leml_solver.blocks import BlockFolder, as_source, fit_blocks, predict_topk, write_blocks
from leml_solver.losses import Squared
from leml_solver.readers import Dataset, ReadError, read

N, D, L = 120, 30, 9
ENDS = (0, 25, 60, 61, 97, N)
QUICK = AlternatingOptions(max_iter=4, tol=0.0, certify=False)


def data(seed=0, hidden=0.0):
    """Return features, labels that follow a linear model of rank 3, and which are missing."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((N, D), density=0.3, format="csr", rng=rng)
    scores = X @ rng.normal(size=(D, 3)) @ rng.normal(size=(3, L)) + rng.normal(size=(N, L))
    missing = sp.csr_array(rng.random((N, L)) < hidden)
    Y = sp.csr_array(((scores > 0.8) & ~missing.toarray()).astype(np.int32))
    return X, Y, missing if hidden else None


def datasets(X, Y, missing):
    return [
        Dataset(X[i:j], Y[i:j], None if missing is None else missing[i:j])
        for i, j in pairwise(ENDS)
    ]


def labels(Y, missing):
    return Labels.full(Y) if missing is None else Labels.with_missing(Y, missing)


def pairs(X, Y, missing):
    cut = [(i, j, None if missing is None else missing[i:j]) for i, j in pairwise(ENDS)]
    return [(X[i:j], labels(Y[i:j], part)) for i, j, part in cut]


def folder(path, X, Y, missing):
    return write_blocks(path, datasets(X, Y, missing), dtype="float64", nonzeros=200)


def objectives(fit):
    return np.array([point.objective for point in fit.trace])


@pytest.mark.parametrize("d", [40, 70_000, 140_000])  # one tile, two, three; on disk more
def test_a_matrix_of_tiles_is_the_matrix(d):
    X = sp.random_array((60, d), density=0.02, format="csr", rng=np.random.default_rng(1))
    tiled, known = TiledMatrix.of(X), SparseMatrix(sp.csr_matrix(X))
    rng = np.random.default_rng(2)
    B, A = rng.normal(size=(d, 5)), rng.normal(size=(60, 5))
    # Sums of at most 3,000 terms in two orders.
    rounding = 3_000 * np.finfo(float).eps * (abs(X) @ abs(B))
    assert np.all(abs(tiled.times(B) - known.times(B)) <= rounding)
    assert np.array_equal(tiled.adjoint(A), known.adjoint(A))
    assert np.array_equal(tiled.rows(7, 31), X[7:31].toarray())
    assert (tiled.csr() != X).nnz == 0
    # Sums of at most 60 squares in two orders.
    np.testing.assert_allclose(tiled.column_squares(), known.column_squares(), rtol=1e-13)


@pytest.mark.parametrize("count", range(1, 10))
def test_the_tree_is_that_of_pairs_and_pairs_of_pairs(count):
    """The same tree as a cluster builds: levels of neighbours, an odd one moving up."""
    values = np.random.default_rng(0).normal(size=(count, 1))
    level = list(values)
    while len(level) > 1:
        odd = level[len(level) // 2 * 2 :]
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + odd
    assert tree_sum((v.copy(),) for v in values)[0] == level[0]


CASES = [
    ("squared", 0.0, FAST),
    ("squared", 0.0, replace(FAST, factorise=False)),
    ("squared", 0.0, replace(FAST, factorise=False, balance=False, precondition=False)),
    ("squared", 0.3, FAST),
    ("logistic", 0.0, FAST),
    ("logistic", 0.3, FAST),
    ("squared_hinge", 0.3, FAST),
]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("loss", "hidden", "plan"), CASES)
def test_blocks_give_the_fit_of_all_rows(loss, hidden, plan, intercept, tmp_path):
    X, Y, missing = data(hidden=hidden)
    options = replace(QUICK, intercept=intercept, method=plan)
    arguments = {"rank": 3, "penalty": 0.5, "loss": loss, "options": options}
    whole = fit_factors(X, labels(Y, missing), **arguments)
    folder(tmp_path / "b", X, Y, missing)
    arguments["options"] = replace(options, certify=True)
    for blocks in (pairs(X, Y, missing), tmp_path / "b"):
        made = fit_blocks(blocks, **arguments)
        # Sums in another order; four iterations of them amplify roundings of 1e-16 little.
        np.testing.assert_allclose(objectives(made), objectives(whole), rtol=1e-11)
        np.testing.assert_allclose(made.Z, whole.Z, atol=1e-8 * np.abs(whole.Z).max())
        problem = Problem(loss, X, labels(Y, missing))
        known = certify_factors(problem, made.W, made.H, made.intercept, penalty=0.5)
        for name in ("objective", "lower_bound", "gradient_norm", "scale", "penalty"):
            found, expected = (getattr(c, name) for c in (made.certificate, known))
            assert found == pytest.approx(expected, rel=1e-9), name
        if intercept:
            np.testing.assert_allclose(made.intercept, whole.intercept, atol=1e-8)


@pytest.mark.parametrize("name", ["logistic", "squared_hinge"])
def test_means_of_features_do_not_matter_to_blocks(name):
    X, Y, missing = data(hidden=0.3)
    arguments = {"rank": 3, "penalty": 0.5, "loss": name}
    arguments["options"] = replace(QUICK, intercept=True)
    moved = sp.csr_matrix(X.toarray() + 30.0)
    whole, far = (fit_blocks(pairs(A, Y, missing), **arguments) for A in (X, moved))
    # As a mean of 30 (the features are of size 1) rounds: 1e-16 times its square, some steps on.
    np.testing.assert_allclose(objectives(far), objectives(whole), rtol=1e-9)


def test_threads_and_storage_change_no_bit(tmp_path):
    from leml_solver import limit_threads

    X, Y, missing = data()
    made = folder(tmp_path / "b", X, Y, missing)
    parts = [made.dataset(number) for number in range(len(made.blocks))]
    fits = [fit_blocks([(p.X, p.Y) for p in parts], rank=3, penalty=0.5, options=QUICK)]
    for count in (1, 2, 3):
        with limit_threads(count):
            fits.append(fit_blocks(tmp_path / "b", rank=3, penalty=0.5, options=QUICK))
    for fit in fits[1:]:
        assert np.array_equal(fit.W, fits[0].W)
        assert np.array_equal(fit.H, fits[0].H)
        assert np.array_equal(objectives(fit), objectives(fits[0]))
    assert not [p for p in (tmp_path / "b").iterdir() if p.name.startswith((".", "tmp"))]


def test_a_block_without_a_missing_label_stands_beside_others(tmp_path):
    """Of a matrix of missing labels only what is true counts, not what is stored."""
    X, Y, missing = data(hidden=0.3)
    missing = sp.csr_array(missing.multiply(np.arange(N)[:, None] < ENDS[1]))
    assert missing.nnz > missing.sum()
    folder(tmp_path / "b", X, Y, missing)
    arguments = {"rank": 3, "penalty": 0.5, "options": replace(QUICK, intercept=True)}
    whole = fit_factors(X, labels(Y, missing), **arguments)
    arguments["options"] = replace(arguments["options"], certify=True)
    for blocks in (pairs(X, Y, missing), tmp_path / "b"):
        made = fit_blocks(blocks, **arguments)
        np.testing.assert_allclose(made.Z, whole.Z, atol=1e-8 * np.abs(whole.Z).max())
        problem = Problem("squared", X, labels(Y, missing))
        known = certify_factors(problem, made.W, made.H, made.intercept, penalty=0.5)
        assert made.certificate.lower_bound == pytest.approx(known.lower_bound, rel=1e-9)


def test_the_dual_point_stays_in_its_domain_in_every_block():
    """A positive label in one block alone has the largest slope, and sets the scale for all."""
    X, Y, _ = data()
    rare = Y.toarray()
    rare[: ENDS[-2]] = 0
    arguments = {"rank": 2, "penalty": 1e3, "loss": "logistic"}
    options = replace(QUICK, intercept=True, certify=True, max_iter=20)
    made = fit_blocks(pairs(X, sp.csr_array(rare), None), options=options, **arguments)
    problem = Problem("logistic", X, Labels.full(rare))
    known = certify_factors(problem, made.W, made.H, made.intercept, penalty=1e3)
    assert made.certificate.lower_bound == pytest.approx(known.lower_bound, rel=1e-9)


def test_blocks_in_single_precision_are_certified_in_double_precision():
    X, Y, _ = data()
    X, options = X.astype(np.float32), replace(QUICK, certify=True)
    made = fit_blocks(pairs(X, Y, None), rank=2, penalty=5.0, options=options)
    assert made.W.dtype == np.float32
    known = certify_factors(Problem("squared", X, Labels.full(Y)), made.W, made.H, penalty=5.0)
    assert made.certificate.objective == pytest.approx(known.objective, rel=1e-13)  # other order


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_large_blocks_are_certified_by_products_alone(loss, monkeypatch):
    """Where the dense matrix of the dual would be too large its norm is found by Lanczos steps."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(90, 500)), (rng.random((90, 400)) < 0.2).astype(float)
    blocks = [(X[i:j], Labels.full(Y[i:j])) for i, j in ((0, 40), (40, 90))]
    arguments = {"rank": 2, "penalty": 5.0, "loss": loss, "options": replace(QUICK, certify=True)}
    known = fit_blocks(blocks, **arguments).certificate
    monkeypatch.setattr(certificate, "EXACT_SIDE", 10)
    found = fit_blocks(blocks, **arguments).certificate
    # Exact on one side; on the other the excess that the theorem allows.
    excess = certificate.lanczos_excess(400, 32, 8, found.failure_probability)
    assert known.gradient_norm <= found.gradient_norm * (1 + 1e-9)
    assert found.gradient_norm <= known.gradient_norm / np.sqrt(1 - excess) * (1 + 1e-9)
    assert found.failure_probability > known.failure_probability == 0


@pytest.mark.parametrize(
    ("loss", "hidden", "start", "each"),
    [
        ("squared", 0.0, -1, 1),  # the start keeps no X W; one pass makes it again
        ("squared", 0.3, 0, 0),
        ("logistic", 0.0, 0, 2),  # X W again after each of two Newton steps
    ],
)
def test_products_with_x_are_counted(loss, hidden, start, each):
    X, Y, missing = data(hidden=hidden)
    arguments = {"rank": 3, "penalty": 0.5, "loss": loss}
    arguments["options"] = replace(QUICK, method=replace(FAST, factorise=False))
    whole = fit_factors(X, labels(Y, missing), **arguments)
    blocks = fit_blocks(pairs(X, Y, missing), **arguments)
    more = [b.products - w.products for b, w in zip(blocks.trace, whole.trace, strict=True)]
    expected = [start + each * i for i in range(len(more))]
    np.testing.assert_allclose(more, expected, atol=1e-9)


def test_blocks_with_a_scratch_folder_keep_their_scores_there(tmp_path):
    X, Y, _ = data()
    source = as_source(pairs(X, Y, None))
    W = Sent(0, np.ones((D, 2)))
    (tmp_path / "scratch").mkdir()
    kept = source.load(1, tmp_path / "scratch")._latent(W.array, None)
    held = source.load(1)._latent(W.array, None)
    assert isinstance(kept, np.memmap)
    assert not isinstance(held, np.memmap)
    assert np.array_equal(kept, held)


def test_what_a_block_keeps_is_let_go_before_its_successor_is_made():
    block = as_source(pairs(*data())).load(0)
    first = weakref.ref(block.kept("scores", 1, lambda: np.zeros(3)))
    assert first() is not None
    assert block.kept("scores", 2, first) is None


def test_entries_that_are_listed_and_weighted_fit_in_blocks():
    X, Y, _ = data()
    rng = np.random.default_rng(3)
    parts, whole = [], []
    for i, j in pairwise(ENDS):
        rows, columns = rng.integers(j - i, size=40), rng.integers(L, size=40)
        values, weights = Y[i:j].toarray()[rows, columns], rng.integers(1, 4, size=40)
        parts.append((X[i:j], Labels.observed(rows, columns, values, (j - i, L), weights)))
        whole.append((rows + i, columns, values, weights))
    rows, columns, values, weights = (np.concatenate(v) for v in zip(*whole, strict=True))
    all_labels = Labels.observed(rows, columns, values, (N, L), weights)
    arguments = {"rank": 3, "penalty": 0.5, "loss": "logistic", "options": QUICK}
    one, two = fit_factors(X, all_labels, **arguments), fit_blocks(parts, **arguments)
    np.testing.assert_allclose(objectives(two), objectives(one), rtol=1e-11)  # order of sums


def test_options_that_need_all_rows_are_refused():
    X, Y, missing = data()
    for change in (
        {"certify": "rank"},
        {"refine": 1e-3},
        {"warm_start_rows": 0.1},
        {"method": "plain"},
    ):
        with pytest.raises(ValueError, match="blocks"):
            fit_blocks(pairs(X, Y, missing), rank=2, penalty=1.0, options=replace(QUICK, **change))


def test_a_folder_is_written_whole_and_keeps_the_rows(tmp_path):
    X, Y, missing = data(hidden=0.2)
    made = folder(tmp_path / "b", X, Y, missing)
    assert made.shape == (N, D)
    assert len(made.blocks) > 3
    assert all(block["nonzeros"] < 400 for block in made.blocks)
    back = read(tmp_path / "b")
    assert (back.X != X).nnz == 0
    assert (back.Y != Y).nnz == 0
    assert (back.missing != missing).nnz == 0
    with pytest.raises(ValueError, match="exists already"):
        folder(tmp_path / "b", X, Y, missing)

    def broken():
        yield Dataset(X, Y)
        raise RuntimeError("the source ends")

    with pytest.raises(RuntimeError, match="the source ends"):
        write_blocks(tmp_path / "c", broken())
    assert [p.name for p in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize("name", ["X_data", "XT_index", "Y_pointers"])
def test_a_block_that_is_missing_or_damaged_is_named(name, tmp_path):
    folder(tmp_path / "b", *data())
    file = tmp_path / "b" / "block-00002" / f"{name}.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(ReadError, match="block 2 is damaged"):
        fit_blocks(tmp_path / "b", rank=2, penalty=1.0)
    file.unlink()
    with pytest.raises(ReadError, match="block 2 is missing or damaged"):
        fit_blocks(tmp_path / "b", rank=2, penalty=1.0)
    (tmp_path / "b" / "blocks.json").write_text("{}")
    with pytest.raises(ReadError, match="convert the data again"):
        BlockFolder.open(tmp_path / "b")


def test_a_block_of_another_folder_is_refused(tmp_path):
    """Of another width, with its entry in the index: sums of columns did not fit one another."""
    X, Y, _ = data()
    folder(tmp_path / "b", X, Y, None)
    folder(tmp_path / "narrow", X[:, :-1], Y[:, :-1], None)
    shutil.rmtree(tmp_path / "b" / "block-00001")
    shutil.copytree(tmp_path / "narrow" / "block-00001", tmp_path / "b" / "block-00001")
    with pytest.raises(ReadError, match="block 1 is damaged"):
        fit_blocks(tmp_path / "b", rank=2, penalty=1.0)
    ours, theirs = (tmp_path / name / "blocks.json" for name in ("b", "narrow"))
    index = json.loads(ours.read_text())
    index["blocks"][1] = json.loads(theirs.read_text())["blocks"][1]
    ours.write_text(json.dumps(index))
    with pytest.raises(ReadError, match=r"blocks.json: damaged \(its checksum .*convert"):
        fit_blocks(tmp_path / "b", rank=2, penalty=1.0)


class Full(io.BufferedRandom):
    """A file on a full disk, which may be made long but not filled."""

    def write(self, content):
        if memoryview(content).nbytes > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(content)


def test_a_disk_too_full_for_scratch_is_an_error(tmp_path, monkeypatch):
    """Writing to a memory map ended the process by a signal."""
    folder(tmp_path / "b", *data())
    made = lambda dir: Full(io.FileIO(dir / "scratch", "w+"))  # noqa: E731
    monkeypatch.setattr("tempfile.TemporaryFile", made)
    with pytest.raises(OSError, match="No space left"):
        fit_blocks(tmp_path / "b", rank=2, penalty=1.0)


def test_the_best_labels_come_block_by_block(tmp_path):
    X, Y, missing = data()
    folder(tmp_path / "b", X, Y, missing)
    fit = fit_blocks(tmp_path / "b", rank=3, penalty=0.5, options=replace(QUICK, intercept=True))
    found = np.vstack([best for best, _ in predict_topk(tmp_path / "b", fit, 3)])
    assert np.array_equal(found, np.argsort(-fit.scores(X), axis=1, kind="stable")[:, :3])


def test_every_format_becomes_the_same_blocks(tmp_path, capsys):
    X, Y, _ = data()
    lines = [
        (
            ",".join(map(str, Y[[i]].indices)),
            [(j, repr(float(v))) for j, v in zip(X[[i]].indices, X[[i]].data, strict=True)],
        )
        for i in range(N)
    ]
    write = {
        "a.svm": [f"{own} " + " ".join(f"{j + 1}:{v}" for j, v in row) for own, row in lines],
        "a.txt": [
            f"{N} {D} {L}",
            *(f"{own} " + " ".join(f"{j}:{v}" for j, v in row) for own, row in lines),
        ],
        "a.arff": [
            "@relation r",
            *(f"@attribute x{j} numeric" for j in range(D)),
            *(f"@attribute y{j} {{0,1}}" for j in range(L)),
            "@data",
            *(
                "{"
                + ",".join(
                    [f"{j} {v}" for j, v in row] + [f"{D + int(j)} 1" for j in own.split(",") if j]
                )
                + "}"
                for own, row in lines
            ),
        ],
    }
    for name, text in write.items():
        (tmp_path / name).write_text("\n".join(text) + "\n")
    parts = {f"X_{p}": getattr(X, p) for p in ("data", "indices", "indptr", "shape")}
    parts |= {f"Y_{p}": getattr(Y, p) for p in ("data", "indices", "indptr", "shape")}
    np.savez_compressed(tmp_path / "a.npz", train_idx=np.arange(50), **parts)
    for name in ("a.svm", "a.txt", "a.arff", "a.npz"):
        command = ["convert", str(tmp_path / name), str(tmp_path / f"{name}.blocks")]
        command += ["--dtype", "float64", "--block-nonzeros", "300"]
        command += ["--labels", str(L)] if name == "a.arff" else []
        assert main(command) == 0, capsys.readouterr().err
        made = read(tmp_path / f"{name}.blocks")
        assert (made.X != X).nnz == 0, name
        assert (made.Y != Y).nnz == 0, name
    training = ["convert", str(tmp_path / "a.npz"), str(tmp_path / "t"), "--rows", "train_idx"]
    assert main(training) == 0
    assert BlockFolder.open(tmp_path / "t").shape == (50, D)


def test_the_command_trains_on_a_folder(tmp_path, capsys):
    X, Y, _ = data()
    folder(tmp_path / "b", X, Y, None)
    command = ["train", str(tmp_path / "b"), "--model", str(tmp_path / "m"), "--quiet"]
    assert main([*command, "--penalty", "0.5", "--rank", "3"]) == 0
    assert " blocks\n" in capsys.readouterr().out
    assert main(["evaluate", str(tmp_path / "m"), str(tmp_path / "b")]) == 0
    from leml_solver import load_model

    model = load_model(tmp_path / "m")
    direct = LEMLClassifier(3, penalty=0.5, unit_rows=False, random_state=0).fit(X, Y)
    # Both stop at the same iteration; sums in another order.
    np.testing.assert_allclose(model.coef_, direct.coef_, atol=1e-7)
    assert main([*command, "--cv"]) == 2


def scores_of(path):
    return dict(np.load(path))


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_blocks import *
def die(point):
    if point.iteration == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
made = {fit}
np.savez({out!r}, W=made.W, H=made.H, trace=objectives(made), certificate=made.certificate.gap)
"""
FITS = {
    "squared": "fit_factors(*data()[:2], rank=3, penalty=0.5, options=options)",
    "logistic": "fit_factors(data()[0], labels(*data(hidden=0.3)[1:]), rank=3, penalty=0.5, "
    'loss="logistic", options=options)',
    "blocks": "fit_blocks(pairs(*data()), rank=3, penalty=0.5, options=options)",
}


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_fit_that_was_killed_goes_on_to_the_same_bits(kind, tmp_path):
    plan = "replace(FAST, factorise=False)"
    options = (
        f"replace(QUICK, max_iter=5, certify=True, intercept=True, method={plan}, "
        "checkpoint={file!r}, callback=die)"
    )

    def run(file, at, out):
        made = FITS[kind].replace("options=options", "options=" + options.format(file=file))
        code = KILLED.format(tests=os.path.dirname(__file__), at=at, fit=made, out=out)
        return subprocess.run([sys.executable, "-c", code], check=False).returncode

    straight, stopped = str(tmp_path / "straight.npz"), str(tmp_path / "stopped.npz")
    assert run(str(tmp_path / "one"), 99, straight) == 0
    assert run(str(tmp_path / "two"), 3, stopped) == -signal.SIGKILL
    assert not os.path.exists(stopped)
    assert run(str(tmp_path / "two"), 99, stopped) == 0
    first, second = scores_of(straight), scores_of(stopped)
    for name in first:
        assert np.array_equal(first[name], second[name]), name
    assert first["trace"].size == 6


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_blocks_with_missing_labels_go_on_from_a_checkpoint(loss, tmp_path):
    blocks = pairs(*data(hidden=0.3))

    def fit(name, max_iter):
        options = replace(QUICK, max_iter=max_iter, checkpoint=tmp_path / name)
        return fit_blocks(blocks, rank=3, penalty=0.5, loss=loss, options=options)

    fit("stopped", 2)
    straight, resumed = fit("straight", 4), fit("stopped", 4)
    for name in ("W", "H"):
        assert np.array_equal(getattr(straight, name), getattr(resumed, name))
    assert np.array_equal(objectives(straight), objectives(resumed))


def test_a_checkpoint_knows_the_entries_that_are_listed(tmp_path):
    X = data()[0]
    rows, columns = np.arange(N), np.arange(N) % L
    listed = [Labels.observed(rows, columns, np.full(N, value), (N, L)) for value in (1.0, 2.0)]
    hidden = sp.csr_array((np.ones(2, dtype=bool), ([0, 1], [0, 1])), shape=(N, L))
    missing = [Labels.with_missing(sp.csr_array((N, L)), part) for part in (hidden, hidden[::-1])]
    for number, (one, other) in enumerate((listed, missing)):
        options = replace(QUICK, checkpoint=tmp_path / f"c{number}")
        fit_factors(X, one, rank=3, penalty=0.5, options=options)
        with pytest.raises(ValueError, match="another fit, which differs in data;"):
            fit_factors(X, other, rank=3, penalty=0.5, options=options)


def test_checkpoints_that_fits_do_not_write_are_refused(tmp_path):
    """Factors of other shapes went into compiled loops, and other texts ended in raw errors."""
    X, Y = np.eye(6, 4), np.eye(6, 3)
    options = replace(QUICK, checkpoint=tmp_path / "c")
    expected = fit_factors(X, Y, rank=2, penalty=0.1, options=options)
    arrays = read_arrays(tmp_path / "c")
    header = json.loads(arrays.pop("header").tobytes())
    strange = [
        {"header": text}
        for text in (b"[1]", b"[" * 10**5, b"{}", b"\xff", *(
            json.dumps(header | change).encode()
            for change in (
                {"format": 1}, {"identity": [1]}, {"identity": None}, {"trace": []},
                {"trace": None}, {"trace": [[0]]}, {"trace": [["a"] * 4]},
                {"trace": [[1, 2.5, 0, 0]]},
            )
        ))
    ]  # fmt: skip
    W, H = arrays["W"], arrays["H"]
    strange += [{"W": W[:, :1]}, {"W": W[:3]}, {"H": H[:1]}, {"H": H.astype(int)}, {"b": W}]
    strange += [{"W": W * np.nan}, {"W": W.astype(np.float32)}, {"H": H.astype(str)}]
    for change in strange:
        text = change.pop("header", json.dumps(header).encode())
        made = {"header": np.frombuffer(text, np.uint8), **arrays, **change}
        write_arrays(tmp_path / "c", made)
        with pytest.raises(ValueError, match="expected a checkpoint of this version"):
            fit_factors(X, Y, rank=2, penalty=0.1, options=options)
    write_arrays(
        tmp_path / "c", {"header": np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays}
    )
    again = fit_factors(X, Y, rank=2, penalty=0.1, options=options)
    assert np.array_equal(again.W, expected.W)


def test_a_checkpoint_belongs_to_one_fit(tmp_path, monkeypatch):
    X, Y, _ = data()
    options = replace(QUICK, checkpoint=tmp_path / "c")
    with monkeypatch.context() as slow:  # a clock that goes on by an hour at each look
        slow.setattr("time.perf_counter", itertools.count(0, 3600).__next__)
        done = fit_factors(X, Y, rank=3, penalty=0.5, options=options)
    again = fit_factors(X, Y, rank=3, penalty=0.5, options=options)
    assert np.array_equal(done.W, again.W)
    assert again.trace == done.trace  # seconds too: nothing was done
    longer = fit_factors(X, Y, rank=3, penalty=0.5, options=replace(options, max_iter=6))
    assert longer.iterations == 6
    seconds = [point.seconds for point in longer.trace]
    assert seconds == sorted(seconds)
    other = Y.copy()
    other.data = other.data * 2
    changed = {
        "rank": ((X, Y), {"rank": 2}),
        "penalty": ((X, Y), {"penalty": 0.6}),
        "loss": ((X, Y), {"loss": "logistic"}),
        "data": ((X, other), {}),
        "random_state": ((X, Y), {"random_state": 1}),
        "intercept": ((X, Y), {"options": replace(options, intercept=True)}),
    }
    for name, (arrays, change) in changed.items():
        arguments = {"rank": 3, "penalty": 0.5, "options": options, **change}
        with pytest.raises(ValueError, match=f"another fit, which differs in {name};"):
            fit_factors(*arrays, **arguments)
    own = type("Own", (Squared,), {})()
    for width in (1.0, 2.0):  # a parameter of a loss of one's own
        vars(own)["width"] = width
        arguments = {"rank": 3, "penalty": 0.5, "loss": own}
        arguments["options"] = replace(options, checkpoint=tmp_path / "own")
        differs = pytest.raises(ValueError, match="differs in loss;")
        with differs if width == 2.0 else nullcontext():
            fit_factors(X, Y, **arguments)
    (tmp_path / "c").write_bytes((tmp_path / "c").read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged"):
        fit_factors(X, Y, rank=3, penalty=0.5, options=options)
    with pytest.raises(ValueError, match="folder that exists"):
        fit_factors(
            X, Y, rank=3, penalty=0.5, options=replace(options, checkpoint=tmp_path / "no" / "c")
        )


LIMITED = """
import resource, sys, threading
from concurrent.futures import ThreadPoolExecutor
threading.stack_size(1 << 20)  # stacks of threads that first start later are memory too
import numpy as np
from leml_solver import AlternatingOptions
from leml_solver.algorithms import Plan
from leml_solver.blocks import fit_blocks
plan = Plan(factorise=False)
options = AlternatingOptions(max_iter=1, tol=0.0, certify=False, start="normal", method=plan)
fit_blocks({small!r}, rank=4, penalty=1.0, options=options)  # compiled and warm
A = np.ones((500, 500))
with ThreadPoolExecutor(4) as pool:  # BLAS has a buffer for each thread that is within it
    list(pool.map(lambda _: A @ A, range(40)))
used = next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith("VmData"))
limit = used * 1024 + {more}
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    np.ones({stored}, dtype=np.uint8)  # the rows do not fit
    sys.exit(3)
except MemoryError:
    pass
fit_blocks({large!r}, rank=4, penalty=1.0, options=options)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux")
def test_rows_ten_times_larger_than_the_memory_left_train(tmp_path):
    rng = np.random.default_rng(0)

    def rows(count):
        for _ in range(count):
            X = sp.csr_array(rng.random((2000, 200)))
            yield Dataset(X, sp.csr_array((rng.random((2000, 8)) < 0.2).astype(np.int32)))

    write_blocks(tmp_path / "small", rows(3), nonzeros=400_000)
    large = write_blocks(tmp_path / "large", rows(48), nonzeros=400_000)
    stored = sum(f.stat().st_size for f in (tmp_path / "large").rglob("*.npy"))
    more = 20 << 20
    assert stored > 10 * more
    assert len(large.blocks) == 48
    code = LIMITED.format(
        small=str(tmp_path / "small"), large=str(tmp_path / "large"), more=more, stored=stored
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_no_blocks():
    with pytest.raises(ValueError, match="`number of blocks` must be at least 1, got 0"):
        LEMLClassifier().fit_blocks([])
