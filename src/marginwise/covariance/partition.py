"""A table cut into blocks of neighbouring rows: a tree of half-spaces that new rows can be sorted by, too.

Each node cuts its rows in two across one direction, so that both halves get as many rows as their blocks are to have:
a k-d tree (Bentley 1975) in inputs in units of the length scales, where the kernel sees distances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array, Indices, Mask
from marginwise._runtime.jit import compiled
from marginwise._summary import summary
from marginwise.errors import Finding, InvalidInputError

#: Ways to choose the direction of a cut: the axis, or the input, in which the rows vary most, or a random one.
DIRECTIONS = ("principal", "widest", "random")


@dataclass(frozen=True, eq=False)
class Partition:
    """A tree of half-spaces. Build it with :meth:`of`.

    Node k sends a row x to ``children[k, 0]`` if x·``directions[k]`` ≤ ``thresholds[k]``, otherwise to
    ``children[k, 1]``; a child c ≥ 0 is a node, c < 0 is block -1 - c. Without nodes there is one block.

    Attributes
    ----------
    directions : array of shape (nodes, d)
    thresholds : array of shape (nodes,)
    children : array of shape (nodes, 2)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> partition = Partition.of(X, np.ones(1), 2)
    >>> partition.n_blocks, partition.assign(X).tolist(), partition.assign(np.array([[-5.0], [100.0]])).tolist()
    (4, [0, 0, 1, 1, 2, 2, 3, 3], [0, 3])
    """

    directions: Array
    thresholds: Array
    children: Indices

    __repr__ = summary

    @classmethod
    def of(cls, X: Array, lengths: Array, size: int, *, direction: str = "principal", seed: int = 0) -> Partition:
        """Return a partition into blocks of about ``size`` rows of X, never more but for equal rows.

        Equal rows share a block.

        Parameters
        ----------
        X : array of shape (n, d)
        lengths : array of shape (d,)
            The unit of each input.
        size : int
            The largest number of rows of a block.
        direction : {"principal", "widest", "random"}
            Cut across the principal axis, across the input of the largest variance in these units
            (``benchmarks/local.py --cuts`` compares them), or across a random axis, near to the principal one if the
            rows vary most along that: borders then lie elsewhere.
        seed : int
            Draws the random axes.
        """
        if size < 1:
            raise InvalidInputError("size", size, "a positive number of rows")
        if direction not in DIRECTIONS:
            raise InvalidInputError("direction", direction, " or ".join(DIRECTIONS))
        axes = _axes(direction, np.random.default_rng(seed))
        directions, thresholds, children = _grown(X, 1.0 / lengths, -(-len(X) // size), size, axes)
        return cls(
            np.array(directions).reshape(-1, X.shape[1]),
            np.array(thresholds, dtype=float),
            np.array(children, dtype=np.intp).reshape(-1, 2),
        )

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.thresholds) + 1

    def check_inputs(self, n_inputs: int) -> None:
        """Raise unless rows of this many inputs were partitioned."""
        own = self.directions.shape[1]
        if n_inputs != own:
            raise InvalidInputError("partition", Finding(f"is for {own} inputs"), f"one for {n_inputs}, as X has")

    def assign(self, X: Array) -> Indices:
        """Return the number of the block of each row."""
        self.check_inputs(X.shape[1])
        return _assign(np.ascontiguousarray(X, dtype=float), self.directions, self.thresholds, self.children)


#: From points to the directions to try: the first of a range that is not zero is taken.
Axes = Callable[[Array], list[Array]]


def _grown(
    X: Array, units: Array, n_blocks: int, size: int, axes: Axes
) -> tuple[list[Array], list[float], list[list[int]]]:
    """Return directions, thresholds and children of the nodes, each before those below it."""
    directions: list[Array] = []
    thresholds: list[float] = []
    children: list[list[int]] = []
    blocks = 0

    def add(rows: Array, wanted: int) -> int:
        nonlocal blocks
        cut = _cut(rows, units, wanted, axes) if len(rows) > size else None
        if cut is None:
            blocks += 1
            return -blocks
        node, below = len(children), cut.below
        directions.append(cut.direction)
        thresholds.append(cut.threshold)
        children.append([0, 0])
        for side, part in enumerate((rows[below], rows[~below])):
            share = round(wanted * len(part) / len(rows))
            children[node][side] = add(part, max(share, -(-len(part) // size)))
        return node

    add(X, n_blocks)
    return directions, thresholds, children


class _Cut(NamedTuple):
    direction: Array
    threshold: float
    below: Mask


def _cut(rows: Array, units: Array, wanted: int, axes: Axes) -> _Cut | None:
    """Return direction and threshold of a cut, and which rows are below; None if all rows are equal."""
    for axis in axes(rows * units):
        scaled = axis * units
        place = _projected(rows, scaled)
        ordered = np.sort(place)
        jumps = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1
        if jumps.size:
            goal = len(rows) * (wanted // 2) / wanted
            at = int(jumps[np.abs(jumps - goal).argmin()])
            low, high = float(ordered[at - 1]), float(ordered[at])
            middle = 0.5 * (low + high)
            threshold = middle if low <= middle < high else low
            return _Cut(scaled, threshold, place <= threshold)
    return None


def _axes(direction: str, rng: np.random.Generator) -> Axes:
    """Return the function from points to the directions that they are cut across.

    A random one is Sg, S the covariance of the points and g standard normal.
    """

    def axes(points: Array) -> list[Array]:
        widest = list(np.eye(points.shape[1])[np.argsort(-points.var(axis=0), kind="stable")])
        if direction == "widest":
            return widest
        centred = points - points.mean(axis=0)
        scatter = centred.T @ centred
        if direction == "random":
            axis = scatter @ rng.normal(size=len(scatter))
            length = np.linalg.norm(axis)
            return [np.round(axis / length, 8), *widest] if length > 0.0 else widest
        axis = np.linalg.eigh(scatter)[1][:, -1]
        axis *= np.sign(axis[np.abs(axis).argmax()])
        return [np.round(axis, 8), *widest]

    return axes


@compiled
def _projected(rows: Array, direction: Array) -> Array:
    """Return the products of rows with a direction, each sum in the same order: equal rows have equal products."""
    place = np.empty(len(rows))
    for i in range(len(rows)):
        total = 0.0
        for a in range(len(direction)):
            total += rows[i, a] * direction[a]
        place[i] = total
    return place


@compiled
def _assign(X: Array, directions: Array, thresholds: Array, children: Indices) -> Indices:
    blocks = np.empty(len(X), dtype=np.intp)
    for i in range(len(X)):
        node = 0 if len(thresholds) > 0 else -1
        while node >= 0:
            place = 0.0
            for a in range(X.shape[1]):
                place += X[i, a] * directions[node, a]
            node = children[node, 0] if place <= thresholds[node] else children[node, 1]
        blocks[i] = -1 - node
    return blocks
