"""What the paper leaves open about its searches, said in several ways: each way is a variant of its five methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from marginwise.criteria.laplace import LaplaceEvidence
from marginwise.criteria.span import Span
from marginwise.search.gradient_ascent import GradientAscent
from marginwise.search.random_walk import RandomWalk
from marginwise.study.paper.methods.ascent import AS_IN_PAPER, THOROUGH, Ascent
from marginwise.study.paper.names import ASCENT, in_setting
from marginwise.study.plan import Method
from marginwise.study.searches import WALK, Walk

#: The paper's walks by the name of their method in the study. The companion is the criterion that the paper shows or
#: mentions along the walk (fig. twonorm_lz, section results).
WALKS: Mapping[str, Walk] = {
    "le1-walk": Walk("laplace-evidence", "linear", companion="gacv"),
    "le2-walk": Walk("laplace-evidence", "quadratic", companion="span"),
    "gacv-walk": Walk("gacv", "linear"),
    "span-walk": Walk("span", "quadratic"),
}

#: Boxes narrower than the library's, which reach to k0 = 1e5: one or two orders of magnitude around the paper's starts.
NARROW = {"C": (0.05, 20.0), "k0": (0.01, 100.0), "koff": (1e-3, 10.0), "l": (0.05, 20.0)}


@dataclass(frozen=True)
class WalkSetting:
    """A declared answer to what the paper leaves open about its walks; ``WALK_DETAILS`` has it in words."""

    search: RandomWalk
    bounds: Mapping[str, tuple[float, float]] | None = None

    def of(self, walk: Walk) -> Walk:
        """Return a walk in this setting."""
        return replace(walk, search=self.search, bounds=self.bounds)


_ALL = replace(WALK, proposal="all")


def _loose(walk: RandomWalk) -> RandomWalk:
    return replace(walk, step_tolerance=0.03, gain_tolerance=1e-3, sweeps=5)


#: The settings by name. The thorough one, of which each other differs in the detail named, is that of ``le1-walk`` ….
WALK_SETTINGS: Mapping[str, WalkSetting] = {
    "bold": WalkSetting(replace(WALK, first_step=2.0)),
    "gentle": WalkSetting(replace(WALK, factor=1.05)),
    "loose": WalkSetting(_loose(WALK)),
    "small-loose": WalkSetting(replace(_loose(WALK), first_step=0.1)),
    "looser": WalkSetting(replace(_loose(WALK), sweeps=2)),
    "narrow": WalkSetting(WALK, NARROW),
    "all": WalkSetting(_ALL),
    "all-gentle": WalkSetting(replace(_ALL, factor=1.1)),
    "all-gentler": WalkSetting(replace(_ALL, factor=1.05)),
    "all-bold": WalkSetting(replace(_ALL, factor=1.1, first_step=1.0)),
    "all-loose": WalkSetting(_loose(replace(_ALL, factor=1.05))),
    "all-narrow": WalkSetting(replace(_ALL, factor=1.1), NARROW),
}

#: Other smoothing parameters than a = 0.1 and c1 = 5, η = 1: results "did not seem to depend strongly on the values of
#: these parameters as long as they were of a reasonable order of magnitude" (section ztmc).
SMOOTHING: Mapping[str, Method] = {
    "le2-walk-a-low": Walk(LaplaceEvidence("quadratic", a=0.03)),
    "le2-walk-a-high": Walk(LaplaceEvidence("quadratic", a=0.3)),
    "span-walk-c1-low": Walk(Span(c1=2.5)),
    "span-walk-c1-high": Walk(Span(c1=10.0)),
    "span-walk-eta-low": Walk(Span(eta=0.3)),
    "span-walk-eta-high": Walk(Span(eta=3.0)),
}

#: Declared answers to what the paper leaves open about its ascents; ``ASCENT_DETAILS`` has them in words.
ASCENT_SETTINGS: Mapping[str, GradientAscent] = {
    "slow": AS_IN_PAPER,
    "slow-linear": replace(AS_IN_PAPER, C_scale="linear"),
    "slow-tenth": replace(AS_IN_PAPER, tolerance=0.1),
    "to-half": replace(THOROUGH, tolerance=0.5),
}


def variants() -> dict[str, Method]:
    """Return all variants by the names of their methods, ``WALK-SETTING`` and ``evidence-ascent-SETTING``."""
    walks = {
        in_setting(name, key): setting.of(walk)
        for name, walk in WALKS.items()
        for key, setting in WALK_SETTINGS.items()
    }
    ascents = {in_setting(ASCENT, key): Ascent(search) for key, search in ASCENT_SETTINGS.items()}
    return {**walks, **SMOOTHING, **ascents}
