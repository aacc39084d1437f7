"""A pass over all blocks: what each block gives, added up in an order that nothing changes.

The sum is a binary tree over the numbers of the blocks. Which thread or worker computes a block,
and how many of them there are, leaves every bit as it is.
"""

import mmap
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leml_solver._blocked.block import Block, Sent, Sums
from leml_solver._linalg.threads import one_thread, pool, thread_count

Work = Callable[..., Sums]


class Passes(Protocol):
    """Whoever runs a function of a block on all blocks and adds up what they give."""

    def send(self, array: NDArray[Any]) -> Sent:
        """Return an array as all blocks can see it."""

    def total(self, work: Work, *arguments: Any) -> Sums:
        """Return the sum over all blocks of work(block, *arguments)."""

    def in_turn(self, function: Callable[[slice], None], parts: Sequence[slice]) -> None:
        """Call a function that makes passes for each of the parts, which are independent."""


class LocalPasses:
    """Passes by the threads of this process: one block each, the next ones read meanwhile."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks, self._tokens = blocks, count()

    def send(self, array: NDArray[Any]) -> Sent:
        """Return the array with a token of its own."""
        return Sent(next(self._tokens), array)

    def total(self, work: Work, *arguments: Any) -> Sums:
        """Return the sum over all blocks of work(block, *arguments)."""
        return tree_sum(self._each(work, arguments))

    def in_turn(self, function: Callable[[slice], None], parts: Sequence[slice]) -> None:
        """Call a function for one part after the other."""
        for part in parts:
            function(part)

    def _each(self, work: Work, arguments: tuple[Any, ...]) -> Iterator[Sums]:
        """Yield what each block gives, in order; few results wait at a time."""
        threads = min(thread_count(), len(self.blocks))
        waiting: deque[Callable[[], Sums]] = deque()
        try:
            for number, block in enumerate(self.blocks):
                if len(waiting) > threads:
                    yield waiting.popleft()()
                for later in self.blocks[number + threads : number + threads + 1]:
                    _ask_for(later)
                waiting.append(pool(threads).submit(run_alone, work, block, arguments))
            while waiting:
                yield waiting.popleft()()
        finally:
            for result in waiting:  # nothing goes on behind an error
                with suppress(Exception):
                    result()


def run_alone(work: Work, block: Block, arguments: tuple[Any, ...]) -> Sums:
    """Return work(block, *arguments), computed on one thread."""
    with one_thread():
        return work(block, *arguments)


def tree_sum(parts: Iterable[Sums]) -> Sums:
    """Add up arrays in pairs, pairs of pairs and so on; at most log2 of them wait."""
    waiting: list[tuple[int, Sums]] = []  # sizes decrease
    for part in parts:
        size, total = 1, part
        while waiting and waiting[-1][0] == size:
            total, size = _added(waiting.pop()[1], total), 2 * size
        waiting.append((size, total))
    total = waiting.pop()[1]
    while waiting:
        total = _added(waiting.pop()[1], total)
    return total


def _added(left: Sums, right: Sums) -> Sums:
    """Add to the arrays on the left, in place."""
    for a, b in zip(left, right, strict=True):
        np.add(a, b, out=a)
    return left


def _ask_for(block: Block) -> None:
    """Have the system read the files of a block in the background, where it can."""
    if hasattr(mmap, "MADV_WILLNEED"):
        for array in block.files:
            array._mmap.madvise(mmap.MADV_WILLNEED)
