"""The figure of any study: the errors of all methods on all data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from marginwise.display.drawing import Drawing, dot_row
from marginwise.display.style import INK, MUTED, SERIES
from marginwise.study.report.summary import Sample, Trials

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Published means with their standard deviations, if known, in %, by method and data set.
Published = Mapping[tuple[str, str], tuple[float, float | None]]


@dataclass(frozen=True)
class Methods(Drawing):
    """The errors of all methods on all data sets, and the published ones."""

    errors: dict[str, dict[str, Sample]]  # by method, then data set
    labels: Mapping[str, str]  # what data sets are called
    published: Published
    name = "methods"

    @classmethod
    def compute(
        cls, trials: Trials, datasets: Mapping[str, str], order: Iterable[str], published: Published | None = None
    ) -> Methods | None:
        """Return the figure of these methods on these data sets; None if no trial is there yet."""
        errors = {method: {dataset: trials.sample(dataset, method) for dataset in datasets} for method in order}
        errors = {method: found for method, found in errors.items() if any(sample.n for sample in found.values())}
        return cls(errors, datasets, published or {}) if errors else None

    @property
    def caption(self) -> str:
        theirs = (
            "; the open diamond is the paper's number, with its standard deviation where it gives one"
            if self.published
            else ""
        )
        return (
            f"Test error of each method. Pale dots are trials, the dark dot is their mean{theirs}. The scale is "
            "logarithmic."
        )

    @property
    def alt(self) -> str:
        parts = []
        for dataset, label in self.labels.items():
            means = {method: found[dataset].mean for method, found in self.errors.items()}
            known = {method: mean for method, mean in means.items() if mean is not None}
            if known:
                least = min(known, key=lambda method: known[method])
                parts.append(f"{label}: least for {least}, {known[least]:.1f} %")
        return "Dot plot of test errors by method and data set. " + "; ".join(parts) + "."

    @property
    def size(self) -> tuple[float, float]:
        return max(4.5, 1.8 * len(self.labels)), 1.2 + 0.24 * len(self.errors)

    def draw(self, figure: Figure) -> None:
        panels = figure.subplots(1, len(self.labels), sharey=True, squeeze=False)[0]
        for axes, (dataset, label) in zip(panels, self.labels.items(), strict=True):
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
        return 0.7 * min([*ours, *theirs], default=1.0)


def _draw_row(
    axes: Axes, place: int, sample: Sample, published: tuple[float, float | None] | None, least: float
) -> None:
    if sample.mean is not None:
        dot_row(axes, place, np.maximum(sample.values, least), max(sample.mean, least), SERIES[0])
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
