"""The report of a study: one page to read, the same as Markdown, tables as CSV and figures as SVG, PNG and PDF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from marginwise.display import Page
from marginwise.study import sections, tables
from marginwise.study.paper.claims.claim import Findings
from marginwise.study.paper.figures.errors import FORMATS, Drawing
from marginwise.study.paper.gather import gather, write_rows, write_scans
from marginwise.study.paper.figures.paths import PATHS, typical
from marginwise.study.paper.sections import Facts, Notes, Section
from marginwise.study.store import Store
from marginwise.study.report.summary import Trials
from marginwise.display.table import Table

TITLE = "Model selection for support vector machines, run again"


def write_report(store: Store, directory: str | Path, *, pairs: int = 3, formats: Sequence[str] = FORMATS) -> Path:
    """Write the report of all trials in the store, finished or not, and return the path of its page.

    Parameters
    ----------
    store : Store
    directory : str or Path
        Made if it is not there: index.html, report.md, trials.csv, scans.csv, tables/ and figures/.
    pairs : int
        Number of pairs of local optima, for each criterion and data set, between which the criterion is evaluated.
    formats : sequence of str
        How figures are written beside the page, which has them inside: "svg", "png", "pdf". Markdown shows the SVG.
    """
    directory = Path(directory)
    for folder in (directory, directory / "tables", directory / "figures"):
        folder.mkdir(parents=True, exist_ok=True)
    findings = gather(store, pairs=pairs)
    write_rows(directory / "trials.csv", findings.trials.rows)
    write_scans(directory / "scans.csv", findings.scans)
    parts = contents(findings, paths_to_show(store, findings.trials))
    for part in (part for section in parts for part in section.parts):
        if isinstance(part, Table):
            part.write_csv(directory / "tables")
        elif isinstance(part, Drawing):
            part.save(directory / "figures", formats=formats)
    (directory / "report.md").write_text(to_markdown(TITLE, lead(findings), parts), encoding="utf-8")
    return to_page(TITLE, lead(findings), parts).write(directory / "index.html")


def paths_to_show(store: Store, trials: Trials) -> list[Drawing]:
    """Return the figures of single searches."""
    found = [(typical(store, trials, method), draw) for method, draw in PATHS]
    return [draw(*shown) for shown, draw in found if shown is not None]


def lead(findings: Findings) -> str:
    """Say what this is about."""
    rows = findings.trials.rows
    datasets, methods = {row.dataset for row in rows}, {row.method for row in rows}
    return (
        "The experiments of Gold and Sollich, “Model Selection for Support Vector Machine Classification” (2003), run "
        f"again: {len(rows):,} trials of {len(methods)} methods on {len(datasets)} data sets, with published numbers "
        "beside ours."
    )


def contents(findings: Findings, paths: Sequence[Drawing]) -> list[Section]:
    """Return all sections."""
    trials = findings.trials
    found = [
        sections.overview(findings),
        sections.claims(findings),
        sections.errors(trials),
        Section("Best trials and previous work", [tables.best(trials), tables.previous(trials)]),
        sections.histograms(trials),
        sections.optima(findings),
        sections.paths(paths),
        sections.all_methods(trials),
        Section("Time and data", [tables.times(trials), tables.sizes()]),
        Section("How it was made", _made(trials)),
    ]
    if trials.failed:
        found.append(Section("Failures", [tables.failures(trials)]))
    return found


def to_page(title: str, lead: str, parts: Sequence[Section]) -> Page:
    """Return the sections as a page."""
    page = Page(title, lead)
    for section in parts:
        page.heading(section.title)
        for part in section.parts:
            if isinstance(part, str):
                page.text(part)
            elif isinstance(part, Facts):
                page.facts(part.pairs)
            elif isinstance(part, Notes):
                page.notes(part.messages)
            elif isinstance(part, Table):
                part.add_to(page)
            else:
                page.figure(part.figure, part.caption, part.alt)
    return page


def to_markdown(title: str, lead: str, parts: Sequence[Section], figures: str = "figures/") -> str:
    """Return the sections as Markdown; ``figures`` is what the paths of figures begin with."""
    lines = [f"# {title}", lead]
    for section in parts:
        lines.append(f"## {section.title}")
        for part in section.parts:
            if isinstance(part, str):
                lines.append(part)
            elif isinstance(part, Facts):
                lines.append("\n".join(f"- **{number}** {meaning}" for number, meaning in part.pairs))
            elif isinstance(part, Notes):
                lines.append("\n".join(f"> - {message}" for message in part.messages))
            elif isinstance(part, Table):
                lines.append(part.markdown())
            else:
                lines.append(f"![{part.alt}]({figures}{part.name}.svg)\n\n{part.caption}")
    return "\n\n".join(line.strip("\n") for line in lines if line) + "\n"


def _made(trials: Trials) -> list[sections.Part]:
    """Say with what the trials were made, and how to make them again."""
    versions = sorted({f"{name} {number}" for row in trials.rows for name, number in row.versions.items()})
    hours = sum(row.seconds for row in trials.rows) / 3600
    made = f" Made with {', '.join(versions)}." if versions else ""
    return [
        f"All trials together took {hours:.2g} hours of one core.{made}",
        "Seeds are hashes of the names of data set, method and trial, so that the same numbers come out whatever the "
        "order and the number of processes. Every trial is in trials.csv.",
    ]
