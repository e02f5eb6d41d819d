"""A member of an ensemble."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from marginwise._arrays import Array
from marginwise._summary import summary
from marginwise.covariance.partition import Partition
from marginwise.fitting.candidates import Candidate
from marginwise.fitting.labels import Scale
from marginwise.fitting.views import View
from marginwise.inference.prediction import Predictor
from marginwise.model import Model
from marginwise.search.trace import Tuning


@dataclass(frozen=True, eq=False)
class Member:
    """A model of an ensemble: a candidate, the search that found it, and what training leaves.

    Attributes
    ----------
    candidate : Candidate
        What it is one of.
    weight : float
        Its weight in the ensemble.
    tuning : Tuning
        The search that found it.
    scale : Scale
        The scale of its labels.
    view : View or None
        How it sees the inputs, None for as they are.
    stored : tuple of arrays
        What its predictor is made of again, from the rows of the ensemble.
    few_points : Predictor or None
        The predictor itself, where it is a sum over inducing inputs.
    inducing, partition : array of shape (m, d), Partition, or None
        Inducing inputs and blocks, where the covariance is local.
    log_evidence : float
        ln Q(Y|X) by expectation propagation, NaN for other label models.
    """

    candidate: Candidate
    weight: float
    tuning: Tuning
    scale: Scale = field(default_factory=Scale)
    view: View | None = None
    stored: tuple[Array, ...] = ()
    few_points: Predictor | None = None
    log_evidence: float = np.nan
    inducing: Array | None = None
    partition: Partition | None = None

    def __repr__(self) -> str:
        return summary(self, "weight", "spread", "labels", "hyperparameters", "log_evidence")

    @property
    def hyperparameters(self) -> Model:
        """Those that it predicts with: as found, without terms that carry nothing, at the scale of its labels."""
        return self.scale(self.tuning.hyperparameters.pruned())

    @property
    def spread(self) -> float:
        """Prior standard deviation of the length scales' log ratios."""
        return self.candidate.spread

    @property
    def labels(self) -> str:
        """The name of its label model."""
        return self.candidate.labels.name

    def inputs(self, X: Array) -> Array:
        """Return what it sees of rows."""
        return X if self.view is None else self.view(X)

    def length_scales(self, n_inputs: int) -> Array:
        """Return the length scale of each input; infinite for those that it does not see."""
        if self.view is None:
            return self.hyperparameters.kernel.lengths(n_inputs)
        whole = np.full(n_inputs, np.inf)
        own = self.hyperparameters.kernel.lengths(len(self.view.inputs))
        whole[self.view.inputs] = own / self.view.scales
        return whole
