"""The distribution of the latent function given the data: approximations and samples."""

from marginwise.posterior.api import METHODS, posterior
from marginwise.posterior.contract import Posterior

__all__ = ["METHODS", "Posterior", "posterior"]
