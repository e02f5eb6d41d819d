"""The chart of ``marginwise compare``: error and log-loss of each classifier, with their spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from marginwise.comparison import Score
from marginwise.display import MUTED, SERIES, Drawing, dot_row
from marginwise.reporting.figures import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ComparisonChart(Drawing):
    """A row of dots for each classifier, the smallest log-loss on top."""

    scores: Sequence[Score]
    name = "comparison"

    @property
    def caption(self) -> str:
        """What stands below it."""
        folds = len(self.scores[0].split_errors)
        pale = f" Pale dots are the {folds} folds." if folds > 1 else ""
        return (
            "Error: how many of the held-out rows were predicted wrongly. Log-loss: the same, but it also counts "
            "how sure a classifier was of its mistakes. Less is better in both. The dark dot is the mean over all "
            f"held-out rows, the line two standard errors to either side.{pale} Lines that overlap do not mean "
            "that two classifiers are equal: all were tested on the same rows, and the column “behind the best” "
            "compares them row by row."
        )

    @property
    def alt(self) -> str:
        """What there is to see."""
        best, least = self.scores[0], min(self.scores, key=lambda score: score.error)
        return (
            f"Dot plots of {len(self.scores)} classifiers. {best.method} has the smallest log-loss, "
            f"{best.log_loss:.3f}; {least.method} the smallest error, {100 * least.error:.1f} %."
        )

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        return 8.0, 1.0 + 0.3 * len(self.scores)

    def draw(self, figure: Figure) -> None:
        """Draw into an empty figure."""
        left, right = figure.subplots(1, 2, sharey=True)
        for place, score in enumerate(self.scores):
            _draw(left, place, 100 * np.array(score.split_errors), 100 * score.error, 100 * score.error_deviation)
            _draw(right, place, np.array(score.split_log_losses), score.log_loss, score.log_loss_deviation)
        left.set(xlabel="error (%)", yticks=range(len(self.scores)))
        left.set_yticklabels([literal(score.method) for score in self.scores])
        left.invert_yaxis()
        right.set(xlabel="log-loss")
        for axes in (left, right):
            axes.set_xlim(left=max(0.0, axes.get_xlim()[0]))


def _draw(axes: Axes, place: int, splits: np.ndarray, mean: float, deviation: float) -> None:
    """Draw the means on each split, if there are several, that on all, and a line of two standard errors."""
    axes.plot([mean - 2 * deviation, mean + 2 * deviation], [place] * 2, color=MUTED, linewidth=0.9, zorder=1.5)
    dot_row(axes, place, splits if len(splits) > 1 else np.empty(0), mean, SERIES[0])
