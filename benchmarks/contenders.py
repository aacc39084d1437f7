"""What a user might fit to a label matrix: ours, scikit-learn's and napkinXC's, in one form."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from leml_solver import LEMLClassifier
from leml_solver.baselines import (
    BinaryRelevanceClassifier,
    CPLSTClassifier,
    LabelFrequencyClassifier,
    WSABIEClassifier,
)

TOP = 5
FLOOR = "label frequencies"


class Model(Protocol):
    """A fitted model."""

    n_bytes: int

    def best(self, X):
        """Return the TOP labels of each row."""

    def scores(self, X):
        """Return the scores of all labels, (m, L)."""


@dataclass(frozen=True)
class Contender:
    """A method with the settings that validation on training rows chooses from.

    Attributes
    ----------
    name, package : str
        What it is, and where it comes from.
    fit : callable
        fit(X, Y, threads, **setting) -> Model.
    settings : tuple of dict
        Their order breaks ties.
    needs : str
        A package that may be absent.
    """

    name: str
    package: str
    fit: Callable[..., Model]
    settings: tuple[dict[str, Any], ...]
    needs: str = ""

    @property
    def available(self) -> bool:
        """Whether its package is installed."""
        return not self.needs or find_spec(self.needs) is not None


@dataclass(frozen=True, eq=False)
class SklearnModel:
    """An estimator of scikit-learn with a decision function."""

    estimator: Any
    n_bytes: int

    def best(self, X):
        """Return the labels of largest score."""
        scores = self.scores(X)
        return np.argpartition(-scores, min(TOP, scores.shape[1]) - 1, axis=1)[:, :TOP]

    def scores(self, X):
        """Return the scores of all labels."""
        return self.estimator.decision_function(X)


@dataclass(frozen=True, eq=False)
class Ours(SklearnModel):
    """An estimator of this project."""

    n_labels: int

    def best(self, X):
        """Return the best labels without n x L memory."""
        return self.estimator.predict_topk(X, min(TOP, self.n_labels))


@dataclass(frozen=True, eq=False)
class NapkinModel:
    """A model of napkinXC, which lives in a folder."""

    model: Any
    folder: Any
    n_labels: int

    @property
    def n_bytes(self) -> int:
        """Bytes of the files it is stored in."""
        return sum(p.stat().st_size for p in Path(self.folder.name).rglob("*") if p.is_file())

    def best(self, X):
        """Return the labels of largest probability."""
        return self.model.predict(X, top_k=TOP)

    def scores(self, X):
        """Return the probability of every label; 0 where none is given."""
        scores = np.zeros((X.shape[0], self.n_labels))
        for row, found in zip(
            scores, self.model.predict_proba(X, top_k=self.n_labels), strict=True
        ):
            for label, value in found:
                row[label] = value
        return scores


def _bytes(estimator: Any, names: tuple[str, ...]) -> int:
    """Return the size of the arrays a prediction needs, as they are stored."""
    return sum(np.asarray(getattr(estimator, name)).nbytes for name in names)


def _leml(X, Y, threads, **setting):  # noqa: ARG001
    model = LEMLClassifier(random_state=0, tol=0.0, **setting).fit(X, Y)
    return Ours(model, _bytes(model, ("W_", "H_", "intercept_")), Y.shape[1])


def _wsabie(X, Y, threads, **setting):  # noqa: ARG001
    model = WSABIEClassifier(random_state=0, **setting).fit(X, Y)
    return Ours(model, _bytes(model, ("W_", "H_")), Y.shape[1])


def _cplst(X, Y, threads, **setting):  # noqa: ARG001
    model = CPLSTClassifier(**setting).fit(X, Y)
    return Ours(model, _bytes(model, ("W_", "H_", "code_intercept_", "label_means_")), Y.shape[1])


def _frequencies(X, Y, threads, **setting):  # noqa: ARG001
    model = LabelFrequencyClassifier(**setting).fit(X, Y)
    return Ours(model, _bytes(model, ("frequencies_",)), Y.shape[1])


def _relevance(X, Y, threads, **setting):  # noqa: ARG001
    model = BinaryRelevanceClassifier(**setting).fit(X, Y)
    return Ours(model, _bytes(model, ("Z_", "intercept_")), Y.shape[1])


def _ridge(X, Y, threads, **setting):  # noqa: ARG001
    from sklearn.linear_model import RidgeClassifier

    # Dense X, which both data sets allow, is ten times faster: one Cholesky factor for all labels.
    model = RidgeClassifier(**setting).fit(X.toarray(), Y.toarray())
    return SklearnModel(model, _bytes(model, ("coef_", "intercept_")))


def _one_vs_rest(kind, X, Y, threads, **setting):
    from sklearn import linear_model, svm
    from sklearn.multiclass import OneVsRestClassifier

    made = {
        "logistic": lambda: linear_model.LogisticRegression(solver="liblinear", **setting),
        "svc": lambda: svm.LinearSVC(random_state=0, **setting),
    }[kind]()
    model = OneVsRestClassifier(made, n_jobs=threads).fit(X, Y)
    fitted = [one for one in model.estimators_ if hasattr(one, "coef_")]
    return SklearnModel(model, sum(_bytes(one, ("coef_", "intercept_")) for one in fitted))


def napkin_model(kind, X, Y, threads, **setting):
    """Fit a model of napkinXC in a folder of its own."""
    from napkinxc import models

    folder = tempfile.TemporaryDirectory()
    options = {"seed": 0} if kind == "PLT" else {}
    model = getattr(models, kind)(folder.name, threads=threads, **options, **setting)
    model.fit(X, Y.astype(np.float32))  # it accepts no integers in a sparse matrix
    return NapkinModel(model, folder, Y.shape[1])


def _grid(first: dict[str, Any], **lists: tuple[Any, ...]) -> tuple[dict[str, Any], ...]:
    """Return `first` with every combination of the listed values."""
    settings = [first]
    for name, values in lists.items():
        settings = [{**one, name: value} for one in settings for value in values]
    return tuple(settings)


def contenders(ranks: tuple[int, ...]) -> list[Contender]:
    """Return the methods; LEML and CPLST at each rank, the costly losses at the middle one."""
    middle, wide = ranks[len(ranks) // 2], (1.0, 10.0, 100.0)
    made = [
        Contender(FLOOR, "ours", _frequencies, ({},)),
        *(
            Contender(
                f"LEML squared k={k}", "ours", _leml,
                _grid({"rank": k}, penalty=(1.0, 3.0, 10.0, 30.0), max_iter=(2, 5)),
            )
            for k in ranks
        ),
        *(
            Contender(
                f"LEML {loss} k={middle}", "ours", _leml,
                _grid({"rank": middle, "loss": loss}, penalty=(3.0, 10.0, 30.0), max_iter=(3,)),
            )
            for loss in ("logistic", "squared_hinge")
        ),
        *(
            Contender(f"CPLST k={k}", "ours", _cplst, _grid({"rank": k}, ridge=(0.1, *wide)))
            for k in ranks
        ),
        Contender(
            f"WSABIE k={middle}", "ours", _wsabie,
            _grid({"rank": middle}, learning_rate=(0.03, 0.1), epochs=(5,)),
        ),
        *(
            Contender(
                f"BR {loss}", "ours", _relevance, _grid({"loss": loss}, penalty=(0.1, *wide))
            )
            for loss in ("squared", "logistic", "squared_hinge")
        ),
        Contender("ridge", "scikit-learn", _ridge, _grid({}, alpha=(0.1, *wide))),
        Contender(
            "one-vs-rest logistic", "scikit-learn", partial(_one_vs_rest, "logistic"),
            _grid({}, C=(0.01, 0.1, 1.0)),
        ),
        Contender(
            "one-vs-rest linear SVC", "scikit-learn", partial(_one_vs_rest, "svc"),
            _grid({}, C=(0.001, 0.01, 0.1)),
        ),
        *(
            Contender(
                kind, "napkinXC", partial(napkin_model, kind),
                _grid({}, liblinear_c=(1.0, 10.0, 100.0)), "napkinxc",
            )
            for kind in ("PLT", "BR")
        ),
    ]  # fmt: skip
    return made
