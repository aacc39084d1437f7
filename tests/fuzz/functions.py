"""Public functions called with values of wrong types: an answer, or an error that names one.

Each function is called with arguments that work but for one or two, which come from `WRONG`.
"""

import functools
import importlib
import inspect
import math
import re
import typing
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

import leml_solver
import leml_theory
import simulations
from leml_solver.readers import Dataset
from leml_theory import bounds
from leml_theory.runs import Cell, StoreError

PACKAGES = (
    *("leml_solver", "leml_solver.baselines", "leml_solver.readers", "leml_solver.metrics"),
    *("leml_solver.datasets", "leml_solver.model_selection", "leml_theory", "leml_theory.bounds"),
    *("leml_theory.predictions", "leml_theory.risk", "leml_theory.rademacher", "simulations"),
    *("leml_theory.measurements", "leml_theory.runs", "leml_theory.diagnose", "documents"),
    *("leml_theory.plots", "leml_theory.checks", "leml_theory.plugins", "leml_theory.extensions"),
)
# Not called: they write, fit for seconds, or take what only the package itself makes.
LEFT_OUT = re.compile(
    r"register_|limit_threads|minimise_by_cvxpy|check_plugins|measure_with|load_plugins|gap_bound|"
    r"save_model|write_document|Diagnosis|FeatureFacts|Comparison|Shard|Store$|Failure|Plugin$|"
    r"FactorResult|SolverResult|TracePoint|Baseline$|describe_axes|save_figure|plot_|Status$|"
    r"table_2_differences|settle|Protocol|Scores$|ExactRisk|Loss$|FeatureLaw$|LabelModel$|"
    r"Observation$|^Ball$|record$|^Problem$|OFFSET"
)
WORKLOADS = ("draws", "settings", "max_steps")  # 2**70 of them would only take long
HUGE = 2**70
WRONG = (
    *(None, math.nan, math.inf, -1, 0, 2.5, True, HUGE, 1j, "text", "", b"bytes", (), [], {}),
    *([1, "a"], {"a": 1}, object(), object, len, Path("absent"), slice(3), range(2)),
    *(np.array([]), np.array(["a", "b"]), np.array(3.0), np.full((6, 3), np.nan), np.eye(2)),
    *(sparse.csr_array(np.eye(2)), np.random.default_rng(0), np.datetime64("2020-01-01")),
    *(np.ma.array(np.ones((6, 3)), mask=np.eye(6, 3)), np.full((6, 3), np.complex128(1j), object)),
    *(
        pd.DataFrame({"a": [1, None]}, dtype="Int64"),
        sparse.csr_array(np.eye(6, 3) > 0),
        {1.0, 2.0},
    ),
    *(pd.DataFrame({"a": pd.Categorical(["u", "v"])}), np.array([2**63], dtype=np.uint64), 10**400),
)


@functools.cache
def good():
    """Return a value that works for each name of an argument."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 3)), np.tile([[1.0, 0.0], [0.0, 1.0]], (3, 1))
    law, seen = simulations.IsotropicGaussian(3), simulations.UniformLabels(2)
    labels = simulations.LinearLabels(np.ones((3, 2)), noise=0.5)
    scenario = simulations.Scenario(law, labels, seen)
    setting = leml_theory.Setting.of(law, seen, 100)
    estimate = leml_theory.Estimate(0.1, 0.01, 5)
    model = leml_solver.LEMLClassifier(1, penalty=1.0, max_iter=1, random_state=0).fit(X, Y)
    sample = scenario.sample(6, rng)
    values = dict(X=X, Y=Y, scores=Y - 0.3, rank=1, penalty=1.0, loss=leml_solver.Squared())
    values |= dict(problem=leml_solver.Problem("squared", X, Y), ball=leml_solver.TraceBall(1.0))
    values |= dict(
        Z=np.ones((3, 2)), dual=np.zeros(12), estimator=model, path="absent", rows=2, k=1
    )
    values |= dict(setting=setting, risk=leml_theory.RiskSetting("squared", 1.0), n=100, draws=2)
    values |= dict(complexity=bounds.theorem_3(setting), rng=rng, law=law, features=law)
    values |= dict(bounds=leml_theory.complexity_bounds(setting), observation=seen, data=sample)
    values |= dict(
        labels=labels, scenario=scenario, world=scenario, sample=sample, estimate=estimate
    )
    values |= dict(n_features=3, n_labels=2, radius=1.0, noise=1.0, size=4, theta=0.1, bias=0.1)
    values |= dict(second_moment=1.0, overlap=0.1, degrees=3.0, n_rows=4, variances=np.ones(3))
    values |= dict(scales=np.ones(2), S=np.eye(3), V=np.ones((2, 3, 2)), share=0.5, exponent=1.0)
    values |= dict(cell=Cell("toy", {}, 0), kind="toy", parameters={}, seed=0, shape=(6, 2))
    values |= dict(
        name="bibtex", text="{}", bound="theorem_3", failures={}, markdown="a", title="b"
    )
    values |= dict(spectrum=(1.0, 0.5), rate=0.5, correlation=0.1, typical=1.0, outlier=2.0)
    values |= dict(probability=0.1, points=np.eye(2), probabilities=np.full(2, 0.5), value=1.0)
    values |= dict(values=(1, 2), weights=np.ones(6), columns=np.zeros(6, int), needs="a", here="b")
    return values | dict(labels_per_point=1, moments=law.moments, probability_range=(0.5, 0.5))


SPECIAL = {
    "WeightedLabels": {"law": (0.5, 0.5)},
    "content_checksum": {"data": Dataset(sparse.csr_array(np.eye(2)), sparse.csr_array(np.eye(2)))},
    "check_bound": {"bound": bounds.COMPLEXITY_BOUNDS["theorem_3"], "settings": 1, "draws": 2},
    "check_law": {"draws": 1000},
    "check_labels": {"draws": 1000},
    "LabelNumbers": {"probabilities": (0.5, 0.5)},
    "RiskSetting": {"loss": "squared", "lipschitz": 1.0},
    "minimum_risk": {"draws": 100, "loss": leml_solver.Squared()},
    "population_risk": {"draws": 100},
    "predict_world": {"draws": 2},
    "evaluate_rows": {"ks": (1,)},
}


@functools.cache
def functions():
    """Return every public function and class by name that is called here, with its arguments."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in getattr(module, "__all__", ()):
            made = getattr(module, name)
            error = inspect.isclass(made) and issubclass(made, BaseException)
            error |= typing.get_origin(made) is not None  # the name of a type
            arguments = usual_arguments(name, made) if callable(made) and not error else None
            if arguments is not None and not LEFT_OUT.search(name):
                found.setdefault(name, (made, arguments))
    return found


def usual_arguments(name, function):
    """Return arguments that work, or None if there are none or one is not known."""
    values, made = {**good(), **SPECIAL.get(name, {})}, {}
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:
        return None
    for key, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is parameter.empty or key in SPECIAL.get(name, {}):
            if key not in values:
                return None
            made[key] = values[key]
    return (
        made or dict.fromkeys(list(parameters)[:1], inspect.Parameter.empty) if parameters else None
    )


def case(rng: np.random.Generator, folder: Path) -> None:
    """Call one function with one or two wrong arguments."""
    names = sorted(functions())
    name = names[rng.integers(len(names))]
    function, usual = functions()[name]
    given = {key: value for key, value in usual.items() if value is not inspect.Parameter.empty}
    keys = list(inspect.signature(function).parameters)
    for key in rng.choice(keys, size=min(len(keys), int(rng.integers(1, 3))), replace=False):
        wrong = WRONG[rng.integers(len(WRONG))]
        endless = key in WORKLOADS and isinstance(wrong, int) and wrong >= HUGE
        given[str(key)] = 2 if endless else wrong
    try:
        made = function(**given)
        if inspect.isgenerator(made):
            next(made, None)
    except (TypeError, ValueError, OSError, MemoryError, StoreError) as error:
        if isinstance(error, TypeError):
            said = re.findall(r"\w+", str(error))
            assert set(said) & set(keys), f"{name}: {error!r} names none of {keys}"
    except Exception as error:
        raise AssertionError(f"{name}: {type(error).__name__}: {error}, given {given}") from error
