"""Shapley values of sums over points, exact: what each column contributes to a latent function."""

from marginwise.shapley.expansion import Contributions, Expansion, contributions

__all__ = ["Contributions", "Expansion", "contributions"]
