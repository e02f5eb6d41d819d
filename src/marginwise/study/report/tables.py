"""Tables of any study: what was recorded of all methods on all data sets, the data, and what failed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from marginwise.display.page import NOTHING, Cell, Value
from marginwise.display.table import PageTable
from marginwise.study.record import Shown, shown_columns
from marginwise.study.report.summary import Sample, Trials

R = TypeVar("R")
C = TypeVar("C")

#: What a cell of a table shows, and what is written of it as CSV.
Entry = tuple[Value, dict[str, object]]


def methods(trials: Trials, datasets: Mapping[str, str], order: Iterable[str]) -> list[PageTable]:
    """Return a table of methods × data sets for each column that says how it is shown; none without any number.

    ``datasets`` has the names that are shown, ``order`` the names of the methods.
    """
    names = list(order)
    found = (_methods(trials, datasets, names, column, shown) for column, shown in shown_columns().items())
    return [table for table in found if table.rows]


def _methods(trials: Trials, datasets: Mapping[str, str], order: list[str], column: str, shown: Shown) -> PageTable:
    def entry(method: str, dataset: str) -> Entry | None:
        sample = trials.sample(dataset, method, column)
        numbers = {"mean": sample.mean, "sd": sample.sd, "best": sample.best, "trials": sample.n}
        cell = Cell(spread(sample, shown.digits), sample.mean)
        return (cell, {"dataset": dataset, "method": method, **numbers}) if sample.n else None

    name, title = f"methods-{column.replace('_', '-')}", f"All methods: {shown.title}"
    return grid(name, title, shown.note, {method: method for method in order}, datasets, entry, "Method")


def sizes(found: Mapping[str, tuple[int, int, int]]) -> PageTable:
    """Return the data sets with their numbers of inputs, training and test rows."""
    parts = dict(enumerate(("inputs", "training", "test")))
    rows, note = {name: name for name in found}, "Inputs, and rows for training and testing."
    return grid(
        "data", "Data sets", note, rows, parts, lambda name, part: (found[name][part], {"rows": found[name][part]})
    )


def grid(
    name: str,
    title: str,
    note: str,
    rows: Mapping[R, str],
    columns: Mapping[C, str],
    entry: Callable[[R, C], Entry | None],
    corner: str = "Data set",
) -> PageTable:
    """Return a table with an entry for each row and column, what is shown and what is recorded; without empty rows."""
    shown: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for row, label in rows.items():
        found = [entry(row, column) for column in columns]
        if not any(found):
            continue
        shown.append([label, *(None if one is None else one[0] for one in found)])
        for column_label, one in zip(columns.values(), found, strict=True):
            if one is not None:
                records.append({"row": label, "column": column_label, **one[1]})
    names = dict.fromkeys(key for record in records for key in record)
    records = [{key: record.get(key) for key in names} for record in records]
    return PageTable(name, title, note, [corner, *columns.values()], shown, records)


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
