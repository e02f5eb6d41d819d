"""The methods of the paper's study by name, in the order of every table."""

from __future__ import annotations

from marginwise.errors import choose
from marginwise.priors import Prior
from marginwise.study.paper.methods.ascent import Ascent
from marginwise.study.paper.methods.ours import Ensemble, SelfTuned
from marginwise.study.paper.methods.previous import CrossValidated, GaussianProcess, VariationalSVM
from marginwise.study.plan import Method
from marginwise.study.searches import Newton, Walk

METHODS: dict[str, Method] = {
    "le1-walk": Walk("laplace-evidence", "linear", companion="gacv"),
    "le2-walk": Walk("laplace-evidence", "quadratic", companion="span"),
    "gacv-walk": Walk("gacv", "linear"),
    "span-walk": Walk("span", "quadratic"),
    "evidence-ascent": Ascent(),
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
    "ensemble": Ensemble(),
}


def methods(*names: str) -> dict[str, Method]:
    """Return methods of the paper's study by name; without names, all."""
    return {choose("methods", name, METHODS): METHODS[name] for name in names or METHODS}
