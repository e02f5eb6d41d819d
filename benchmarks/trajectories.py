"""The paper's sampler at large C: trajectories of one length, and of a length that falls like 1/C.

    python benchmarks/trajectories.py [--dataset crabs] [--steps 4000]

"Scaling the trajectory length in the HMC runs proportionally to 1/C for large C could avoid" gradients that are
calculated as zero (Gold & Sollich 2003, section "Noise in evidence gradients"), because draws with V(θ) = 0 tell
nothing about the kernel. For several C the table has the share of draws that violate some margin, the number of
effective draws of ∂E/∂ln k0 and its estimate, beside that of the guided sampler. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse

import numpy as np

from marginwise.datasets import load_benchmark
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.run import hmc_posterior, sample_posterior
from marginwise.likelihoods import as_slack
from marginwise.problem import as_problem

#: Time of a trajectory at C = 1.
TRAJECTORY = 0.15


def main():
    """Print a line for each C and length of trajectories."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="crabs")
    parser.add_argument("--steps", type=int, default=4000, help="discarded, and as many made use of")
    parser.add_argument("--k0", type=float, default=1000.0)
    parser.add_argument("--length-scale", type=float, default=6.0)
    arguments = parser.parse_args()
    data = load_benchmark(arguments.dataset)
    problem, slack = as_problem(data.X_train, data.y_train), as_slack("linear")
    print("C", "trajectory", "draws outside V = 0", "effective draws", "gradient in ln k0", "guided", sep="\t")
    for C in (1.0, 5.0, 20.0, 100.0, 500.0):
        h = Hyperparameters(C, arguments.k0, 0.1, np.full(data.n_inputs, arguments.length_scale))
        guided = sample_posterior(problem, h, slack, seed=0)
        for name, length in (("fixed", TRAJECTORY), ("1/C", TRAJECTORY / C)):
            found = hmc_posterior(
                problem, h, slack, seed=0, n_samples=arguments.steps, n_discarded=arguments.steps, trajectory=length
            )
            outside = float(np.mean(found.collection.terms[0] != 0.0))
            effective = float(found.diagnostics["effective_samples"][1])
            numbers = [f"{p.gradient[1]:.5f} ± {p.gradient_se[1]:.5f}" for p in (found, guided)]
            print(f"{C:g}", name, f"{outside:.1%}", f"{effective:.0f}", *numbers, sep="\t", flush=True)


if __name__ == "__main__":
    main()
