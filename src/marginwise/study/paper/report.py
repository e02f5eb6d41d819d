"""The report of the paper's study: its tables, figures and claims, with rows and columns for what is beyond it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from marginwise._wording import numbered
from marginwise.display.document import Document, Section
from marginwise.display.drawing import FORMATS, Drawing
from marginwise.study.paper import figures, sections
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.gathering import gather
from marginwise.study.paper.optima import write_scans
from marginwise.study.paper.variations import variations
from marginwise.study.paper.votes import write_votes
from marginwise.study.record import write_rows
from marginwise.study.report import closing_sections
from marginwise.study.store import Store

TITLE = "Model selection for support vector machines, run again"


def write_paper_report(
    store: Store, directory: str | Path, *, pairs: int = 3, formats: Sequence[str] = FORMATS
) -> Path:
    """Write the report of all trials in the store, finished or not, and return the path of its page.

    Data sets and methods that the paper does not have stand next to its own.

    Parameters
    ----------
    store : Store
    directory : str or Path
        Made if it is not there: index.html, report.md, trials.csv, scans.csv, votes.csv, tables/ and figures/.
    pairs : int
        Number of pairs of local optima, for each criterion and data set, between which the criterion is evaluated.
    formats : sequence of str
        How figures are written next to the page, which has them inside: "svg", "png", "pdf". Markdown shows the SVG.

    Returns
    -------
    Path
        That of the page.

    Examples
    --------
    ``docs/study.md`` runs a study and reports it; here is the report of one that has not begun.

    >>> import tempfile
    >>> from marginwise.study import open_store
    >>> with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/paper.sqlite") as store:
    ...     write_paper_report(store, f"{folder}/report", formats=()).name
    'index.html'
    """
    directory = Path(directory)
    findings = gather(store, pairs=pairs)
    document = Document(TITLE, lead(findings), contents(findings, figures.paths(figures.shown_paths(store, findings))))
    page = document.write(directory, formats=formats)
    write_rows(directory / "trials.csv", [*findings.trials.rows, *findings.varied.rows])
    write_scans(directory / "scans.csv", findings.scans)
    write_votes(directory / "votes.csv", findings.votes)
    return page


def lead(findings: Findings) -> str:
    """Say what this is about."""
    rows = findings.trials.rows
    datasets, methods = {row.dataset for row in rows}, {row.method for row in rows}
    return (
        "The experiments of Gold and Sollich, “Model Selection for Support Vector Machine Classification” (2003), run "
        f"again: {numbered(len(rows), 'trial')} of {numbered(len(methods), 'method')} on "
        f"{numbered(len(datasets), 'data set')}, with published numbers next to ours."
    )


def contents(findings: Findings, paths: Sequence[Drawing]) -> list[Section]:
    """Return all sections."""
    trials = findings.trials
    nearest = next(iter(findings.settings().values()))
    found = [
        sections.overview(findings),
        sections.claims(findings),
        sections.errors(findings),
        sections.previous(findings),
        sections.histograms(nearest.trials),
        sections.optima(nearest),
        sections.paths(paths),
        variations(findings),
        sections.side_by_side(trials),
        sections.times(findings),
    ]
    return [*found, *closing_sections(trials)]
