"""The paper's tables with our numbers beside the published ones, and the tables of what the paper did not try."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from marginwise.datasets import load_benchmark
from marginwise.display import Cell
from marginwise.display.page import NOTHING, Value
from marginwise.study.paper import numbers as paper
from marginwise.study.plan import PAPER_TRIALS
from marginwise.study.paper.optima import Scan
from marginwise.study.report.summary import Comparison, Sample, Trials, compare_best, compare_means, compare_previous
from marginwise.display.table import Table, minus, signed, spread

_COUNTED = (
    "The standard error of an error ε counted on n test points is √(ε(1−ε)/n), that of a difference the root of the "
    "sum of squares."
)


def sizes() -> Table:
    """Return table tab:data beside the sets that the library has."""
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for dataset, label in paper.DATASETS.items():
        data = load_benchmark(dataset)
        here = (data.n_inputs, len(data.y_train), len(data.y_test))
        rows.append([label, *(both for pair in zip(here, paper.SIZES[dataset], strict=True) for both in pair)])
        for what, value, published in zip(("inputs", "training", "test"), here, paper.SIZES[dataset], strict=True):
            records.append({"dataset": dataset, "what": what, "published": published, "ours": value})
    header = ["Data set", "inputs", "paper", "training", "paper", "test", "paper"]
    return Table(
        "table1-data", "Table 1. Data sets", "Sizes of the library's sets beside the paper's.", header, rows, records
    )


def times(trials: Trials) -> Table:
    """Return table tab:time beside our seconds of an evaluation."""
    methods = [None, *(column.method for column in paper.COLUMNS[:5])]
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for dataset, label in paper.DATASETS.items():
        cells: list[Value] = [label]
        for column, method, published in zip(paper.TIME_COLUMNS, methods, paper.SECONDS[dataset], strict=True):
            found = trials.svm_seconds(dataset) if method is None else trials.seconds_per_step(dataset, method)
            cells.append(_timing(found, published))
            factor = published / found if found else None
            records.append(
                {"dataset": dataset, "column": column, "published": published, "ours": found, "factor": factor}
            )
        rows.append(cells)
    note = (
        "Seconds of one step: ours; below it the paper's, and how many times as long that is. Ours is CPU time for "
        "each evaluation of the criterion; the paper's is from a Hewlett-Packard V-Class. SVM: one training."
    )
    return Table(
        "table2-times", "Table 2. Time of an optimisation step", note, ["Data set", *paper.TIME_COLUMNS], rows, records
    )


def means(trials: Trials) -> Table:
    """Return table tab:results, each cell beside ours, and the honest early stopping that the paper proposes."""
    compared = compare_means(trials)
    rows: list[list[Value]] = []
    for dataset, label in paper.DATASETS.items():
        honest = trials.sample(dataset, paper.EVIDENCE.method, "early_error")
        cells = [_mean_cell(cell) for cell in compared if cell.dataset == dataset]
        rows.append([label, *cells, Cell(spread(honest), honest.mean)])
    header = ["Data set", *(column.label for column in paper.COLUMNS), "ES, validated"]
    note = (
        "Test error in %, mean ± standard deviation over trials: ours, and below it the paper's. ES is the least test "
        "error along the ascent, an oracle; the last column stops where a validation set says so, and is not in the "
        "paper. Green: our mean is within one of their standard deviations; red: not within two."
    )
    return Table("table3-errors-wide", "Table 3. Test error", note, header, rows, _comparison_records(compared))


def cells(trials: Trials) -> Table:
    """Return the cells of table tab:results one by one."""
    compared = compare_means(trials)
    rows: list[list[Value]] = []
    for cell in compared:
        theirs = f"{cell.published:.1f} ± {cell.published_sd:.1f}"
        rows.append(
            [
                f"{paper.DATASETS[cell.dataset]}, {cell.column.label}",
                Cell(theirs, cell.published),
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
    return Table("table3-errors", "Table 3, cell by cell", note, header, rows, _comparison_records(compared))


def best(trials: Trials) -> Table:
    """Return table tab:bestresults."""
    compared = compare_best(trials)
    note = (
        "Test error in % of the best trial: ours; below it the paper's, and the difference in standard errors. "
        f"{_COUNTED} The best of many trials is chosen by its test error: an oracle."
    )
    header = ["Data set", *(column.label for column in paper.COLUMNS)]
    return Table(
        "table4-best", "Table 4. Best single trial", note, header, _single(compared), _comparison_records(compared)
    )


def previous(trials: Trials) -> Table:
    """Return table tab:prevresults, the methods of previous work run again."""
    compared = compare_previous(trials)
    note = (
        "Test error in %, mean over trials: ours; below it what the paper quotes, and the difference in standard "
        f"errors. GP MF is expectation propagation with a probit likelihood. {_COUNTED}"
    )
    header = ["Data set", *(column.label for column in paper.PREVIOUS_COLUMNS)]
    title = "Table 5. Methods of previous work"
    return Table("table5-previous", title, note, header, _single(compared), _comparison_records(compared))


#: Tables over all methods: file, title, field of a trial, how it is shown, note.
OURS: tuple[tuple[str, str, str, Callable[[Sample], str], str], ...] = (
    (
        "methods-error",
        "All methods: test error (%)",
        "test_error",
        lambda s: spread(s),
        "Mean ± standard deviation over trials.",
    ),
    (
        "methods-posterior-error",
        "All methods: test error (%) of the posterior",
        "posterior_error",
        lambda s: spread(s),
        "With the same hyperparameters the labels are predicted by the EP posterior instead of the SVM.",
    ),
    (
        "methods-log-loss",
        "All methods: log-loss of the posterior",
        "log_loss",
        lambda s: spread(s, 3),
        "Mean of −ln Q(y|x) over the test set in nats, by the EP posterior; ln 2 = 0.693 is guessing.",
    ),
    (
        "methods-seconds",
        "All methods: seconds of a trial",
        "seconds",
        lambda s: spread(s, 3),
        "Mean ± standard deviation.",
    ),
)


def ours(trials: Trials, name: str, title: str, what: str, show: Callable[[Sample], str], note: str) -> Table:
    """Return a table of all methods × data sets."""
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for method in PAPER_TRIALS:
        samples = [trials.sample(dataset, method, what) for dataset in paper.DATASETS]
        if any(sample.n for sample in samples):
            rows.append([method, *(Cell(show(sample), sample.mean) for sample in samples)])
            for dataset, sample in zip(paper.DATASETS, samples, strict=True):
                numbers = {"mean": sample.mean, "sd": sample.sd, "best": sample.best, "trials": sample.n}
                records.append({"dataset": dataset, "method": method, **numbers})
    return Table(name, title, note, ["Method", *paper.DATASETS.values()], rows, records)


def barriers(scans: Sequence[Scan]) -> Table:
    """Return how many pairs of ends are separate optima, by data set and criterion."""
    rows: list[list[Value]] = []
    for dataset, label in paper.DATASETS.items():
        cells: list[Value] = [label]
        for column in paper.COLUMNS[:5]:
            found = [scan for scan in scans if scan.dataset == dataset and scan.method == column.method]
            separate = sum(scan.separate for scan in found)
            greatest = max((scan.barrier for scan in found), default=0.0)
            text = f"{separate} of {len(found)}" if found else NOTHING
            cells.append(Cell(text, separate if found else None, detail=f"{greatest:.2g}" if found else ""))
        rows.append(cells)
    note = "Pairs of ends between which the criterion is worse than at either; below, by how much at most."
    header = ["Data set", *(column.label for column in paper.COLUMNS[:5])]
    records = [scan.record() for scan in scans]
    return Table("scans", "Pairs of ends that are separate optima", note, header, rows, records)


def failures(trials: Trials) -> Table:
    """Return the trials that failed, and why."""
    rows = [[f"{row.dataset}/{row.method}/{row.number}", row.error_name, row.message] for row in trials.failed]
    records: list[dict[str, object]] = [
        {"dataset": r.dataset, "method": r.method, "number": r.number, "error": r.error_name, "message": r.message}
        for r in trials.failed
    ]
    return Table(
        "failures",
        "Trials that failed",
        "They are tried again by the next run.",
        ["Trial", "error", "message"],
        rows,
        records,
    )


def misses(trials: Trials, multiple: float) -> list[Comparison]:
    """Return the cells of the main table whose mean is not within so many of the paper's standard deviations."""
    return [cell for cell in compare_means(trials) if cell.within(multiple) is False]


def _single(compared: list[Comparison]) -> list[list[Value]]:
    """Return rows of single errors, in the order of the columns; a dash where the paper has one."""
    columns = list(dict.fromkeys(cell.column for cell in compared))
    found = {(cell.dataset, cell.column): cell for cell in compared}
    rows: list[list[Value]] = []
    for dataset, label in paper.DATASETS.items():
        rows.append([label, *(_single_cell(found.get((dataset, column))) for column in columns)])
    return rows


def _single_cell(cell: Comparison | None) -> Value:
    if cell is None:
        return None
    if cell.value is None:
        return Cell(NOTHING, detail=f"{cell.published:.1f}")
    z = cell.in_standard_errors
    tone = "" if z is None else "bad" if abs(z) > 2 else "good" if abs(z) <= 1 else ""
    apart = "" if z is None else f"; {minus(f'{z:+.1f}')} se"
    return Cell(f"{cell.value:.1f}", cell.value, tone, f"{cell.published:.1f}{apart}")


def _mean_cell(cell: Comparison) -> Cell:
    tone = "good" if cell.within(1) else "bad" if cell.within(2) is False else ""
    return Cell(spread(cell.ours), cell.ours.mean, tone, f"{cell.published:.1f} ± {cell.published_sd:.1f}")


def _verdict(cell: Comparison) -> Value:
    if cell.within(1) is None:
        return None
    assert cell.difference is not None
    assert cell.published_sd is not None
    multiple = abs(cell.difference) / cell.published_sd
    text = "within 1 sd" if cell.within(1) else "within 2 sd" if cell.within(2) else f"{multiple:.1f} sd away"
    return Cell(text, multiple, "good" if cell.within(1) else "" if cell.within(2) else "bad")


def _timing(found: float | None, published: float) -> Cell:
    if found is None:
        return Cell(NOTHING, detail=f"{published:g}")
    return Cell(f"{found:.2g}", found, detail=f"{published:g}; ×{published / found:,.0f}")


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
