"""What the paper claims, as rules that numbers decide."""

from marginwise.study.paper.claims import ascents, errors, proposals, walks
from marginwise.study.paper.claims.claim import ANSWERED, FAILS, HOLDS, IN_PART, UNTESTED, Claim, Judgement
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.names import ASCENT_DETAILS, NEAREST_ASCENT, NEAREST_WALK, THOROUGH, WALK_DETAILS

__all__ = ["ANSWERED", "CLAIMS", "FAILS", "HOLDS", "IN_PART", "UNTESTED", "Claim", "Judgement", "held_in", "judged"]

CLAIMS: tuple[Claim, ...] = (*walks.CLAIMS, *ascents.CLAIMS, *errors.CLAIMS, *proposals.CLAIMS)


def judged(findings: Findings) -> list[tuple[Claim, Judgement]]:
    """Return every claim with its judgement."""
    return [(claim, claim.judged(findings)) for claim in CLAIMS]


def held_in(findings: Findings) -> dict[Claim, tuple[list[str], list[str]]]:
    """Return for each claim the other settings of the searches in which it holds, and all that bear on it.

    The walks are varied with the ascents in the setting nearest to the paper, and the other way round. A setting bears
    on a claim if it can be judged there and the numbers are others than in the setting nearest to the paper.
    """
    base = dict(judged(findings.in_setting(NEAREST_WALK, NEAREST_ASCENT)))
    usual = (THOROUGH, NEAREST_WALK, NEAREST_ASCENT)
    walks_in = {f"walks {key}": (key, NEAREST_ASCENT) for key in WALK_DETAILS if key not in usual}
    ascents_in = {f"ascents {key}": (NEAREST_WALK, key) for key in ASCENT_DETAILS if key not in usual}
    found: dict[Claim, tuple[list[str], list[str]]] = {claim: ([], []) for claim in CLAIMS}
    for name, setting in {**walks_in, **ascents_in}.items():
        for claim, judgement in judged(findings.in_setting(*setting)):
            holds, known = found[claim]
            if judgement.verdict == UNTESTED or judgement.numbers == base[claim].numbers:
                continue
            known.append(name)
            if judgement.verdict in (HOLDS, ANSWERED):
                holds.append(name)
    return found
