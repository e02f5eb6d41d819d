"""Figures of a study: an object holds what is to be drawn, and draws it. Here: errors of methods and trials."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from marginwise.errors import MarginwiseError, choose
from marginwise.display import INK, MUTED, SERIES, figure_style
from marginwise.study.paper import numbers as paper
from marginwise.study.plan import PAPER_TRIALS
from marginwise.study.report.summary import Sample, Trials

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Width of the histograms' bins in %, as in the paper.
BIN = 2.0

#: How figures are written.
FORMATS = ("svg", "png", "pdf")

#: Metadata that leave the time out, by format.
_TIMELESS: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "png": {}, "pdf": {"CreationDate": None}}


@dataclass(frozen=True)
class Histograms(Drawing):
    """How the trials' errors on one data set are spread (figs. twonorm_eh, pima_eh, wdbc_eh of the paper)."""

    dataset: str
    errors: dict[str, Sample]  # by label of the paper's column
    published: dict[str, float]

    @classmethod
    def compute(cls, trials: Trials, dataset: str) -> Histograms | None:
        """Return the figure; None if no trial is there yet."""
        columns = paper.COLUMNS[:5]
        errors = {column.label: trials.column(dataset, column) for column in columns}
        if not any(sample.n for sample in errors.values()):
            return None
        means = [mean for mean, _ in paper.ERRORS[dataset]]
        return cls(dataset, errors, dict(zip(errors, means, strict=False)))

    @property
    def name(self) -> str:
        return f"histogram-{self.dataset}"

    @property
    def caption(self) -> str:
        counts = sorted({sample.n for sample in self.errors.values()})
        trials = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        return (
            f"Test errors on {paper.DATASETS[self.dataset]}: trials in bins of {BIN:g} %, {trials} for each criterion. "
            "The line is our mean, the triangle the paper's."
        )

    @property
    def alt(self) -> str:
        parts = [
            f"{label}: mean {sample.mean:.1f} %, from {sample.best:.1f} to {sample.worst:.1f} %"
            for label, sample in self.errors.items()
            if sample.n
        ]
        return f"Histograms of test errors on {paper.DATASETS[self.dataset]}. " + "; ".join(parts) + "."

    @property
    def size(self) -> tuple[float, float]:
        return 7.0, 5.2

    def draw(self, figure: Figure) -> None:
        everything = [error for sample in self.errors.values() for error in (*sample.values, 0.0)]
        top = max(*everything, *self.published.values())
        bins = np.arange(0.0, top + 2 * BIN, BIN)
        panels = figure.subplots(len(self.errors), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (label, sample), colour in zip(panels, self.errors.items(), SERIES, strict=False):
            axes.hist(sample.values, bins=bins, color=colour, edgecolor="white", linewidth=0.6)
            axes.set_ylabel(label, rotation=0, ha="right", va="center", color=INK)
            axes.plot(self.published[label], 0.0, marker="^", color=INK, markersize=5, clip_on=False, zorder=5)
            if sample.mean is not None:
                axes.axvline(sample.mean, color=INK, linewidth=1.0)
            axes.grid(axis="x", visible=False)
            axes.locator_params(axis="y", integer=True, nbins=3)
        panels[-1].set_xlabel("test error (%)")


@dataclass(frozen=True)
class Methods(Drawing):
    """The errors of all methods on all data sets, and the published ones."""

    errors: dict[str, dict[str, Sample]]  # by method, then data set
    published: dict[tuple[str, str], tuple[float, float | None]]  # by method and data set
    name = "methods"

    @classmethod
    def compute(cls, trials: Trials) -> Methods | None:
        """Return the figure; None if no trial is there yet."""
        errors = {
            method: {dataset: trials.sample(dataset, method) for dataset in paper.DATASETS} for method in PAPER_TRIALS
        }
        errors = {method: found for method, found in errors.items() if any(sample.n for sample in found.values())}
        if not errors:
            return None
        published: dict[tuple[str, str], tuple[float, float | None]] = {}
        for dataset in paper.DATASETS:
            for column, (mean, sd) in zip(paper.COLUMNS[:5], paper.ERRORS[dataset], strict=False):
                published[column.method, dataset] = (mean, sd)
            for column, error in zip(paper.PREVIOUS_COLUMNS, paper.PREVIOUS[dataset], strict=True):
                if error is not None:
                    published[column.method, dataset] = (error, None)
        return cls(errors, published)

    @property
    def caption(self) -> str:
        return (
            "Test error of each method. Pale dots are trials, the dark dot is their mean; the open diamond is the "
            "paper's number, with its standard deviation where it gives one. The scale is logarithmic."
        )

    @property
    def alt(self) -> str:
        parts = []
        for dataset, label in paper.DATASETS.items():
            means = {method: found[dataset].mean for method, found in self.errors.items()}
            known = {method: mean for method, mean in means.items() if mean is not None}
            if known:
                least = min(known, key=lambda method: known[method])
                parts.append(f"{label}: least for {least}, {known[least]:.1f} %")
        return "Dot plot of test errors by method and data set. " + "; ".join(parts) + "."

    @property
    def size(self) -> tuple[float, float]:
        return 9.0, 1.2 + 0.24 * len(self.errors)

    def draw(self, figure: Figure) -> None:
        panels = figure.subplots(1, len(paper.DATASETS), sharey=True)
        for axes, (dataset, label) in zip(panels, paper.DATASETS.items(), strict=True):
            for place, (method, found) in enumerate(self.errors.items()):
                published = self.published.get((method, dataset))
                _draw_row(axes, place, found[dataset], published, self._least(dataset))
            axes.set_title(label)
            axes.set_xscale("log")
            axes.set_xlim(left=0.9 * self._least(dataset))
            ticks = _ticks(*axes.get_xlim())
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.xaxis.minorticks_off()
        panels[0].set_yticks(range(len(self.errors)), list(self.errors))
        panels[0].invert_yaxis()
        figure.supxlabel("test error (%)", fontsize=9)

    def _least(self, dataset: str) -> float:
        """Return the least error to show: a logarithmic scale has no room for 0."""
        ours = [mean for found in self.errors.values() if (mean := found[dataset].mean)]
        theirs = [mean for (_, name), (mean, _) in self.published.items() if name == dataset]
        return 0.7 * min(*ours, *theirs)


def _draw_row(
    axes: Axes, place: int, sample: Sample, published: tuple[float, float | None] | None, least: float
) -> None:
    if sample.mean is not None:
        dots = np.maximum(sample.values, least)
        axes.plot(dots, np.full(sample.n, place), "o", color=SERIES[0], alpha=0.25, markersize=3, markeredgewidth=0)
        axes.plot(max(sample.mean, least), place, "o", color=SERIES[0], markersize=5)
    if published is not None:
        mean, sd = published
        if sd is not None:
            axes.plot([max(mean - sd, least), mean + sd], [place + 0.28] * 2, color=MUTED, linewidth=0.9)
        axes.plot(mean, place + 0.28, "D", color=INK, markersize=3.5, markerfacecolor="none", markeredgewidth=0.9)


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers on a logarithmic scale, so far apart that they can be read."""
    ticks: list[float] = []
    for tick in (0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 15, 20, 30, 50):
        if low <= tick <= high and (not ticks or np.log(tick / ticks[-1]) > 0.14 * np.log(high / low)):
            ticks.append(tick)
    return ticks
