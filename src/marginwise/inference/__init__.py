"""The distribution of the latent function given the data: approximations and samples."""

from marginwise.inference.api import METHODS, posterior
from marginwise.inference.base import Posterior
from marginwise.inference.sampling.collect import Precision

__all__ = ["METHODS", "Posterior", "Precision", "posterior"]
