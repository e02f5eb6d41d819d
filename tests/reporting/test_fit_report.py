"""What a report shows of held-out predictions is what their inspection says."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from held_out_models import some_classes
from marginwise.display import Page, figure_style
from marginwise.inspection import HeldOutReport, held_out_report
from marginwise.reporting.class_report import add_predictions, draw_confusion, draw_curves, reliability
from marginwise.reporting.figures import page_figure
from marginwise.reporting.summary import FitSummary


def made_up(n_classes: int, strength: float = 2.0) -> HeldOutReport:
    model = some_classes(n_classes, strength=strength)
    return held_out_report(model, model.y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_reliability_counts_the_rows_of_the_table(n_classes: int) -> None:
    report = made_up(n_classes)
    assert len(report.examples) > len(report.codes)  # several rows are repeated
    display = reliability(report, 1 if n_classes == 2 else None)
    assert display.counts.sum() == pytest.approx(len(report.examples))
    happened = report.confusion[1].sum() if n_classes == 2 else np.trace(report.confusion)
    assert np.nansum(display.observed * display.counts) == pytest.approx(happened)


@pytest.mark.parametrize(("n_classes", "table"), [(2, True), (12, True), (13, False), (120, False)])
def test_confusion_is_a_picture_where_classes_are_many(n_classes: int, table: bool) -> None:
    page = Page("title")
    model = some_classes(n_classes, labels=[f"kind {k:03}" for k in range(n_classes)])
    with mpl.rc_context(figure_style()):
        add_predictions(page, model, model.y)
    html = page.html()
    assert ("Right and wrong predictions: numbers of rows" in html) == table
    assert ("The commonest mistakes, 15 of" in html) != table
    assert "np.float64" not in html  # columns are sorted by the numbers of their cells
    assert html.count("<figure") == (2 if table else 3)
    explained = "Sensitivity: of the rows that are kind 001" if n_classes == 2 else "Recall: of the rows of this class"
    for words in (explained, f"kind {n_classes - 1:03}</th>", "ROC curve"):
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
        draw_curves(axes, rows, [f"kind {k}" for k in range(n_classes)], 1 if n_classes == 2 else None)
    assert len(axes.lines) == 1 + curves + (n_classes == 2)  # and the diagonal; of two classes a dot
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    areas = [scores.auc for scores in rows.scores.values()]
    first = 1 if n_classes == 2 else int(np.argmin(areas))
    assert len(names) == named
    assert names[0] == f"kind {first}, {areas[first]:.3f}"


@pytest.mark.parametrize("n_classes", [2, 3, 30])
def test_terminals_see_the_hardest_classes(n_classes: int) -> None:
    rows = made_up(n_classes, strength=1.0)
    labels = [f"kind {k}" for k in range(n_classes)]
    scores = dict(zip(labels, rows.scores.values(), strict=True))
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
        expected_error_se=0.02,
        expected_log_loss_se=0.03,
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
