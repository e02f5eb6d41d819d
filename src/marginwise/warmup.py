"""Compile everything: for container images, continuous integration, and the beginning of a class."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise._runtime.jit import FUNCTIONS
from marginwise.criteria import criterion_names, evaluate
from marginwise.errors import ConvergenceWarning, InvalidInputError
from marginwise.estimators import TunedSVC
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference import posterior
from marginwise.inference.ep.sequential import sweep_sites
from marginwise.kernels import Blend
from marginwise.likelihoods import SLACKS, as_likelihood

#: Likelihoods whose moments are computed by quadrature, and one that is not a slack.
_OTHER_LIKELIHOODS = ("normalised-linear", "logistic", "probit")


def warm_up() -> int:
    """Use every compiled function on a small table, so that it is compiled and kept; return how many there are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0, 1.0, -1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # so little is done that nothing converges
        few: dict[str, Any] = {"max_evaluations": 3, "random_state": 0}
        options: list[dict[str, Any]] = [
            {},
            {"ard": 0, "predictor": "svm"},
            {"ard": 0, "rank": 10, "subset": 30},
            {"ard": 0, "kernel": Blend(k2=1.0)},
        ]
        for own in options:
            model = TunedSVC(**own, **few)
            model.fit(X, y).predict_proba(X)
        for slack in SLACKS:
            _use_slack(X, y, slack)
    for name in _OTHER_LIKELIHOODS:
        posterior(X, y, Hyperparameters(C=1.0), name).predict_proba(X)
    return len(FUNCTIONS)


def _use_slack(X: Array, y: Array, slack: str) -> None:
    """Use all criteria and posteriors of a slack, and the moves of the sites that are seldom needed."""
    h = Hyperparameters(C=1.0)
    for criterion in criterion_names():
        try:
            evaluate(criterion, X, y, h, slack)
        except InvalidInputError:  # not defined for this slack
            continue
    for method in ("ep", "variational", "laplace", "sample", "hmc"):
        posterior(X, y, h, slack, method).predict_proba(X)
    likelihood = as_likelihood(slack).weighted(1.0, np.ones_like(y))
    mean, tau, nu = np.zeros((3, len(y)))
    sweep_sites(np.eye(len(y)), mean, tau, nu, y, likelihood, 1.0)
