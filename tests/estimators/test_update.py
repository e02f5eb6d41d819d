"""Rows that come later: the model is what training its members anew on all rows makes of it, and says what changed."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from sklearn.base import clone

from marginwise import TunedSVC, load_model, save_model
from marginwise.errors import DriftWarning, GroupWarning, InvalidInputError, TuningWarning
from marginwise.estimators import _updating
from marginwise.estimators._classes import check_table
from marginwise.estimators._rows import _key, group_keys
from marginwise.estimators.compacting import compact
from marginwise.fitting.machines import train_pairs_of
from marginwise.fitting.stacking import combined
from marginwise.problem import labelled_problem

FEW, ALL = 70, 130


def table(n_classes: int = 2, n: int = ALL, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    scores = 2.0 * X[:, :n_classes] if n_classes > 2 else 2.0 * np.column_stack([X[:, 0], X[:, 1] ** 2])
    return X, np.array(["a", "b", "c"])[(scores + rng.gumbel(size=scores.shape)).argmax(axis=1)]


def anew(
    model: TunedSVC, X: Any, y: Any, Z: Any, sample_weight: Any = None, groups: Any = None, shuffled: bool = True
) -> np.ndarray:
    """Return what the model's members say of rows Z after training from nothing, on rows in another order."""
    other = clone(model)
    rows = check_table(other, X, y, sample_weight, model.class_weight, groups).merged().counted()
    assert (rows.classes == model.classes_).all()
    columns = (model._encoding(rows.X), rows.codes, rows.weights_in_class, len(rows.classes), rows.examples)
    problem = labelled_problem(*columns, rows.groups)
    if shuffled:
        problem = problem.subset(np.random.default_rng(1).permutation(problem.n))
    inputs, ensemble = model._encoding(other._cells(Z)), model.ensemble_
    if model.predictor == "svm":
        main = ensemble.main
        weighted = replace(problem, weights=problem.weights * rows.importance[problem.labels])
        machines = train_pairs_of(
            weighted, ensemble.svm_model, ensemble.slack, getattr(main.few_points, "points", None)
        )
        return np.exp(machines.log_proba(main.inputs(inputs), ensemble.svm_model.C, ensemble.slack))
    logs = []
    for member in ensemble.members:
        own = replace(problem, X=member.inputs(problem.X))
        if member.few_points is not None:
            own = replace(own, inducing=member.few_points.points, single=True)
        elif member.partition is not None:
            own = replace(own, inducing=member.inducing, partition=member.partition, single=True)
        trained = member.candidate.labels.train(own, member.hyperparameters)
        logs.append(trained.predictor.log_proba(member.inputs(inputs)))
    mixed = combined(np.array(logs), ensemble.weights, ensemble.vote)
    if ensemble.calibration is not None:
        mixed = ensemble.calibration(mixed)
    if ensemble.vote is None:
        mixed = log_softmax(mixed + np.log(rows.importance), axis=1)
    return np.exp(mixed)


OPTIONS: dict[str, dict[str, Any]] = {
    "two classes": {},
    "three classes": {"n_classes": 3},
    "svm": {"predictor": "svm"},
    "svm of three classes": {"predictor": "svm", "n_classes": 3},
    "quadratic slack": {"criterion": "ep-loo", "slack": "quadratic"},
    "balanced": {"class_weight": "balanced"},
    "votes": {"combine": "vote", "restarts": 1},
    "ordered": {"n_classes": 3, "classes": ["b", "a", "c"]},
    "low rank": {"rank": 20},
    "low rank svm": {"rank": 20, "predictor": "svm"},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_equal_to_training_the_members_anew_on_all_rows(name: str) -> None:
    options = dict(OPTIONS[name])
    X, y = table(options.pop("n_classes", 2))
    Z = 2.0 * np.random.default_rng(2).normal(size=(50, 3))
    model = TunedSVC(ard=0, random_state=0, **options).fit(X[:FEW], y[:FEW])
    members = [(member.weight, member.hyperparameters) for member in model.ensemble_.members]
    before = model.predict_proba(Z)
    assert model.update(X[FEW:100], y[FEW:100]) is model
    model.update(X[100:], y[100:])
    assert [(member.weight, member.hyperparameters) for member in model.ensemble_.members] == members
    low = "rank" in options
    np.testing.assert_allclose(model.predict_proba(Z), anew(model, X, y, Z, shuffled=not low), rtol=0, atol=1e-8)
    assert np.abs(model.predict_proba(Z) - before).max() > 1e-3


def test_forgotten_rows_are_as_if_they_had_never_been_there() -> None:
    X, y = table()
    Z = np.random.default_rng(2).normal(size=(50, 3))
    model = TunedSVC(ard=0, random_state=0).fit(X[:100], y[:100])
    model.update(X[100:], y[100:], forget=[3, 5, 99]).update(forget=[110, 0])
    kept = np.setdiff1d(np.arange(ALL), [0, 3, 5, 99, 110])
    np.testing.assert_allclose(model.predict_proba(Z), anew(model, X[kept], y[kept], Z), rtol=0, atol=1e-8)
    assert np.flatnonzero(model.row_groups_ < 0).tolist() == [0, 3, 5, 99, 110]
    assert np.isnan(model.held_out_proba_[[0, 3, 5, 99, 110]]).all()
    assert str(model.updates_) == "tuned on 100 rows, 30 added and 5 forgotten since"
    model.update(forget=[3])  # is gone already
    assert model.updates_.n_forgotten == 5


def test_weights_and_copies() -> None:
    X, y = table()
    rng = np.random.default_rng(3)
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], ALL)
    X[90:110], y[90:110] = X[20:40], y[20:40]  # come again
    X[110:120] = X[:10]  # with any label
    Z = rng.normal(size=(50, 3))
    model = TunedSVC(ard=0, random_state=0).fit(X[:FEW], y[:FEW], weights[:FEW])
    model.update(X[FEW:], y[FEW:], weights[FEW:])
    np.testing.assert_allclose(model.predict_proba(Z), anew(model, X, y, Z, weights), rtol=0, atol=1e-8)
    assert (model.row_groups_[(weights == 0.0)] == -1).all()


def test_categories_and_gaps() -> None:
    X, y = table()
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    frame.loc[rng.random(ALL) < 0.2, "v"] = np.nan
    frame["kind"] = rng.choice(["x", "y", "z"], ALL)
    frame.loc[rng.random(ALL) < 0.2, "kind"] = None
    frame.loc[[0, 1], "kind"] = ["z", None]
    model = TunedSVC(ard=0, random_state=0).fit(frame[:FEW], y[:FEW]).update(frame[FEW:], y[FEW:])
    np.testing.assert_allclose(model.predict_proba(frame), anew(model, frame, y, frame), rtol=0, atol=1e-8)
    with pytest.raises(InvalidInputError, match=r"column 'kind' has a category .* in row 1.*refit"):
        model.update(pd.DataFrame({"u": 0.0, "v": 0.0, "w": 0.0, "kind": ["x", "new"]}), ["a", "b"])
    with pytest.raises(InvalidInputError, match=r"column 'u' has no cell in row 0, and had no gaps.*refit"):
        model.update(pd.DataFrame({"u": [np.nan], "v": 0.0, "w": 0.0, "kind": "x"}), ["a"])


def test_groups() -> None:
    X, y = table()
    groups = np.array([f"patient {k // 3}" for k in range(ALL)])
    Z = np.random.default_rng(2).normal(size=(50, 3))
    model = TunedSVC(ard=0, random_state=0).fit(X[:FEW], y[:FEW], groups=groups[:FEW])
    said = model.predict_proba(X[FEW:])
    model.update(X[FEW:], y[FEW:], groups=groups[FEW:])
    np.testing.assert_allclose(model.predict_proba(Z), anew(model, X, y, Z, groups=groups), rtol=0, atol=1e-8)
    known = groups[FEW:] == groups[FEW - 1]
    assert known.sum() == 2
    np.testing.assert_allclose(model.held_out_proba_[FEW:][~known], said[~known], atol=1e-12)
    without = np.exp(model._weighted(model.ensemble_.log_left_out))[model.row_groups_][FEW:]
    np.testing.assert_allclose(model.held_out_proba_[FEW:][known], without[known], atol=1e-12)
    assert model.n_groups_ == len(set(groups))
    with pytest.raises(InvalidInputError, match="groups is None; expected the groups"):
        model.update(X[:2], y[:2])


def test_groups_that_have_become_single_rows() -> None:
    X, y = table(n=60)
    model = TunedSVC(ard=0, random_state=0).fit(X, y, groups=np.arange(60) % 30)
    assert model.n_groups_ == 30
    assert model.update(forget=range(30)).n_groups_ is None


def test_a_class_that_is_left_in_one_group_is_said() -> None:
    X, y = table(3, n=60)
    groups = np.where(y == "c", np.arange(60) % 2, np.arange(60))
    with warnings.catch_warnings():
        warnings.simplefilter("error", GroupWarning)
        model = TunedSVC(ard=0, random_state=0).fit(X, y, groups=groups)
    with pytest.warns(GroupWarning, match="class 'c' is in one group only"):
        model.update(forget=np.flatnonzero((y == "c") & (groups == 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", GroupWarning)
        model.update(forget=[int(np.flatnonzero(y == "a")[0])])  # it was said


def test_held_out_estimates_cover_all_rows() -> None:
    X, y = table()
    model = TunedSVC(ard=0, random_state=0).fit(X[:FEW], y[:FEW])
    before, expected = model.held_out_proba_, model.expected_log_loss_
    said = model.predict_proba(X[FEW:])
    model.update(X[FEW:], y[FEW:])
    np.testing.assert_array_equal(model.held_out_proba_[:FEW], before)
    np.testing.assert_allclose(model.held_out_proba_[FEW:], said, atol=1e-12)
    own = model.held_out_proba_[np.arange(ALL), np.searchsorted(model.classes_, y)]
    assert model.expected_log_loss_ == pytest.approx(-np.log(own).mean(), abs=1e-12)
    updates = model.updates_
    assert (updates.n_tuned, updates.n_added, updates.expected_log_loss) == (FEW, ALL - FEW, expected)
    assert updates.log_loss == pytest.approx(-np.log(own[FEW:]).mean(), abs=1e-12)


def test_rows_that_come_again_are_no_new_ones() -> None:
    X, y = table()
    model = TunedSVC(ard=0, random_state=0).fit(X[:FEW], y[:FEW])
    before = model.ensemble_.held_out[model.row_groups_]
    model.update(X[:2], y[:2])
    assert model.row_groups_[FEW:].tolist() == model.row_groups_[:2].tolist()
    np.testing.assert_array_equal(model.ensemble_.held_out[model.row_groups_], np.vstack([before, before[:2]]))
    assert model.updates_.test.log_evidence == 0.0


def test_many_small_updates_are_one_large_one() -> None:
    X, y = table()
    start = TunedSVC(ard=0, random_state=0)
    one, many = (clone(start).fit(X[:FEW], y[:FEW]) for _ in range(2))
    one.update(X[FEW:90], y[FEW:90])
    for k in range(FEW, 90, 4):
        many.update(X[k : k + 4], y[k : k + 4])
    np.testing.assert_allclose(many.predict_proba(X), one.predict_proba(X), rtol=0, atol=1e-8)


def test_a_saved_model_is_updated_like_the_one_it_was(tmp_path: Any) -> None:
    X, y = table(3)
    groups = np.arange(ALL) // 2
    model = TunedSVC(ard=0, random_state=0).fit(X[:FEW], y[:FEW], groups=groups[:FEW])
    save_model(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    for one in (model, loaded):
        one.update(X[FEW:100], y[FEW:100], groups=groups[FEW:100])
    save_model(loaded, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops").update(X[100:], y[100:], groups=groups[100:])
    model.update(X[100:], y[100:], groups=groups[100:])
    np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-10)
    assert loaded.updates_.test.log_evidence == pytest.approx(model.updates_.test.log_evidence)
    assert str(loaded.updates_) == str(model.updates_)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_update_that_does_not_end_leaves_the_model_as_it_was(monkeypatch: Any, error: type[BaseException]) -> None:
    X, y = table()
    model = TunedSVC(ard=0, random_state=0).fit(X[:FEW], y[:FEW])
    before = vars(model).copy()

    def broken(*_: Any) -> None:
        raise error

    monkeypatch.setattr(_updating.JudgedRows, "mean", broken)  # nearly at the end
    with pytest.raises(error):
        model.update(X[FEW:], y[FEW:], forget=[0])
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is before[name] for name in before)


def test_what_an_update_refuses() -> None:
    X, y = table()
    model = TunedSVC(ard=0, random_state=0).fit(X[:FEW], y[:FEW])
    for arguments, message in (
        ({"X": X[:1], "y": ["c"]}, "y has classes that the model does not know, 'c'; expected 'a', 'b'; .*refit"),
        ({"X": X[:1]}, "y is None"),
        ({"y": y[:1]}, "X is None"),
        ({"sample_weight": [1.0], "forget": [0]}, "X is None; expected rows and their labels; none of the arguments"),
        ({"groups": [1]}, "X is None"),
        ({"X": X[:2], "y": y[:1]}, "inconsistent numbers"),
        ({"X": X[:2, :2], "y": y[:2]}, "2 features"),
        ({"X": X[:1], "y": y[:1], "groups": [1]}, "groups is given; expected None"),
        ({"forget": [FEW]}, f"forget has {FEW}; expected numbers of rows from 0 to {FEW - 1}"),
        ({"forget": [-1]}, "forget has -1"),
        ({"forget": [True]}, "forget is of shape .* and type bool"),
        ({"forget": np.flatnonzero(y[:FEW] == "a")}, "forget would leave no row of 'a'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.update(**arguments)
    assert model.updates_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = compact(model, tolerance=0.1, keep_rows=True)
    with pytest.raises(InvalidInputError, match="is compact; expected the model it was made from"):
        small.update(X[FEW:], y[FEW:])


def test_a_model_that_holds_a_sample_says_so() -> None:
    X, y = table()
    model = TunedSVC(ard=0, rank=15, subset=60, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"holds 6\d of its 130 rows; .*subset=None"):
        model.update(X[:5], y[:5])


def test_it_says_when_tuning_again_would_pay() -> None:
    X, y = table(n=400)
    model = TunedSVC(ard=0, random_state=0).fit(X[:150], y[:150])
    with warnings.catch_warnings():
        warnings.simplefilter("error", TuningWarning)
        model.update(X[150:250], y[150:250])
    with pytest.warns(DriftWarning, match=r"those from about number 101 on .* log-loss of all rows added is \d"):
        model.update(X[250:290], np.where(y[250:290] == "a", "b", "a"))
    assert model.updates_.drift_since == 250
    assert model.updates_.drift in model._remarks
    with pytest.warns() as caught:
        model.update(X[290:300], y[290:300])
    assert [warning.category for warning in caught] == [DriftWarning, TuningWarning]
    assert "tuned on 150 rows and has 300 now" in str(caught[1].message)
    assert model.updates_.drift_since == 250  # until it is refitted, or most of these rows are forgotten
    with warnings.catch_warnings():
        warnings.simplefilter("error", DriftWarning)
        warnings.simplefilter("ignore", TuningWarning)
        without = deepcopy(model).update(forget=range(250, 300))
        assert without.updates_.drift_since is None
        assert without.updates_.test.log_evidence == 0.0
    assert "tuned on 150 rows, 150 added since" in model.summary().to_text()
    assert model.fit(X, y).updates_ is None


@pytest.mark.slow
def test_local_blocks() -> None:
    X, y = table(n=2000)
    model = TunedSVC(random_state=0).fit(X[:1700], y[:1700])
    assert model.ensemble_.members[0].partition is not None
    partitions = [member.partition for member in model.ensemble_.members]
    model.update(X[1700:1900], y[1700:1900]).update(X[1900:], y[1900:], forget=range(100))
    assert [member.partition for member in model.ensemble_.members] == partitions
    Z = np.random.default_rng(2).normal(size=(200, 3))
    expected = anew(model, X[100:], y[100:], Z, shuffled=False)
    np.testing.assert_allclose(model.predict_proba(Z), expected, rtol=0, atol=1e-8)


@pytest.mark.slow
def test_screened_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 60))
    y = X[:, 0] + 0.5 * rng.normal(size=80) > 0.0
    model = TunedSVC(random_state=0).fit(X[:50], y[:50])
    assert any(member.view is not None for member in model.ensemble_.members)
    model.update(X[50:], y[50:])
    np.testing.assert_allclose(model.predict_proba(X), anew(model, X, y, X), rtol=0, atol=1e-8)


def test_keys_of_groups_are_those_of_their_labels() -> None:
    different = [-1, -2, 0, 2**61 - 1, 0.5, np.inf, -np.inf, "1", (1,), (-1,), (-2,), ("1",)]
    assert len(set(group_keys(different, len(different)).tolist())) == len(different)
    equal = [1, 1.0, True, np.int64(1), np.float32(1.0)]
    assert len(set(map(_key, equal))) == 1
    assert group_keys(np.array([3, 4]), 2).tolist() == group_keys([3.0, 4.0], 2).tolist()
