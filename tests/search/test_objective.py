"""The score: the criterion's sign, the prior, fixed C, and what counts as a failure."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import toys
from marginwise.criteria.base import Criterion, Evaluation
from marginwise.errors import InvalidInputError, NotConvergedError
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.priors import Prior
from marginwise.problem import Problem, as_problem
from marginwise.search import Objective, Space
from marginwise.status import Status
from zoo import blobs, random_hyperparameters

PROBLEM = blobs(25, 3)


@pytest.mark.parametrize("toy", [toys.Hill, toys.Bowl, toys.RegressionEvidence, toys.Product])
@pytest.mark.parametrize("prior", [None, Prior(spread=0.2), Prior(spread=None)])
@pytest.mark.parametrize("isotropic", [False, True])
def test_gradient_agrees_with_differences(
    toy: type[Criterion], prior: Prior | None, isotropic: bool, rng: np.random.Generator
) -> None:
    start = random_hyperparameters(rng, 1 if isotropic else 3, spread=0.3)
    objective = Objective(toy(), PROBLEM, Space.around(start, fix_C=toy.scale_free), prior)
    position = objective.space.start

    def score(x: np.ndarray) -> float:
        return objective.evaluate(x)[0].score

    e = 1e-5 * np.eye(len(position))
    differences = [(score(position + step) - score(position - step)) / 2e-5 for step in e]
    point, _ = objective.evaluate(position)
    np.testing.assert_allclose(point.gradient, differences, rtol=1e-6, atol=1e-8)


def test_score_is_criterion_plus_log_prior_over_n() -> None:
    h = Hyperparameters(2, 1, 0.5, [1, 2, 3])
    prior = Prior(spread=0.3)
    log_prior, _ = prior.log_density(h, 3)
    for weights, n in ((np.ones(25), 25), (np.full(25, 3.0), 75)):
        problem = as_problem(PROBLEM.X, PROBLEM.y, weights)
        for toy, sign in ((toys.Hill, 1), (toys.Bowl, -1)):
            point, _ = Objective(toy(), problem, Space.around(h), prior).evaluate(np.log([2, 1, 0.5, 1, 2, 3]))
            assert point.score == pytest.approx(sign * point.value + log_prior / n, rel=1e-12)


def test_fixed_C_is_not_part_of_a_position() -> None:
    space = Space.around(Hyperparameters(1, 2, 3, [4, 5, 6]), fix_C=True)
    assert space.names == ("k0", "koff", "l_1", "l_2", "l_3")
    assert space.at(space.start + 0.1).C == 1.0
    assert not space.is_C.any()
    assert [group.tolist() for group in space.groups] == [[0], [1], [2, 3, 4]]


def test_groups_are_scaled_each_by_itself() -> None:
    space = Space.around(Hyperparameters(1, 2, 3, [4, 5, 6]))
    assert [group.tolist() for group in space.groups] == [[0], [1], [2], [3, 4, 5]]
    scaled = space.normalised(np.array([-5.0, 1e-9, 0.0, 1e-4, -4e-4, 2e-4]))
    np.testing.assert_allclose(scaled, [-1, 1, 0, 0.25, -1, 0.5])
    fixed = Space.around(Hyperparameters(1, 2, 3, 4), fix_C=True)
    assert [group.tolist() for group in fixed.groups] == [[0], [1], [2]]


def test_the_gradient_is_projected_on_the_bounds() -> None:
    space = Space.around(Hyperparameters(1, 2, 3, 4))
    gradient = np.array([1.0, -1.0, 1.0, -1.0])
    np.testing.assert_array_equal(space.projected(space.upper, gradient), [0, -1, 0, -1])
    np.testing.assert_array_equal(space.projected(space.lower, gradient), [1, 0, 1, 0])
    np.testing.assert_array_equal(space.projected(space.start, gradient), gradient)


def test_a_start_outside_the_bounds_is_refused_and_one_on_them_is_not() -> None:
    with pytest.raises(InvalidInputError, match="k0"):
        Space.around(Hyperparameters(1, 1e6, 1, 1))
    highest = Hyperparameters(1e3, 1e5, 1e3, 1e3)
    again = Hyperparameters.from_vector(highest.to_vector())  # by rounding, a little beyond
    np.testing.assert_array_equal(Space.around(again).start, Space.around(again).upper)


class _Answers(Criterion):
    """A criterion that gives the answer it was made with."""

    name, direction, smooth, equation = "toy-answers", "maximise", True, "toy"

    def __init__(self, answer: Evaluation | Exception) -> None:
        super().__init__()
        self.answer = answer

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


GRADIENT = np.ones(6)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Evaluation(1.0, GRADIENT, Status(False, "singular")), "singular"),
        (Evaluation(np.inf, GRADIENT), "value is inf"),
        (Evaluation(np.nan, None), "value is nan"),
        (Evaluation(1.0, GRADIENT * np.nan), "gradient is not finite"),
        (NotConvergedError("no end"), "no end"),
        (np.linalg.LinAlgError("indefinite"), "indefinite"),
    ],
)
def test_failures_are_data(answer: Evaluation | Exception, reason: str) -> None:
    point, state = Objective(_Answers(answer), PROBLEM, Space.around(paper_start(3))).evaluate(np.zeros(6))
    assert not point.status.ok
    assert reason in point.status.message
    assert point.gradient is None
    assert state is None


def test_a_mistake_in_a_criterion_is_not_taken_for_numerical_trouble() -> None:
    with pytest.raises(KeyError):
        Objective(_Answers(KeyError("typo")), PROBLEM, Space.around(paper_start(3))).evaluate(np.zeros(6))


def test_a_gradient_alone_is_no_failure() -> None:
    answer = Evaluation(np.nan, GRADIENT, info={"gradient_se": [0.1] * 6})
    point, _ = Objective(_Answers(answer), PROBLEM, Space.around(paper_start(3))).evaluate(np.zeros(6))
    assert point.status.ok
    np.testing.assert_array_equal(point.noise, np.full(6, 0.1))
