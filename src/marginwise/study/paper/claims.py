"""What the paper claims, and whether it holds: statements and rules of ``paper.toml``, judged in one way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from marginwise._wording import some
from marginwise.study.paper import measures
from marginwise.study.paper.findings import Findings, NoTrialsError
from marginwise.study.paper.numbers import PAPER
from marginwise.study.paper.settings import (
    ASCENT_SETTINGS,
    NEAREST_ASCENT,
    NEAREST_WALK,
    THOROUGH,
    WALK_SETTINGS,
)

HOLDS, IN_PART, FAILS, UNTESTED = "holds", "holds in part", "does not hold", "not tested yet"

#: Of an open question: what has become of it.
ANSWERED = "was answered since"

Range = tuple[float, float]


@dataclass(frozen=True)
class Judgement:
    """Whether a claim holds, and the numbers behind that."""

    verdict: str
    numbers: str


@dataclass(frozen=True, eq=False)
class Claim:
    """A statement of the paper.

    Attributes
    ----------
    section, statement, short, rule : str
        Where the paper says it, what it says, in a few words, and when it is taken to hold, or to hold in part.
    measure : list of str
        The function of :mod:`~marginwise.study.paper.measures` that the rule is about, and what it takes.
    numbers : str
        How its numbers are told.
    range, ranges
        Where its numbers are to be, and where those of some names are.
    nearly, nearlies
        The same for the claim to hold in part; without, as for it to hold.
    holds, in_part : int
        How many of them have to be there for the one and the other.
    in_tables : bool
        Whether the paper's own printed tables decide the rule, too. It must hold of them, or say that it does not.
    question : bool
        Whether it is an open question, which is answered where none of its numbers are in their ranges.
    """

    section: str
    statement: str
    short: str
    rule: str
    measure: Sequence[str]
    numbers: str
    range: Range
    holds: int
    in_part: int
    ranges: Mapping[str, Range] = field(default_factory=dict)
    nearly: Range | None = None
    nearlies: Mapping[str, Range] = field(default_factory=dict)
    in_tables: bool = False
    question: bool = False

    def judged(self, findings: Findings) -> Judgement:
        """Apply the rule; if any trial that it needs is missing, there is no verdict, and what is missing is said."""
        try:
            name, *of = self.measure
            values = getattr(measures, name)(findings, *of)
        except NoTrialsError as missing:
            return Judgement(UNTESTED, f"{missing}.")
        inside = _within(values, self.range, self.ranges)
        near = inside if self.nearly is None else _within(values, self.nearly, self.nearlies)
        verdict = HOLDS if len(inside) >= self.holds else IN_PART if len(near) >= self.in_part else FAILS
        if self.question and not inside:
            verdict = ANSWERED
        return Judgement(verdict, self._told(values, inside))

    def _told(self, values: Mapping[str, float], inside: set[str]) -> str:
        outside = [f"{name} ({number(value)})" for name, value in values.items() if name not in inside]
        return self.numbers.format(
            values=_Values(values),
            count=len(inside),
            total=len(values),
            outside=some(outside, mark="; ") or "none",
            least=min(values.values()),
            most=max(values.values()),
            theirs=_Values(measures.PUBLISHED.get(self.measure[0], {})),
        )


#: In the order of the report, which numbers them from 1.
CLAIMS: tuple[Claim, ...] = tuple(Claim(**claim) for claim in PAPER["claims"])


def judged(findings: Findings) -> dict[Claim, Judgement]:
    """Return every claim with its judgement."""
    return {claim: claim.judged(findings) for claim in CLAIMS}


def held_in(findings: Findings) -> dict[Claim, tuple[list[str], list[str]]]:
    """Return for each claim the other settings of the searches in which it holds, and all that bear on it.

    The walks are varied with the ascents in the nearest setting, and the other way round. A setting bears on a claim if
    it can be judged there and the numbers are others than in the nearest setting.
    """
    base = judged(findings.in_setting(NEAREST_WALK, NEAREST_ASCENT))
    usual = (THOROUGH, NEAREST_WALK, NEAREST_ASCENT)
    others = {f"walks {key}": (key, NEAREST_ASCENT) for key in WALK_SETTINGS if key not in usual}
    others |= {f"ascents {key}": (NEAREST_WALK, key) for key in ASCENT_SETTINGS if key not in usual}
    found: dict[Claim, tuple[list[str], list[str]]] = {claim: ([], []) for claim in CLAIMS}
    for name, setting in others.items():
        for claim, judgement in judged(findings.in_setting(*setting)).items():
            if judgement.verdict != UNTESTED and judgement.numbers != base[claim].numbers:
                found[claim][1].append(name)
                if judgement.verdict in (HOLDS, ANSWERED):
                    found[claim][0].append(name)
    return found


class _Values:
    """Numbers by name as a phrase; a format such as ``.0%`` is that of each."""

    def __init__(self, values: Mapping[str, float]) -> None:
        self._values = values

    def __format__(self, form: str) -> str:
        told = {name: f"{value:{form}}" if form else number(value) for name, value in self._values.items()}
        return ", ".join(f"{name} {text}" for name, text in told.items())


def _within(values: Mapping[str, float], usual: Range, named: Mapping[str, Range]) -> set[str]:
    """Return the names of the numbers that are in the range of their name, or else in the usual one."""
    ranges = {name: named.get(name, usual) for name in values}
    return {name for name, value in values.items() if ranges[name][0] <= value <= ranges[name][1]}


def number(value: float, digits: int = 2) -> str:
    """Return a number with so many digits, but all of those before the point."""
    rounded = float(f"{value:.{digits}g}")
    text = f"{value:,.0f}" if abs(rounded) >= 10**digits else f"{rounded:g}"
    return text.replace("-", "−")
