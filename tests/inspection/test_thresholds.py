"""Sensitivity, specificity and their thresholds against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, roc_auc_score

from held_out_models import Predicted, some_classes
from marginwise.errors import InvalidInputError
from marginwise.inspection import HeldOutReport, Proportion, held_out_report, operating_points
from marginwise.inspection.thresholds import _point


def made_up(strength: float = 1.5, n: int = 500) -> Predicted:
    rng = np.random.default_rng(0)
    codes = (rng.uniform(size=n) < 0.3).astype(int)
    p = 1 / (1 + np.exp(1 - strength * (2 * codes - 1) - rng.normal(size=n)))
    copies = rng.integers(1, 4, n)
    return Predicted(np.array(["no", "yes"]), np.c_[1 - p, p], codes, np.repeat(np.arange(n), copies))


@pytest.mark.parametrize("strength", [0.0, 1.5, 20.0])
def test_points_are_those_of_the_repeated_rows(strength: float) -> None:
    model = made_up(strength)
    true, p = model.y == "yes", model.held_out_proba_[:, 1]
    points = operating_points(model, model.y)
    assert points[0].threshold == 0.5
    for point in points:
        (tn, fp), (fn, tp) = confusion_matrix(true, p >= point.threshold)
        assert point.sensitivity is not None
        assert point.specificity is not None
        assert point.sensitivity.value == pytest.approx(tp / (tp + fn))
        assert point.specificity.value == pytest.approx(tn / (tn + fp))
        positive, negative = point.positive_predictive_value, point.negative_predictive_value
        assert positive is None if tp + fp == 0 else positive.value == pytest.approx(tp / (tp + fp))
        assert negative is None if tn + fn == 0 else negative.value == pytest.approx(tn / (tn + fn))
    assert held_out_report(model, model.y).scores["yes"].auc == pytest.approx(roc_auc_score(true, p))


def test_thresholds_reach_what_they_promise_and_no_more() -> None:
    model = made_up()
    p, ill, w = model.probability[:, 1], model.codes == 1, np.bincount(model.row_groups_)
    _, sensitive, specific = (point.threshold for point in operating_points(model, model.y))
    share = [w[ill & (p >= t)].sum() / w[ill].sum() for t in np.sort(p)]
    assert sensitive == max(t for t, s in zip(np.sort(p), share, strict=True) if s >= 0.95)
    share = [w[~ill & (p < t)].sum() / w[~ill].sum() for t in np.sort(p)]
    # Between two probabilities nothing changes but for rows of the other class: the curve's own corners count.
    assert w[~ill & (p < specific)].sum() / w[~ill].sum() >= 0.95
    assert specific == min(t for t, s in zip(np.sort(p), share, strict=True) if s >= 0.95)


def test_intervals_hold_the_truth_as_often_as_they_say(rng: np.random.Generator) -> None:
    for share, n in ((0.5, 40), (0.9, 60), (0.03, 200)):
        found = rng.binomial(n, share, size=4000)
        intervals = [Proportion.of(k, n) for k in found]
        assert np.mean([one.low <= share <= one.high for one in intervals]) > 0.92
    assert Proportion.of(0, 0) is None
    assert Proportion.of(10, 10).high == 1.0
    assert Proportion.of(10, 10).low < 0.8


def test_other_targets_are_reached() -> None:
    model = made_up()
    _, sensitive, specific = operating_points(model, model.y, target=0.8)
    assert 0.8 <= sensitive.sensitivity.value < 0.81
    assert 0.8 <= specific.specificity.value < 0.81


def test_what_cannot_be_asked_for() -> None:
    three = some_classes(3)
    with pytest.raises(InvalidInputError, match="positive_class is not given, and there are 3 classes"):
        operating_points(three, three.y)
    two = made_up()
    with pytest.raises(InvalidInputError, match=r"target is 1\.5"):
        operating_points(two, two.y, target=1.5)


def test_intervals_count_groups():
    """A table ten times over, in groups of the same row, has the intervals of the table, but for the errors' own."""
    rng = np.random.default_rng(0)
    p = rng.uniform(size=200)
    codes = (rng.uniform(size=200) < p).astype(int)
    columns = np.array(["no", "yes"]), np.column_stack([1.0 - p, p]), codes, np.ones(200), np.arange(200)
    again = [np.repeat(column, 10, axis=0) for column in columns[1:4]]
    once, rows, grouped = (
        _point(report, 1, 0.5, report.predicted == 1)
        for report in (
            HeldOutReport(*columns),
            HeldOutReport(columns[0], *again, np.arange(2000)),
            HeldOutReport(columns[0], *again, np.arange(2000), np.repeat(np.arange(200), 10)),
        )
    )
    for one, loose, own in zip(once[1:], rows[1:], grouped[1:], strict=True):
        assert loose.high - loose.low < 0.5 * (one.high - one.low)
        assert own.value == pytest.approx(one.value)
        assert own == pytest.approx(one, abs=0.003)
