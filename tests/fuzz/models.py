"""Model files that are well formed, checksum included, but whose parts are not those of a model.

Whatever loads must predict finite scores; anything else is refused by `ModelFileError`.
"""

import copy
import functools
import json
import math
import tempfile
from pathlib import Path

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from leml_solver import LEMLClassifier, LEMLRegressor, ModelFileError, load_model, save_model
from leml_solver import persistence as module
from leml_solver._archives import read_arrays, write_arrays
from tests.fuzz.readers import bent_array, bent_bytes

X = np.random.default_rng(0).poisson(1.0, (12, 4)).astype(float)
Y = (X[:, :3] > 0.5).astype(float)
VALUES = (
    *(None, True, False, 0, 1, 2, -1, 3, 10**9, 10**30, 0.5, -0.0, 1e300, math.nan, math.inf),
    *("", "auto", "squared", "logistic", "binary", "multilabel", "rank", "precomputed", "W_"),
    *([], [1], {}, {"a": 1}, [None], "MAX_ITER", "CONVERGED", "LEMLRegressor", "StandardScaler"),
)


@functools.cache
def models():
    """Return fitted models of each kind."""
    few = {"rank": 2, "penalty": 0.5, "max_iter": 2, "random_state": 0}
    return [
        LEMLClassifier(**few).fit(X, Y),
        LEMLClassifier(**few, loss="logistic").fit(X.astype(np.float32), Y),
        LEMLClassifier(**few).fit(X, np.array(["a", "b", "c"])[np.arange(12) % 3]),
        LEMLClassifier(**few).fit(X, np.arange(12) % 2),
        LEMLRegressor(**few).fit(X, Y),
        LEMLRegressor(**few).fit(X, X[:, 0]),
        *(
            make_pipeline(*steps, LEMLClassifier(**few)).fit(X, Y)
            for steps in (
                [StandardScaler()],
                [MaxAbsScaler(), Normalizer()],
                [MinMaxScaler()],
                [TfidfTransformer(), TruncatedSVD(2, random_state=0)],
            )
        ),
    ]


@functools.cache
def saved(number):
    """Return header and arrays of a saved model, and its bytes."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "model"
        save_model(models()[number], path)
        arrays, content = read_arrays(path), path.read_bytes()
    return json.loads(arrays.pop("header").tobytes()), arrays, content


def places(value, path=()):
    """Yield the path of every value inside a JSON value."""
    inside = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else inside:
        yield (*path, key)
        yield from places(inner, (*path, key))


def bent_header(header, rng):
    """Return a header with a value exchanged or left out."""
    made = copy.deepcopy(header)
    where = [place for place in places(made) if place[0] != "sha256"]
    *outer, last = where[rng.integers(len(where))]
    target = made
    for key in outer:
        target = target[key]
    if rng.random() < 0.15 and isinstance(target, dict):
        del target[last]
    else:
        target[last] = VALUES[rng.integers(len(VALUES))]
    return made


def bent_arrays(arrays, rng):
    """Return arrays of which one is bent, gone, added, or of wild numbers."""
    made, name = dict(arrays), sorted(arrays)[rng.integers(len(arrays))]
    kind = rng.integers(5)
    if kind == 0:
        del made[name]
    elif kind == 1:
        made[str(rng.choice(["extra", "label_names_", "classes_", "step0_scale_"]))] = np.ones(3)
    elif kind == 2 and made[name].dtype.kind == "f":
        made[name] = made[name] * rng.choice([0.0, 1e-310, 1e160, -1e305])
    else:
        made[name] = bent_array(made[name], rng)
    return made


def case(rng: np.random.Generator, folder: Path) -> None:
    """Load one file, and predict with what it holds."""
    number = int(rng.integers(len(models())))
    header, arrays, content = saved(number)
    path = folder / "model"
    if rng.random() < 0.1:
        path.write_bytes(bent_bytes(content, rng))
    else:
        if rng.random() < 0.6:
            header = bent_header(header, rng)
        if rng.random() < 0.6:
            arrays = bent_arrays(arrays, rng)
        header = {**header, "sha256": module._digest(header, arrays)}
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        write_arrays(path, {"header": text, **arrays})
    try:
        model = load_model(path)
    except ModelFileError as error:
        assert "model" in str(error), error
        return
    check_predictions(model, rng)


def check_predictions(model, rng):
    """Assert that a loaded model predicts finite scores for usual features."""
    steps = model.steps if isinstance(model, Pipeline) else [("model", model)]
    last = steps[-1][1]
    width = getattr(steps[0][1], "n_features_in_", last.n_features_in_)
    features = rng.normal(size=(3, width)) ** 2
    predicted = model.predict(features)
    assert predicted.shape[0] == 3  # a changed file may ask for sparse predictions
    if last.target_kind_ in ("vector", "matrix"):
        assert np.isfinite(np.asarray(predicted, dtype=float)).all()
        return
    assert np.isfinite(np.asarray(model.decision_function(features), dtype=float)).all()
    if hasattr(last, "predict_proba"):
        assert np.isfinite(np.asarray(model.predict_proba(features), dtype=float)).all()
    if not isinstance(model, Pipeline):
        model.predict_topk(features, 1)
        repr(model)
    assert isinstance(last.certificate_, type(None)) or last.certificate_.gap is not None
