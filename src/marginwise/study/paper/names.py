"""What the study calls its methods, their settings and other draws of the data: all that reports need to know of them.

What a name stands for is in :mod:`marginwise.study.paper.methods`.
"""

from __future__ import annotations

from collections.abc import Mapping

from marginwise.study.paper.numbers import SIMPLE

#: The paper's searches in the thorough form.
WALK_NAMES = tuple(column.method for column in SIMPLE)
ASCENT = "evidence-ascent"

#: An ascent that is repeated from one start, and one from equal length scales, which the paper's figures show.
REPEATED = "evidence-ascent-same-start"
EQUAL_SCALES = "evidence-ascent-equal-scales"

#: The thorough setting, of which each other differs in the detail named.
THOROUGH = "thorough"

#: Settings of the walks and of the ascents: the open detail that each answers in another way, and how.
WALK_DETAILS: Mapping[str, tuple[str, str]] = {
    THOROUGH: ("", "one hyperparameter after the other, first step 0.3, factor 1.15, 20 sweeps that gain 1e-5"),
    "bold": ("first step", "2 instead of 0.3"),
    "gentle": ("step factor", "1.05 instead of 1.15"),
    "loose": ("stopping rule", "5 sweeps that gain 0.001 instead of 20 and 1e-5"),
    "small-loose": ("first step, stopping rule", "0.1, and 5 sweeps that gain 0.001"),
    "looser": ("stopping rule", "2 sweeps that gain 0.001"),
    "narrow": ("bounds", "k0 to 100, length scales from 0.05 to 20"),
    "all": ("proposal", "all hyperparameters at once"),
    "all-gentle": ("proposal, step factor", "all at once, 1.1"),
    "all-gentler": ("proposal, step factor", "all at once, 1.05"),
    "all-bold": ("proposal, step factor, first step", "all at once, 1.1, first step 1"),
    "all-loose": ("proposal, step factor, stopping rule", "all at once, 1.05, loose"),
    "all-narrow": ("proposal, step factor, bounds", "all at once, 1.1, narrow"),
}
ASCENT_DETAILS: Mapping[str, tuple[str, str]] = {
    THOROUGH: ("", "first move 0.2, at most 1, rates raised by 1.5, to a tenth of the peak"),
    "slow": ("moves, stopping rule", "first 0.1, at most 0.3, rates raised by 1.1; to a fifth of the peak"),
    "slow-linear": ("scale of C", "slow, with C on its own scale"),
    "slow-tenth": ("stopping rule", "slow, to a tenth of the peak"),
    "to-half": ("stopping rule", "to half of the peak"),
}

#: The setting of walks that is nearest to the paper's table: see :mod:`marginwise.study.paper.sensitivity`.
NEAREST_WALK = "looser"

#: The setting of ascents with the paper's numbers of steps.
NEAREST_ASCENT = "slow"

#: Walks with other smoothing parameters, and the method that each is a variant of.
SMOOTHED: Mapping[str, str] = {
    "le2-walk-a-low": "le2-walk",
    "le2-walk-a-high": "le2-walk",
    "span-walk-c1-low": "span-walk",
    "span-walk-c1-high": "span-walk",
    "span-walk-eta-low": "span-walk",
    "span-walk-eta-high": "span-walk",
}

#: Data sets of which the paper's draw is not known, and how many draws of ours are looked at, the study's own included.
DRAWN, DRAWS = ("crabs", "twonorm", "ringnorm"), 10


def in_setting(method: str, setting: str) -> str:
    """Return the name of a method of the paper in a setting."""
    return method if setting == THOROUGH else f"{method}-{setting}"


def as_in_paper(method: str) -> str:
    """Return the name of a method of the paper, of which the study has the thorough form, in the nearest setting."""
    return in_setting(method, NEAREST_WALK if method in WALK_NAMES else NEAREST_ASCENT)


def draw_names(dataset: str) -> dict[str, int]:
    """Return the names of other draws of a data set, such as ``twonorm-draw-1``, with their numbers."""
    return {f"{dataset}-draw-{number}": number for number in range(1, DRAWS)}


#: The methods in the order of every table, with their numbers of trials. The paper's have those of its tables (25
#: walks, 10 ascents), each in two settings: a thorough one, and the one nearest to the paper's tables. One ascent is
#: led by the paper's own sampler. Of ours, searches that start at random have as many trials as the ascents, so that
#: their spread can be compared; the others repeat what their folds or starts change.
PAPER_TRIALS: Mapping[str, int] = {
    **dict.fromkeys(WALK_NAMES, 25),
    ASCENT: 10,
    **dict.fromkeys(map(as_in_paper, WALK_NAMES), 25),
    as_in_paper(ASCENT): 10,
    "hmc-ascent": 1,
    "svm-cv": 5,
    "gp-laplace": 5,
    "gp-variational": 5,
    "svm-variational": 5,
    "gp-mean-field": 5,
    "le1-newton": 10,
    "le2-newton": 10,
    "gacv-newton": 10,
    "span-newton": 10,
    "ep-evidence-newton": 10,
    "ep-loo-newton": 10,
    "ep-loo-prior": 5,
    "tuned-svc": 5,
}

#: What the study of what results depend on adds: methods in other settings, and other draws of data sets.
VARIED_METHODS = frozenset(
    {
        *(in_setting(walk, key) for walk in WALK_NAMES for key in WALK_DETAILS),
        *(in_setting(ASCENT, key) for key in ASCENT_DETAILS),
        *SMOOTHED,
        REPEATED,
        EQUAL_SCALES,
    }
    - PAPER_TRIALS.keys()
)
VARIED_DATASETS = frozenset(name for dataset in DRAWN for name in draw_names(dataset))
