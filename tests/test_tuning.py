"""The one entry: starts, fixed C, priors, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import toys
from marginwise.criteria import evaluate
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.priors import Prior
from marginwise.search import QuasiNewton
from marginwise.search.trace import Tuning
from marginwise.tuning import scan_line, tune
from zoo import blobs, twonorm

P = blobs(40, 3)


def go(criterion: Any = None, **options: Any) -> Tuning:
    return tune(P.X, P.y, criterion or toys.RegressionEvidence(), **options)


@pytest.mark.parametrize(
    ("criterion", "slack"),
    [("laplace-evidence", "linear"), ("laplace-evidence", "quadratic"), ("span", "quadratic"), ("gacv", "linear")],
)
def test_improves_real_criteria_by_their_names(criterion: str, slack: str) -> None:
    tuning = go(criterion, slack=slack, max_evaluations=60, isotropic=True)
    at = {
        name: evaluate(criterion, P.X, P.y, h, slack).value
        for name, h in (("start", paper_start(3, isotropic=True)), ("end", tuning.hyperparameters))
    }
    assert tuning.value == pytest.approx(at["end"], rel=1e-6)
    gain = at["end"] - at["start"]
    assert (gain if criterion == "laplace-evidence" else -gain) > 0.01


@pytest.mark.parametrize("search", ["quasi-newton", "gradient-ascent"])
def test_leaves_the_plateau_where_no_two_points_are_alike(search: str) -> None:
    """At the paper's start with 20 inputs the derivatives for the length scales are a few thousandths of that for C.

    Followed as it is, the gradient leads to the constant classifier, with evidence -ln 2 for each example.
    """
    problem = twonorm(120)
    gradient = evaluate("ep-evidence", problem.X, problem.y, paper_start(20), "linear").gradient
    assert gradient is not None
    assert np.abs(gradient[3:]).max() < 0.02 * abs(gradient[0])
    tuning = tune(problem.X, problem.y, "ep-evidence", "linear", search=search)
    assert tuning.status.ok
    assert tuning.value > -0.35


def test_is_the_same_for_a_name_and_an_object() -> None:
    assert go(search="quasi-newton").hyperparameters == go(search=QuasiNewton()).hyperparameters


def test_begins_where_it_should() -> None:
    def start(**options: Any) -> Hyperparameters:
        return go(max_evaluations=1, **options).restarts[0].start

    def same(a: Hyperparameters, b: Hyperparameters) -> bool:
        return a.names == b.names and bool(np.allclose(a.to_vector(), b.to_vector(), rtol=1e-14))

    given = Hyperparameters(2, 3, 0.4, [1, 2, 3])
    assert same(start(), paper_start(3))
    assert same(start(isotropic=True), paper_start(3, isotropic=True))
    assert same(start(prior=Prior()), Prior().mean(3))
    assert same(start(prior=Prior(), isotropic=True), Prior().mean(3, isotropic=True))
    assert same(start(start=given, prior=Prior()), given)
    assert same(start(start=[2, 3, 0.4, 1, 2, 3]), given)
    assert same(start(start=[2, 3, 0.4, 5]), Hyperparameters(2, 3, 0.4, 5))
    assert same(start(start=[2, 3, 0.4, 5], isotropic=False), Hyperparameters(2, 3, 0.4, [5, 5, 5]))


def test_keeps_C_at_one_where_only_the_product_with_the_kernel_counts() -> None:
    tuning = go(toys.Product(), start=[2, 3, 0.4, 1, 2, 3], restarts=1, random_state=0)
    np.testing.assert_allclose(tuning.restarts[0].start.to_vector(), np.log([1, 6, 0.8, 1, 2, 3]))
    assert all(record.hyperparameters.C == 1.0 for run in tuning.restarts for record in run.trace)
    assert tuning.value == pytest.approx(0.0, abs=1e-4)


def test_keeps_a_C_that_the_kernel_has_no_room_for() -> None:
    """1000 times 1000 is beyond the bounds of k0, which the user never gave."""
    tuning = go("span", start=(1000, 1000, 0.1, 1), isotropic=True, max_evaluations=3)
    assert {round(record.hyperparameters.C, 6) for record in tuning.trace} == {1000.0}


def test_a_prior_pulls_the_length_scales_together() -> None:
    spreads = [0.05, 0.5, 5.0]
    found = [go(prior=Prior(spread=s)).hyperparameters for s in spreads]
    variances = [np.log(h.length_scales).std() for h in found]
    assert variances[0] < variances[1] < variances[2]
    alone = go(prior=Prior(), isotropic=True)
    assert np.log(found[0].length_scales).mean() == pytest.approx(
        np.log(alone.hyperparameters.length_scales[0]), abs=0.1
    )


def test_the_value_is_the_criterions_without_the_prior() -> None:
    tuning = go(prior=Prior())
    assert tuning.value == toys.RegressionEvidence().evaluate(P, tuning.hyperparameters).value
    assert tuning.restarts[0].score < tuning.value


@pytest.mark.parametrize("search", ["quasi-newton", "random-walk", "gradient-ascent"])
def test_a_narrower_box_is_kept(search: str) -> None:
    box = {"k0": (0.5, 2.0), "l": (0.9, 1.2)}
    tuning = go(search=search, bounds=box, restarts=2, random_state=0, max_evaluations=40)
    for run in tuning.restarts:
        for record in run.trace:
            h = record.hyperparameters
            assert 0.5 - 1e-9 <= h.k0 <= 2.0 + 1e-9
            assert all(0.9 - 1e-9 <= scale <= 1.2 + 1e-9 for scale in h.length_scales)
    free = go(search=search, random_state=0, max_evaluations=40).hyperparameters
    assert not (0.5 <= free.k0 <= 2.0 and all(0.9 <= scale <= 1.2 for scale in free.length_scales))


@pytest.mark.parametrize(
    ("bounds", "named"),
    [
        ({"gamma": (0.1, 1.0)}, "bounds is 'gamma'"),
        ({"k0": (2.0, 1.0)}, "bounds of k0 is"),
        ({"l": (0.0, 1.0)}, "bounds of l is"),
        ({"k0": (0.01, 0.5)}, "start: k0 is"),
    ],
)
def test_refuses_boxes_that_cannot_be(bounds: dict[str, tuple[float, float]], named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        go(bounds=bounds)


def test_weights_count_repetitions() -> None:
    """Three times the data under the same prior: the prior counts a third, however they are given."""
    rows = np.tile(np.arange(40), 3)
    weighted = tune(P.X, P.y, "laplace-evidence", prior=Prior(), sample_weight=np.full(40, 3.0))
    repeated = tune(P.X[rows], P.y[rows], "laplace-evidence", prior=Prior())
    np.testing.assert_allclose(weighted.hyperparameters.to_vector(), repeated.hyperparameters.to_vector(), atol=1e-3)


def test_more_freedom_lets_the_criterion_improve() -> None:
    shared = go(prior=Prior(), isotropic=True).hyperparameters
    tunings = [go(prior=Prior(spread=spread), start=shared, isotropic=False) for spread in (0.1, 0.3, 1.0, 3.0)]
    for tuning in tunings:
        start = tuning.restarts[0].start
        np.testing.assert_allclose(start.to_vector(), shared.as_ard(3).to_vector(), rtol=1e-12)
    assert (np.diff([np.log(tuning.hyperparameters.length_scales).std() for tuning in tunings]) > 0).all()
    assert (np.diff([tuning.value for tuning in tunings]) > -1e-5).all()


def test_scans_criteria_by_their_names() -> None:
    line = scan_line(
        ["laplace-evidence", "gacv"], P.X, P.y, paper_start(3), Hyperparameters(1, 5, 0.1, 2), "linear", n_points=3
    )
    for name, values in line.values.items():
        middle = Hyperparameters.from_vector(line.logs[1])
        assert values[1] == pytest.approx(evaluate(name, P.X, P.y, middle, "linear").value, rel=1e-7)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"search": "newton"}, "search"),
        ({"criterion": "evident"}, "criterion"),
        ({"restarts": -1}, "restarts"),
        ({"random_state": 1.5}, "random_state"),
        ({"random_state": -1}, "random_state"),
        ({"start": [1, 1, 1, 2, 3]}, "length_scales"),
        ({"start": [1, 1, 1, 2, 3, 4], "isotropic": True}, "start"),
        ({"start": [1, 1e9, 1, 1]}, "start: k0"),
        ({"max_evaluations": 0}, "max_evaluations"),
        ({"max_seconds": -1.0}, "max_seconds"),
    ],
)
def test_refuses_what_is_not_allowed(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^{named}"):
        go(**options)
