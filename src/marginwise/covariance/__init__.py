"""The covariance of the latent values at the rows of a table: dense, of low rank, or row by row on demand."""

from marginwise.covariance.base import Covariance, RowCovariance, SiteCovariance
from marginwise.covariance.blocks import as_blocks
from marginwise.covariance.dense import DenseCovariance
from marginwise.covariance.gaussian import SiteGaussian, Sites
from marginwise.covariance.inducing import choose_inducing
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.covariance.low_rank_gaussian import LowRankGaussian
from marginwise.covariance.on_demand import OnDemandCovariance

__all__ = [
    "Covariance",
    "DenseCovariance",
    "LowRankCovariance",
    "LowRankGaussian",
    "OnDemandCovariance",
    "RowCovariance",
    "SiteCovariance",
    "SiteGaussian",
    "Sites",
    "as_blocks",
    "choose_inducing",
]
