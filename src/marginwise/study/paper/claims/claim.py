"""What a claim of the paper is: a statement, and a rule by which numbers decide whether it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.findings import Findings, NoTrialsError

HOLDS, IN_PART, FAILS, UNTESTED = "holds", "holds in part", "does not hold", "not tested yet"


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
    """

    section: str
    statement: str
    rule: str
    judge: Callable[[Findings], Judgement]

    def judged(self, findings: Findings) -> Judgement:
        """Apply the rule; without the trials it needs, say which are missing."""
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
