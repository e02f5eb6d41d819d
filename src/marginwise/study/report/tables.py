"""Tables of any study: what was recorded of all methods on all data sets, the data, and what failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from marginwise.display.page import NOTHING, Cell, Value
from marginwise.display.table import PageTable
from marginwise.study.record import Shown, shown_columns
from marginwise.study.report.summary import Sample, Trials


def methods(trials: Trials, datasets: Mapping[str, str], order: Iterable[str]) -> list[PageTable]:
    """Return a table of methods × data sets for each column that says how it is shown; none without any number.

    ``datasets`` has the names that are shown, ``order`` the names of the methods.
    """
    names = list(order)
    found = (_methods(trials, datasets, names, column, shown) for column, shown in shown_columns().items())
    return [table for table in found if table.rows]


def _methods(trials: Trials, datasets: Mapping[str, str], order: list[str], column: str, shown: Shown) -> PageTable:
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for method in order:
        samples = [trials.sample(dataset, method, column) for dataset in datasets]
        if any(sample.n for sample in samples):
            rows.append([method, *(Cell(spread(sample, shown.digits), sample.mean) for sample in samples)])
            for dataset, sample in zip(datasets, samples, strict=True):
                numbers = {"mean": sample.mean, "sd": sample.sd, "best": sample.best, "trials": sample.n}
                records.append({"dataset": dataset, "method": method, **numbers})
    name = f"methods-{column.replace('_', '-')}"
    return PageTable(name, f"All methods: {shown.title}", shown.note, ["Method", *datasets.values()], rows, records)


def sizes(found: Mapping[str, tuple[int, int, int]]) -> PageTable:
    """Return the data sets with their numbers of inputs, training and test rows."""
    parts = ("inputs", "training", "test")
    records: list[dict[str, object]] = [
        {"dataset": dataset, **dict(zip(parts, size, strict=True))} for dataset, size in found.items()
    ]
    rows: list[list[Value]] = [[dataset, *size] for dataset, size in found.items()]
    return PageTable(
        "data", "Data sets", "Inputs, and rows for training and testing.", ["Data set", *parts], rows, records
    )


def failures(trials: Trials) -> PageTable:
    """Return the trials that failed, and why."""
    rows = [[f"{row.dataset}/{row.method}/{row.number}", row.error_name, row.message] for row in trials.failed]
    records: list[dict[str, object]] = [
        {"dataset": r.dataset, "method": r.method, "number": r.number, "error": r.error_name, "message": r.message}
        for r in trials.failed
    ]
    header, note = ["Trial", "error", "message"], "They are tried again by the next run."
    return PageTable("failures", "Trials that failed", note, header, rows, records)


def spread(sample: Sample, digits: int = 0) -> str:
    """Return "mean ± sd (trials)"; with ``digits`` significant ones, otherwise with one decimal."""
    if sample.mean is None:
        return NOTHING
    form = f".{digits}g" if digits else ".1f"
    sd = "" if sample.sd is None else f" ± {sample.sd:{form}}"
    return f"{sample.mean:{form}}{sd} ({sample.n})"
