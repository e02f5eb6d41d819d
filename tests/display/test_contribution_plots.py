"""Displays of contributions: what they put on the axes."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from marginwise import TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.inspection import Explanation
from marginwise.plots import BeeswarmDisplay, DependenceDisplay, WaterfallDisplay
from marginwise.plots._cells import cell_text
from marginwise.plots.contributions import _levels, _stacked

mpl.use("agg")
NAMES = ["age", "height", "colour"]
CELLS = np.array([[60.0, 1.7, "red"], [30.0, np.nan, "blue"], [45.0, 1.9, "red"]], dtype=object)
VALUES = np.array([[1.2, -0.3, 0.1], [-1.0, 0.2, 0.0], [0.1, 0.4, -2.0]])


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    plt.close("all")


@pytest.fixture
def explanation() -> Explanation:
    pairs = np.zeros((3, 3, 3))
    pairs[:, 0, 2] = pairs[:, 2, 0] = 0.3
    pairs[:, 0, 1] = pairs[:, 1, 0] = -0.1
    return Explanation(VALUES, np.full(3, 0.5), CELLS, NAMES, interactions=pairs)


def test_waterfall_goes_from_the_mean_to_the_row(explanation: Explanation) -> None:
    ax = WaterfallDisplay(explanation).plot(max_features=1).ax_
    assert [label.get_text() for label in ax.get_yticklabels()] == ["age = 60", "2 other columns"]
    first, rest = ax.patches
    np.testing.assert_allclose([first.get_x() + first.get_width(), first.get_width()], [1.5, 1.2])
    np.testing.assert_allclose([rest.get_x(), rest.get_width()], [0.5, -0.2])
    texts = {text.get_text() for text in ax.texts}
    assert {"this row\n+1.50", "mean\n+0.50", "+1.20", "-0.20"} <= texts


def test_beeswarm_has_a_dot_for_each_row_and_column(explanation: Explanation) -> None:
    display = BeeswarmDisplay(explanation)
    np.testing.assert_allclose(display.strength, np.abs(VALUES).mean(axis=0))
    ax = display.plot(max_features=2).ax_
    assert [label.get_text() for label in ax.get_yticklabels()] == ["age", "colour"]
    assert "1 more columns" in ax.get_xlabel()
    dots = np.concatenate([np.asarray(part.get_offsets()) for part in ax.collections])
    np.testing.assert_allclose(np.sort(dots[:, 0]), np.sort(VALUES[:, [0, 2]].ravel()))
    assert (np.abs(dots[:, 1] - dots[:, 1].round()) < 0.5).all()


def test_dependence_is_coloured_by_the_strongest_interaction(explanation: Explanation) -> None:
    display = DependenceDisplay(explanation, "age")
    assert display.partner == 2
    assert DependenceDisplay(explanation, "age", color_by="height").partner == 1
    assert "age" in display.plot().ax_.get_ylabel()
    words = DependenceDisplay(explanation, -1).plot().ax_
    assert [label.get_text() for label in words.get_xticklabels()] == ["blue", "red"]
    assert "1 rows without it" in DependenceDisplay(explanation, 1).plot().ax_.get_xlabel()
    with pytest.raises(InvalidInputError, match="one of the columns"):
        DependenceDisplay(explanation, "weight")
    with pytest.raises(InvalidInputError, match="from 0 to 2"):
        DependenceDisplay(explanation, 3)


def test_levels_are_thirds() -> None:
    np.testing.assert_array_equal(_levels(np.arange(6.0)), [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(_levels(np.array([0.0, 1.0, np.nan])), [0, 2, -1])
    np.testing.assert_array_equal(_levels(np.array(["a", "b"], dtype=object)), [-1, -1])
    np.testing.assert_array_equal(_levels(np.array([1.0, 1.0, 1.0, 1.0, 7.0])), [1, 1, 1, 1, 2])


def test_dots_of_equal_values_stand_apart() -> None:
    heights = _stacked(np.zeros(9), 1.0)
    assert len(set(heights)) == 9
    assert np.abs(heights).max() <= 0.4


def test_cells_are_written_as_people_do() -> None:
    assert [cell_text(cell) for cell in (1.0, 0.123456, None, np.nan, "red", 3)] == [
        "1",
        "0.1235",
        "missing",
        "missing",
        "red",
        "3",
    ]


def test_from_estimators() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] > 0.5, "c", np.where(X[:, 1] > 0, "b", "a"))
    model = TunedSVC(ard=0, random_state=0).fit(X, y)
    one = WaterfallDisplay.from_estimator(model, X[:2])
    assert one.explanation.values.shape == (1, 3)
    swarm = BeeswarmDisplay.from_estimator(model, X[:9], label="b")
    np.testing.assert_allclose(swarm.explanation.values, model.explain(X[:9]).of_class("b").values)
    assert DependenceDisplay.from_estimator(model, X[:5], 0, label="c", background=X[:2]).partner in (1, 2)
    with pytest.raises(InvalidInputError, match="class to look at"):
        BeeswarmDisplay.from_estimator(model, X[:2])
