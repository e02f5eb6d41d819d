"""Evidence gradients from draws of the posterior, eqs. (cgrad) and (lgrad), with standard errors.

With v_i = C_i y_i l_p'(y_iθ_i) and θ̃ = K⁻¹θ, the derivatives of ln Q(Y|X) are posterior means of

    log C:  C ∂ln κ/∂C Σ_i w_i - Σ_i C_i l_p(y_iθ_i)        (cgrad)
    log λ:  -½ vᵀ (∂K/∂log λ) θ̃                             (lgrad)

For the offset koff, ∂K = koff 11ᵀ makes this a sum over examples, computed for each draw alone; and so it is for the
amplitude k0 of all the rest, ∂K = K - koff 11ᵀ (not for a K of low rank, which has the constant in its features, too).
For other hyperparameters it is the contraction of vθ̃ᵀ with ∂K, whose cost does not depend on the number of draws that
vθ̃ᵀ is summed over; there the draws are summed in cells, of some neighbouring steps of some of the chains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.dense import DenseCovariance
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.inference.sampling.control_variates import ControlVariates
from marginwise.inference.sampling.diagnostics import Estimate, estimate_mean
from marginwise.inference.sampling.sampler import Draws, Target
from marginwise.kernels.constant import Constant

#: Chains are shared out among at most this many cells, steps among as many as there are blocks of this length.
_MAX_GROUPS = 8
_BLOCK = 16
#: Bytes that the draws of a block may take before they are summed; with very many rows blocks are shorter.
_BLOCK_BYTES = 2**28

#: With fewer cells than this the coefficient of a control variate would be too uncertain.
_MIN_CELLS = 8


@dataclass(frozen=True, eq=False)
class GradientEstimate:
    """Derivatives of E(Y|X) = ln Q(Y|X)/n by the logs of the hyperparameters, their errors and effective draws."""

    gradient: Array
    standard_error: Array
    effective_samples: Array


@dataclass(frozen=True)
class Chainwise:
    """What is computed draw by draw: the summands of log C, of the kernel without its offset, and of the offset if any.

    Attributes
    ----------
    offset : float
        The constant term of the kernel, 0 if there is none.
    names : tuple of str
        What the summands belong to.
    places : tuple of (int, int)
        Places among the kernel's hyperparameters, and among the summands, of those that are computed so.
    """

    offset: float
    names: tuple[str, ...]
    places: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, covariance: DenseCovariance | LowRankCovariance) -> Chainwise:
        """Return what can be computed so for this covariance."""
        if isinstance(covariance, LowRankCovariance):
            return cls(0.0, ("log_C", "rest"), ())
        kernel = covariance.kernel
        offsets = [t for t, term in enumerate(kernel.terms) if isinstance(term, Constant)]
        rest = [t for t, term in enumerate(kernel.terms) if not isinstance(term, Constant)]
        alone = np.cumsum([0, *(sum(not h.per_input for h in term.hyperparameters) for term in kernel.terms)])
        names, places, offset = ["log_C", "rest"], [], 0.0
        if len(rest) == 1 and kernel.terms[rest[0]].has_amplitude and len(offsets) <= 1:
            places.append((int(alone[rest[0]]), 1))
            names[1] = f"log_{kernel.names[alone[rest[0]]]}"
        if len(offsets) == 1:
            place = int(alone[offsets[0]])
            places.append((place, 2))
            names.append(f"log_{kernel.names[place]}")
            offset = float(kernel.values[place])
        return cls(offset, tuple(names), tuple(places))


class GradientRecorder:
    """Collects draws and turns them into the gradient of the log evidence per example.

    ``n`` is the sum of the weights. ``controls`` reduce the variance; ``block`` is the number of steps that are summed
    into one cell, a multiple of which must have been recorded for all hyperparameters to be estimated from all draws.
    """

    def __init__(
        self,
        covariance: DenseCovariance | LowRankCovariance,
        target: Target,
        C: float,
        n: float,
        *,
        n_chains: int,
        controls: ControlVariates | None = None,
        block: int | None = None,
    ) -> None:
        self._covariance, self._target, self._C, self._n = covariance, target, C, n
        usual = min(_BLOCK, max(1, _BLOCK_BYTES // (3 * 8 * target.n * n_chains)))  # v, c∘g and θ̃
        self._controls, self.block = controls, block or usual
        self._chainwise = Chainwise.of(covariance)
        self._size = len(covariance.kernel.values)
        taken = [place for place, _ in self._chainwise.places]
        self._in_cells = np.setdiff1d(np.arange(self._size), taken)
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
            self._constant = -self._contract(*controls.constant())

    def record(self, draws: Draws) -> None:
        """Take in the draws of one step."""
        y, penalties, slack = self._target.y[:, None], self._target.penalties[:, None], self._target.slack
        margin = y * draws.latent
        slope = penalties * y * slack.derivative(margin)
        offset = -0.5 * self._chainwise.offset * slope.sum(axis=0) * draws.dual_latent.sum(axis=0)
        virial = -0.5 * np.einsum("ij,ij->j", slope, draws.latent)
        terms = [-self._target.penalties @ slack.loss(margin), virial - offset, offset]
        self._terms.append(np.array(terms[: len(self._chainwise.names)]))
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
    def names(self) -> tuple[str, ...]:
        """What the terms belong to."""
        return self._chainwise.names

    @property
    def terms(self) -> Array:
        """The summands that are computed draw by draw (log C without κ), shape (2 or 3, steps, chains)."""
        return np.stack(self._terms, axis=1)

    def estimate(self) -> GradientEstimate:
        """Return the gradient from all that was recorded; needs at least one full block."""
        chain_controls = np.stack(self._chain_controls, axis=1) if self._chain_controls else None
        chainwise = [estimate_mean(series, chain_controls) for series in self.terms]
        parts: list[Estimate] = [chainwise[0]] * (1 + self._size)
        for place, term in self._chainwise.places:
            parts[1 + place] = chainwise[term]
        cells = np.stack(self._cells)
        cell_controls = np.stack(self._cell_controls)[None] if self._cell_controls else None
        for a, place in enumerate(self._in_cells):
            own = None if cell_controls is None or cells[..., a].size < _MIN_CELLS else cell_controls[..., a]
            parts[1 + place] = estimate_mean(cells[..., a], own)
        gradient = np.array([part.value for part in parts]) / self._n
        gradient[0] += self._C * self._target.slack.log_kappa_derivative(self._C)
        return GradientEstimate(
            gradient,
            np.array([part.standard_error for part in parts]) / self._n,
            np.array([part.effective_samples for part in parts]),
        )

    def _buffer(self, rows: int) -> Array:
        return np.empty((self._groups, rows, self.block, self._width))

    def _store(self, buffer: Array, columns: Array, at: int) -> None:
        buffer[:, :, at] = columns.reshape(len(columns), self._groups, self._width).transpose(1, 0, 2)

    def _finish_cells(self) -> None:
        """Turn the buffers into one cell for each group of chains."""
        n, draws = self._target.n, self.block * self._width
        self._cells.append(np.empty((self._groups, len(self._in_cells))))
        if self._controls is not None:
            self._cell_controls.append(np.empty_like(self._cells[-1]))
        for group in range(self._groups):
            lefts, duals = self._lefts[group].reshape(-1, draws), self._duals[group].reshape(n, draws)
            self._cells[-1][group] = self._contract(lefts[:n], duals) / draws  # Σ vθ̃ᵀ
            if self._controls is not None:  # Σ (c∘g)θ̃ᵀ + E[v](Σ K⁻¹g)ᵀ
                left = np.column_stack([lefts[n:], self._controls.mean_slope])
                right = np.column_stack([duals, self._sums[group]])
                self._cell_controls[-1][group] = self._constant + self._contract(left, right) / draws
        if self._controls is not None:
            self._sums[:] = 0.0

    def _contract(self, left: Array, right: Array, diagonal: Array | None = None) -> Array:
        """Return -½⟨∂K/∂log h, left rightᵀ + diag⟩ for each hyperparameter that is estimated from cells."""
        return -0.5 * self._covariance.contract_product(left, right, diagonal)[self._in_cells]
