"""The page that says which of the paper's numbers hold: Markdown, from tables of trials, scans, votes and paths."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from marginwise.display.document import Document, PagePart, Section
from marginwise.display.drawing import Drawing
from marginwise.study.paper import figures, sections
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.gathering import gather, parted
from marginwise.study.paper.optima import read_scans, write_scans
from marginwise.study.paper.variations import variations
from marginwise.study.paper.votes import read_votes, write_votes
from marginwise.study.record import TrialRow, read_rows, write_rows
from marginwise.study.report.summary import Trials
from marginwise.study.report.tables import failures
from marginwise.study.store import Store

#: Random pairs of ends of each method and data set between which the criterion is evaluated.
PAIRS = 20

#: Data sets of which the paper shows histograms.
_HISTOGRAMS = ("twonorm", "pima", "wdbc")

_LEAD = """Every number here is computed from one run of the study at the paper's counts and of its variations, whose
trials are kept next to this page: [reproduction.csv](reproduction.csv), one line each,
[reproduction-scans.csv](reproduction-scans.csv), the criteria along lines between local optima, and
[reproduction-votes.csv](reproduction-votes.csv), what local optima say together. To make all of it again:

```sh
marginwise study run --paper --store sqlite:///study.sqlite
marginwise study run --sensitivity --store sqlite:///study.sqlite
python docs/make_reproduction.py --store sqlite:///study.sqlite
```
"""


def write_reproduction(directory: str | Path, store: Store | None = None) -> Path:
    """Write reproduction.md and its figures into a directory, from the tables there or from a store.

    With a store, the tables are made first: reproduction.csv, reproduction-scans.csv, reproduction-votes.csv, and
    reproduction-paths.json with the searches that figures show.
    """
    directory = Path(directory)
    if store is not None:
        found = gather(store, pairs=PAIRS)
        write_rows(directory / "reproduction.csv", [*found.trials.rows, *found.varied.rows])
        write_scans(directory / "reproduction-scans.csv", found.scans)
        write_votes(directory / "reproduction-votes.csv", found.votes)
        _write_paths(directory / "reproduction-paths.json", figures.shown_paths(store, found))
    trials, varied = parted(read_rows(directory / "reproduction.csv"))
    scans, votes = read_scans(directory / "reproduction-scans.csv"), read_votes(directory / "reproduction-votes.csv")
    findings = Findings(trials, scans, votes, varied=varied)
    paths = figures.paths(_read_paths(directory / "reproduction-paths.json", findings))
    (directory / "images").mkdir(exist_ok=True)
    for drawing in drawings(findings, paths):
        drawing.save(directory / "images", prefix="reproduction-", formats=("svg",))
    path = directory / "reproduction.md"
    path.write_text(reproduction(findings, paths), encoding="utf-8")
    return path


def drawings(findings: Findings, paths: Sequence[Drawing]) -> list[Drawing]:
    """Return the figures of the page."""
    nearest = next(iter(findings.settings().values()))
    scans = figures.Scans(tuple(nearest.scans)) if nearest.scans else None
    found = [figures.methods(findings.trials), scans, *_histograms(nearest.trials), *paths]
    return [drawing for drawing in found if drawing is not None]


def _histograms(trials: Trials) -> list[Drawing]:
    found = (figures.Histograms.compute(trials, dataset) for dataset in _HISTOGRAMS)
    return [drawing for drawing in found if drawing is not None]


def reproduction(findings: Findings, paths: Sequence[Drawing] = ()) -> str:
    """Return the page."""
    nearest = next(iter(findings.settings().values()))
    histograms: list[PagePart | str] = [*_histograms(nearest.trials)]
    parts = [
        sections.overview(findings),
        sections.claims(findings),
        sections.errors(findings),
        sections.previous(findings),
        Section("Spread of the errors", histograms),
        sections.separation(nearest),
        sections.paths(paths),
        variations(findings),
        sections.side_by_side(findings.trials),
        sections.times(findings),
    ]
    if findings.trials.failed:
        parts.append(Section("Failures", [failures(findings.trials)]))
    page = Document("What holds of the paper's numbers", "", parts).markdown(figures="images/reproduction-")
    title, _, rest = page.partition("\n\n")
    return f"{title}\n\n{_LEAD}\n{rest}"  # the lead is Markdown, and no text of others


def _write_paths(path: Path, shown: Sequence[figures.Shown]) -> None:
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


def _read_paths(path: Path, findings: Findings) -> list[figures.Shown]:
    """Read what :func:`_write_paths` wrote; nothing if there is no file."""
    if not path.exists():
        return []
    rows: dict[tuple[str, str, int], TrialRow] = {
        (row.dataset, row.method, row.number): row for row in (*findings.trials.rows, *findings.varied.rows)
    }
    records = json.loads(path.read_text(encoding="utf-8"))
    keys = [(record["dataset"], record["method"], record["number"]) for record in records]
    return [(replace(rows[key]), record["trace"]) for key, record in zip(keys, records, strict=True) if key in rows]
