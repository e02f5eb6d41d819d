"""Likelihoods of Gaussian process classifiers, and those of slacks divided by their sum over the two labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marginwise._arrays import Array
from marginwise.likelihoods.base import Likelihood, Moments
from marginwise.likelihoods.quadrature import LOGISTIC, PROBIT, fill_by_quadrature
from marginwise.likelihoods.slack import LINEAR, Slack


class _ByQuadrature(Likelihood):
    """A likelihood whose moments are integrals, computed by quadrature; ``kind`` is its number in compiled code."""

    kind: int

    def tilted(self, f: Array, v: Array, C: float, weights: Array) -> Moments:
        """Return ln Z and its derivatives."""
        return self._moments(f, v, C, weights, True)

    def expected(self, f: Array, v: Array, C: float, weights: Array) -> Moments:
        """Return E[w ln t] and its derivatives."""
        return self._moments(f, v, C, weights, False)

    def _moments(self, f: Array, v: Array, C: float, weights: Array, tilted: bool) -> Moments:
        out = np.empty((9, len(f)))
        fill_by_quadrature(self.kind, f, v, C if self.has_penalty else 1.0, weights, tilted, out)
        return Moments(*out)


@dataclass(frozen=True)
class Probit(_ByQuadrature):
    """Φ(f), the normal distribution function: normal noise on the latent value.

    Examples
    --------
    >>> from marginwise import Hyperparameters, posterior
    >>> posterior([[0.0], [2.0]], [-1, 1], Hyperparameters(), Probit()).predict_proba([[1.5]]).round(2)
    array([[0.4, 0.6]])
    """

    name = "probit"
    has_penalty = False
    kind = PROBIT


@dataclass(frozen=True)
class Logistic(_ByQuadrature):
    """1/(1 + e^{-f}).

    Examples
    --------
    >>> from marginwise import Hyperparameters, posterior
    >>> posterior([[0.0], [2.0]], [-1, 1], Hyperparameters(), Logistic()).predict_proba([[1.5]]).round(2)
    array([[0.45, 0.55]])
    """

    name = "logistic"
    has_penalty = False
    kind = LOGISTIC


@dataclass(frozen=True)
class Normalised(_ByQuadrature):
    """t(f)/[t(f) + t(-f)] with t(f) = exp[-C l_p(f)]: the likelihood of a slack, divided by its sum over the labels.

    Parameters
    ----------
    slack : Slack, default=LINEAR
        The slack.

    Examples
    --------
    >>> from marginwise import Hyperparameters, posterior
    >>> posterior([[0.0], [2.0]], [-1, 1], Hyperparameters(), Normalised()).predict_proba([[1.5]]).round(2)
    array([[0.39, 0.61]])
    """

    slack: Slack = LINEAR

    @property
    def name(self) -> str:  # type: ignore[override]
        """That of the slack, with a prefix."""
        return f"normalised-{self.slack.name}"

    @property
    def kind(self) -> int:  # type: ignore[override]
        """That of the slack."""
        return self.slack.power
