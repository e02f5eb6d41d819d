"""How errors are spread over trials, and the published errors for the figure of all methods."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from marginwise.display.drawing import Drawing, file_stem
from marginwise.display.style import INK, SERIES
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import all_datasets, all_methods, with_own
from marginwise.study.report.figures import Methods
from marginwise.study.report.summary import Sample, Trials

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Width of the histograms' bins in %, as in the paper.
BIN = 2.0


@dataclass(frozen=True)
class Histograms(Drawing):
    """How the trials' errors on one data set are spread (figs. twonorm_eh, pima_eh, wdbc_eh of the paper)."""

    dataset: str
    errors: dict[str, Sample]  # by label of the paper's column
    published: dict[str, float]  # by label, where the paper has a number

    @classmethod
    def compute(cls, trials: Trials, dataset: str) -> Histograms | None:
        """Return the figure; None if no trial is there yet."""
        columns = with_own(paper.COLUMNS[:5], trials)
        errors = {column.label: trials.sample(dataset, column.method, column.field) for column in columns}
        if not any(sample.n for sample in errors.values()):
            return None
        means = [mean for mean, _ in paper.ERRORS.get(dataset, ())]
        return cls(dataset, errors, dict(zip(errors, means[:5], strict=False)))

    @property
    def name(self) -> str:
        return file_stem(f"histogram-{self.dataset}")

    @property
    def caption(self) -> str:
        counts = sorted({sample.n for sample in self.errors.values()})
        trials = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        return (
            f"Test errors on {paper.label(self.dataset)}: trials in bins of {BIN:g} %, {trials} for each criterion. "
            + ("The line is our mean, the triangle the paper's." if self.published else "The line is the mean.")
        )

    @property
    def alt(self) -> str:
        parts = [
            f"{label}: mean {sample.mean:.1f} %, from {sample.best:.1f} to {sample.worst:.1f} %"
            for label, sample in self.errors.items()
            if sample.n
        ]
        return f"Histograms of test errors on {paper.label(self.dataset)}. " + "; ".join(parts) + "."

    @property
    def size(self) -> tuple[float, float]:
        return 7.0, 1.04 * len(self.errors)

    def draw(self, figure: Figure) -> None:
        everything = [error for sample in self.errors.values() for error in (*sample.values, 0.0)]
        top = max([*everything, *self.published.values()])
        bins = np.arange(0.0, top + 2 * BIN, BIN)
        panels = figure.subplots(len(self.errors), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (label, sample), colour in zip(panels, self.errors.items(), cycle(SERIES), strict=False):
            axes.hist(sample.values, bins=bins, color=colour, edgecolor="white", linewidth=0.6)
            axes.set_ylabel(label, rotation=0, ha="right", va="center", color=INK)
            if label in self.published:
                axes.plot(self.published[label], 0.0, marker="^", color=INK, markersize=5, clip_on=False, zorder=5)
            if sample.mean is not None:
                axes.axvline(sample.mean, color=INK, linewidth=1.0)
            axes.grid(axis="x", visible=False)
            axes.locator_params(axis="y", integer=True, nbins=3)
        panels[-1].set_xlabel("test error (%)")


def methods(trials: Trials) -> Methods | None:
    """Return the errors of all methods on all data sets, and the published ones; None if no trial is there yet."""
    published: dict[tuple[str, str], tuple[float, float | None]] = {}
    for dataset in paper.DATASETS:
        for column, (mean, sd) in zip(paper.COLUMNS[:5], paper.ERRORS[dataset], strict=False):
            published[column.method, dataset] = (mean, sd)
        for column, error in zip(paper.PREVIOUS_COLUMNS, paper.PREVIOUS[dataset], strict=True):
            if error is not None:
                published[column.method, dataset] = (error, None)
    return Methods.compute(trials, all_datasets(trials), all_methods(trials), published)
