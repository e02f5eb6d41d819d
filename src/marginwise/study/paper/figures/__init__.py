"""The paper's figures, drawn from our trials."""

from marginwise.study.paper.figures.errors import Histograms, methods
from marginwise.study.paper.figures.optima import Scans, Spread
from marginwise.study.paper.figures.paths import PATHS, typical

__all__ = ["PATHS", "Histograms", "Scans", "Spread", "methods", "typical"]
