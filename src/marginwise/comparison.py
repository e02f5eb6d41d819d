"""Classifiers side by side on one table: TunedSVC with several criteria, and its peers, on rows that were held out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import delayed
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.pipeline import Pipeline

from marginwise._arrays import Array, Indices, Mask
from marginwise._runtime.processes import job_runner, outcomes
from marginwise._runtime.threads import one_thread
from marginwise.errors import InvalidInputError, MarginwiseError, choose
from marginwise.estimators import TunedSVC
from marginwise.estimators._parameters import chosen_criterion
from marginwise.multiplicity import units_of
from marginwise.peers import PEERS, GridSVC

Rows = Indices

#: Parts of groups that are drawn until both sides have all classes.
_DRAWS = 20

#: Probabilities below this count as this, so that one of exactly zero does not make the mean infinite.
_LEAST = 1e-15


def contestants(
    criteria: Sequence[str], peers: Sequence[str], seed: int, words: Mask, *, grouped: bool = False
) -> dict[str, Any]:
    """Return estimators by name: TunedSVC with each criterion, and these peers.

    ``words`` says which columns hold words, ``grouped`` whether rows belong to groups.
    """
    for name in criteria:
        chosen_criterion(name, None)
    for name in peers:
        choose("peers", name, PEERS)
    tuned = {  # a fold alone may not show which columns are words
        "TunedSVC" if name == "auto" else f"TunedSVC {name}": TunedSVC(
            criterion=name, random_state=seed, categorical_features=words.tolist()
        )
        for name in criteria
    }
    return tuned | {name: PEERS[name](seed, words, grouped) for name in peers}


def splits(
    y: npt.NDArray[Any],
    *,
    folds: int,
    test_fraction: float | None,
    seed: int,
    groups: npt.NDArray[Any] | None = None,
) -> list[tuple[Rows, Rows]]:
    """Return (training rows, test rows), each class spread evenly: folds, or one part that is held out.

    Groups are on one side each, and classes spread as evenly as these allow.
    """
    if groups is not None:
        return _group_splits(y, groups, folds, test_fraction, seed)
    classes, counts = np.unique(y, return_counts=True)
    scarce = classes[counts.argmin()]
    if test_fraction is None and counts.min() < folds:
        raise InvalidInputError("folds", folds, f"at most {counts.min()}, the number of rows of class {scarce}")
    if counts.min() < 2:
        raise InvalidInputError("test_fraction", test_fraction, f"two rows of each class, but {scarce} has one")
    if test_fraction is None:
        return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(y, y))
    try:
        return list(StratifiedShuffleSplit(1, test_size=test_fraction, random_state=seed).split(y, y))
    except ValueError as error:  # one side would lack a class
        raise InvalidInputError(
            "test_fraction", test_fraction, f"another share of the {len(y)} rows ({error})"
        ) from None


def _group_splits(
    y: npt.NDArray[Any], groups: npt.NDArray[Any], folds: int, test_fraction: float | None, seed: int
) -> list[tuple[Rows, Rows]]:
    """Return splits between groups under which no class is unknown in training."""
    number = len(np.unique(groups))
    if test_fraction is None and number < folds:
        raise InvalidInputError("folds", folds, f"at most {number}, the number of groups")
    if test_fraction is None:
        found = list(StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(y, y, groups))
        unknown = [label for train, test in found for label in np.setdiff1d(y[test], y[train])]
        if unknown:
            wanted = f"a number under which no fold has all groups of a class, as one has of class {unknown[0]}"
            raise InvalidInputError("folds", folds, f"{wanted}; leave this class out, or take another number or seed")
        return [split for split in found if len(split[1])]
    drawn = GroupShuffleSplit(_DRAWS, test_size=test_fraction, random_state=seed).split(y, y, groups)
    try:
        parts = [(train, test) for train, test in drawn if set(y[train]) == set(y[test])]
    except ValueError as error:  # one side would be empty
        raise InvalidInputError("test_fraction", test_fraction, f"another share of {number} groups ({error})") from None
    if not parts:
        raise InvalidInputError("test_fraction", test_fraction, "a share under which both parts have all classes")
    return parts[:1]


@dataclass(frozen=True, eq=False)
class SplitScore:
    """What one classifier did on one split: on each test row whether it was wrong, its loss and its confidence.

    ``units`` are the numbers of what is independent: the rows, or their groups.
    """

    method: str
    split: int
    wrong: Mask
    log_loss: Array
    confidence: Array
    seconds: float
    units: Indices
    failure: str = ""


@dataclass(frozen=True)
class Score:
    """A classifier over all test rows; NaN where it failed, and then ``failure`` says why.

    ``gap`` is its log-loss minus the best one's. Each ``…_deviation`` is a standard error over the rows, or over their
    groups; that of the gap is of differences row by row, in which what makes a row hard for all cancels. ``seconds``
    are those of one fit. ``split_errors`` and ``split_log_losses`` are the means on each split.
    """

    method: str
    error: float
    error_deviation: float
    log_loss: float
    log_loss_deviation: float
    calibration_error: float
    gap: float
    gap_deviation: float
    seconds: float
    split_errors: tuple[float, ...] = ()
    split_log_losses: tuple[float, ...] = ()
    failure: str = ""


def run_parts(
    X: npt.NDArray[Any],
    y: npt.NDArray[Any],
    methods: Mapping[str, Any],
    rows: Sequence[tuple[Rows, Rows]],
    n_jobs: int | None = 1,
    groups: npt.NDArray[Any] | None = None,
) -> Iterator[SplitScore]:
    """Yield the parts as they are ready: each method on each split, in processes, with one BLAS thread."""
    tasks = (
        delayed(_part)(name, number, method, X, y, train, test, groups)
        for number, (train, test) in enumerate(rows)
        for name, method in methods.items()
    )
    yield from outcomes(job_runner(n_jobs, "generator_unordered"), tasks)


def scores(parts: Sequence[SplitScore]) -> list[Score]:
    """Return what each method did over all splits, the smallest log-loss first, those that failed last."""
    by_method: dict[str, list[SplitScore]] = {}
    for part in sorted(parts, key=lambda part: (part.split, part.method)):
        by_method.setdefault(part.method, []).append(part)
    whole = {name: own for name, own in by_method.items() if not any(part.failure for part in own)}
    losses = {name: np.concatenate([part.log_loss for part in own]) for name, own in whole.items()}
    order = sorted(whole, key=lambda name: (losses[name].mean(), name))
    failed = [name for name in by_method if name not in whole]
    return [
        *(_score(name, whole[name], losses[name] - losses[order[0]]) for name in order),
        *(_failed(name, by_method[name]) for name in failed),
    ]


def _score(method: str, parts: Sequence[SplitScore], gap: Array) -> Score:
    wrong, loss, confidence, units = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("wrong", "log_loss", "confidence", "units")
    )
    return Score(
        method,
        float(wrong.mean()),
        _deviation(wrong, units),
        float(loss.mean()),
        _deviation(loss, units),
        calibration_error(confidence, ~wrong),
        float(gap.mean()),
        _deviation(gap, units),
        float(np.mean([part.seconds for part in parts])),
        tuple(float(part.wrong.mean()) for part in parts),
        tuple(float(part.log_loss.mean()) for part in parts),
    )


def _failed(method: str, parts: Sequence[SplitScore]) -> Score:
    why = "; ".join(sorted({part.failure for part in parts if part.failure}))
    return Score(method, *(np.nan,) * 7, seconds=float(np.mean([part.seconds for part in parts])), failure=why)


def calibration_error(confidence: Array, right: Mask, bins: int = 10) -> float:
    """Return the expected calibration error: mean over the rows of |accuracy - confidence| in bins of equal numbers."""
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return float(sum(len(part) * abs(right[part].mean() - confidence[part].mean()) for part in parts) / len(order))


def _part(
    name: str,
    number: int,
    method: Any,
    X: npt.NDArray[Any],
    y: npt.NDArray[Any],
    train: Rows,
    test: Rows,
    groups: npt.NDArray[Any] | None,
) -> SplitScore:
    start = time.perf_counter()
    nothing = np.empty(0)
    units = test if groups is None else units_of(groups, len(y))[test]
    try:
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore")
            model = clone(method).fit(X[train], y[train], **_together(method, groups, train))
            seconds = time.perf_counter() - start
            wrong = model.predict(X[test]) != y[test]
            probabilities = model.predict_proba(X[test])
    except (MarginwiseError, ValueError, ArithmeticError) as error:
        seconds = time.perf_counter() - start
        return SplitScore(name, number, nothing.astype(bool), nothing, nothing, seconds, units, str(error))
    own = probabilities[np.arange(len(test)), np.searchsorted(model.classes_, y[test])]
    return SplitScore(name, number, wrong, -np.log(np.maximum(own, _LEAST)), probabilities.max(axis=1), seconds, units)


def _together(method: Any, groups: npt.NDArray[Any] | None, train: Rows) -> dict[str, Any]:
    """Return the groups of training rows as an argument of the method's fit, if it can leave them out."""
    last, prefix = method, ""
    if isinstance(method, Pipeline):
        name, last = method.steps[-1]
        prefix = f"{name}__"
    takes = groups is not None and isinstance(last, (TunedSVC, GridSVC, GridSearchCV))
    return {f"{prefix}groups": groups[train]} if groups is not None and takes else {}


def _deviation(values: npt.NDArray[Any], units: Indices) -> float:
    """Return the standard error of a mean over independent units."""
    return float(np.linalg.norm(np.bincount(units, values - values.mean())) / len(values))
