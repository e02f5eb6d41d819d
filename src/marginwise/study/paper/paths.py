"""Figures of single searches: hyperparameters, criterion and test error along a walk and along an ascent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from marginwise.display.drawing import Drawing
from marginwise.display.style import INK, SERIES
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import all_datasets
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.settings import ASCENT, EQUAL_SCALES
from marginwise.study.record import Trace, TrialRow
from marginwise.study.report.summary import Trials
from marginwise.study.store import Store

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Values that differ by more than this factor are shown on a logarithmic scale.
_LOGARITHMIC = 4.0

#: A trial and its trace.
Shown = tuple[TrialRow, Trace]


@dataclass(frozen=True)
class Panel:
    """What a panel shows: columns of the trace, or of so many length scales the column with a prefix."""

    title: str
    columns: tuple[str, ...] = ()
    scales: int = 0
    prefix: str = ""
    colour: int = 0
    log: bool = False
    near_least: bool = False


@dataclass(frozen=True)
class Layout:
    """A figure of the paper: its panels by the letters of a mosaic, and in words; {…} are filled in."""

    name: str
    mosaic: str
    size: tuple[float, float]
    axis: str
    words: Sequence[str]
    caption: str
    panels: Mapping[str, Panel]


def _layouts() -> Iterator[Layout]:
    """Yield the declared figures."""
    for name, about in paper.declared("paths").items():
        panels = {letter: Panel(**panel) for letter, panel in about.pop("panels").items()}
        yield Layout(name, **about, panels=panels)


#: A walk on a simple criterion; length scales, and k0, koff and C, along an ascent of the evidence.
WALK, *ASCENT_LAYOUTS = _layouts()

#: Colours of lines; the last is that of test errors.
_COLOURS = (*SERIES[:3], INK)


@dataclass(frozen=True)
class PathFigure(Drawing):
    """A trial and its trace, in a layout."""

    row: TrialRow
    trace: Trace
    layout: Layout

    @property
    def name(self) -> str:
        return self.layout.name

    @property
    def size(self) -> tuple[float, float]:
        return self.layout.size

    @property
    def caption(self) -> str:
        where = f"{paper.label(self.row.dataset)}, trial {self.row.number}"
        return self.layout.caption.format(method=self.row.method, where=where, scales=len(self._scales()))

    @property
    def alt(self) -> str:
        shown = self.layout.words or tuple(self._scales())
        parts = [f"{_label(name)} goes {self._change(name)}" for name in shown]
        error = "the test error was not recorded"
        if "test_error" in self.trace:
            least = 100 * min(self.trace["test_error"])
            error = f"the test error goes {self._change('test_error', 100.0)} %, with its least at {least:.3g} %"
        return f"Lines along {len(self.trace['evaluation'])} steps: {', '.join(parts)}; {error}."

    def draw(self, figure: Figure) -> None:
        panels = figure.subplot_mosaic(self.layout.mosaic, sharex=True)
        for key, panel in self.layout.panels.items():
            self._draw(panels[key], panel)
        last = self.layout.mosaic.rpartition(";")[2]
        for key in dict.fromkeys(last):
            panels[key].set_xlabel(self.layout.axis)
            panels[key].locator_params(axis="x", nbins=5)

    def _draw(self, axes: Axes, panel: Panel) -> None:
        names = self._scales() if panel.scales else panel.columns
        colours = SERIES if panel.scales else (_COLOURS[panel.colour],)
        for name, colour in zip(names, colours, strict=False):
            column = np.array(self.trace.get(f"{panel.prefix}{name}", ()))
            if len(column):
                scale = 100.0 if name == "test_error" else 1.0
                axes.plot(self.trace["evaluation"], scale * column, color=colour, label=_label(name))
        _title(axes, panel.title.format(method=self.row.method), log=panel.log)
        if panel.scales and not panel.prefix:
            axes.legend(ncols=3, loc="best")
        if panel.near_least and "test_error" in self.trace:
            least, last = 100 * min(self.trace["test_error"]), 100 * self.trace["test_error"][-1]
            room = max(last - least, 0.25 * least, 0.2)
            axes.set_ylim(least - 0.5 * room, last + 1.5 * room)

    def _scales(self) -> list[str]:
        """Return the names of some length scales, spread over the inputs."""
        most = max(panel.scales for panel in self.layout.panels.values())
        names = [name for name in self.trace if name.startswith("l") and name[1:].isdigit()]
        if len(names) <= most:
            return names
        return [names[place] for place in np.linspace(0, len(names) - 1, most).round().astype(int)]

    def _change(self, name: str, scale: float = 1.0) -> str:
        """Say in words from where to where a column goes."""
        column = self.trace[name]
        return f"from {scale * column[0]:.3g} to {scale * column[-1]:.3g}"


def paths(found: Iterable[Shown]) -> list[Drawing]:
    """Return the figures of single searches."""
    return [
        PathFigure(row, trace, layout)
        for row, trace in found
        for layout in (ASCENT_LAYOUTS if row.method.startswith(ASCENT) else [WALK])
    ]


def shown_paths(store: Store, findings: Findings) -> list[Shown]:
    """Return the trials that the paper's figures show: a walk on LE1, and an ascent from equal length scales.

    They are the first on Twonorm, as in the paper, or on the first set that has one; without an ascent from equal
    length scales, one from a random start.
    """
    walk = _typical(store, findings.trials, "le1-walk")
    ascent = _typical(store, findings.trials, EQUAL_SCALES) or _typical(store, findings.trials, ASCENT)
    return [shown for shown in (walk, ascent) if shown is not None]


def _typical(store: Store, trials: Trials, method: str) -> Shown | None:
    for dataset in ("twonorm", *all_datasets(trials)):
        for row in trials.done(dataset, method):
            trace = store.trace(row)
            if trace is not None and len(trace.get("evaluation", ())) > 1:
                return row, trace
    return None


def write_shown(path: Path, shown: Iterable[Shown]) -> None:
    """Write which trials figures show, and their paths with six digits."""
    records = [
        {
            "dataset": row.dataset,
            "method": row.method,
            "number": row.number,
            "trace": {name: [float(f"{value:.6g}") for value in values] for name, values in trace.items()},
        }
        for row, trace in shown
    ]
    path.write_text(json.dumps(records) + "\n", encoding="utf-8")


def read_shown(path: Path, findings: Findings) -> list[Shown]:
    """Read what :func:`write_shown` wrote; nothing if there is no file."""
    rows = {(row.dataset, row.method, row.number): row for row in findings.trials.rows}
    records = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    keys = [(record["dataset"], record["method"], record["number"]) for record in records]
    return [(rows[key], record["trace"]) for key, record in zip(keys, records, strict=True) if key in rows]


def _label(name: str) -> str:
    subscript = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
    return f"l{name[1:].translate(subscript)}" if name[0] == "l" and name[1:].isdigit() else name


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
