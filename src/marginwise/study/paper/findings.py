"""What claims and tables are made of: trials, what their paths tell, and lines between their ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np
from scipy.stats import rankdata

from marginwise._arrays import Array
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import all_datasets
from marginwise.study.paper.numbers import PaperColumn
from marginwise.study.paper.optima import MajorityVote, Paired, Scan, pair, scan_optima, vote
from marginwise.study.paper.settings import (
    NEAREST,
    NEAREST_ASCENT,
    NEAREST_WALK,
    THOROUGH,
    VARIED_DATASETS,
    VARIED_METHODS,
    in_setting,
)
from marginwise.study.record import Trace, TrialRow
from marginwise.study.report.data import StudyData
from marginwise.study.report.summary import Sample, Trials
from marginwise.study.store import Store

_Named = TypeVar("_Named", TrialRow, Scan, MajorityVote, Paired)

#: Columns of a path that facts are taken from, and criteria that are looked at along the paths of others.
_COLUMNS, _COMPANIONS = {"score", "test_error"}, ("gacv", "span")


class NoTrialsError(LookupError):
    """A claim needs trials that are not there yet."""


@dataclass(frozen=True)
class Findings:
    """What the page is made of.

    Attributes
    ----------
    trials : Trials
        All of them: those of the paper's study, of users, in other settings and on other draws of the data sets.
    scans, votes, pairs : sequence of Scan, MajorityVote, Paired
        Criteria along lines between their ends, what these say together, and against TunedSVC.
    sizes : mapping
        Inputs, training and test rows of data sets that the paper does not have.
    base : Findings or None
        Where the paper's methods are in another setting: the same in the thorough one.
    limits : str
        What the trials were limited to, in words; empty if all rows and the usual searches were allowed.
    """

    trials: Trials
    scans: Sequence[Scan] = ()
    votes: Sequence[MajorityVote] = ()
    pairs: Sequence[Paired] = ()
    sizes: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    base: Findings | None = None
    limits: str = ""

    @property
    def miniature(self) -> bool:
        """Whether some trials were limited or had fewer rows than the paper's: nothing is shown to hold by them."""
        return bool(self.limits) or any(
            row.extra.get(name, size) < size
            for row in self.trials.rows
            for name, size in zip(("train_rows", "test_rows"), paper.SIZES.get(row.dataset, (0, 0, 0))[1:], strict=True)
        )

    @property
    def varied(self) -> bool:
        """Whether anything was varied that the paper leaves open."""
        return any(row.method in VARIED_METHODS or row.dataset in VARIED_DATASETS for row in self.trials.rows)

    def settings(self) -> dict[str, Findings]:
        """Return the findings in the setting nearest to the paper, if there are trials, and in the thorough one."""
        near = self.in_setting(NEAREST_WALK, NEAREST_ASCENT)
        tried = any(near.trials.done(dataset, column.method) for dataset in paper.DATASETS for column in paper.SEARCHED)
        return {NEAREST: near, THOROUGH: self} if tried else {THOROUGH: self}

    def nearest(self) -> Findings:
        """Return the findings in the first of these."""
        return next(iter(self.settings().values()))

    def in_setting(self, walk: str, ascent: str) -> Findings:
        """Return the same with the paper's methods in other settings, under the names of the thorough ones."""
        other = {column.method: walk if column in paper.SIMPLE else ascent for column in paper.SEARCHED}
        theirs = {in_setting(method, key): method for method, key in other.items()}

        def renamed(things: Iterable[_Named]) -> list[_Named]:
            kept = (thing for thing in things if thing.method in theirs or thing.method not in other)
            return [replace(one, method=theirs[one.method]) if one.method in theirs else one for one in kept]

        return replace(
            self,
            trials=Trials(renamed(self.trials.rows)),
            scans=renamed(self.scans),
            votes=renamed(self.votes),
            pairs=renamed(self.pairs),
            base=self,
        )

    def thorough(self) -> Findings:
        """Return the same in the thorough setting."""
        return self.base or self

    def sample(self, dataset: str, method: str, field: str = "test_error") -> Sample:
        """Return a number of each trial, errors in %; at least one."""
        found = self.trials.sample(dataset, method, field)
        if not found.n:
            raise NoTrialsError(f"no {method} on {paper.label(dataset)}")
        return found

    def mean(self, dataset: str, column: PaperColumn) -> float:
        """Return the mean error in %."""
        return float(np.mean(self.sample(dataset, column.method, column.field).values))

    def sd(self, dataset: str, column: PaperColumn) -> float:
        """Return the standard deviation of the errors in %."""
        sd = self.sample(dataset, column.method, column.field).sd
        if sd is None:
            raise NoTrialsError(f"fewer than two of {column.method} on {paper.label(dataset)}")
        return sd

    def ends(self, dataset: str, method: str, least: int = 1) -> Array:
        """Return what trials ended at, a row C, k0, koff, l_1 … l_d each; at least so many."""
        ends = self.trials.hyperparameters(dataset, method)
        if len(ends) < least:
            raise NoTrialsError(f"fewer than {least} of {method} on {paper.label(dataset)}")
        return ends

    def scanned(self, dataset: str, method: str) -> list[Scan]:
        """Return scans between the ends of a method; at least one."""
        found = [scan for scan in self.scans if (scan.dataset, scan.method) == (dataset, method)]
        if not found:
            raise NoTrialsError(f"no two trials of {method} with the same data on {paper.label(dataset)}")
        return found


def gather(store: Store, *, pairs: int = 3, n_points: int = 21) -> Findings:
    """Return the trials of a study, scans between the ends of some of them, and what these say together."""
    data = StudyData(store)
    rows = []
    for row in store.rows():
        if row.status == "done":
            more = path_facts(store.trace(row))
            if (size := data.sizes(row)) is not None:
                more |= {"train_rows": float(size[1]), "test_rows": float(size[2])}
            row = replace(row, extra={**row.extra, **more})
        rows.append(row)
    trials = Trials(rows)
    own = [row for row in rows if row.dataset in all_datasets(trials).keys() - paper.DATASETS.keys()]
    return Findings(
        trials,
        scan_optima(trials, data.load, pairs=pairs, n_points=n_points),
        vote(trials, data.load),
        pair(trials, data.load),
        {row.dataset: size for row in own if (size := data.sizes(row))},
        limits=data.limits(rows),
    )


def path_facts(trace: Trace | None) -> dict[str, float]:
    """Return what a path tells in a few numbers.

    They are Spearman's correlations of the criterion's score with the test error, and with its companion criterion; and
    of gradients the norm at the end relative to its peak, and where on the path that is.
    """
    if trace is None or not trace.keys() >= _COLUMNS:
        return {}
    score, error = np.array(trace["score"]), np.array(trace["test_error"])
    others = {"error": error} | {name: np.array(trace[name]) for name in _COMPANIONS if name in trace}
    found = {name: _correlation(score, np.where(np.isfinite(error), other, np.nan)) for name, other in others.items()}
    correlations = {f"score_{name}_correlation": value for name, value in found.items() if value is not None}
    return gradient_facts(trace) | correlations


def gradient_facts(trace: Trace) -> dict[str, float]:
    """Return the gradient's norm at the end relative to its peak, and where that is, from 0 to 1."""
    gradients = [np.array(values) for name, values in trace.items() if name.startswith("g_")]
    if not gradients or len(gradients[0]) < 3:
        return {}
    norms = np.sqrt(np.sum(np.square(gradients), axis=0))
    peak = int(norms.argmax())
    if not norms[peak] > 0:
        return {}
    return {"last_gradient": float(norms[-1] / norms[peak]), "peak_place": peak / (len(norms) - 1)}


def _correlation(one: Array, other: Array) -> float | None:
    """Return Spearman's rank correlation; None where one of the two does not change."""
    known = np.isfinite(one) & np.isfinite(other)
    if known.sum() < 3 or np.ptp(one[known]) == 0 or np.ptp(other[known]) == 0:
        return None
    return float(np.corrcoef(rankdata(one[known]), rankdata(other[known]))[0, 1])
