"""Local optima: whether the ends of repeated searches are separate, and how far apart their hyperparameters are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from marginwise.datasets import Benchmark
from marginwise.hyperparameters import Hyperparameters
from marginwise.display import INK, MUTED, SERIES
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.figures.errors import Drawing
from marginwise.study.paper.numbers import Column
from marginwise.study.store import TrialRow
from marginwise.study.report.summary import Trials
from marginwise.tuning import scan_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The criterion and slack that a method of the paper optimises. The sampled evidence gives gradients alone, so that
#: along a line its value is that of expectation propagation.
CRITERIA = {
    "le1-walk": ("laplace-evidence", "linear"),
    "le2-walk": ("laplace-evidence", "quadratic"),
    "gacv-walk": ("gacv", "linear"),
    "span-walk": ("span", "quadratic"),
    "evidence-ascent": ("ep-evidence", "linear"),
}

#: Two ends are separate optima if the criterion is worse between them by more than this: the gain at which the study's
#: walks end is a tenth of it.
LEAST_BARRIER = 1e-4

#: The five methods of the paper whose ends are looked at.
_COLUMNS = paper.COLUMNS[:5]


@dataclass(frozen=True)
class Scan:
    """A criterion along the straight line, in the logarithms, between the ends of two trials.

    ``scores`` are the criterion's values, with the sign that makes larger ones better.
    """

    dataset: str
    method: str
    start: int
    end: int
    scores: tuple[float, ...]

    @property
    def barrier(self) -> float:
        """By how much the criterion is worse in between than at the worse end; NaN if it has no value at an end."""
        known = [score for score in self.scores if np.isfinite(score)]
        return float(np.min([self.scores[0], self.scores[-1]]) - min(known, default=np.nan))

    @property
    def separate(self) -> bool:
        """Whether the two ends are separate optima."""
        return self.barrier > LEAST_BARRIER

    def record(self) -> dict[str, object]:
        """Return it as a record of a table."""
        ends = {"start": self.start, "end": self.end, "barrier": self.barrier}
        return {
            "dataset": self.dataset,
            "method": self.method,
            **ends,
            "scores": " ".join(f"{s:.6g}" for s in self.scores),
        }

    @classmethod
    def from_record(cls, record: dict[str, str]) -> Scan:
        """Return what :meth:`record` was made from."""
        scores = tuple(float(score) for score in record["scores"].split())
        return cls(record["dataset"], record["method"], int(record["start"]), int(record["end"]), scores)


def scan_optima(
    trials: Trials, load: Callable[[TrialRow], Benchmark], *, pairs: int = 3, n_points: int = 21
) -> list[Scan]:
    """Scan from the best trial of each method and data set to some others, spread over the ranks.

    ``load`` returns the data that a trial was run on; only trials on the same data are compared.
    """
    scans = []
    for dataset in paper.DATASETS:
        for column in _COLUMNS:
            name, slack = CRITERIA[column.method]
            for first, other in _pairs(trials.done(dataset, column.method), load, pairs):
                data = load(first)
                start, end = (Hyperparameters.from_values(row.hyperparameters or ()) for row in (first, other))
                line = scan_line(name, data.X_train, data.y_train, start, end, slack, n_points=n_points)
                scores = tuple((line.signs[name] * line.values[name]).tolist())
                scans.append(Scan(dataset, column.method, first.number, other.number, scores))
    return scans


def _pairs(
    rows: Sequence[TrialRow], load: Callable[[TrialRow], Benchmark], most: int
) -> Iterable[tuple[TrialRow, TrialRow]]:
    """Return the best trial with others on the same data: the next, the last and those between, evenly by rank."""
    known = [(score, row) for row in rows if row.hyperparameters and (score := _score(row)) is not None]
    if not known:
        return []
    ranked = [row for _, row in sorted(known, key=lambda pair: -pair[0])]
    first = ranked[0]
    train = load(first).X_train
    others = [row for row in ranked[1:] if np.array_equal(load(row).X_train, train)]
    places = np.linspace(0, len(others) - 1, min(most, len(others))).round().astype(int)
    return [(first, others[place]) for place in places]


def _score(row: TrialRow) -> float | None:
    """Return how good the trial's end is by its own criterion, larger being better."""
    if row.method == paper.EVIDENCE.method:
        return row.extra.get("ep_log_evidence")
    if row.criterion_value is None:
        return None
    return row.criterion_value if row.method in ("le1-walk", "le2-walk") else -row.criterion_value


@dataclass(frozen=True)
class Scans(Drawing):
    """The criteria between local optima, one panel for each criterion and data set."""

    scans: tuple[Scan, ...]
    name = "line-scans"

    @property
    def caption(self) -> str:
        return (
            "Criteria along straight lines between the ends of two searches, the best one of all trials at the left. "
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
        return [dataset for dataset in paper.DATASETS if any(scan.dataset == dataset for scan in self.scans)]

    def draw(self, figure: Figure) -> None:
        panels = figure.subplots(len(self._datasets), len(_COLUMNS), sharex=True, squeeze=False)
        for row, dataset in zip(panels, self._datasets, strict=True):
            for axes, column in zip(row, _COLUMNS, strict=True):
                self._draw_panel(axes, dataset, column)
            row[0].set_ylabel(paper.DATASETS[dataset])
        for axes, column in zip(panels[0], _COLUMNS, strict=True):
            axes.set_title(column.label)
        figure.supxlabel("position between the two ends", fontsize=9)

    def _draw_panel(self, axes: Axes, dataset: str, column: Column) -> None:
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
        found = {column.label: trials.hyperparameters(dataset, column.method) for column in _COLUMNS}
        ends = {label: values for label, values in found.items() if len(values)}
        return cls(dataset, ends) if ends else None

    @property
    def name(self) -> str:
        return f"spread-{self.dataset}"

    @property
    def caption(self) -> str:
        return (
            f"Final hyperparameters on {paper.DATASETS[self.dataset]}: a dot for each trial, and a stroke at the "
            "median. GACV and Span depend on C times the kernel alone, so that their C stays at 1."
        )

    @property
    def alt(self) -> str:
        parts = []
        for label, values in self.ends.items():
            factor = np.exp(np.median(np.ptp(np.log(values[:, 3:]), axis=0)))
            parts.append(f"{label}: length scales typically differ by a factor of {factor:.3g} between trials")
        return f"Dot plots of final hyperparameters on {paper.DATASETS[self.dataset]}. " + "; ".join(parts) + "."

    @property
    def size(self) -> tuple[float, float]:
        return 9.0, 1.4 + 0.17 * self._width

    @property
    def _width(self) -> int:
        return max(values.shape[1] for values in self.ends.values())

    def draw(self, figure: Figure) -> None:
        panels = figure.subplots(1, len(self.ends), sharey=True, sharex=True, squeeze=False)[0]
        names = ["C", "k₀", "k_off", *(f"l {place}" for place in range(1, self._width - 2))]
        for axes, (label, values), colour in zip(panels, self.ends.items(), SERIES, strict=False):
            places = np.arange(values.shape[1])
            axes.plot(values.T, places, "o", color=colour, alpha=0.35, markersize=3.2, markeredgewidth=0)
            axes.plot(np.median(values, axis=0), places, "|", color=INK, markersize=7, markeredgewidth=1.4)
            axes.set_title(label)
            axes.set_xscale("log")
            axes.set_xticks([1e-2, 1, 1e2, 1e4])
            axes.xaxis.minorticks_off()
        panels[0].set_yticks(range(self._width), names)
        panels[0].invert_yaxis()
