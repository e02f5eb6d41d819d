"""Where the data of a study are from: the benchmark sets of the library, tables of users, or anything that loads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from sklearn.model_selection import train_test_split

from marginwise._arrays import Array
from marginwise.datasets.benchmarks import Benchmark, benchmark_names, load_benchmark
from marginwise.datasets.table import Table, load_table
from marginwise.errors import InvalidInputError, choose
from marginwise.tables.reading import CATEGORY

if TYPE_CHECKING:
    from marginwise.study.plan import Effort

#: Part of a user's rows that is kept for testing.
TEST_FRACTION = 1 / 3


class Source(Protocol):
    """Says where a data set is from; it is sent to every worker, which loads the data by itself.

    Examples
    --------
    ``docs/study.md`` has a study with data of one's own.

    >>> from marginwise.study import BenchmarkSource
    >>> BenchmarkSource("pima").load().name
    'pima'
    """

    def load(self) -> Benchmark:
        """Return the training and test set, the same each time: labels -1 and +1, inputs of like scale."""

    def __hash__(self) -> int:
        """Return the same for equal sources, as any object does: what was loaded is kept for a while."""


@dataclass(frozen=True)
class BenchmarkSource:
    """One of the library's benchmark sets; as in the paper its split is the same in all trials.

    Parameters
    ----------
    name : str
        One of :func:`~marginwise.benchmark_names`.
    draw : int
        Seed of sets that are drawn; 0 is the library's own draw.
    data_dir : str, optional
        Folder with original files; see :func:`~marginwise.load_benchmark`.
    stratify_sex : bool
        Whether the training crabs are as many of each sex as of each colour.

    Examples
    --------
    >>> BenchmarkSource("crabs").load().X_train.shape
    (80, 5)
    """

    name: str
    draw: int = 0
    data_dir: str | None = None
    stratify_sex: bool = True

    def load(self) -> Benchmark:
        """Return the set."""
        return load_benchmark(self.name, self.data_dir, random_state=self.draw, stratify_sex=self.stratify_sex)


@dataclass(frozen=True)
class TableSource:
    """A table in a file, with two classes.

    Rows are drawn for the test set once, as many of each class as there are in the table, with a seed that is a hash of
    the name. Inputs have mean 0 and variance 1 over the training set. Of the two labels the second one, in sorted
    order, is +1.

    Parameters
    ----------
    path : str
        A file for :func:`~marginwise.load_table`: CSV, Parquet or LIBSVM.
    target : str, optional
        The column to predict; by default the last.
    drop : tuple of str
        Columns to leave out.
    test_fraction : float
        Part of the rows that is the test set.

    Examples
    --------
    >>> TableSource("data/patients.csv", target="diabetic").name
    'patients'
    """

    path: str
    target: str | None = None
    drop: tuple[str, ...] = ()
    test_fraction: float = TEST_FRACTION

    @property
    def name(self) -> str:
        """The name of the file, without its ending."""
        name = Path(self.path).name
        return name.split(".")[0] or name

    def load(self) -> Benchmark:
        """Read the table and split it."""
        table = load_table(self.path, self.target, drop=self.drop, missing="refuse")
        labels, codes, counts = np.unique(table.y, return_inverse=True, return_counts=True)
        if len(labels) != 2 or counts.min() < 2:
            raise InvalidInputError(
                "target",
                table.target_name,
                f"a column with two classes and two rows or more of each, but {self.path} has {len(labels)} "
                f"different values there, one of them in {counts.min()} rows",
            )
        train, test = self._split(codes)
        inputs, names = _inputs(table)
        mean, scale = inputs[train].mean(axis=0), inputs[train].std(axis=0)
        X = (inputs - mean) / np.where(scale > 0.0, scale, 1.0)
        y = np.where(codes == 1, 1.0, -1.0)
        return Benchmark(self.name, X[train], y[train], X[test], y[test], names, None, f"Read from {self.path}.")

    def _split(self, codes: Any) -> Any:
        """Return the rows for training and for testing, sorted by class, so that every part of them has both."""
        seed = int.from_bytes(hashlib.sha256(f"study/{self.name}/split".encode()).digest()[:4], "big")
        try:
            parts = train_test_split(
                np.arange(len(codes)), test_size=self.test_fraction, random_state=seed, stratify=codes
            )
        except ValueError as error:
            raise InvalidInputError(
                "test_fraction", self.test_fraction, f"a share of the {len(codes)} rows of {self.path} ({error})"
            ) from None
        return tuple(part[np.argsort(codes[part], kind="stable")] for part in parts)


def _inputs(table: Table) -> tuple[Array, tuple[str, ...]]:
    """Return numbers alone, and their names: the paper's kernel has a length scale for each value of a word."""
    schema = table.schema
    cells, _ = schema.cells(table.X)
    blocks, names = [], []
    for name, column, values in zip(table.feature_names, schema.columns, cells.T, strict=True):
        if column.kind != CATEGORY:
            blocks.append(values[:, None])
            names.append(name)
            continue
        blocks.append((values[:, None] == np.arange(len(column.categories))).astype(float))
        names += [f"{name}={category}" for category in column.categories]
    return np.hstack(blocks), tuple(names)


#: Sources that a store describes, so that a report can load the data again.
DESCRIBED: dict[str, Callable[..., Source]] = {kind.__name__: kind for kind in (BenchmarkSource, TableSource)}


def benchmarks(*names: str, data_dir: str | None = None) -> dict[str, Source]:
    """Return benchmark sets of the library by name; without names, all.

    Parameters
    ----------
    *names : str
        Some of :func:`~marginwise.benchmark_names`.
    data_dir : str, optional
        Folder with original files; see :func:`~marginwise.load_benchmark`.

    Returns
    -------
    dict of BenchmarkSource

    Examples
    --------
    >>> list(benchmarks("crabs", "pima"))
    ['crabs', 'pima']
    """
    for name in names:
        choose("datasets", name, benchmark_names())
    return {name: BenchmarkSource(name, data_dir=data_dir) for name in names or benchmark_names()}


def tables(*paths: str, target: str | None = None, **options: Any) -> dict[str, Source]:
    """Return tables of users by the names of their files; options are those of :class:`TableSource`.

    Parameters
    ----------
    *paths : str
        Files for :func:`~marginwise.load_table`.
    target : str, optional
        The column to predict; by default the last.
    **options
        Those of :class:`TableSource`.

    Returns
    -------
    dict of TableSource

    Examples
    --------
    >>> list(tables("data/patients.csv", "data/flowers.csv", target="kind"))
    ['patients', 'flowers']
    """
    found: dict[str, Source] = {}
    for path in paths:
        source = TableSource(str(path), target, **options)
        if source.name in found:
            raise InvalidInputError("data", path, f"files with different names; there is another {source.name!r}")
        found[source.name] = source
    return found


@lru_cache(maxsize=8)
def load_data(source: Source, effort: Effort) -> Benchmark:
    """Return the data set, cut to the rows that the effort allows: evenly spread, which keeps both classes."""
    data = source.load()
    train, test = _spread(len(data.y_train), effort.train_rows), _spread(len(data.y_test), effort.test_rows)
    return replace(
        data,
        X_train=data.X_train[train],
        y_train=data.y_train[train],
        X_test=data.X_test[test],
        y_test=data.y_test[test],
    )


def _spread(n: int, kept: int | None) -> Any:
    """Return the indices of ``kept`` out of ``n`` rows, evenly spread."""
    return np.arange(n) if kept is None or kept >= n else np.linspace(0, n - 1, kept).astype(np.intp)
