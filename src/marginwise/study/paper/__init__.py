"""The study of Gold & Sollich (2003): its methods and plans, published numbers, claims, tables and figures."""

from marginwise.study.paper.methods import METHODS, methods
from marginwise.study.paper.plan import OWN_METHODS, own_plan, paper_plan, quick_plan, sensitivity_plan

__all__ = ["METHODS", "OWN_METHODS", "methods", "own_plan", "paper_plan", "quick_plan", "sensitivity_plan"]
