"""Blocks of rows on the Dask scheduler that the user already runs, or on Dask's own threads.

Tasks are pure functions of a block, of a few m×m matrices and of the block's part of some columns. So a block that is
lost with its worker is made again from where it came, and a task that died with it is run again elsewhere.

Columns travel with the tasks: the scheduler, which is often in the caller's process, has several copies of them. So
where they are long, a pass is several waves of tasks, one after the other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any
from uuid import uuid4

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.blocks import BlockFunction, Blocks, add
from marginwise.errors import Finding, InvalidInputError

#: Bytes that features may take before they are made afresh each time: then not even they need to fit into memory.
KEPT = 2**32

#: Results that are added up in one task.
_FAN = 8

#: Bytes of columns that may be with the scheduler at a time, and tasks of a wave for each thread, whatever their size.
SENT, _TASKS_EACH = 2**25, 4


class DaskBlocks(Blocks):
    """Blocks that Dask knows how to make."""

    def __init__(self, blocks: Sequence[Any], sizes: tuple[int, ...], n_columns: int) -> None:
        self.blocks, self.sizes, self.shape = blocks, sizes, (sum(sizes), n_columns)

    def keep(self, function: BlockFunction, size: int, *shared: Any) -> DaskBlocks:
        dask = _dask()
        made: Sequence[Any] = self._tasks(function, shared, ())
        if self.shape[0] * size <= KEPT:
            with _quietly():
                made = dask.persist(*made)
        return DaskBlocks(made, self.sizes, self.shape[1])

    def every(self, step: int) -> DaskBlocks:
        sizes = tuple(-(-size // step) for size in self.sizes)
        return DaskBlocks(self._tasks(_every, (step,), ()), sizes, self.shape[1])

    def map(self, function: BlockFunction, *shared: Any, columns: Sequence[Array] = ()) -> list[Any]:
        dask = _dask()
        with _quietly():
            return [one for wave in self._waves(function, shared, columns) for one in dask.compute(*wave)]

    def total(self, function: BlockFunction, *shared: Any, columns: Sequence[Array] = ()) -> Any:
        dask = _dask()
        plus = dask.delayed(add, pure=False)

        def of_wave(parts: list[Any]) -> Any:
            while True:
                parts = [plus(parts[start : start + _FAN]) for start in range(0, len(parts), _FAN)]
                if len(parts) == 1:
                    return dask.compute(parts[0])[0]

        with _quietly():
            return add(map(of_wave, self._waves(function, shared, columns)))

    def _waves(self, function: BlockFunction, shared: Sequence[Any], columns: Sequence[Array]) -> Iterator[list[Any]]:
        """Yield tasks for all blocks, as many at a time as may be."""
        each = max(1, sum(column.nbytes for column in columns) // len(self.sizes))
        number = max(SENT // each, _TASKS_EACH * _threads())
        for start in range(0, len(self.sizes), number):
            yield self._tasks(function, shared, columns, slice(start, start + number))

    def _tasks(
        self, function: BlockFunction, shared: Sequence[Any], columns: Sequence[Array], some: slice = slice(None)
    ) -> list[Any]:
        dask = _dask()
        # One node of the graph, so that what is shared is sent once, not with every task.
        common = dask.delayed(tuple(shared), name=f"shared-{uuid4().hex}", traverse=False)
        apply = dask.delayed(_apply, pure=False)
        parts = self.parts(columns)[some]
        return [apply(function, block, common, part) for block, part in zip(self.blocks[some], parts, strict=True)]


def from_dask(X: Any) -> DaskBlocks:
    """Return the blocks of a Dask array, each with all columns."""
    sizes = X.chunks[0]
    if np.isnan(sizes).any():
        raise InvalidInputError(
            "X", Finding("is a Dask array with unknown chunk sizes"), "X.compute_chunk_sizes() first"
        )
    whole = X.rechunk({1: -1})
    return DaskBlocks(whole.to_delayed()[:, 0], tuple(map(int, sizes)), X.shape[1])


def _quietly() -> Any:
    """Return a context without the advice that data should not be sent with tasks: it is kept small as it is.

    Settings of ``distributed`` are there once it is imported. Imported within the context they would go with it.
    """
    with suppress(ImportError):
        import_module("distributed")
    return _dask().config.set({"distributed.admin.large-graph-warning-threshold": "1GB"})


def _threads() -> int:
    """Return the number of tasks that can run at a time."""
    distributed: Any = sys.modules.get("distributed")  # without it there are Dask's own threads
    if distributed is not None:
        with suppress(ValueError):  # there is no client
            return int(sum(distributed.get_client().nthreads().values()))
    return os.cpu_count() or 1


def _dask() -> Any:
    return import_module("dask")


def _every(rows: Array, step: int) -> Array:
    return rows[::step]


def _apply(function: BlockFunction, block: Any, shared: tuple[Any, ...], parts: tuple[Array, ...]) -> Any:
    return function(block, *shared, *parts)
