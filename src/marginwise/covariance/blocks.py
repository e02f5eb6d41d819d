"""A table in blocks of rows: functions are mapped over the blocks, and their results collected or summed.

All that a low-rank method does with n rows is said in these terms, so that it runs on rows in memory and, the same
way, on rows that are elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.interrupts import safe_point
from marginwise._runtime.threads import one_thread, worker_threads

#: A function of a block, of what is the same for all blocks, and of the block's part of each column.
BlockFunction = Callable[..., Any]

#: Rows of a block in memory: with 500 features 8 MB, enough for BLAS to be at its best.
ROWS = 2048


class Blocks(ABC):
    """Rows of a table in blocks, or what was made of them.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns of the table.
    sizes : tuple of int
        Rows of each block.
    """

    shape: tuple[int, int]
    sizes: tuple[int, ...]

    @abstractmethod
    def keep(self, function: BlockFunction, size: int, *shared: Any) -> Blocks:
        """Return the blocks that the function makes of these, kept where they are; a row takes ``size`` bytes."""

    @abstractmethod
    def thinned(self, step: int) -> Blocks:
        """Return every so many of the blocks."""

    @abstractmethod
    def map(self, function: BlockFunction, *shared: Any, columns: Sequence[Array] = ()) -> list[Any]:
        """Return the function's result for each block."""

    @abstractmethod
    def total(self, function: BlockFunction, *shared: Any, columns: Sequence[Array] = ()) -> Any:
        """Return the sum of the function's results, always in the same order."""

    def rows(self, function: BlockFunction, *shared: Any, columns: Sequence[Array] = ()) -> Array:
        """Return the function's results, which have an entry for each row, one after the other."""
        return np.concatenate(self.map(function, *shared, columns=columns))

    def parts(self, columns: Sequence[Array]) -> list[tuple[Array, ...]]:
        """Return each block's part of the columns."""
        ends = np.cumsum(self.sizes)
        return [
            tuple(column[end - size : end] for column in columns) for size, end in zip(self.sizes, ends, strict=True)
        ]


class MemoryBlocks(Blocks):
    """Blocks in memory, worked on by as many threads as BLAS may use, each of which then uses one."""

    def __init__(self, blocks: Sequence[Any], sizes: tuple[int, ...], n_columns: int) -> None:
        self.blocks, self.sizes, self.shape = blocks, sizes, (sum(sizes), n_columns)

    def keep(self, function: BlockFunction, size: int, *shared: Any) -> MemoryBlocks:
        return MemoryBlocks(self.map(function, *shared), self.sizes, self.shape[1])

    def thinned(self, step: int) -> MemoryBlocks:
        return MemoryBlocks(self.blocks[::step], self.sizes[::step], self.shape[1])

    def map(self, function: BlockFunction, *shared: Any, columns: Sequence[Array] = ()) -> list[Any]:
        return list(self._results(function, shared, columns))

    def total(self, function: BlockFunction, *shared: Any, columns: Sequence[Array] = ()) -> Any:
        return add(self._results(function, shared, columns))

    def _results(self, function: BlockFunction, shared: Sequence[Any], columns: Sequence[Array]) -> Iterator[Any]:
        """Yield the results in order, as soon as they are there: sums need not keep them all."""

        def task(number: int) -> Any:
            return function(self.blocks[number], *shared, *parts[number])

        safe_point()
        parts = self.parts(columns)
        threads = min(worker_threads(), len(self.blocks))
        if threads == 1:
            yield from map(task, range(len(parts)))
            return
        with one_thread(), ThreadPoolExecutor(threads) as pool:
            yield from pool.map(task, range(len(parts)))


def as_blocks(X: Any, size: int | None = None) -> Blocks:
    """Return the rows of a matrix in blocks: of nearly equal size, by default small, or as they are in a Dask array."""
    if not isinstance(X, np.ndarray):
        from marginwise.covariance.dask_blocks import from_dask

        return from_dask(X)
    blocks = np.array_split(X, max(1, -(-len(X) // (size or ROWS))))
    return MemoryBlocks(blocks, tuple(map(len, blocks)), X.shape[1])


def add(results: Iterable[Any]) -> Any:
    """Return the sum of results, numbers of double precision whatever theirs is: arrays, or tuples of arrays."""
    total: Any = None
    for result in results:
        if total is None:
            several = isinstance(result, tuple)
            total = tuple(map(_copied, result)) if several else _copied(result)
        elif several:
            for own, part in zip(total, result, strict=True):
                own += part
        else:
            total += result
    return total


def _copied(part: Array) -> Array:
    return np.array(part, dtype=float, order="K")
