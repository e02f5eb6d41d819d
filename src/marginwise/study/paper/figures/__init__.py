"""The paper's figures, drawn from our trials."""

from marginwise.study.paper.figures.errors import Histograms, methods
from marginwise.study.paper.figures.optima import Scans, Spread
from marginwise.study.paper.figures.paths import Shown, paths, shown_paths

__all__ = ["Histograms", "Scans", "Shown", "Spread", "methods", "paths", "shown_paths"]
