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
    def every(self, step: int) -> Blocks:
        """Return every so many of the rows of each block; blocks are rows."""

    @abstractmethod
    def map(self, function: BlockFunction, *shared: Any, columns: Sequence[Array] = ()) -> list[Any]:
        """Return the function's result for each block."""

    @abstractmethod
    def total(self, function: BlockFunction, *shared: Any, columns: Sequence[Array] = ()) -> Any:
        """Return the sum of the function's results, always in the same order."""

    def rows(self, function: BlockFunction, *shared: Any, columns: Sequence[Array] = ()) -> Array:
        """Return the function's results, which have an entry for each row, one after the other."""
        return np.concatenate(self.map(function, *shared, columns=columns))

    def thinned(self, step: int, columns: Sequence[Array]) -> tuple[Blocks, list[Array]]:
        """Return every so many of the rows of each block, and what belongs to them of the columns."""
        parts = [tuple(column[::step] for column in part) for part in self.parts(columns)]
        return self.every(step), [np.concatenate(column) for column in zip(*parts, strict=True)]

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

    def every(self, step: int) -> MemoryBlocks:
        few = [rows[::step] for rows in self.blocks]
        return MemoryBlocks(few, tuple(map(len, few)), self.shape[1])

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
    """Return the sum of results, numbers of double precision whatever theirs is.

    They are arrays, or tuples or dictionaries of such; of dictionaries each key has a sum of its own.
    """
    results = iter(results)
    total = _copied(next(results))
    for result in results:
        total = _added(total, result)
    return total


def _copied(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _copied(own) for key, own in part.items()}
    if isinstance(part, tuple):
        return tuple(map(_copied, part))
    return np.array(part, dtype=float, order="K")


def _added(total: Any, part: Any) -> Any:
    """Return the sum; arrays of ``total`` are overwritten."""
    if isinstance(part, dict):
        for key, own in part.items():
            total[key] = _added(total[key], own) if key in total else _copied(own)
        return total
    if isinstance(part, tuple):
        return tuple(_added(*pair) for pair in zip(total, part, strict=True))
    total += part
    return total
