"""The distribution of the latent function given the data: approximations and samples."""

from marginwise.inference.api import METHODS, posterior
from marginwise.inference.collect import Precision
from marginwise.inference.contract import Posterior

__all__ = ["METHODS", "Posterior", "Precision", "posterior"]
