"""Rows that belong together are left out together: in the criterion, on folds, and in all that is expected."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from grouped import grouped_rows
from marginwise import TunedSVC, compact, load_model, save_model
from marginwise.errors import GroupWarning, InvalidInputError
from marginwise.inspection import held_out_report, operating_points, relevance_intervals

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.NothingLearntWarning"),
    pytest.mark.filterwarnings("ignore:rows that follow each other:marginwise.errors.GroupWarning"),
]

X, Y, GROUPS = grouped_rows(30, 6, seed=3)
NEW_X, NEW_Y, _ = grouped_rows(400, 5, seed=4)


def tuned(**options) -> TunedSVC:
    """The paper's kernel with one length scale, which is the quickest."""
    return TunedSVC(**{"ard": 0, "kernel": "rbf", "random_state": 0} | options)


@pytest.fixture(scope="module")
def known() -> TunedSVC:
    return tuned().fit(X, Y, groups=GROUPS)


@pytest.fixture(scope="module")
def unknown() -> TunedSVC:
    return tuned().fit(X, Y)


def folds_of(model: TunedSVC, monkeypatch: pytest.MonkeyPatch, *table, **more) -> list:
    """Fit, and return the folds that rows were assigned to."""
    from marginwise.fitting.folds import Folds

    seen = []
    whole = Folds.assign.__func__

    def assign(cls, problem, seed):
        seen.append(whole(cls, problem, seed))
        return seen[-1]

    monkeypatch.setattr(Folds, "assign", classmethod(assign))
    model.fit(*table, **more)
    return seen


def test_what_is_expected_is_true_of_new_groups(known, unknown):
    """Without groups the model seems to know what only siblings told it."""
    for model, honest in ((known, True), (unknown, False)):
        error = 1.0 - model.score(NEW_X, NEW_Y)
        log_loss = -np.log(model.predict_proba(NEW_X)[np.arange(len(NEW_Y)), NEW_Y]).mean()
        assert (abs(error - model.expected_error_) < 2.0 * model.expected_error_se_) == honest
        assert (abs(log_loss - model.expected_log_loss_) < 2.0 * model.expected_log_loss_se_) == honest
    assert known.n_groups_ == 30
    assert unknown.n_groups_ is None


def test_predictions_for_new_groups_are_better(known, unknown):
    losses = [-np.log(m.predict_proba(NEW_X)[np.arange(len(NEW_Y)), NEW_Y]).mean() for m in (known, unknown)]
    assert losses[0] < losses[1] - 0.05


def test_standard_errors_count_groups_not_rows():
    """The same rows ten times over, in their groups, say no more."""
    groups = np.arange(60)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    again = [np.repeat(column, 10, axis=0) for column in (X, y, groups)]
    again[0] = again[0] + 1e-9 * rng.normal(size=again[0].shape)
    once, ten = tuned().fit(X, y, groups=groups), tuned().fit(again[0], again[1], groups=again[2])
    assert ten.expected_error_se_ == pytest.approx(once.expected_error_se_, rel=0.15)
    assert ten.expected_log_loss_se_ == pytest.approx(once.expected_log_loss_se_, rel=0.2)


def test_folds_do_not_split_groups(monkeypatch):
    (folds,) = folds_of(tuned(), monkeypatch, X, Y, groups=GROUPS)
    assert len(folds) == 4
    counts = np.zeros((30, 4))
    np.add.at(counts, folds.problem.groups, folds.counts)
    assert_array_equal((counts > 0).sum(axis=1), 1)
    assert (counts.sum(axis=0) >= 36).all()  # of 180 rows


def test_held_out_probabilities_do_not_know_siblings():
    """Labels that are those of the group and of nothing else cannot be told."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(40, 2))[groups] + 0.05 * rng.normal(size=(200, 2))
    y = np.tile([0, 1], 20)[groups]
    own = {
        told: -np.log(tuned().fit(X, y, groups=given).held_out_proba_[np.arange(200), y]).mean()
        for told, given in (("groups", groups), ("none", None))
    }
    assert own["none"] < 0.25 < 0.6 < own["groups"]


def test_a_group_for_each_row_is_no_group(unknown):
    names = np.random.default_rng(0).permutation([f"row {i}" for i in range(len(X))])
    alone = tuned().fit(X, Y, groups=names)
    assert_array_equal(alone.predict_proba(NEW_X), unknown.predict_proba(NEW_X))
    assert alone.expected_log_loss_ == unknown.expected_log_loss_
    assert alone.n_groups_ is None


def test_neither_order_nor_names_matter():
    """Not even where rows of several groups are equal."""
    X_round = np.round(X)
    one = tuned().fit(X_round, Y, groups=GROUPS)
    order = np.random.default_rng(1).permutation(len(X))
    other = tuned().fit(X_round[order], Y[order], groups=[f"g{k}" for k in (7 * GROUPS[order]) % 31])
    assert_allclose(other.predict_proba(NEW_X), one.predict_proba(NEW_X), rtol=1e-9)
    assert_allclose(other.held_out_proba_, one.held_out_proba_[order], rtol=1e-9)


def test_equal_rows_of_several_groups_are_several_examples():
    X_round = np.round(X)
    places = tuned().fit(X_round, Y, groups=GROUPS).row_groups_
    cells = np.column_stack([X_round, Y, GROUPS])
    assert len(np.unique(places)) == len(np.unique(cells, axis=0))
    for place in np.unique(places):
        assert len(np.unique(cells[places == place], axis=0)) == 1


def test_a_weight_of_two_is_the_row_given_twice():
    weights = np.random.default_rng(0).integers(0, 3, size=len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    by_weight = tuned().fit(X, Y, weights, groups=GROUPS)
    by_row = tuned().fit(X[rows], Y[rows], groups=GROUPS[rows])
    assert_allclose(by_weight.predict_proba(NEW_X), by_row.predict_proba(NEW_X), atol=1e-9)
    assert by_weight.expected_error_ == pytest.approx(by_row.expected_error_)
    assert np.isnan(by_weight.held_out_proba_[weights == 0]).all()


@pytest.mark.parametrize(
    "given",
    [
        np.array([f"p{k}" for k in GROUPS]),
        [("ward", int(k)) for k in GROUPS],
        pd.Series([f"p{k}" for k in GROUPS], dtype="category", index=range(500, 500 + len(X))),
        pd.Series(GROUPS, dtype="Int64"),
        GROUPS.astype(float) - 0.5,
        np.datetime64("2024-01-01") + GROUPS,
        [frozenset({int(k), "ward"}) for k in GROUPS],
    ],
    ids=["words", "tuples", "pandas categories", "pandas integers", "numbers", "days", "objects"],
)
def test_labels_of_groups_are_of_any_kind(given, known):
    assert_allclose(tuned().fit(X, Y, groups=given).predict_proba(NEW_X), known.predict_proba(NEW_X), rtol=1e-9)


def test_a_polars_column(known):
    polars = pytest.importorskip("polars")
    model = tuned().fit(X, Y, groups=polars.Series(GROUPS))
    assert_allclose(model.predict_proba(NEW_X), known.predict_proba(NEW_X), rtol=1e-9)


MISSING = ("a row that belongs to no other a label of its own",)


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        (GROUPS[:-1], ("groups has shape (179,)", "shape (180,), for each row the group")),
        (np.column_stack([GROUPS, GROUPS]), ("groups has shape (180, 2)",)),
        (np.zeros(180), ("groups has one group only", "at least two groups")),
        (Y, ("groups does not tell groups from classes: classes 0, 1 are each in one group only",)),
        ([None, *GROUPS[1:].tolist()], ("groups[0] is None", *MISSING)),
        (np.where(GROUPS == 2, np.nan, GROUPS), ("groups[12] is nan", *MISSING)),
        (pd.Series(GROUPS).astype("string").replace("1", pd.NA), ("groups[6] is <NA>", *MISSING)),
        (np.array([{}] * 180, dtype=object), ("groups[0] is of type dict", "hashable")),
    ],
    ids=["short", "two columns", "one", "the classes", "None", "NaN", "NA", "not hashable"],
)
def test_what_is_wrong_with_groups_is_said(groups, words):
    with pytest.raises(InvalidInputError) as error:
        tuned().fit(X, Y, groups=groups)
    for text in words:
        assert text in str(error.value)


def test_groups_that_are_too_large_are_refused(monkeypatch):
    monkeypatch.setattr("marginwise.estimators._groups._MOST_PAIRS", 30 * 36 - 1)
    with pytest.raises(InvalidInputError, match="groups of up to 6 rows, whose covariances"):
        tuned().fit(X, Y, groups=GROUPS)


@pytest.mark.parametrize("criterion", ["span", "loo", "gacv", "radius-margin"])
def test_criteria_of_single_rows_are_refused(criterion):
    with pytest.raises(InvalidInputError, match=f"criterion is '{criterion}'.*leaves out one row at a time"):
        tuned(criterion=criterion).fit(X, Y, groups=GROUPS)


@pytest.mark.parametrize("criterion", ["ep-loo", "ep-evidence", "cross-validation"])
def test_other_criteria(criterion, unknown):
    model = tuned(criterion=criterion, max_evaluations=12).fit(X, Y, groups=GROUPS)
    error = 1.0 - model.score(NEW_X, NEW_Y)
    assert abs(error - model.expected_error_) < 2.0 * model.expected_error_se_
    assert model.expected_error_ > unknown.expected_error_ + 0.05


def test_the_svm():
    model = tuned(predictor="svm", max_evaluations=12).fit(X, Y, groups=GROUPS)
    assert abs(1.0 - model.score(NEW_X, NEW_Y) - model.expected_error_) < 2.0 * model.expected_error_se_


def test_several_classes():
    rows, labels, groups = grouped_rows(36, 5, seed=5, n_classes=4)
    new, truth, _ = grouped_rows(300, 5, seed=6, n_classes=4)
    model, without = tuned().fit(rows, labels, groups=groups), tuned().fit(rows, labels)
    error = 1.0 - model.score(new, truth)
    assert abs(error - model.expected_error_) < 2.0 * model.expected_error_se_
    assert without.expected_error_ < error - 2.0 * without.expected_error_se_


def test_a_class_of_one_group_is_said():
    labels = np.where(GROUPS == 7, 2, Y)
    with pytest.warns(GroupWarning, match="class 2 is in one group only: without that group nothing is known of it"):
        model = tuned().fit(X, labels, groups=GROUPS)
    wrong = model.held_out_proba_[labels == 2].argmax(axis=1) != 2
    assert wrong.all()
    assert any("class 2 is in one group only" in remark for remark in model._remarks)


def test_rows_that_stop_searches_are_whole_groups(monkeypatch):
    seen = []
    from marginwise.estimators import tuned_svc

    monkeypatch.setattr(
        tuned_svc, "fit_ensemble", lambda data, config, jobs: seen.append((data.all.groups, config.validation)) or 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        tuned(validation_fraction=0.3).fit(X, Y, groups=GROUPS)
    ((groups, aside),) = seen
    inside = set(groups[~aside].tolist())
    assert aside.mean() == pytest.approx(0.3, abs=0.05)
    assert inside.isdisjoint(groups[aside].tolist())


def test_many_rows_in_small(schedule):
    schedule(exact_rows=200)
    rows, labels, groups = grouped_rows(60, 6, seed=7)
    model, without = tuned().fit(rows, labels, groups=groups), tuned().fit(rows, labels)
    assert model.ensemble_.members[0].partition is not None
    new, truth, _ = grouped_rows(400, 10, seed=8)
    error = 1.0 - model.score(new, truth)
    assert abs(error - model.expected_error_) < 2.0 * model.expected_error_se_
    assert without.expected_error_ < error - 2.0 * without.expected_error_se_


@pytest.mark.slow
def test_many_rows():
    """Beyond 1,500 rows there are no folds, and closed forms are what leaves groups out."""
    rows, labels, groups = grouped_rows(100, 16, seed=7)
    model, without = tuned().fit(rows, labels, groups=groups), tuned().fit(rows, labels)
    new, truth, _ = grouped_rows(400, 10, seed=8)
    error = 1.0 - model.score(new, truth)
    assert abs(error - model.expected_error_) < 2.0 * model.expected_error_se_
    assert without.expected_error_ < error - 4.0 * without.expected_error_se_


def test_low_rank():
    rows, labels, groups = grouped_rows(60, 6, seed=7)
    model = tuned(rank=30, subset=None).fit(rows, labels, groups=groups)
    new, truth, _ = grouped_rows(400, 10, seed=8)
    assert abs(1.0 - model.score(new, truth) - model.expected_error_) < 2.0 * model.expected_error_se_


def test_tables_that_dask_holds():
    dask = pytest.importorskip("dask.array")
    rows, labels, groups = grouped_rows(60, 6, seed=7)
    held = dask.from_array(rows, chunks=(100, 3))
    model = tuned(rank=30).fit(held, labels, groups=groups)
    lazy = tuned(rank=30).fit(held, dask.from_array(labels, 100), groups=dask.from_array(groups, 100))
    assert_array_equal(lazy.held_out_proba_, model.held_out_proba_)
    without = tuned(rank=30).fit(held, labels)
    assert model.expected_log_loss_ > without.expected_log_loss_ + 0.05
    with pytest.raises(ValueError, match=r"was fitted to a Dask collection; expected one that .* in memory"):
        tuned(rank=30, subset=None).fit(held, labels).update(forget=[0])


def test_rows_of_new_groups_are_no_strangers(known, unknown):
    """The threshold is what training rows are above without their siblings."""
    assert known.novelty(NEW_X).strange.mean() < 0.05 < unknown.novelty(NEW_X).strange.mean()


def test_novelty_without_groups_is_that_of_the_other_rows(known):
    around = known.ensemble_.description.surroundings
    groups = known.ensemble_.groups
    for k in (0, 11):
        own = groups == k
        rest = around.points[~own]
        R = around.kernel.gram(rest) + 0.01 * around.kernel.diagonal(rest)[0] * np.eye(len(rest))
        cross = around.kernel.cross(rest, around.points[own])
        variance = around.kernel.diagonal(around.points[:1])[0]
        left = 1.0 - np.einsum("ij,ij->j", cross, np.linalg.solve(R, cross)) / variance
        assert_allclose(around.left_out[own], left, atol=1e-8)


def test_reports_speak_of_groups(known, unknown):
    assert "expected on new groups (30 groups): error" in known.summary().to_text()
    assert "new groups (30 groups)" in known.summary()._repr_html_()
    assert "expected on new data: error" in unknown.summary().to_text()
    assert held_out_report(known, Y).confusion.sum() == len(Y)


def without_numbers(model: TunedSVC) -> TunedSVC:
    """Return the same model without knowing which rows belong together."""
    other = copy(model)
    other._groups, other.ensemble_ = None, replace(model.ensemble_, groups=None)
    return other


def test_intervals_count_groups(known):
    point, loose = operating_points(known, Y)[0], operating_points(without_numbers(known), Y)[0]
    for own, other in zip(point[1:], loose[1:], strict=True):
        assert own.value == other.value
        assert own.high - own.low > 1.3 * (other.high - other.low)


def test_relevances_are_drawn_around_the_criterion_of_groups(known):
    own, other = (relevance_intervals(model, n_draws=4) for model in (known, without_numbers(known)))
    assert np.abs(own.low - other.low).max() > 1e-6


def test_models_are_stored_with_their_groups(known, tmp_path):
    save_model(known, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    assert again.n_groups_ == 30
    assert_array_equal(again.held_out_proba_, known.held_out_proba_)
    assert again.novelty(NEW_X[:5]).threshold == pytest.approx(known.novelty(NEW_X[:5]).threshold)
    small = compact(known, tolerance=0.05)
    assert (
        "new groups (30 groups)" in small.summary().to_text() if small._holds_training_rows else small.n_groups_ == 30
    )


def test_a_second_fit_forgets_groups():
    model = tuned().fit(X, Y, groups=GROUPS)
    assert model.fit(X, Y).n_groups_ is None
    assert model.ensemble_.groups is None


def test_groups_are_routed_as_metadata():
    """Inner fits leave out groups of the outer training rows, which GroupKFold makes."""
    seen = []

    class Watched(TunedSVC):
        def fit(self, X, y, sample_weight=None, groups=None):
            seen.append(set(groups.tolist()))
            return super().fit(X, y, sample_weight, groups)

    with sklearn.config_context(enable_metadata_routing=True):
        model = Watched(ard=0, kernel="rbf", random_state=0, max_evaluations=5).set_fit_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), model)
        for estimator in (model, pipeline):
            seen.clear()
            found = cross_validate(estimator, X, Y, cv=GroupKFold(3), params={"groups": GROUPS}, return_indices=True)
            assert len(seen) == 3
            for groups, test in zip(seen, found["indices"]["test"], strict=True):
                assert groups == set(range(30)) - set(GROUPS[test].tolist())


def test_group_folds_judge_as_the_model_itself_does(known):
    """What scikit-learn finds from outside is what was expected inside, to its standard error."""
    scores = [
        tuned().fit(X[train], Y[train], groups=GROUPS[train]).score(X[test], Y[test])
        for train, test in GroupKFold(4).split(X, Y, GROUPS)
    ]
    assert abs(1.0 - np.mean(scores) - known.expected_error_) < 2.0 * known.expected_error_se_
