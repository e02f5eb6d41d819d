"""The report of the paper's study, and the page of the documentation: two pages for a reader, then an appendix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from marginwise._wording import numbered
from marginwise.display.document import Document, PagePart, Section
from marginwise.display.drawing import FORMATS, Drawing
from marginwise.display.table import PageTable, minus
from marginwise.study.paper import figures, paths, tables, variations
from marginwise.study.paper.compare import all_datasets, all_methods, compare_previous, over_draws
from marginwise.study.paper.findings import Findings, gather
from marginwise.study.paper.optima import MajorityVote, Paired, Scan
from marginwise.study.paper.settings import DRAWN
from marginwise.study.paper.story import first_part, told
from marginwise.study.record import read_rows, write_rows
from marginwise.study.report import Trials, closing_sections
from marginwise.study.report.tables import methods as methods_tables
from marginwise.study.report.tables import spread
from marginwise.study.store import Store

TITLE = "Model selection for support vector machines, run again"

#: Random pairs of ends of each method and data set between which the criterion is evaluated for the documentation.
PAIRS = 20

#: What there is in addition to trials, by the names of its files and of the fields of findings.
_KINDS: Mapping[str, type] = {"scans": Scan, "votes": MajorityVote, "pairs": Paired}

_LEAD = """Every number is computed from [trials](reproduction.csv) and from what their ends tell ([lines between
them](reproduction-scans.csv), [votes](reproduction-votes.csv), [pairs](reproduction-pairs.csv)); [the
study](study.md) says how to run it again.
"""


def write_paper_report(
    store: Store, directory: str | Path, *, pairs: int = 3, formats: Sequence[str] = FORMATS
) -> Path:
    """Write the report of all trials in the store, finished or not, and return the path of its page.

    Data sets and methods that the paper does not have stand next to its own.

    Parameters
    ----------
    store : Store
    directory : str or Path
        Made if it is not there: index.html, report.md, trials.csv, scans.csv, votes.csv, pairs.csv, tables/, figures/.
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
    rows = findings.trials.rows
    datasets, methods = {row.dataset for row in rows}, {row.method for row in rows}
    lead = (
        "The experiments of Gold and Sollich, “Model Selection for Support Vector Machine Classification” (2003), run "
        f"again: {numbered(len(rows), 'trial')} of {numbered(len(methods), 'method')} on "
        f"{numbered(len(datasets), 'data set')}, with published numbers next to ours."
    )
    drawn = paths.paths(paths.shown_paths(store, findings))
    page = Document(TITLE, lead, contents(findings, drawn)).write(directory, formats=formats)
    _write(directory, findings, "trials", "")
    return page


def write_reproduction(directory: str | Path, store: Store | None = None) -> Path:
    """Write reproduction.md and its figures into a directory, from the tables there or from a store.

    With a store, the tables are made first: reproduction.csv, reproduction-scans.csv, reproduction-votes.csv,
    reproduction-pairs.csv, and reproduction-paths.json with the searches that figures show.
    """
    directory = Path(directory)
    shown = directory / "reproduction-paths.json"
    if store is not None:
        found = gather(store, pairs=PAIRS)
        paths.write_shown(shown, paths.shown_paths(store, found))
        _write(directory, found, "reproduction", "reproduction-")
    findings = read_tables(
        directory
    )  # also of a store: the page is the same when it is made again from rounded numbers
    sections = contents(findings, paths.paths(paths.read_shown(shown, findings)))
    (directory / "images").mkdir(exist_ok=True)
    for section in sections:
        section.parts[:] = [part for part in section.parts if not isinstance(part, figures.Spread)]  # too large
        for part in section.parts:
            if isinstance(part, Drawing):
                part.save(directory / "images", prefix="reproduction-", formats=("svg",))
    document = Document("What holds of the paper's numbers", "", sections)
    title, _, rest = document.markdown(figures="images/reproduction-").partition("\n\n")
    path = directory / "reproduction.md"
    path.write_text(f"{title}\n\n{_LEAD}\n{rest}", encoding="utf-8")  # the lead is Markdown, and no text of others
    return path


def read_tables(directory: Path) -> Findings:
    """Read the tables of the page; none where there are none."""
    rest: Any = {name: read_rows(directory / f"reproduction-{name}.csv", kind) for name, kind in _KINDS.items()}
    return Findings(Trials(read_rows(directory / "reproduction.csv")), **rest)


def _write(directory: Path, findings: Findings, trials: str, prefix: str) -> None:
    """Write what the page is made from as CSV."""
    write_rows(directory / f"{trials}.csv", findings.trials.rows)
    for name, kind in _KINDS.items():
        write_rows(directory / f"{prefix}{name}.csv", getattr(findings, name), kind)


def contents(findings: Findings, searches: Sequence[Drawing]) -> list[Section]:
    """Return all sections: the first part, then the appendix."""
    trials, near, views = findings.trials, findings.nearest(), findings.settings()
    histograms = [figures.Histograms.compute(near.trials, dataset) for dataset in all_datasets(trials)]
    spreads = [figures.Spread.compute(near.trials, dataset) for dataset in all_datasets(trials)]
    optima: list[PagePart | str | None] = ["No two trials of the same criterion on the same data are finished yet."]
    if near.scans:
        optima = [
            figures.Scans(tuple(near.scans)),
            *(tables.barriers(view, name) for name, view in views.items()),
            *spreads,
        ]
    if findings.votes:
        optima.append(variations.votes(findings))
    judged: list[PagePart | str | None] = [] if findings.miniature else [tables.claims(findings)]
    errors = [*(tables.means(view.trials, name) for name, view in [*views.items()][1:])]
    errors += [tables.cells(view.trials, name) for name, view in views.items()]
    appendix: dict[str, Sequence[PagePart | str | None]] = {
        "The claims": judged,
        "Test errors": [*errors, *([] if findings.miniature else [tables.misses(findings)])]
        if near.trials.rows
        else [],
        "Best trials and previous work": [
            *(tables.best(view.trials, name) for name, view in views.items()),
            tables.previous(trials),
            *_previous_misses(findings),
        ],
        "Spread of the errors": histograms,
        "Local optima": optima,
        "Single searches": list(searches) or ["No trial with a recorded path is finished yet."],
        "What the paper leaves open": _variations(findings),
        "All methods": methods_tables(trials, all_datasets(trials), all_methods(trials)),
        "Time and data": [
            tables.times(trials),
            tables.durations(near.trials),
            tables.lengths(findings),
            tables.sizes(findings.sizes),
            tables.test_rows(),
        ],
    }
    found = [*first_part(findings)]
    for title, parts in appendix.items():
        if shown := [
            part for part in parts if part is not None and not (isinstance(part, PageTable) and not part.rows)
        ]:
            found.append(Section(f"Appendix: {title[0].lower()}{title[1:]}", shown))
    return [*found, *closing_sections(trials)]


def _variations(findings: Findings) -> list[PagePart | str | None]:
    """Show what the paper leaves open, and how much depends on it."""
    if not findings.varied:
        return ["No setting was varied yet: marginwise study run --sensitivity.", variations.papers_sampler(findings)]
    return [
        *variations.settings(findings),
        variations.courses(findings),
        variations.other_draws(findings),
        *variations.smoothing(findings),
        variations.papers_sampler(findings),
        variations.normalised(findings),
        variations.pairs(findings),
        tables.known_noise(findings),
        variations.sampling_cost(findings),
        *map(told, ("open", "kernels", "subsets")),
    ]


def _previous_misses(findings: Findings) -> list[str]:
    """Say of cells of table 5 that are more than 2 standard errors away whether the draw of the data may be why."""
    cells, trials = [], findings.trials
    for cell in compare_previous(findings.trials):
        z = cell.in_standard_errors
        if z is None or abs(z) <= 2 or cell.published is None:
            continue
        name = f"{cell.name} ({minus(f'{z:+.1f}')} se)"
        over = over_draws(trials, cell.dataset, cell.column, cell.column.method).ours
        if cell.dataset not in DRAWN or over.sd is None or over.mean is None:
            cells.append(f"{name}: one split, no experiment")
            continue
        inside = abs(cell.published - over.mean) <= 2 * over.sd
        cells.append(f"{name}: over draws {spread(over)}, {'which has' if inside else 'far from'} the quoted number")
    if not cells or not findings.varied:
        return []
    return [told("previous", cells="; ".join(cells))]
