"""The methods of the paper's study by name, in the order of every table: the paper's, of previous work, and ours."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from marginwise.criteria.ep import EPEvidence
from marginwise.criteria.evidence import TO_FOLLOW, Evidence
from marginwise.datasets.benchmarks import Benchmark
from marginwise.errors import ConvergenceWarning, choose
from marginwise.estimators.tuned_svc import TunedSVC
from marginwise.hyperparameters import Hyperparameters, random_start
from marginwise.inference.sampling.collect import Precision
from marginwise.likelihoods.slack import LINEAR
from marginwise.priors import Prior
from marginwise.search.gradient_ascent import GradientAscent
from marginwise.study.judge import Judge, flat, thinned, to_columns
from marginwise.study.paper.previous import CrossValidated, GaussianProcess, VariationalSVM
from marginwise.study.paper.probes import GRADIENTS
from marginwise.study.paper.settings import (
    ASCENT,
    ASCENT_SETTINGS,
    EP_ASCENT,
    EQUAL_SCALES,
    HMC,
    NEAREST_WALK,
    NORMALISED,
    PAPER_TRIALS,
    REPEATED,
    SCANNED_SMOOTHING,
    SLOW,
    SMOOTHED,
    THOROUGH,
    WALK_NAMES,
    WALK_SETTINGS,
    in_setting,
)
from marginwise.study.plan import Effort, Method, Trial
from marginwise.study.record import Outcome
from marginwise.study.searches import Newton, Walk, outcome, timed_tune

#: The paper's walks. The companion is the criterion that the paper shows or mentions along the walk (fig. twonorm_lz,
#: section results).
WALKS: Mapping[str, Walk] = {
    "le1-walk": Walk("laplace-evidence", "linear", companion="gacv"),
    "le2-walk": Walk("laplace-evidence", "quadratic", companion="span"),
    "gacv-walk": Walk("gacv", "linear"),
    "span-walk": Walk("span", "quadratic"),
}


@dataclass(frozen=True)
class Ascent:
    """Gradient ascent on the evidence, section gradient_ascent.

    The paper's column of early stopping is the least test error along the path, which is an oracle; ``early_error`` is
    that of stopping by an independent validation set, see :meth:`~marginwise.study.Judge.stopped_early`.

    Parameters
    ----------
    search : GradientAscent
    sampler : {"guided", "paper", "ep"}
        How gradients are found: sampled, see :class:`~marginwise.criteria.evidence.Evidence`; or those of the evidence
        of expectation propagation, which have no noise.
    start : {"random", "same", "equal"}
        Where a trial begins: at random in the paper's ranges; at one such place for all trials and samplers, so that
        they differ in the noise of the gradients alone; or in the middle of these ranges with equal length scales, as
        in the paper's figures (twonorm_ll) and (twonorm_kkc).
    precision : Precision
        Of the guided sampler.
    likelihood : str
        Whose evidence it is; by expectation propagation also "normalised-linear".
    """

    search: GradientAscent = ASCENT_SETTINGS[THOROUGH].search
    sampler: Literal["guided", "paper", "ep"] = "guided"
    start: Literal["random", "same", "equal"] = "random"
    precision: Precision = TO_FOLLOW
    likelihood: str = "linear"

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Ascend, and look at the test error along the path."""
        tuning, seconds = timed_tune(
            data,
            self._criterion(trial, effort),
            search=self.search,
            start=self._begin(data, trial),
            random_state=trial.seed,
            max_evaluations=effort.ascent_evaluations,
        )
        judge = Judge.of(data, LINEAR)
        return outcome(judge, tuning, seconds, early_error=judge.stopped_early(tuning.trace))

    def _criterion(self, trial: Trial, effort: Effort) -> EPEvidence | Evidence:
        if self.sampler == "ep":
            return EPEvidence(self.likelihood)
        return Evidence(
            self.likelihood,
            precision=self.precision,
            seed=trial.seed,
            sampler=self.sampler,
            hmc_steps=effort.hmc_steps,
        )

    def _begin(self, data: Benchmark, trial: Trial) -> Hyperparameters:
        """Return where the trial begins."""
        if self.start == "equal":  # the middle of C ∈ [0.4, 0.8], ln k0 ∈ [-1, 1], ln koff ∈ [-2, -1], ln l ∈ [-1, 2]
            return Hyperparameters(0.6, 1.0, np.exp(-1.5), np.full(data.n_inputs, np.exp(0.5)))
        named = {"same": Trial(trial.dataset, REPEATED, 0), "random": trial}[self.start]
        if self.sampler == "ep":  # the same starts whatever the likelihood
            named = Trial(trial.dataset, EP_ASCENT, trial.number)
        return random_start(data.n_inputs, np.random.default_rng(named.seed))


@dataclass(frozen=True)
class SelfTuned:
    """TunedSVC with the paper's kernel; the folds that judge its candidates are drawn anew in each trial."""

    def run(self, data: Benchmark, trial: Trial, effort: Effort) -> Outcome:
        """Fit and predict."""
        begun = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model = TunedSVC(kernel="rbf", random_state=trial.seed % 2**31, n_jobs=1).fit(data.X_train, data.y_train)
        seconds = time.process_time() - begun
        messages = [str(warning.message) for warning in caught if issubclass(warning.category, ConvergenceWarning)]
        positive = model.predict_proba(data.X_test)[:, 1]
        wrong = np.flatnonzero((positive > 0.5) != (data.y_test > 0))
        scores = Judge.of(data, LINEAR).probability_scores(positive)
        extra = {
            "fit_seconds": seconds,
            "expected_error": model.expected_error_,
            "expected_log_loss": model.expected_log_loss_,
        }
        return Outcome(
            message="; ".join(messages) or "fitted",
            evaluations=len(model.trace_),
            hyperparameters=flat(model.ensemble_.main.tuning.hyperparameters),
            criterion_value=model.criterion_value_,
            test_error=scores["posterior_error"],
            wrong=tuple(wrong.tolist()),
            extra=extra,
            trace=to_columns(thinned(model.trace_.accepted), model.trace_.names),
            **scores,
        )


def _walk(name: str, key: str) -> Walk:
    walk, setting = WALKS[name], WALK_SETTINGS[key]
    return Walk(walk.criterion, walk.slack, walk.companion, setting.search, setting.bounds)


#: What every name stands for, varied ones included.
_ALL: Mapping[str, Method] = {
    **{in_setting(name, key): _walk(name, key) for name in WALK_NAMES for key in WALK_SETTINGS},
    **{in_setting(ASCENT, key): Ascent(setting.search) for key, setting in ASCENT_SETTINGS.items()},
    **{name: Walk(one.criterion) for name, one in SMOOTHED.items()},
    **{name: Walk(one.criterion, search=WALK_SETTINGS[NEAREST_WALK].search) for name, one in SCANNED_SMOOTHING.items()},
    REPEATED: Ascent(SLOW, start="same"),
    EQUAL_SCALES: Ascent(SLOW, start="equal"),
    EP_ASCENT: Ascent(SLOW, sampler="ep"),
    NORMALISED: Ascent(SLOW, sampler="ep", likelihood="normalised-linear"),
    HMC: Ascent(SLOW, sampler="paper", start="same"),
    **GRADIENTS,
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
}

METHODS: Mapping[str, Method] = {name: _ALL[name] for name in PAPER_TRIALS}

#: What the study of what results depend on adds.
VARIED: Mapping[str, Method] = {name: method for name, method in _ALL.items() if name not in PAPER_TRIALS}


def methods(*names: str) -> dict[str, Method]:
    """Return methods of the paper's study by name; without names, all.

    Parameters
    ----------
    *names : str
        Some of the keys of ``METHODS``.

    Returns
    -------
    dict of Method

    Examples
    --------
    >>> list(methods("gacv-walk", "tuned-svc"))
    ['gacv-walk', 'tuned-svc']
    """
    return {choose("methods", name, METHODS): METHODS[name] for name in names or METHODS}
