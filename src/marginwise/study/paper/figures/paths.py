"""Figures of single searches: hyperparameters, criterion and test error along a walk and along an ascent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from marginwise.display.drawing import Drawing
from marginwise.display.style import INK, SERIES
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import all_datasets
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.names import EQUAL_SCALES
from marginwise.study.record import Trace, TrialRow
from marginwise.study.report.summary import Trials
from marginwise.study.store import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Length scales shown of a walk (fig. twonorm_lz) and of an ascent (fig. twonorm_ll).
WALK_SCALES, ASCENT_SCALES = 5, 6

#: Values that differ by more than this factor are shown on a logarithmic scale.
_LOGARITHMIC = 4.0


#: A trial and its trace.
Shown = tuple[TrialRow, Trace]


def shown_paths(store: Store, findings: Findings) -> list[Shown]:
    """Return the trials that the paper's figures show: a walk on LE1, and an ascent from equal length scales.

    They are the first on Twonorm, as in the paper, or on the first set that has one; without an ascent from equal
    length scales, one from a random start.
    """
    walk = _typical(store, findings.trials, "le1-walk")
    ascent = _typical(store, findings.varied, EQUAL_SCALES) or _typical(store, findings.trials, "evidence-ascent")
    return [shown for shown in (walk, ascent) if shown is not None]


def _typical(store: Store, trials: Trials, method: str) -> Shown | None:
    for dataset in ("twonorm", *all_datasets(trials)):
        for row in trials.done(dataset, method):
            trace = store.trace(row)
            if trace is not None and len(trace.get("evaluation", ())) > 1:
                return row, trace
    return None


def paths(found: Iterable[Shown]) -> list[Drawing]:
    """Return the figures of single searches."""
    return [draw(*shown) for shown in found for draw in (_ASCENT if shown[0].method.startswith("evid") else _WALK)]


@dataclass(frozen=True)
class _Path(Drawing):
    """A trial and its trace."""

    row: TrialRow
    trace: Trace

    @property
    def _where(self) -> str:
        return f"{paper.label(self.row.dataset)}, trial {self.row.number}"

    @property
    def steps(self) -> list[float]:
        """Numbers of the evaluations."""
        return self.trace["evaluation"]

    def scales(self, most: int) -> list[str]:
        """Return the names of some length scales, spread over the inputs."""
        names = [name for name in self.trace if name.startswith("l") and name[1:].isdigit()]
        if len(names) <= most:
            return names
        return [names[place] for place in np.linspace(0, len(names) - 1, most).round().astype(int)]

    def change(self, name: str, scale: float = 1.0) -> str:
        """Say in words from where to where a column goes."""
        column = self.trace[name]
        return f"from {scale * column[0]:.3g} to {scale * column[-1]:.3g}"

    def line(self, axes: Axes, name: str, scale: float = 1.0, **options: Any) -> None:
        """Draw one column."""
        axes.plot(self.steps, scale * np.array(self.trace[name]), **options)


@dataclass(frozen=True)
class WalkPath(_Path):
    """A greedy random walk on a simple criterion (fig. twonorm_lz of the paper)."""

    name = "walk"

    @property
    def caption(self) -> str:
        return (
            f"Tuning by a greedy random walk ({self.row.method}) on {self._where}: hyperparameters, of the length "
            f"scales {len(self.scales(WALK_SCALES))}; the criterion; and the test error, which the walk does not see"
            + (", and GACV, which it does not follow." if "gacv" in self.trace else ".")
        )

    @property
    def alt(self) -> str:
        parts = [f"{name} goes {self.change(name)}" for name in ("C", "k0", "koff", "value")]
        return f"Lines along {len(self.steps)} accepted steps: {', '.join(parts)}; {_error_words(self)}."

    @property
    def size(self) -> tuple[float, float]:
        return 8.5, 6.0

    def draw(self, figure: Figure) -> None:
        panels = figure.subplot_mosaic("CCCKKK;OOOLLL;VVGGEE", sharex=True)
        for key, name, label in (("C", "C", "C"), ("K", "k0", "k₀"), ("O", "koff", "k_off")):
            self.line(panels[key], name, color=SERIES[0])
            _title(panels[key], label, log=True)
        for name, colour in zip(self.scales(WALK_SCALES), SERIES, strict=False):
            self.line(panels["L"], name, color=colour, label=_scale_label(name), linewidth=1.0)
        _title(panels["L"], "length scales", log=True)
        panels["L"].legend(ncols=3, loc="best")
        self.line(panels["V"], "value", color=SERIES[1])
        _title(panels["V"], f"criterion of {self.row.method}")
        if "gacv" in self.trace:
            self.line(panels["G"], "gacv", color=SERIES[2])
        _title(panels["G"], "GACV")
        _draw_errors(self, panels["E"])
        for key in "VGE":
            panels[key].set_xlabel("evaluation")


@dataclass(frozen=True)
class AscentScales(_Path):
    """Length scales and their gradients along an ascent of the evidence (fig. twonorm_ll of the paper)."""

    name = "ascent-length-scales"

    @property
    def caption(self) -> str:
        return (
            f"Length scales along gradient ascent on the evidence, {self._where}: {len(self.scales(ASCENT_SCALES))} of "
            "them, the gradient of the evidence in their logarithms, and the test error."
        )

    @property
    def alt(self) -> str:
        parts = [f"{_scale_label(name)} goes {self.change(name)}" for name in self.scales(ASCENT_SCALES)]
        return f"Lines along {len(self.steps)} steps: {', '.join(parts)}; {_error_words(self)}."

    @property
    def size(self) -> tuple[float, float]:
        return 7.0, 6.0

    def draw(self, figure: Figure) -> None:
        values, gradients, errors = figure.subplots(3, 1, sharex=True)
        for name, colour in zip(self.scales(ASCENT_SCALES), SERIES, strict=False):
            self.line(values, name, color=colour, label=_scale_label(name))
            if f"g_{name}" in self.trace:
                self.line(gradients, f"g_{name}", color=colour)
        _title(values, "length scales", log=True)
        values.legend(ncols=3)
        _title(gradients, "gradient of the evidence in ln l")
        _draw_errors(self, errors)
        errors.set_xlabel("step")


@dataclass(frozen=True)
class AscentAmplitudes(_Path):
    """k0, koff and C along an ascent of the evidence (fig. twonorm_kkc of the paper)."""

    name = "ascent-amplitudes"

    @property
    def caption(self) -> str:
        return (
            f"k₀, k_off and C along gradient ascent on the evidence, {self._where}, with their gradients; below, the "
            "test error, at the right near its least value: it may rise again while the evidence still grows."
        )

    @property
    def alt(self) -> str:
        parts = [f"{name} goes {self.change(name)}" for name in ("k0", "koff", "C")]
        return f"Lines along {len(self.steps)} steps: {', '.join(parts)}; {_error_words(self)}."

    @property
    def size(self) -> tuple[float, float]:
        return 8.5, 7.5

    def draw(self, figure: Figure) -> None:
        panels = figure.subplots(4, 2, sharex=True)
        labels = {"k0": "k₀", "koff": "k_off", "C": "C"}
        for row, (name, colour) in zip(panels, zip(labels, SERIES, strict=False), strict=False):
            self.line(row[0], name, color=colour)
            _title(row[0], labels[name], log=True)
            if f"g_{name}" in self.trace:
                self.line(row[1], f"g_{name}", color=colour)
            _title(row[1], f"gradient in ln {labels[name]}")
        _draw_errors(self, panels[3, 0])
        _draw_errors(self, panels[3, 1])
        panels[3, 1].set_title("test error (%), near its least")
        if "test_error" in self.trace:
            least, last = 100 * min(self.trace["test_error"]), 100 * self.trace["test_error"][-1]
            room = max(last - least, 0.25 * least, 0.2)
            panels[3, 1].set_ylim(least - 0.5 * room, last + 1.5 * room)
        for axes in panels[-1]:
            axes.set_xlabel("step")


#: Figures of a walk, and of an ascent.
_WALK: tuple[Callable[[TrialRow, Trace], Drawing], ...] = (WalkPath,)
_ASCENT: tuple[Callable[[TrialRow, Trace], Drawing], ...] = (AscentScales, AscentAmplitudes)


def _draw_errors(path: _Path, axes: Axes) -> None:
    if "test_error" in path.trace:
        path.line(axes, "test_error", 100.0, color=INK)
    _title(axes, "test error (%)")


def _error_words(path: _Path) -> str:
    if "test_error" not in path.trace:
        return "the test error was not recorded"
    least = 100 * min(path.trace["test_error"])
    return f"the test error goes {path.change('test_error', 100.0)} %, with its least at {least:.3g} %"


def _scale_label(name: str) -> str:
    return f"l{name[1:].translate(str.maketrans('0123456789', '₀₁₂₃₄₅₆₇₈₉'))}"


def _title(axes: Axes, text: str, *, log: bool = False) -> None:
    """Set the title of a panel; ``log``: its values are spread over several factors, so show them so if they are."""
    axes.set_title(text)
    low, high = axes.dataLim.intervaly
    if log and high > _LOGARITHMIC * low > 0:
        from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 3) if high > 30 * low else (1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
