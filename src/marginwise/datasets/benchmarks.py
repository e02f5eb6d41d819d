"""The five benchmark problems of the paper (section Data sets, table tab:data), split and scaled as there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer

from marginwise._arrays import Array, Mask
from marginwise._summary import summary
from marginwise.datasets import generated
from marginwise.datasets.table import Table, load_table
from marginwise.errors import InvalidInputError, choose

_FILES = Path(__file__).parent / "files"

_CRAB_INPUTS = ("FL", "RW", "CL", "CW", "BD")

#: Seeds of the generated sets, which like the paper's are the same in every experiment; other draws are this far apart.
_SEEDS = {"twonorm": 2003, "ringnorm": 2004}
_APART = 1000


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A benchmark problem with its training and test set.

    Attributes
    ----------
    name : str
        Name of the problem.
    X_train, X_test : array of shape (n, n_inputs)
        Inputs; over both sets together each has mean 0 and variance 1.
    y_train, y_test : array of shape (n,)
        Labels -1 and +1.
    feature_names : tuple of str
        Names of the inputs.
    bayes_error : float or None
        Lowest error rate of any classifier, if the distribution of the data is known.
    provenance : str
        Source of the data.

    Examples
    --------
    >>> data = load_benchmark("pima")
    >>> data.X_train.shape, data.feature_names[:2]
    ((200, 7), ('npreg', 'glu'))
    """

    name: str
    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array
    feature_names: tuple[str, ...]
    bayes_error: float | None
    provenance: str

    __repr__ = summary

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.X_train.shape[1]


@dataclass(frozen=True, eq=False)
class _Complete:
    """Training and test set together; with ``groups``, 2·sex + colour, the training set takes equal numbers of each."""

    X: Array
    y: Array
    feature_names: tuple[str, ...]
    groups: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True)
class _Source:
    n_train: int
    n_test: int
    n_inputs: int
    provenance: str
    make: Callable[[str, int], _Complete] | None = None  # of name and seed; without it the set is in a file
    bayes_error: Callable[[], float] | None = None


def benchmark_names() -> tuple[str, ...]:
    """Return the names that :func:`load_benchmark` knows, in the order of the paper.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> benchmark_names()
    ('crabs', 'pima', 'wdbc', 'twonorm', 'ringnorm')
    """
    return tuple(_SOURCES)


def load_benchmark(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    *,
    random_state: int = 0,
    stratify_sex: bool = True,
) -> Benchmark:
    """Return one of the paper's five benchmark problems, with its sizes of training and test set.

    ========  ======  ========  =====  ===================================
    name      inputs  training  test   y = +1
    ========  ======  ========  =====  ===================================
    crabs     5       80        120    male
    pima      7       200       332    diabetic
    wdbc      30      300       269    malignant
    twonorm   20      300       7100   mean (a, …, a), a = 2/√20
    ringnorm  20      300       7100   the wide class, covariance 4I
    ========  ======  ========  =====  ===================================

    The first rows are the training set, except for crabs, whose rows are sorted by size: their training set is 20 of
    each colour and sex, drawn with ``random_state``. (The paper's draw is balanced in colour, but not known otherwise.)
    The colour is not an input. Twonorm and ringnorm are drawn anew from the distributions of the DELVE files that the
    paper used.

    Parameters
    ----------
    name : str
        One of :func:`benchmark_names`.
    data_dir : str or path-like, optional
        Folder with original files to read instead of the sets that come with the library: NAME.csv or NAME.csv.gz with
        a header, all rows in the original order, and y in {-1, 1} in the last column. For crabs: crabs.csv or
        crabs_full.csv (or .csv.gz) with the columns sp (B or O), sex (M or F), FL, RW, CL, CW and BD in any order;
        other columns are ignored.
    random_state : int
        Seed for drawing crabs, twonorm and ringnorm; pima and wdbc have a single split.
    stratify_sex : bool, default=True
        Whether the training set of crabs is balanced in sex as well as in colour. False draws 40 of each colour
        regardless of sex: the paper only says that its draw is balanced in colour.

    Examples
    --------
    >>> crabs = load_benchmark("crabs")
    >>> crabs.X_train.shape, crabs.X_test.shape
    ((80, 5), (120, 5))
    """
    source = _SOURCES[choose("name", name, _SOURCES)]
    provenance = source.provenance
    if data_dir is not None:
        file = _find(name, Path(data_dir).expanduser())
        complete, provenance = _read(name, file), f"Read from {file}."
    elif source.make is not None:
        complete = source.make(name, random_state)
    else:
        complete = _read(name, _FILES / f"{name}.csv")
    groups = complete.groups if complete.groups is None or stratify_sex else complete.groups % 2
    training = _training_rows(groups, len(complete.y), source.n_train, random_state)
    X = (complete.X - complete.X.mean(axis=0)) / complete.X.std(axis=0)
    return Benchmark(
        name=name,
        X_train=X[training],
        y_train=complete.y[training],
        X_test=X[~training],
        y_test=complete.y[~training],
        feature_names=complete.feature_names,
        bayes_error=source.bayes_error() if source.bayes_error else None,
        provenance=provenance,
    )


def _training_rows(groups: npt.NDArray[np.int64] | None, n: int, n_train: int, random_state: int) -> Mask:
    """Mark the first rows, or equal numbers drawn from each group."""
    training = np.zeros(n, dtype=bool)
    if groups is None:
        training[:n_train] = True
        return training
    rng = np.random.default_rng(random_state)
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        training[rng.choice(members, size=n_train // len(np.unique(groups)), replace=False)] = True
    return training


def _expected(name: str) -> str:
    source = _SOURCES[name]
    rows = source.n_train + source.n_test
    if name == "crabs":
        columns = ", ".join(_CRAB_INPUTS)
        return f"{rows} crabs, 50 of each sp (B or O) and sex (M or F), with the columns sp, sex, {columns}"
    return f"a header, {rows} rows of {source.n_inputs} numbers and y in {{-1, 1}} in the last column"


def _find(name: str, folder: Path) -> Path:
    stems = ("crabs", "crabs_full") if name == "crabs" else (name,)
    candidates = [folder / f"{stem}{suffix}" for stem in stems for suffix in (".csv", ".csv.gz")]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise InvalidInputError(
        "data_dir", str(folder), f"a folder with {' or '.join(map(str, candidates))}: {_expected(name)}"
    )


def _read(name: str, file: Path) -> _Complete:
    """Return the set in a file of the documented form."""
    source = _SOURCES[name]
    complete = _crabs(load_table(file, "sex")) if name == "crabs" else _plain(load_table(file))
    shape = (source.n_train + source.n_test, source.n_inputs)
    if complete is None or complete.X.shape != shape:
        raise InvalidInputError("data_dir", str(file), _expected(name))
    return complete


def _plain(table: Table) -> _Complete | None:
    if table.categories or not set(table.y.tolist()) <= {-1, 1}:
        return None
    return _Complete(table.X, table.y.astype(float), table.feature_names)


def _crabs(table: Table) -> _Complete | None:
    column = {name: table.X[:, a] for a, name in enumerate(table.feature_names)}
    if set(table.y.tolist()) != {"M", "F"} or not {*_CRAB_INPUTS, "sp"} <= set(column):
        return None
    male, blue = table.y == "M", column["sp"] == "B"
    groups = 2 * male.astype(int) + blue
    if np.bincount(groups).tolist() != [50] * 4:
        return None
    inputs = np.column_stack([column[name] for name in _CRAB_INPUTS]).astype(float)
    return _Complete(inputs, np.where(male, 1.0, -1.0), _CRAB_INPUTS, groups)


def _wdbc(name: str, random_state: int) -> _Complete:
    data = load_breast_cancer()
    y = np.where(data.target == list(data.target_names).index("malignant"), 1.0, -1.0)
    return _Complete(data.data, y, tuple(map(str, data.feature_names)))


def _generated(name: str, random_state: int) -> _Complete:
    # RandomState, unlike Generator, gives the same numbers in every version of NumPy.
    X, y = getattr(generated, name)(7400, np.random.RandomState(_SEEDS[name] + _APART * random_state))
    return _Complete(X, y, tuple(f"x{a}" for a in range(1, generated.N_INPUTS + 1)))


_GENERATED = "Generated from Breiman's definition (1996) with seed {}."

_SOURCES = {
    "crabs": _Source(
        80, 120, 5, "Rock crabs, Campbell and Mahon (1974), from the MASS collection of Venables and Ripley."
    ),
    "pima": _Source(
        200, 332, 7, "Diabetes tests, Smith et al. (1988), from the MASS collection of Venables and Ripley."
    ),
    "wdbc": _Source(300, 269, 30, "Breast tumours, Wolberg, Street and Mangasarian (1995), as in scikit-learn.", _wdbc),
    "twonorm": _Source(
        300,
        7100,
        20,
        _GENERATED.format(_SEEDS["twonorm"]),
        _generated,
        generated.twonorm_bayes_error,
    ),
    "ringnorm": _Source(
        300,
        7100,
        20,
        _GENERATED.format(_SEEDS["ringnorm"]),
        _generated,
        generated.ringnorm_bayes_error,
    ),
}
