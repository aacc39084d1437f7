"""Small measurements for the tests of the runner, importable by its worker processes.

`python -m toy_measure FOLDER JOBS|CLUSTER [MEASURE]` runs the toy grid, for tests that kill it.
"""

import math
import os
import sys
import time
import warnings

import numpy as np

from leml_theory.runs import runner as workers
from leml_theory.runs.cells import Cell
from leml_theory.runs.runner import execute
from leml_theory.runs.store import Store

N_CELLS = 200


def cells(n_cells=N_CELLS, seed=0):
    return [Cell("toy", {"size": 3 + i % 40, "scale": i / 7}, seed) for i in range(n_cells)]


def measure(cell):
    """Give values that depend on every random number and on linear algebra."""
    size, scale = cell.parameters["size"], cell.parameters["scale"]
    X = scale * cell.rng().standard_normal((size, size))
    top = np.linalg.norm(X @ X.T, 2)
    return [
        {"quantity": "norm", "value": top, "size": np.int64(size), "wide": size > 20},
        {"quantity": "limits", "value": math.nan, "stderr": -math.inf, "predicted": -0.0},
    ]


def measure_slowly(cell):
    time.sleep(0.01)
    return measure(cell)


def measure_for_a_minute(cell):
    time.sleep(60)
    return measure(cell)


def measure_in_short_batches(cell):
    workers._BATCH_SECONDS = 0.0  # From its next batch on, this worker hands back all but a cell.
    return measure(cell)


def measure_in_quick_batches(cell):
    """Measure slowly in batches that last five cells."""
    workers._BATCH_SECONDS = 0.05
    return measure_slowly(cell)


def fail_when_small(cell):
    if cell.parameters["size"] < 5:
        raise ZeroDivisionError(f"no size of {cell.parameters['size']}")
    return measure(cell)


def return_an_array(cell):
    return [{"value": np.zeros(3)}]


def die(cell):
    os._exit(9)


def die_at_seven(cell):
    if cell.parameters["size"] == 7:
        os._exit(9)
    return measure(cell)


def take_memory_at_seven(cell):
    """Hold 1 GB for a while, more than the tests allow a worker."""
    if cell.parameters["size"] == 7:
        held = np.ones(2**27)
        time.sleep(2.0)
        return [{"value": held[-1]}]
    return measure(cell)


def overflow(cell):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = np.float64(1e308) * np.float64(10)
    return [{"value": value, "warnings": len(caught)}]


def threads_and_modules(cell):
    from threadpoolctl import threadpool_info

    heavy = sorted({"cvxpy", "seaborn", "matplotlib", "pandas"} & set(sys.modules))
    threads = max(library["num_threads"] for library in threadpool_info())
    from numba import get_num_threads

    compiled = get_num_threads()
    return [
        {"threads": threads, "compiled": compiled, "heavy": ",".join(heavy), "process": os.getpid()}
    ]


def main():
    import toy_measure  # Not as __main__, so that workers find the functions by name.

    folder, jobs, *name = sys.argv[1:]
    where = {"jobs": int(jobs)} if jobs.isdecimal() else {"jobs": 1, "cluster": jobs}
    chosen = getattr(toy_measure, name[0] if name else "measure_slowly")
    store = Store.create(folder, cells(), description={"grid": "toy"})
    try:
        execute(cells(), store, **where, measure=chosen)
    except (Exception, KeyboardInterrupt) as error:
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
