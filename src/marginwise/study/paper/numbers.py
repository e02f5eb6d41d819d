"""The numbers that Gold & Sollich (2003) published: their tables, by the labels and in the columns they have there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: The data sets in the order of table tab:results, as the paper writes them.
DATASETS: Mapping[str, str] = {
    "crabs": "Crabs",
    "pima": "Pima",
    "wdbc": "WDBC",
    "twonorm": "Twonorm",
    "ringnorm": "Ringnorm",
}


@dataclass(frozen=True)
class PaperColumn:
    """A column of the paper's tables, and which of our trials it is compared with.

    ``method`` is the method's name in the study, ``field`` the error of a trial that the column is about.
    """

    label: str
    method: str
    field: str = "test_error"


#: Columns of tables tab:results and tab:bestresults. ES is the least test error along the ascent (section overfitting).
COLUMNS = (
    PaperColumn("LE1", "le1-walk"),
    PaperColumn("LE2", "le2-walk"),
    PaperColumn("GACV", "gacv-walk"),
    PaperColumn("Span", "span-walk"),
    PaperColumn("Evid grad", "evidence-ascent"),
    PaperColumn("ES", "evidence-ascent", "oracle_error"),
)

#: Columns of table tab:prevresults.
PREVIOUS_COLUMNS = (
    PaperColumn("GP Var", "gp-variational"),
    PaperColumn("SVM Var", "svm-variational"),
    PaperColumn("SVM CV", "svm-cv"),
    PaperColumn("GP Lap", "gp-laplace"),
    PaperColumn("GP MF", "gp-mean-field"),
)

#: The four "simple" criteria.
SIMPLE = COLUMNS[:4]
EVIDENCE, EARLY = COLUMNS[4], COLUMNS[5]

#: PageTable tab:data: inputs, training points, test points.
SIZES: Mapping[str, tuple[int, int, int]] = {
    "crabs": (5, 80, 120),
    "pima": (7, 200, 332),
    "wdbc": (30, 300, 269),
    "twonorm": (20, 300, 7100),
    "ringnorm": (20, 300, 7100),
}

#: PageTable tab:time: CPU seconds of one step of an optimisation; the first column is one training of the SVM.
TIME_COLUMNS = ("SVM", "LE1", "LE2", "GACV", "Span", "Evid grad")
SECONDS: Mapping[str, tuple[float, ...]] = {
    "crabs": (0.81, 3, 5, 4, 6, 137),
    "pima": (1.23, 10, 9, 11, 21, 1805),
    "wdbc": (2.1, 19, 26, 39, 64, 9352),
    "twonorm": (2.5, 35, 26, 27, 82, 7779),
    "ringnorm": (3.7, 58, 71, 68, 216, 10665),
}

#: PageTable tab:results: test error in %, mean and standard deviation over the trials, in the order of COLUMNS.
ERRORS: Mapping[str, tuple[tuple[float, float], ...]] = {
    "crabs": ((10.7, 2.1), (10.5, 1.3), (13.0, 1.8), (6.0, 1.8), (9.2, 1.5), (5.5, 1.3)),
    "pima": ((30.3, 2.0), (33.5, 2.2), (23.2, 2.7), (21.0, 1.1), (20.8, 1.5), (19.7, 1.5)),
    "wdbc": ((5.8, 2.5), (5.8, 3.6), (9.6, 2.8), (7.8, 4.2), (4.0, 1.2), (2.4, 1.0)),
    "twonorm": ((13.5, 12.6), (12.6, 5.0), (5.2, 1.9), (4.6, 0.9), (4.0, 0.2), (3.7, 0.4)),
    "ringnorm": ((4.7, 1.6), (2.5, 5.3), (3.3, 1.3), (3.5, 1.3), (3.2, 0.6), (3.2, 0.6)),
}

#: PageTable tab:bestresults: test error in % of the best trial, in the order of COLUMNS.
BEST: Mapping[str, tuple[float, ...]] = {
    "crabs": (5.9, 9.2, 10.9, 3.4, 5.0, 3.4),
    "pima": (27.8, 28.4, 20.2, 19.0, 19.3, 18.4),
    "wdbc": (1.9, 3.4, 4.1, 1.9, 1.5, 1.2),
    "ringnorm": (2.1, 2.2, 1.9, 2.0, 2.5, 2.5),
    "twonorm": (2.9, 3.1, 3.4, 3.5, 3.4, 3.0),
}

#: PageTable tab:prevresults: test error in %, in the order of PREVIOUS_COLUMNS; None where the paper has a dash.
PREVIOUS: Mapping[str, tuple[float | None, ...]] = {
    "crabs": (2.5, 3.3, 3.3, 3.3, 1.7),
    "pima": (19.9, 20.5, 20.2, 20.2, 19.0),
    "wdbc": (3.7, 3.7, 3.3, 3.3, 2.6),
    "twonorm": (3.2, 3.7, 2.3, 4.0, None),
    "ringnorm": (1.7, 1.9, 2.3, 3.0, None),
}


def trials(dataset: str, method: str) -> int:
    """Return over how many trials the paper's mean and standard deviation are (caption of tab:results)."""
    if method == EVIDENCE.method:
        return 25 if dataset == "crabs" else 10
    return 25


def contradictions() -> list[tuple[str, PaperColumn, tuple[float, float], float, float]]:
    """Return cells whose mean, standard deviation and best trial cannot all be right, and the largest sd possible.

    n numbers of mean m that are not below b are most spread if all but one are b: then their standard deviation is
    √n (m - b). Printed numbers have one decimal: each is known to 0.05.
    """
    found = []
    for dataset in DATASETS:
        for column, cell, best in zip(COLUMNS, ERRORS[dataset], BEST[dataset], strict=True):
            n = trials(dataset, column.method)
            if cell[1] - 0.05 > n**0.5 * (cell[0] - best + 0.1):
                found.append((dataset, column, cell, best, n**0.5 * (cell[0] - best)))
    return found


def best_previous(dataset: str) -> float:
    """Return the least error, in %, that the paper quotes from previous work."""
    return min(error for error in PREVIOUS[dataset] if error is not None)


def label(dataset: str) -> str:
    """Return what a data set is called: as in the paper, or by its name if the paper does not have it."""
    return DATASETS.get(dataset, dataset)
