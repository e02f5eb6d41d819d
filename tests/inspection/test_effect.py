"""Effects of columns: against sums over the joint posterior, scikit-learn's partial dependence, and known curves."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence

from marginwise import MarginSVC, TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.inspection import effect
from marginwise.kernels import AdditiveLaplacian, Constant, Linear
from marginwise.plots import EffectDisplay

mpl.use("agg")
pytestmark = pytest.mark.filterwarnings(
    "ignore::marginwise.errors.ConvergenceWarning", "ignore::marginwise.errors.TableWarning"
)


def rows(n: int, d: int = 3) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_against_scikit_learn_and_latent_values(n_classes: int) -> None:
    X = rows(80)
    y = np.searchsorted([0.0] if n_classes == 2 else [-0.5, 0.5], X[:, 0] + 0.3 * X[:, 1] ** 2)
    model = TunedSVC(ard=0, random_state=0).fit(X, y)
    found = effect(model, 0, grid=[-1.0, 0.5], background=X[:20])
    slow = partial_dependence(model, X[:20], [0], custom_values={0: np.array([-1.0, 0.5])}, method="brute")
    np.testing.assert_allclose(found.probability.T, slow["average"][0 if n_classes == 2 else slice(None)], atol=1e-10)
    for place, cell in enumerate([-1.0, 0.5]):
        changed = X[:20].copy()
        changed[:, 0] = cell
        difference = model.latent_mean_and_variance(changed)[0] - model.latent_mean_and_variance(X[:20])[0]
        np.testing.assert_allclose(found.latent[place], difference.mean(axis=0), atol=1e-9)


def test_a_single_row_has_its_own_variance() -> None:
    X = rows(60)
    model = TunedSVC(ard=0, random_state=0).fit(X, X[:, 0] > 0)
    found = effect(model, 1, grid=[0.7], background=X[:1])
    row = np.array([[X[0, 0], 0.7, X[0, 2]]])
    np.testing.assert_allclose(found.level[0] ** 2, model.latent_mean_and_variance(row)[1][0], rtol=2e-2)
    same = effect(model, 1, grid=[X[0, 1]], background=X[:1])  # nothing changes, and that is certain
    np.testing.assert_allclose([same.latent[0], same.deviation[0]], 0.0, atol=1e-5)


def test_sums_of_local_values_have_their_covariance(schedule) -> None:
    """One block is exact, but for its single precision: the variance of a sum there is that of the dense model."""
    schedule(exact_rows=60)
    X = rows(200)
    y = X[:, 0] + X[:, 1] ** 2 > 1
    local = TunedSVC(ard=0, random_state=0, max_evaluations=6).fit(X, y)
    one = next(p for m, p in zip(local.ensemble_.members, local.ensemble_.latent_functions, strict=True) if m.partition)
    points, weights = local._encoding(X[:7]), np.arange(1.0, 8.0)
    for i in range(3):
        single = one.variance_of_sum(points[i : i + 1], np.ones(1))
        np.testing.assert_allclose(single, one.latent_mean_and_variance(points[i : i + 1])[1][0], rtol=1e-6)
    pairs = np.array([[one.variance_of_sum(points[[i, j]], np.ones(2)) for j in range(7)] for i in range(7)])
    own = np.array([one.variance_of_sum(points[[i]], np.ones(1)) for i in range(7)])
    covariance = 0.5 * (pairs - own[:, None] - own)  # of f(x_i) and f(x_j)
    np.testing.assert_allclose(one.variance_of_sum(points, weights), weights @ covariance @ weights, rtol=1e-8)


def test_an_additive_model_says_that_every_column_has_its_own_curve() -> None:
    X = rows(150)
    y = np.abs(X[:, 0]) + X[:, 1] > 0.7
    model = TunedSVC(ard=0, kernel=AdditiveLaplacian() + Linear() + Constant(), random_state=0).fit(X, y)
    cells = [-1.5, 0.0, 1.5]
    found = effect(model, 0, grid=cells)
    assert found.additive == model.ensemble_.description.is_additive
    assert found.additive
    assert min(found.latent[0], found.latent[2]) > found.latent[1]
    for row in X[:3]:  # the same for every row, but for a constant
        changed = np.array([[cell, *row[1:]] for cell in cells])
        latent = model.latent_mean_and_variance(changed)[0]
        np.testing.assert_allclose(np.diff(latent), np.diff(found.latent), atol=1e-9)


@pytest.mark.slow
def test_bands_cover_the_true_curve() -> None:
    """Labels drawn from a known additive latent function: its effect is in the 90 % band about as often."""
    inside = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 3))
        latent = 1.5 * np.sin(1.5 * X[:, 0]) + X[:, 1]
        model = TunedSVC(random_state=0).fit(X, rng.random(300) < 1 / (1 + np.exp(-latent)))
        grid = np.linspace(-1.5, 1.5, 9)
        found = effect(model, 0, grid=grid, background=X[:100])
        truth = 1.5 * np.sin(1.5 * grid) - 1.5 * np.sin(1.5 * X[:100, 0]).mean()
        low, high = found.band(0.9)
        inside.append(np.mean((low <= truth) & (truth <= high)))
    assert np.mean(inside) > 0.75


def test_curves_and_dots_of_three_classes_can_be_told_apart() -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=60), rng.choice(["red", "green"], 60)]).astype(object)
    model = TunedSVC(ard=0, random_state=0).fit(X, rng.integers(3, size=60))
    curves = EffectDisplay.from_estimator(model, 0).ax_
    assert len(curves.collections) == 0  # fillings would hide each other
    assert len([line for line in curves.lines if line.get_linestyle() == "--"]) == 2 * 3
    dots = EffectDisplay.from_estimator(model, 1).ax_
    places = np.concatenate([container.lines[0].get_xdata() for container in dots.containers])
    assert len(np.unique(places.round(6))) == 2 * 3
    plt.close("all")


def test_words_gaps_and_default_grids() -> None:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 90).astype(object)
    x = np.where(rng.random(90) < 0.2, np.nan, rng.normal(size=90)) * 10 + 100
    stars = rng.integers(1, 4, 90)
    X = np.column_stack([colour, x, stars]).astype(object)
    model = TunedSVC(ard=0, random_state=0).fit(X, np.where((colour == "red") | (stars == 3), "yes", "no"))
    by_colour = effect(model, 0)
    assert by_colour.grid.tolist() == ["blue", "green", "red"]
    assert by_colour.latent.argmax() == 2
    numbers = effect(model, 1)
    assert len(numbers.grid) == 20
    np.testing.assert_allclose(numbers.grid[[0, -1]], np.nanquantile(x, [0.02, 0.98]), atol=1e-6)
    np.testing.assert_allclose(effect(model, -1).grid, [1, 2, 3], atol=1e-9)
    for response in ("latent", "probability"):
        for column in (0, 1):
            display = EffectDisplay.from_estimator(model, column, response=response, positive_class="no", grid=None)
            assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["no"]
    plt.close("all")
    with pytest.raises(InvalidInputError, match="categories of the column"):
        effect(model, 0, grid=["violet"])
    with pytest.raises(InvalidInputError, match="numbers"):
        effect(model, 1, grid=["violet"])
    with pytest.raises(InvalidInputError, match="response"):
        EffectDisplay(by_colour, model.classes_).plot(response="odds")
    with pytest.raises(InvalidInputError, match="positive_class"):
        EffectDisplay(by_colour, model.classes_).plot(positive_class="perhaps")


def test_dates_are_days() -> None:
    days = np.datetime64("2020-01-01") + np.arange(60)
    X = pd.DataFrame({"seen": days, "x": rows(60, 1)[:, 0]})
    found = effect(TunedSVC(ard=0, random_state=0).fit(X, np.arange(60) > 30), "seen")
    assert found.name == "seen (days since 1970)"
    assert 18262 <= found.grid.min() < found.grid.max() <= 18322


def test_what_has_no_effects() -> None:
    X = rows(20)
    with pytest.raises(InvalidInputError, match="a fitted TunedSVC"):
        effect(MarginSVC().fit(X, X[:, 0] > 0), 0)
