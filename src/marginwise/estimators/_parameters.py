"""Checks of TunedSVC's parameters, before any work is done."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from marginwise._runtime.processes import check_n_jobs
from marginwise.criteria import Criterion, as_criterion
from marginwise.errors import InvalidInputError, choose
from marginwise.estimators._ordered import check_classes
from marginwise.fitting.schedule import SCHEDULE
from marginwise.hyperparameters import Hyperparameters
from marginwise.kernels import Blend, Kernel, Precomputed
from marginwise.kernels.borrowed import as_kernel
from marginwise.likelihoods import Slack, as_slack
from marginwise.model import Model
from marginwise.priors import DEVIATION, Prior, is_deviation

#: The criterion that suits the number of classes, and what that is for two.
AUTO, _TWO_CLASSES = "auto", "ep-loo"

#: What predicts after several searches: the best of their ends, or all by the mean of probabilities or by votes.
BEST, MEAN, VOTE = "best", "mean", "vote"

#: Kernels by name: constant, lines, curves and steps; or the paper's, a Gaussian bell and a constant.
_TEMPLATES: dict[str, Model] = {"auto": Model(1.0, Blend()), "rbf": Hyperparameters()}

#: "auto" where rows are not few: every column has a curve of its own as well.
_ADDITIVE = Model(1.0, Blend(k2=1.0))


def check_parameters(estimator: Any) -> None:
    """Raise if a parameter has a value that is not allowed; criterion and search are checked where they are made."""
    choose("predictor", estimator.predictor, ("posterior", "svm"))
    ard = estimator.ard
    free = _is(ard, Real) and (ard == 0 or is_deviation(ard))
    if not (free or (isinstance(ard, str) and ard == "auto")):
        raise InvalidInputError("ard", ard, f'"auto", 0 or a positive number {DEVIATION}')
    if not isinstance(estimator.standardize, (bool, np.bool_)):
        raise InvalidInputError("standardize", estimator.standardize, "True or False")
    if estimator.standardize and _has_row_numbers(estimator.kernel):
        wanted = "False with a Precomputed kernel: its input is a row number"
        raise InvalidInputError("standardize", estimator.standardize, wanted)
    check_classes(estimator.classes, estimator.predictor)
    check_n_jobs(estimator.n_jobs)
    if not (_is(estimator.restarts, Integral) and estimator.restarts >= 0):
        raise InvalidInputError("restarts", estimator.restarts, "0 or more searches from random starts")
    _check_combine(estimator)
    _check_budget(estimator)
    fraction = estimator.validation_fraction
    if fraction is not None and not (_is(fraction, Real) and 0 < fraction < 1):
        raise InvalidInputError("validation_fraction", fraction, "a number between 0 and 1, or None")
    for name, value, unit in (("rank", estimator.rank, "inducing inputs"), ("subset", estimator.subset, "rows")):
        if not (
            value is None or (_is(value, Integral) and int(value) >= 1) or (isinstance(value, str) and value == AUTO)
        ):
            raise InvalidInputError(name, value, f'"auto", a number of {unit}, or None for no limit')
    if estimator.prior is not None and not isinstance(estimator.prior, Prior):
        raise InvalidInputError("prior", estimator.prior, "a marginwise.Prior, or None for the default one")


def _check_budget(estimator: Any) -> None:
    budget, seconds = estimator.max_evaluations, estimator.max_seconds
    if budget is not None and not (_is(budget, Integral) and budget >= 1):
        raise InvalidInputError("max_evaluations", budget, "a whole number, 1 or more, or None for no limit")
    if seconds is not None and not (_is(seconds, Real) and seconds > 0):
        raise InvalidInputError("max_seconds", seconds, "a positive number, or None for no limit")


def _has_row_numbers(kernel: Any) -> bool:
    return isinstance(kernel, Kernel) and any(isinstance(term, Precomputed) for term in kernel.terms)


def _check_combine(estimator: Any) -> None:
    """Raise if there is nothing to combine, or not what would be combined."""
    combine = choose("combine", estimator.combine, (BEST, MEAN, VOTE))
    if combine != BEST and estimator.restarts == 0:
        wanted = f'"{BEST}", or restarts of 1 or more with it: they find what is combined'
        raise InvalidInputError("combine", combine, wanted)
    if combine != BEST and estimator.predictor == "svm":
        wanted = f'"{BEST}", or predictor="posterior" with it: posteriors are what is combined'
        raise InvalidInputError("combine", combine, wanted)


def chosen_criterion(criterion: Any, slack: Any) -> tuple[Criterion | None, Slack]:
    """Return the criterion that was asked for, None for the default one, and the slack of the SVM."""
    closed = isinstance(criterion, str) and criterion == AUTO
    two = as_criterion(_TWO_CLASSES if closed else criterion, slack)
    svm_slack = as_slack(two.likelihood)  # says so where there is none, before anything is tuned
    return None if closed else two, svm_slack


def chosen_rank(rank: str | int | None, X: Any) -> str | int | None:
    """Return what ``rank`` means for a table: "auto", a number, or None for the exact Gram matrix."""
    if not isinstance(X, np.ndarray):
        if rank is None:
            raise InvalidInputError("rank", None, '"auto" or a number of inducing inputs, for rows that Dask holds')
        return rank
    return None if rank == "auto" and len(X) <= SCHEDULE.exact_rows else rank


def chosen_subset(subset: str | int | None, rank: str | int | None, n: int) -> int | None:
    """Return how many of n rows to tune on, None for all; ``rank`` as TunedSVC has it."""
    by_default = SCHEDULE.wide_rows if rank == AUTO else SCHEDULE.tuning_rows
    size = by_default if isinstance(subset, str) else subset
    return None if size is None or size >= n else int(size)


def as_template(kernel: Any, *, additive: bool = False) -> Model:
    """Return the form of the models to tune, with one length scale; with ``additive`` "auto" has curves of columns."""
    require_no_name_of_a_matrix(kernel, "TunedSVC(kernel=Precomputed(K), standardize=False)")
    if isinstance(kernel, str):
        template = _TEMPLATES[choose("kernel", kernel, _TEMPLATES)]
        if additive and kernel == AUTO:
            template = _ADDITIVE
        return template
    own = as_kernel(kernel)
    if not isinstance(own, Kernel):
        wanted = '"auto", "rbf", a kernel of marginwise.kernels or sklearn.gaussian_process, or a function K(A, B)'
        raise InvalidInputError("kernel", kernel, wanted)
    return Model(1.0, _isotropic(own))


def require_no_name_of_a_matrix(kernel: Any, estimator: str) -> None:
    """Say what to give in the place of "precomputed", which other libraries take."""
    if isinstance(kernel, str) and kernel == "precomputed":
        raise InvalidInputError(
            "kernel",
            kernel,
            "a kernel with the matrix K of all rows, to be fitted to row numbers: from marginwise.kernels import "
            f"Precomputed; {estimator}.fit(np.arange(len(y))[:, None], y)",
        )


def _isotropic(kernel: Kernel) -> Kernel:
    """Return the kernel with one value for all inputs where each has its own: values are tuned, and so is that."""
    values = [h.values[:1] if h.per_input else h.values for h in kernel.hyperparameters]
    return kernel if kernel.is_isotropic else kernel.with_values(np.concatenate(values))


def _is(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
