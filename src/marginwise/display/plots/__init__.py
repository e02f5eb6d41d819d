"""Pictures of models and searches: displays in the style of scikit-learn, computed first and drawn by ``plot``."""

from marginwise.display.plots.boundary import BoundaryDisplay
from marginwise.display.plots.contributions import BeeswarmDisplay, DependenceDisplay, WaterfallDisplay
from marginwise.display.plots.effect import EffectDisplay
from marginwise.display.plots.line import LineDisplay
from marginwise.display.plots.relevance import RelevanceDisplay
from marginwise.display.plots.reliability import ReliabilityDisplay
from marginwise.display.plots.shares import TermSharesDisplay
from marginwise.display.plots.trace import TraceDisplay

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
