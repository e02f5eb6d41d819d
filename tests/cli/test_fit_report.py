"""What a report tells of held-out examples is what the model tells."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support, roc_auc_score

from marginwise import TunedSVC
from marginwise.cli.class_report import add_predictions, draw_confusion, draw_curves
from marginwise.cli.figures import page_figure
from marginwise.cli.held_out import HeldOutRows
from marginwise.cli.summary import FitSummary
from marginwise.display import Page, figure_style

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
    held_out = HeldOutRows.of(model, X, y)
    counts = held_out.confusion
    np.testing.assert_allclose(counts.sum(axis=1), np.unique(y, return_counts=True)[1])
    assert 1 - np.trace(counts) / len(y) == pytest.approx(model.expected_error_)
    own = held_out.probability[np.arange(len(held_out.codes)), held_out.codes]
    assert -held_out.weights @ np.log(own) / len(y) == pytest.approx(model.expected_log_loss_)
    display = held_out.reliability("class 2")
    assert display.counts.sum() == pytest.approx(len(y))
    happened = counts[1].sum() if n_classes == 2 else np.trace(counts)
    assert np.nansum(display.observed * display.counts) == pytest.approx(happened)


def made_up(n_classes: int, n: int = 400, strength: float = 2.0) -> HeldOutRows:
    """Probabilities that know something of the classes, and whole weights."""
    rng = np.random.default_rng(0)
    codes = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    odds = rng.normal(size=(n, n_classes))
    odds[np.arange(n), codes] += strength
    odds, copies = np.exp(odds), rng.integers(1, 4, n)
    examples = rng.permutation(np.repeat(np.arange(n), copies))
    return HeldOutRows(odds / odds.sum(axis=1, keepdims=True), codes, copies.astype(float), examples)


@pytest.mark.parametrize("n_classes", [2, 3, 15])
def test_scores_are_those_of_scikit_learn(n_classes: int) -> None:
    rows = made_up(n_classes)
    repeated = np.repeat(np.arange(len(rows.codes)), rows.weights.astype(int))
    true, probability = rows.codes[repeated], rows.probability[repeated]
    expected = precision_recall_fscore_support(true, probability.argmax(axis=1))
    for k, scores in enumerate(rows.scores):
        found = [scores.precision, scores.recall, scores.f1, scores.rows]
        np.testing.assert_allclose(found, [column[k] for column in expected])
        assert scores.auc == pytest.approx(roc_auc_score(true == k, probability[:, k]))
    np.testing.assert_array_equal(rows.confusion, confusion_matrix(true, probability.argmax(axis=1)))
    mistakes = rows.mistakes()
    assert sum(m.examples for m in mistakes) == rows.confusion.sum() - np.trace(rows.confusion)
    assert all(m.examples == rows.confusion[m.true, m.taken_for] for m in mistakes)
    assert mistakes[0].examples == max(m.examples for m in mistakes)


def test_a_class_that_is_never_predicted_has_no_precision() -> None:
    rows = HeldOutRows(np.array([[0.6, 0.3, 0.1]] * 3), np.arange(3), np.ones(3), np.arange(3))
    assert [scores.precision for scores in rows.scores] == [pytest.approx(1 / 3), None, None]
    assert [scores.f1 for scores in rows.scores] == [0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("n_classes", "table"), [(2, True), (12, True), (13, False), pytest.param(120, False, marks=pytest.mark.slow)]
)
def test_confusion_is_a_picture_where_classes_are_many(n_classes: int, table: bool) -> None:
    page = Page("title")
    labels = [f"kind {k}" for k in range(n_classes)]
    with mpl.rc_context(figure_style()):
        add_predictions(page, made_up(n_classes), labels)
    html = page.html()
    assert ("Right and wrong predictions: numbers of rows" in html) == table
    assert ("The commonest mistakes, 15 of" in html) != table
    assert html.count("<figure") == (2 if table else 3)
    explained = "Sensitivity: of the rows that are kind 1" if n_classes == 2 else "Recall: of the rows of this class"
    for words in (explained, f"kind {n_classes - 1}</th>", "ROC curve"):
        assert words in html


def test_the_picture_has_a_square_for_each_pair_that_occurs() -> None:
    rows = made_up(20)
    with mpl.rc_context(figure_style()):
        axes = page_figure(6.0).subplots()
        draw_confusion(axes, rows.confusion, [str(k) for k in range(20)])
    squares = axes.collections[0]
    assert len(squares.get_paths()) == np.count_nonzero(rows.confusion)
    colours = squares.get_facecolors()
    right = np.equal(*np.nonzero(rows.confusion))
    assert len(np.unique(colours[right, :3], axis=0)) == len(np.unique(colours[~right, :3], axis=0)) == 1
    assert [text.get_text() for text in axes.texts] == [f"{n:g}" for n in rows.confusion[rows.confusion > 0]]


@pytest.mark.parametrize(("n_classes", "curves", "named"), [(2, 1, 1), (8, 8, 8), (20, 20, 6), (120, 100, 6)])
def test_curves_of_many_classes_name_the_lowest(n_classes: int, curves: int, named: int) -> None:
    rows = made_up(n_classes)
    with mpl.rc_context(figure_style()):
        axes = page_figure(4.0).subplots()
        draw_curves(axes, rows, [f"kind {k}" for k in range(n_classes)])
    assert len(axes.lines) == 1 + curves + (n_classes == 2)  # and the diagonal; of two classes a dot
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    areas = [scores.auc for scores in rows.scores]
    first = 1 if n_classes == 2 else int(np.argmin(areas))
    assert len(names) == named
    assert names[0] == f"kind {first}, {areas[first]:.3f}"


@pytest.mark.parametrize("n_classes", [2, 3, 30])
def test_terminals_see_the_hardest_classes(n_classes: int) -> None:
    rows = made_up(n_classes, strength=1.0)
    labels = [f"kind {k}" for k in range(n_classes)]
    scores = dict(zip(labels, rows.scores, strict=True))
    summary = FitSummary(
        table="t.csv",
        target="kind",
        rows=400,
        inputs=1,
        classes={label: s.rows for label, s in scores.items()},
        criterion="ep-loo",
        slack="linear",
        seed=0,
        expected_error=0.1,
        expected_log_loss=0.2,
        term_shares={"smooth": 1.0},
        relevances={"a": 1.0},
        influences={"a": 0.2},
        by_class={label: s._asdict() for label, s in scores.items()},
        suspicious_labels=[],
        uncertain_rows=[],
        members=[],
        warnings=[],
        seconds=1.0,
    )
    text = summary.to_text()
    if n_classes == 2:
        assert "recall" not in text
        shares = f"{rows.scores[1].recall:.1%}", f"{rows.scores[0].recall:.1%}"
        sensitivity, specificity = (share.replace("%", " %") for share in shares)
        assert f"sensitivity {sensitivity} (rows of kind 1 found), specificity {specificity} (rows of kind 0" in text
        return
    lines = text.split("classes, the hardest first")[1].split("\n\n")[0].splitlines()[1:]
    assert lines[0].split() == ["class", "rows", "recall", "precision", "F1", "AUC"]
    hardest = min(scores, key=lambda label: scores[label].f1)
    assert lines[1].startswith(f"  {hardest} ")
    assert len(lines) == (4 if n_classes == 3 else 12)
    assert ("30 classes, with" in text) == (n_classes == 30)
