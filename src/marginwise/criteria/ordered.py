"""Leave-one-out log-probability of labels with an order, by least squares: closed form."""

from __future__ import annotations

from typing import Any

from marginwise.criteria.base import Criterion, Evaluation
from marginwise.criteria.least_squares import evaluation
from marginwise.model import Model
from marginwise.multiclass.ordered import fitted_ordered_link, ordered_least_squares
from marginwise.problem import Problem


class OrderedLeaveOneOut(Criterion):
    """The mean leave-one-out log-probability of labels with an order, the latent function being found by least squares.

    Thresholds and noise of the link are found at the same time (``marginwise.multiclass.ordered_link``).

    Parameters
    ----------
    order : tuple of int
        The numbers of the classes from the lowest to the highest.
    """

    name = "ordered-ls-loo"
    direction = "maximise"
    slacks = ("quadratic",)
    smooth = True
    scale_free = True
    log_probability = True
    closed_form = True
    multiclass = True
    equation = "leave-one-out of Gaussian process regression on normal scores, thresholds (Chu & Ghahramani 2005)"

    def __init__(self, order: tuple[int, ...]) -> None:
        super().__init__()
        self.order = order

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the mean log-probability, with the log prior of the link divided by n, and its gradient."""
        posterior = ordered_least_squares(problem.distinct, model, self.order)
        return evaluation(posterior, fitted_ordered_link(posterior, self.order, state), with_gradient=with_gradient)
