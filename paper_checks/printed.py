"""What the paper prints, as data: the numbers of Tables 2 to 15, and those within its text.

`load()` returns one row per number of the tables. The file behind it, `tables.csv`, was transcribed
once from the paper's text and verified by a second reading; each number keeps the decimals it was
printed with. `QUOTED`, from `quoted.toml`, has the numbers, letters and formulas of the text that
checks compare with, each with a checksum of its sentence, by which a test finds the sentence and
what is in it. A mistake in that text could not be told from one on the printed page.
"""

import tomllib
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd

KEY = ["dataset", "method", "loss", "ratio", "observed"]
LOWER_IS_BETTER = frozenset({"hamming", "seconds"})
METRICS = ("top-1", "top-3", "top-5", "hamming", "auc")
_UNITS = {"K": 1e3, "M": 1e6}


@dataclass(frozen=True, slots=True)
class Quoted:
    """What one sentence, formula or table row of the paper's text prints.

    Attributes
    ----------
    place : str
        Where it stands.
    checksum : str
        Of the sentence: sha256 of its lower-case letters and digits, the first twelve digits.
    written : tuple of str
        The numbers, letters or formulas as they are written, in their order.
    """

    place: str
    checksum: str
    written: tuple[str, ...]

    @property
    def numbers(self) -> tuple[float, ...]:
        """The values of what is written: '7,000', '10^4', '1M', '3/4'."""
        return tuple(_number(text) for text in self.written)


def _number(text: str) -> float:
    """Return the value of a number as the text writes it."""
    if "/" in text:
        return float(Fraction(text))
    base, _, power = text.replace(",", "").partition("^")
    unit = _UNITS.get(base[-1], 1.0)
    return float(base.rstrip("KM")) ** int(power or 1) * unit


def _quoted() -> dict[str, Quoted]:
    """Read the quotations, by what they say; formulas by the name of what computes them."""
    text = files("paper_checks").joinpath("quoted.toml").read_text(encoding="utf-8")
    return {
        name: Quoted(found["place"], found["checksum"], tuple(found["written"]))
        for name, found in tomllib.loads(text).items()
    }


QUOTED = _quoted()


def load(*tables: int) -> pd.DataFrame:
    """Return the printed numbers of the given tables, of all of them by default.

    Returns
    -------
    pandas.DataFrame
        Columns: `table`; `dataset`; `method` (LEML, BCS, CPLST, BR, WSABIE); `loss` (squared,
        logistic, squared_hinge, weighted_rank); `ratio` (k/L; NaN in Table 4, which gives `rank`
        instead); `observed` (share of the labels seen, 1 for all); `rank` (k); `metric` (top-1,
        top-3, top-5 in per cent, hamming, auc, seconds); `value`; `half_unit` (half a unit of the
        last printed decimal); `bold`. Table 2 has no method, and `metric` names the statistic.

    Paper: Table 2.
    """
    frame = _frame()
    chosen = frame[frame["table"].isin(tables)] if tables else frame
    return chosen.reset_index(drop=True)


@cache
def _frame() -> pd.DataFrame:
    """Read the file, once."""
    blank = {"ratio": [""], "observed": [""], "rank": [""]}
    with files("paper_checks").joinpath("tables.csv").open(encoding="utf-8") as source:
        frame = pd.read_csv(source, dtype={"printed": str}, keep_default_na=False, na_values=blank)
    printed = frame.pop("printed")
    decimals = printed.str.partition(".")[2].str.len()
    bold = frame.pop("bold").astype(bool)
    return frame.assign(value=printed.astype(float), half_unit=0.5 / 10**decimals, bold=bold)


def statistics() -> pd.DataFrame:
    """Return the data statistics, one row per data set.

    Paper: Table 2.
    """
    return spread(load(2), ["dataset"], "metric")


def statistic(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a statistic of Table 2 for the data set of each row."""
    return frame["dataset"].map(statistics()[name])


def nothing_predicted(frame: pd.DataFrame) -> pd.Series:
    """Return the Hamming loss of predicting no label at all, for the data set of each row."""
    return statistic(frame, "test_positives") / statistic(frame, "n_labels")


def off_lattice(frame: pd.DataFrame, units: pd.Series) -> tuple[int, float]:
    """Return how many numbers no multiple of 1/`units` rounds to, and how many chance would give.

    A number printed to half a unit h is attainable if a multiple lies within h of it; one drawn at
    random would be missed with probability 1 - 2 h units where that is positive.
    """
    half, slack = frame["half_unit"], 1e-9  # ties may round either way
    first = np.ceil((frame["value"] - half) * units - slack)
    last = np.floor((frame["value"] + half) * units + slack)
    return int((first > last).sum()), float((1 - 2 * half * units).clip(lower=0).sum())


def spread(frame: pd.DataFrame, index: list[str], columns: str) -> pd.DataFrame:
    """Return the values with one row per `index` and one column per entry of `columns`."""
    # pivot_table would average two values of one place in silence; pivot refuses them.
    return frame.pivot(index=index, columns=columns, values="value")  # noqa: PD010


def full_label_tables() -> pd.DataFrame:
    """Return the detailed results with all labels seen.

    Paper: Table 6.
    """
    return load(6, 7, 8, 9, 10)


def missing_label_tables() -> pd.DataFrame:
    """Return the detailed results with missing labels.

    Paper: Table 11.
    """
    return load(11, 12, 13, 14, 15)


def gains(frame: pd.DataFrame, rival: str) -> pd.Series:
    """Return by how much LEML is better than `rival`, row by row of the tables.

    Positive where LEML is better: smaller is better for the Hamming loss and for seconds. Where the
    frame holds several losses of either method, losses are compared with their own kind.
    """
    index = ["table", "dataset", "loss", "ratio", "observed", "rank", "metric"]
    wide = spread(frame, index, "method").dropna(subset=["LEML", rival])
    lower = wide.index.get_level_values("metric").isin(LOWER_IS_BETTER)
    # Rounding removes the noise of subtracting decimals, which would turn ties into wins.
    return ((wide["LEML"] - wide[rival]) * np.where(lower, -1, 1)).round(6)


def only(frame: pd.DataFrame, **wanted: object) -> pd.DataFrame:
    """Return the rows whose columns have the wanted values."""
    for column, value in wanted.items():
        frame = frame[frame[column] == value]
    return frame


def describe(frame: pd.DataFrame) -> frozenset[str]:
    """Return the names of cells: '8 compphys 60% LEML squared', with '@5%' if 5 % are seen."""
    columns = (frame[name] for name in ("table", *KEY))
    return frozenset(_name(*cell) for cell in zip(*columns, strict=True))


def _name(table: int, dataset: str, method: str, loss: str, ratio: float, observed: float) -> str:
    """Return the name of one cell."""
    seen = "" if observed == 1 else f"@{observed:.0%}"
    return f"{table} {dataset} {ratio:.0%}{seen} {method} {loss}"
