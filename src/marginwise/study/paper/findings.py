"""What claims and tables are made of: trials, what their paths tell, and lines between their ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.names import NEAREST_ASCENT, NEAREST_WALK
from marginwise.study.paper.numbers import PaperColumn
from marginwise.study.record import TrialRow
from marginwise.study.report.summary import Sample, Trials

if TYPE_CHECKING:
    from marginwise.study.paper.optima import Scan
    from marginwise.study.paper.votes import MajorityVote

#: The paper's five methods.
_SEARCHED = paper.COLUMNS[:5]

_Named = TypeVar("_Named", TrialRow, "Scan", "MajorityVote")


class NoTrialsError(LookupError):
    """A claim needs trials that are not there yet."""


@dataclass(frozen=True)
class Findings:
    """What the claims are judged by.

    Attributes
    ----------
    trials : Trials
        Those of the study's methods on its data sets.
    scans : sequence of Scan
        Criteria along lines between their ends.
    votes : sequence of MajorityVote
        What their ends say together.
    sizes : mapping
        Inputs, training and test rows of data sets that the paper does not have.
    varied : Trials
        Those in other settings of the searches, and on other draws of the data sets.
    thorough : Trials or None
        Where ``trials`` are in another setting: those that are in the thorough one.
    limits : str
        What the trials were limited to, in words; empty if all rows and the usual searches were allowed.
    """

    trials: Trials
    scans: Sequence[Scan] = ()
    votes: Sequence[MajorityVote] = ()
    sizes: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    varied: Trials = field(default_factory=lambda: Trials(()))
    thorough: Trials | None = None
    limits: str = ""

    @property
    def miniature(self) -> bool:
        """Whether some trials were limited or had fewer rows than the paper's: nothing is shown to hold by them."""
        return bool(self.limits) or any(
            row.extra.get(name, size) < size
            for row in self.trials.rows
            for name, size in zip(("train_rows", "test_rows"), paper.SIZES.get(row.dataset, (0, 0, 0))[1:], strict=True)
        )

    def settings(self) -> dict[str, Findings]:
        """Return the findings in the setting nearest to the paper, if there are trials, and in the thorough one."""
        nearest = self.in_setting(NEAREST_WALK, NEAREST_ASCENT)
        tried = any(nearest.trials.done(dataset, column.method) for dataset in paper.DATASETS for column in _SEARCHED)
        return {"as in the paper": nearest, "thorough": self} if tried else {"thorough": self}

    def in_setting(self, walk: str | None, ascent: str | None) -> Findings:
        """Return the same with the paper's methods in other settings; None is the thorough one."""
        other = {column.method: walk if column in paper.SIMPLE else ascent for column in _SEARCHED}
        theirs = {f"{method}-{key}": method for method, key in other.items() if key is not None}

        def renamed(things: Iterable[_Named]) -> list[_Named]:
            kept = (thing for thing in things if thing.method not in theirs.values())
            return [replace(thing, method=theirs.get(thing.method, thing.method)) for thing in kept]

        more = (row for row in self.varied.rows if row.method in theirs and row.dataset in paper.DATASETS)
        trials = Trials(renamed([*self.trials.rows, *more]))
        return replace(self, trials=trials, scans=renamed(self.scans), votes=renamed(self.votes), thorough=self.trials)

    def thorough_mean(self, dataset: str, method: str) -> float | None:
        """Return the mean error in % of a method of the paper in the thorough setting; None without trials."""
        return (self.thorough or self.trials).sample(dataset, method).mean

    def sample(self, dataset: str, column: PaperColumn) -> Sample:
        """Return errors in %; at least one."""
        return self.field(dataset, column.method, column.field)

    def field(self, dataset: str, method: str, field: str = "test_error") -> Sample:
        """Return a number of each trial; at least one."""
        found = self.trials.sample(dataset, method, field)
        if not found.n:
            raise NoTrialsError(f"no {method} on {paper.label(dataset)}")
        return found

    def mean(self, dataset: str, column: PaperColumn) -> float:
        """Return the mean error in %."""
        mean = self.sample(dataset, column).mean
        assert mean is not None
        return mean

    def sd(self, dataset: str, column: PaperColumn) -> float:
        """Return the standard deviation of the errors in %."""
        sd = self.sample(dataset, column).sd
        if sd is None:
            raise NoTrialsError(f"fewer than two of {column.method} on {paper.label(dataset)}")
        return sd
