"""Values beyond what can be computed with: each is refused by name, with what is allowed."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from marginwise import Hyperparameters, MarginSVC, Prior, TunedSVC, criterion_names, evaluate, posterior, tune
from marginwise.errors import InvalidInputError
from marginwise.model import Model

X = np.random.default_rng(0).normal(size=(30, 2))
Y = np.where(X[:, 0] > 0, 1, -1)
START = [1.0, 1.0, 0.1, 1.0]


@pytest.mark.parametrize("scale", [1e200, 1.7e307])
def test_inputs_whose_squares_are_not_finite_are_refused(scale: float) -> None:
    far = r"X\[\d+, \d\] is .*; expected a number from -1e\+100 to 1e\+100"
    with pytest.raises(InvalidInputError, match=far):
        MarginSVC().fit(X * scale, Y)
    with pytest.raises(InvalidInputError, match=far):
        TunedSVC(standardize=False).fit(X * scale, Y)
    with pytest.raises(InvalidInputError, match=far):
        posterior(X * scale, Y, START)
    for name in criterion_names():
        with pytest.raises(InvalidInputError, match=far):
            evaluate(name, X * scale, Y, START)
    with pytest.raises(InvalidInputError, match=far):
        tune(X * scale, Y, "ep-loo")


def test_standardised_inputs_may_be_of_any_size() -> None:
    base = TunedSVC(0.0, random_state=0).fit(X, Y).predict_proba(X)
    for scale in (2.0**-1000, 2.0**1000):
        found = TunedSVC(0.0, random_state=0).fit(X * scale, Y).predict_proba(X * scale)
        np.testing.assert_allclose(found, base, atol=1e-6)


@pytest.mark.parametrize("value", [1e300, 1e-300, 1e51])
@pytest.mark.parametrize("place", range(4))
def test_hyperparameters_beyond_all_products_are_refused(place: int, value: float) -> None:
    values = [1.0, 1.0, 0.1, 1.0]
    values[place] = value
    with pytest.raises(InvalidInputError, match=r"a number from 1e-50 to 1e\+50"):
        Hyperparameters(*values)
    assert Hyperparameters(*[1e50 if number == value else number for number in values])


@pytest.mark.parametrize("ard", [1e300, 1e-300, np.nan, -0.1, "some", [0.1], True, None, np.array([0.1, 0.2])])
def test_freedoms_that_mean_nothing_are_refused(ard: Any) -> None:
    with pytest.raises(InvalidInputError, match=r'expected "auto", 0 or a positive number from 1e-06 to 1e\+06'):
        TunedSVC(ard).fit(X, Y)


@pytest.mark.parametrize("options", [{"C": (0.0, 1e-300)}, {"k0": (1e5, 1.0)}, {"spread": 1e-300}, {"spread": 1e300}])
def test_priors_that_leave_nothing_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"from 1e-06 to 1e\+06"):
        Prior(**options)


def test_an_infinite_deviation_is_no_prior() -> None:
    wide = Prior(C=(0.0, np.inf), spread=np.inf)
    value, gradient = wide.log_density(Model(3.0, Hyperparameters(1, 1, 0.1, [1, 2]).kernel), 2)
    assert np.isfinite([value, *gradient]).all()
    assert gradient[0] == 0


@pytest.mark.parametrize("weight", [np.array([1.0, 2.0]), [1, 2], "heavy", 3])
@pytest.mark.parametrize("estimator", [TunedSVC, MarginSVC])
def test_class_weights_are_a_dict_or_balanced(estimator: Any, weight: Any) -> None:
    with pytest.raises(InvalidInputError, match="a dict of weights by class"):
        estimator(class_weight=weight).fit(X, Y)


@pytest.mark.parametrize("n_jobs", ["x", 0, 1.5, True, np.array([2, 2])])
def test_numbers_of_processes_are_checked(n_jobs: Any) -> None:
    for call in (lambda: TunedSVC(n_jobs=n_jobs).fit(X, Y), lambda: tune(X, Y, "ep-loo", n_jobs=n_jobs)):
        with pytest.raises(InvalidInputError, match="a number of processes"):
            call()


@pytest.mark.parametrize("name", ["restarts", "patience", "max_evaluations", "max_seconds"])
@pytest.mark.parametrize("value", ["x", np.nan, -1, np.array([1, 2])])
def test_budgets_of_a_search_are_checked(name: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} is "):
        tune(X, Y, "ep-loo", **{name: value})


@pytest.mark.parametrize("name", ["rank", "subset", "standardize"])
def test_arrays_are_no_parameters(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} is "):
        TunedSVC(**{name: np.array([1, 2])}).fit(X, Y)


@pytest.mark.parametrize("C", [1000.0, 999.9999])
def test_a_start_whose_product_is_out_of_bounds_is_still_one(C: float) -> None:
    """Where only C·k0 counts, C is put into the kernel if that is within its bounds; nobody is told of a k0 of 1e6."""
    assert tune(X, Y, "span", start=(C, 1000.0, 0.1, 1.0), max_evaluations=3).value > 0


@pytest.mark.parametrize("weight", [1e-13, 1e13, 1e300])
def test_weights_beyond_all_use_are_refused(weight: float) -> None:
    with pytest.raises(InvalidInputError, match=r"sample_weight\[3\] is .* from 1e-12 to 1e\+12"):
        evaluate("ep-loo", X, Y, START, sample_weight=np.where(np.arange(30) == 3, weight, 1.0))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs POSIX signals")
def test_a_handler_that_was_not_installed_from_python_stays() -> None:
    script = (
        "import ctypes, signal, sys\n"
        "import numpy as np\n"
        "libc = ctypes.CDLL(None)\n"
        "handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: None)\n"
        "libc.signal(signal.SIGINT, handler)\n"
        "from unittest import mock\n"
        "from marginwise import TunedSVC\n"
        "from marginwise._runtime.interrupts import answer_interrupts\n"
        "with mock.patch('signal.getsignal', lambda number: None):  # what Python says where it knows of none\n"
        "    with answer_interrupts(signal.SIG_IGN):\n"
        "        assert libc.signal(signal.SIGINT, handler) != 1\n"
        "    X = np.arange(20.0)[:, None]\n"
        "    print(TunedSVC(0.0).fit(X, X[:, 0] > 10).score(X, X[:, 0] > 10))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "1.0"), done.stderr
