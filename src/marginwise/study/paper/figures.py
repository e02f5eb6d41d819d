"""Figures of errors and of local optima, drawn from our trials; those of single searches are in ``paths``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from marginwise.display.drawing import Drawing, file_stem
from marginwise.display.style import INK, MUTED, SERIES
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import all_datasets, all_methods, with_own
from marginwise.study.paper.numbers import PaperColumn
from marginwise.study.paper.optima import Scan
from marginwise.study.report.figures import Methods
from marginwise.study.report.summary import Sample, Trials

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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


@dataclass(frozen=True)
class Scans(Drawing):
    """The criteria between local optima, one panel for each criterion and data set."""

    scans: tuple[Scan, ...]
    name = "line-scans"

    @property
    def caption(self) -> str:
        return (
            "Criteria along straight lines between the ends of two searches, pairs drawn at random, some of each. "
            "Up is better, and all is measured from the worse end: where a line dips below the dots, its ends are "
            "separate local optima."
        )

    @property
    def alt(self) -> str:
        separate = sum(scan.separate for scan in self.scans)
        return f"Line plots of criteria between {len(self.scans)} pairs of end points; {separate} pairs are separated."

    @property
    def size(self) -> tuple[float, float]:
        return 9.0, 0.9 + 1.35 * len(self._datasets)

    @property
    def _datasets(self) -> list[str]:
        return list(dict.fromkeys(scan.dataset for scan in self.scans))

    def draw(self, figure: Figure) -> None:
        panels = figure.subplots(len(self._datasets), len(paper.SEARCHED), sharex=True, squeeze=False)
        for row, dataset in zip(panels, self._datasets, strict=True):
            for axes, column in zip(row, paper.SEARCHED, strict=True):
                self._draw_panel(axes, dataset, column)
            row[0].set_ylabel(paper.label(dataset))
        for axes, column in zip(panels[0], paper.SEARCHED, strict=True):
            axes.set_title(column.label)
        figure.supxlabel("position between the two ends", fontsize=9)

    def _draw_panel(self, axes: Axes, dataset: str, column: PaperColumn) -> None:
        found = [scan for scan in self.scans if scan.dataset == dataset and scan.method == column.method]
        for scan, colour in zip(found, SERIES, strict=False):
            scores = np.array(scan.scores) - min(scan.scores[0], scan.scores[-1])
            axes.plot(np.linspace(0, 1, len(scores)), scores, color=colour, linewidth=1.0)
            axes.plot([0, 1], scores[[0, -1]], "o", color=colour, markersize=3)
        if not found:
            axes.text(0.5, 0.5, "no pair", ha="center", va="center", color=MUTED, transform=axes.transAxes)
        axes.set_xticks([0, 1])
        axes.tick_params(labelsize=7)
        axes.locator_params(axis="y", nbins=3)


@dataclass(frozen=True)
class Spread(Drawing):
    """The hyperparameters that the trials of each method ended at, on one data set."""

    dataset: str
    ends: dict[str, np.ndarray]  # by label of the column: trials × (C, k0, koff, l_1 …)

    @classmethod
    def compute(cls, trials: Trials, dataset: str) -> Spread | None:
        """Return the figure; None if no trial is there yet."""
        columns = with_own(paper.SEARCHED, trials)
        found = {column.label: trials.hyperparameters(dataset, column.method) for column in columns}
        ends = {label: values for label, values in found.items() if len(values)}
        return cls(dataset, ends) if ends else None

    @property
    def name(self) -> str:
        return file_stem(f"spread-{self.dataset}")

    @property
    def caption(self) -> str:
        return (
            f"Final hyperparameters on {paper.label(self.dataset)}: a dot for each trial, and a stroke at the "
            "median. GACV and Span depend on C times the kernel alone, so that their C stays at 1."
        )

    @property
    def alt(self) -> str:
        parts = []
        for label, values in self.ends.items():
            factor = np.exp(np.median(np.ptp(np.log(values[:, 3:]), axis=0)))
            parts.append(f"{label}: length scales typically differ by a factor of {factor:.3g} between trials")
        return f"Dot plots of final hyperparameters on {paper.label(self.dataset)}. " + "; ".join(parts) + "."

    @property
    def size(self) -> tuple[float, float]:
        return max(9.0, 1.8 * len(self.ends)), 1.4 + 0.17 * self._width

    @property
    def _width(self) -> int:
        return max(values.shape[1] for values in self.ends.values())

    def draw(self, figure: Figure) -> None:
        panels = figure.subplots(1, len(self.ends), sharey=True, sharex=True, squeeze=False)[0]
        names = ["C", "k₀", "k_off", *(f"l {place}" for place in range(1, self._width - 2))]
        for axes, (label, values), colour in zip(panels, self.ends.items(), cycle(SERIES), strict=False):
            places = np.arange(values.shape[1])
            axes.plot(values.T, places, "o", color=colour, alpha=0.35, markersize=3.2, markeredgewidth=0)
            axes.plot(np.median(values, axis=0), places, "|", color=INK, markersize=7, markeredgewidth=1.4)
            axes.set_title(label)
            axes.set_xscale("log")
            axes.set_xticks([1e-2, 1, 1e2, 1e4])
            axes.xaxis.minorticks_off()
        panels[0].set_yticks(range(self._width), names)
        panels[0].invert_yaxis()
