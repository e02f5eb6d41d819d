"""Displays: their numbers against slow obvious ones, and what they put on the axes."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import zoo
from marginwise import TunedSVC, scan_line, tune
from marginwise.display import figure_style
from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.plots import BoundaryDisplay, LineDisplay, RelevanceDisplay, ReliabilityDisplay, TraceDisplay
from marginwise.search import Trace

mpl.use("agg")
PROBLEM = zoo.blobs(60, 2, shift=0.7)

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.TableWarning"),
]


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    frame = pd.DataFrame(PROBLEM.X, columns=["width", "height"])
    return TunedSVC(restarts=2, random_state=0).fit(frame, np.where(PROBLEM.y > 0, "yes", "no"))


@pytest.fixture(scope="module")
def iris_model():
    X, y = load_iris(return_X_y=True)
    return TunedSVC(ard=0.5, random_state=0).fit(X[::3, 2:], y[::3])


def texts(legend) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


def test_relevances_are_averages_over_the_stack(model, iris_model):
    for one in (model, iris_model):
        display = RelevanceDisplay.from_estimator(one)
        slow, weights = one.ensemble_.description.relevances, one.ensemble_.weights
        assert slow.shape == (len(one.ensemble_.members), 2)
        np.testing.assert_allclose(display.values, slow)
        np.testing.assert_allclose(display.importances, one.feature_importances_)
        np.testing.assert_allclose(display.spread**2, np.cov(slow.T, aweights=weights, ddof=0).diagonal())
    display = RelevanceDisplay.from_estimator(model)
    order = np.argsort(-display.importances)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == [["width", "height"][a] for a in order]
    np.testing.assert_allclose([bar.get_width() for bar in display.ax_.patches], display.importances[order])
    assert display.figure_ is display.ax_.figure


def test_relevances_of_many_inputs():
    values = np.random.default_rng(0).dirichlet(np.ones(50), size=3)
    display = RelevanceDisplay(values, np.full(3, 1 / 3), [f"x{a}" for a in range(50)]).plot(max_features=5)
    assert len(display.ax_.patches) == 5
    assert "45 more inputs share" in display.ax_.get_xlabel()
    with pytest.raises(InvalidInputError, match="3, one for each input"):
        RelevanceDisplay(np.ones((1, 3)), np.ones(1), ["a"])


def test_trace_shows_every_move(model):
    display = TraceDisplay.from_estimator(model)
    accepted = np.array([record.step.accepted for record in model.trace_])
    values = np.array([record.point.value for record in model.trace_])
    criterion, hyperparameters = display.axes_
    np.testing.assert_array_equal(criterion.get_lines()[0].get_ydata(), values[accepted])
    np.testing.assert_array_equal(criterion.get_lines()[0].get_xdata(), np.flatnonzero(accepted))
    assert criterion.get_ylabel() == "ls-loo"
    assert hyperparameters.get_yscale() == "log"
    drawn = {line.get_label(): line.get_ydata() for line in hyperparameters.get_lines()}
    where = model.hyperparameters_.kernel.names.index("koff")
    moved = [r.hyperparameters.kernel.values[where] for r in model.trace_ if r.step.accepted]
    np.testing.assert_allclose(drawn[r"$k_\mathrm{off}$"], moved)
    again = TraceDisplay.from_estimator(
        TunedSVC(0, restarts=1, random_state=0).fit(PROBLEM.X, PROBLEM.y), restart=1, ax=display.axes_
    )
    assert again.axes_ == display.axes_


def test_trace_with_errors_and_many_length_scales():
    problem = zoo.blobs(40, 9)
    held = (problem.X[:10], problem.y[:10])
    tuning = tune(problem.X, problem.y, "laplace-evidence", validation=held, test=held, max_evaluations=6)
    display = TraceDisplay(tuning.trace).plot()
    assert len(display.axes_) == 3
    assert texts(display.axes_[2].get_legend()) == ["test error", "validation error"]
    assert texts(display.axes_[1].get_legend()).count("length scales") == 1
    with pytest.raises(InvalidInputError, match="at least one evaluation"):
        TraceDisplay(Trace(("C",)))


@pytest.mark.parametrize("n_inputs", [5, 6])
def test_hyperparameters_with_names_have_different_colours(n_inputs):
    problem = zoo.blobs(30, n_inputs)
    tuning = tune(problem.X, problem.y, "laplace-evidence", max_evaluations=3)
    with mpl.rc_context(figure_style()):
        lines = TraceDisplay(tuning.trace).plot().axes_[1].get_lines()
        named = [mpl.colors.to_hex(line.get_color()) for line in lines if not line.get_label().startswith("_")]
    assert len(set(named)) == len(named)


def test_one_axes_is_divided():
    ax = plt.figure().add_subplot(1, 2, 1)
    display = ReliabilityDisplay([0.1, 0.9], [0, 1]).plot(ax)
    assert len(display.axes_) == 2
    assert ax not in display.figure_.axes
    assert display.figure_ is display.axes_[1].figure
    with pytest.raises(InvalidInputError, match="ax was placed by hand"):
        ReliabilityDisplay([0.1, 0.9], [0, 1]).plot(plt.figure().add_axes((0, 0, 1, 1)))
    with pytest.raises(InvalidInputError, match="3 axes"):
        ReliabilityDisplay([0.1, 0.9], [0, 1]).plot(plt.figure().subplots(3))


def test_reliability_against_a_loop(rng):
    p = rng.uniform(size=500) ** 2
    p[:2] = 0.0, 1.0
    happened, weights = rng.uniform(size=500) < p, rng.uniform(0.5, 2.0, size=500)
    display = ReliabilityDisplay(p, happened, sample_weight=weights)
    total = 0.0
    for k in range(15):
        low, high = k / 15, (k + 1) / 15
        mine = (p >= low) & ((p < high) | (k == 14))
        assert display.counts[k] == pytest.approx(weights[mine].sum())
        predicted, observed = (np.average(v[mine], weights=weights[mine]) for v in (p, happened))
        assert display.predicted[k] == pytest.approx(predicted)
        assert display.observed[k] == pytest.approx(observed)
        total += weights[mine].sum() * abs(predicted - observed)
    assert display.calibration_error == pytest.approx(total / weights.sum())
    assert display.calibration_error < 0.08  # the probabilities are true
    always = ReliabilityDisplay(np.full(100, 0.9), np.arange(100) < 60)
    assert always.calibration_error == pytest.approx(0.3)
    assert np.isnan(always.predicted).sum() == 14


def test_reliability_bars_are_wilsons_and_stay_between_0_and_1(rng):
    p = np.concatenate([np.full(5, 0.02), np.full(40, 0.5), np.full(3, 0.98)])
    happened = np.concatenate([np.zeros(5), np.arange(40) < 13, np.ones(3)])
    display = ReliabilityDisplay(p, happened).plot()
    for k, (successes, n) in {0: (0, 5), 7: (13, 40), 14: (3, 3)}.items():
        known = binomtest(successes, n).proportion_ci(0.95, method="wilson")
        assert (display.lower[k], display.upper[k]) == pytest.approx((known.low, known.high), abs=1e-6)
    (bars,) = display.axes_[0].containers[0].lines[2]
    ends = np.array(bars.get_segments())[:, :, 1]
    assert ends.shape == (3, 2)
    assert ends.min() >= 0.0
    assert ends.max() <= 1.0
    # Equal weights count the examples, and examples of weight 0 do not.
    heavy = ReliabilityDisplay(p, happened, sample_weight=np.full(48, 7.0))
    np.testing.assert_allclose(heavy.upper, display.upper)
    more = ReliabilityDisplay(np.append(p, 0.5), np.append(happened, 1), sample_weight=np.append(np.ones(48), 0.0))
    np.testing.assert_allclose(more.lower, display.lower)


def test_reliability_bars_cover_true_probabilities(rng):
    covered = []
    for _ in range(200):
        p = np.repeat([0.02, 0.5, 0.97], 30)
        display = ReliabilityDisplay(p, rng.uniform(size=90) < p, n_bins=3)
        covered.append((display.lower <= [0.02, 0.5, 0.97]) & (display.upper >= [0.02, 0.5, 0.97]))
    assert 0.9 < np.mean(covered) < 0.995


def test_reliability_of_models(model, iris_model):
    X, y = load_iris(return_X_y=True)
    display = ReliabilityDisplay.from_estimator(iris_model, X[1::3, 2:], y[1::3])
    table = iris_model.predict_proba(X[1::3, 2:])
    direct = ReliabilityDisplay(table.max(axis=1), table.argmax(axis=1) == y[1::3])
    assert display.calibration_error == direct.calibration_error
    assert "the predicted class" in display.axes_[1].get_xlabel()
    frame = pd.DataFrame(PROBLEM.X, columns=["width", "height"])
    labels = np.where(PROBLEM.y > 0, "yes", "no")
    display = ReliabilityDisplay.from_estimator(model, frame, labels)
    assert "class yes" in display.axes_[1].get_xlabel()
    assert texts(display.axes_[0].get_legend()) == [f"TunedSVC, calibration error {display.calibration_error:.3f}"]
    column = ReliabilityDisplay.from_predictions(labels, model.predict_proba(frame)[:, 1])
    np.testing.assert_array_equal(column.counts, display.counts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"probability": [0.5, 1.2], "happened": [0, 1]}, "numbers from 0 to 1"),
        ({"probability": [0.5], "happened": [0, 1]}, "one for each of 1 probabilities"),
        ({"probability": [0.5], "happened": [1], "n_bins": 0}, "n_bins is 0"),
    ],
)
def test_reliability_says_what_is_wrong(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        ReliabilityDisplay(**arguments)
    with pytest.raises(InvalidInputError, match="a column for each class"):
        ReliabilityDisplay.from_predictions([0, 1, 2], np.ones((3, 2)) / 2)


def test_line_between_restarts(model):
    alone = TunedSVC(ard=0, restarts=1, random_state=0).fit(PROBLEM.X, PROBLEM.y)
    display = LineDisplay.from_estimator(alone, n_points=5)
    part, ends = alone.ensemble_, [run.hyperparameters for run in alone.restarts_]
    scan = scan_line("ls-loo", part.X, part.problem.y, *ends, n_points=5)
    np.testing.assert_allclose(display.scan.values["ls-loo"], scan.values["ls-loo"])
    assert display.barriers == {"ls-loo": scan.barrier()}
    scores = scan.values["ls-loo"]
    np.testing.assert_allclose(display.ax_.get_lines()[0].get_ydata(), scores - max(scores[0], scores[-1]))
    several = LineDisplay.from_estimator(alone, (1, 0), criteria=["gacv", "ep-evidence"], n_points=3)
    assert [line.get_label().split(",")[0] for line in several.ax_.get_lines()] == ["gacv", "ep-evidence"]
    np.testing.assert_allclose(  # smaller values of GACV are better
        np.diff(several.ax_.get_lines()[0].get_ydata()), -np.diff(several.scan.values["gacv"])
    )
    with pytest.raises(InvalidInputError, match=r"two of 0 … 1, the searches that were run"):
        LineDisplay.from_estimator(alone, (0, 2))


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_boundary_is_where_the_prediction_changes(model, kind):
    frame = kind(dict(zip(["width", "height"], PROBLEM.X.T, strict=True)))
    labels = np.where(PROBLEM.y > 0, "yes", "no")
    display = BoundaryDisplay.from_estimator(model, frame, labels, n_points=15)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("width", "height")
    for i, j in ((0, 0), (3, 11), (14, 7)):
        place = pd.DataFrame([[display.grid[0][j], display.grid[1][i]]], columns=["width", "height"])
        np.testing.assert_allclose(display.probability[i, j], model.predict_proba(place)[0])
    np.testing.assert_array_equal(display.points, PROBLEM.X)
    np.testing.assert_array_equal(model.classes_[display.codes], labels)
    assert texts(display.ax_.get_legend()) == ["no", "yes"]


def test_boundary_of_three_classes_in_a_plane_of_four_inputs():
    X, y = load_iris(return_X_y=True)
    model = TunedSVC(ard=0, random_state=0).fit(X[::3], y[::3])
    display = BoundaryDisplay.from_estimator(model, X, features=(2, 3), n_points=10)
    place = np.median(X, axis=0)
    place[2], place[3] = display.grid[0][4], display.grid[1][6]
    np.testing.assert_allclose(display.probability[6, 4], model.predict_proba([place])[0])
    assert display.ax_.get_xlabel() == "x3"
    assert display.points is None
    for features in ((0, 0), (0, 4)):
        with pytest.raises(InvalidInputError, match="two different column numbers"):
            BoundaryDisplay.from_estimator(model, X, features=features)
    with pytest.raises(InvalidInputError, match="at least two columns"):
        BoundaryDisplay.from_estimator(model, X[:, :1])
    for labels in (y + 1, y[:-1]):
        with pytest.raises(InvalidInputError, match=r"y has other labels; expected one of \[0, 1, 2\] for each of 150"):
            BoundaryDisplay.from_estimator(model, X, labels)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_boundary_and_relevances_of_a_table_with_words_and_gaps(frame):
    size = np.where(np.arange(60) % 9 == 0, np.nan, PROBLEM.X[:, 1])
    words = np.where(np.arange(60) % 3 == 0, "u", "v")
    table = frame({"width": PROBLEM.X[:, 0], "kind": words, "height": size})
    model = TunedSVC(ard=0, random_state=0).fit(table, PROBLEM.y)
    display = BoundaryDisplay.from_estimator(model, table, PROBLEM.y, features=(0, 2), n_points=8)
    place = frame({"width": [display.grid[0][3]], "kind": ["v"], "height": [display.grid[1][5]]})
    np.testing.assert_allclose(display.probability[5, 3], model.predict_proba(place)[0])
    with pytest.raises(InvalidInputError, match="columns of numbers, but 1 holds text"):
        BoundaryDisplay.from_estimator(model, table, features=(0, 1))
    relevances = RelevanceDisplay.from_estimator(model)
    assert relevances.names == ["width", "kind", "height"]
    np.testing.assert_allclose(relevances.importances, model.feature_importances_)


def test_models_that_are_not_fitted_are_refused():
    for kind in (RelevanceDisplay, TraceDisplay, LineDisplay):
        with pytest.raises(NotFittedError):
            kind.from_estimator(TunedSVC())


def test_matplotlib_is_imported_late_and_named_when_missing(monkeypatch):
    code = "import sys, marginwise.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MarginwiseError, match=r"pip install 'marginwise\[plots\]'"):
        ReliabilityDisplay([0.1, 0.9], [0, 1]).plot()
    with pytest.raises(MarginwiseError, match=r"pip install 'marginwise\[plots\]'"):
        RelevanceDisplay(np.ones((1, 1)), np.ones(1), ["a"]).plot()
