"""Classes with an order: how it is given, what is predicted, and that it works with all that models can do."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import json_reader
from marginwise import TunedSVC, compact, load_model, save_model
from marginwise.errors import InvalidInputError
from marginwise.estimators._ordered import class_order, medians
from marginwise.export import to_json
from marginwise.inspection import effect, explain, held_out_report, order_scores, relevance_intervals
from tiers import with_slow

pytestmark = pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning")

RNG = np.random.default_rng(4)
X = RNG.normal(size=(150, 3))
LATENT = X[:, 0] + np.sin(2.0 * X[:, 1])
GRADES = np.digitize(LATENT + 0.3 * RNG.normal(size=150), [-1.0, 0.0, 0.8])
NEW = np.random.default_rng(5).normal(size=(400, 3))
NEW_GRADES = np.digitize(NEW[:, 0] + np.sin(2.0 * NEW[:, 1]), [-1.0, 0.0, 0.8])
WORDS = np.array(["poor", "fair", "good", "best"])
ORDERED = {"ordered-least-squares", "thresholds"}


def quick(**parameters) -> TunedSVC:
    return TunedSVC(**({"ard": 0, "random_state": 0, "max_evaluations": 10} | parameters))


@pytest.fixture(scope="module")
def model() -> TunedSVC:
    return quick(classes=WORDS.tolist()).fit(X, WORDS[GRADES])


def kinds(model: TunedSVC) -> set[str]:
    return {member.labels for member in model.ensemble_.members}


def test_order_helps_where_there_is_one(model):
    without = quick().fit(X, WORDS[GRADES])
    assert ORDERED & kinds(model)
    assert not ORDERED & kinds(without)
    assert without.class_order_ is None
    codes = np.searchsorted(model.classes_, WORDS[NEW_GRADES])
    losses = [-np.log(one.predict_proba(NEW)[np.arange(400), codes]).mean() for one in (model, without)]
    assert losses[0] < losses[1]
    assert model.expected_log_loss_ < without.expected_log_loss_


def test_classes_are_sorted_and_the_order_is_apart(model):
    assert model.classes_.tolist() == sorted(WORDS.tolist())
    assert model.class_order_.tolist() == WORDS.tolist()
    p = model.predict_proba(NEW)
    np.testing.assert_array_equal(model.predict(NEW), model.classes_[p.argmax(axis=1)])
    assert clone(model).get_params()["classes"] == WORDS.tolist()


def test_the_median_is_never_farther_away_on_average(model):
    p = model.predict_proba(NEW)[:, np.searchsorted(model.classes_, WORDS)]
    median = np.array([WORDS.tolist().index(label) for label in model.predict_median(NEW)])
    away = np.abs(np.arange(4)[None, :, None] - np.arange(4)[None, None, :])
    expected = (p[:, :, None] * away).sum(axis=1)  # of each prediction
    np.testing.assert_allclose(expected[np.arange(400), median], expected.min(axis=1), atol=1e-12)
    np.testing.assert_allclose(model.expected_grade(NEW), p @ [0.0, 1.0, 2.0, 3.0], rtol=1e-12)
    assert np.abs(median - NEW_GRADES).mean() < 0.4


def test_medians():
    assert medians(np.array([[0.5, 0.2, 0.3], [0.49, 0.0, 0.51], [0.2, 0.3, 0.5]])).tolist() == [0, 2, 1]


def test_the_other_way_round_is_the_same(model):
    reverse = quick(classes=WORDS[::-1].tolist()).fit(X, WORDS[GRADES])
    np.testing.assert_allclose(reverse.predict_proba(NEW), model.predict_proba(NEW), atol=2e-3)


def test_order_of_numbers_and_of_categoricals():
    y = pd.Series(pd.Categorical(WORDS[GRADES], categories=[*WORDS, "perfect"], ordered=True))
    labels = np.unique(WORDS)
    wanted = (3, 1, 2, 0)  # poor, fair, good, best among the sorted ones
    for given in (y, y.array, pl.Series(WORDS[GRADES].tolist(), dtype=pl.Enum([*WORDS, "perfect"]))):
        assert class_order("auto", given, labels, "posterior") == wanted
        assert class_order("ordered", given, labels, "posterior") == wanted
        assert class_order("unordered", given, labels, "posterior") is None
        assert class_order("auto", given, labels, "svm") is None
    assert class_order("auto", WORDS[GRADES], labels, "posterior") is None
    assert class_order("auto", y.astype(str), labels, "posterior") is None
    assert class_order("ordered", WORDS[GRADES], labels, "posterior") == (0, 1, 2, 3)
    assert class_order(np.array([3, 1, 2]), GRADES, np.array([1, 2, 3]), "posterior") == (2, 0, 1)


def test_an_ordered_categorical_is_enough(model):
    y = pd.Series(pd.Categorical(WORDS[GRADES], categories=WORDS, ordered=True))
    found = quick().fit(X, y)
    assert found.class_order_.tolist() == WORDS.tolist()
    np.testing.assert_array_equal(found.predict_proba(NEW), model.predict_proba(NEW))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"classes": "sorted"}, "the labels from the lowest to the highest"),
        ({"classes": 3}, "the labels from the lowest to the highest"),
        ({"classes": ["poor", "fair", "good"]}, "'best' of them is missing"),
        ({"classes": ["poor", "fair", "good", "best", "good"]}, "each label once"),
        ({"classes": "ordered", "predictor": "svm"}, 'predictor="posterior"'),
    ],
)
def test_orders_that_are_none(parameters, words):
    with pytest.raises(InvalidInputError, match=words):
        quick(**parameters).fit(X, WORDS[GRADES])


def test_without_an_order_there_is_no_median():
    found = quick(max_evaluations=2).fit(X, GRADES)
    for call in (found.predict_median, found.expected_grade):
        with pytest.raises(InvalidInputError, match="without an order"):
            call(NEW)


def test_two_classes_are_the_same_with_and_without():
    y = (GRADES > 1).astype(int)
    one, other = (quick(classes=classes, max_evaluations=3).fit(X, y) for classes in ("ordered", "unordered"))
    np.testing.assert_array_equal(one.predict_proba(NEW), other.predict_proba(NEW))
    np.testing.assert_array_equal(one.predict_median(NEW), one.predict(NEW))


def test_an_order_that_means_nothing_has_no_weight():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2))
    label = 2 * (rows[:, 0] > 0) + (rows[:, 1] > 0)
    label = np.where(rng.random(300) < 0.05, rng.integers(0, 4, 300), label)
    found = quick(classes=[0, 3, 1, 2]).fit(rows, label)
    without = quick().fit(rows, label)
    weight = sum(member.weight for member in found.ensemble_.members if member.labels in ORDERED)
    assert weight < 0.2
    assert found.expected_log_loss_ < without.expected_log_loss_ + 0.02


def test_files_are_the_model(model, tmp_path):
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(NEW), model.predict_proba(NEW))
    np.testing.assert_array_equal(again.predict_median(NEW), model.predict_median(NEW))
    numbers = json.loads(to_json(model))
    for row, p in zip(NEW[:5], model.predict_proba(NEW[:5]), strict=True):
        np.testing.assert_allclose(json_reader.proba(numbers, row.tolist()), p, atol=1e-9)


def test_explanations_add_up_and_effects_are_there(model):
    found = explain(model, NEW[:20])
    latent, variance = model.latent_mean_and_variance(NEW[:20])
    assert latent.shape == variance.shape == (20, 4)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, latent, atol=1e-8)
    lowest, highest = model.classes_.tolist().index("poor"), model.classes_.tolist().index("best")
    assert np.corrcoef(latent[:, highest] - latent[:, lowest], model.expected_grade(NEW[:20]))[0, 1] > 0.8
    along = effect(model, 0)
    assert (np.diff(along.latent[:, highest] - along.latent[:, lowest]) > 0.0).mean() > 0.9
    assert set(model.term_shares_) == {"smooth", "stepwise", "straight"}
    assert model.feature_importances_.argmax() in (0, 1)


def test_doubt_adds_up(model):
    found = model.doubt(NEW[:30])
    p = model.predict_proba(NEW[:30])
    np.testing.assert_allclose(found.total, -(p * np.log2(p)).sum(axis=1), atol=1e-3)
    assert (found.ignorance >= 0.0).all()


def test_relevances_have_intervals(model):
    found = relevance_intervals(model, n_draws=10, random_state=0)
    assert (found.high[2] < found.low[:2]).all()


def test_compact_models_predict_the_same(model):
    small = compact(model, tolerance=0.01)
    assert np.abs(small.predict_proba(NEW) - model.predict_proba(NEW)).max() < 0.03
    assert small.class_order_.tolist() == WORDS.tolist()


def test_reports_have_scores_of_the_order(model):
    y = WORDS[GRADES]
    scores = held_out_report(model, y).order_scores
    p = model.held_out_proba_[:, np.searchsorted(model.classes_, WORDS)]
    assert scores == pytest.approx(order_scores(p, GRADES))
    summary = model.summary()
    assert summary.order_scores == scores._asdict()
    assert "order: poor < fair < good < best" in summary.to_text()
    assert quick(max_evaluations=2).fit(X, y).summary().order_scores == {}


@pytest.mark.slow
def test_the_page_has_scores_of_the_order(model, tmp_path):
    page = model.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "in the order poor &lt; fair &lt; good &lt; best" in page
    assert "ranked probability score" in page


WAYS = {
    "rare classes": {},
    "groups": {},
    "restarts": {"restarts": 1, "combine": "mean"},
    "low rank": {"rank": 30},
    "class weights": {"class_weight": "balanced"},
    "other criterion": {"criterion": "ep-evidence", "kernel": "rbf"},
}


@pytest.mark.parametrize("way", with_slow(WAYS, {"other criterion", "restarts"}))
def test_other_ways_of_fitting(way):
    y, options, more = GRADES, WAYS[way], {}
    if way == "groups":
        more = {"groups": np.arange(150) // 2}
    if way == "rare classes":  # too rare for folds
        y = np.zeros(150, dtype=int)
        y[:2] = 1, 2
    found = quick(classes="ordered", max_evaluations=5, **options).fit(X, y, **more)
    p = found.predict_proba(NEW)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
    assert ORDERED & kinds(found)


@pytest.mark.parametrize("dask", [False, True])
def test_many_rows(schedule, dask):
    """In local blocks, or of low rank for rows that Dask holds; few rows pass for many."""
    sizes = {"usual_local": 30, "most_local": 30, "usual_local_classes": 30, "most_local_classes": 30}
    schedule(exact_rows=100, least_local=20, fold_rows=80, tuning_rank=30, **sizes)
    array = pytest.importorskip("dask.array") if dask else None
    rows = X if array is None else array.from_array(X, chunks=(50, 3))
    found = quick(ard="auto", classes="ordered", subset=120, max_evaluations=4).fit(rows, GRADES)
    assert ORDERED & kinds(found)
    names = {type(one).__name__ for one in found.ensemble_.predictors}
    assert names == ({"ClassPredictor"} if dask else {"LocalClassPredictor"})
    assert np.abs(found.predict_median(NEW) - NEW_GRADES).mean() < 0.5
