"""What a claim of the paper is: a statement, and a rule by which numbers decide whether it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.findings import Findings, NoTrialsError
from marginwise.study.paper.numbers import PaperColumn
from marginwise.study.paper.optima import Scan

HOLDS, IN_PART, FAILS, UNTESTED = "holds", "holds in part", "does not hold", "not tested yet"

#: Of an open question: what has become of it.
ANSWERED = "was answered since"

#: Sections of the paper that most claims are from.
SIMPLE_SECTION, ASCENT_SECTION = "Model selection using simple criteria", "Model selection using evidence gradients"

Cells = set[tuple[str, str]]


@dataclass(frozen=True)
class Judgement:
    """Whether a claim holds, and the numbers behind that."""

    verdict: str
    numbers: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper.

    Attributes
    ----------
    section : str
        Where the paper says it.
    statement : str
        What it says.
    rule : str
        When it is taken to hold, or to hold in part.
    judge : function
        Applies the rule to findings.
    in_tables : bool
        Whether the paper's own printed tables decide the rule, too. It must hold of them, or say that it does not.
    """

    section: str
    statement: str
    rule: str
    judge: Callable[[Findings], Judgement]
    in_tables: bool = False

    def judged(self, findings: Findings) -> Judgement:
        """Apply the rule; if any trial that it needs is missing, there is no verdict, and what is missing is said."""
        try:
            return self.judge(findings)
        except NoTrialsError as missing:
            return Judgement(UNTESTED, f"{missing}.")


def verdict(holds: bool, in_part: bool) -> str:
    """Return the verdict in words."""
    return HOLDS if holds else IN_PART if in_part else FAILS


def per_dataset(values: dict[str, float], digits: int = 2) -> str:
    """Return numbers by data set as a phrase."""
    return ", ".join(f"{paper.DATASETS[dataset]} {number(value, digits)}" for dataset, value in values.items())


def number(value: float, digits: int = 2) -> str:
    """Return a number with so many digits, but all of those before the point."""
    text = f"{value:,.0f}" if abs(value) >= 10**digits else f"{value:.{digits}g}"
    return text.replace("-", "−")


def listed(items: Iterable[str], most: int = 5) -> str:
    """Return items as a phrase, the first few by name; "none" without any."""
    found = list(items)
    more = f"; and {len(found) - most} more" if len(found) > most else ""
    return "; ".join(found[:most]) + more if found else "none"


def require_cells(found: Cells, columns: Sequence[PaperColumn], what: str) -> None:
    """Raise an error unless there is every cell (data set, method) of the paper that a rule is about."""
    missing = [
        f"{label}, {column.label}"
        for dataset, label in paper.DATASETS.items()
        for column in columns
        if (dataset, column.method) not in found
    ]
    if missing:
        raise NoTrialsError(f"no {what} on {listed(missing)}")


def split_cells(findings: Findings, methods: list[str]) -> tuple[Cells, Cells, list[Scan]]:
    """Return the cells (data set, method) that were scanned, those with separate ends, and the scans."""
    scans = [scan for scan in findings.scans if scan.method in methods and scan.dataset in paper.DATASETS]
    cells = {(scan.dataset, scan.method) for scan in scans}
    required = [column for column in paper.COLUMNS[:5] if column.method in methods]
    require_cells(cells, required, "two trials with the same data")
    return cells, {(scan.dataset, scan.method) for scan in scans if scan.separate}, scans
