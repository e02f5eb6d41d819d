"""What the paper claims, as rules that numbers decide."""

from marginwise.study.paper.claims import ascents, errors, proposals, walks
from marginwise.study.paper.claims.claim import ANSWERED, FAILS, HOLDS, IN_PART, UNTESTED, Claim, Judgement
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.methods.variants import ASCENT_SETTINGS, NEAREST_ASCENT, NEAREST_WALK, WALK_SETTINGS

__all__ = ["ANSWERED", "CLAIMS", "FAILS", "HOLDS", "IN_PART", "UNTESTED", "Claim", "Judgement", "held_in", "judged"]

CLAIMS: tuple[Claim, ...] = (*walks.CLAIMS, *ascents.CLAIMS, *errors.CLAIMS, *proposals.CLAIMS)


def judged(findings: Findings) -> list[tuple[Claim, Judgement]]:
    """Return every claim with its judgement."""
    return [(claim, claim.judged(findings)) for claim in CLAIMS]


def held_in(findings: Findings) -> dict[Claim, tuple[list[str], list[str]]]:
    """Return for each claim the settings of the searches in which it holds, and all in which it can be judged.

    The walks are varied with the ascents in the setting nearest to the paper, and the other way round.
    """
    views = {f"walks {key}": findings.in_setting(key, NEAREST_ASCENT) for key in WALK_SETTINGS}
    views |= {f"ascents {key}": findings.in_setting(NEAREST_WALK, key) for key in ASCENT_SETTINGS}
    found: dict[Claim, tuple[list[str], list[str]]] = {claim: ([], []) for claim in CLAIMS}
    for name, view in views.items():
        for claim, judgement in judged(view):
            holds, known = found[claim]
            if judgement.verdict != UNTESTED:
                known.append(name)
            if judgement.verdict == HOLDS:
                holds.append(name)
    return found
