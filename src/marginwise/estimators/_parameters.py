"""Checks of TunedSVC's parameters, before any work is done."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from marginwise.errors import InvalidInputError, choose
from marginwise.priors import Prior


def check_parameters(estimator: Any) -> None:
    """Raise if a parameter has a value that is not allowed; criterion and search are checked where they are made."""
    choose("predictor", estimator.predictor, ("posterior", "svm"))
    freedom = estimator.freedom
    if freedom != "auto" and not (_is(freedom, Real) and freedom >= 0):
        raise InvalidInputError("freedom", freedom, '"auto" or a number that is not negative')
    if not (_is(estimator.restarts, Integral) and estimator.restarts >= 0):
        raise InvalidInputError("restarts", estimator.restarts, "0 or more searches from random starts")
    budget = estimator.max_evaluations
    if budget is not None and not (_is(budget, Integral) and budget >= 1):
        raise InvalidInputError("max_evaluations", budget, "a whole number, 1 or more, or None for no limit")
    fraction = estimator.validation_fraction
    if fraction is not None and not (_is(fraction, Real) and 0 < fraction < 1):
        raise InvalidInputError("validation_fraction", fraction, "a number between 0 and 1, or None")
    if estimator.prior is not None and not isinstance(estimator.prior, Prior):
        raise InvalidInputError("prior", estimator.prior, "a marginwise.Prior, or None for the default one")


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
