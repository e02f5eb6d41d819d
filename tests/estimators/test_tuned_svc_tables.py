"""TunedSVC in scikit-learn's world: data frames, labels, weights, pipelines, routing, processes, callbacks."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import zoo
from marginwise import Prior, TunedSVC
from marginwise.criteria import as_criterion
from marginwise.errors import ConvergenceWarning, InvalidInputError
from marginwise.estimators._classes import set_aside
from marginwise.fitting.advice import _at_odds

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.TableWarning"),
]

PROBLEM = zoo.blobs(40, 2, shift=0.8)
FEW = {"ard": 0, "max_evaluations": 15, "random_state": 0}


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3], y[::3]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_are_tables_with_names(frame):
    table = frame(dict(zip(["width", "height"], PROBLEM.X.T, strict=True)))
    model = TunedSVC(**FEW).fit(table, PROBLEM.y)
    assert model.feature_names_in_.tolist() == ["width", "height"]
    np.testing.assert_array_equal(model.predict(table), TunedSVC(**FEW).fit(PROBLEM.X, PROBLEM.y).predict(PROBLEM.X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["height", "width"]])


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array([False, True]),
        np.array([-7, 3]),
        np.array([2**40, 2**40 + 1]),
        np.array([0.0, 1.0], dtype=np.float32),
        np.array(["ja", "nein"], dtype=object),
        np.array([5, 6], dtype=object),
        np.array([False, True], dtype=object),
    ],
    ids=["strings", "bools", "integers", "large integers", "floats", "objects", "integer objects", "bool objects"],
)
def test_labels_of_any_kind_come_back(labels):
    y = labels[(PROBLEM.y > 0).astype(int)]
    model = TunedSVC(**FEW).fit(PROBLEM.X, y)
    predicted = model.predict(PROBLEM.X)
    assert predicted.dtype == model.classes_.dtype
    assert set(predicted.tolist()) == set(labels.tolist())
    assert (predicted == y).mean() > 0.7
    np.testing.assert_array_equal(predicted == labels[1], model.predict_proba(PROBLEM.X)[:, 1] > 0.5)


def test_labels_from_data_frames():
    y = pd.Series(np.where(PROBLEM.y > 0, "yes", "no"))
    for column in (y, y.astype("category"), pl.Series(y.to_list())):
        assert set(TunedSVC(**FEW).fit(PROBLEM.X, column).predict(PROBLEM.X)) == {"yes", "no"}


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0.0], [np.inf], [1.0]], [0, 1, 0], "infinity"),
        (np.array([[0.0], [1j], [1.0]]), [0, 1, 0], "Complex data not supported"),
        ([["a"], [1.0], ["c"]], [0, 1, 0], "column 0 holds numbers and words"),
        ([[0.0], [1.0], [2.0]], [0, 0, 0], "at least two classes"),
        ([[0.0], [1.0], [2.0]], [0.1, 0.2, 0.3], "Unknown label type"),
        ([[0.0], [1.0], [2.0]], [0, 1, np.nan], "NaN"),
        (
            [[0.0], [1.0], [2.0]],
            np.array(["a", "b", None], dtype=object),
            "of types NoneType, str.*none missing",
        ),
        ([[0.0], [1.0], [2.0]], np.array(["a", 1, "b"], dtype=object), "labels of types int, str"),
        ([[0.0], [1.0]], [0, 1, 0], "inconsistent numbers of samples"),
        ([0.0, 1.0], [0, 1], "Expected 2D array"),
        (np.empty((0, 2)), [], "0 sample"),
        (np.empty((3, 0)), [0, 1, 0], "0 feature"),
    ],
)
def test_tables_that_are_none_are_refused(X, y, message):
    with pytest.raises(ValueError, match=message):
        TunedSVC().fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"restarts": -1}, "restarts is -1; expected 0 or more"),
        ({"restarts": 1.5}, "restarts is 1.5"),
        ({"max_evaluations": 0}, "max_evaluations is 0"),
        ({"validation_fraction": 1.0}, "validation_fraction is 1.0"),
        ({"ard": True}, "ard is True"),
        ({"ard": float("nan")}, "ard is nan"),
        ({"prior": 0.3}, "prior is 0.3"),
        ({"search": "luck"}, "search is 'luck'"),
        ({"class_weight": "even"}, "class_weight is 'even'"),
        ({"class_weight": {1.0: -2.0}}, r"class_weight\[1.0\] is -2.0"),
        ({"standardize": False, "X": 1e200 * PROBLEM.X}, "or standardize=True"),
        ({"sample_weight": np.full(40, 1e-30)}, "sample_weight is 1e-30"),
        ({"validation_fraction": 0.1, "y": np.arange(40) == 3}, "None, because a class has only one row"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else "",
)
def test_errors_say_what_is_allowed(parameters, message):
    given = {"X": PROBLEM.X, "y": PROBLEM.y, "sample_weight": None} | parameters
    X, y, weights = (given.pop(name) for name in ("X", "y", "sample_weight"))
    with pytest.raises(InvalidInputError, match=message):
        TunedSVC(**given).fit(X, y, sample_weight=weights)


def test_weights_are_repetitions(rng):
    counts = rng.integers(0, 4, size=PROBLEM.n)
    new = rng.normal(size=(20, 2))
    for parameters in ({}, {"ard": 0.5}, {"class_weight": "balanced"}, {"predictor": "svm", "ard": 0}):
        model = TunedSVC(random_state=0, max_evaluations=20, **parameters)
        weighted = clone(model).fit(PROBLEM.X, PROBLEM.y, sample_weight=counts)
        order = rng.permutation(counts.sum())
        X, y = np.repeat(PROBLEM.X, counts, axis=0)[order], np.repeat(PROBLEM.y, counts)[order]
        repeated = clone(model).fit(X, y)
        np.testing.assert_allclose(weighted.predict_proba(new), repeated.predict_proba(new), rtol=0, atol=1e-9)
        assert weighted.expected_error_ == pytest.approx(repeated.expected_error_, abs=1e-12)
        assert weighted.expected_log_loss_ == pytest.approx(repeated.expected_log_loss_, abs=1e-9)


def test_class_weights_move_the_boundary():
    plain = TunedSVC(**FEW).fit(PROBLEM.X, PROBLEM.y)
    tilted = TunedSVC(class_weight={1.0: 5.0}, **FEW).fit(PROBLEM.X, PROBLEM.y)
    assert tilted.predict_proba(PROBLEM.X)[:, 1].mean() > plain.predict_proba(PROBLEM.X)[:, 1].mean() + 0.1


def test_weights_are_routed_through_pipelines_and_searches():
    weights = np.where(PROBLEM.y > 0, 3.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = TunedSVC(**FEW).set_fit_request(sample_weight=True)
        scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        search = GridSearchCV(
            *(make_pipeline(scaler, model), {"tunedsvc__criterion": ["auto"]}),
            scoring=scorer,
            cv=2,
            error_score="raise",
        )
        search.fit(PROBLEM.X, PROBLEM.y, sample_weight=weights)
        direct = make_pipeline(scaler, clone(model)).fit(PROBLEM.X, PROBLEM.y, sample_weight=weights)
        np.testing.assert_array_equal(search.predict_proba(PROBLEM.X), direct.predict_proba(PROBLEM.X))
        without = make_pipeline(StandardScaler(), TunedSVC(**FEW)).fit(PROBLEM.X, PROBLEM.y)
        assert np.abs(direct.predict_proba(PROBLEM.X) - without.predict_proba(PROBLEM.X)).max() > 0.01


def test_pipelines_that_pass_data_frames_on():
    table = pd.DataFrame(PROBLEM.X, columns=["width", "height"])
    pipeline = make_pipeline(StandardScaler(), TunedSVC(**FEW)).set_output(transform="pandas").fit(table, PROBLEM.y)
    assert pipeline[-1].feature_names_in_.tolist() == ["width", "height"]
    probability = cross_val_predict(pipeline, table, PROBLEM.y, cv=2, method="predict_proba")
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)


def test_shows_itself_and_can_be_cloned():
    model = TunedSVC(0.3, prior=Prior(spread=1.0), n_jobs=2)
    assert clone(model).get_params() == model.get_params()
    assert "TunedSVC" in model._repr_html_()
    assert repr(TunedSVC(ard=0)) == "TunedSVC(ard=0)"


def test_classes_in_processes_change_nothing(iris):
    X, y = iris
    alone, side_by_side = (TunedSVC(random_state=0, max_evaluations=10, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(alone.predict_proba(X), side_by_side.predict_proba(X))
    one, two = ([member.hyperparameters for member in model.ensemble_.members] for model in (alone, side_by_side))
    assert one == two


@pytest.mark.parametrize("predictor", ["posterior", "svm"])
def test_predictions_agree_where_classes_tie(predictor):
    """Mirror images: on the axis of symmetry no class is the more probable."""
    X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    model = TunedSVC(predictor=predictor, random_state=0).fit(X, y)
    new = np.array([[0.0], [1e-300], [-1e-300], [1e-18], [1e300], [-1e300]])
    probability = model.predict_proba(new)
    np.testing.assert_array_equal(model.predict(new), probability.argmax(axis=1))
    assert np.isfinite(model.decision_function(new)).all()
    assert probability[0] == pytest.approx([0.5, 0.5], abs=1e-9)
    triple = TunedSVC(predictor=predictor, **FEW).fit([[0.0], [0.0], [0.0], [5.0], [5.0]], [0, 1, 2, 0, 1])
    probability = triple.predict_proba([[0.0], [5.0], [100.0]])
    np.testing.assert_array_equal(triple.predict([[0.0], [5.0], [100.0]]), probability.argmax(axis=1))


def test_part_of_the_rows_stops_searches_early(iris):
    X, y = iris
    model = TunedSVC(ard=3.0, validation_fraction=0.3, random_state=0).fit(X, y)
    trace = model.trace_.to_arrays()
    assert np.isfinite(trace["validation_error"][trace["accepted"]]).all()
    errors = trace["validation_error"][trace["accepted"]]
    assert model.trace_.best("validation").errors["validation"] == errors.min()
    assert len(model.ensemble_.X) == len(X)  # trained on all rows
    assert np.isfinite(model.expected_log_loss_)
    assert model.expected_error_ < 0.25
    again = TunedSVC(ard=3.0, validation_fraction=0.3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    stacked = TunedSVC(validation_fraction=0.2, random_state=0, max_evaluations=10).fit(X[y < 2], y[y < 2])
    assert stacked.expected_error_ < 0.1


def test_each_class_is_set_aside_in_part(rng):
    codes = np.repeat([0, 1, 2], [40, 10, 2])
    aside = set_aside(codes, 0.25, rng)
    assert np.bincount(codes[aside]).tolist() == [10, 2, 1]
    assert not set_aside(codes, None, rng).any()
    assert np.bincount(codes[set_aside(codes, 0.999, rng)]).tolist() == [39, 9, 1]


def test_progress_is_silent_unless_asked_for(capfd, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    TunedSVC(**FEW).fit(PROBLEM.X, PROBLEM.y)
    assert capfd.readouterr() == ("", "")
    for show in (True, None):
        TunedSVC(progress=show, **FEW).fit(PROBLEM.X, PROBLEM.y)
        assert "training" in capfd.readouterr().err


@pytest.mark.parametrize("ard", ["auto", 0.0, 0.5])
def test_progress_is_lines_of_text_where_there_is_no_terminal(ard, capfd):
    TunedSVC(ard, progress=None, random_state=0).fit(PROBLEM.X, PROBLEM.y)
    assert capfd.readouterr() == ("", "")
    TunedSVC(ard, progress=True, random_state=0).fit(PROBLEM.X, PROBLEM.y)
    lines = capfd.readouterr().err.splitlines()
    stages = ["search", "folds", "training"]
    assert [line.split(":")[0].split(",")[0] for line in lines if "last search" not in line] == [*stages, "fitted in 0"]
    assert all(" gone, " in line and line.endswith(" left") for line in lines[:-1])


def test_callbacks_of_scikit_learn_see_every_evaluation():
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")
    monitor = callback.ScoringMonitor(scoring="accuracy")
    with contextlib.redirect_stdout(io.StringIO()):
        model = TunedSVC(**FEW).set_callbacks(monitor, callback.ProgressBar()).fit(PROBLEM.X, PROBLEM.y)
    plain = TunedSVC(**FEW).fit(PROBLEM.X, PROBLEM.y)
    np.testing.assert_array_equal(model.predict_proba(PROBLEM.X), plain.predict_proba(PROBLEM.X))
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "evaluation"]
    assert len(rows) == len(model.trace_)
    best = int(np.argmax([r.point.score if r.step.accepted else -np.inf for r in model.trace_]))
    assert rows[best]["accuracy"] == pytest.approx(model.score(PROBLEM.X, PROBLEM.y))
    assert any(row["task_name"] == "fit" for row in monitor.get_logs().data)


def test_callbacks_can_stop_a_search():
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")

    class Enough:
        def setup(self, estimator, context):
            self.evaluations = 0

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            self.evaluations += context.task_name == "evaluation"
            return self.evaluations == 3

    model = TunedSVC(**FEW).set_callbacks(Enough()).fit(PROBLEM.X, PROBLEM.y)
    assert len(model.trace_) == 3


class TestAdvice:
    """Warnings say what happened and what to do."""

    pytestmark = pytest.mark.filterwarnings("default::marginwise.errors.ConvergenceWarning")

    def test_a_search_cut_short(self):
        with pytest.warns(ConvergenceWarning, match="not converged after 2 evaluations; raise max_evaluations"):
            TunedSVC(ard=0, max_evaluations=2).fit(PROBLEM.X, PROBLEM.y)

    def test_a_bound(self):
        X = np.repeat(np.arange(6.0), 30)[:, None] + np.tile(np.linspace(0.0, 1e-3, 30), 6)[:, None]
        free = Prior(C=(0.0, np.inf), k0=(0.0, np.inf), koff=(0.0, np.inf), length_scale=(0.0, 1e6))
        model = TunedSVC(criterion="ep-evidence", prior=free, ard=0)
        with pytest.warns(ConvergenceWarning, match=r"ended on its upper bound.*e.g. prior=Prior\("):
            model.fit(X, (X[:, 0].round() % 2).astype(int))

    def test_restarts_are_kept_where_a_spread_wins(self):
        model = TunedSVC(ard=0.5, restarts=2, random_state=0).fit(PROBLEM.X, PROBLEM.y)
        assert len(model.restarts_) == 3
        assert all(run.hyperparameters.is_isotropic for run in model.restarts_)
        assert not model.hyperparameters_.is_isotropic

    def test_restarts_at_odds(self):
        model = TunedSVC(ard=0, restarts=2, random_state=0).fit(PROBLEM.X, PROBLEM.y)
        runs = model.restarts_
        assert _at_odds(runs, as_criterion("ep-loo")) == []  # they found the same
        apart = [replace(run, score=run.score - 0.1 * k, value=run.value - 0.1 * k) for k, run in enumerate(runs)]
        (message,) = _at_odds(apart, as_criterion("ep-loo"))
        assert "3 searches ended at different optima (ep-loo" in message
        assert "raise restarts" in message
        together = [apart[0], apart[0], apart[2]]
        assert _at_odds(together, as_criterion("ep-loo")) == []
        assert _at_odds(runs[:1], as_criterion("ep-loo")) == []
