"""A sweep of 1,000 short cells on `local:2` against `--jobs 2`, a row of `benchmarks.scale`.

Both run the whole path (processes started, cells measured, results stored) in alternation; the bar
is on the ratio of the medians.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from leml_theory.plugins import PluginMeasure
from leml_theory.runs import Cell, Store, execute

BAR = 1.15
N_CELLS = 1_000


def short_cells(count):
    """Return cells of the kind that the default sweep has most of, each a fraction of a second."""
    place = {"law": "gaussian", "d": 24, "L": 24, "skew": "uniform", "draws": 40}
    return [Cell("rademacher", {**place, "n": 128 + i}, 0) for i in range(count)]


def seconds(cells, **where):
    """Return the time of one run, and of the measurements alone, and its results."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.create(Path(folder, "out"), cells, description={})
        start = time.perf_counter()
        execute(cells, store, measure=PluginMeasure(), progress=False, **where)
        return time.perf_counter() - start, store.status().seconds, store.load()


def measured(count=N_CELLS, rounds=5):
    """Return the row of the table: medians of both ways, their ratio, and the bar."""
    cells = short_cells(count)
    pool, dask = [], []
    for _ in range(rounds):
        pool.append(seconds(cells, jobs=2))
        dask.append(seconds(cells, jobs=1, cluster="local:2"))
        if pool[-1][2] != dask[-1][2]:
            raise RuntimeError("local:2 and --jobs 2 gave different results.")
    times = [statistics.median(run[0] for run in runs) for runs in (pool, dask)]
    alone = statistics.median(run[1] for run in pool)
    return {
        "row": f"sweep of {count} cells of {1000 * alone / count:.0f} ms: local:2 / --jobs 2",
        "jobs_2": times[0],
        "local_2": times[1],
        "ratio": times[1] / times[0],
        "bar": BAR,
        "rounds": [[a[0], b[0]] for a, b in zip(pool, dask, strict=True)],
    }
