"""Who runs on how many threads.

BLAS gets one thread: on a busy machine its waiting costs more than its second core gives (a k x k
eigenvalue problem a hundredfold). Large products are cut into blocks of rows that a pool of threads
hands to BLAS one by one; compiled loops share their rows themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numba
import numpy as np
import scipy.linalg  # noqa: F401  its BLAS must be loaded before the libraries are counted
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

_Result = TypeVar("_Result")

_SHARED_LOOP = 2e6  # multiply-adds of a compiled loop from which a second thread pays
_SHARED_PRODUCT = 5e7  # multiply-adds of a BLAS product from which a second thread pays


@cache
def _controller() -> Any:
    """Return the handle on the BLAS libraries; finding them takes milliseconds."""
    return ThreadpoolController()


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    """Return a pool of threads, kept for the life of the process."""
    return ThreadPoolExecutor(size, thread_name_prefix="leml")


@contextmanager
def threads_for(work: float) -> Iterator[None]:
    """Give BLAS one thread, and compiled loops as well if they are too small to share."""
    before = numba.get_num_threads()
    if work < _SHARED_LOOP:
        numba.set_num_threads(1)
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        numba.set_num_threads(before)


def shared(
    function: Callable[[slice], _Result], parts: Iterable[slice], work: float
) -> list[_Result]:
    """Return function(part) for each part, by several threads if the work is worth it."""
    size = int(numba.get_num_threads())
    if size == 1 or work < _SHARED_PRODUCT:
        return [function(part) for part in parts]
    return list(_pool(size).map(function, parts))


def row_blocks(n_rows: int) -> list[slice]:
    """Cut rows into one block a thread."""
    size = -(-n_rows // int(numba.get_num_threads()))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, max(size, 1))]


def matmul(A: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """Return A B, rows of A shared among the threads."""
    work = float(A.shape[0]) * A.shape[1] * B.shape[1]
    if work < _SHARED_PRODUCT or numba.get_num_threads() == 1:
        return np.asarray(A @ B)
    out = np.empty((A.shape[0], B.shape[1]), dtype=np.result_type(A, B))
    shared(lambda part: np.matmul(A[part], B, out=out[part]), row_blocks(A.shape[0]), work)
    return out
