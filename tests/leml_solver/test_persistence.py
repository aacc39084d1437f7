"""Models come back as they were; anything else in a file gives a clear error and runs nothing."""

import base64
import json
import os
import pickle
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    StandardScaler,
)

from leml_solver._archives import read_arrays, write_arrays
from leml_solver._factored.fit import AlternatingOptions
from leml_solver.cross_validation import LEMLClassifierCV
from leml_solver.estimators import LEMLClassifier, LEMLRegressor
from leml_solver.losses import LOSSES, Logistic, Squared
from leml_solver.persistence import ModelFileError, load_model, save_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = (X[:, :3] + RNG.normal(size=(30, 3)) > 0).astype(float)
HOLES = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)


def fitted(target=HOLES, **parameters):
    return LEMLClassifier(2, **{"random_state": 0, **parameters}).fit(X, target)


MODELS = {
    "multilabel": fitted(),
    "float32": LEMLClassifier(2, random_state=0).fit(X.astype(np.float32), Y),
    "logistic": fitted(loss=Logistic(), options=AlternatingOptions(certify=False, order="WH")),
    "strings": fitted(np.array(["no", "yes", "maybe"], dtype=object)[np.arange(30) % 3]),
    "frame": fitted(pd.DataFrame(HOLES, columns=list("abc"))),
    "generator": fitted(random_state=np.random.default_rng(1)),
    "regressor": LEMLRegressor(2, random_state=0).fit(pd.DataFrame(X, columns=list("wxyz")), Y),
    "kernel": LEMLClassifier(2, kernel="precomputed", random_state=0).fit(X @ X.T, Y),
}


@pytest.fixture(scope="module")
def content():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save_model(MODELS["multilabel"], path)
        return path.read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_models_come_back_to_the_bit(tmp_path, name):
    model, path = MODELS[name], tmp_path / "model"
    save_model(model, path)
    again = load_model(path)
    assert type(again) is type(model)
    features = X @ X.T if name == "kernel" else X
    features = pd.DataFrame(X, columns=list("wxyz")) if name == "regressor" else features
    assert np.array_equal(again.predict(features), model.predict(features))
    for key in ("W_", "H_", "intercept_", "unobserved_labels_"):
        assert np.array_equal(getattr(again, key), getattr(model, key))
        assert getattr(again, key).dtype == getattr(model, key).dtype
    for key in ("certificate_", "status_", "threshold_", "n_iter_", "objective_", "rank_"):
        assert getattr(again, key) == getattr(model, key)
    assert again.penalty == model.penalty
    assert again.fit(features, Y).W_.shape[0] == model.W_.shape[0]  # parameters are whole


def test_names_and_classes_come_back(tmp_path):
    save_model(MODELS["frame"], tmp_path / "frame")
    assert list(load_model(tmp_path / "frame").predict(X).columns) == list("abc")
    save_model(MODELS["strings"], tmp_path / "strings")
    assert load_model(tmp_path / "strings").classes_.tolist() == ["maybe", "no", "yes"]
    save_model(MODELS["regressor"], tmp_path / "regressor")
    with pytest.raises(ValueError, match="feature names"):
        load_model(tmp_path / "regressor").predict(pd.DataFrame(X, columns=list("zyxw")))


def test_numpy_reads_the_file_without_pickle(tmp_path, content):
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    with np.load(path, allow_pickle=False) as archive:
        assert np.array_equal(archive["W_"], MODELS["multilabel"].W_)
        assert json.loads(archive["header"].tobytes())["version"] == 2


def loaded(folder, content):
    path = Path(folder) / "model"
    path.write_bytes(content)
    return load_model(path)


@pytest.mark.parametrize("cut", [0, 1, 10, 100, 1000])
def test_cut_files(tmp_path, content, cut):
    with pytest.raises(ModelFileError, match="damaged"):
        loaded(tmp_path, content[:cut])
    with pytest.raises(ModelFileError, match="damaged"):
        loaded(tmp_path, content[: len(content) - 1 - cut])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0), st.integers(1, 255)), min_size=1, max_size=5))
def test_changed_bytes_are_seen(content, changes):
    """Whatever byte changes: an error, or (in bytes that zip does not use) the very same model."""
    changed = bytearray(content)
    for at, flip in changes:
        changed[at % len(changed)] ^= flip
    with tempfile.TemporaryDirectory() as folder:
        try:
            model = loaded(folder, bytes(changed))
        except ModelFileError:
            return
    assert np.array_equal(model.W_, MODELS["multilabel"].W_)
    assert np.array_equal(model.H_, MODELS["multilabel"].H_)


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=200))
def test_foreign_bytes(content):
    with tempfile.TemporaryDirectory() as folder, pytest.raises(ModelFileError):
        loaded(folder, content)


class Bomb:
    """An object that runs something when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, (str(Path(tempfile.gettempdir()) / "leml_bomb"),)


def test_pickles_are_not_opened(tmp_path, content):
    with pytest.raises(ModelFileError):
        loaded(tmp_path, pickle.dumps(Bomb()))
    path = tmp_path / "objects.npz"
    np.savez(path, W_=np.array([Bomb()], dtype=object))
    with pytest.raises(ModelFileError, match="plain array"):
        load_model(path)
    assert not (Path(tempfile.gettempdir()) / "leml_bomb").exists()


def test_compressed_members_are_refused(tmp_path):
    path = tmp_path / "bomb"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("W_.npy", b"\0" * 10**7)
    with pytest.raises(ModelFileError, match="stored as they are"):
        load_model(path)


def rewritten(tmp_path, content, **changes):
    """Write a model with another header or other arrays, its checksum left as it was."""
    path = tmp_path / "model"
    path.write_bytes(content)
    arrays = read_arrays(path)
    header = {**json.loads(arrays["header"].tobytes()), **changes.pop("header", {})}
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    write_arrays(path, {**arrays, **changes, "header": text})
    return path


def test_changed_parts_do_not_pass(tmp_path, content):
    with pytest.raises(ModelFileError, match="checksum"):
        load_model(rewritten(tmp_path, content, W_=np.zeros((4, 2))))
    with pytest.raises(ModelFileError, match="checksum"):
        load_model(rewritten(tmp_path, content, header={"estimator": "LEMLRegressor"}))
    with pytest.raises(ModelFileError, match="version 99"):
        load_model(rewritten(tmp_path, content, header={"version": 99}))
    with pytest.raises(ModelFileError, match="another file"):
        load_model(rewritten(tmp_path, content, header={"format": "other"}))
    np.savez(tmp_path / "other.npz", W_=np.eye(2))
    with pytest.raises(ModelFileError, match="written by save_model"):
        load_model(tmp_path / "other.npz")


def test_a_sound_checksum_over_parts_that_do_not_fit(tmp_path, content, monkeypatch):
    monkeypatch.setattr("leml_solver.persistence._digest", lambda header, arrays: "same")
    for changes in (
        {"header": {"sha256": "same", "parameters": {"penalty": 1}}},
        {"header": {"sha256": "same", "estimator": "os.system"}},
        {"header": {"sha256": "same"}, "H_": np.zeros((3, 1))},
        {"header": {"sha256": "same"}, "W_": np.zeros((4, 2), dtype=int)},
        {"header": {"sha256": "same", "facts": []}},
        {"header": {"sha256": "same", "status": "NONE"}},
        {"header": {"sha256": "same"}, "feature_names_in_": np.full(4, "a")},
        {"header": {"sha256": "same"}, "label_names_": np.full(3, b"a")},
    ):
        with pytest.raises(ModelFileError, match="do not fit together"):
            load_model(rewritten(tmp_path, content, **changes))


def test_what_cannot_be_saved(tmp_path, monkeypatch):
    class Own(Squared):
        pass

    with pytest.raises(ValueError, match="fitted"):
        save_model(LEMLClassifier(), tmp_path / "model")
    with pytest.raises(ValueError, match="must be one of LEMLClassifier"):
        save_model(object(), tmp_path / "model")
    with pytest.raises(ValueError, match="`loss` must come with leml_solver"):
        save_model(fitted(loss=Own()), tmp_path / "model")
    monkeypatch.setitem(LOSSES, "own", Own())
    with pytest.raises(ValueError, match="must come with leml_solver to be saved, got 'own'"):
        save_model(fitted(loss="own"), tmp_path / "model")
    with pytest.raises(ValueError, match="`kernel` must be None"):
        save_model(fitted(kernel=lambda A, B: A @ B.T), tmp_path / "model")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent")


def test_a_model_of_version_0_1_0_is_loaded(tmp_path):
    """Written by that version: logistic loss, missing labels, frames, an order of its own."""
    path = tmp_path / "model"
    path.write_bytes(base64.b64decode((Path(__file__).parent / "model_0_1_0.base64").read_text()))
    model = load_model(path)
    units = pd.DataFrame(np.eye(4), columns=list("wxyz"))
    scores = model.decision_function(units)
    printed = [
        [0.7406468642254926, 0.7703861674097157, -0.3294035681649682],
        [-0.048907623710255275, 2.120829208141023, 0.2659569194936575],
        [-0.8500933797504966, -0.12168617993481326, 1.0415137376537604],
        [-0.2241465362657561, 0.24854018574866818, 0.5011548403132949],
    ]
    assert list(scores.columns) == list("abc")
    # Products of two numbers of size one, summed twice: a few roundings of 1e-16.
    assert np.allclose(scores, printed, rtol=0, atol=1e-14)
    assert (model.penalty, model.loss, model.options.order) == (0.5, "logistic", "WH")
    assert model.certificate_.lower_bound == 12.88477882207671
    assert model.status_.name == "CONVERGED"


@pytest.mark.parametrize(
    "transformers",
    [
        [StandardScaler(with_mean=False)],
        [StandardScaler(with_std=False)],
        [MaxAbsScaler(), Normalizer("l1")],
        [MinMaxScaler((-1, 2))],
        [TfidfTransformer(sublinear_tf=True)],
        [TfidfTransformer(use_idf=False), TruncatedSVD(3, random_state=0)],
        [],
    ],
)
def test_pipelines_come_back(tmp_path, transformers):
    rng = np.random.default_rng(3)
    X = rng.poisson(1.0, (40, 6)).astype(float)
    Y = (X[:, :3] > 1).astype(int)
    model = make_pipeline(*transformers, LEMLClassifier(2, random_state=0)).fit(X, Y)
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert [name for name, _ in again.steps] == [name for name, _ in model.steps]
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ValueError, match="features"):
        again.predict(X[:, :5])


def test_unknown_transformers_are_refused(tmp_path):
    model = make_pipeline(PolynomialFeatures(), LEMLClassifier(1, random_state=0))
    model.fit(np.eye(4), np.eye(4)[:, :2])
    with pytest.raises(ValueError, match=r"can be saved with MaxAbsScaler.*got PolynomialFeatures"):
        save_model(model, tmp_path / "model")


def test_a_search_is_saved_as_the_model_it_chose(tmp_path):
    X, Y = np.tile(np.eye(4), (5, 1)), np.tile([[1, 0], [1, 0], [0, 1], [0, 1]], (5, 1))
    search = LEMLClassifierCV(penalties=[0.1, 1.0], random_state=0)
    for model in (search, make_pipeline(StandardScaler(), search)):
        save_model(model.fit(X, Y), tmp_path / "m")
        loaded = load_model(tmp_path / "m")
        assert np.array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_pipeline_knows_its_width_though_a_step_was_never_fitted(tmp_path):
    """`n_features_in_` was that of the last step, and rows of that width ended in an error."""
    svd = TruncatedSVD(2, random_state=0).fit(X)
    model = LEMLClassifier(1, random_state=0).fit(svd.transform(X), Y)
    save_model(make_pipeline(Normalizer(), svd, model), tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.n_features_in_ == loaded.steps[0][1].n_features_in_ == 4
    assert loaded.predict(X).shape == Y.shape
