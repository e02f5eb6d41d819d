"""Gram matrices of low rank plus a diagonal, in blocks of rows: here, or where the rows are."""

from marginwise.lowrank.blocks import as_blocks
from marginwise.lowrank.features import LowRankGram
from marginwise.lowrank.inducing import choose_inducing

__all__ = ["LowRankGram", "as_blocks", "choose_inducing"]
