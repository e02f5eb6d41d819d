"""Which rows of a table a model was trained on, from hashes of them.

Of many rows the smallest hashes are kept: a row with a hash up to the largest of these was trained on exactly if it is
among them, and as many of the others were in proportion (bottom-k sketch; Cohen & Kaplan 2007, "Summarizing data using
bottom-k sketches").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise.row_hash import hash_rows

#: Hashes that are kept; the share of rows that were trained on then has a standard error of at most 0.5/√4096 = 0.8 %.
_MOST = 4096


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Hashes of rows, the smallest, and whether these are all."""

    hashes: npt.NDArray[np.uint64]
    complete: bool

    @classmethod
    def of(cls, cells: Array, most: int = _MOST) -> TrainingRows:
        """Return those of cells as numbers."""
        hashes = np.unique(hash_rows(cells, 0))
        return cls(hashes[:most], len(hashes) <= most)

    def joined(self, others: TrainingRows, most: int = _MOST) -> TrainingRows:
        """Return those of these rows and of others; of incomplete ones, as far as both are known."""
        ends = [one.hashes[-1] for one in (self, others) if not one.complete]
        hashes = np.union1d(self.hashes, others.hashes)
        known = hashes[hashes <= min(ends)] if ends else hashes
        return TrainingRows(known[:most], not ends and len(known) <= most)

    def share(self, cells: Array) -> float:
        """Return the share of these rows that are equal to one that was trained on."""
        hashes = hash_rows(cells, 0)
        known = hashes if self.complete else hashes[hashes <= self.hashes[-1]]
        return float(np.isin(known, self.hashes).mean()) if len(known) else 0.0
