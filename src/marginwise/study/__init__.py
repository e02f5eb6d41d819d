"""Studies: many trials of any methods on any data sets, kept in a store that survives any interruption.

The study of one paper, with its methods and published numbers, is in ``marginwise.study.paper``.
"""

from marginwise.study.data import BenchmarkSource, Source, TableSource, benchmarks, tables
from marginwise.study.judge import Judge
from marginwise.study.plan import Effort, Method, Plan, Trial
from marginwise.study.record import Outcome, TrialRow
from marginwise.study.runner import RunSummary, run_study
from marginwise.study.searches import Newton, Walk, search_on
from marginwise.study.store import Store, open_store

__all__ = [
    "BenchmarkSource",
    "Effort",
    "Judge",
    "Method",
    "Newton",
    "Outcome",
    "Plan",
    "RunSummary",
    "Source",
    "Store",
    "TableSource",
    "Trial",
    "TrialRow",
    "Walk",
    "benchmarks",
    "open_store",
    "run_study",
    "search_on",
    "tables",
]
