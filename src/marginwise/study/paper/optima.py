"""Local optima: whether the ends of repeated searches are separate, what they say together, and against TunedSVC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from marginwise._arrays import Array
from marginwise.criteria.registry import as_criterion
from marginwise.datasets.benchmarks import Benchmark
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sites import site_posterior
from marginwise.likelihoods.slack import LINEAR
from marginwise.study.judge import Judge
from marginwise.study.paper.compare import all_datasets
from marginwise.study.paper.methods import WALKS
from marginwise.study.paper.settings import ASCENT, MAXIMISED, nearest
from marginwise.study.record import TrialRow
from marginwise.study.report.summary import Trials
from marginwise.tuning import scan_line

#: The criterion and slack that a method optimises. The sampled evidence gives gradients alone, so that along a line its
#: value is that of expectation propagation; ends of quasi-Newton on that stand next to those of the ascents.
_EVIDENCE = ("ep-evidence", "linear")
_OPTIMISED = {name: (str(walk.criterion), walk.slack) for name, walk in WALKS.items()} | {ASCENT: _EVIDENCE}
CRITERIA = _OPTIMISED | {nearest(name): criterion for name, criterion in _OPTIMISED.items()} | {MAXIMISED: _EVIDENCE}

#: Two ends are separate optima if the criterion is worse between them by more than this: the gain at which the study's
#: walks end is a tenth of it.
LEAST_BARRIER = 1e-4

#: Returns the data that a trial was run on, None if they are gone.
Load = Callable[[TrialRow], Benchmark | None]


@dataclass(frozen=True)
class Scan:
    """A criterion along the straight line, in the logarithms, between the ends of two trials.

    ``scores`` are the criterion's values, with the sign that makes larger ones better.
    """

    dataset: str
    method: str
    start: int
    end: int
    scores: tuple[float, ...]

    @property
    def barrier(self) -> float:
        """By how much the criterion is worse in between than at the worse end; NaN if it has no value at an end."""
        known = [score for score in self.scores if np.isfinite(score)]
        return float(np.min([self.scores[0], self.scores[-1]]) - min(known, default=np.nan))

    @property
    def separate(self) -> bool:
        """Whether the two ends are separate optima."""
        return self.barrier > LEAST_BARRIER


def scan_optima(trials: Trials, load: Load, *, pairs: int = 3, n_points: int = 21) -> list[Scan]:
    """Scan between the ends of pairs of trials of each method and data set, drawn at random, if on the same data."""
    scans = []
    for dataset in all_datasets(trials):
        for method, (name, slack) in CRITERIA.items():
            for first, other in _pairs(trials.done(dataset, method), load, pairs):
                data = load(first)
                assert data is not None
                start, end = (_end(row) for row in (first, other))
                line = scan_line(name, data.X_train, data.y_train, start, end, slack, n_points=n_points)
                scores = tuple((line.signs[name] * line.values[name]).tolist())
                scans.append(Scan(dataset, method, first.number, other.number, scores))
    return scans


def _pairs(rows: Sequence[TrialRow], load: Load, most: int) -> list[tuple[TrialRow, TrialRow]]:
    """Return different pairs of trials on the same data, drawn at random, the same each time."""
    ended = [row for row in rows if row.hyperparameters]
    if not ended or (data := load(ended[0])) is None:
        return []
    same = [row for row in ended if (own := load(row)) and np.array_equal(own.X_train, data.X_train)]
    all_pairs = list(combinations(same, 2))
    chosen = np.random.default_rng(0).permutation(len(all_pairs))[:most]
    return [all_pairs[place] for place in chosen]


def _end(row: TrialRow) -> Hyperparameters:
    return Hyperparameters.from_values(row.hyperparameters or ())


@dataclass(frozen=True)
class MajorityVote:
    """What becomes of the ends of a method's trials on one data set when they vote; errors in %.

    "One possible productive use of the high variability of classifiers produced by convergence to local optima … could
    be to combine the resulting classifiers in some ensemble or voting scheme" (section results). ``single`` is the mean
    error of the voters, ``together`` that of their majority; where votes are equal, half of an error is counted.
    ``chosen`` is that of the voter that errs least on an independent validation set, half of the test rows in turn:
    "testing the selected models on a validation set and performing repeated optimizations" (section conclusion).
    """

    dataset: str
    method: str
    voters: int
    single: float
    together: float
    chosen: float = float("nan")

    @property
    def gain(self) -> float:
        """By how much voting is better."""
        return self.single - self.together


def vote(trials: Trials, load: Load) -> list[MajorityVote]:
    """Let the ends of each of the paper's methods vote, on every data set that can be loaded."""
    found = []
    for dataset in all_datasets(trials):
        for method, (name, slack) in CRITERIA.items():
            rows = [row for row in trials.done(dataset, method) if row.hyperparameters]
            if len(rows) < 2 or (data := load(rows[0])) is None:
                continue
            judge = Judge.of(data, as_criterion(name, slack).likelihood)
            correct = np.array([np.sign(judge.margins(_end(row))) for row in rows])
            single = 100 * float(np.mean(correct <= 0))
            majority = correct.sum(axis=0)
            together = 100 * float(np.mean((majority < 0) + 0.5 * (majority == 0)))
            chosen = 100 * _chosen(np.asarray(correct <= 0, dtype=float))
            found.append(MajorityVote(dataset, method, len(rows), single, together, chosen))
    return found


def _chosen(wrong: Array) -> float:
    """Return the error, on each half of the test rows, of the voter that errs least on the other half."""
    even, odd = wrong[:, ::2], wrong[:, 1::2]
    pairs = ((even, odd), (odd, even))
    return float(np.mean([judged[chosen.mean(axis=1).argmin()].mean() for chosen, judged in pairs]))


@dataclass(frozen=True)
class Paired:
    """TunedSVC against ascents on the same test rows: the mean difference of their errors in %, and its standard error.

    A row's error is the share of trials that have its label wrong. ``predicted`` says how the ascents predict: by the
    "posterior" at their ends or by the "svm".
    """

    dataset: str
    method: str
    predicted: str
    difference: float
    standard_error: float

    @property
    def in_standard_errors(self) -> float:
        """The difference in its standard errors; 0 where not a row differs."""
        return self.difference / self.standard_error if self.standard_error else 0.0


def pair(trials: Trials, load: Load) -> list[Paired]:
    """Pair TunedSVC with the ascents, on every data set that can be loaded."""
    found = []
    for dataset in all_datasets(trials):
        tuned = [row for row in trials.done(dataset, "tuned-svc") if row.wrong is not None]
        for method in (ASCENT, nearest(ASCENT)):
            ascents = [row for row in trials.done(dataset, method) if row.hyperparameters]
            if not tuned or not ascents or (data := load(tuned[0])) is None:
                continue
            judge = Judge.of(data, LINEAR)
            ours = np.zeros(judge.test.n)
            for row in tuned:
                ours[np.array(row.wrong, dtype=np.intp)] += 1 / len(tuned)
            for predicted, wrong in (("posterior", _wrong_by_posterior), ("svm", _wrong_by_svm)):
                apart = 100 * (ours - np.mean([wrong(judge, _end(row)) for row in ascents], axis=0))
                error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
                found.append(Paired(dataset, method, predicted, float(apart.mean()), error))
    return found


def _wrong_by_svm(judge: Judge, end: Hyperparameters) -> Array:
    return np.asarray(judge.margins(end) <= 0, dtype=float)


def _wrong_by_posterior(judge: Judge, end: Hyperparameters) -> Array:
    positive = site_posterior(judge.problem, end, judge.slack).predict_proba(judge.test.X)[:, 1]
    return np.asarray(np.where(judge.test.y > 0, positive, 1 - positive) <= 0.5, dtype=float)
