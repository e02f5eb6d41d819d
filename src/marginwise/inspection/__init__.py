"""What a fitted model says of its table: scores by class, labels that may be wrong, effects of columns."""

from __future__ import annotations

from marginwise.estimators._effects import Effect
from marginwise.estimators._explanation import Explanation
from marginwise.fitting.doubt import Doubt
from marginwise.fitting.novelty import Novelty
from marginwise.inspection.effects import effect
from marginwise.inspection.explaining import explain
from marginwise.inspection.held_out import ClassScores, HeldOutReport, Mistake, held_out_report
from marginwise.inspection.labels import DoubtfulRow, expected_label_issues, label_issues, uncertain_rows
from marginwise.inspection.ordered import OrderScores, order_scores
from marginwise.inspection.permutation import permutation_effects
from marginwise.inspection.relevances import RelevanceIntervals, relevance_intervals
from marginwise.inspection.thresholds import OperatingPoint, Proportion, operating_points

__all__ = [
    "ClassScores",
    "Doubt",
    "DoubtfulRow",
    "Effect",
    "Explanation",
    "HeldOutReport",
    "Mistake",
    "Novelty",
    "OperatingPoint",
    "OrderScores",
    "Proportion",
    "RelevanceIntervals",
    "effect",
    "expected_label_issues",
    "explain",
    "held_out_report",
    "label_issues",
    "operating_points",
    "order_scores",
    "permutation_effects",
    "relevance_intervals",
    "uncertain_rows",
]
