"""The report of a sweep as a page: bounds that follow sliders, with the run's points on top.

Closed-form bounds are computed in the page by `bounds.js`, a translation of `leml_theory.bounds`
that a test compares with the Python functions in a browser.  Whatever needs matrices or samples
is taken from the results and shown at the cells of the run alone.
"""

from typing import Any

import pandas as pd

from documents import interactive_page, packaged
from leml_theory.sweep.page.content import page_data

__all__ = ["report_page"]

_SCRIPTS = ("bounds.js", "report.js")


def report_page(frame: pd.DataFrame, summary: dict[str, Any]) -> str:
    """Return report.html: one file that needs no network.

    Parameters
    ----------
    frame : DataFrame
        The results, as `results_frame` returns them or read from results.csv.
    summary : dict
        The content of summary.json.
    """
    return interactive_page(
        "Sweep report",
        page_data(frame, summary),
        body=packaged(__name__, "report.html"),
        scripts=[packaged(__name__, name) for name in _SCRIPTS],
    )
