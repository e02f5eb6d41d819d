"""The criteria by name, and the one function that evaluates any of them."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from marginwise.criteria.base import Criterion, Evaluation, attempt, require_complete
from marginwise.criteria.bounds import JaakkolaHaussler, SupportVectorFraction
from marginwise.criteria.cross_validation import CrossValidationError, CrossValidationLogLoss
from marginwise.criteria.ep import EPEvidence, EPLeaveOneOut
from marginwise.criteria.evidence import Evidence
from marginwise.criteria.gacv import GACV
from marginwise.criteria.kwok import KwokEvidence
from marginwise.criteria.laplace import LaplaceEvidence
from marginwise.criteria.least_squares import LeastSquaresLeaveOneOut
from marginwise.criteria.leave_one_out import LeaveOneOut
from marginwise.criteria.radius import RadiusMargin
from marginwise.criteria.span import RawSpan, Span
from marginwise.errors import InvalidInputError, choose
from marginwise.hyperparameters import as_model
from marginwise.kernels.base import Kernel
from marginwise.likelihoods import as_likelihood
from marginwise.likelihoods.base import Likelihood
from marginwise.model import Model, Values
from marginwise.problem import as_problem

_CRITERIA: dict[str, type[Criterion]] = {}


def register(criterion: type[Criterion]) -> type[Criterion]:
    """Make a criterion known by its name; may be used as a decorator. One that does not say all it must is refused.

    Parameters
    ----------
    criterion : type[Criterion]
        The class; see ``docs/adding-a-criterion.md`` for what it must have.

    Returns
    -------
    type[Criterion]
        The class itself.

    Examples
    --------
    >>> from marginwise import Criterion
    >>> class Nameless(Criterion):
    ...     def evaluate(self, problem, model, state=None, *, with_gradient=True): ...
    >>> register(Nameless)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    marginwise.errors.InvalidInputError: criterion is 'Nameless'; expected a class with name = its name, a string; ...
    """
    require_complete(criterion)
    known = _CRITERIA.setdefault(criterion.name, criterion)
    if known is not criterion:
        raise InvalidInputError("name", criterion.name, f"a new name: this is that of {known.__name__}")
    return criterion


# One line for each criterion.
register(SupportVectorFraction)
register(RadiusMargin)
register(JaakkolaHaussler)
register(LeaveOneOut)
register(Span)
register(RawSpan)
register(GACV)
register(LaplaceEvidence)
register(KwokEvidence)
register(Evidence)
register(EPEvidence)
register(EPLeaveOneOut)
register(LeastSquaresLeaveOneOut)
register(CrossValidationError)
register(CrossValidationLogLoss)


def criterion_names() -> tuple[str, ...]:
    """Return the names of all criteria, in alphabetical order.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> criterion_names()[:4]
    ('cross-validation', 'cross-validation-log-loss', 'ep-evidence', 'ep-loo')
    """
    return tuple(sorted(_CRITERIA))


def criterion_class(name: str) -> type[Criterion]:
    """Return the class of the criterion of this name: its direction, slacks, smoothness and equation.

    Parameters
    ----------
    name : str
        One of :func:`~marginwise.criterion_names`.

    Returns
    -------
    type[Criterion]

    Examples
    --------
    >>> kind = criterion_class("span")
    >>> kind.direction, kind.slacks, kind.smooth
    ('minimise', ('quadratic',), True)
    """
    return _CRITERIA[choose("criterion", name, _CRITERIA)]


def as_criterion(criterion: Criterion | str, slack: Likelihood | str | None = None) -> Criterion:
    """Return the criterion of this name for this slack (its own default if None), or the criterion itself.

    Parameters
    ----------
    criterion : Criterion or str
        The criterion, or its name: one of :func:`~marginwise.criterion_names`.
    slack : Likelihood or str, optional
        What to make it with. Of a criterion that is given as an object, it must be its own.

    Returns
    -------
    Criterion

    Examples
    --------
    >>> as_criterion("laplace-evidence", "quadratic").likelihood.name
    'quadratic'
    """
    if not isinstance(criterion, Criterion):
        return criterion_class(criterion)(slack)
    require_complete(type(criterion))  # it need not have been registered
    if slack is not None and as_likelihood(slack, "slack") != criterion.likelihood:
        raise InvalidInputError("slack", slack, f"{criterion.likelihood.name!r}, that of the criterion, or None")
    return criterion


def evaluate(
    criterion: Criterion | str,
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    hyperparameters: Model | Values,
    slack: Likelihood | str | None = None,
    *,
    kernel: Kernel | None = None,
    sample_weight: npt.ArrayLike | None = None,
    inducing: npt.ArrayLike | None = None,
    state: Any = None,
) -> Evaluation:
    """Return a model selection criterion and its gradient in the logarithms of the hyperparameters.

    Parameters
    ----------
    criterion : Criterion or str
        The criterion, or its name: one of :func:`~marginwise.criterion_names`.
    X, y : array-like
        Inputs of shape (n, d), and labels -1 or +1.
    hyperparameters : Hyperparameters
        Where to evaluate it; or C, where another kernel than the paper's is given.
    slack : Likelihood or str, optional
        "linear" or "quadratic"; by default the first that the criterion is defined for. "ep-evidence" and "ep-loo" take
        any likelihood: "logistic", "probit", "normalised-linear", "normalised-quadratic" or an object.
    kernel : Kernel, optional
        A kernel of ``marginwise.kernels`` with its hyperparameters, in the place of the paper's.
    sample_weight : array-like, optional
        Positive weights; weight 2 is the same as the row given twice.
    inducing : array-like of shape (m, d), optional
        Inducing inputs, kept where they are: the Gram matrix is then of low rank, for tables with many rows.
    state : object, optional
        ``state`` of an evaluation near by, to start from.

    Examples
    --------
    >>> from marginwise.hyperparameters import Hyperparameters
    >>> result = evaluate("gacv", [[0.0], [1.0], [2.0]], [-1, 1, 1], Hyperparameters(C=2))
    >>> result.gradient.shape
    (4,)
    """
    problem = as_problem(X, y, sample_weight, inducing)
    return attempt(as_criterion(criterion, slack), problem, as_model(hyperparameters, kernel), state)
