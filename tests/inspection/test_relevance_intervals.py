"""Intervals of relevances: the curvature against the criterion itself, and tables with columns that do not matter."""

from __future__ import annotations

from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from marginwise import MarginSVC, TunedSVC
from marginwise.criteria.least_squares import LeastSquaresLeaveOneOut
from marginwise.errors import InvalidInputError
from marginwise.fitting.relevance_draws import curvature_root
from marginwise.inspection import relevance_intervals
from marginwise.plots import RelevanceDisplay
from marginwise.priors import Prior
from marginwise.search.base import Space
from marginwise.search.objective import Objective

mpl.use("agg")
pytestmark = pytest.mark.filterwarnings(
    "ignore::marginwise.errors.ConvergenceWarning", "ignore::marginwise.errors.TableWarning"
)


@pytest.fixture(scope="module")
def model() -> TunedSVC:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    return TunedSVC(random_state=0).fit(X, rng.random(150) < 1 / (1 + np.exp(-2.5 * X[:, 0] - X[:, 1])))


def test_curvature_is_that_of_the_score(model: TunedSVC) -> None:
    """Along each eigenvector the score falls by about ½ over n one standard deviation away, where it is a parabola."""
    member = model.ensemble_.main
    problem = replace(model.ensemble_.problem, X=member.inputs(model.ensemble_.X))
    root = curvature_root(member, problem, Prior())
    space = Space.around(member.tuning.hyperparameters)
    law = Prior() if member.spread == 0 else Prior(spread=member.spread)
    objective = Objective(LeastSquaresLeaveOneOut(), problem, space, law)
    n, h = problem.weights.sum(), 0.05
    middle = objective.evaluate(space.start)[0].score
    free = np.linalg.norm(root, axis=0) < 1.49  # those that no bound holds
    assert free.any()
    for direction in root[:, free].T:
        ends = [objective.evaluate(space.start + sign * h * direction)[0].score for sign in (1.0, -1.0)]
        np.testing.assert_allclose(n * (2 * middle - sum(ends)) / h**2, 1.0, rtol=0.1)


def test_columns_that_matter_and_do_not(model: TunedSVC) -> None:
    found = relevance_intervals(model, n_draws=40)
    assert (found.low <= found.high).all()
    assert found.low[0] > 0
    assert (found.low[2:] == 0).all()
    again = relevance_intervals(model, n_draws=40)
    np.testing.assert_array_equal(found.low, again.low)
    wider = relevance_intervals(model, n_draws=40, coverage=0.99)
    assert (wider.high >= found.high).all()


def test_many_classes_categories_and_screened_columns() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice(["a", "b", "c"], 90), rng.normal(size=(90, 2)).round(2)]).astype(object)
    three = TunedSVC(ard=0, random_state=0).fit(X, X[:, 0])
    assert relevance_intervals(three, n_draws=10).low.shape == (3,)
    assert relevance_intervals(three, n_draws=10).low[0] > 0.3
    wide = rng.normal(size=(50, 120))
    few = TunedSVC(random_state=0).fit(wide, wide[:, 3] > 0)
    assert relevance_intervals(few, n_draws=4).high.shape == (120,)


def test_drawn_as_lines(model: TunedSVC) -> None:
    low, high = np.array([0.5, 0.0]), np.array([0.9, 0.3])
    ax = RelevanceDisplay([[0.7, 0.3]], [1.0], ["a", "b"], (low, high)).plot().ax_
    lines = ax.collections[-1].get_segments()
    np.testing.assert_allclose([[line[0, 0], line[1, 0]] for line in lines], [[0.5, 0.9], [0.0, 0.3]])
    plt.close("all")


def test_what_is_refused(model: TunedSVC) -> None:
    X = np.arange(8.0)[:, None]
    with pytest.raises(InvalidInputError, match="a fitted TunedSVC"):
        relevance_intervals(MarginSVC().fit(X, X[:, 0] > 3))
    with pytest.raises(InvalidInputError, match="coverage"):
        relevance_intervals(model, coverage=0)
    with pytest.raises(InvalidInputError, match="n_draws"):
        relevance_intervals(model, n_draws=1)
