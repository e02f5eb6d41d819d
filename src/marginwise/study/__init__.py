"""Studies: many trials of many methods on the benchmark sets, kept in a store that survives any interruption."""

from marginwise.study.plan import Effort, Plan, Trial, paper_plan, quick_plan
from marginwise.study.trial import method_names
from marginwise.study.runner import Summary, run_study
from marginwise.study.store import Store, TrialRow, open_store

__all__ = [
    "Effort",
    "Plan",
    "Store",
    "Summary",
    "Trial",
    "TrialRow",
    "method_names",
    "open_store",
    "paper_plan",
    "quick_plan",
    "run_study",
]
