"""Figures of models and searches: displays in the style of scikit-learn, computed first and drawn by ``plot``."""

from marginwise.plots.boundary import BoundaryDisplay
from marginwise.plots.contributions import BeeswarmDisplay, DependenceDisplay, WaterfallDisplay
from marginwise.plots.effect import EffectDisplay
from marginwise.plots.line import LineDisplay
from marginwise.plots.relevance import RelevanceDisplay
from marginwise.plots.reliability import ReliabilityDisplay
from marginwise.plots.shares import TermSharesDisplay
from marginwise.plots.trace import TraceDisplay

__all__ = [
    "BeeswarmDisplay",
    "BoundaryDisplay",
    "DependenceDisplay",
    "EffectDisplay",
    "LineDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "TermSharesDisplay",
    "TraceDisplay",
    "WaterfallDisplay",
]
