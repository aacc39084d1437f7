"""Whether the parts of a model file make a model that predicts: types, shapes and ranges."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from argument_checks import nonnegative, one_of, positive, positive_integer, truth_value
from leml_solver._factored.certificate import FactorCertificate
from leml_solver.losses import LOSSES

KINDS = {
    "LEMLClassifier": ("binary", "multiclass", "multilabel"),
    "LEMLRegressor": ("vector", "matrix"),
}
_COUNTS = ("n_features_in_", "n_iter_", "rank_")
_FEWEST_CLASSES = 3  # of a multiclass model; two make a binary one
_LARGEST = 1e100  # no product of a feature, a scale and two factors of this size overflows


def check_model(model: Any, certificate: Any) -> None:
    """Raise ValueError or TypeError unless predictions of the model are finite and well formed."""
    _check_parameters(model)
    one_of(model.target_kind_, "target_kind_", KINDS[type(model).__name__])
    for name in _COUNTS:
        positive_integer(getattr(model, name), name)
    for name in ("objective_", "threshold_", "penalty_"):
        _check_number(getattr(model, name), name)
    for name in ("sparse_output_", "unit_rows_"):
        truth_value(getattr(model, name), name)
    d, L, k = model.n_features_in_, model.H_.shape[0], model.rank_
    for name, shape in (("W_", (d, k)), ("H_", (L, k)), ("intercept_", (L,))):
        check_floats(getattr(model, name), name, shape)
    _check_labels(model, L)
    _check_names(getattr(model, "label_names_", None), "label_names_", L)
    _check_names(getattr(model, "feature_names_in_", None), "feature_names_in_", d)
    if certificate is not None and not all(map(_is_number, _certified(certificate))):
        raise TypeError("the certificate must hold numbers")


def _check_parameters(model: Any) -> None:
    """Raise unless the constructor's arguments are such that `fit` would take them."""
    for name, check in (("rank", positive_integer), ("penalty", positive)):
        if getattr(model, name) != "auto":
            check(getattr(model, name), name)
    if getattr(model, "unit_rows", "auto") != "auto":
        truth_value(model.unit_rows, "unit_rows")
    one_of(getattr(model, "loss", "squared"), "loss", tuple(LOSSES))
    one_of(model.kernel, "kernel", (None, "precomputed"))
    one_of(model.certify, "certify", (None, False, True, "rank"))
    for name in ("fit_intercept", "verbose"):
        truth_value(getattr(model, name), name)
    positive_integer(model.max_iter, "max_iter")
    nonnegative(model.tol, "tol")
    if model.random_state is not None:
        positive_integer(model.random_state + 1, "random_state + 1")
    options = model.options
    if options is not None and not isinstance(options.method, str):
        raise TypeError("the options of the solver must be words and numbers")


def check_floats(array: Any, name: str, shape: tuple[int, ...]) -> None:
    """Raise unless an array has this shape, no side of length 0, and usual finite numbers."""
    if array.shape != shape or array.size == 0:
        raise ValueError(f"`{name}` must have shape {shape}, got {array.shape}")
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        raise ValueError(f"`{name}` must be floating-point numbers, got {array.dtype}")
    if not np.isfinite(array).all() or float(np.abs(array).max()) > _LARGEST:
        raise ValueError(f"`{name}` must be finite and at most {_LARGEST:g} in size")


def _check_number(value: Any, name: str) -> None:
    if not _is_number(value) or not abs(value) <= _LARGEST:
        raise ValueError(f"`{name}` must be a finite number, got {value!r}")


def _is_number(value: Any) -> bool:
    """Whether a JSON value is a number, NaN and infinity among them."""
    return type(value) is float or (type(value) is int and abs(value) <= _LARGEST)


def _certified(certificate: FactorCertificate) -> list[Any]:
    values = [getattr(certificate, name) for name in certificate.__slots__]
    return values if certificate.rank_lower_bound is not None else values[:-1]


def _check_labels(model: Any, L: int) -> None:
    """Raise unless classes and values of labels are as `predict` needs them."""
    unobserved = model.unobserved_labels_
    if unobserved.ndim != 1 or unobserved.dtype.kind not in "iu":
        raise ValueError(f"`unobserved_labels_` must be label numbers, got {unobserved.dtype}")
    if unobserved.size and not 0 <= unobserved.min() <= unobserved.max() < L:
        raise ValueError(f"`unobserved_labels_` must lie in [0, {L})")
    kind = model.target_kind_
    if kind in ("binary", "vector") and L != 1:
        raise ValueError(f"a model of a vector must have one column of scores, got {L}")
    if kind in KINDS["LEMLRegressor"]:
        return
    count = max(L, _FEWEST_CLASSES) if kind == "multiclass" else 2
    _check_distinct(model.label_values_, "label_values_", count)
    _check_distinct(model.classes_, "classes_", L if kind == "multilabel" else count)
    if kind == "multiclass" and count != L:
        raise ValueError(f"{count} classes need as many columns of scores, got {L}")
    if kind == "multilabel" and model.label_values_.dtype.kind not in "biuf":
        raise ValueError("`label_values_` must be two numbers")


def _check_distinct(array: NDArray[Any], name: str, count: int) -> None:
    if array.shape != (count,) or array.dtype.kind not in "biufU" or not array.dtype.isnative:
        raise ValueError(f"`{name}` must be {count} numbers or strings, got {array.dtype}")
    if np.unique(array).size != count or (array.dtype.kind == "f" and np.isnan(array).any()):
        raise ValueError(f"`{name}` must be distinct")


def _check_names(names: Any, name: str, count: int) -> None:
    if names is None:
        return
    listed = names.tolist()
    if names.shape != (count,) or any(isinstance(item, bytes | complex) for item in listed):
        raise ValueError(f"`{name}` must be {count} names, got {names.dtype} {names.shape}")
    if name == "feature_names_in_" and len(set(listed)) < count:
        raise ValueError(f"`{name}` must be distinct")


def check_pipeline(steps: list[tuple[str, Any]], model: Any, name: Any) -> None:
    """Raise unless the widths of the steps fit together and a row of ones has finite scores."""
    names = [*(step for step, _ in steps), name]
    if not all(isinstance(text, str) and text and "__" not in text for text in names):
        raise ValueError(f"steps must have names without '__', got {names}")
    if len(set(names)) < len(names):
        raise ValueError(f"steps must have different names, got {names}")
    width = model.n_features_in_
    for step, transformer in reversed(steps):
        transformer._validate_params()
        width = _width_before(step, transformer, width)
    row = np.ones((1, width))
    with np.errstate(all="ignore"):
        for _, transformer in steps:
            row = transformer.transform(row)
        scores = model._block_scores(row).block(0, 1)
    if not np.isfinite(scores).all():
        raise ValueError("the scores of a row of ones are not finite")


def _width_before(step: str, transformer: Any, width: int) -> int:
    """Return how many columns a transformer takes to give `width`; its arrays must have as many."""
    components = getattr(transformer, "components_", None)
    before = width if components is None else components.shape[-1]
    if getattr(transformer, "n_features_in_", before) != before:
        raise ValueError(f"step {step!r} must take {before} columns")
    transformer.n_features_in_ = int(before)  # a file need not say it
    for name, array in vars(transformer).items():
        if isinstance(array, np.ndarray):
            check_floats(array, name, (width, before) if name == "components_" else (before,))
            if name == "scale_" and float(np.abs(array).min()) < 1 / _LARGEST:
                raise ValueError(f"`scale_` of step {step!r} must not be near zero")
    if not math.isfinite(sum(getattr(transformer, "feature_range", (0, 1)))):
        raise ValueError(f"step {step!r} must have a finite range")
    return int(before)
