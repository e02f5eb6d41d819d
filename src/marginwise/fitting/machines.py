"""The SVM that goes with an ensemble: that of its main member, with weighted classes."""

from __future__ import annotations

from marginwise._arrays import Array
from marginwise.covariance.blocks import as_blocks
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.fitting.labels import LabelModel, SlackLabels
from marginwise.likelihoods.slack import Slack
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.svm.api import solve_svm
from marginwise.svm.pairs import PairMachines, train_pairs

#: C of an SVM in units of that of least squares, by slack.
_SVM_C = {"linear": 4.0, "quadratic": 1.0}


def svm_model(labels: LabelModel, tuned: Model, model: Model, slack: Slack) -> Model:
    """Return the model of an SVM: a member's, with a C that suits the slack where its labels have none of their own.

    ``tuned`` are the hyperparameters that were found, ``model`` those at the scale of the labels.
    """
    return model if isinstance(labels, SlackLabels) else Model(_SVM_C[slack.name] * tuned.C, model.kernel)


def train_pairs_of(problem: Problem, model: Model, slack: Slack, inducing: Array | None = None) -> PairMachines:
    """Return the SVM of each two classes; one that does not converge is an error."""
    machines, solutions = train_pairs(
        problem.X, problem.labels, problem.n_classes, problem.weights, model, slack, inducing=inducing
    )
    for solution in solutions:
        solution.status.require()
    return machines


def low_rank_svm(problem: Problem, importance: Array, model: Model, slack: Slack, inducing: Array) -> PairMachines:
    """Return the SVM of two classes with inducing inputs, trained on all rows, of which none is kept."""
    covariance = LowRankCovariance(model.kernel, as_blocks(problem.X), inducing)
    penalties = model.C * problem.weights * importance[problem.labels]
    solution = solve_svm(covariance, problem.y, penalties, slack)
    solution.status.require()
    points, coefficients = covariance.expansion(problem.y * solution.alpha)
    return PairMachines(2, model.kernel, points, coefficients[None], solution.support, None)
