"""What a model selection criterion is: a number, its gradient and its direction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from marginwise._arrays import Array
from marginwise._summary import summary
from marginwise.errors import InvalidInputError
from marginwise.likelihoods import as_likelihood
from marginwise.likelihoods.base import Likelihood
from marginwise.likelihoods.slack import SLACKS, as_slack
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Status


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A criterion at one setting of the hyperparameters.

    Attributes
    ----------
    value : float
        The criterion, or NaN where it has none (then ``status`` says why, or ``gradient`` is all it gives).
    gradient : array or None
        Derivatives with respect to log C and the logarithms of the kernel's hyperparameters, in the order of
        ``Model.to_vector``; None where there are none, or where they were not asked for.
    status : Status
        Not ok when value or gradient could not be computed, with the reason.
    state : object
        What the next evaluation near by can be started from; opaque to everyone but the criterion.
    info : dict
        By-products for diagnostics, such as a standard error of the gradient.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> result = evaluate("ep-loo", [[0.0], [1.0], [2.0]], [-1, 1, 1], Hyperparameters(C=2))
    >>> result.status.ok, round(result.value, 3), result.gradient.shape
    (True, -0.857, (4,))
    """

    value: float
    gradient: Array | None
    status: Status = CONVERGED
    state: Any = None
    info: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return summary(self, "value", "gradient", "status", "info")


class Criterion(ABC):
    """A score of hyperparameters. Subclasses are final: they declare what they are and evaluate.

    Parameters
    ----------
    slack : {"linear", "quadratic"}, Likelihood or None, default=None
        The slack penalty, or with ``any_likelihood`` any likelihood; None takes the first of ``slacks``.

    Attributes
    ----------
    name : str
        The name in ``evaluate`` and everywhere else a string is taken.
    direction : {"maximise", "minimise"}
        Whether larger or smaller values are better.
    slacks : tuple of str
        The slack penalties it is defined for; the first is the default.
    any_likelihood : bool
        Whether it takes any other likelihood, too: then it trains no SVM.
    smooth : bool
        Whether the value is continuous, differentiable but for kinks where the support set changes, and comes with
        its gradient: then a search may follow it.
    scale_free : bool
        Whether it depends on C and K through C·K only, so that a search keeps C fixed.
    log_probability : bool
        Whether it is a mean log-probability of labels with its gradient: then a first search may end when it gains
        nothing that examples would show.
    closed_form : bool
        Whether nothing has to converge in an evaluation, so that blocks of single precision will do.
    multiclass : bool
        Whether it sees all classes at once, however many; otherwise it is of two.
    leaves_rows : bool
        Whether it is about leaving out one row at a time, and has no form for groups of rows.
    equation : str
        What it implements, by the label of the equation in Gold & Sollich (2003) or a reference.
    likelihood : Likelihood
        The slack or likelihood that was chosen.

    Examples
    --------
    ``docs/adding-a-criterion.md`` writes two.

    >>> from marginwise.criteria import criterion_class
    >>> criterion = criterion_class("laplace-evidence")("quadratic")
    >>> criterion.direction, criterion.smooth, criterion.likelihood.name
    ('maximise', True, 'quadratic')
    """

    name: ClassVar[str]
    direction: ClassVar[Literal["maximise", "minimise"]]
    slacks: ClassVar[tuple[str, ...]] = tuple(SLACKS)
    any_likelihood: ClassVar[bool] = False
    smooth: ClassVar[bool]
    scale_free: ClassVar[bool] = False
    log_probability: ClassVar[bool] = False
    closed_form: ClassVar[bool] = False
    multiclass: ClassVar[bool] = False
    leaves_rows: ClassVar[bool] = False
    equation: ClassVar[str]

    def __init__(self, slack: Likelihood | str | None = None) -> None:
        chosen = self.slacks[0] if slack is None else slack
        self.likelihood = as_likelihood(chosen, "slack") if self.any_likelihood else as_slack(chosen)
        if not (self.any_likelihood or self.likelihood.name in self.slacks):
            raise InvalidInputError("slack", self.likelihood.name, f"{' or '.join(self.slacks)} for {self.name!r}")

    @abstractmethod
    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return value and gradient at these hyperparameters, started from ``state`` if given.

        Without ``with_gradient`` the value is the same, and a gradient that costs extra is left out: some searches
        have no use for it.
        """

    def suits(self, n_classes: int) -> bool:
        """Say whether it is for so many classes."""
        return self.multiclass or n_classes <= 2

    @property
    def sign(self) -> int:
        """+1 if larger values are better, -1 if smaller ones are."""
        return 1 if self.direction == "maximise" else -1


def attempt(
    criterion: Criterion, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True
) -> Evaluation:
    """Evaluate a criterion; what is not finite, or can't be computed, is an evaluation whose status says so.

    A value of NaN alone is no failure: some criteria have nothing but a gradient.
    """
    try:
        with np.errstate(all="ignore"):  # what comes of it is looked at below
            found = criterion.evaluate(problem, model, state, with_gradient=with_gradient)
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        return Evaluation(np.nan, None, Status(False, f"{type(error).__name__}: {error}"))
    if not found.status.ok:
        return found
    if found.gradient is not None and not np.isfinite(found.gradient).all():
        return replace(found, status=Status(False, "the gradient is not finite"))
    if np.isinf(found.value) or (np.isnan(found.value) and found.gradient is None):
        return replace(found, status=Status(False, f"the value is {found.value}"))
    return found


def require_complete(criterion: type[Criterion]) -> None:
    """Raise if a criterion does not say all that the contract asks for, with everything that is missing or wrong."""
    if not (isinstance(criterion, type) and issubclass(criterion, Criterion)):
        raise InvalidInputError("criterion", criterion, "a subclass of Criterion")
    declared = _DECLARED.items()
    missing = [f"{name} = {words}" for name, (words, holds) in declared if not holds(getattr(criterion, name, None))]
    missing += [f"a method {name}" for name in sorted(criterion.__abstractmethods__)]
    if missing:
        raise InvalidInputError("criterion", criterion.__qualname__, f"a class with {'; '.join(missing)}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_direction(value: object) -> bool:
    return value in ("maximise", "minimise")


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _are_slacks(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and set(value) <= set(SLACKS)


#: What each class attribute of a criterion has to be, in words and as a test.
_DECLARED: dict[str, tuple[str, Callable[[object], bool]]] = {
    "name": ("its name, a string", _is_text),
    "direction": ("'maximise' or 'minimise'", _is_direction),
    "slacks": (f"a tuple with one or more of {', '.join(map(repr, SLACKS))}", _are_slacks),
    "any_likelihood": ("True or False", _is_bool),
    "smooth": ("True or False", _is_bool),
    "scale_free": ("True or False", _is_bool),
    "log_probability": ("True or False", _is_bool),
    "closed_form": ("True or False", _is_bool),
    "multiclass": ("True or False", _is_bool),
    "leaves_rows": ("True or False", _is_bool),
    "equation": ("what it implements, a string", _is_text),
}
