"""Model selection criteria: a number, and where it is smooth its gradient, for any hyperparameters."""

from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.registry import (
    as_criterion,
    criterion_class,
    criterion_names,
    evaluate,
    register,
)

__all__ = [
    "Criterion",
    "Evaluation",
    "as_criterion",
    "criterion_class",
    "criterion_names",
    "evaluate",
    "register",
]
