"""What the numbers say, in sentences made from them."""

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from paper_checks import printed
from paper_checks.reproduction.planning import METHODS, SPLIT_RATIOS, Row, Task
from paper_checks.reproduction.tables import Measured, digits_of, numbers
from paper_checks.statements.tables_values import DELICIOUS_AUC

HALF_A_POINT = 0.5


def findings(measured: Measured, frame: pd.DataFrame) -> list[str]:
    """Return one sentence per finding; none where the selection does not permit it.

    Paper: Section 5.
    """
    parts = (
        _agreement(frame),
        _early_stopped(frame),
        _selected(measured, frame),
        _choices(measured),
        _order(measured),
        _losses(measured),
        _splits(measured),
    )
    return [sentence for part in parts for sentence in part]


def _agreement(frame: pd.DataFrame) -> Iterator[str]:
    """Say how near each method comes to print, where it is printed."""
    known = frame.dropna(subset=["paper"])
    for (dataset, method, loss, protocol), part in known.groupby(
        ["dataset", "method", "loss", "protocol"], sort=False
    ):
        gaps = [row.ours - row.paper for row in numbers(part) if row.metric.startswith("top-")]
        equal = sum(_equal(row) for row in numbers(part))
        if gaps:
            yield (
                f"{dataset}, {method} {loss} ({protocol}): {equal} of {len(part)} numbers equal "
                f"print to the last digit; accuracies differ by {np.mean(gaps):+z.2f} points on "
                f"average, between {min(gaps):+z.2f} and {max(gaps):+z.2f}."
            )


def _equal(row: Any) -> bool:
    """Whether ours rounds to the printed number."""
    rounded = round(row.ours, digits_of(row.metric))
    return bool(abs(rounded - row.paper) < 1e-9)  # both are decimals, as floats


def _top_1(frame: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Return LEML's top-1 rows with squared loss and full labels."""
    return printed.only(
        frame, method="LEML", loss="squared", protocol=protocol, metric="top-1", observed=1.0
    )


def _early_stopped(frame: pd.DataFrame) -> Iterator[str]:
    """Say how many of the early-stopped rows are within half a point of print."""
    rows = _top_1(frame, "early-stopped").dropna(subset=["paper"])
    for dataset, part in rows.groupby("dataset", sort=False):
        listed = ", ".join(
            f"{row.ratio:.0%}: {row.ours - row.paper:+z.2f} ± {row.stderr:.2f}"
            for row in numbers(part)
        )
        near = [abs(row.ours - row.paper) <= HALF_A_POINT for row in numbers(part)]
        yield (
            f"{dataset}, LEML squared as the printed rows were made, top-1, ours - paper (standard "
            f"error over starts): {listed}; {sum(near)} of {len(near)} within half a point."
        )


def _selected(measured: Measured, frame: pd.DataFrame) -> Iterator[str]:
    """Compare the selected model with print and with the early-stopped one."""
    tasks = {(row.dataset, row.ratio): task for row, task in measured.plan.rows if _is_top_1(row)}
    for row in numbers(_top_1(frame, "selected")):
        task = tasks[row.dataset, row.ratio]
        spread = measured.row_means(task, 1)
        error = spread.std(ddof=1) / np.sqrt(spread.size)
        text = f"{row.dataset}, LEML squared selected, k/L {row.ratio:.0%}: top-1 {row.ours:.2f}"
        if not np.isnan(row.paper):
            text += f", {row.ours - row.paper:+z.2f} from print ({error:.2f} is one standard error"
            text += " over test rows)"
        other = replace(task, protocol="early-stopped")
        if other in measured.plan.repetitions and measured.done(other):
            gap = measured.over_test_rows(task, other, 1)
            text += f"; selected - early-stopped {gap.shown()}, paired by test row"
        yield text + "."


def _is_top_1(row: Row) -> bool:
    wanted = {"method": "LEML", "loss": "squared", "protocol": "selected", "observed": 1.0}
    return all(getattr(row, name) == value for name, value in wanted.items())


def _choices(measured: Measured) -> Iterator[str]:
    """Tell what was chosen for each method."""
    chosen: dict[tuple[str, str], Counter[str]] = {}
    for task in measured.plan.repetitions:
        if task.protocol == "selected":
            counter = chosen.setdefault((task.method, task.loss), Counter())
            counter.update(_choice(text) for text in measured.choices(task))
    for (method, loss), counter in chosen.items():
        common = "; ".join(f"{text} ({count})" for text, count in counter.most_common(3))
        if common:
            yield f"Chosen most often for {method} {loss} (times): {common}."


def _choice(text: str) -> str:
    """Return a choice in words."""
    made = json.loads(text)
    if "unit_rows" not in made:
        options = (f"{name} {value:g}" for name, value in made.items() if name != "held_out")
        return ", ".join(options).replace("_", " ")
    words = ["unit rows" if made["unit_rows"] else "rows as given"]
    words += ["intercept" if made["intercept"] else "no intercept"]
    words += [f"relative penalty {made['relative_penalty']:g}"]
    if made["iterations"] > 1:
        words += [f"{made['iterations']} outer iterations"]
    return ", ".join(words)


def _order(measured: Measured) -> Iterator[str]:
    """Test LEML > BR > BCS with a fifth of the labels observed, paired by pattern."""
    for task, protocol in itertools.product(measured.plan.repetitions, METHODS["BR"].protocols):
        if (task.method, task.loss, task.observed) != ("LEML", "squared", 0.2):
            continue
        relevance = _rival(measured, task, "BR", protocol, None)
        bayes = _rival(measured, task, "BCS", "selected", task.ratio)
        if relevance is not None and bayes is not None and measured.done(task):
            for metric in ("top-1", "top-3", "auc"):
                yield _order_sentence(measured, task, relevance, bayes, metric)


def _order_sentence(
    measured: Measured, leml: Task, relevance: Task, bayes: Task, metric: str
) -> str:
    """Say whether LEML > BR > BCS in a metric."""
    first = measured.over_patterns(leml, relevance, metric)
    second = measured.over_patterns(relevance, bayes, metric)
    holds = first.value > 0 and second.value > 0
    sure = holds and first.clear and second.clear
    verdict = "holds" if sure else "holds, not clearly" if holds else "does not hold"
    digits = digits_of(metric)
    return (
        f"{leml.dataset}, 20 % observed, k/L {leml.ratio:.0%}, {metric}: LEML > BR > BCS for the "
        f"squared loss (LEML {leml.protocol}, BR {relevance.protocol}, BCS selected) {verdict}: "
        f"LEML - BR {first.shown(digits)}, BR - BCS {second.shown(digits)} over patterns."
    )


def _rival(
    measured: Measured, task: Task, method: str, protocol: str, ratio: float | None
) -> Task | None:
    """Return another method's task on the same labels, if it is done."""
    other = replace(task, method=method, protocol=protocol, ratio=ratio)
    planned = other in measured.plan.repetitions and measured.done(other)
    return other if planned else None


def _losses(measured: Measured) -> Iterator[str]:
    """Count where LEML beats BR with missing labels, by loss and protocol."""
    tally: dict[tuple[str, str, str, str], list[bool]] = {}
    for task, against in itertools.product(measured.plan.repetitions, METHODS["BR"].protocols):
        if task.method != "LEML" or task.observed == 1 or not measured.done(task):
            continue
        rival = _rival(measured, task, "BR", against, None)
        if rival is not None:
            gap = measured.over_patterns(task, rival, "top-3")
            key = (task.dataset, task.loss, task.protocol, against)
            tally.setdefault(key, []).append(gap.value > 0)
    for (dataset, loss, protocol, against), wins in tally.items():
        yield (
            f"{dataset}, missing labels, {loss} loss: LEML ({protocol}) is ahead of BR ({against}) "
            f"in top-3 in {sum(wins)} of {len(wins)} cells."
        )


def _splits(measured: Measured) -> Iterator[str]:
    """Compare CPLST's AUC on splits of delicious with what the checks of Table 10 assume."""
    for split, stored in zip(("default", "xmlrepo", "random"), DELICIOUS_AUC, strict=True):
        tasks = [
            task
            for task in measured.plan.repetitions
            if (task.dataset, task.method, task.split) == ("delicious", "CPLST", split)
            and task.ratio in SPLIT_RATIOS
            and measured.done(task)
        ]
        if len(tasks) == len(SPLIT_RATIOS):
            found = [float(measured.values(task, "auc").mean()) for task in tasks]
            shown = ", ".join(f"{value:.4f}" for value in found)
            worst = max(abs(a - b) for a, b in zip(found, stored, strict=True))
            yield (
                f"delicious, {split} split, CPLST's AUC at k/L 20, 40, 60 %: {shown}; at most "
                f"{worst:.4f} from the values that check D23 uses."
            )
