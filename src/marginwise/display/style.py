"""The style of all figures: colours, line widths and fonts."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from marginwise._runtime.packages import require

#: Colours of text and axes, of less important parts, and of grid lines.
INK, MUTED, GRID = "#22252a", "#6b7078", "#dcdcd7"

#: Colours of series, told apart also by people who are colour-blind (after Okabe and Ito), dark enough for white paper.
SERIES = ("#2b66ad", "#c9601f", "#23825f", "#8b4a9c", "#a07d12", "#b5335b", "#2a8a99", "#5c5f66")


def require_matplotlib(module: str) -> Any:
    """Import a module of matplotlib, or raise an error that says what to install."""
    require("matplotlib", "plots need", "marginwise[plots]")
    return import_module(module)


def figure_style() -> dict[str, Any]:
    """Return the settings for ``matplotlib.rc_context`` that all figures are drawn with."""
    cycler = require_matplotlib("matplotlib").cycler
    return {
        "axes.edgecolor": MUTED,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.labelcolor": INK,
        "axes.linewidth": 0.6,
        "axes.prop_cycle": cycler(color=SERIES),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 9.5,
        "axes.labelsize": 9,
        "figure.constrained_layout.use": True,
        "figure.constrained_layout.h_pad": 0.08,
        "figure.constrained_layout.w_pad": 0.06,
        "figure.dpi": 150,
        "font.size": 9,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "lines.linewidth": 1.3,
        "lines.markersize": 4,
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
        "svg.hashsalt": "marginwise",
        "text.color": INK,
        "xtick.color": MUTED,
        "xtick.labelcolor": INK,
        "xtick.labelsize": 8,
        "ytick.color": MUTED,
        "ytick.labelcolor": INK,
        "ytick.labelsize": 8,
    }
