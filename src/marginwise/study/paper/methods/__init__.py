"""The methods of the paper's study by name, in the order of every table."""

from __future__ import annotations

from collections.abc import Mapping

from marginwise.errors import choose
from marginwise.priors import Prior
from marginwise.study.paper.methods.ascent import AS_IN_PAPER, Ascent
from marginwise.study.paper.methods.ours import SelfTuned
from marginwise.study.paper.methods.previous import CrossValidated, GaussianProcess, VariationalSVM
from marginwise.study.paper.methods.variants import WALKS, variants
from marginwise.study.paper.names import ASCENT, PAPER_TRIALS
from marginwise.study.plan import Method
from marginwise.study.searches import Newton

#: What the names stand for. A new method is a line here and one in ``names.py``, and a class if it does something new.
_METHODS: dict[str, Method] = {
    **WALKS,
    **variants(),
    ASCENT: Ascent(),
    "hmc-ascent": Ascent(AS_IN_PAPER, sampler="paper", start="same"),
    "svm-cv": CrossValidated(),
    "gp-laplace": GaussianProcess("laplace"),
    "gp-variational": GaussianProcess("variational"),
    "svm-variational": VariationalSVM(),
    "gp-mean-field": GaussianProcess("ep"),
    "le1-newton": Newton("laplace-evidence", "linear"),
    "le2-newton": Newton("laplace-evidence", "quadratic"),
    "gacv-newton": Newton("gacv", "linear"),
    "span-newton": Newton("span", "quadratic"),
    "ep-evidence-newton": Newton("ep-evidence", "linear"),
    "ep-loo-newton": Newton("ep-loo", "linear"),
    "ep-loo-prior": Newton("ep-loo", "linear", isotropic=True, prior=Prior()),
    "tuned-svc": SelfTuned(),
}

METHODS: Mapping[str, Method] = {name: _METHODS[name] for name in PAPER_TRIALS}


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
