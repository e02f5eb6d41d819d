"""What a fitted model says of itself: the same as its table would, from what it holds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginwise import TunedSVC, load_model, save_model
from marginwise.errors import InvalidInputError
from marginwise.inspection import held_out_report, operating_points
from marginwise.plots import ReliabilityDisplay
from marginwise.reporting.training import TrainingTable
from page_checks import check_page


def mixed_table(n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with gaps, words with gaps, ordered words, dates, and a row that is there twice."""
    rng = np.random.default_rng(3)
    size, days = rng.normal(50.0, 9.0, n).round(1), rng.integers(0, 900, n)
    X = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "colour": rng.choice(["red", "blue", None], n, p=[0.5, 0.4, 0.1]),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
            "seen": pd.Timestamp("2024-01-31") + pd.to_timedelta(days, "D"),
        }
    )
    X.iloc[-1] = X.iloc[0]
    y = np.where(size + 9 * rng.normal(size=n) > 50.0, "sick", "healthy")
    y[-1] = y[0]
    return X, y


@pytest.fixture(scope="module")
def mixed() -> tuple[pd.DataFrame, np.ndarray, TunedSVC]:
    X, y = mixed_table()
    with pytest.warns(match="seen"):  # dates are told
        model = TunedSVC(ard=0, random_state=0).fit(X, y)
    return X, y, model


def test_the_table_is_found_again_in_the_model(mixed) -> None:
    X, y, model = mixed
    table = TrainingTable.of_model(model)
    assert table.y.tolist() == y.tolist()
    assert list(table.names) == list(X.columns)
    assert len(table.X) == len(X.drop_duplicates())
    cells = model._encoding.cells(model.ensemble_.X)
    np.testing.assert_allclose(model._encoding(cells), model.ensemble_.X, atol=1e-12)

    def written(row: tuple) -> tuple:
        return tuple("" if cell is None or cell != cell else str(cell)[:10] for cell in row)

    given = {written((round(a, 6), *rest)) for a, *rest in X.astype(object).to_numpy()}
    found = {written((a if a is None else round(a, 6), *rest)) for a, *rest in table.X}
    assert found == given


def test_summary_is_what_the_attributes_say(mixed) -> None:
    _, y, model = mixed
    summary = model.summary()
    text = repr(summary)
    assert f"60 rows, 4 inputs; the class is healthy ({sum(y == 'healthy')} rows), sick" in text
    assert f"error {100 * model.expected_error_:.1f} % (± {100 * model.expected_error_se_:.1f})" in text
    assert f"log-loss {model.expected_log_loss_:.3f}" in text
    recall = held_out_report(model, y).scores["sick"].recall
    assert f"sensitivity {100 * recall:.1f} % (rows of sick found)" in text
    assert "note: " in text  # how dates were taken
    assert summary.to_dict()["influences"].keys() == set(summary.relevances)
    other = model.summary(positive_class="healthy")
    assert f"specificity {100 * recall:.1f} % (rows of sick spared)" in repr(other)
    with pytest.raises(InvalidInputError, match="positive_class is 'ill'; expected one of the classes"):
        model.summary(positive_class="ill")


def test_notebooks_show_it_below_the_diagram(mixed) -> None:
    model = mixed[-1]
    html = model._repr_mimebundle_()["text/html"]
    assert "sk-container" in html
    assert "sk-container" in model._repr_html_()
    assert f"{100 * model.expected_error_:.1f} %" in html
    assert "size" in html.split("shuffled")[1]
    assert "expected on new data" not in TunedSVC()._repr_mimebundle_()["text/html"]
    assert "sk-container" in make_pipeline(StandardScaler(), model)._repr_html_()


def test_names_of_classes_and_columns_are_text_in_notebooks() -> None:
    X = pd.DataFrame({"<b>u</b>": np.r_[np.arange(10.0), np.arange(30.0, 40.0)]})
    model = TunedSVC(ard=0, random_state=0).fit(X, np.repeat(["<script>", "b"], 10))
    html = model.summary()._repr_html_()
    assert "<script>" not in html
    assert "<b>" not in html


def test_report_from_python_is_a_whole_page(mixed, tmp_path: Path) -> None:
    model = mixed[-1]
    path = model.report(tmp_path / "report.html", positive_class="healthy", title="Frogs", plots="svg")
    page = path.read_text(encoding="utf-8")
    check_page(page)
    for words in ("<h1>Frogs</h1>", "Which inputs matter", "What columns do", "to find 95 % of healthy", "colour"):
        assert words in page
    pictures = sorted(file.name for file in (tmp_path / "report-plots").iterdir())
    assert pictures[0] == "01-what-the-decision-looks-like.svg"
    assert len(pictures) == page.count("<figure>")
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops").report(
        tmp_path / "again.html", positive_class="healthy", title="Frogs"
    )
    assert again.read_text(encoding="utf-8") == page


def test_a_model_that_left_no_row_out_says_so(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = TunedSVC(0, subset=40, rank=20, predictor="svm", random_state=0).fit(X, X[:, 0] > 0)
    assert math.isnan(model.expected_error_)
    assert "expected on new data: no row could be left out" in repr(model.summary())
    assert "Rows to look at again" not in model.report(tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_classical_svm_is_reported_without_contributions(tmp_path: Path) -> None:
    X = np.r_[np.arange(15.0), np.arange(10.0, 25.0)][:, None]
    model = TunedSVC(ard=0, predictor="svm", random_state=0).fit(X, np.repeat([0, 1], 15))
    page = model.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "What columns do" not in page
    assert "How far to trust it" in page


def test_any_class_can_be_the_one_that_is_meant() -> None:
    X, y = load_iris(return_X_y=True)
    model = TunedSVC(ard=0, random_state=0).fit(X, y)
    point = operating_points(model, y, positive_class=2)[0]
    report = held_out_report(model, y)
    right = report.codes == 2
    assert point.sensitivity.value == pytest.approx(report.scores[2].recall)
    others = report.copies[~right & (report.predicted != 2)].sum() / report.copies[~right].sum()
    assert point.specificity.value == pytest.approx(others)
    with pytest.raises(InvalidInputError, match="positive_class is not given, and there are 3 classes"):
        operating_points(model, y)
    p = model.predict_proba(X)
    display = ReliabilityDisplay.from_predictions(y, p, positive_class=0, n_bins=4)
    assert display.event == "class 0"
    assert np.nansum(display.observed * display.counts) == pytest.approx(50)
    assert display.enough(100).sum() < display.enough().sum()
