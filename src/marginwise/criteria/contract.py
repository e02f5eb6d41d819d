"""What a model selection criterion is: a number, its gradient and its direction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import SLACKS, Likelihood, as_likelihood, as_slack
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Status

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A criterion at one setting of the hyperparameters.

    Attributes
    ----------
    value : float
        The criterion, or NaN where it has none (then ``status`` says why, or ``gradient`` is all it gives).
    gradient : array or None
        Derivatives with respect to log C, log k0, log koff, log l_1 … log l_d; None where there are none, or where
        they were not asked for.
    status : Status
        Not ok when value or gradient could not be had, with the reason.
    state : object
        What the next evaluation near by can be started from; opaque to everyone but the criterion.
    info : dict
        By-products for diagnostics, such as a standard error of the gradient.
    """

    value: float
    gradient: Vector | None
    status: Status = CONVERGED
    state: Any = None
    info: dict[str, Any] = field(default_factory=dict)


class Criterion(ABC):
    """A score of hyperparameters. Subclasses are final: they declare what they are and evaluate.

    Class attributes
    ----------------
    name : the name in :func:`evaluate` and everywhere else a string is taken.
    direction : whether larger ("maximise") or smaller ("minimise") values are better.
    slacks : the slack penalties it is defined for; the first is the default.
    any_likelihood : whether it takes any other likelihood, too: then it trains no SVM.
    smooth : whether the value is continuous, differentiable but for kinks where the support set changes, and
        comes with its gradient: then a search may follow it.
    scale_free : whether it depends on C and K through C·K only, so that a search keeps C fixed.
    equation : what it implements, by the label of the equation in Gold & Sollich (2003) or a reference.
    """

    name: ClassVar[str]
    direction: ClassVar[Literal["maximise", "minimise"]]
    slacks: ClassVar[tuple[str, ...]] = tuple(SLACKS)
    any_likelihood: ClassVar[bool] = False
    smooth: ClassVar[bool]
    scale_free: ClassVar[bool] = False
    equation: ClassVar[str]

    def __init__(self, slack: Likelihood | str | None = None) -> None:
        chosen = self.slacks[0] if slack is None else slack
        self.likelihood = as_likelihood(chosen, "slack") if self.any_likelihood else as_slack(chosen)
        if not (self.any_likelihood or self.likelihood.name in self.slacks):
            raise InvalidInputError("slack", self.likelihood.name, f"{' or '.join(self.slacks)} for {self.name!r}")

    @abstractmethod
    def evaluate(
        self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, *, with_gradient: bool = True
    ) -> Evaluation:
        """Return value and gradient at these hyperparameters, started from ``state`` if given.

        Without ``with_gradient`` the value is the same, and a gradient that costs extra is left out: some searches
        have no use for it.
        """

    @property
    def sign(self) -> int:
        """+1 if larger values are better, -1 if smaller ones are."""
        return 1 if self.direction == "maximise" else -1
