"""How good hyperparameters are on the test set, at the end of a search and along its path."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise.criteria.base import Criterion
from marginwise.datasets.benchmarks import Benchmark
from marginwise.inference.base import Posterior
from marginwise.inference.sites import site_posterior
from marginwise.likelihoods.base import Likelihood
from marginwise.likelihoods.slack import Slack, as_slack
from marginwise.model import Model
from marginwise.problem import Problem, as_problem
from marginwise.search.held_out import HeldOut
from marginwise.search.trace import Record
from marginwise.search.trace import Trace as SearchTrace
from marginwise.study.record import Trace
from marginwise.svm.api import solve_problem

#: Most rows of a stored trace: enough for a figure.
TRACE_ROWS = 80


@dataclass(frozen=True, eq=False)
class Judge:
    """Measures hyperparameters on the test set of a data set, with the SVM and the posterior of one slack.

    Attributes
    ----------
    problem, test : Problem
        The training and the test set.
    slack : Slack
        That of the SVM and of the posterior.

    Examples
    --------
    >>> from marginwise import Hyperparameters, load_benchmark
    >>> from marginwise.likelihoods import LINEAR
    >>> judge = Judge.of(load_benchmark("crabs"), LINEAR)
    >>> round(judge.svm_error(Hyperparameters(k0=10, length_scales=3.0)), 2)
    0.03
    """

    problem: Problem
    test: Problem
    slack: Slack

    @classmethod
    def of(cls, data: Benchmark, likelihood: Likelihood) -> Judge:
        """Return the judge of a data set."""
        problem, test = as_problem(data.X_train, data.y_train), as_problem(data.X_test, data.y_test)
        return cls(problem, test, as_slack(likelihood))

    def svm_error(self, hyperparameters: Model) -> float:
        """Return the test error of the SVM trained on all training rows."""
        return HeldOut(self.problem, self.slack, {"test": self.test}).errors(hyperparameters)["test"]

    def margins(self, hyperparameters: Model) -> Array:
        """Return y θ(x) of the test set by the SVM: not positive where its label is wrong."""
        solution = solve_problem(self.problem, hyperparameters, self.slack)
        signed = (self.problem.y * solution.alpha)[solution.support]
        return self.test.y * (hyperparameters.kernel.cross(self.test.X, self.problem.X[solution.support]) @ signed)

    def posterior_scores(self, posterior: Posterior) -> dict[str, float]:
        """Return ``posterior_error`` and ``log_loss``; nothing if the posterior could not be computed."""
        if not posterior.status.ok:
            return {}
        return self.probability_scores(posterior.predict_proba(self.test.X)[:, 1])

    def probability_scores(self, positive: Array) -> dict[str, float]:
        """Return ``posterior_error`` and ``log_loss`` of the probabilities of label +1."""
        own = np.where(self.test.y > 0, positive, 1.0 - positive)
        loss = -np.log(np.maximum(own, np.finfo(float).tiny))
        return {"posterior_error": float(np.mean(own <= 0.5)), "log_loss": float(loss.mean())}

    def scores(self, hyperparameters: Model) -> dict[str, Any]:
        """Return the fields of an outcome that say how good these hyperparameters are, by SVM and by EP."""
        begun = time.process_time()
        solution = solve_problem(self.problem, hyperparameters, self.slack)
        extra = {
            "svm_seconds": time.process_time() - begun,
            "support_fraction": len(solution.support) / self.problem.n,
        }
        posterior = site_posterior(self.problem, hyperparameters, self.slack)
        if posterior.status.ok and posterior.log_evidence is not None:
            extra["ep_log_evidence"] = posterior.log_evidence / self.problem.n
        return {
            "hyperparameters": flat(hyperparameters),
            "test_error": self.svm_error(hyperparameters),
            "extra": extra,
            **self.posterior_scores(posterior),
        }

    def path(self, trace: SearchTrace, companion: Criterion | None = None) -> Trace:
        """Return the path of a search, thinned, with the SVM's test error and another criterion along it."""
        records = thinned(trace.accepted)
        columns = to_columns(records, trace.names)
        columns["test_error"] = [
            record.errors["test"] if "test" in record.errors else self.svm_error(record.hyperparameters)
            for record in records
        ]
        if companion is not None:
            columns[companion.name] = [
                companion.evaluate(self.problem, record.hyperparameters).value for record in records
            ]
        return columns

    def stopped_early(self, trace: SearchTrace) -> float:
        """Return the test error of a search that was stopped where an independent validation set is predicted best.

        "The gradient ascent is abandoned when performance on an independent validation set ceases to improve" (section
        overfitting): every other row of the test set is the validation set, the search is stopped at the last of its
        least errors there, and its error is counted on the other rows; then the two change places, and the errors are
        averaged.
        """
        halves = {
            name: self.test.subset(np.arange(place, self.test.n, 2)) for place, name in enumerate(("even", "odd"))
        }
        held = HeldOut(self.problem, self.slack, halves)
        errors = [held.errors(record.hyperparameters) for record in thinned(trace.accepted)]
        even, odd = (np.array([error[name] for error in errors]) for name in halves)
        stops = ((one == one.min()).nonzero()[0][-1] for one in (even, odd))
        return float(np.mean([other[stop] for other, stop in zip((odd, even), stops, strict=True)]))


def thinned(records: Sequence[Record]) -> list[Record]:
    """Return at most ``TRACE_ROWS`` records, evenly spread over the evaluations, the first and the last among them."""
    if len(records) <= TRACE_ROWS:
        return list(records)
    when = np.array([record.index for record in records])
    wanted = np.linspace(when[0], when[-1], TRACE_ROWS)
    places = np.unique(np.minimum(np.searchsorted(when, wanted, side="right") - 1, len(records) - 1))
    return [records[place] for place in places]


def to_columns(records: Sequence[Record], names: Sequence[str]) -> Trace:
    """Return records as columns: evaluation, score, value, all hyperparameters, g_… and se_… where there are gradients.

    Length scales are l1, l2, …; ``names`` are those of the free hyperparameters, which gradients belong to.
    """
    values = np.array([flat(record.hyperparameters) for record in records])
    columns: Trace = {
        "evaluation": [float(record.index + 1) for record in records],
        "score": [record.point.score for record in records],
        "value": [record.point.value for record in records],
    }
    for place in range(values.shape[1]):
        columns[_column(place)] = values[:, place].tolist()
    first_free = values.shape[1] - len(names)  # C, if anything, is fixed
    for prefix, rows in (
        ("g", [record.point.gradient for record in records]),
        ("se", [record.point.noise for record in records]),
    ):
        if all(row is not None for row in rows):
            matrix = np.array(rows)
            for place in range(len(names)):
                columns[f"{prefix}_{_column(first_free + place)}"] = matrix[:, place].tolist()
    return columns


def flat(hyperparameters: Model) -> tuple[float, ...]:
    """Return hyperparameters as they are recorded: C, k0, koff, l_1 … l_d."""
    return tuple(hyperparameters.values.tolist())


def _column(place: int) -> str:
    return ("C", "k0", "koff")[place] if place < 3 else f"l{place - 2}"
