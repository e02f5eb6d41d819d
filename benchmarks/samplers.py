"""Samplers of the posterior side by side, on one thread: effective samples of the evidence gradient per second.

    python benchmarks/samplers.py                      all that can be imported, Twonorm, n = 300
    python benchmarks/samplers.py --seconds 20         longer runs
    python benchmarks/samplers.py --slack quadratic --C 4 --k0 600

A method's effective samples per second are σ²/(SE² · CPU seconds): σ² is the posterior variance of a summand of the
gradient, eqs. (cgrad) and (lgrad), and SE the standard error that the method reaches for its mean. They are taken for
log C, log k0, log koff, the sum of all log l_a, log l_1 and log l_2; the least and the median of the six are shown.
Warm-up and the evaluation of summands are not counted for anyone, except in the lines "with control variates", where
everything that makes the estimate is. Peers: BlackJAX's elliptical slice sampler and NUTS (extra "bench"), with the
prior as reference and, to their favour, with expectation propagation's Gaussian.

The second table is what a user waits for: all from the Gram matrix to a gradient whose every component is as precise
as the paper's sampler makes it with its 40,000 steps.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np  # noqa: E402

from marginwise.covariance import DenseCovariance, Sites  # noqa: E402
from marginwise.datasets import load_benchmark  # noqa: E402
from marginwise.hyperparameters import Hyperparameters  # noqa: E402
from marginwise.inference.ep.run import run_ep  # noqa: E402
from marginwise.inference.sampling.collect import Precision  # noqa: E402
from marginwise.inference.sampling.control_variates import ControlVariates  # noqa: E402
from marginwise.inference.sampling.diagnostics import estimate_mean  # noqa: E402
from marginwise.inference.sampling.gradient import GradientRecorder  # noqa: E402
from marginwise.inference.sampling.guided import ReferenceHMC  # noqa: E402
from marginwise.inference.sampling.hmc import HMC  # noqa: E402
from marginwise.inference.sampling.pivoted import PivotedGram, pivoted_gram  # noqa: E402
from marginwise.inference.sampling.reference import GaussianReference, gaussian_reference  # noqa: E402
from marginwise.inference.sampling.run import hmc_posterior, sample_posterior  # noqa: E402
from marginwise.inference.sampling.sampler import Draws, Sampler, Target  # noqa: E402
from marginwise.likelihoods import as_slack  # noqa: E402
from marginwise.problem import Problem, as_problem  # noqa: E402

NAMES = ("log C", "log k0", "log koff", "sum log l", "log l_1", "log l_2")

#: The goals of this benchmark: times the paper's sampler, times each peer, and seconds to the paper's precision.
GOAL_PAPER, GOAL_PEER, GOAL_SECONDS = 20.0, 3.0, 3.0


@dataclass(frozen=True, eq=False)
class Case:
    """A posterior, what is needed of it, and the matrices ∂K/∂log λ of the compared components."""

    problem: Problem
    hyperparameters: Hyperparameters
    target: Target
    covariance: DenseCovariance
    prior: PivotedGram
    reference: GaussianReference
    derivatives: tuple[np.ndarray, ...]

    def summands(self, draws: Draws) -> np.ndarray:
        """Return the summands of the six components, shape (6, chains)."""
        t = self.target
        margin = t.y[:, None] * draws.latent
        slope = t.penalties[:, None] * t.y[:, None] * t.slack.derivative(margin)
        rows = [-(t.penalties @ t.slack.loss(margin))]
        rows += [-0.5 * np.einsum("ij,ij->j", slope, D @ draws.dual_latent) for D in self.derivatives]
        return np.array(rows)


def make_case(args: argparse.Namespace) -> Case:
    """Return the posterior on the benchmark's training set."""
    data = load_benchmark(args.dataset)
    problem = as_problem(data.X_train, data.y_train)
    d = problem.X.shape[1]
    h = Hyperparameters(args.C, args.k0, args.koff, np.full(d, args.length_scale))
    slack = as_slack(args.slack)
    covariance = problem.dense_covariance(h)
    gram = covariance.gram
    ep = run_ep(covariance, problem.y, as_slack(slack).weighted(h.C, problem.weights))
    prior = pivoted_gram(gram)
    rbf = gram - h.koff
    scales = [rbf * (problem.X[:, [a]] - problem.X[:, a]) ** 2 / h.length_scales[a] ** 2 for a in range(d)]
    return Case(
        problem,
        h,
        Target(problem.y, problem.penalties(h.C), slack),
        covariance,
        prior,
        gaussian_reference(prior, Sites(ep.tau, ep.nu)),
        (rbf, np.full_like(gram, h.koff), np.sum(scales, axis=0), scales[0], scales[1]),
    )


@dataclass(frozen=True, eq=False)
class Run:
    """Summands of all draws, shape (6, steps, chains), and the CPU time of the steps that made them."""

    series: np.ndarray
    seconds: float


def run_ours(case: Case, sampler: Sampler, seconds: float, seed: int = 1) -> Run:
    """Run one of the library's samplers for so many seconds."""
    rng = np.random.default_rng(seed)
    state = sampler.warm_up(rng, sampler.init(rng))
    used, rows = 0.0, []
    while used < seconds:
        begin = time.process_time()
        state, _ = sampler.step(rng, state)
        used += time.process_time() - begin
        rows.append(case.summands(sampler.draws(state)))
    return Run(np.stack(rows, axis=1), used)


def run_blackjax(case: Case, seconds: float, n_chains: int, kind: str, guided: bool) -> Run:
    """Run a sampler of BlackJAX on whitened coordinates z, θ = m + Fz, or on θ itself for the slice sampler."""
    import blackjax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    t, r = case.target, case.reference
    if not guided:
        zero = np.zeros(t.n)
        r = gaussian_reference(case.prior, Sites(zero, zero))
    y, C, F, mean = (jnp.asarray(a) for a in (t.y, t.penalties, r.factor, r.mean))
    tau, b = jnp.asarray(r.tau), jnp.asarray(r.dual_mean)

    def log_likelihood(x):  # of θ = m + x, with respect to the reference
        gap = jnp.maximum(1.0 - y * (mean + x), 0.0)
        return -jnp.sum(C * (gap if t.slack.power == 1 else 0.5 * gap**2) - 0.5 * tau * x**2 + b * x)

    def log_density(z):
        return log_likelihood(F @ z) - 0.5 * z @ z

    key = jax.random.key(0)
    start = jax.random.normal(jax.random.key(1), (n_chains, F.shape[1]))
    if kind == "slice":
        algorithm = blackjax.elliptical_slice(log_likelihood, mean=jnp.zeros(t.n), cov=F @ F.T)
        states = jax.vmap(algorithm.init)(start @ F.T)
    else:
        warm_up = blackjax.window_adaptation(blackjax.nuts, log_density, target_acceptance_rate=0.8)
        (state, parameters), _ = jax.jit(warm_up.run, static_argnums=2)(key, start[0], 1000)
        algorithm = blackjax.nuts(log_density, **parameters)
        states = jax.vmap(algorithm.init)(state.position + 0.0 * start)

    block = 50 if kind == "slice" else 5

    @jax.jit
    def advance(keys, states):
        def one(states, key):
            states, _ = jax.vmap(algorithm.step)(jax.random.split(key, n_chains), states)
            return states, states.position

        return jax.lax.scan(one, states, keys)

    keys = iter(jax.random.split(key, 100_000))

    def block_of_steps(states):
        states, positions = advance(jnp.stack([next(keys) for _ in range(block)]), states)
        return states, np.asarray(positions)

    begin = time.process_time()
    states, _ = block_of_steps(states)  # compiled here
    while time.process_time() - begin < 0.3 * seconds:
        states, _ = block_of_steps(states)  # warm-up
    used, rows = 0.0, []
    while used < seconds:
        begin = time.process_time()
        states, positions = block_of_steps(states)
        used += time.process_time() - begin
        for place in positions:  # (chains, n)
            x = place.T if kind == "slice" else np.asarray(F) @ place.T
            rows.append(case.summands(Draws(r.mean[:, None] + x, r.dual(x))))
    return Run(np.stack(rows, axis=1), used)


def controlled(case: Case, seconds: float) -> tuple[np.ndarray, float]:
    """Return the standard errors of log C, log k0, log koff, log l_1, log l_2 with everything that makes them."""
    sampler = ReferenceHMC(case.target, case.reference)
    rng = np.random.default_rng(1)
    state = sampler.warm_up(rng, sampler.init(rng))
    controls = ControlVariates(case.target, case.reference, case.hyperparameters.koff)
    C, n = case.hyperparameters.C, case.problem.n
    recorder = GradientRecorder(case.covariance, case.target, C, n, n_chains=64, controls=controls)
    begin = time.process_time()
    while time.process_time() - begin < seconds:
        for _ in range(recorder.block):
            state, _ = sampler.step(rng, state)
            recorder.record(sampler.draws(state))
    error = recorder.estimate().standard_error * case.problem.n
    return error[[0, 1, 2, 3, 4]], time.process_time() - begin


def methods(case: Case, seconds: float) -> Iterator[tuple[str, Callable[[], Run]]]:
    """Yield each method's name and what runs it."""
    yield "sample (default)", lambda: run_ours(case, ReferenceHMC(case.target, case.reference), seconds)
    yield "hmc (the paper's)", lambda: run_ours(case, HMC(case.target, case.covariance.gram, n_discarded=5000), seconds)
    try:
        import blackjax  # noqa: F401
    except ImportError:
        print("BlackJAX is missing (pip install marginwise[bench]): its samplers are left out.\n")
        return
    for kind, chains in (("slice", 32), ("slice", 1), ("nuts", 1), ("nuts", 8)):
        for guided in (False, True):
            name = {"slice": "BlackJAX elliptical slice", "nuts": "BlackJAX NUTS"}[kind]
            reference = "EP reference" if guided else "prior"
            yield (
                f"{name}, {reference}, {chains} chain{'s' * (chains > 1)}",
                lambda k=kind, c=chains, g=guided: run_blackjax(case, seconds, c, k, g),
            )


def show(name: str, rate: np.ndarray, z: float | None) -> None:
    """Print a line of the table; a component that is not there is NaN."""
    cells = [np.nanmin(rate), np.nanmedian(rate), *rate]
    text = " | ".join("–" if np.isnan(r) else f"{r:.0f}" for r in cells)
    print(f"| {name} | {text} | {'–' if z is None else f'{z:.1f}'} |", flush=True)


def compare(case: Case, seconds: float) -> None:
    """Print effective samples per second of every method, and how far its means are from an independent run's."""
    reference = run_ours(case, ReferenceHMC(case.target, case.reference, n_chains=128), 2 * seconds, seed=7)
    variance = reference.series.var(axis=(1, 2))
    exact = [estimate_mean(series) for series in reference.series]
    print("| method | least | median | " + " | ".join(NAMES) + " | largest z |")
    print("|---|" + "---|" * (len(NAMES) + 3))
    rates: dict[str, np.ndarray] = {}
    for name, run in methods(case, seconds):
        result = run()
        own = [estimate_mean(series) for series in result.series]
        rates[name] = variance / (np.array([e.standard_error for e in own]) ** 2 * result.seconds)
        z = [
            (e.value - x.value) / np.hypot(e.standard_error, x.standard_error) for e, x in zip(own, exact, strict=True)
        ]
        show(name, rates[name], np.abs(z).max())
    error, used = controlled(case, seconds)
    delivered = np.insert(variance[[0, 1, 2, 4, 5]] / (error**2 * used), 3, np.nan)
    show("sample with control variates, all included", delivered, None)

    print(
        "\n| default over | least, draws | least, all included | median, all included | goal |\n|---|---|---|---|---|"
    )
    ours = rates.pop("sample (default)")
    for name, rate in rates.items():
        goal = GOAL_PAPER if name.startswith("hmc") else GOAL_PEER
        ratios = (ours.min() / rate.min(), np.nanmin(delivered) / rate.min(), np.nanmedian(delivered) / np.median(rate))
        print(f"| {name} | " + " | ".join(f"{r:.1f}" for r in ratios) + f" | {goal:g} |")


def precision(case: Case) -> None:
    """Print the time that the paper's sampler takes for its 40,000 steps, and the default one for its precision."""
    begin = time.process_time()
    papers = hmc_posterior(case.problem, case.hyperparameters, case.target.slack)
    seconds = time.process_time() - begin
    assert papers.gradient_se is not None
    begin = time.process_time()
    ours = sample_posterior(
        case.problem, case.hyperparameters, case.target.slack, precision=Precision(tolerance=papers.gradient_se)
    )
    own = time.process_time() - begin
    z = (ours.gradient - papers.gradient) / np.hypot(ours.gradient_se, papers.gradient_se)
    print(
        f"\nThe paper's 40,000 steps: {seconds:.1f} s. The same precision of all {len(z)} components by the default "
        f"sampler: {own:.2f} s (goal {GOAL_SECONDS:g} s), {ours.diagnostics['steps']} steps of "
        f"{ours.diagnostics['chains']} chains, reached: {ours.collection.precise}; "
        f"largest SE ratio {np.max(ours.gradient_se / papers.gradient_se):.2f}; rms z {np.sqrt(np.mean(z**2)):.2f}"
    )


def main() -> None:
    """Parse the command line and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="twonorm")
    parser.add_argument("--slack", default="linear")
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--k0", type=float, default=180.0)
    parser.add_argument("--koff", type=float, default=0.03)
    parser.add_argument("--length-scale", type=float, default=6.0)
    parser.add_argument("--seconds", type=float, default=10.0, help="CPU time of each run")
    args = parser.parse_args()
    case = make_case(args)
    sample_posterior(case.problem, case.hyperparameters, case.target.slack)  # compiles everything once
    compare(case, args.seconds)
    precision(case)


if __name__ == "__main__":
    main()
