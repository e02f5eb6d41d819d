"""What the paper claims, as rules that numbers decide."""

from marginwise.study.paper.claims import errors, searches
from marginwise.study.paper.claims.claim import FAILS, HOLDS, IN_PART, UNTESTED, Claim, Judgement
from marginwise.study.paper.findings import Findings

__all__ = ["CLAIMS", "FAILS", "HOLDS", "IN_PART", "UNTESTED", "Claim", "Judgement", "judged"]

CLAIMS: tuple[Claim, ...] = (*searches.CLAIMS, *errors.CLAIMS)


def judged(findings: Findings) -> list[tuple[Claim, Judgement]]:
    """Return every claim with its judgement."""
    return [(claim, claim.judged(findings)) for claim in CLAIMS]
