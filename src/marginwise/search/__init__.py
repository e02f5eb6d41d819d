"""Searches: they move the hyperparameters until a criterion stops improving."""

from marginwise.search.base import Point, Search, Space, Step
from marginwise.search.driver import drive
from marginwise.search.gradient_ascent import GradientAscent
from marginwise.search.held_out import HeldOut
from marginwise.search.line import LineScan
from marginwise.search.nelder_mead import NelderMead
from marginwise.search.objective import Objective
from marginwise.search.quasi_newton import QuasiNewton
from marginwise.search.random_walk import RandomWalk
from marginwise.search.registry import SEARCHES, as_search
from marginwise.search.task import Limits, Task
from marginwise.search.trace import Callback, Record, Trace, Tuning

__all__ = [
    "SEARCHES",
    "Callback",
    "GradientAscent",
    "HeldOut",
    "Limits",
    "LineScan",
    "NelderMead",
    "Objective",
    "Point",
    "QuasiNewton",
    "RandomWalk",
    "Record",
    "Search",
    "Space",
    "Step",
    "Task",
    "Trace",
    "Tuning",
    "as_search",
    "drive",
]
