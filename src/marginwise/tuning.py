"""Tune the hyperparameters of an SVM: the one entry that brings criteria and searches together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from marginwise._runtime.processes import check_n_jobs
from marginwise.criteria.base import Criterion
from marginwise.criteria.registry import as_criterion
from marginwise.errors import Finding, InvalidInputError, choose
from marginwise.hyperparameters import as_model, paper_start
from marginwise.kernels.base import Kernel
from marginwise.likelihoods.base import Likelihood
from marginwise.model import Model
from marginwise.priors import Prior
from marginwise.problem import Problem, as_problem
from marginwise.search.base import Bounds, Search
from marginwise.search.checkpoint import recorded_settings
from marginwise.search.held_out import VALIDATION
from marginwise.search.line import LineScan, scan
from marginwise.search.registry import as_search
from marginwise.search.restarts import tune_problem
from marginwise.search.settings import MAX_EVALUATIONS, SearchSettings
from marginwise.search.task import Limits
from marginwise.search.trace import Callback, Tuning

LabelledData = tuple[npt.ArrayLike, npt.ArrayLike]


def tune(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    criterion: Criterion | str,
    slack: Likelihood | str | None = None,
    *,
    kernel: Kernel | None = None,
    search: Search[Any] | str = "auto",
    start: Model | Sequence[float] | None = None,
    isotropic: bool | None = None,
    prior: Prior | None = None,
    bounds: Bounds | None = None,
    restarts: int = 0,
    random_state: int | None = None,
    n_jobs: int | None = 1,
    max_evaluations: int | None = MAX_EVALUATIONS,
    max_seconds: float | None = None,
    checkpoint: str | Path | None = None,
    validation: LabelledData | None = None,
    patience: int = 10,
    test: LabelledData | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
    sample_weight: npt.ArrayLike | None = None,
    inducing: npt.ArrayLike | None = None,
    on_interrupt: Literal["keep", "raise"] = "keep",
    examples: npt.ArrayLike | None = None,
) -> Tuning:
    """Move the hyperparameters until the criterion stops improving.

    Ctrl-C ends all searches and returns the best so far, with a status that says so.

    Parameters
    ----------
    X, y : array-like
        Inputs of shape (n, d), and labels -1 or +1.
    criterion : Criterion or str
        What to optimise.
    slack : Slack or str, optional
        "linear" or "quadratic"; by default the first that the criterion is defined for.
    kernel : Kernel, optional
        A kernel of ``marginwise.kernels`` in the place of the paper's.
    search : Search or str
        "quasi-newton", "gradient-ascent" (needs no value), "nelder-mead" (needs no gradient), "random-walk"
        (the same, after the paper), or "auto": the first of these that the criterion allows.
    start : Hyperparameters or sequence (C, k0, koff, l_1 … l_d), optional
        Where to begin; by default the mean of the prior, or without one the paper's fixed start, or C = 1 and the
        kernel's own values where a kernel is given.
    isotropic : bool, optional
        Whether one length scale serves all inputs; by default as in ``start``, and otherwise not.
    prior : Prior, optional
        Its logarithm, divided by n, is added to the criterion.
    bounds : mapping of str to (float, float), optional
        A narrower box, by the names of hyperparameters: ``{"k0": (0.01, 1000), "l": (0.1, 30)}``, "l" being all
        length scales. By default the bounds of the model, which are wide.
    restarts : int
        Number of further searches from random starts; the best is kept and all are reported.
    random_state : int, optional
        Seed of the random starts and walks.
    n_jobs : int, optional
        Number of processes for the searches; the result does not depend on it.
    max_evaluations, max_seconds : int, float, optional
        Budget of each search.
    checkpoint : path, optional
        A directory in which the searches are recorded as they go. If it holds the beginning of the same
        searches, they are continued, and end as if they had never stopped; the budget may differ.
    validation : (X, y), optional
        Early stopping: a search ends when the SVM's error on these examples has not fallen for ``patience``
        moves, and its hyperparameters are those with the smallest error.
    patience : int
        See above.
    test : (X, y), optional
        Examples on which the SVM's error is recorded in the trace, to no effect on the result.
    callbacks : sequence of callables
        Called with each new :class:`~marginwise.search.Record`; one that returns True ends the search. With
        several processes they are called in those.
    progress : bool, optional
        Whether to draw a progress bar; by default on terminals if rich is installed.
    sample_weight : array-like, optional
        Positive weights; weight 2 is the same as the row given twice.
    inducing : array-like of shape (m, d), optional
        Inducing inputs, kept where they are: the Gram matrix is then of low rank, for tables with many rows.
    on_interrupt : {"keep", "raise"}
        What Ctrl-C does: "keep" returns the best so far, "raise" is a KeyboardInterrupt as elsewhere.
    examples : array-like, optional
        Number of examples in each row, for criteria that leave one out at a time. By default whole weights and rows
        given several times count as repetitions where inputs that repeat carry both labels, and otherwise equal rows
        are one example, left out whole.

    Returns
    -------
    Tuning
        The best hyperparameters, the criterion there, how the search ended, and its trace.

    Examples
    --------
    >>> from marginwise import load_benchmark
    >>> data = load_benchmark("crabs")
    >>> found = tune(data.X_train, data.y_train, "laplace-evidence", "quadratic", isotropic=True)
    >>> found.status.ok, round(found.value, 2)
    (True, -0.28)
    """
    problem = as_problem(X, y, sample_weight, inducing, examples)
    if not (_is_whole(restarts) and restarts >= 0):
        raise InvalidInputError("restarts", restarts, "0 or more searches from random starts")
    if not (_is_whole(patience) and patience >= 1):
        raise InvalidInputError("patience", patience, "at least 1 move")
    check_n_jobs(n_jobs)
    directory = None if checkpoint is None else _directory(checkpoint)
    settings = SearchSettings(
        search=as_search(search),
        prior=prior,
        bounds=dict(bounds or {}),
        restarts=restarts,
        seed=_entropy(random_state, directory),
        n_jobs=n_jobs,
        limits=Limits(max_evaluations, max_seconds, keep=_keeps(on_interrupt)),
        held_out=_held_out(problem, {VALIDATION: validation, "test": test}),
        patience=patience,
        directory=directory,
        callbacks=tuple(callbacks),
        progress=progress,
    )
    begin = _start(start, kernel, problem, isotropic, prior)
    return tune_problem(problem, as_criterion(criterion, slack), begin, settings)


def scan_line(
    criteria: Criterion | str | Sequence[Criterion | str],
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    start: Model | Sequence[float],
    end: Model | Sequence[float],
    slack: Likelihood | str | None = None,
    *,
    kernel: Kernel | None = None,
    n_points: int = 41,
    sample_weight: npt.ArrayLike | None = None,
) -> LineScan:
    """Evaluate one or several criteria along the segment between two settings of the hyperparameters.

    Two optima are genuine if the criterion gets worse in between: see
    :meth:`~marginwise.search.LineScan.barrier`.

    Parameters
    ----------
    criteria : Criterion, str, or sequence of these
        What to evaluate.
    X, y : array-like
        Inputs of shape (n, d), and labels -1 or +1.
    start, end : Hyperparameters or sequence (C, k0, koff, l_1 … l_d)
        The ends of the segment, which is straight in the logarithms.
    slack : Likelihood or str, optional
        "linear" or "quadratic"; by default the first that a criterion is defined for.
    kernel : Kernel, optional
        A kernel in the place of the paper's, where the ends are sequences.
    n_points : int, default=41
        Evaluations of each criterion, at equal distances.
    sample_weight : array-like, optional
        Positive weights; weight 2 is the same as the row given twice.

    Returns
    -------
    LineScan

    Examples
    --------
    >>> from marginwise import Hyperparameters
    >>> ends = Hyperparameters(C=1), Hyperparameters(C=10)
    >>> line = scan_line("gacv", [[0.0], [1.0], [2.0]], [-1, 1, 1], *ends, n_points=5)
    >>> line.values["gacv"].shape, line.barrier("gacv") >= 0
    ((5,), True)
    """
    several = [criteria] if isinstance(criteria, (str, Criterion)) else list(criteria)
    objects = [as_criterion(criterion, slack) for criterion in several]
    ends = as_model(start, kernel), as_model(end, kernel)
    return scan(objects, as_problem(X, y, sample_weight), *ends, n_points)


def _start(
    start: Model | Sequence[float] | None,
    kernel: Kernel | None,
    problem: Problem,
    isotropic: bool | None,
    prior: Prior | None,
) -> Model:
    """Return where the first search begins, with one length scale or one for each input."""
    d = problem.X.shape[1]
    if start is None:
        model = paper_start(d, isotropic=True) if kernel is None else Model(1.0, kernel)
    else:
        model = as_model(start, kernel)
    model.kernel.check_inputs(d)
    if isotropic and not model.is_isotropic:
        raise InvalidInputError("start", start, "one length scale, because isotropic is True")
    if not isotropic and (start is None or isotropic is not None):
        model = model.as_ard(d)
    return model if prior is None or start is not None else prior.mean_of(model, d)


def _held_out(problem: Problem, sets: dict[str, LabelledData | None]) -> dict[str, Problem]:
    checked = {name: as_problem(*data) for name, data in sets.items() if data is not None}
    for name, held in checked.items():
        if held.X.shape[1] != problem.X.shape[1]:
            raise InvalidInputError(
                name, Finding(f"has {held.X.shape[1]} columns"), f"{problem.X.shape[1]} columns, as many as X has"
            )
    return checked


def _keeps(on_interrupt: str) -> bool:
    return choose("on_interrupt", on_interrupt, ("keep", "raise")) == "keep"


def _directory(checkpoint: str | Path) -> Path:
    directory = Path(checkpoint)
    if directory.exists() and not directory.is_dir():
        raise InvalidInputError("checkpoint", str(checkpoint), "a directory, or a path where one can be made")
    return directory


def _is_whole(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _entropy(random_state: int | None, directory: Path | None) -> int:
    """Return the seed: the one given, that of the searches to be continued, or a new one."""
    if random_state is not None:
        if not _is_whole(random_state) or random_state < 0:
            raise InvalidInputError("random_state", random_state, "an integer that is not negative, or None")
        return int(random_state)
    recorded = recorded_settings(directory) if directory is not None else None
    if recorded is not None and isinstance(recorded.get("seed"), int):
        return abs(int(recorded["seed"]))
    fresh = np.random.SeedSequence().entropy
    assert isinstance(fresh, int)
    return fresh
