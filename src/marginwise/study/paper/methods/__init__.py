"""The methods of the paper's study by name, in the order of every table, and how often each is tried."""

from __future__ import annotations

from collections.abc import Mapping

from marginwise.errors import choose
from marginwise.priors import Prior
from marginwise.study.paper.methods.ascent import Ascent
from marginwise.study.paper.methods.ours import CombinedOptima, SelfTuned
from marginwise.study.paper.methods.previous import CrossValidated, GaussianProcess, VariationalSVM
from marginwise.study.plan import Method
from marginwise.study.searches import Newton, Walk

#: Each method with its number of trials. The paper's have those of its tables (25 walks, 10 ascents). Of ours, searches
#: that start at random have as many as the ascents, so that their spread can be compared; the others repeat what their
#: folds or starts change. A new method is a line here, and a class if it does something new.
_STUDY: dict[str, tuple[Method, int]] = {
    "le1-walk": (Walk("laplace-evidence", "linear", companion="gacv"), 25),
    "le2-walk": (Walk("laplace-evidence", "quadratic", companion="span"), 25),
    "gacv-walk": (Walk("gacv", "linear"), 25),
    "span-walk": (Walk("span", "quadratic"), 25),
    "evidence-ascent": (Ascent(), 10),
    "svm-cv": (CrossValidated(), 5),
    "gp-laplace": (GaussianProcess("laplace"), 5),
    "gp-variational": (GaussianProcess("variational"), 5),
    "svm-variational": (VariationalSVM(), 5),
    "gp-mean-field": (GaussianProcess("ep"), 5),
    "le1-newton": (Newton("laplace-evidence", "linear"), 10),
    "le2-newton": (Newton("laplace-evidence", "quadratic"), 10),
    "gacv-newton": (Newton("gacv", "linear"), 10),
    "span-newton": (Newton("span", "quadratic"), 10),
    "ep-evidence-newton": (Newton("ep-evidence", "linear"), 10),
    "ep-loo-newton": (Newton("ep-loo", "linear"), 10),
    "ep-loo-prior": (Newton("ep-loo", "linear", isotropic=True, prior=Prior()), 5),
    "tuned-svc": (SelfTuned(), 5),
    "ensemble": (CombinedOptima(), 5),
}

METHODS: Mapping[str, Method] = {name: method for name, (method, _) in _STUDY.items()}
PAPER_TRIALS: Mapping[str, int] = {name: trials for name, (_, trials) in _STUDY.items()}


def methods(*names: str) -> dict[str, Method]:
    """Return methods of the paper's study by name; without names, all.

    Parameters
    ----------
    *names : str
        Some of the keys of ``METHODS``.

    Returns
    -------
    dict of Method

    Examples
    --------
    >>> list(methods("gacv-walk", "tuned-svc"))
    ['gacv-walk', 'tuned-svc']
    """
    return {choose("methods", name, METHODS): METHODS[name] for name in names or METHODS}
