"""The paper's sampler starts with as much energy as it keeps: its draws of momenta would take for ever to supply it."""

from __future__ import annotations

import numpy as np

import zoo
from known_laws import target_of
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sampling.hmc import HMC
from marginwise.likelihoods import LINEAR


def test_energy_is_right_from_the_start_in_every_direction() -> None:
    target = target_of(zoo.blobs(30, 2), Hyperparameters(1.0, 10.0, 0.1, 2.0), LINEAR)
    eigenvalues, vectors = np.linalg.eigh(target.gram)
    assert eigenvalues[0] < 1e-6 * eigenvalues[-1]  # what single momenta renew once in a million steps
    sampler = HMC(target, target.gram, n_discarded=50)
    kinetic = np.zeros(30)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        state = sampler.warm_up(rng, sampler.init(rng))
        np.testing.assert_allclose(state.latent, target.gram @ state.dual_latent, atol=1e-6)
        np.testing.assert_allclose(state.velocity, target.gram @ state.momentum, atol=1e-6)
        kinetic += eigenvalues * (vectors.T @ state.momentum) ** 2 / 60
    # Each is the mean of 60 squares of normal numbers, with a standard error of 0.18; that of ten is 0.06.
    for tenths in kinetic.reshape(3, 10):
        assert abs(tenths.mean() - 1.0) < 0.25
