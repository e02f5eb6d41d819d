"""What a report says, in reading order: sections of paragraphs, tables and figures, all computed from the trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from marginwise._wording import numbered
from marginwise.display.document import Facts, Notes, PagePart, Section
from marginwise.display.drawing import Drawing
from marginwise.display.page import Cell, Value
from marginwise.display.table import PageTable, minus
from marginwise.study.paper import figures, tables
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims import CLAIMS, held_in, judged
from marginwise.study.paper.claims.claim import ANSWERED, FAILS, HOLDS, IN_PART, UNTESTED
from marginwise.study.paper.compare import (
    Comparison,
    all_datasets,
    all_methods,
    compare_means,
    compare_previous,
    compared,
)
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.names import (
    ASCENT_DETAILS,
    DRAWN,
    PAPER_TRIALS,
    SMOOTHED,
    WALK_DETAILS,
    as_in_paper,
)
from marginwise.study.paper.sensitivity import Sensitivity
from marginwise.study.paper.story import agreement, story, verdicts
from marginwise.study.report.summary import Trials
from marginwise.study.report.tables import methods as methods_tables
from marginwise.study.report.tables import spread


def overview(findings: Findings) -> Section:
    """Say what a reader wants to know first."""
    trials = findings.trials
    section = Section("Overview")
    if findings.miniature:
        limits = f" ({findings.limits})" if findings.limits else ""
        words = (
            f"This is a miniature, with few rows or short searches{limits}: it shows that everything works, not what"
        )
        section.parts.append(Notes([f"{words} holds."]))
    section.parts.append(Facts([*_facts(findings), _finished(trials)]))
    section.parts.extend(story(findings))
    if others := _others(trials):
        section.parts.append(others)
    missing = [f"{paper.DATASETS[d]}, {column.label}" for d, column in _empty_cells(trials)]
    warnings = []
    if missing:
        warnings.append(f"{len(missing)} of the 30 cells of the main table have no trial yet: {_shortened(missing)}.")
    if not findings.miniature and (short := _short_cells(trials)):
        warnings.append(f"{len(short)} cells have fewer trials than the paper: {_shortened(short)}.")
    if trials.failed:
        warnings.append(f"{numbered(len(trials.failed), 'trial')} failed: see the end.")
    section.parts.append(Notes(warnings))
    return section


def _facts(findings: Findings) -> Iterable[tuple[str, str]]:
    """Count cells and claims in each setting; not in a miniature, which tells nothing about them."""
    if findings.miniature:
        return
    for name, view in findings.settings().items():
        one, two, total = agreement(view)
        found = verdicts(view)
        if total:
            yield (
                f"{one} of {total}",
                f"means of the main table within ± 1 of the paper's sd, {name}; {two} within 2 se",
            )
        if tested := len(CLAIMS) - found[UNTESTED]:
            untested = f", {found[UNTESTED]} not tested" if found[UNTESTED] else ""
            yield (
                f"{found[HOLDS] + found[ANSWERED]} of {tested}",
                f"claims hold or were answered since, {name}; {found[IN_PART]} in part, {found[FAILS]} not{untested}",
            )


def _finished(trials: Trials) -> tuple[str, str]:
    return f"{len(trials.rows) - len(trials.failed):,}", f"finished trials; {len(trials.failed)} failed"


def claims(findings: Findings) -> Section:
    """List the paper's claims, each with its verdict in every setting."""
    if findings.miniature:
        return Section(
            "The paper's claims", [f"The {len(CLAIMS)} claims are judged by a full run, not by a miniature."]
        )
    tones = {HOLDS: "good", ANSWERED: "good", IN_PART: "mixed", FAILS: "bad"}
    views = {name: dict(judged(view)) for name, view in findings.settings().items()}
    elsewhere = held_in(findings) if findings.varied.rows else {}
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for number, claim in enumerate(CLAIMS, start=1):
        judgements = {name: view[claim] for name, view in views.items()}
        cells = [Cell(found.verdict, None, tones.get(found.verdict, "")) for found in judgements.values()]
        told = list(dict.fromkeys(found.numbers for found in judgements.values()))
        numbers = (
            told[0] if len(told) == 1 else " ".join(f"{n.capitalize()}: {f.numbers}" for n, f in judgements.items())
        )
        numbers += _elsewhere(*elsewhere[claim]) if claim in elsewhere else ""
        statement = Cell(claim.statement, detail=f"Section: {claim.section}")
        rows.append([number, statement, *cells, Cell(numbers, detail=f"Rule: {claim.rule}")])
        records.append(
            {
                "statement": claim.statement,
                **{name: found.verdict for name, found in judgements.items()},
                "numbers": numbers,
                "rule": claim.rule,
                "section": claim.section,
            }
        )
    header = ["No.", "The paper says", *views, "by these numbers"]
    note = (
        "Every verdict is computed, by the rule below its numbers; rules that the paper's printed tables can decide "
        "were applied to these first. Other settings have a few trials each."
    )
    table = PageTable("claims", "What the paper says, and whether it holds", note, header, rows, records)
    return Section("The paper's claims", [table])


def _elsewhere(holds: Sequence[str], known: Sequence[str]) -> str:
    """Say in which of the other settings a claim holds."""
    if not known:
        return ""
    if len(holds) in (0, len(known)):
        return f" In {'none' if not holds else 'all'} of {len(known)} other settings it holds."
    return f" Of {len(known)} other settings it holds in {len(holds)}: {_shortened(list(holds))}."


def errors(findings: Findings) -> Section:
    """Show the main table in every setting, and what does not agree."""
    if (drawn := figures.methods(findings.trials)) is None:
        return Section("Test errors", ["No trial is finished yet."])
    views = findings.settings()
    parts: list[PagePart | str] = [tables.means(view.trials, name) for name, view in views.items()]
    parts += [drawn, *(tables.cells(view.trials, name) for name, view in views.items())]
    if not findings.miniature:
        parts.append(misses(findings, next(iter(views.values()))))
    return Section("Test errors", [*parts, *impossible()])


def misses(findings: Findings, view: Findings) -> PageTable | str:
    """List cells not within one of the paper's standard deviations, with the experiments that move them there."""
    found = Sensitivity.of(findings)
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for cell in tables.misses(view.trials, 1):
        assert cell.difference is not None
        assert cell.published_sd is not None
        apart = cell.difference / cell.published_sd
        name = f"{paper.label(cell.dataset)}, {cell.column.label}"
        known = f"Ours: {cell.ours.best:.1f} to {cell.ours.worst:.1f} %, median {cell.ours.median:.1f}."
        moved = [] if found is None else movers(found, cell)
        if moved:
            known += f" Within one standard deviation {'; '.join(moved)}."
        elif found is not None:
            known += " No setting or draw that was tried brings it within one: not explained."
        rows.append([name, Cell(minus(f"{apart:+.1f}"), apart), known])
        records.append({"dataset": cell.dataset, "column": cell.column.label, "in_their_sd": apart, "known": known})
    if not rows:
        return "Every mean that there is lies within one of the paper's standard deviations."
    header = ["Cell", "ours − theirs, in their sd", "what experiments show"]
    note = "Means in the setting nearest to the paper. Sorted as the paper's table; click on a column to sort by it."
    return PageTable("misses", "Means not within one standard deviation", note, header, rows, records)


def movers(found: Sensitivity, cell: Comparison) -> list[str]:
    """Return what brings a cell within one of the paper's standard deviations: settings, smoothing, other draws."""
    details = WALK_DETAILS if cell.column in paper.SIMPLE else ASCENT_DETAILS
    kind = "walks" if cell.column in paper.SIMPLE else "ascents"
    inside = [
        f"{key} ({spread(other.ours)})"
        for key in details
        if (other := found.cell(cell.dataset, cell.column, key)).within(1)
    ]
    moved = [f"with the {kind} {', '.join(inside)}"] if inside else []
    published = paper.ERRORS[cell.dataset][paper.COLUMNS.index(cell.column)]
    for name, method in SMOOTHED.items():
        smoothed = found.trials.sample(cell.dataset, name)
        if method == cell.column.method and compared(cell.dataset, cell.column, published, smoothed).within(1):
            moved.append(f"with {name} ({spread(smoothed)})")
    if cell.dataset in DRAWN:
        over = found.over_draws(cell.dataset, cell.column, as_in_paper(cell.column.method))
        if over.n > 1 and compared(cell.dataset, cell.column, published, over).within(1):
            moved.append(f"over {over.n} draws of the data ({spread(over)})")
    return moved


def impossible() -> list[str]:
    """Say which printed cells contradict each other: no n numbers have this mean, standard deviation and least."""
    found = [
        f"{paper.DATASETS[dataset]}, {column.label} ({mean} ± {sd} with a best of {best}: at most ± {most:.1f})"
        for dataset, column, (mean, sd), best, most in paper.contradictions()
    ]
    if not found:
        return []
    return [
        "Numbers in the paper's tables 3 and 4 that cannot both be right, because n numbers with this mean and least "
        f"have a smaller standard deviation, √n (mean − least) at most: {'; '.join(found)}."
    ]


def previous(findings: Findings) -> Section:
    """Show the best trials, in every setting, and the methods of previous work."""
    best = [tables.best(view.trials, name) for name, view in findings.settings().items()]
    found = Sensitivity.of(findings)
    apart = [] if found is None else previous_misses(findings, found)
    return Section("Best trials and previous work", [*best, tables.previous(findings.trials), *apart])


def previous_misses(findings: Findings, found: Sensitivity) -> list[str]:
    """Say of cells of table 5 that are more than 2 standard errors away whether the draw of the data may be why."""
    told = []
    for cell in compare_previous(findings.trials):
        z = cell.in_standard_errors
        if z is None or abs(z) <= 2 or cell.published is None:
            continue
        over = found.over_draws(cell.dataset, cell.column, cell.column.method) if cell.dataset in DRAWN else None
        name = f"{paper.label(cell.dataset)}, {cell.column.label} ({minus(f'{z:+.1f}')} se)"
        if over is None or over.sd is None or over.mean is None:
            told.append(f"{name}: one split, no experiment")
            continue
        inside = abs(cell.published - over.mean) <= 2 * over.sd
        told.append(
            f"{name}: over {over.n} draws {spread(over)}, {'which has' if inside else 'far from'} the quoted number"
        )
    if not told:
        return []
    return [
        "Cells of table 5 that are more than 2 standard errors away, and what other draws of the data show: "
        + "; ".join(told)
        + ". Where the draw is not why, the reason is not known: the methods are those of the works quoted as far as "
        "the paper tells, and their programs are not at hand."
    ]


def times(findings: Findings) -> Section:
    """Show the cost of a step, and the sizes of the data."""
    return Section("Time and data", [tables.times(findings.trials), tables.sizes(findings.sizes)])


def separation(findings: Findings) -> Section:
    """Show whether the ends of searches are separate optima."""
    if not findings.scans:
        return Section("Local optima", ["No two trials of the same criterion on the same data are finished yet."])
    return Section("Local optima", [figures.Scans(tuple(findings.scans)), tables.barriers(findings.scans)])


def optima(findings: Findings) -> Section:
    """Show local optima, and how far apart they are."""
    section = separation(findings)
    spreads = [figures.Spread.compute(findings.trials, dataset) for dataset in all_datasets(findings.trials)]
    section.parts.extend(spread for spread in spreads if spread is not None)
    return section


def histograms(trials: Trials) -> Section:
    """Show how errors are spread over trials."""
    found = [figures.Histograms.compute(trials, dataset) for dataset in all_datasets(trials)]
    parts: list[PagePart | str] = [drawing for drawing in found if drawing is not None]
    return Section("Spread of the errors", parts or ["No trial of the paper's methods is finished yet."])


def paths(drawings: Sequence[Drawing]) -> Section:
    """Show single searches."""
    return Section("Single searches", list(drawings) or ["No trial with a recorded path is finished yet."])


def side_by_side(trials: Trials) -> Section:
    """Compare all methods, the paper's and ours."""
    found = methods_tables(trials, all_datasets(trials), all_methods(trials))
    return Section("All methods", list(found) or ["No trial is finished yet."])


def _others(trials: Trials) -> str:
    """Say what there is in addition to the paper's study."""
    datasets = [name for name in trials.datasets if name not in paper.DATASETS]
    methods = [name for name in trials.methods if name not in PAPER_TRIALS]
    parts = [
        f"the {word}{'s' if len(names) > 1 else ''} {', '.join(names)}"
        for word, names in (("data set", datasets), ("method", methods))
        if names
    ]
    return f"In addition to what the paper has, every table has {' and '.join(parts)}." if parts else ""


def _published(trials: Trials) -> list[Comparison]:
    """Return the cells of the main table for which the paper has a number."""
    return [cell for cell in compare_means(trials) if cell.published is not None]


def _empty_cells(trials: Trials) -> list[tuple[str, paper.PaperColumn]]:
    return [(cell.dataset, cell.column) for cell in _published(trials) if not cell.ours.n]


def _short_cells(trials: Trials) -> list[str]:
    return [
        f"{paper.DATASETS[dataset]}, {column.label} ({n} of {paper.trials(dataset, column.method)})"
        for dataset in paper.DATASETS
        for column in paper.COLUMNS[:5]
        if 0 < (n := trials.sample(dataset, column.method).n) < paper.trials(dataset, column.method)
    ]


def _shortened(items: list[str], most: int = 6) -> str:
    return "; ".join(items[:most]) + (f"; and {len(items) - most} more" if len(items) > most else "")
