"""Sensitivity, specificity and their thresholds against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, roc_auc_score

from marginwise.cli.held_out import HeldOutRows
from marginwise.cli.two_classes import Share, operating_points


def made_up(strength: float = 1.5, n: int = 500) -> HeldOutRows:
    rng = np.random.default_rng(0)
    codes = (rng.uniform(size=n) < 0.3).astype(int)
    p = 1 / (1 + np.exp(1 - strength * (2 * codes - 1) - rng.normal(size=n)))
    copies = rng.integers(1, 4, n)
    return HeldOutRows(np.c_[1 - p, p], codes, copies.astype(float), np.repeat(np.arange(n), copies))


@pytest.mark.parametrize("strength", [0.0, 1.5, 20.0])
def test_points_are_those_of_the_repeated_rows(strength: float) -> None:
    rows = made_up(strength)
    true, p = rows.codes[rows.examples], rows.probability[rows.examples, 1]
    points = operating_points(rows)
    assert points[0].threshold == 0.5
    for point in points:
        (tn, fp), (fn, tp) = confusion_matrix(true, p >= point.threshold)
        assert point.sensitivity is not None
        assert point.specificity is not None
        assert point.sensitivity.value == pytest.approx(tp / (tp + fn))
        assert point.specificity.value == pytest.approx(tn / (tn + fp))
        assert point.positive is None if tp + fp == 0 else point.positive.value == pytest.approx(tp / (tp + fp))
        assert point.negative is None if tn + fn == 0 else point.negative.value == pytest.approx(tn / (tn + fn))
    assert rows.scores[1].auc == pytest.approx(roc_auc_score(true, p))


def test_thresholds_reach_what_they_promise_and_no_more() -> None:
    rows = made_up()
    p, ill, w = rows.probability[:, 1], rows.codes == 1, rows.weights
    _, sensitive, specific = (point.threshold for point in operating_points(rows))
    share = [w[ill & (p >= t)].sum() / w[ill].sum() for t in np.sort(p)]
    assert sensitive == max(t for t, s in zip(np.sort(p), share, strict=True) if s >= 0.95)
    share = [w[~ill & (p < t)].sum() / w[~ill].sum() for t in np.sort(p)]
    # Between two probabilities nothing changes but for rows of the other class: the curve's own corners count.
    assert w[~ill & (p < specific)].sum() / w[~ill].sum() >= 0.95
    assert specific == min(t for t, s in zip(np.sort(p), share, strict=True) if s >= 0.95)


def test_intervals_hold_the_truth_as_often_as_they_say(rng: np.random.Generator) -> None:
    for share, n in ((0.5, 40), (0.9, 60), (0.03, 200)):
        found = rng.binomial(n, share, size=4000)
        intervals = [Share.of(k, n) for k in found]
        assert np.mean([one.low <= share <= one.high for one in intervals]) > 0.92
    assert Share.of(0, 0) is None
    assert Share.of(10, 10).high == 1.0
    assert Share.of(10, 10).low < 0.8
