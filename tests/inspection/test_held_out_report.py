"""What a held-out report says, against counting by hand and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support, roc_auc_score
from sklearn.pipeline import make_pipeline

from held_out_models import Predicted, some_classes
from known_flips import flipped
from marginwise import MarginSVC, TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.inspection import held_out_report

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.TableWarning"),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"ard": 0.0}, {"ard": 0.0, "subset": 60}])
def test_confusion_counts_the_rows_of_the_table(n_classes: int, options: dict) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 2 - n_classes, :2], y[y > 2 - n_classes]  # several rows are repeated
    assert len(np.unique(np.c_[X, y], axis=0)) < len(y)
    model = TunedSVC(**options, random_state=0).fit(X, y)
    report = held_out_report(model, y)
    counts = report.confusion
    np.testing.assert_allclose(counts.sum(axis=1), np.unique(y, return_counts=True)[1])
    assert 1 - np.trace(counts) / len(y) == pytest.approx(model.expected_error_)
    assert -report.copies @ np.log(report.own) / len(y) == pytest.approx(model.expected_log_loss_)


@pytest.mark.parametrize("n_classes", [2, 3, 15])
def test_scores_are_those_of_scikit_learn(n_classes: int) -> None:
    model = some_classes(n_classes)
    report = held_out_report(model, model.y)
    true, probability = model.y, model.held_out_proba_
    expected = precision_recall_fscore_support(true, probability.argmax(axis=1))
    for k, scores in report.scores.items():
        found = [scores.precision, scores.recall, scores.f1, scores.rows]
        np.testing.assert_allclose(found, [column[k] for column in expected])
        assert scores.auc == pytest.approx(roc_auc_score(true == k, probability[:, k]))
    np.testing.assert_array_equal(report.confusion, confusion_matrix(true, probability.argmax(axis=1)))
    mistakes = report.mistakes
    assert sum(m.rows for m in mistakes) == report.confusion.sum() - np.trace(report.confusion)
    assert all(m.rows == report.confusion[m.true, m.predicted] for m in mistakes)
    assert mistakes[0].rows == max(m.rows for m in mistakes)


def test_a_class_that_is_never_predicted_has_no_precision() -> None:
    model = Predicted(np.arange(3), np.array([[0.6, 0.3, 0.1]] * 3), np.arange(3), np.arange(3))
    scores_of = held_out_report(model, model.y).scores.values()
    assert [scores.precision for scores in scores_of] == [pytest.approx(1 / 3), None, None]
    assert [scores.f1 for scores in scores_of] == [0.5, 0.0, 0.0]


def test_scores_mistakes_and_curves_go_by_label() -> None:
    model = some_classes(3, labels=["cat", "dog", "emu"])
    report = held_out_report(model, model.y)
    assert list(report.scores) == ["cat", "dog", "emu"]
    assert {mistake.true for mistake in report.mistakes} == {"cat", "dog", "emu"}
    worst = report.mistakes[0]
    taken = (model.y == worst.true) & (model.classes_[model.held_out_proba_.argmax(axis=1)] == worst.predicted)
    assert worst.rows == np.count_nonzero(taken)
    assert worst.share == pytest.approx(worst.rows / np.count_nonzero(model.y == worst.true))
    false_positive, true_positive = report.roc("dog")
    assert (np.diff(false_positive) >= 0).all()
    assert (np.diff(true_positive) >= 0).all()
    with pytest.raises(InvalidInputError, match="label is 'cow'; expected one of the classes"):
        report.roc("cow")


def test_each_row_belongs_to_its_example() -> None:
    X, y = flipped(2)
    rng = np.random.default_rng(1)
    rows = rng.integers(0, len(y), 150)  # in any order, many of them several times
    model = TunedSVC(ard=0, random_state=0).fit(X[rows], y[rows])
    report = held_out_report(model, y[rows])
    np.testing.assert_array_equal(report.codes[report.examples], y[rows])
    np.testing.assert_array_equal(np.bincount(report.examples), report.copies)
    for example in range(len(report.codes)):
        assert len(np.unique(X[rows][list(report.rows_of(example))], axis=0)) == 1
        assert report.rows_of(example) == tuple(np.flatnonzero(report.examples == example))
    assert sum(len(report.rows_of(k)) for k in range(len(report.codes))) == len(rows)
    assert report.n_left_out == 0


@pytest.mark.parametrize("how", ["weight", "validation"])  # rows that stop searches are left out by folds as all others
def test_rows_without_held_out_probabilities_are_counted_and_left_out(how: str) -> None:
    X, y = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    weights = np.ones(len(y))
    if how == "weight":
        weights[[3, 70, 71]] = 0.0
        y[3] = "no class at all"
    model = TunedSVC(ard=0, validation_fraction=0.2 if how == "validation" else None, random_state=0)
    model.fit(X, y, weights)
    report = held_out_report(model, y)
    missing = np.isnan(model.held_out_proba_).any(axis=1)
    assert report.n_left_out == np.count_nonzero(missing) == (3 if how == "weight" else 0)
    np.testing.assert_array_equal(report.examples < 0, missing)
    assert report.confusion.sum() == len(y) - report.n_left_out
    assert sum(scores.rows for scores in report.scores.values()) == len(y) - report.n_left_out
    assert report.rows_of(0) == tuple(np.flatnonzero(report.examples == 0))
    np.testing.assert_array_equal(report.probability[report.examples[~missing]], model.held_out_proba_[~missing])


def test_a_class_without_rows_has_no_scores() -> None:
    model = Predicted(np.arange(3), np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]), np.arange(2), np.arange(2))
    of_all = held_out_report(model, model.y).scores
    assert of_all[2].rows == 0
    assert np.isnan([of_all[2].recall, of_all[2].f1, of_all[2].auc]).all()
    assert of_all[2].precision == 0.0
    one = Predicted(np.arange(2), np.array([[0.6, 0.4]]), np.array([0]), np.array([0]))
    assert np.isnan(held_out_report(one, one.y).scores[0].auc)


def test_labels_of_another_table_are_refused() -> None:
    model = some_classes(3)
    with pytest.raises(InvalidInputError, match=r"y has shape \(3,\); expected the \d+ labels"):
        held_out_report(model, model.y[:3])
    with pytest.raises(InvalidInputError, match="labels that the model does not know"):
        held_out_report(model, model.y + 1)
    with pytest.raises(InvalidInputError, match="in the same order"):
        held_out_report(model, np.roll(model.y, 1))


def test_models_without_held_out_probabilities_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(TunedSVC(ard=0, random_state=0)).fit(X, y)
    for model in (TunedSVC(), MarginSVC(), pipeline):
        with pytest.raises(InvalidInputError, match=f"model is a {type(model).__name__} without held_out_proba_"):
            held_out_report(model, y)
    assert held_out_report(pipeline[-1], y).confusion.sum() == len(y)


def test_a_model_that_had_seen_every_row_says_what_to_do() -> None:
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [1.0, 2.0]]), [1, 0, 0, 0]
    with pytest.raises(InvalidInputError, match=r"model has no held-out probabilities.*ard="):
        held_out_report(TunedSVC(ard=1.0, random_state=0).fit(X, y), y)
    X, y = load_iris(return_X_y=True)
    model = TunedSVC(ard=0, predictor="svm", subset=60, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"model has no held-out probabilities.*subset=None"):
        held_out_report(model, y)
