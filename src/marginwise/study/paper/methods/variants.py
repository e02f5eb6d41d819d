"""What the paper leaves open about its searches, said in several ways: each way is a variant of its five methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from marginwise.criteria.laplace import LaplaceEvidence
from marginwise.criteria.span import Span
from marginwise.search import GradientAscent, RandomWalk
from marginwise.study.paper.methods.ascent import AS_IN_PAPER, THOROUGH, Ascent
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
    """A declared answer to what the paper leaves open about its walks.

    ``detail`` is the open question that it answers in another way than the thorough setting, ``words`` how.
    """

    detail: str
    words: str
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
    "bold": WalkSetting("first step", "2 instead of 0.3", replace(WALK, first_step=2.0)),
    "gentle": WalkSetting("step factor", "1.05 instead of 1.15", replace(WALK, factor=1.05)),
    "loose": WalkSetting("stopping rule", "5 sweeps that gain 0.001 instead of 20 and 1e-5", _loose(WALK)),
    "small-loose": WalkSetting(
        "first step, stopping rule", "0.1, and 5 sweeps that gain 0.001", replace(_loose(WALK), first_step=0.1)
    ),
    "looser": WalkSetting("stopping rule", "2 sweeps that gain 0.001", replace(_loose(WALK), sweeps=2)),
    "narrow": WalkSetting("bounds", "k0 to 100, length scales from 0.05 to 20", WALK, NARROW),
    "all": WalkSetting("proposal", "all hyperparameters at once", _ALL),
    "all-gentle": WalkSetting("proposal, step factor", "all at once, 1.1", replace(_ALL, factor=1.1)),
    "all-gentler": WalkSetting("proposal, step factor", "all at once, 1.05", replace(_ALL, factor=1.05)),
    "all-bold": WalkSetting(
        "proposal, step factor, first step", "all at once, 1.1, first step 1", replace(_ALL, factor=1.1, first_step=1.0)
    ),
    "all-loose": WalkSetting(
        "proposal, step factor, stopping rule", "all at once, 1.05, loose", _loose(replace(_ALL, factor=1.05))
    ),
    "all-narrow": WalkSetting(
        "proposal, step factor, bounds", "all at once, 1.1, narrow", replace(_ALL, factor=1.1), NARROW
    ),
}

#: The setting of walks that is nearest to the paper's table: see :mod:`marginwise.study.paper.sensitivity`.
NEAREST_WALK = "looser"

#: The setting of ascents with the paper's numbers of steps.
NEAREST_ASCENT = "slow"

#: Other smoothing parameters than a = 0.1 and c1 = 5, η = 1: results "did not seem to depend strongly on the values of
#: these parameters as long as they were of a reasonable order of magnitude" (section ztmc).
SMOOTHING: Mapping[str, tuple[str, Method]] = {
    "le2-walk-a-low": ("le2-walk", Walk(LaplaceEvidence("quadratic", a=0.03))),
    "le2-walk-a-high": ("le2-walk", Walk(LaplaceEvidence("quadratic", a=0.3))),
    "span-walk-c1-low": ("span-walk", Walk(Span(c1=2.5))),
    "span-walk-c1-high": ("span-walk", Walk(Span(c1=10.0))),
    "span-walk-eta-low": ("span-walk", Walk(Span(eta=0.3))),
    "span-walk-eta-high": ("span-walk", Walk(Span(eta=3.0))),
}


@dataclass(frozen=True)
class AscentSetting:
    """A declared answer to what the paper leaves open about its ascents."""

    detail: str
    words: str
    search: GradientAscent

    @property
    def method(self) -> Ascent:
        """The ascent in this setting."""
        return Ascent(self.search)


ASCENT_SETTINGS: Mapping[str, AscentSetting] = {
    "slow": AscentSetting(
        "moves, stopping rule", "first 0.1, at most 0.3, rates raised by 1.1; to a fifth of the peak", AS_IN_PAPER
    ),
    "slow-linear": AscentSetting("scale of C", "slow, with C on its own scale", replace(AS_IN_PAPER, C_scale="linear")),
    "slow-tenth": AscentSetting("stopping rule", "slow, to a tenth of the peak", replace(AS_IN_PAPER, tolerance=0.1)),
    "to-half": AscentSetting("stopping rule", "to half of the peak", replace(THOROUGH, tolerance=0.5)),
}


def as_in_paper(method: str) -> str:
    """Return the name of a method of the paper, of which the study has the thorough form, in the nearest setting."""
    return f"{method}-{NEAREST_WALK if method in WALKS else NEAREST_ASCENT}"


def variants() -> dict[str, Method]:
    """Return all variants by the names of their methods, ``WALK-SETTING`` and ``evidence-ascent-SETTING``."""
    walks = {
        f"{name}-{key}": setting.of(walk) for name, walk in WALKS.items() for key, setting in WALK_SETTINGS.items()
    }
    ascents = {f"evidence-ascent-{key}": setting.method for key, setting in ASCENT_SETTINGS.items()}
    return {**walks, **{name: method for name, (_, method) in SMOOTHING.items()}, **ascents}
