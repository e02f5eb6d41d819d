"""What the paper leaves open about its searches, answered in several declared ways; and other draws of the data.

A setting is one line here: which detail it answers, how, and the search that does so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from marginwise.criteria.base import Criterion
from marginwise.criteria.laplace import LaplaceEvidence
from marginwise.criteria.span import Span
from marginwise.search.gradient_ascent import GradientAscent
from marginwise.search.random_walk import RandomWalk
from marginwise.study.data import BenchmarkSource, Source
from marginwise.study.paper.numbers import SIMPLE
from marginwise.study.paper.probes import GRADIENTS, NOISY, SIZED
from marginwise.study.searches import WALK

#: The paper's searches in the thorough form, by the names of the study's methods.
WALK_NAMES = tuple(column.method for column in SIMPLE)
ASCENT = "evidence-ascent"

#: An ascent by the paper's own sampler; one that is repeated from one start; one from equal length scales, which the
#: paper's figures show; and two on the evidence of expectation propagation, as it is and of the normalised model.
HMC, REPEATED, EQUAL_SCALES = "hmc-ascent", "evidence-ascent-same-start", "evidence-ascent-equal-scales"
EP_ASCENT, NORMALISED = "ep-ascent", "ep-ascent-normalised"

#: The method that maximises the evidence of expectation propagation.
MAXIMISED = "ep-evidence-newton"

#: The thorough setting, of which each other differs in the detail named.
THOROUGH = "thorough"

#: Boxes narrower than the library's, which reach to k0 = 1e5: one or two orders of magnitude around the paper's starts.
_NARROW = {"C": (0.05, 20.0), "k0": (0.01, 100.0), "koff": (1e-3, 10.0), "l": (0.05, 20.0)}


@dataclass(frozen=True)
class WalkSetting:
    """An answer to a detail that the paper leaves open about its walks."""

    detail: str
    words: str
    search: RandomWalk
    bounds: Mapping[str, tuple[float, float]] | None = None


@dataclass(frozen=True)
class AscentSetting:
    """The same about its ascents."""

    detail: str
    words: str
    search: GradientAscent


_LOOSE = replace(WALK, step_tolerance=0.03, gain_tolerance=1e-3, sweeps=5)
_ALL, _ALL_LOOSE = replace(WALK, proposal="all"), replace(_LOOSE, proposal="all", factor=1.05)
_PROPOSAL, _FACTOR, _STEP, _STOP = "proposal", "step factor", "first step", "stopping rule"

WALK_SETTINGS: Mapping[str, WalkSetting] = {
    THOROUGH: WalkSetting(
        "", "one hyperparameter after the other, first step 0.3, factor 1.15, 20 sweeps that gain 1e-5", WALK
    ),
    "bold": WalkSetting(_STEP, "2 instead of 0.3", replace(WALK, first_step=2.0)),
    "gentle": WalkSetting(_FACTOR, "1.05 instead of 1.15", replace(WALK, factor=1.05)),
    "loose": WalkSetting(_STOP, "5 sweeps that gain 0.001 instead of 20 and 1e-5", _LOOSE),
    "small-loose": WalkSetting(
        f"{_STEP}, {_STOP}", "0.1, and 5 sweeps that gain 0.001", replace(_LOOSE, first_step=0.1)
    ),
    "looser": WalkSetting(_STOP, "2 sweeps that gain 0.001", replace(_LOOSE, sweeps=2)),
    "narrow": WalkSetting("bounds", "k0 to 100, length scales from 0.05 to 20", WALK, _NARROW),
    "windowed": WalkSetting(
        "adaptation", "by the rate of acceptance of 10 steps, factor 1.5", replace(WALK, window=10, factor=1.5)
    ),
    "all": WalkSetting(_PROPOSAL, "all hyperparameters at once", _ALL),
    "all-gentle": WalkSetting(f"{_PROPOSAL}, {_FACTOR}", "all at once, 1.1", replace(_ALL, factor=1.1)),
    "all-gentler": WalkSetting(f"{_PROPOSAL}, {_FACTOR}", "all at once, 1.05", replace(_ALL, factor=1.05)),
    "all-bold": WalkSetting(
        f"{_PROPOSAL}, {_FACTOR}, {_STEP}", "all at once, 1.1, first step 1", replace(_ALL, factor=1.1, first_step=1.0)
    ),
    "all-loose": WalkSetting(f"{_PROPOSAL}, {_FACTOR}, {_STOP}", "all at once, 1.05, loose", _ALL_LOOSE),
    "all-narrow": WalkSetting(
        f"{_PROPOSAL}, {_FACTOR}, bounds", "all at once, 1.1, narrow", replace(_ALL, factor=1.1), _NARROW
    ),
    "all-windowed": WalkSetting(
        f"{_PROPOSAL}, adaptation", "all at once, by the rate of 10 steps", replace(_ALL, window=10, factor=1.5)
    ),
}

#: The paper ends an ascent when the gradients are "a small fraction of their peak magnitude": here a tenth, which takes
#: 20 to 40 steps. Beyond, the evidence of separable data is a ridge along which k0 grows without end and sampling
#: takes ten times as long, to no effect on the test error. "slow" takes nearly the 40 to 80 steps of the paper and ends
#: near its k0.
_TO_A_TENTH = GradientAscent(tolerance=0.1)
SLOW = GradientAscent(first_move=0.1, largest_move=0.3, raise_by=1.1, tolerance=0.2)

ASCENT_SETTINGS: Mapping[str, AscentSetting] = {
    THOROUGH: AscentSetting("", "first move 0.2, at most 1, rates raised by 1.5, to a tenth of the peak", _TO_A_TENTH),
    "slow": AscentSetting(
        f"moves, {_STOP}", "first 0.1, at most 0.3, rates raised by 1.1; to a fifth of the peak", SLOW
    ),
    "slow-linear": AscentSetting("scale of C", "slow, with C on its own scale", replace(SLOW, C_scale="linear")),
    "slow-tenth": AscentSetting(_STOP, "slow, to a tenth of the peak", replace(SLOW, tolerance=0.1)),
    "to-half": AscentSetting(_STOP, "to half of the peak", replace(_TO_A_TENTH, tolerance=0.5)),
}

#: The setting of walks nearest to the paper's table of those that were tried, and that of ascents with its numbers of
#: steps. They were chosen on the table that they are compared with.
NEAREST_WALK, NEAREST_ASCENT = "looser", "slow"
NEAREST = "nearest setting"

#: Other smoothing parameters than a = 0.1 and c1 = 5, c2 = 0, η = 1: results "did not seem to depend strongly on the
#: values of these parameters as long as they were of a reasonable order of magnitude" (section ztmc). Thorough walks.
_SMOOTHING: Mapping[str, tuple[str, Criterion]] = {
    "le2-walk-a-low": ("le2-walk", LaplaceEvidence("quadratic", a=0.03)),
    "le2-walk-a-high": ("le2-walk", LaplaceEvidence("quadratic", a=0.3)),
    "span-walk-c1-low": ("span-walk", Span(c1=2.5)),
    "span-walk-c1-high": ("span-walk", Span(c1=10.0)),
    "span-walk-eta-low": ("span-walk", Span(eta=0.3)),
    "span-walk-eta-high": ("span-walk", Span(eta=3.0)),
}

#: The walk that each is a variant of, and its criterion.
SMOOTHED: Mapping[str, str] = {name: method for name, (method, _) in _SMOOTHING.items()}
SMOOTHING: Mapping[str, Criterion] = {name: criterion for name, (_, criterion) in _SMOOTHING.items()}

#: A scan of the smoothing in the nearest setting: a from 0.1 to 1, the second form exp[-a/(1-z)²], and c2.
SCANNED_SMOOTHING: Mapping[str, tuple[str, Criterion, str]] = {
    **{
        f"le2-walk-looser-a-{a:g}": ("LE2", LaplaceEvidence("quadratic", a=a), f"a = {a:g}")
        for a in (0.03, 0.2, 0.3, 0.5, 1.0)
    },
    **{
        f"le2-walk-looser-square-{a:g}": ("LE2", LaplaceEvidence("quadratic", a=a, exponent=2.0), f"squared, a = {a:g}")
        for a in (0.01, 0.1)
    },
    **{f"span-walk-looser-c2-{c2:g}": ("Span", Span(c2=c2), f"c2 = {c2:g}") for c2 in (-2.5, 2.5)},
}

#: Data sets of which the paper's draw is not known, and how many draws of ours are looked at, the study's own included;
#: and draws of Crabs that are even in colour alone, which is all that the paper says of its own.
DRAWN, DRAWS, COLOUR_DRAWS = ("crabs", "twonorm", "ringnorm"), 10, 100

#: The sets that the paper took from the DELVE archive, and the names of those that are read from its files.
DELVE: Mapping[str, str] = {dataset: f"{dataset}-delve" for dataset in ("twonorm", "ringnorm")}


def in_setting(method: str, setting: str) -> str:
    """Return the name of a method of the paper in a setting."""
    return method if setting == THOROUGH else f"{method}-{setting}"


def nearest(method: str) -> str:
    """Return the name of a method of the paper, of which the study has the thorough form, in the nearest setting."""
    return in_setting(method, NEAREST_WALK if method in WALK_NAMES else NEAREST_ASCENT)


def draws(dataset: str) -> dict[str, Source]:
    """Return other draws of a data set by name, such as ``twonorm-draw-1``."""
    return {f"{dataset}-draw-{number}": BenchmarkSource(dataset, number) for number in range(1, DRAWS)}


def colour_draws() -> dict[str, Source]:
    """Return draws of Crabs that are even in colour alone."""
    return {
        f"crabs-colour-{number}": BenchmarkSource("crabs", number, stratify_sex=False)
        for number in range(1, COLOUR_DRAWS + 1)
    }


#: The methods in the order of every table, with their numbers of trials. The paper's have those of its tables (25
#: walks, 10 ascents), each in two settings: a thorough one, and the one nearest to the paper's tables. One ascent is
#: led by the paper's own sampler. Of ours, searches that start at random have as many trials as the ascents, so that
#: their spread can be compared; the others repeat what their folds or starts change.
PAPER_TRIALS: Mapping[str, int] = {
    **dict.fromkeys(WALK_NAMES, 25),
    ASCENT: 10,
    **dict.fromkeys(map(nearest, WALK_NAMES), 25),
    nearest(ASCENT): 10,
    HMC: 1,
    **dict.fromkeys(("svm-cv", "gp-laplace", "gp-variational", "svm-variational", "gp-mean-field"), 5),
    **dict.fromkeys(
        ("le1-newton", "le2-newton", "gacv-newton", "span-newton", "ep-evidence-newton", "ep-loo-newton"), 10
    ),
    "ep-loo-prior": 5,
    "tuned-svc": 5,
}

#: What the study of what results depend on adds: methods in other settings, and other draws of data sets.
VARIED_METHODS = {
    *(in_setting(walk, key) for walk in WALK_NAMES for key in WALK_SETTINGS),
    *(in_setting(ASCENT, key) for key in ASCENT_SETTINGS),
    *SMOOTHED,
    *SCANNED_SMOOTHING,
    *(REPEATED, EQUAL_SCALES, EP_ASCENT, NORMALISED),
    *GRADIENTS,
} - PAPER_TRIALS.keys()
VARIED_DATASETS = {
    *NOISY,
    *SIZED,
    *(name for dataset in DRAWN for name in draws(dataset)),
    *colour_draws(),
    *DELVE.values(),
}
