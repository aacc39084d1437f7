"""Measured values and slopes as tables, for a terminal or for a paper."""

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import pandas as pd

from command_line import table_lines
from leml_theory.bounds import shown_bounds
from leml_theory.sweep.experiments import SlopeRow
from leml_theory.sweep.experiments.custom import GRID
from leml_theory.sweep.frame import bounds_in, is_valid

FORMATS = ("text", "latex")
_PLACE = (
    "experiment", "series", "quantity", "ball", "law", "labels", "loss", "n", "d", "L", "s",
    "observed", "skew", "radius_factor", "rank",
)  # fmt: skip
_HEADS = {"labels": "world", "radius_factor": "radius"}
_TEX = {"\\": r"\textbackslash{}", "%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#", "$": r"\$",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "±": r"$\pm$", "√": r"$\surd$", "|": r"$|$", "<": "$<$", ">": "$>$"}  # fmt: skip


def result_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per measured value as text; what is the same in all rows is left out."""
    grid = set(frame["experiment"]) == {GRID}  # its series repeat what other columns say
    places = [name for name in _PLACE if name in frame and not (grid and name == "series")]
    kept = [name for name in places if len(frame[name].dropna().unique()) > 1]
    table = frame[kept].map(_short).rename(columns=_HEADS)
    valid = pd.DataFrame(
        {shown_bounds()[x].label: frame[x].where(is_valid(frame, x)) for x in bounds_in(frame)}
    )
    some = valid.notna().any(axis=1)
    full = table.assign(
        value=[_with_error(v, e) for v, e in zip(frame["value"], frame["stderr"], strict=True)],
        draws=frame["draws"].map(_short),
        predicted=frame["predicted"].map(_short),
        bound=valid.min(axis=1).map(_short),
        **{"bound by": valid[some].idxmin(axis=1).reindex(frame.index, fill_value="none is valid")},
    )
    return full[[name for name in full if any(full[name])]]


def slope_frame(rows: Iterable[SlopeRow]) -> pd.DataFrame:
    """Return slopes as text beside what is predicted, expected in the limit, and found of them."""
    table = pd.DataFrame([asdict(row) for row in rows])
    slopes = [f"{s:+z.4f} ± {e:.4f}" for s, e in zip(table["slope"], table["stderr"], strict=True)]
    names = ["experiment", "series", "quantity", "ball", "axis"]
    kept = [name for name in names if name == "ball" or len(set(table[name])) > 1]
    limits = {"predicted": "predicted", "asymptotic": "limit"}
    columns = {
        new: table[old].map(_short) for old, new in limits.items() if table[old].notna().any()
    }
    same = table["rule"] == table["verdict"]
    verdicts = table["verdict"].where(same, table["rule"] + ": " + table["verdict"])
    return table[kept].astype(str).assign(slope=slopes, **columns, verdict=verdicts)


def imprecise(frame: pd.DataFrame) -> list[str]:
    """Return a line about the values that missed the precision asked for, if there are any."""
    rows = frame[frame["precision"].notna() & (frame["quantity"] != "generalisation gap")]
    if rows.empty:
        return []
    reached = rows["stderr"] / rows["value"].abs()
    missed = reached > rows["precision"]
    if not missed.any():
        share = 100 * rows["precision"].iloc[0]
        return [f"All standard errors are within {share:.3g} % of the values."]
    worst = rows.iloc[int(reached.to_numpy().argmax())]
    where = f"n = {worst['n']}, {worst['ball']}"
    return [
        f"{int(missed.sum())} of {len(rows)} values did not reach the precision with the most draws"
        f" allowed; the worst has {100 * reached.max():.2g} % at {where}."
    ]


def _with_error(value: float, stderr: float) -> str:
    """Return a value with its standard error, in as many digits as the error makes meaningful."""
    if not stderr or math.isnan(stderr):
        return _short(value)
    digits = max(1, math.floor(math.log10(abs(value) or 1)) - math.floor(math.log10(stderr)) + 2)
    return f"{value:.{min(digits, 8)}g} ± {stderr:.2g}"


def _short(value: Any) -> str:
    """Return a value in four digits, nothing for what is not known."""
    if isinstance(value, str):
        return value
    if value is None or math.isnan(value):
        return ""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else f"{value:.4g}"


def text_lines(table: pd.DataFrame) -> list[str]:
    """Return a table of texts in aligned columns, no wider than the terminal."""
    return table_lines(list(map(str, table)), table.to_numpy(str).tolist())


def _latex(table: pd.DataFrame, caption: str) -> str:
    """Return a table for LaTeX with the package booktabs."""
    rows = [[_escaped(text) for text in row] for row in table.to_numpy(str)]
    lines = [" & ".join(row) + r" \\" for row in rows]
    head = " & ".join(_escaped(str(name)) for name in table) + r" \\"
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_escaped(caption)}}}",
            rf"\begin{{tabular}}{{{'l' * table.shape[1]}}}",
            *(r"\toprule", head, r"\midrule", *lines, r"\bottomrule"),
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _escaped(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(_TEX.get(character, character) for character in text)


def table_text(table: pd.DataFrame, form: str, caption: str) -> str:
    """Return a table of texts under its caption, in one of `FORMATS`."""
    if form == "latex":
        return _latex(table, caption)
    return "\n".join([f"{caption}:", *text_lines(table)])


def value_tables(frame: pd.DataFrame, form: str = "text") -> list[str]:
    """Return the measured values, one table per quantity."""
    return [
        table_text(result_table(rows), form, f"Measured {quantity}, ± one standard error")
        for quantity, rows in frame.groupby("quantity", sort=False)
    ]
