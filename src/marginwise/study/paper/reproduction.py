"""The page that says which of the paper's numbers hold: Markdown, made from a table of trials and one of scans."""

from __future__ import annotations

import csv
from pathlib import Path

from marginwise.display import Document, Drawing, Section
from marginwise.study.paper import figures, sections, tables
from marginwise.study.paper.findings import Findings, gather, read_scans, write_scans
from marginwise.study.record import read_rows, write_rows
from marginwise.study.report.summary import Trials
from marginwise.study.report.tables import failures
from marginwise.study.store import Store

_LEAD = """Every number here is computed from one run of the study at the paper's counts, whose trials are kept beside
this page: [reproduction.csv](reproduction.csv), one line each, and [reproduction-scans.csv](reproduction-scans.csv),
the criteria along lines between local optima. To make all of it again:

```sh
marginwise study run --paper --store sqlite:///study.sqlite
python docs/make_reproduction.py --store sqlite:///study.sqlite
```
"""


def write_reproduction(directory: str | Path, store: Store | None = None) -> Path:
    """Write reproduction.md and its figures into a directory, from the tables there or from a store.

    With a store, the tables are made first: reproduction.csv and reproduction-scans.csv. If there is a file
    reproduction-reasons.csv (dataset, column, reason), its sentences go beside the cells they explain.
    """
    directory = Path(directory)
    trials_file, scans_file = directory / "reproduction.csv", directory / "reproduction-scans.csv"
    if store is not None:
        found = gather(store)
        write_rows(trials_file, found.trials.rows)
        write_scans(scans_file, found.scans)
    findings = Findings(Trials(read_rows(trials_file)), read_scans(scans_file))
    (directory / "images").mkdir(exist_ok=True)
    for drawing in drawings(findings):
        drawing.save(directory / "images", prefix="reproduction-", formats=("svg",))
    path = directory / "reproduction.md"
    path.write_text(reproduction(findings, read_reasons(directory / "reproduction-reasons.csv")), encoding="utf-8")
    return path


def drawings(findings: Findings) -> list[Drawing]:
    """Return the figures of the page."""
    scans = figures.Scans(tuple(findings.scans)) if findings.scans else None
    found = [figures.methods(findings.trials), scans]
    return [drawing for drawing in found if drawing is not None]


def reproduction(findings: Findings, reasons: dict[tuple[str, str], str] | None = None) -> str:
    """Return the page."""
    trials = findings.trials
    parts = [
        sections.overview(findings),
        sections.claims(findings),
        sections.errors(trials, reasons),
        Section("Best trials and previous work", [tables.best(trials), tables.previous(trials)]),
        sections.separation(findings),
        sections.side_by_side(trials),
        Section("Time and data", [tables.times(trials), tables.sizes(findings.sizes)]),
    ]
    if trials.failed:
        parts.append(Section("Failures", [failures(trials)]))
    page = Document("What holds of the paper's numbers", "", parts).markdown(figures="images/reproduction-")
    title, _, rest = page.partition("\n\n")
    return f"{title}\n\n{_LEAD}\n{rest}"  # the lead is Markdown, and no text of others


def read_reasons(path: Path) -> dict[tuple[str, str], str]:
    """Return what is known about single cells, by data set and column; nothing if there is no file."""
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {(record["dataset"], record["column"]): record["reason"] for record in csv.DictReader(file)}
