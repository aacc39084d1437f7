"""A sweep of 1,000 short cells on `local:2` against `--jobs 2`: a part of `make bench AREA=scale`.

Both run the whole path (processes started, cells measured, results stored) in alternation; the bar
is on the ratio of the medians.
"""

from __future__ import annotations

import argparse
import json
import os
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


def rows(count=N_CELLS, rounds=3):
    """Return the row of the table: medians of both ways, their ratio, and the bar."""
    cells = short_cells(count)
    pool, dask = [], []
    for _ in range(rounds):
        pool.append(seconds(cells, jobs=2))
        dask.append(seconds(cells, jobs=1, cluster="local:2"))
        if pool[-1][2] != dask[-1][2]:
            raise RuntimeError("local:2 and --jobs 2 gave different results.")
    times = [statistics.median(run[0] for run in runs) for runs in (pool, dask)]
    measured = statistics.median(run[1] for run in pool)
    return [
        {
            "row": f"sweep of {count} cells of {1000 * measured / count:.0f} ms",
            "jobs_2": times[0],
            "local_2": times[1],
            "ratio": times[1] / times[0],
            "bar": BAR,
            "rounds": [[a[0], b[0]] for a, b in zip(pool, dask, strict=True)],
            "load": round(os.getloadavg()[0], 2),
        }
    ]


def main():
    """Print the table and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--cells", type=int, default=N_CELLS)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    table = rows(options.cells, options.rounds)
    for row in table:
        print(
            f"{row['row']}: --jobs 2 {row['jobs_2']:.1f} s, local:2 {row['local_2']:.1f} s, "
            f"ratio {row['ratio']:.2f} (bar {BAR}), load {row['load']}"
        )
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
