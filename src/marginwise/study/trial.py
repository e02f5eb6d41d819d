"""The methods of the study by name, in the order of every table, and one trial of any of them."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from dataclasses import replace
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from marginwise.datasets import Benchmark, load_benchmark
from marginwise.priors import Prior
from marginwise.search.fingerprint import fingerprint
from marginwise.study.plan import Effort, Trial
from marginwise.study.paper.methods.ours import Ensemble, SelfTuned
from marginwise.study.judge import Columns, Outcome
from marginwise.study.paper.methods.previous import CrossValidated, GaussianProcess, VariationalSVM
from marginwise.study.searches import Ascent, Newton, Walk
from marginwise.study.store import TrialRow

#: The row of a trial and the columns of its trace.
Result = tuple[TrialRow, Columns | None]


class Method(Protocol):
    """A frozen dataclass of settings that runs trials; all that it does follows from these and from its arguments."""

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Run one trial on one data set."""


METHODS: dict[str, Method] = {
    "le1-walk": Walk("laplace-evidence", "linear", companion="gacv"),
    "le2-walk": Walk("laplace-evidence", "quadratic", companion="span"),
    "gacv-walk": Walk("gacv", "linear"),
    "span-walk": Walk("span", "quadratic"),
    "evidence-ascent": Ascent(),
    "svm-cv": CrossValidated(),
    "gp-laplace": GaussianProcess("laplace"),
    "gp-variational": GaussianProcess("variational"),
    "svm-variational": VariationalSVM(),
    "gp-mean-field": GaussianProcess("ep"),
    "le1-newton": Newton("laplace-evidence", "linear"),
    "le2-newton": Newton("laplace-evidence", "quadratic"),
    "gacv-newton": Newton("gacv", "linear"),
    "span-newton": Newton("span", "quadratic"),
    "ep-evidence-newton": Newton("ep-evidence", "linear"),
    "ep-loo-newton": Newton("ep-loo", "linear"),
    "ep-loo-prior": Newton("ep-loo", "linear", isotropic=True, prior=Prior()),
    "tuned-svc": SelfTuned(),
    "ensemble": Ensemble(),
}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods, in the order of the tables."""
    return tuple(METHODS)


def run_trial(trial: Trial, effort: Effort) -> Result:
    """Run one trial with one thread; an error becomes a row that says so."""
    begun = time.perf_counter()
    common: dict[str, Any] = {"seed": trial.seed, "versions": versions()}
    key = (trial.dataset, trial.method, trial.number)
    try:
        with threadpool_limits(1):
            outcome = METHODS[trial.method].run(load_data(trial.dataset, effort), trial, effort)
    except Exception as error:  # whatever it is: it has a name, is kept, and is tried again
        name, message = type(error).__name__, str(error)
        seconds = time.perf_counter() - begun
        return TrialRow(*key, status="failed", message=message, error_name=name, seconds=seconds, **common), None
    found = outcome.hyperparameters
    row = TrialRow(
        *key,
        status="done",
        message=outcome.message,
        seconds=time.perf_counter() - begun,
        evaluations=outcome.evaluations,
        hyperparameters=None if found is None else (found.C, found.k0, found.koff, *found.length_scales),
        criterion_value=outcome.criterion_value,
        test_error=outcome.test_error,
        posterior_error=outcome.posterior_error,
        log_loss=outcome.log_loss,
        oracle_error=outcome.oracle_error,
        early_error=outcome.early_error,
        extra=outcome.extra,
        fingerprint=digest(settings_of(trial.dataset, trial.method, effort)),
        **common,
    )
    return row, outcome.trace


@lru_cache(maxsize=8)
def load_data(dataset: str, effort: Effort) -> Benchmark:
    """Return the data set, cut to the rows that the effort allows.

    As in the paper its split is the same in all trials; that of the crabs is the library's default draw. Rows are cut
    evenly spread, which keeps both classes.
    """
    data = load_benchmark(dataset)
    train, test = _spread(len(data.y_train), effort.train_rows), _spread(len(data.y_test), effort.test_rows)
    return replace(
        data,
        X_train=data.X_train[train],
        y_train=data.y_train[train],
        X_test=data.X_test[test],
        y_test=data.y_test[test],
    )


def settings_of(dataset: str, method: str, effort: Effort) -> dict[str, Any]:
    """Return all that the rows of a cell depend on, as plain values."""
    data = load_data(dataset, effort)
    return {
        "marginwise": version("marginwise"),
        "data": fingerprint([data.X_train, data.y_train, data.X_test, data.y_test]),
        "method": fingerprint(METHODS[method]),
        "effort": fingerprint(effort),
    }


def digest(settings: dict[str, Any]) -> str:
    """Return the fingerprint of settings."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers depend on."""
    packages = ("marginwise", "numpy", "scipy", "scikit-learn", "numba")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def _spread(n: int, kept: int | None) -> Any:
    """Return the indices of ``kept`` out of ``n`` rows, evenly spread."""
    return np.arange(n) if kept is None or kept >= n else np.linspace(0, n - 1, kept).astype(np.intp)
