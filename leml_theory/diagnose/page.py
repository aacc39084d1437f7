"""A diagnosis as a page of text: in short, the findings, then the details with their tables."""

import itertools
import textwrap
from collections.abc import Callable, Sequence

from command_line import table_lines
from leml_theory.diagnose.comparison import Comparison, ModelFacts
from leml_theory.diagnose.features import FeatureFacts
from leml_theory.diagnose.summary import Diagnosis
from leml_theory.diagnose.wording import details, findings, summary, which
from leml_theory.rademacher import Estimate

_WIDTH = 98
_ERRORS = "(+- is one standard error; a difference of more than two is called clear.)"
_FEATURE_LINES: dict[str, Callable[[FeatureFacts], str]] = {
    "Sigma = mean |x|^2": lambda facts: f"{facts.moments.second_moment:.5g}",
    "sigma_1 = |mean x x^T|": lambda facts: f"{facts.moments.top_eigenvalue:.5g}",
    "sigma_1 / Sigma": lambda facts: f"{facts.top_share:.4f}",
    "largest |x|": lambda facts: f"{facts.moments.radius:.5g}",
    "|mean x|^2 / Sigma": lambda facts: f"{facts.mean_share:.4f}",
    "Rademacher average, trace ball": lambda facts: _estimate(facts.averages["trace"]),
    "Rademacher average, Frobenius ball": lambda facts: _estimate(facts.averages["frobenius"]),
    "advantage of the trace norm": lambda facts: _estimate(facts.advantage),
    "  about at most, by the moments": lambda facts: f"{facts.ceiling:.3f}",
    "  if the features were Gaussian": lambda facts: f"{facts.gaussian_advantage:.3f}",
    "  Theorem 4 without its constant": lambda facts: f"{facts.theorem_4_advantage:.3f}",
    "  promised, by the bounds that apply": lambda facts: f"{facts.promised_advantage:.3f}",
    "points that Theorem 6 asks for": lambda facts: f"{facts.points_needed:.0f}",
}


def page(found: Diagnosis) -> str:
    """Return the page, ready to print: what matters first."""
    short = textwrap.fill(summary(found), _WIDTH)
    parts = [f"{short}\n{_ERRORS}", _listed("findings", findings(found)), "details"]
    parts += [_features(found), _bounds(found)]
    parts += [_comparison(made) for made in found.compared]
    return "\n\n".join([*parts, _listed("notes", details(found))])


def _features(found: Diagnosis) -> str:
    """Return the facts about features before and after centring."""
    versions = [facts for facts in (found.raw, found.centred) if facts is not None]
    head = ["features", "as they are", "centred"][: len(versions) + 1]
    lines = [[name, *(text(facts) for facts in versions)] for name, text in _FEATURE_LINES.items()]
    return _table([head, *lines])


def _bounds(found: Diagnosis) -> str:
    """Return the bounds on the trace ball's average and whether they apply."""
    versions = [facts.bounds for facts in (found.raw, found.centred) if facts is not None]
    head = ["bound on the trace average", "as they are", "applies", "centred", "applies"]
    lines = []
    for name in versions[0]:
        here = [bounds[name] for bounds in versions]
        words = ((f"{bound.value:.4g}", "yes" if bound.valid else "no") for bound in here)
        lines.append([name, *itertools.chain(*words)])
    return _table([head[: 1 + 2 * len(versions)], *lines])


def _comparison(made: Comparison) -> str:
    """Return what both norms achieve on held-out rows."""
    lines: dict[str, Callable[[ModelFacts], str]] = {
        "penalty": lambda model: f"{model.penalty:.4g}",
        "norm of Z": lambda model: f"{model.norm:.4g}",
        "training risk": lambda model: f"{model.train_risk:.6f}",
        "test risk": lambda model: f"{model.test_risk:.6f}",
        "generalisation gap": lambda model: f"{model.gap:.6f}",
        "top-1, %": lambda model: f"{100 * model.top_1:.2f}",
    }
    risk, top = made.risk_difference, made.top_1_difference
    better = {
        "test risk": f"{risk.value:+.6f} +- {risk.stderr:.6f}",
        "top-1, %": f"{100 * top.value:+.2f} +- {100 * top.stderr:.2f}",
    }
    head = [f"measured {which(made)}", "trace", "Frobenius", "trace better by"]
    rows = [
        [name, text(made.trace), text(made.frobenius), better.get(name, "")]
        for name, text in lines.items()
    ]
    return _table([head, *rows])


def _listed(head: str, sentences: Sequence[str]) -> str:
    """Return the sentences under a heading, one paragraph each."""
    wrapped = (
        textwrap.fill(text, _WIDTH, initial_indent="* ", subsequent_indent="  ")
        for text in sentences
    )
    return "\n".join([head, *wrapped])


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows with aligned columns, the first one being the head."""
    return "\n".join(table_lines(rows[0], rows[1:]))


def _estimate(estimate: Estimate) -> str:
    return f"{estimate.value:.5f} +- {estimate.stderr:.5f}"
