"""A study as data: which methods are tried on which data sets, how often, and how much each trial may do."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from marginwise.datasets import benchmark_names
from marginwise.errors import InvalidInputError, choose

#: Trials of each method in the paper's tables (25 walks, 10 ascents), and of ours: searches that start at random have
#: as many as the ascents, so that their spread can be compared; the others repeat what their folds or starts change.
PAPER_TRIALS: Mapping[str, int] = {
    "le1-walk": 25,
    "le2-walk": 25,
    "gacv-walk": 25,
    "span-walk": 25,
    "evidence-ascent": 10,
    "svm-cv": 5,
    "gp-laplace": 5,
    "gp-variational": 5,
    "svm-variational": 5,
    "gp-mean-field": 5,
    "le1-newton": 10,
    "le2-newton": 10,
    "gacv-newton": 10,
    "span-newton": 10,
    "ep-evidence-newton": 10,
    "ep-loo-newton": 10,
    "ep-loo-prior": 5,
    "tuned-svc": 5,
    "ensemble": 5,
}

#: (data set, method): where the paper has another number of trials.
PAPER_EXCEPTIONS: Mapping[tuple[str, str], int] = {("crabs", "evidence-ascent"): 25}


@dataclass(frozen=True, order=True)
class Trial:
    """One run of a method on a data set."""

    dataset: str
    method: str
    number: int

    @property
    def name(self) -> str:
        """All that tells the trial from others."""
        return f"study/{self.dataset}/{self.method}/{self.number}"

    @property
    def seed(self) -> int:
        """Seed of its random numbers: a hash of its name, so that order and workers do not matter."""
        return int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:4], "big")


@dataclass(frozen=True)
class Effort:
    """How much a trial may do.

    Attributes
    ----------
    train_rows, test_rows : int or None
        Number of rows taken from the training and the test set; None for all.
    walk_evaluations, ascent_evaluations, newton_evaluations : int
        Most evaluations of the criterion by one search.
    optima : int
        Number of local optima in an ensemble.
    """

    train_rows: int | None = None
    test_rows: int | None = None
    walk_evaluations: int = 20_000
    ascent_evaluations: int = 100
    newton_evaluations: int = 300
    optima: int = 10


@dataclass(frozen=True)
class Plan:
    """Data sets × methods × trials.

    Parameters
    ----------
    name : str
    datasets, methods : tuples of str
        Names, in the order of the tables.
    trials : int or mapping
        Number of trials, for all methods or by method.
    exceptions : mapping
        Other numbers of trials by (data set, method).
    effort : Effort
        How much each trial may do.

    Examples
    --------
    >>> plan = Plan("mine", ("crabs",), ("gacv-walk", "span-walk"), trials=2)
    >>> [trial.name for trial in plan.enumerate()][:3]
    ['study/crabs/gacv-walk/0', 'study/crabs/span-walk/0', 'study/crabs/gacv-walk/1']
    """

    name: str
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    trials: int | Mapping[str, int] = 1
    exceptions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    effort: Effort = Effort()

    def __post_init__(self) -> None:
        for dataset in self.datasets:
            choose("datasets", dataset, benchmark_names())
        for method in self.methods:
            choose("methods", method, PAPER_TRIALS)
            for dataset in self.datasets:
                count = self.count(dataset, method)
                if count < 0:
                    raise InvalidInputError("trials", count, f"0 or more trials of {method!r} on {dataset!r}")

    def count(self, dataset: str, method: str) -> int:
        """Return the number of trials of a method on a data set."""
        usual = self.trials if isinstance(self.trials, int) else self.trials[method]
        return self.exceptions.get((dataset, method), usual)

    def enumerate(self) -> list[Trial]:
        """Return all trials: the first of every cell, then the second, …, so that no cell waits for another."""
        cells = [(dataset, method) for dataset in self.datasets for method in self.methods]
        most = max((self.count(*cell) for cell in cells), default=0)
        return [Trial(*cell, number) for number in range(most) for cell in cells if number < self.count(*cell)]


def paper_plan() -> Plan:
    """Return everything at the paper's counts: its methods, the previous work in its tables, and ours."""
    return Plan("paper", benchmark_names(), tuple(PAPER_TRIALS), PAPER_TRIALS, PAPER_EXCEPTIONS)


def quick_plan() -> Plan:
    """Return a miniature of the same: all data sets and methods, fewer trials, rows and evaluations."""
    effort = Effort(
        train_rows=60,
        test_rows=500,
        walk_evaluations=300,
        ascent_evaluations=12,
        newton_evaluations=25,
        optima=3,
    )
    trials = {method: 2 if method.endswith(("walk", "ascent")) else 1 for method in PAPER_TRIALS}
    return Plan("quick", benchmark_names(), tuple(PAPER_TRIALS), trials, effort=effort)
