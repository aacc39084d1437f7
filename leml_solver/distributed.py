"""Training on a cluster: blocks of rows stay on the workers of a Dask cluster.

Each pass sends (d, k) or (L, k) arrays to the workers; every block gives its share of a sum, and
the workers add the shares up in a binary tree over the numbers of the blocks. The client gets the
total alone. The order of additions depends on the blocks, never on the workers, and so do the
factors. A block whose worker has died is loaded again elsewhere: from its folder, or from the
client.

dask is an extra: ``pip install leml-theory[cluster]``.
"""

from __future__ import annotations

import contextlib
import os
import platform
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import count
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from argument_checks.wrong_types import errors_name_arguments
from command_line import clusters
from command_line.clusters import ClusterError
from leml_solver._blocked.block import Block, Sent, Sums
from leml_solver._blocked.fit import BlockedFit
from leml_solver._blocked.passes import Work, run_alone
from leml_solver._factored.fit import AlternatingOptions, FactorResult
from leml_solver._linalg.threads import available_threads, one_blas_thread
from leml_solver.blocks import FolderSource, MemorySource, Pairs, as_source, block_topk
from leml_solver.losses import Loss

if TYPE_CHECKING:
    from distributed import Client, Future

    from leml_solver.blocks import BlockFolder

__all__ = ["ClusterError", "connected", "fit_factors", "predict_topk"]

_ATTEMPTS = 8  # at one pass in a row
_WORKER_SECONDS = 120  # to wait for a worker
_LOOK_SECONDS = 5  # after which those who wait for a result look whether anybody computes it


def fit_factors(
    client: Client,
    blocks: str | os.PathLike[str] | BlockFolder | Pairs,
    *,
    rank: int,
    penalty: float,
    loss: str | Loss = "squared",
    random_state: int | np.random.Generator = 0,
    options: AlternatingOptions | None = None,
) -> FactorResult:
    """Fit factors to blocks of rows on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected to a scheduler with at least one worker.
    blocks : path, BlockFolder or sequence of (X, Y)
        A folder that every worker can read, or blocks that the client sends and keeps a copy of.
    rank, penalty, loss, random_state, options
        As in `leml_solver.blocks.fit_blocks`; the checkpoint is a file of the client.

    Returns
    -------
    FactorResult
        Bit-identical whatever the number of workers, on one kind of processor; equal to that of
        `leml_solver.fit_factors` to rounding.

    Raises
    ------
    ClusterError
        If the scheduler is gone, no worker is left, workers run other code than the client, or
        they die again and again in the same pass.
    """
    source = as_source(blocks, loss, options)
    passes = ClusterPasses(client, source)
    fit = BlockedFit(passes, source, rank=rank, penalty=penalty, options=options)
    return fit.run(random_state)


def predict_topk(
    client: Client,
    blocks: str | os.PathLike[str] | BlockFolder | Pairs,
    model: FactorResult,
    k: int = 5,
) -> Iterator[tuple[NDArray[np.int64], NDArray[Any]]]:
    """Yield the k labels of largest score of each row and their scores, block after block."""
    passes = ClusterPasses(client, as_source(blocks))
    yield from passes.each(_best_labels, model, k)


def _best_labels(block: Block, model: FactorResult, k: int) -> Sums:
    return block_topk(block.X, model, k)


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """Connect to a scheduler by its address or file, or start N one-thread processes: `local:N`."""
    available_threads()  # read now: those who watch the workers set OMP_NUM_THREADS to 1 here
    with clusters.connected(address, {}, direct=True) as client:
        yield client


class ClusterPasses:
    """Passes by the workers of a cluster, each of which keeps some consecutive blocks."""

    def __init__(self, client: Client, source: FolderSource | MemorySource) -> None:
        self.client: Any = client  # of whose methods some have no types
        self.source = source
        self._tokens, self._name = count(), f"leml-{uuid4().hex[:8]}"
        self._changes = Lock()  # of what is where
        self.blocks: list[Future[Block] | None] = [None] * len(source)
        self._find_workers()

    def send(self, array: NDArray[Any]) -> Sent:
        """Return the array with a token; it travels with the first pass that needs it."""
        return Sent(next(self._tokens), array)

    def total(self, work: Work, *arguments: Any) -> Sums:
        """Return the sum over all blocks of work(block, *arguments)."""

        def run() -> Sums:
            with self._changes:
                leaves = [self._leaf(number, work, arguments) for number in range(len(self.blocks))]
            total: Sums = self._result(self._tree(leaves))
            return total

        return tuple(_aligned(array) for array in self._insist(run, arguments))

    def in_turn(self, function: Callable[[slice], None], parts: Sequence[slice]) -> None:
        """Call a function for two parts at a time: one is computed while another is on its way."""
        with ThreadPoolExecutor(2) as pool:
            for made in [pool.submit(copy_context().run, function, part) for part in parts]:
                made.result()

    def each(self, work: Work, *arguments: Any) -> Iterator[Any]:
        """Yield work(block, *arguments) of one block after the other."""
        for number in range(len(self.blocks)):
            leaf = partial(self._leaf, number, work, arguments)
            yield self._insist(lambda leaf=leaf: self._result(leaf()), arguments)

    def _result(self, future: Future[Any]) -> Any:
        """Wait for a result as long as workers are busy.

        When all workers die at once, tasks that are to run on one of them wait for ever.
        """
        idle = 0
        while True:
            try:
                return future.result(timeout=_LOOK_SECONDS)
            except TimeoutError:
                idle = 0 if any(self.client.processing().values()) else idle + 1
                if future.status == "error" or idle > 1:
                    raise

    def _insist(self, run: Any, arguments: tuple[Any, ...]) -> Any:
        """Return what `run` returns; begin again where workers have died."""
        from distributed import KilledWorker

        error: Exception | None = None
        for _ in range(_ATTEMPTS):
            try:
                return run()
            except (CancelledError, KilledWorker, OSError) as lost:
                if getattr(lost, "errno", None) is not None:  # of a file, not of a connection
                    raise
                error = lost
                with self._changes:
                    self._recover(arguments)
        raise ClusterError(
            f"workers died {_ATTEMPTS} times in the same pass ({error}); a block and a few arrays "
            "of d x k must fit into the memory of a worker: make smaller blocks or raise its limit."
        )

    def _recover(self, arguments: tuple[Any, ...]) -> None:
        """Forget what may be lost; blocks that are still there stay where they are."""
        self._find_workers()
        for argument in arguments:
            if isinstance(argument, Sent):
                argument.where = None
        for number, block in enumerate(self.blocks):
            if block is not None and block.status != "finished":
                self.blocks[number] = None

    def _find_workers(self) -> None:
        """Choose a worker for each block: consecutive blocks, about equally many nonzeros."""
        try:
            self.client.wait_for_workers(1, timeout=_WORKER_SECONDS)
            workers = sorted(self.client.nthreads())
            versions = self.client.run(code_version, on_error="return")
        except (TimeoutError, OSError, RuntimeError, CancelledError) as error:
            raise ClusterError(
                f"the scheduler is gone or has no workers ({error or 'timeout'}); start them and "
                "run the same command again: with a checkpoint it continues where it stopped."
            ) from error
        _check_versions(versions, code_version())
        sizes = np.cumsum([0, *self.source.sizes()])
        middles = (sizes[1:] + sizes[:-1]) / (2 * max(sizes[-1], 1))
        self.homes = [workers[min(int(m * len(workers)), len(workers) - 1)] for m in middles]

    def _block(self, number: int) -> Future[Block]:
        """Return a block on its worker, loading it if it is nowhere."""
        found = self.blocks[number]
        if found is None:
            home, source = self.homes[number], self.source
            arguments: tuple[Any, ...] = (source, number)
            if isinstance(source, MemorySource):
                arguments = (self._scattered(source.part(number), workers=[home]), 0)
            found = self.blocks[number] = self._submit(_load, *arguments, home=home)
        return found

    def _scattered(self, value: Any, **where: Any) -> Any:
        """Send something to one worker, from which others fetch it.

        Not to all of them: a broadcast waits for ever when its first worker dies meanwhile.
        """
        try:
            return self.client.scatter(value, hash=False, **where)
        except KeyError as gone:  # the scheduler has forgotten a worker that has just died
            raise TimeoutError(f"worker {gone} is gone") from gone

    def _submit(self, function: Any, *arguments: Any, home: str | None = None) -> Any:
        where = {} if home is None else {"workers": [home], "allow_other_workers": True}
        key = f"{function.__name__.strip('_')}-{self._name}-{next(self._tokens)}"
        call = (_called, code_version(), function, *arguments)
        return self.client.submit(*call, key=key, pure=False, **where)

    def _leaf(self, number: int, work: Work, arguments: tuple[Any, ...]) -> Any:
        tokens = [a.token if isinstance(a, Sent) else None for a in arguments]
        values = [self._there(a) if isinstance(a, Sent) else a for a in arguments]
        home = self.homes[number]
        return self._submit(_share, work, self._block(number), tokens, *values, home=home)

    def _there(self, sent: Sent) -> Any:
        """Return the future of an array that all workers can have."""
        if sent.where is None:
            sent.where = self._scattered(sent.array)
        return sent.where

    def _tree(self, shares: list[Any]) -> Any:
        """Add up in pairs, pairs of pairs and so on, wherever the workers like."""
        while len(shares) > 1:
            pairs = zip(shares[::2], shares[1::2], strict=False)
            odd = shares[len(shares) // 2 * 2 :]
            shares = [self._submit(_added, left, right) for left, right in pairs] + odd
        return shares[0]


def _check_versions(versions: dict[str, str | Exception], own: str) -> None:
    """Refuse workers that run other code than the client, but not one that has just died."""
    for worker, theirs in versions.items():
        if theirs != own and not isinstance(theirs, OSError):
            raise ClusterError(
                f"worker {worker} runs leml-theory {theirs}, this process {own}; install the "
                "same versions on both."
            )


def _called(client_code: str, function: Any, *arguments: Any) -> Any:
    """Call a function on a worker, which may have come when the others had been asked already."""
    _check_versions({platform.node(): code_version()}, client_code)
    return function(*arguments)


def _load(source: FolderSource | MemorySource, number: int) -> Block:
    return source.load(number)


def _share(work: Work, block: Block, tokens: list[int | None], *values: Any) -> Sums:
    """Return the share of a block, computed on one thread."""
    here = [_aligned(v) if isinstance(v, np.ndarray) else v for v in values]
    pairs = zip(tokens, here, strict=True)
    arguments = tuple(v if token is None else Sent(token, v) for token, v in pairs)
    with one_blas_thread():
        return run_alone(work, block, arguments)


def _aligned(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as this process would have made it: products with others differ in rounding.

    Small arrays arrive in the middle of a message, at any address.
    """
    return np.require(array, requirements="A")


def _added(left: Sums, right: Sums) -> Sums:
    return tuple(np.asarray(a + b) for a, b in zip(left, right, strict=True))


@cache
def code_version() -> str:
    """Return the version of the package and its libraries, and a checksum of the code."""
    folder, total = Path(__file__).parent, 0
    for path in sorted(folder.rglob("*.py")):
        total = zlib.crc32(path.read_bytes(), total)
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba"))
    try:
        return f"{version('leml-theory')} ({total:08x}, {libraries})"
    except PackageNotFoundError:
        return f"not installed ({total:08x}, {libraries})"


errors_name_arguments(globals())
