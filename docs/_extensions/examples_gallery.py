"""The gallery of examples: their order, the look of their figures, and the reports that one of them writes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import matplotlib as mpl
from sphinx.application import Sphinx

from marginwise.display import figure_style

#: From what everybody needs to what few do.
ORDER = (
    "probabilities_and_costs",
    "relevances",
    "explaining_a_row",
    "sets_and_strangers",
    "categories_and_gaps",
    "many_classes",
    "weights_and_imbalance",
    "reports",
    "million_rows",
    "dask",
    "comparing_criteria",
    "reading_the_trace",
    "local_optima",
    "exact_evidence",
    "own_criterion",
    "own_kernel",
    "own_study",
)

#: Written by plot_reports.py beside itself, and linked from its page.
REPORTS = "reports"


class ReadingOrder:
    """The place of an example; one that is not in the list is an error."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __call__(self, file: str) -> int:
        """Return the key to sort by."""
        return ORDER.index(Path(file).stem.removeprefix("plot_"))


def use_our_style(gallery_conf: dict[str, Any], file: str) -> None:
    """Draw the figures of an example as all others of the library are drawn."""
    mpl.rcParams.update(figure_style())


def copy_reports(app: Sphinx, error: Exception | None) -> None:
    """Put the reports where the page links to."""
    made = Path(app.srcdir) / "gallery" / REPORTS
    if error is None and app.builder.format == "html" and made.exists():
        pages = shutil.ignore_patterns("*.csv", "*.sqlite*", "*.skops", "*.pdf", "*.png", "*.svg", "*.md")
        shutil.copytree(made, Path(app.outdir) / "examples" / REPORTS, ignore=pages, dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    """Copy the reports when all pages are there."""
    app.connect("build-finished", copy_reports)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
