"""Evidence gradients from draws of the posterior, eqs. (cgrad) and (lgrad), with standard errors.

With v_i = C_i y_i l_p'(y_iθ_i) and θ̃ = K⁻¹θ, the derivatives of ln Q(Y|X) are posterior means of

    log C:  C ∂ln κ/∂C Σ_i w_i - Σ_i C_i l_p(y_iθ_i)        (cgrad)
    log λ:  -½ vᵀ (∂K/∂log λ) θ̃                             (lgrad)

For log k0 and log koff, ∂K = K - koff 11ᵀ and koff 11ᵀ make this a sum over examples, had for each draw by itself.
For length scales it is the contraction of vθ̃ᵀ with ∂K, whose cost does not depend on the number of draws that vθ̃ᵀ
is summed over; there the draws are summed in cells, of some neighbouring steps of some of the chains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from marginwise import kernel
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.control_variates import ControlVariates
from marginwise.inference.diagnostics import Estimate, estimate_mean
from marginwise.inference.sampler import Draws, Target
from marginwise.problem import Problem

Array = npt.NDArray[np.float64]

#: Chains are shared out among at most this many cells, steps among as many as there are blocks of this length.
_MAX_GROUPS = 8
_BLOCK = 16

#: With fewer cells than this the coefficient of a control variate would be too uncertain.
_MIN_CELLS = 8


@dataclass(frozen=True, eq=False)
class GradientEstimate:
    """Derivatives of E(Y|X) = ln Q(Y|X)/n by the logs of the hyperparameters, their errors and effective draws."""

    gradient: Array
    standard_error: Array
    effective_samples: Array


class GradientRecorder:
    """Collects draws and turns them into the gradient of the log evidence per example.

    ``controls`` reduce the variance; ``block`` is the number of steps that are summed into one cell for the
    length scales, a multiple of which must have been recorded for them to be estimated from all draws.
    """

    def __init__(
        self,
        problem: Problem,
        hyperparameters: Hyperparameters,
        target: Target,
        *,
        n_chains: int,
        controls: ControlVariates | None = None,
        block: int = _BLOCK,
    ) -> None:
        self._problem, self._hyperparameters, self._target = problem, hyperparameters, target
        self._controls, self.block = controls, block
        self._groups = max(k for k in range(1, _MAX_GROUPS + 1) if n_chains % k == 0)
        self._width = n_chains // self._groups
        self._terms: list[Array] = []
        self._chain_controls: list[Array] = []
        self._cells: list[Array] = []
        self._cell_controls: list[Array] = []
        self._duals = self._buffer(target.n)
        if controls is None:
            self._lefts = self._buffer(target.n)
        else:
            self._lefts = self._buffer(2 * target.n)
            self._sums = np.zeros((self._groups, target.n))
            self._constant = -self._contract(controls.constant())

    def record(self, draws: Draws) -> None:
        """Take in the draws of one step."""
        y, penalties, slack = self._target.y[:, None], self._target.penalties[:, None], self._target.slack
        margin = y * draws.latent
        slope = penalties * y * slack.derivative(margin)
        koff = self._hyperparameters.koff
        offset = -0.5 * koff * slope.sum(axis=0) * draws.dual_latent.sum(axis=0)
        virial = -0.5 * np.einsum("ij,ij->j", slope, draws.latent)
        self._terms.append(np.stack([-self._target.penalties @ slack.loss(margin), virial - offset, offset]))
        at = (len(self._terms) - 1) % self.block
        self._store(self._duals, draws.dual_latent, at)
        if self._controls is not None:
            controls = self._controls.at(draws, slope)
            self._chain_controls.append(controls.chains)
            self._sums += controls.dual.reshape(-1, self._groups, self._width).sum(axis=2).T
            slope = np.concatenate([slope, controls.scaled])
        self._store(self._lefts, slope, at)
        if at == self.block - 1:
            self._finish_cells()

    @property
    def terms(self) -> Array:
        """Summands of log C (without κ), log k0 and log koff for each draw, shape (3, steps, chains)."""
        return np.stack(self._terms, axis=1)

    def estimate(self) -> GradientEstimate:
        """Return the gradient from all that was recorded; needs at least one full block."""
        chain_controls = np.stack(self._chain_controls, axis=1) if self._chain_controls else None
        parts: list[Estimate] = [estimate_mean(series, chain_controls) for series in self.terms]
        cells = np.stack(self._cells)
        cell_controls = np.stack(self._cell_controls)[None] if self._cell_controls else None
        for a in range(cells.shape[-1]):
            own = None if cell_controls is None or cells[..., a].size < _MIN_CELLS else cell_controls[..., a]
            parts.append(estimate_mean(cells[..., a], own))
        n, C = float(self._problem.weights.sum()), self._hyperparameters.C
        gradient = np.array([part.value for part in parts]) / n
        gradient[0] += C * self._target.slack.log_kappa_derivative(C)
        return GradientEstimate(
            gradient,
            np.array([part.standard_error for part in parts]) / n,
            np.array([part.effective_samples for part in parts]),
        )

    def _buffer(self, rows: int) -> Array:
        return np.empty((self._groups, rows, self.block, self._width))

    def _store(self, buffer: Array, columns: Array, at: int) -> None:
        buffer[:, :, at] = np.moveaxis(columns.reshape(len(columns), self._groups, self._width), 1, 0)

    def _finish_cells(self) -> None:
        """Turn the buffers into one cell for each group of chains."""
        n, draws = self._target.n, self.block * self._width
        self._cells.append(np.empty((self._groups, len(self._hyperparameters.length_scales))))
        if self._controls is not None:
            self._cell_controls.append(np.empty_like(self._cells[-1]))
        for group in range(self._groups):
            # Σ vθ̃ᵀ, and below it Σ (c∘g)θ̃ᵀ
            outer = self._lefts[group].reshape(-1, draws) @ self._duals[group].reshape(n, draws).T
            self._cells[-1][group] = self._contract(outer[:n]) / draws
            if self._controls is not None:
                outer[n:] += np.outer(self._controls.mean_slope, self._sums[group])
                self._cell_controls[-1][group] = self._constant + self._contract(outer[n:]) / draws
        if self._controls is not None:
            self._sums[:] = 0.0

    def _contract(self, matrix: Array) -> Array:
        """Return -½⟨∂K/∂log l_a, matrix⟩ for each length scale."""
        symmetric = matrix + matrix.T
        symmetric *= -0.25
        return kernel.contract(symmetric, self._target.gram, self._problem.X, self._hyperparameters)[3:]
