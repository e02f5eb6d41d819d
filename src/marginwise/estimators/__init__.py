"""scikit-learn estimators."""

from marginwise.estimators.margin_svc import MarginSVC

__all__ = ["MarginSVC"]
