"""scikit-learn estimators."""

from marginwise.estimators.margin_svc import MarginSVC
from marginwise.estimators.tuned_svc import TunedSVC

__all__ = ["MarginSVC", "TunedSVC"]
