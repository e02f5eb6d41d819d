"""A study as data: which methods are tried on which data sets, how often, and how much each trial may do."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

from marginwise.errors import InvalidInputError, choose
from marginwise.study.data import Source

if TYPE_CHECKING:
    from marginwise.datasets import Benchmark
    from marginwise.study.record import Outcome

_T = TypeVar("_T")


@dataclass(frozen=True, order=True)
class Trial:
    """One run of a method on a data set.

    Attributes
    ----------
    dataset, method : str
        Their names.
    number : int
        Which of the trials of this method on this data set.

    Examples
    --------
    >>> Trial("crabs", "gacv-walk", 0).name, Trial("crabs", "gacv-walk", 0).seed
    ('study/crabs/gacv-walk/0', 2190273223)
    """

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
    hmc_steps : int
        Steps of the paper's sampler that are discarded, and as many that are made use of, for each gradient.

    Examples
    --------
    >>> Effort(train_rows=40, newton_evaluations=10).walk_evaluations
    20000
    """

    train_rows: int | None = None
    test_rows: int | None = None
    walk_evaluations: int = 20_000
    ascent_evaluations: int = 100
    newton_evaluations: int = 300
    hmc_steps: int = 20_000

    @property
    def limits(self) -> str:
        """Where a trial may do less than usual, in words; empty if nowhere.

        Examples
        --------
        >>> Effort(train_rows=60, newton_evaluations=25).limits
        'at most 60 training rows and 25 evaluations by each quasi-Newton search'
        """
        found = [
            words.format(own)
            for name, words in _LIMITS.items()
            if (own := getattr(self, name)) is not None and own < (getattr(_USUAL, name) or float("inf"))
        ]
        *others, last = found or [""]
        return f"at most {', '.join(others)} and {last}" if others else f"at most {last}" if last else ""


_USUAL = Effort()

#: What each number of an effort limits.
_LIMITS = {
    "train_rows": "{} training rows",
    "test_rows": "{} test rows",
    "walk_evaluations": "{} evaluations by each random walk",
    "ascent_evaluations": "{} evaluations by each ascent",
    "newton_evaluations": "{} evaluations by each quasi-Newton search",
    "hmc_steps": "{} steps of the paper's sampler",
}


class Method(Protocol):
    """Runs trials; its attributes are its settings, and all that it does follows from these and from its arguments.

    Examples
    --------
    ``docs/study.md`` writes one.

    >>> from marginwise.study import Newton
    >>> Newton("ep-loo").criterion
    'ep-loo'
    """

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Run one trial on one data set."""


@dataclass(frozen=True)
class Plan:
    """Data sets × methods × trials.

    Parameters
    ----------
    name : str
    datasets : mapping of str to Source
        Where each data set is from, by name; see ``marginwise.study.data``.
    methods : mapping of str to Method
        The methods by name, in the order of the tables.
    trials : int or mapping
        Number of trials, for all methods or by method.
    exceptions : mapping
        Other numbers of trials by (data set, method).
    effort : Effort
        How much each trial may do.

    Examples
    --------
    >>> from marginwise.study import Newton, benchmarks
    >>> methods = {"gacv": Newton("gacv", "linear"), "span": Newton("span", "quadratic")}
    >>> plan = Plan("mine", benchmarks("crabs"), methods, trials=2)
    >>> [trial.name for trial in plan.enumerate()][:3]
    ['study/crabs/gacv/0', 'study/crabs/span/0', 'study/crabs/gacv/1']
    """

    name: str
    datasets: Mapping[str, Source]
    methods: Mapping[str, Method]
    trials: int | Mapping[str, int] = 1
    exceptions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    effort: Effort = Effort()

    def __post_init__(self) -> None:
        for argument, value in (("datasets", self.datasets), ("methods", self.methods)):
            if not isinstance(value, Mapping):
                raise InvalidInputError(argument, value, f"a mapping from names to {argument}")
        for method in self.methods:
            if not isinstance(self.trials, int) and method not in self.trials:
                raise InvalidInputError("trials", dict(self.trials), f"a number of trials of {method!r}, too")
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

    def with_more(
        self, datasets: Mapping[str, Source] | None = None, methods: Mapping[str, Method] | None = None, trials: int = 1
    ) -> Plan:
        """Return the plan with further data sets and methods, the methods with so many trials."""
        more_datasets, more_methods = datasets or {}, methods or {}
        for argument, known, more in (
            ("datasets", self.datasets, more_datasets),
            ("methods", self.methods, more_methods),
        ):
            for name in more:
                if name in known:
                    raise InvalidInputError(argument, name, "a name that the plan does not have yet")
        counts = dict.fromkeys(self.methods, self.trials) if isinstance(self.trials, int) else dict(self.trials)
        return replace(
            self,
            datasets={**self.datasets, **more_datasets},
            methods={**self.methods, **more_methods},
            trials={**counts, **dict.fromkeys(more_methods, trials)},
        )

    def part(
        self,
        datasets: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        trials: int | None = None,
    ) -> Plan:
        """Return a part of the plan: some of its data sets and methods, or another number of trials for all of them.

        The trials are those of the whole, seeds included: a part can be run first and the rest later.
        """
        chosen = self.datasets if datasets is None else _chosen("datasets", datasets, self.datasets)
        some = self.methods if methods is None else _chosen("methods", methods, self.methods)
        if trials is None:
            return replace(self, datasets=chosen, methods=some)
        return replace(self, datasets=chosen, methods=some, trials=trials, exceptions={})


def _chosen(argument: str, names: Sequence[str], known: Mapping[str, _T]) -> dict[str, _T]:
    """Return the named entries in the order of ``known``."""
    for name in names:
        choose(argument, name, known)
    return {name: thing for name, thing in known.items() if name in names}
