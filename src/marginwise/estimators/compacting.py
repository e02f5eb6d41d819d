"""Fitted models with fewer points, and what can be said of how far their probabilities move."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import betaincinv, softmax
from sklearn.utils.validation import check_is_fitted

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import hold_interrupts
from marginwise._runtime.threads import threads_for
from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators._explaining import encoded_rows, input_columns, require_posterior
from marginwise.estimators.tuned_svc import TunedSVC
from marginwise.fitting.compaction import SHARES, Compacted, Compaction, n_numbers, smallest
from marginwise.fitting.ensemble import Ensemble
from marginwise.inference.prediction import LatentPredictor
from marginwise.multiclass.cell_predictor import CellClassPredictor

#: Errors of latent means that are tried, in units of the tolerance, from safe to bold.
_LEVELS = tuple(2.0 ** (-0.5 * k) for k in range(14, -5, -1))

#: Steps of these between the numbers of points for which the fewest columns are looked for.
_SAFER = 2

#: Part of the tolerance that the rows may use which numbers of points and columns are chosen by: others come.
_RESERVE = 0.7

#: Times that a model may be checked by rows that had no part in it, each time chosen with less of the tolerance.
_CHECKS = 4

#: Made-up rows, at most: at which the model is fitted again, by which its size is chosen, and checked.
_DESIGN, _CHOOSING, _CHECKED = 4000, 1500, 2000

#: Rows among which a near neighbour is looked for.
_NEAR = 20

#: Different values from which on a column is taken for numbers.
_MANY_VALUES = 10

#: How sure the bound on the share of rows is.
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class CompactionReport:
    """What was kept of a model, and how far its probabilities have moved.

    Attributes
    ----------
    tolerance : float
        What no probability was to move by more than.
    points, points_before : tuple of int
        Points of each member that its latent functions are sums over, now and before.
    columns : tuple of int
        Columns of each member's factor of the variance; as many as points if it is a whole matrix.
    largest : float
        The largest difference of a probability at the rows that were checked. They had no part in the model.
    n_checked : int
        Their number.
    share_bound : float
        With 95 % confidence, a smaller share of all rows that are drawn as these moves by more than the tolerance
        (Clopper & Pearson 1934).
    remark : str
        What was not reached; empty if there is nothing to say.

    Examples
    --------
    >>> from marginwise.estimators.compacting import CompactionReport
    >>> report = CompactionReport(0.01, (40,), (300,), (12,), 0.006, 2000, 0.0015)
    >>> report.is_smaller
    True
    >>> print(report)
    40 of 300 points, 12 columns; no probability of 2000 rows that were held back moved by more than 6.0e-03, and with
    95 % confidence less than 0.15 % of rows like these move by more than 0.01
    """

    tolerance: float
    points: tuple[int, ...]
    points_before: tuple[int, ...]
    columns: tuple[int, ...]
    largest: float
    n_checked: int
    share_bound: float
    remark: str = ""

    @property
    def is_smaller(self) -> bool:
        """Whether anything could be left out."""
        return not self.remark

    def __str__(self) -> str:
        kept = f"{sum(self.points)} of {sum(self.points_before)} points, {sum(self.columns)} columns"
        return (
            f"{kept}; no probability of {self.n_checked} rows that were held back moved by more than "
            f"{self.largest:.1e}, and with {100 * _CONFIDENCE:.0f} % confidence less than "
            f"{100 * self.share_bound:.2g} % of rows like these move by more than {self.tolerance:g}"
        )


def compact(model: TunedSVC, X: Any = None, *, tolerance: float = 1e-3, keep_rows: bool = False) -> TunedSVC:
    """Return a fitted model with fewer points, whose probabilities are the same but for a tolerance.

    A prediction is a sum over points, and its variance takes a square matrix of them. Both become smaller as long as no
    probability moves by more than the tolerance: the points to those that matter most, the matrix to a factor with few
    columns, so that the fewest numbers are left. Where all points are needed, as for rough functions of many columns,
    the matrix alone becomes smaller. Members and columns all stay.

    The result is chosen on some rows and checked on others, and ``compaction_`` says what they showed. That is a
    statement on rows that are drawn as those which were checked. By default these are training rows that were held back
    and made-up rows around them; rows of your own, without labels, say it of rows like yours. Nothing is promised of
    rows far away from all of them.

    Parameters
    ----------
    model : TunedSVC
        Fitted, with ``predictor="posterior"``. It stays as it is.
    X : table, optional
        Rows like those that will be predicted: some thousands. Half of them choose, the others check.
    tolerance : float, default=1e-3
        The largest difference of a probability.
    keep_rows : bool, default=False
        Whether the training rows are kept, too, with their held-out probabilities. Without them the model is smaller,
        and has no ``novelty``, and no background for ``explain`` of its own.

    Returns
    -------
    TunedSVC
        The smaller model, or the same one with a warning if it can't be made smaller, with the attribute
        ``compaction_``, a ``CompactionReport``.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise import TunedSVC, compact
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> model = TunedSVC(ard=0, random_state=0).fit(X, X[:, 0] + rng.normal(size=300) > 0)
    >>> small = compact(model, tolerance=0.01)
    >>> sum(small.compaction_.points) < 0.5 * sum(small.compaction_.points_before)
    True
    >>> bool(np.abs(small.predict_proba(X) - model.predict_proba(X)).max() < 0.02)
    True
    """
    _check(model, tolerance)
    ensemble = model.ensemble_
    with hold_interrupts(), threads_for(ensemble.n_points):
        rows = _Rows.of_training(model) if X is None else _Rows.of(model, X)
        found, largest = _found(model, rows, tolerance)
    before = tuple(map(ensemble.points_of, ensemble.members))
    model.feature_importances_  # noqa: B018  # are found with all points
    small = copy.copy(model)
    if found is None:
        remark = (
            f"the model is as it was: no smaller one kept every probability within {tolerance:g}; a larger tolerance, "
            "or rows X like those that will be predicted, may help"
        )
        warnings.warn(remark, UserWarning, stacklevel=2)
        small.compaction_ = CompactionReport(tolerance, before, before, before, 0.0, 0, 0.0, remark)
        return small
    if not keep_rows:
        found = found.without_rows()
        small._places = np.zeros(0, dtype=np.intp)
    few = [_few(member.few_points) for member in found.members]
    small.ensemble_ = found
    small.compaction_ = CompactionReport(
        tolerance,
        tuple(len(one.points) for one in few),
        before,
        tuple(one.gain.shape[1] for one in few),
        largest,
        len(rows.checked),
        share_bound(0, len(rows.checked), 1.0 - (1.0 - _CONFIDENCE) / _CHECKS),  # whichever of them it passes
    )
    return small


def share_bound(n_beyond: int, n: int, confidence: float) -> float:
    """Return the upper bound of Clopper & Pearson (1934) on a share, of which ``n_beyond`` of ``n`` were seen."""
    return 1.0 if n_beyond >= n else float(betaincinv(n_beyond + 1, n - n_beyond, confidence))


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows as inputs: at which a model is fitted again, by which its size is chosen, and by which it is checked."""

    design: Array
    choosing: Array
    checked: Array

    @classmethod
    def of(cls, model: TunedSVC, X: Any) -> _Rows:
        """Return rows of the user's; the design has made-up rows around them, too."""
        inputs, owners = encoded_rows(model, model._cells(X))
        if owners is not None:  # one of the ways in which gaps were filled
            inputs = inputs[np.flatnonzero(np.diff(owners, prepend=-1))]
        if len(inputs) < 100:
            raise InvalidInputError(
                "X", Finding(f"has {len(inputs)} rows"), "100 or more, by which to choose and check"
            )
        rng = np.random.default_rng(0)
        own = inputs[rng.permutation(len(inputs))[: _DESIGN + _CHOOSING + _CHECKED]]
        first, second, checked = np.split(own, [len(own) // 4, len(own) // 2])
        mixed = made_up_rows(first, input_columns(model), _DESIGN, rng)
        return cls(np.vstack([first, mixed]), second, checked)

    @classmethod
    def of_training(cls, model: TunedSVC) -> _Rows:
        """Return training rows, each in one part only, and made-up rows around them."""
        X, rng = model.ensemble_.X, np.random.default_rng(0)
        order = rng.permutation(len(X))
        parts = [X[part] for part in np.split(order, [len(X) // 2, 3 * len(X) // 4])]
        sizes = (min(_DESIGN, 4 * len(X)), _CHOOSING, _CHECKED)
        columns = input_columns(model)
        mixed = [made_up_rows(X, columns, size, rng) for size in sizes]
        return cls(*(np.vstack(pair) for pair in zip(parts, mixed, strict=True)))


def made_up_rows(X: Array, columns: Indices, size: int, rng: np.random.Generator) -> Array:
    """Return rows like those of X: each between a row and a near one, moved by a part of the way between two others.

    They are (1 - u)x + ux' + v(z - z') with u uniform in [0, 1], v in [-1/√2, 1/√2] and near pairs x, x' and z, z'.
    Since E[(1 - u)² + u² + 2v²] = 1 they spread at most as the rows do, and columns that go together still do. Inputs
    of a category, or of a column with few values, are those of x or x'.
    """
    first, second = _near_pairs(X, size, rng)
    there, back = _near_pairs(X, size, rng)
    u, v = rng.uniform(size=(size, 1)), rng.uniform(-1.0, 1.0, size=(size, 1)) / np.sqrt(2.0)
    numbers = X[first] + u * (X[second] - X[first]) + v * (X[there] - X[back])
    is_alone = np.bincount(columns)[columns] == 1
    is_number = is_alone & np.array([len(np.unique(column)) > _MANY_VALUES for column in X.T])
    either = (rng.uniform(size=(size, int(columns.max()) + 1)) < 0.5)[:, columns]
    return np.where(is_number, numbers, np.where(either, X[first], X[second]))


def _near_pairs(X: Array, size: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Return random rows, and for each the nearest other of some."""
    first = rng.integers(len(X), size=size)
    near = rng.integers(len(X), size=(_NEAR, size))
    distances = np.array([np.einsum("ij,ij->i", X[one] - X[first], X[one] - X[first]) for one in near])
    return first, near[np.where(distances > 0.0, distances, np.inf).argmin(axis=0), np.arange(size)]


def _found(model: TunedSVC, rows: _Rows, tolerance: float) -> tuple[Ensemble | None, float]:
    """Return the smallest ensemble that passes, or None, and its largest difference when it was checked."""
    before = {name: _proba(model, model.ensemble_, getattr(rows, name)) for name in ("choosing", "checked")}

    def largest(ensemble: Ensemble, name: str) -> float:
        return float(np.abs(_proba(model, ensemble, getattr(rows, name)) - before[name]).max())

    compaction = Compaction(model.ensemble_, rows.design, tolerance)
    allowed = tolerance
    for _ in range(_CHECKS):
        allowed *= _RESERVE
        found = _smallest(compaction, tolerance, partial(_within, largest, allowed))
        if found is None:
            break
        difference = largest(found, "checked")
        if difference <= tolerance:
            return found, difference
    return None, 0.0


def _within(largest: Callable[[Ensemble, str], float], allowed: float, ensemble: Ensemble) -> bool:
    return largest(ensemble, "choosing") <= allowed


def _smallest(compaction: Compaction, tolerance: float, accepted: Callable[[Ensemble], bool]) -> Ensemble | None:
    """Return the ensemble of the fewest numbers that is accepted; None if none is smaller than what there is.

    The fewest points leave no room for the error of fewer columns, so that some more points are tried, too.
    """
    boldest = smallest(range(len(_LEVELS)), lambda k: accepted(compaction.at(_LEVELS[k] * tolerance).at(None)))
    levels: list[float | None] = [None] if compaction.is_exact_possible else []
    if boldest is not None:
        levels += [_LEVELS[k] * tolerance for k in range(boldest, max(-1, boldest - 3 * _SAFER), -_SAFER)]
    options = []
    for level in levels:
        made = compaction.at(level)
        share = smallest(SHARES, partial(_accepted_at, made, accepted))
        if share is not None or not made.is_whole:
            options.append(made.at(share))
    best = min(options, key=n_numbers, default=None)
    return best if best is not None and n_numbers(best) < compaction.n_numbers else None


def _accepted_at(made: Compacted, accepted: Callable[[Ensemble], bool], share: float) -> bool:
    return accepted(made.at(share))


def _proba(model: TunedSVC, ensemble: Ensemble, inputs: Array) -> Array:
    """Return what a model with this ensemble would predict, some rows at a time."""
    step = 1000
    logs = [ensemble.log_proba(inputs[start : start + step]) for start in range(0, len(inputs), step)]
    return softmax(model._weighted(np.vstack(logs)), axis=1)


def _few(one: Any) -> LatentPredictor:
    assert isinstance(one, LatentPredictor)
    return one


def _check(model: Any, tolerance: float) -> None:
    if not isinstance(model, TunedSVC):
        wanted = "a fitted TunedSVC; of a pipeline, its last step"
        raise InvalidInputError("model", Finding(f"is a {type(model).__name__}"), wanted)
    check_is_fitted(model)
    require_posterior(model)
    if model.ensemble_.vote is not None:
        found = Finding("predicts by votes, whose shares jump")
        raise InvalidInputError("model", found, 'one with combine="best" or "mean"')
    if any(isinstance(member.few_points, CellClassPredictor) for member in model.ensemble_.members):
        found = Finding("has inducing inputs in cells, and a row is predicted with those of its cell alone")
        raise InvalidInputError("model", found, "a model fitted with rank=500, say")
    if hasattr(model, "compaction_") and model.compaction_.is_smaller:
        raise InvalidInputError("model", Finding("is compact already"), "the model that it was made from")
    if not 0.0 < tolerance < 1.0:
        raise InvalidInputError("tolerance", tolerance, "a number between 0 and 1")
