"""The paper's tables with our numbers next to the published ones, and rows and columns for what it did not try."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from marginwise.datasets.benchmarks import load_benchmark
from marginwise.display.page import NOTHING, Cell, Value
from marginwise.display.table import PageTable, minus, signed
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import (
    Comparison,
    all_datasets,
    compare_best,
    compare_means,
    compare_previous,
    with_own,
)
from marginwise.study.paper.numbers import PaperColumn
from marginwise.study.paper.optima import SCANNED, Scan
from marginwise.study.report.summary import Trials
from marginwise.study.report.tables import spread

#: The column of one training of the SVM.
_SVM = paper.TIME_COLUMNS[0]

#: Evidence ascent by the paper's own sampler.
_HMC = PaperColumn("Evid grad, HMC", "hmc-ascent")

_COUNTED = (
    "The standard error of an error ε counted on n test points is √(ε(1−ε)/n), that of a difference the root of the "
    "sum of squares."
)


def sizes(own: Mapping[str, tuple[int, int, int]] | None = None) -> PageTable:
    """Return table tab:data next to the sets that the library has, and the sizes of ``own`` sets."""
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    benchmarks = {dataset: load_benchmark(dataset) for dataset in paper.DATASETS}
    ours = {name: (data.n_inputs, len(data.y_train), len(data.y_test)) for name, data in benchmarks.items()}
    for dataset, here in {**ours, **(own or {})}.items():
        theirs = paper.SIZES.get(dataset, (None, None, None))
        pairs = list(zip(here, theirs, strict=True))
        rows.append([paper.label(dataset), *(both for pair in pairs for both in pair)])
        for what, (value, published) in zip(("inputs", "training", "test"), pairs, strict=True):
            records.append({"dataset": dataset, "what": what, "published": published, "ours": value})
    header = ["Data set", "inputs", "paper", "training", "paper", "test", "paper"]
    return PageTable(
        "table1-data",
        "Table 1. Data sets",
        "Sizes of the library's sets next to the paper's.",
        header,
        rows,
        records,
    )


def times(trials: Trials) -> PageTable:
    """Return table tab:time next to our seconds of an evaluation."""
    columns = [PaperColumn(_SVM, _SVM), *with_own((*paper.COLUMNS[:5], _HMC), trials)]
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for dataset, label in all_datasets(trials).items():
        theirs = dict(zip(paper.TIME_COLUMNS, paper.SECONDS.get(dataset, ()), strict=False))
        cells: list[Value] = [label]
        for column in columns:
            alone = column.method == _SVM
            found = trials.svm_seconds(dataset) if alone else trials.seconds_per_step(dataset, column.method)
            published = theirs.get(paper.EVIDENCE.label if column == _HMC else column.label)
            cells.append(_timing(found, published))
            factor = published / found if found and published else None
            numbers = {"published": published, "ours": found, "factor": factor}
            records.append({"dataset": dataset, "column": column.label, **numbers})
        rows.append(cells)
    note = (
        "Seconds of one step: ours; below it the paper's, and how many times as long that is. Ours is CPU time for "
        "each evaluation of the criterion; the paper's is from a Hewlett-Packard V-Class. SVM: one training. HMC: the "
        "paper's own sampler, with its 40,000 steps for each gradient."
    )
    header = ["Data set", *(column.label for column in columns)]
    return PageTable("table2-times", "Table 2. Time of an optimisation step", note, header, rows, records)


def means(trials: Trials, setting: str) -> PageTable:
    """Return table tab:results, each cell next to ours, and the honest early stopping that the paper proposes."""
    compared = compare_means(trials)
    rows: list[list[Value]] = []
    for dataset, label in all_datasets(trials).items():
        honest = trials.sample(dataset, paper.EVIDENCE.method, "early_error")
        cells = [_mean_cell(cell) for cell in compared if cell.dataset == dataset]
        cells.insert(len(paper.COLUMNS), Cell(spread(honest), honest.mean))
        rows.append([label, *cells])
    header = [column.label for column in with_own(paper.COLUMNS, trials)]
    header.insert(len(paper.COLUMNS), "ES, validated")
    note = (
        "Test error in %, mean ± standard deviation over trials: ours, and below it the paper's. ES is the least test "
        "error along the ascent, an oracle; the column after it stops where an independent validation set says so, and "
        "is not in the paper. Green: our mean is within one of their standard deviations; red: not within two."
    )
    title = f"Table 3. Test error, {setting}"
    return PageTable(
        f"table3-{_stem(setting)}-wide", title, note, ["Data set", *header], rows, _comparison_records(compared)
    )


def cells(trials: Trials, setting: str) -> PageTable:
    """Return the cells of table tab:results one by one, and others that have trials."""
    compared = [cell for cell in compare_means(trials) if cell.published is not None or cell.ours.n]
    rows: list[list[Value]] = []
    for cell in compared:
        rows.append(
            [
                f"{paper.label(cell.dataset)}, {cell.column.label}",
                Cell(_theirs(cell) or NOTHING, cell.published),
                Cell(spread(cell.ours), cell.ours.mean),
                cell.ours.n,
                signed(cell.difference),
                signed(cell.in_standard_errors),
                _verdict(cell),
            ]
        )
    header = ["Cell", "paper", "ours", "trials", "difference", "in standard errors", "our mean is"]
    note = (
        "Test error in %. The difference is ours − theirs, and its standard error √(s²/n + s′²/n′) with both standard "
        "deviations and numbers of trials."
    )
    title = f"Table 3, cell by cell, {setting}"
    return PageTable(f"table3-{_stem(setting)}", title, note, header, rows, _comparison_records(compared))


def best(trials: Trials, setting: str) -> PageTable:
    """Return table tab:bestresults."""
    compared = compare_best(trials)
    note = (
        "Test error in % of the best trial: ours; below it the paper's, and the difference in standard errors. "
        f"{_COUNTED} The best of many trials is chosen by its test error: an oracle."
    )
    title = f"Table 4. Best single trial, {setting}"
    return _single(f"table4-{_stem(setting)}", title, note, trials, paper.COLUMNS, compared)


def previous(trials: Trials) -> PageTable:
    """Return table tab:prevresults, the methods of previous work run again."""
    compared = compare_previous(trials)
    note = (
        "Test error in %, mean over trials: ours; below it what the paper quotes, and the difference in standard "
        f"errors. GP MF is expectation propagation with a probit likelihood. {_COUNTED}"
    )
    title = "Table 5. Methods of previous work"
    return _single("table5-previous", title, note, trials, paper.PREVIOUS_COLUMNS, compared)


def barriers(scans: Sequence[Scan]) -> PageTable:
    """Return how many pairs of ends are separate optima, by data set and criterion."""
    rows: list[list[Value]] = []
    for dataset in dict.fromkeys([*paper.DATASETS, *(scan.dataset for scan in scans)]):
        cells: list[Value] = [paper.label(dataset)]
        for column in SCANNED:
            found = [scan for scan in scans if scan.dataset == dataset and scan.method == column.method]
            separate = sum(scan.separate for scan in found)
            greatest = max((scan.barrier for scan in found), default=0.0)
            text = f"{separate} of {len(found)}" if found else NOTHING
            cells.append(Cell(text, separate if found else None, detail=f"{greatest:.2g}" if found else ""))
        rows.append(cells)
    note = "Pairs of ends between which the criterion is worse than at either; below, by how much at most."
    header = ["Data set", *(column.label for column in SCANNED)]
    records = [scan.record() for scan in scans]
    return PageTable("scans", "Pairs of ends that are separate optima", note, header, rows, records)


def misses(trials: Trials, multiple: float) -> list[Comparison]:
    """Return the cells of the main table whose mean is not within so many of the paper's standard deviations."""
    return [cell for cell in compare_means(trials) if cell.within(multiple) is False]


def _single(
    name: str, title: str, note: str, trials: Trials, columns: Iterable[PaperColumn], compared: list[Comparison]
) -> PageTable:
    """Return a table of single errors; a dash where the paper has one."""
    found = {(cell.dataset, cell.column): cell for cell in compared}
    shown = with_own(tuple(columns), trials)
    rows: list[list[Value]] = [
        [label, *(_single_cell(found.get((dataset, column))) for column in shown)]
        for dataset, label in all_datasets(trials).items()
    ]
    header = ["Data set", *(column.label for column in shown)]
    return PageTable(name, title, note, header, rows, _comparison_records(compared))


def _stem(setting: str) -> str:
    return setting.replace(" ", "-")


def _single_cell(cell: Comparison | None) -> Value:
    if cell is None:
        return None
    published = _theirs(cell)
    if cell.value is None:
        return Cell(NOTHING, detail=published)
    z = cell.in_standard_errors
    tone = "" if z is None else "bad" if abs(z) > 2 else "good" if abs(z) <= 1 else ""
    apart = "" if z is None else f"; {minus(f'{z:+.1f}')} se"
    return Cell(f"{cell.value:.1f}", cell.value, tone, f"{published}{apart}")


def _mean_cell(cell: Comparison) -> Cell:
    tone = "good" if cell.within(1) else "bad" if cell.within(2) is False else ""
    return Cell(spread(cell.ours), cell.ours.mean, tone, _theirs(cell))


def _theirs(cell: Comparison) -> str:
    """Return what the paper has in a cell; nothing if it has not."""
    if cell.published is None:
        return ""
    return f"{cell.published:.1f}" if cell.published_sd is None else f"{cell.published:.1f} ± {cell.published_sd:.1f}"


def _verdict(cell: Comparison) -> Value:
    if cell.within(1) is None:
        return None
    assert cell.difference is not None
    assert cell.published_sd is not None
    multiple = abs(cell.difference) / cell.published_sd
    text = "within 1 sd" if cell.within(1) else "within 2 sd" if cell.within(2) else f"{multiple:.1f} sd away"
    return Cell(text, multiple, "good" if cell.within(1) else "" if cell.within(2) else "bad")


def _timing(found: float | None, published: float | None) -> Cell:
    theirs = "" if published is None else f"{published:g}"
    if not found:
        return Cell(NOTHING, detail=theirs)
    times_as_long = "" if published is None else f"; ×{published / found:,.0f}"
    return Cell(f"{found:.2g}", found, detail=f"{theirs}{times_as_long}")


def _comparison_records(compared: list[Comparison]) -> list[dict[str, object]]:
    return [
        {
            "dataset": cell.dataset,
            "column": cell.column.label,
            "method": cell.column.method,
            "published": cell.published,
            "published_sd": cell.published_sd,
            "ours": cell.value,
            "ours_mean": cell.ours.mean,
            "ours_sd": cell.ours.sd,
            "trials": cell.ours.n,
            "difference": cell.difference,
            "standard_error": cell.standard_error,
            "in_standard_errors": cell.in_standard_errors,
            "within_1_sd": cell.within(1),
            "within_2_sd": cell.within(2),
        }
        for cell in compared
    ]
