"""The exact evidence by sampling: its gradient, and if asked for its value, both with standard errors."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from marginwise.criteria.base import Criterion, Evaluation
from marginwise.errors import InvalidInputError, choose
from marginwise.inference.sampling.collect import Precision
from marginwise.inference.sampling.hmc import N_SAMPLES
from marginwise.inference.sampling.run import hmc_posterior, sample_posterior
from marginwise.likelihoods.base import Likelihood
from marginwise.likelihoods.slack import as_slack
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Code

#: What a gradient is worth sampling for when it only has to say where to go next.
TO_FOLLOW = Precision(relative=0.2, floor=1e-3, max_leapfrogs=10_000)


class Evidence(Criterion):
    """The normalised log evidence E(Y|X) without approximation: its gradient, by sampling from the posterior.

    The value is NaN unless it is asked for, because it costs more than the gradient. Both come with standard errors,
    ``info["gradient_se"]`` and ``info["value_se"]``. The noise is a function of the hyperparameters and the seed:
    evaluated twice, the criterion is the same, and at two places the errors are independent.

    Parameters
    ----------
    slack : Slack or str, optional
    value : bool
        Whether to estimate the value as well.
    precision : Precision, optional
        When sampling stops: by default when the norm of the standard errors is a fifth of the gradient's, which is
        enough to follow, or at the latest after 10,000 leapfrog steps. Errors are then no larger than with the
        paper's 20,000 draws.
    seed : int
        Seed of the noise.
    sampler : {"guided", "paper"}
        "guided": many chains guided by expectation propagation. "paper": the paper's Hybrid Monte Carlo, one chain with
        ``hmc_steps`` steps discarded and as many made use of for each gradient, taken as it is whether or not the chain
        has mixed (``info["rhat"]``); no value.
    hmc_steps : int
        The paper's number of steps, 20,000.

    Examples
    --------
    >>> from marginwise import Hyperparameters, evaluate
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [-1, -1, 1, 1]
    >>> result = evaluate(Evidence(seed=1), X, y, Hyperparameters(C=2))
    >>> result.gradient.shape, result.info["gradient_se"].shape
    ((4,), (4,))
    """

    name = "evidence"
    direction = "maximise"
    smooth = True
    equation = "eqs. (cgrad), (lgrad) by sampling; the value, eq. (pyx1), by Bennett's acceptance ratio"

    def __init__(
        self,
        slack: Likelihood | str | None = None,
        *,
        value: bool = False,
        precision: Precision | None = None,
        seed: int = 0,
        sampler: Literal["guided", "paper"] = "guided",
        hmc_steps: int = N_SAMPLES,
    ) -> None:
        super().__init__(slack)
        self.value, self.precision, self.seed = value, precision or TO_FOLLOW, seed
        self.sampler = choose("sampler", sampler, ("guided", "paper"))
        if hmc_steps < 1:
            raise InvalidInputError("hmc_steps", hmc_steps, "a positive number")
        self.hmc_steps = hmc_steps
        if value and sampler == "paper":
            raise InvalidInputError(
                "value", value, 'False: the paper\'s sampler gives the gradient alone, sampler="guided" the value, too'
            )

    def evaluate(self, problem: Problem, model: Model, state: Any = None, *, with_gradient: bool = True) -> Evaluation:
        """Return the gradient, which comes with the draws in any case, and the value or NaN."""
        place = np.frombuffer(model.to_vector().tobytes(), dtype=np.uint32)
        options: dict[str, Any] = {
            "seed": np.random.default_rng([self.seed, *place]),
            "kept_bytes": 0,
        }  # no predictions
        slack = as_slack(self.likelihood)
        if self.sampler == "paper":
            posterior = hmc_posterior(
                problem, model, slack, n_samples=self.hmc_steps, n_discarded=self.hmc_steps, **options
            )
        else:
            options |= {"precision": self.precision, "evidence": self.value}
            posterior = sample_posterior(problem, model, slack, **options)
        info = {"gradient_se": posterior.gradient_se, **posterior.diagnostics}
        value = np.nan
        if posterior.log_evidence is not None and posterior.log_evidence_se is not None:
            n = float(problem.weights.sum())
            value, info["value_se"] = posterior.log_evidence / n, posterior.log_evidence_se / n
        # Near an optimum the gradient is smaller than any error: that is no failure, and the error says so. The paper
        # takes what its chain gives; whether it has mixed is in ``info``.
        gradient = posterior.gradient
        as_it_is = self.sampler == "paper" and gradient is not None and bool(np.isfinite(gradient).all())
        noisy = as_it_is or posterior.status.code is Code.IMPRECISE
        return Evaluation(value, gradient, CONVERGED if noisy else posterior.status, info=info)
