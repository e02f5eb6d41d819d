"""Sample the posterior of a problem: the default sampler, and the paper's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from marginwise.covariance.dense import DenseCovariance
from marginwise.covariance.gaussian import Sites
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.errors import InvalidInputError
from marginwise.inference.ep.run import run_ep
from marginwise.inference.gaussian import GaussianPosterior
from marginwise.inference.sampling.collect import KEPT_BYTES, MAX_RHAT, Collection, Precision, collect
from marginwise.inference.sampling.control_variates import ControlVariates
from marginwise.inference.sampling.evidence import EvidenceEstimate, estimate_evidence
from marginwise.inference.sampling.gradient import Chainwise, GradientRecorder
from marginwise.inference.sampling.guided import ReferenceHMC
from marginwise.inference.sampling.hmc import HMC, N_DISCARDED, N_SAMPLES
from marginwise.inference.sampling.low_rank import low_rank_prior
from marginwise.inference.sampling.pivoted import pivoted_gram
from marginwise.inference.sampling.prior import SampledPrior
from marginwise.inference.sampling.reference import gaussian_reference
from marginwise.inference.sampling.sampled import SampledPosterior
from marginwise.inference.sampling.sampler import Target
from marginwise.likelihoods.slack import Slack
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.status import CONVERGED, Code, Status

#: Chains: enough for matrix products at full speed; small problems need more of them.
_N_CHAINS, _N_CHAINS_SMALL, _SMALL = 64, 128, 250

#: Cells that the steps of the paper's chain are summed into for the length scales.
_HMC_CELLS = 100

#: With fewer draws than this that violate a margin, the spread of the gradient's summands says nothing: most are 0.
_MIN_VIOLATING = 30


def sample_posterior(
    problem: Problem,
    hyperparameters: Model,
    slack: Slack,
    *,
    seed: int | np.random.Generator = 0,
    precision: Precision | None = None,
    evidence: bool = False,
    start: GaussianPosterior | SampledPosterior | Sites | None = None,
    covariance: DenseCovariance | LowRankCovariance | None = None,
    n_chains: int | None = None,
    kept_bytes: int = KEPT_BYTES,
) -> SampledPosterior:
    """Sample with many chains guided by expectation propagation, until the evidence gradient is precise.

    Parameters
    ----------
    problem, hyperparameters, slack
        What to sample the posterior of.
    seed : int or Generator
        The same seed gives the same result.
    precision : Precision, optional
        When to stop.
    evidence : bool
        Whether to estimate the value of the evidence as well.
    start : GaussianPosterior, SampledPosterior or Sites, optional
        A posterior near by, or its sites, to start expectation propagation from.
    covariance : DenseCovariance or LowRankCovariance, optional
        The covariance, if it is at hand; of low rank if the problem has inducing inputs.
    n_chains : int, optional
        Chains side by side, a multiple of 8.
    kept_bytes : int
        Memory for the draws that predictions are averaged over, 8n bytes each; by default 64 MB. All draws are kept
        while there is room, so that what makes the gradient more precise makes predictions more precise, too; beyond,
        evenly spread ones, and never fewer than one of each chain.
    """
    n_chains = n_chains or (_N_CHAINS if problem.n >= _SMALL else _N_CHAINS_SMALL)
    precision = precision or Precision()
    if n_chains < 8 or n_chains % 8:
        raise InvalidInputError("n_chains", n_chains, "a positive multiple of 8")
    rng = np.random.default_rng(seed)
    covariance = covariance or problem.undivided_covariance(hyperparameters)
    likelihood = slack.weighted(hyperparameters.C, problem.weights).blurred(covariance.residual)
    near = start if start is None or isinstance(start, Sites) else start.sites
    sites = run_ep(covariance, problem.y, likelihood, start=near).sites
    prior = low_rank_prior(covariance) if isinstance(covariance, LowRankCovariance) else pivoted_gram(covariance.gram)
    reference = gaussian_reference(prior, prior.sites_of_latent(sites))
    target = Target(problem.y, problem.penalties(hyperparameters.C), slack)
    sampler = ReferenceHMC(target, reference, n_chains=n_chains)
    value: EvidenceEstimate | None = None
    if evidence:
        value = estimate_evidence(target, reference, rng, n_chains=n_chains, n_steps=precision.rung_steps)
        state = value.state
    else:
        state = sampler.warm_up(rng, sampler.init(rng))
    n = float(problem.weights.sum())
    controls = ControlVariates(target, reference, Chainwise.of(covariance).offset)
    recorder = GradientRecorder(covariance, target, hyperparameters.C, n, n_chains=n_chains, controls=controls)
    collection = collect(sampler, rng, state, recorder, precision, kept_bytes=kept_bytes)
    posterior = _assemble(problem, hyperparameters, slack, prior, collection, sites, state.step_size)
    if value is None:
        return posterior
    log_kappa = n * slack.log_kappa(hyperparameters.C)
    return replace(
        posterior,
        log_evidence=value.value + log_kappa,
        log_evidence_se=value.standard_error,
        diagnostics={**posterior.diagnostics, "rungs": value.rungs},
    )


def hmc_posterior(
    problem: Problem,
    hyperparameters: Model,
    slack: Slack,
    *,
    seed: int | np.random.Generator = 0,
    n_samples: int = N_SAMPLES,
    n_discarded: int = N_DISCARDED,
    trajectory: float | None = None,
    covariance: DenseCovariance | None = None,
    kept_bytes: int = KEPT_BYTES,
) -> SampledPosterior:
    """Sample with Hybrid Monte Carlo as the paper does: one chain, 20,000 steps discarded and 20,000 made use of.

    Of these, predictions use as many as ``kept_bytes`` have room for: see :func:`sample_posterior`.
    """
    rng = np.random.default_rng(seed)
    covariance = covariance or problem.dense_covariance(hyperparameters)
    target = Target(problem.y, problem.penalties(hyperparameters.C), slack)
    sampler = HMC(target, covariance.gram, trajectory=trajectory, n_discarded=n_discarded)
    state = sampler.warm_up(rng, sampler.init(rng))
    n = float(problem.weights.sum())
    block = max(1, n_samples // _HMC_CELLS)
    recorder = GradientRecorder(covariance, target, hyperparameters.C, n, n_chains=1, block=block)
    fixed = Precision(tolerance=np.inf, min_steps=n_samples, max_steps=n_samples)  # reached when they are made
    collection = collect(sampler, rng, state, recorder, fixed, kept_bytes=kept_bytes)
    prior = pivoted_gram(covariance.gram)
    return _assemble(problem, hyperparameters, slack, prior, collection, None, state.step_size)


def _assemble(
    problem: Problem,
    hyperparameters: Model,
    slack: Slack,
    prior: SampledPrior,
    collection: Collection,
    sites: Sites | None,
    step_size: float,
) -> SampledPosterior:
    steps, chains = collection.acceptance.shape
    gradient = collection.gradient
    return SampledPosterior(
        problem=problem,
        hyperparameters=hyperparameters,
        latent_mean=collection.latent_mean,
        latent_variance=collection.latent_variance,
        gradient=gradient.gradient,
        gradient_se=gradient.standard_error,
        status=_status(collection),
        diagnostics={
            "rhat": collection.rhat,
            "effective_samples": gradient.effective_samples,
            "acceptance": float(collection.acceptance.mean()),
            "leapfrog_steps": collection.mean_leapfrog,
            "step_size": step_size,
            "steps": steps,
            "chains": chains,
            "kept_draws": collection.duals.shape[1],
        },
        slack=slack,
        prior=prior,
        collection=collection,
        sites=sites,
    )


def _status(collection: Collection) -> Status:
    gradient, error = collection.gradient.gradient, collection.gradient.standard_error
    if not np.isfinite(gradient).all():
        return Status(False, "the sampled evidence gradient is not finite: try a smaller C·k0")
    if np.count_nonzero(collection.terms[0]) < _MIN_VIOLATING:  # the paper's section results_gradient_ascent
        return Status(
            False,
            "hardly any draw violates a margin, so that the standard error of the gradient is unknown: C is too large",
        )
    if not collection.rhat <= MAX_RHAT:
        return Status(
            False, f"the chains have not mixed (R-hat {collection.rhat:.2f}): try more steps or a smaller C·k0"
        )
    if not collection.precise:
        steps, norm = len(collection.acceptance), float(np.linalg.norm(error))
        return Status(
            False,
            "the evidence gradient is less precise than requested: its standard error was still "
            f"{norm:.1e} in norm after {steps} steps",
            Code.IMPRECISE,
        )
    return CONVERGED
