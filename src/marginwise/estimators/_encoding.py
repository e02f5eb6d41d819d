"""The cells of a table as inputs of a kernel.

A number is one input, of mean 0 and variance 1. A category is an input for each of its values, s([c = k] - p_k) with
s = 1/√(1 - Σp²) and p_k the shares of the values: together they have mean 0 and variance 1, as a number has, and two
rows are at the distance √2 s or 0. One length scale for all of them makes the column a factor that depends on equal or
not. One more input is s for a value that was never seen, which is then as far from all others as they are from each
other.

A gap in a column of numbers is the column's mean, and 1 in an input that is 0 elsewhere and has the column's length
scale: then its squared distance from any cell is the mean one of the column's cells from it, x² + 1. To first order in
1/l² that is the kernel's expectation over the column. A gap in a category is a value of its own.

Columns without gaps in training have no such input. A gap in one of them is filled with the cells of some training
rows, one after the other, and predictions are averaged over these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array, Indices, Mask
from marginwise.estimators._scaling import Scaling
from marginwise.row_hash import hash_rows

#: Training rows that gaps are filled from.
_DONORS = 32


@dataclass(frozen=True, eq=False)
class Encoding:
    """Cells as numbers, NaN where they are missing, to inputs.

    Attributes
    ----------
    scaling : Scaling
        Of the columns of numbers.
    centre, gap : arrays of shape (n_columns,)
        The scaled value of a gap in a column of numbers, and that of the input for gaps; 0 where there is none.
    shares : tuple of arrays
        The shares of the values of each category, of gaps last if there were any; empty for numbers.
    n_values : tuple of int
        How many values each category has, without gaps; 0 for numbers.
    donors : array of shape (m, n_columns)
        Cells of training rows.
    """

    scaling: Scaling
    centre: Array
    gap: Array
    shares: tuple[Array, ...]
    n_values: tuple[int, ...]
    donors: Array

    @classmethod
    def learnt(cls, cells: Array, weights: Array, n_values: Sequence[int], standardize: bool) -> Encoding:
        """Return the encoding for a table whose rows have these weights."""
        known = ~np.isnan(cells)
        gapped = np.asarray(np.isnan(cells).any(axis=0))
        scaling = _scaling(cells, weights, gapped)
        mean, deviation = scaling.unit * scaling.centre, scaling.unit * scaling.spread
        if not standardize:
            scaling = Scaling.none(np.where(known & (np.array(n_values) == 0), cells, 0.0))
        scaling.spread[~known.any(axis=0)] = np.inf  # what training never saw says nothing
        shares = [
            _shares(column, weights, n) if n > 0 else np.empty(0) for column, n in zip(cells.T, n_values, strict=True)
        ]
        donors = cells[donor_places(hash_rows(cells, 0), weights)]
        return cls.of(scaling, gapped, (mean, deviation), shares, n_values, standardize, donors)

    @classmethod
    def of(
        cls,
        scaling: Scaling,
        gapped: Mask,
        moments: tuple[Array, Array],
        shares: Sequence[Array],
        n_values: Sequence[int],
        standardize: bool,
        donors: Array,
    ) -> Encoding:
        """Return the encoding from statistics of the cells, wherever they are."""
        numbers = gapped & (np.array(n_values) == 0)
        mean, deviation = (0.0, 1.0) if standardize else moments
        return cls(
            scaling,
            np.where(numbers, mean, 0.0),
            np.where(numbers, deviation, 0.0),
            tuple(shares),
            tuple(n_values),
            donors,
        )

    @property
    def columns(self) -> tuple[int, ...] | None:
        """The column that each input belongs to; None where each column is one input."""
        widths = [1 + (len(share) or int(gap > 0.0)) for share, gap in zip(self.shares, self.gap, strict=True)]
        return None if max(widths) == 1 else tuple(np.repeat(np.arange(len(widths)), widths).tolist())

    def by_column(self, values: Array) -> Array:
        """Return the sums over the inputs of each column, along the last axis."""
        if self.columns is None:
            return values
        return np.add.reduceat(values, self.firsts, axis=-1)

    @property
    def firsts(self) -> Indices:
        """The first input of each column."""
        columns = np.arange(len(self.shares)) if self.columns is None else np.array(self.columns)
        return np.searchsorted(columns, np.arange(len(self.shares)))

    def __call__(self, cells: Array) -> Array:
        """Return the inputs; there are no gaps but where training had them, or in categories."""
        if self.columns is None:
            return self.scaling(cells)
        missing = np.isnan(cells)
        categories = np.array(self.n_values) > 0
        scaled = self.scaling(np.where(missing | categories, 0.0, cells))
        scaled = np.where(missing, self.centre, scaled)
        blocks = [self._block(j, cells[:, j], scaled[:, j], missing[:, j]) for j in range(len(self.shares))]
        return np.hstack(blocks)

    def cells(self, inputs: Array) -> Array:
        """Return the cells that these inputs are made of, but for rounding: what :meth:`__call__` undoes."""
        columns = np.arange(len(self.shares)) if self.columns is None else np.array(self.columns)
        return np.column_stack([self._cells(j, inputs[:, columns == j]) for j in range(len(self.shares))])

    def _cells(self, j: int, block: Array) -> Array:
        """Return the cells of a column."""
        if self.n_values[j] == 0:
            unit, centre, spread = (part[j] for part in (self.scaling.unit, self.scaling.centre, self.scaling.spread))
            if not np.isfinite(spread):  # training never saw any
                return np.full(len(block), np.nan)
            numbers = unit * (centre + spread * block[:, 0])
            return np.where(block[:, 1] > 0.5 * self.gap[j], np.nan, numbers) if self.gap[j] > 0.0 else numbers
        places = block.argmax(axis=1).astype(float)
        return np.where(places == self.n_values[j], np.nan, places) if self._had_gaps(j) else places

    def _had_gaps(self, j: int) -> bool:
        """Say whether cells of a category were missing in training."""
        return len(self.shares[j]) > self.n_values[j]

    def takes_gaps(self, j: int) -> bool:
        """Say whether the column has an input, or a value, for gaps."""
        return self._had_gaps(j) if self.n_values[j] else bool(self.gap[j] > 0.0)

    def _block(self, j: int, cells: Array, scaled: Array, missing: Mask) -> Array:
        """Return the inputs of a column."""
        if self.n_values[j] == 0:
            return np.column_stack([scaled, self.gap[j] * missing] if self.gap[j] > 0.0 else [scaled])
        n, p = self.n_values[j], self.shares[j]
        had_gaps = self._had_gaps(j)
        place = np.where(missing, n if had_gaps else -1.0, np.where(cells >= n, len(p), cells))
        inputs = _height(p) * ((place[:, None] == np.arange(len(p) + 1)) - np.append(p, 0.0))
        if not had_gaps:
            inputs[missing] = np.append(np.zeros(len(p)), 1.0)  # the mean, and as far from it as the others
        return inputs

    def filled(self, cells: Array) -> tuple[Array, Indices | None]:
        """Return cells without gaps where training had none, and the row that each is from; None if all are their own.

        A row with such gaps becomes one for each of the donors.
        """
        gaps = np.isnan(cells) & (self.gap == 0.0) & (np.array(self.n_values) == 0)
        rows = gaps.any(axis=1)
        if not rows.any():
            return cells, None
        owners = np.repeat(np.arange(len(cells)), np.where(rows, len(self.donors), 1))
        copies = cells[owners]
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        donor = np.arange(len(owners)) - first[owners]
        return np.where(gaps[owners], self.donors[donor], copies), owners


def donor_places(numbers: npt.NDArray[np.uint64], weights: Array, most: int = _DONORS) -> Indices:
    """Return some rows, all if they are few: at even steps of the weights, in an order that depends on them alone.

    ``numbers`` look random and are equal for equal rows.
    """
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(weights[order])
    size = min(most, len(order))
    steps = (np.arange(size) + 0.5) / size * ends[-1]
    return order[np.minimum(np.searchsorted(ends, steps), len(order) - 1)]


def averaged(values: Array, owners: Indices) -> Array:
    """Return the mean over the copies of each row."""
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    return np.add.reduceat(values, first) / np.bincount(owners)[:, None]


def averaged_log_proba(log_proba: Array, owners: Indices) -> Array:
    """Return the logarithms of the mean class probabilities over the copies of each row."""
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    return np.logaddexp.reduceat(log_proba, first) - np.log(np.bincount(owners))[:, None]


def agreed(codes: Array, owners: Indices) -> Array:
    """Return the class on which the copies of each row agree, -1 where they don't."""
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    least, most = np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first)
    return np.where(least == most, least, -1.0)


def averaged_moments(moments: Array, owners: Indices) -> Array:
    """Return means and variances, by turns in columns, of the mixture over the copies of each row."""
    mean, variance = moments[:, 0::2], moments[:, 1::2]
    mixed = moments[: owners[-1] + 1].copy()
    mixed[:, 0::2] = averaged(mean, owners)
    mixed[:, 1::2] = averaged(variance + (mean - mixed[owners, 0::2]) ** 2, owners)
    return mixed


def _scaling(cells: Array, weights: Array, gapped: Mask) -> Scaling:
    """Return the scaling of the columns, each over the cells that are there."""
    if not gapped.any():
        return Scaling.of(cells, weights)
    parts = []
    for column in cells.T:
        known = ~np.isnan(column)
        present = column[known, None] if known.any() else np.zeros((1, 1))
        parts.append(Scaling.of(present, weights[known] if known.any() else np.ones(1)))
    return Scaling(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("unit", "centre", "spread")))


def _shares(places: Array, weights: Array, n: int) -> Array:
    """Return the shares of n categories, and of gaps if there are any."""
    missing = np.isnan(places)
    counts = np.bincount(np.where(missing, n, places).astype(np.intp), weights, minlength=n)
    return counts / counts.sum()


def _height(p: Array) -> float:
    """Return 1/√(1 - Σp²), 1 where there is one value only."""
    rest = 1.0 - float(p @ p)
    return 1.0 / np.sqrt(rest) if rest > 1e-12 else 1.0
