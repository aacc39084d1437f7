"""Worlds by name: the words that cells, tables and the command line use for laws and patterns.

`leml_theory.extensions` adds names of your own to `LAWS` and `LABELS`.
"""

import math
import re
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from argument_checks import one_of
from leml_solver.losses import Loss
from simulations import (
    AllOnes,
    AnisotropicGaussian,
    BernoulliEntries,
    FeatureLaw,
    HeavyTailed,
    IsotropicGaussian,
    LabelModel,
    LinearLabels,
    LogisticLabels,
    NonNegative,
    Observation,
    Planted,
    RademacherVectors,
    RandomSigns,
    RankOne,
    RareOutlier,
    UniformLabels,
    WeightedLabels,
    heavy_label,
    independent_coefficients,
    low_rank_coefficients,
    shared_coefficients,
    zipf,
)

LawFactory = Callable[[int], FeatureLaw]
LabelFactory = Callable[[int, int, np.random.Generator], LabelModel]


def _anisotropic(d: int) -> FeatureLaw:
    """Return Gaussian features with variances proportional to 1/k, which sum to one."""
    variances = 1 / np.arange(1, d + 1)
    return AnisotropicGaussian(tuple((variances / variances.sum()).tolist()))


def _rare_outlier(d: int) -> FeatureLaw:
    """Return one feature that is 0.5, but -8 once in a hundred times."""
    if d != 1:
        raise ValueError(f"The law 'rare-outlier' has one feature, got d = {d}; give --d 1.")
    return RareOutlier(typical=0.5, outlier=8.0, probability=0.01)


# name -> law in d dimensions
LAWS: dict[str, LawFactory] = {
    "gaussian": IsotropicGaussian,
    "rademacher": RademacherVectors,
    "rank-one": RankOne,
    "raw-gaussian": lambda d: IsotropicGaussian(d, normalised=False),
    "non-negative": NonNegative,
    "heavy-tailed": HeavyTailed,
    "anisotropic": _anisotropic,
    "rare-outlier": _rare_outlier,
}


def _low_rank(rank: int) -> LabelFactory:
    """Return a factory of linear labels of the given rank, or of the largest possible one."""
    return lambda d, n_labels, rng: LinearLabels(
        low_rank_coefficients(d, n_labels, min(rank, d, n_labels), rng)
    )


def _nearly_shared(d: int, n_labels: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Draw Z with nine tenths of its square in one common predictor, the rest of rank two."""
    shared = shared_coefficients(d, n_labels, rng)
    own = low_rank_coefficients(d, n_labels, min(2, d, n_labels), rng)
    return math.sqrt(0.9) * shared + math.sqrt(0.1) * own


# name -> label model for d features and L labels, its coefficients drawn afresh
LABELS: dict[str, LabelFactory] = {
    "rank-1": _low_rank(1),
    "rank-3": _low_rank(3),
    "independent": lambda d, n_labels, rng: LinearLabels(
        independent_coefficients(d, n_labels, rng)
    ),
    "shared": lambda d, n_labels, rng: LinearLabels(shared_coefficients(d, n_labels, rng)),
    "nearly shared": lambda d, n_labels, rng: LinearLabels(_nearly_shared(d, n_labels, rng)),
    "logistic": lambda d, n_labels, rng: LogisticLabels(low_rank_coefficients(d, n_labels, 1, rng)),
    "all-ones": lambda _d, n_labels, _rng: AllOnes(n_labels),
    "random-signs": lambda _d, n_labels, _rng: RandomSigns(n_labels),
}


def feature_law(name: str, n_features: int) -> FeatureLaw:
    """Return the feature law called `name` in `n_features` dimensions."""
    made = LAWS[one_of(name, "law", LAWS)](n_features)
    if not isinstance(made, FeatureLaw):
        raise ValueError(f"The factory of the law {name!r} must return a FeatureLaw, got {made!r}.")
    return made


def label_model(name: str, n_features: int, n_labels: int, rng: np.random.Generator) -> LabelModel:
    """Draw the coefficients of the label model called `name` and return the model.

    Besides the names in `LABELS`: 'rank-K' for any K, 'planted:CORRELATION' with Rademacher x.
    """
    if found := parametric_labels(name):
        return found(n_features, n_labels, rng)
    return LABELS[one_of(name, "labels", LABELS)](n_features, n_labels, rng)


def parametric_labels(name: str) -> LabelFactory | None:
    """Return the factory of 'rank-K' or 'planted:CORRELATION', None for other names."""
    if rank := re.fullmatch(r"rank-([1-9]\d*)", name):
        return _low_rank(int(rank[1]))
    if planted := re.fullmatch(r"planted:(0?\.\d+|[01])", name):
        return lambda _d, n_labels, _rng: Planted(n_labels, float(planted[1]))
    return None


def label_bound(loss: Loss) -> float:
    """Return a bound on |y| in the worlds that cells measure this loss in, infinity for none.

    Binary losses have signs, and so has the linear loss there; other losses have labels with
    Gaussian noise.
    """
    return 1.0 if loss.binary or loss.name == "linear" else math.inf


def observation_of(skew: str, n_labels: int, labels_per_point: int = 1) -> Observation:
    """Return the pattern called `skew`: 'uniform', 'replaced', 'heavy:SHARE' or 'zipf:EXPONENT'.

    'replaced' labels are uniform and drawn with replacement, so that one may be seen twice.

    With 'observed:SHARE' each label of each point is seen with that probability, whatever s is.
    """
    kind, _, number = skew.partition(":")
    if skew in ("uniform", "replaced"):
        return UniformLabels(n_labels, labels_per_point, replace=skew == "replaced")
    try:
        value = float(number)
    except ValueError:
        kind = ""
    if kind == "observed":
        return BernoulliEntries(n_labels, value)
    if kind == "heavy":
        return WeightedLabels(heavy_label(n_labels, value), labels_per_point)
    if kind == "zipf":
        return WeightedLabels(zipf(n_labels, value), labels_per_point)
    raise ValueError(
        f"`skew` must be 'uniform', 'replaced', 'heavy:SHARE', 'zipf:EXPONENT' such as 'zipf:1.5', "
        f"or 'observed:SHARE', got {skew!r}."
    )


def skew_column(skews: Iterable[str]) -> str:
    """Return the column of numbers that tells patterns of one family apart, '' if there is none."""
    families = {skew.partition(":")[0] for skew in skews}
    family = families.pop() if len(families) == 1 else ""
    return {"heavy": "P", "zipf": "P", "observed": "observed"}.get(family, "")
