"""Save and load fitted estimators without pickle: a model file cannot execute anything.

A model is an npz file with uncompressed plain arrays and a JSON text (`header`) that holds the
format's version, the estimator's parameters and the SHA-256 of all arrays and of itself. A pipeline
adds the parameters and the fitted arrays of its scikit-learn transformers, which must be known.
"""

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from argument_checks.wrong_types import errors_name_arguments
from leml_solver._archives import ArchiveError, read_arrays, write_arrays
from leml_solver._factored.certificate import FactorCertificate
from leml_solver._factored.fit import AlternatingOptions, FitStatus
from leml_solver._model_checks import check_model, check_pipeline
from leml_solver.estimators import LEMLClassifier, LEMLRegressor
from leml_solver.losses import LOSSES, Loss

__all__ = ["FORMAT_VERSION", "ModelFileError", "load_model", "save_model"]

FORMAT_VERSION = 2  # 1 has no transformers before the estimator
_FORMAT = "leml_solver model"
_ESTIMATORS: dict[str, type[LEMLClassifier] | type[LEMLRegressor]] = {
    "LEMLClassifier": LEMLClassifier,
    "LEMLRegressor": LEMLRegressor,
}
_ARRAYS = ("W_", "H_", "intercept_", "unobserved_labels_")
_OPTIONAL = ("classes_", "label_values_", "label_names_", "feature_names_in_")
_FACTS = (
    *("n_features_in_", "n_iter_", "rank_", "objective_", "threshold_"),
    *("target_kind_", "sparse_output_"),
)
# Transformers that may come before the estimator, with what they learn from data.
_TRANSFORMERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "MaxAbsScaler": (MaxAbsScaler, ("max_abs_", "scale_")),
    "MinMaxScaler": (MinMaxScaler, ("min_", "scale_", "data_min_", "data_max_")),
    "Normalizer": (Normalizer, ()),
    "StandardScaler": (StandardScaler, ("mean_", "var_", "scale_")),
    "TfidfTransformer": (TfidfTransformer, ("idf_",)),
    "TruncatedSVD": (TruncatedSVD, ("components_",)),
}
_NEWER = ("penalty_", "unit_rows_")  # absent from the first files of this version

Model = LEMLClassifier | LEMLRegressor
Arrays = dict[str, NDArray[Any]]


class ModelFileError(ValueError):
    """A file that is not a sound model; the message says why.

    Examples
    --------
    >>> from pathlib import Path
    >>> from leml_solver import ModelFileError, load_model
    >>> _ = Path("notes.txt").write_text("not a model")
    >>> try:
    ...     load_model("notes.txt")
    ... except ModelFileError as error:
    ...     print(str(error).partition(" (")[0])
    notes.txt: not a sound npz file
    """


def save_model(model: Model | Pipeline, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator; the file appears under its name once it is complete.

    A pipeline may have MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler, TfidfTransformer and
    TruncatedSVD before the estimator. Of a search, `best_estimator_` is written.

    Kept: parameters, factors, intercept, classes, names, certificate, status. Not kept: the trace,
    and of `options` the start, the callback, the `RankSearch` and a `Plan` of your own. A
    random_state that is not a number, and tables of class_weight and propensities, are saved as
    None. Losses of your own cannot be saved, registered or not: a file holds no program.

    Raises
    ------
    ValueError
        If the model is not fitted or has parts that a file cannot hold.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import LEMLRegressor, load_model, save_model
    >>> model = LEMLRegressor(rank=1, random_state=0).fit(np.eye(4), np.eye(4)[:, :2])
    >>> save_model(model, "example.model")
    >>> load_model("example.model").rank
    1
    """
    model = getattr(model, "best_estimator_", model)
    steps: Any = model.steps if isinstance(model, Pipeline) else [("model", model)]
    header, arrays = _described(getattr(steps[-1][1], "best_estimator_", steps[-1][1]))
    header["name"], header["steps"] = steps[-1][0], []
    for number, (name, transformer) in enumerate(steps[:-1]):
        step, learnt = _transformer(name, transformer)
        header["steps"].append(step)
        arrays |= {f"step{number}_{key}": value for key, value in learnt.items()}
    header["pipeline"] = isinstance(model, Pipeline)
    header["sha256"] = _digest(header, arrays)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    write_arrays(path, {"header": text, **arrays})


def _described(model: Model) -> tuple[dict[str, Any], Arrays]:
    name = type(model).__name__
    if _ESTIMATORS.get(name) is not type(model):
        raise ValueError(f"`model` must be one of {', '.join(_ESTIMATORS)}, got {name}.")
    if not hasattr(model, "W_"):
        raise ValueError("`model` must be fitted before it is saved; call fit first.")
    arrays = {key: _plain(getattr(model, key), key) for key in _ARRAYS}
    given = {key: getattr(model, key, None) for key in _OPTIONAL}
    arrays |= {key: _plain(value, key) for key, value in given.items() if value is not None}
    proved = {} if model.certificate_ is None else dataclasses.asdict(model.certificate_)
    header = {
        "format": _FORMAT,
        "version": FORMAT_VERSION,
        "estimator": name,
        "parameters": _parameters(model),
        "facts": {key: _scalar(getattr(model, key)) for key in (*_FACTS, *_NEWER)},
        "status": model.status_.name,
        "certificate": {key: _scalar(value) for key, value in proved.items()} or None,
    }
    return header, arrays


def _transformer(name: str, transformer: Any) -> tuple[dict[str, Any], Arrays]:
    """Return the header and the arrays of a fitted transformer that is known."""
    kind = type(transformer).__name__
    known = _TRANSFORMERS.get(kind)
    if known is None or known[0] is not type(transformer):
        raise ValueError(
            f"a pipeline can be saved with {', '.join(_TRANSFORMERS)} alone, got {kind}; transform "
            "the features yourself and save the estimator alone."
        )
    check_is_fitted(transformer)
    parameters = {key: _scalar(value) for key, value in transformer.get_params().items()}
    if "feature_range" in parameters:
        parameters["feature_range"] = list(parameters["feature_range"])
    learnt = {key: getattr(transformer, key) for key in known[1] if hasattr(transformer, key)}
    arrays = {key: _plain(value, key) for key, value in learnt.items() if value is not None}
    width = getattr(transformer, "n_features_in_", None)
    step = {"name": name, "kind": kind, "parameters": parameters, "n_features_in_": width}
    step["learnt"] = list(learnt)  # those without an array are None
    return step, arrays


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read an estimator written by `save_model`.

    Nothing in the file is executed: arrays are plain, and the rest is JSON. Memory is that of the
    file, whatever it claims.

    Raises
    ------
    ModelFileError
        If the file is damaged, foreign, or of another version.
    OSError
        If it cannot be opened.

    Examples
    --------
    >>> import numpy as np
    >>> from leml_solver import LEMLClassifier, load_model, save_model
    >>> model = LEMLClassifier(rank=1, random_state=0).fit(np.eye(4), np.eye(4)[:, :2])
    >>> save_model(model, "example.model")
    >>> np.array_equal(load_model("example.model").W_, model.W_)
    True
    """
    try:
        arrays = read_arrays(path, compressed=False)
    except ArchiveError as error:
        raise ModelFileError(f"{error} It is not a model file, or it is damaged.") from error
    header = _header(arrays.pop("header", None), path)
    if header.get("sha256") != _digest(header, arrays):
        raise ModelFileError(f"{path}: the checksum does not match; it is damaged, copy it again.")
    try:
        model = _restored(header, arrays)
        steps = [_step(number, step, arrays) for number, step in enumerate(header.get("steps", ()))]
        _check_surplus(header, arrays, steps)
        name = header.get("name", "model")
        check_pipeline(steps, model, name)
        return Pipeline([*steps, (name, model)]) if header.get("pipeline") else model
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ModelFileError(f"{path}: parts of it do not fit together ({error}).") from error


def _plain(value: Any, name: str) -> NDArray[Any]:
    """Return an array that can be stored: numbers, booleans or strings."""
    array = np.asarray(value)
    if array.dtype.kind == "O" and all(isinstance(item, str) for item in array.ravel()):
        array = array.astype(str)
    if array.dtype.kind not in "biufU":
        raise ValueError(f"`{name}` must hold numbers or strings to be saved, got {array.dtype}.")
    return array


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _parameters(model: Model) -> dict[str, Any]:
    parameters = {key: _scalar(value) for key, value in model.get_params(deep=False).items()}
    loss = parameters.get("loss", "squared")
    parameters["loss"] = name = loss if isinstance(loss, str) else loss.name
    known = LOSSES.get(name)
    if type(known).__module__ != Loss.__module__ or not (isinstance(loss, str) or loss == known):
        raise ValueError(f"`loss` must come with leml_solver to be saved, got {loss!r}.")
    if not isinstance(parameters["kernel"], str | None):
        raise ValueError(
            "`kernel` must be None or 'precomputed' to be saved, got a function, which loading "
            "would have to run; fit on its matrix with kernel='precomputed' instead."
        )
    for key in ("random_state", "class_weight", "propensities"):
        if not isinstance(parameters.get(key), int | str | None):
            parameters[key] = None
    if parameters["options"] is not None:
        parameters["options"] = _options(parameters["options"])
    return parameters


def _options(options: AlternatingOptions) -> dict[str, Any]:
    """Return the solver's options that are words and numbers."""
    fields = {field.name: getattr(options, field.name) for field in dataclasses.fields(options)}
    return {
        name: _scalar(value)
        for name, value in fields.items()
        if isinstance(value, bool | int | float | str) and name != "checkpoint"
    }


def _digest(header: Mapping[str, Any], arrays: Arrays) -> str:
    """Return the SHA-256 of the header without its own and of all arrays in order of name."""
    rest = {key: value for key, value in header.items() if key != "sha256"}
    digest = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


def _header(text: NDArray[Any] | None, path: Any) -> dict[str, Any]:
    if text is None or text.dtype != np.uint8 or text.ndim != 1:
        raise ModelFileError(f"{path}: expected a model written by save_model, got another file.")
    try:
        header = json.loads(text.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: the header is damaged ({error}).") from error
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise ModelFileError(f"{path}: expected a model written by save_model, got another file.")
    if header.get("version") not in (1, FORMAT_VERSION):
        raise ModelFileError(
            f"{path}: written in format version {header.get('version')!r}, this program reads 1 to "
            f"{FORMAT_VERSION}; use the version of the program that wrote it."
        )
    return header


def _restored(header: dict[str, Any], arrays: Arrays) -> Model:
    parameters = dict(header["parameters"])
    if parameters["options"] is not None:
        parameters["options"] = AlternatingOptions(**parameters["options"])
    name = header["estimator"]
    if name == "LEMLRegressor":
        del parameters["loss"]
    model = _ESTIMATORS[name](**parameters)
    for key in _FACTS:
        setattr(model, key, header["facts"][key])
    older = {"penalty_": parameters["penalty"], "unit_rows_": False}
    for key in _NEWER:
        setattr(model, key, header["facts"].get(key, older[key]))
    for key in (*_ARRAYS, *(key for key in _OPTIONAL if key in arrays)):
        setattr(model, key, arrays[key])
    if "classes_" in arrays and "label_values_" not in arrays:  # written by version 0.1 or 0.2
        model.label_values_ = model.classes_
        if model.target_kind_ == "multilabel":
            model.classes_ = np.arange(model.H_.shape[0])
    model.status_, model.trace_ = FitStatus[header["status"]], ()
    certificate = header["certificate"]
    model.certificate_ = None if certificate is None else FactorCertificate(**certificate)
    _restore_names(model, arrays)
    check_model(model, model.certificate_)
    return model


def _check_surplus(header: dict[str, Any], arrays: Arrays, steps: list[Any]) -> None:
    """Raise if the file holds arrays or steps that nothing would read."""
    learnt = [_TRANSFORMERS[type(made).__name__][1] for _, made in steps]
    known = {*_ARRAYS, *_OPTIONAL}
    known |= {f"step{number}_{key}" for number, keys in enumerate(learnt) for key in keys}
    if surplus := sorted(arrays.keys() - known):
        raise ValueError(f"array {surplus[0]} is not part of a model")
    if steps and not header.get("pipeline"):
        raise ValueError("steps before an estimator need a pipeline")


def _step(number: int, step: dict[str, Any], arrays: Arrays) -> tuple[str, Any]:
    kind, learnt = _TRANSFORMERS[step["kind"]]
    parameters = dict(step["parameters"])
    if "feature_range" in parameters:
        parameters["feature_range"] = tuple(parameters["feature_range"])
    transformer = kind(**parameters)
    for key in set(step["learnt"]) & set(learnt):
        setattr(transformer, key, arrays.get(f"step{number}_{key}"))
    if step["n_features_in_"] is not None:
        transformer.n_features_in_ = step["n_features_in_"]
    return step["name"], transformer


def _restore_names(model: Model, arrays: Arrays) -> None:
    """Give names back the types that scikit-learn and pandas know them by."""
    model.label_names_ = None
    if "label_names_" in arrays:
        from pandas import Index

        model.label_names_ = Index(arrays["label_names_"])
    if "feature_names_in_" in arrays:
        model.feature_names_in_ = arrays["feature_names_in_"].astype(object)


errors_name_arguments(globals())
