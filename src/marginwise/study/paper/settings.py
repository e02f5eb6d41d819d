"""What the paper leaves open about its searches and its data, in several declared ways: ``settings.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from marginwise.criteria.base import Criterion
from marginwise.criteria.laplace import LaplaceEvidence
from marginwise.criteria.span import Span
from marginwise.search.gradient_ascent import GradientAscent
from marginwise.search.random_walk import RandomWalk
from marginwise.study.data import BenchmarkSource, Source
from marginwise.study.paper.numbers import SIMPLE, declared
from marginwise.study.paper.probes import GRADIENTS, NOISY, SIZED
from marginwise.study.searches import WALK

S = TypeVar("S", RandomWalk, GradientAscent)

_DECLARED = declared("settings")

#: The paper's searches in the thorough form, by the names of the study's methods.
WALK_NAMES = tuple(column.method for column in SIMPLE)
ASCENT = "evidence-ascent"

#: An ascent by the paper's own sampler; one that is repeated from one start; one from equal length scales, which the
#: paper's figures show; and two on the evidence of expectation propagation, as it is and of the normalised model.
HMC, REPEATED, EQUAL_SCALES = "hmc-ascent", "evidence-ascent-same-start", "evidence-ascent-equal-scales"
EP_ASCENT, NORMALISED = "ep-ascent", "ep-ascent-normalised"

#: The method that maximises the evidence of expectation propagation.
MAXIMISED = "ep-evidence-newton"

#: The thorough setting, of which each other differs in the detail named; of those that were tried, the setting of walks
#: nearest to the paper's table, and that of ascents with its numbers of steps. These two were chosen on the table that
#: they are compared with.
THOROUGH, NEAREST_WALK, NEAREST_ASCENT = "thorough", "looser", "slow"
NEAREST = "nearest setting"


@dataclass(frozen=True)
class Setting(Generic[S]):
    """An answer to a detail that the paper leaves open about its searches."""

    detail: str
    words: str
    search: S
    bounds: Mapping[str, tuple[float, float]] | None = None


def _settings(kind: str, search: S) -> dict[str, Setting[S]]:
    """Return the declared settings of a kind of search."""
    found = {}
    for name, about in _DECLARED[kind].items():
        other = {key: value for key, value in about.items() if key not in ("detail", "words", "bounds")}
        bounds = {key: (low, high) for key, (low, high) in about.get("bounds", {}).items()} or None
        found[name] = Setting(about["detail"], about["words"], replace(search, **other), bounds)
    return found


WALK_SETTINGS: Mapping[str, Setting[RandomWalk]] = _settings("walks", WALK)
ASCENT_SETTINGS: Mapping[str, Setting[GradientAscent]] = _settings("ascents", GradientAscent())
SLOW = ASCENT_SETTINGS[NEAREST_ASCENT].search


@dataclass(frozen=True)
class Smoothed:
    """A walk of the paper on its criterion with other smoothing parameters."""

    walk: str
    words: str
    criterion: Criterion


def _smoothed(kind: str) -> dict[str, Smoothed]:
    """Return the declared variants."""
    found = {}
    for name, about in _DECLARED[kind].items():
        other = {key: value for key, value in about.items() if key not in ("walk", "words", "trials")}
        criterion = Span(**other) if about["walk"] == "span-walk" else LaplaceEvidence("quadratic", **other)
        found[name] = Smoothed(about["walk"], about.get("words", ""), criterion)
    return found


#: Thorough walks with other smoothing parameters, and a scan of them in the nearest setting.
SMOOTHED, SCANNED_SMOOTHING = _smoothed("smoothing"), _smoothed("scan")

#: The methods in the order of every table, with their numbers of trials; and those of variants with more than two.
PAPER_TRIALS: Mapping[str, int] = _DECLARED["trials"]
MORE_TRIALS: Mapping[str, int] = {
    **{name: about["trials"] for name, about in _DECLARED["scan"].items()},
    **_DECLARED["more_trials"],
}
MORE_TRIALS_ON_WDBC: Mapping[str, int] = _DECLARED["more_trials_on_wdbc"]

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
    numbers = range(1, COLOUR_DRAWS + 1)
    return {f"crabs-colour-{number}": BenchmarkSource("crabs", number, stratify_sex=False) for number in numbers}


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
