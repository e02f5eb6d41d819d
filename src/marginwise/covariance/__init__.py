"""The covariance of the latent values at the rows of a table: dense, of low rank, local, or row by row on demand."""

from marginwise.covariance.base import Covariance, ExpandingCovariance, RowCovariance, SiteCovariance
from marginwise.covariance.blocks import as_blocks
from marginwise.covariance.dense import DenseCovariance
from marginwise.covariance.gaussian import ExpandingGaussian, SiteGaussian, Sites
from marginwise.covariance.inducing import choose_inducing
from marginwise.covariance.local import LocalCovariance
from marginwise.covariance.local_gaussian import LocalGaussian
from marginwise.covariance.low_rank import LowRankCovariance
from marginwise.covariance.low_rank_gaussian import LowRankGaussian
from marginwise.covariance.on_demand import OnDemandCovariance
from marginwise.covariance.partition import Partition

__all__ = [
    "Covariance",
    "DenseCovariance",
    "ExpandingCovariance",
    "ExpandingGaussian",
    "LocalCovariance",
    "LocalGaussian",
    "LowRankCovariance",
    "LowRankGaussian",
    "OnDemandCovariance",
    "Partition",
    "RowCovariance",
    "SiteCovariance",
    "SiteGaussian",
    "Sites",
    "as_blocks",
    "choose_inducing",
]
