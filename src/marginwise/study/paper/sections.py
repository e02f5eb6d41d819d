"""What a report says, in reading order: sections of paragraphs, tables and figures, all computed from the trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from marginwise.display import Cell, Drawing, Facts, Notes, PagePart, PageTable, Section, Value
from marginwise.display.table import minus
from marginwise.study.paper import figures, tables
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims import CLAIMS, FAILS, HOLDS, IN_PART, UNTESTED, judged
from marginwise.study.paper.compare import Comparison, all_datasets, all_methods, compare_means, n_test
from marginwise.study.paper.findings import EARLY, Findings
from marginwise.study.paper.methods import METHODS
from marginwise.study.report.summary import Trials
from marginwise.study.report.tables import methods as methods_tables


def overview(findings: Findings) -> Section:
    """Tell the story in numbers."""
    trials = findings.trials
    section = Section("Overview")
    cells = [cell for cell in _published(trials) if cell.within(1) is not None]
    verdicts = Counter(judgement.verdict for _, judgement in judged(findings))
    n_done = len(trials.rows) - len(trials.failed)
    section.parts.append(
        Facts(
            [
                (f"{_within(cells, 1)} of {len(cells)}", "means of the main table within ± 1 of the paper's sd"),
                (f"{_within(cells, 2)} of {len(cells)}", "within ± 2 of it"),
                (
                    f"{verdicts[HOLDS]} of {len(CLAIMS)}",
                    f"claims hold; {verdicts[IN_PART]} in part, {verdicts[FAILS]} not",
                ),
                (f"{n_done:,}", f"finished trials; {len(trials.failed)} failed"),
            ]
        )
    )
    section.parts.extend(story(findings))
    if others := _others(trials):
        section.parts.append(others)
    missing = [f"{paper.DATASETS[d]}, {column.label}" for d, column in _empty_cells(trials)]
    warnings = []
    if missing:
        warnings.append(f"{len(missing)} of the 30 cells of the main table have no trial yet: {_shortened(missing)}.")
    if short := _short_cells(trials):
        warnings.append(f"{len(short)} cells have fewer trials than the paper: {_shortened(short)}.")
    if reduced := _reduced(trials):
        warnings.append(
            f"A miniature, with fewer test points than the paper's on {', '.join(reduced)}: it shows that everything "
            "works, not what holds."
        )
    if trials.failed:
        warnings.append(f"{len(trials.failed)} trials failed; they are listed at the end.")
    section.parts.append(Notes(warnings))
    return section


def story(findings: Findings) -> Iterable[str]:
    """Say what the paper claimed and what came of it."""
    yield (
        "The paper's main result: criteria that are simple to compute have many local optima, of which some are good "
        "and a significant fraction are not; ascending the exact evidence also ends in local optima, but in better and "
        "more consistent ones. You get what you pay for."
    )
    by_statement = dict(judged(findings))
    for claim in CLAIMS:
        if claim.section.startswith("Abstract") and by_statement[claim].verdict != UNTESTED:
            judgement = by_statement[claim]
            yield f"{claim.statement} This {judgement.verdict}. {judgement.numbers}"
    leaders = _leaders(findings.trials)
    if leaders:
        yield (
            "Over all methods, the lowest mean test errors, averaged over the data sets: "
            + ", ".join(f"{method} {mean:.2f} %" for method, mean in leaders)
            + "."
        )
    seconds = findings.trials.seconds_per_step("twonorm", paper.EVIDENCE.method)
    if seconds:
        published = paper.SECONDS["twonorm"][5]
        yield (
            f"A step of evidence ascent on Twonorm takes {seconds:.2g} s; it took the paper {published:,} s, "
            f"{published / seconds:,.0f} times as long."
        )


def claims(findings: Findings) -> Section:
    """List the paper's claims, each with its verdict."""
    tones = {HOLDS: "good", IN_PART: "mixed", FAILS: "bad"}
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for number, (claim, judgement) in enumerate(judged(findings), start=1):
        verdict = Cell(judgement.verdict, None, tones.get(judgement.verdict, ""))
        statement = Cell(claim.statement, detail=f"Section: {claim.section}")
        rows.append([number, statement, verdict, Cell(judgement.numbers, detail=f"Rule: {claim.rule}")])
        records.append(
            {
                "statement": claim.statement,
                "verdict": judgement.verdict,
                "numbers": judgement.numbers,
                "rule": claim.rule,
                "section": claim.section,
            }
        )
    header = ["No.", "The paper says", "and it", "by these numbers"]
    note = "Every verdict is computed, by the rule below its numbers."
    table = PageTable("claims", "What the paper says, and whether it holds", note, header, rows, records)
    return Section("The paper's claims", [table])


def errors(trials: Trials, reasons: dict[tuple[str, str], str] | None = None) -> Section:
    """Show the main table, and what does not agree."""
    section = Section("Test errors", [tables.means(trials)])
    if (methods := figures.methods(trials)) is None:
        return Section("Test errors", ["No trial is finished yet."])
    section.parts.extend([methods, tables.cells(trials), misses(trials, reasons or {})])
    return section


def misses(trials: Trials, reasons: dict[tuple[str, str], str]) -> PageTable | str:
    """List the cells that are not within one of the paper's standard deviations, with what is known about them."""
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for cell in tables.misses(trials, 1):
        assert cell.difference is not None
        assert cell.published_sd is not None
        apart = cell.difference / cell.published_sd
        name = f"{paper.label(cell.dataset)}, {cell.column.label}"
        known = " ".join([_known(trials, cell), reasons.get((cell.dataset, cell.column.label), "")]).strip()
        rows.append([name, Cell(minus(f"{apart:+.1f}"), apart), known])
        records.append({"dataset": cell.dataset, "column": cell.column.label, "in_their_sd": apart, "known": known})
    if not rows:
        return "Every mean that there is lies within one of the paper's standard deviations."
    header = ["Cell", "ours − theirs, in their sd", "what the trials show"]
    note = "Sorted as the paper's table; click on a column to sort by it."
    return PageTable("misses", "Means not within one standard deviation", note, header, rows, records)


def _known(trials: Trials, cell: Comparison) -> str:
    """Say what the trials tell about a difference: their spread, other predictions with the same settings, bounds."""
    ours = cell.ours
    parts = [f"Ours: {ours.best:.1f} to {ours.worst:.1f} %, median {ours.median:.1f}."]
    posterior = trials.sample(cell.dataset, cell.column.method, "posterior_error")
    if cell.column.field == "test_error" and posterior.mean is not None:
        parts.append(f"Predicted by the posterior: {posterior.mean:.1f} %.")
    oracle = trials.sample(cell.dataset, cell.column.method, "oracle_error")
    if cell.column.field == "test_error" and oracle.mean is not None:
        parts.append(f"Least along the path: {oracle.mean:.1f} %.")
    if early := _early(trials, cell):
        parts.append(early)
    if at_bounds := trials.at_bounds(cell.dataset, cell.column.method):
        parts.append(f"Some hyperparameter is at a bound in {at_bounds} of {ours.n} trials.")
    endings = trials.endings(cell.dataset, cell.column.method).most_common(2)
    if known := [f"{words} ({n})" for words, n in endings if words]:
        parts.append(f"Ended: {', '.join(known)}.")
    newton = trials.sample(cell.dataset, cell.column.method.replace("-walk", "-newton"))
    if cell.column in paper.SIMPLE and newton.mean is not None:
        parts.append(f"The same criterion by quasi-Newton: {newton.mean:.1f} %.")
    return " ".join(parts)


def _early(trials: Trials, cell: Comparison) -> str:
    """Say what the test error of a walk was long before it ended: where the paper's ended is not known."""
    if cell.column not in paper.SIMPLE:
        return ""
    found = []
    for share in EARLY:
        name = f"error_after_{share}"
        errors = [row.extra[name] for row in trials.done(cell.dataset, cell.column.method) if name in row.extra]
        if errors:
            found.append(f"{100 * np.mean(errors):.1f} % after {share}")
    return f"Along the walk: {', '.join(found)} percent of its evaluations." if found else ""


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
    """Say what there is beside the paper's study."""
    datasets = [name for name in trials.datasets if name not in paper.DATASETS]
    methods = [name for name in trials.methods if name not in METHODS]
    parts = [
        f"the {word}{'s' if len(names) > 1 else ''} {', '.join(names)}"
        for word, names in (("data set", datasets), ("method", methods))
        if names
    ]
    return f"Beside what the paper has, every table has {' and '.join(parts)}." if parts else ""


def _within(cells: list[Comparison], multiple: float) -> int:
    return sum(bool(cell.within(multiple)) for cell in cells)


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


def _reduced(trials: Trials) -> list[str]:
    return [label for d, label in paper.DATASETS.items() if n_test(trials, d) < paper.SIZES[d][2]]


def _leaders(trials: Trials, count: int = 3) -> list[tuple[str, float]]:
    """Return the methods with the least error averaged over all data sets."""
    means = {}
    for method in all_methods(trials):
        found = [trials.sample(dataset, method).mean for dataset in paper.DATASETS]
        known = [mean for mean in found if mean is not None]
        if len(known) == len(found):
            means[method] = float(np.mean(known))
    return sorted(means.items(), key=lambda pair: pair[1])[:count]


def _shortened(items: list[str], most: int = 6) -> str:
    return "; ".join(items[:most]) + (f"; and {len(items) - most} more" if len(items) > most else "")
