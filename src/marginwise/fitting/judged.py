"""Candidates on common folds: where their searches ended there, and what they say of the rows left out."""

from __future__ import annotations

from dataclasses import dataclass

from marginwise._arrays import Array
from marginwise.fitting.candidates import Candidate, Family
from marginwise.fitting.folds import Folds
from marginwise.fitting.labels import LabelModel, Scale
from marginwise.fitting.searching import mean_of
from marginwise.fitting.views import View
from marginwise.model import Model
from marginwise.search.trace import Tuning


@dataclass(frozen=True, eq=False)
class Searched:
    """A search that candidates with different label models share, and where it ended on the folds.

    Attributes
    ----------
    family : Family
    spread : float
    folds : Folds
        As the kernel sees them.
    ends : tuple of Tuning
        Where it ended without the rows of each fold. Those of the first folds serve the others, too, if there are no
        more; with screened inputs each fold has a kernel of its own, and there are none.
    begun : Tuning or None
        The search on all rows, or on those that searches begin on, if there was one.
    view : View or None
        How the kernel sees the inputs, None for as they are.
    screen : str
        Which of the inputs it sees, by the name of their selection; all if it is empty.
    """

    family: Family
    spread: float
    folds: Folds
    ends: tuple[Tuning, ...] = ()
    begun: Tuning | None = None
    view: View | None = None
    screen: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it has all terms of the kernel, and all inputs as they are."""
        return not (self.family.auxiliary or self.screen or self.view)

    def model(self, k: int) -> Model:
        """Return where it ended without the rows of fold k."""
        return self.ends[k].hyperparameters if k < len(self.ends) else mean_of(self.ends)


@dataclass(frozen=True, eq=False)
class Judged:
    """A candidate that was judged: its search, its label model and scale, and what it says of the rows left out.

    ``log_proba`` are log-probabilities of all classes in the long table of the folds.
    """

    searched: Searched
    labels: LabelModel
    scale: Scale
    log_proba: Array

    @property
    def candidate(self) -> Candidate:
        """What was judged."""
        return self.searched.family.candidate(self.searched.spread, self.labels, self.searched.screen)
