"""Pictures of models and searches: displays in the style of scikit-learn, computed first and drawn by ``plot``."""

from marginwise.display.plots import *  # noqa: F403
from marginwise.display.plots import __all__ as __all__
