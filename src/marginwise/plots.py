"""Pictures of models and searches: displays in the style of scikit-learn, computed first and drawn by ``plot``."""

from marginwise.display.plots import (
    BoundaryDisplay,
    LineDisplay,
    RelevanceDisplay,
    ReliabilityDisplay,
    TermSharesDisplay,
    TraceDisplay,
)

__all__ = [
    "BoundaryDisplay",
    "LineDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "TermSharesDisplay",
    "TraceDisplay",
]
