"""The numbers that Gold & Sollich (2003) published, read from ``paper.toml``: by data set, in columns as there."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


def declared(name: str) -> Mapping[str, Any]:
    """Return what a file of this package declares."""
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


#: All that the file has.
PAPER = declared("paper")


@dataclass(frozen=True)
class PaperColumn:
    """A column of the paper's tables, and which of our trials it is compared with.

    ``method`` is the method's name in the study, ``field`` the error of a trial that the column is about.
    """

    label: str
    method: str
    field: str = "test_error"


#: The data sets in the order of table tab:results, as the paper writes them.
DATASETS: dict[str, str] = {name: about["label"] for name, about in PAPER["datasets"].items()}

COLUMNS = tuple(PaperColumn(label, *about) for label, about in PAPER["columns"].items())
PREVIOUS_COLUMNS = tuple(PaperColumn(label, *about) for label, about in PAPER["previous_columns"].items())

#: The four "simple" criteria, evidence ascent, the five together, and the oracle along the ascent.
SIMPLE, EVIDENCE, SEARCHED, EARLY = COLUMNS[:4], COLUMNS[4], COLUMNS[:5], COLUMNS[5]

#: Inputs, training points, test points; CPU seconds of a step; errors in %, as in the tables of the paper.
SIZES: Mapping[str, tuple[int, int, int]] = {name: tuple(about["size"]) for name, about in PAPER["datasets"].items()}
TIME_COLUMNS = ("SVM", *(column.label for column in SEARCHED))
SECONDS: Mapping[str, tuple[float, ...]] = {name: tuple(row) for name, row in PAPER["seconds"].items()}
ERRORS: Mapping[str, tuple[tuple[float, float], ...]] = {
    name: tuple((mean, sd) for mean, sd in row) for name, row in PAPER["errors"].items()
}
BEST: Mapping[str, tuple[float, ...]] = {name: tuple(row) for name, row in PAPER["best"].items()}
PREVIOUS: Mapping[str, tuple[float | None, ...]] = {
    name: tuple(None if math.isnan(error) else error for error in row) for name, row in PAPER["previous"].items()
}


def published(dataset: str, column: PaperColumn) -> tuple[float, float] | None:
    """Return mean and standard deviation of a cell of table tab:results; None if the paper has no such cell."""
    known = dataset in ERRORS and column in COLUMNS
    return ERRORS[dataset][COLUMNS.index(column)] if known else None


def trials(dataset: str, method: str) -> int:
    """Return over how many trials the paper's mean and standard deviation are (caption of tab:results)."""
    return 10 if method == EVIDENCE.method and dataset != "crabs" else 25


def most_spread(dataset: str, column: PaperColumn) -> float:
    """Return the largest standard deviation that trials with the printed mean and best error can have.

    n numbers of mean m that are not below b are most spread if all but one are b: then it is √n (m - b).
    """
    place = COLUMNS.index(column)
    return trials(dataset, column.method) ** 0.5 * (ERRORS[dataset][place][0] - BEST[dataset][place])


def impossible(dataset: str, column: PaperColumn) -> bool:
    """Whether mean, standard deviation and best trial of a cell can't all be right, each being known to 0.05."""
    cell = published(dataset, column)
    n = trials(dataset, column.method)
    return cell is not None and cell[1] - 0.05 > most_spread(dataset, column) + 0.1 * n**0.5


def fitting(dataset: str, rows: int) -> int:
    """Return how many of the six best errors are, to the decimal printed, a number of errors over so many test rows."""
    return sum(abs(round(best * rows / 100) / rows * 100 - best) <= 0.05 + 1e-9 for best in BEST[dataset])


def best_previous(dataset: str) -> float:
    """Return the least error, in %, that the paper quotes from previous work."""
    return min(error for error in PREVIOUS[dataset] if error is not None)


def label(dataset: str) -> str:
    """Return what a data set is called: as in the paper, or by its name if the paper does not have it."""
    return DATASETS.get(dataset, dataset)
