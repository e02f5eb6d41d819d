"""Scores of predictions of classes with an order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from held_out_models import some_classes
from marginwise.inspection import held_out_report, order_scores

P = np.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.4, 0.2, 0.4]])


def test_the_ranked_probability_score_by_hand():
    found = order_scores(P, np.array([0, 1, 2]))
    by_hand = [(0.4**2 + 0.1**2) / 2, (0.1**2 + 0.7**2) / 2, (0.4**2 + 0.6**2) / 2]
    assert found.ranked_probability_score == pytest.approx(np.mean(by_hand))
    assert found.mean_absolute_error == pytest.approx(2.0 / 3.0)  # medians 0, 2, 1
    assert found.base_mean_absolute_error == pytest.approx(2.0 / 3.0)
    assert order_scores(np.eye(3)[[2]], np.array([0])).ranked_probability_score == 1.0


def test_of_two_classes_it_is_the_brier_score():
    p, places = np.array([0.3, 0.9, 0.6]), np.array([0, 1, 0])
    found = order_scores(np.column_stack([1 - p, p]), places)
    assert found.ranked_probability_score == pytest.approx(np.mean((p - places) ** 2))


def test_the_truth_has_the_lowest_score():
    """It is proper: of all forecasts that which draws come from is best."""
    rng = np.random.default_rng(0)
    places = rng.choice(3, size=20000, p=P[0])
    scores = [order_scores(np.tile(p, (20000, 1)), places).ranked_probability_score for p in (P[0], P[1], P[2])]
    assert scores[0] == min(scores)
    assert scores[0] == pytest.approx(
        order_scores(np.tile(P[0], (20000, 1)), places).base_ranked_probability_score, abs=1e-3
    )


def test_weights_are_copies():
    places, counts = np.array([0, 1, 2]), np.array([1.0, 3.0, 2.0])
    one = order_scores(P, places, counts)
    assert one == pytest.approx(order_scores(np.repeat(P, [1, 3, 2], axis=0), np.repeat(places, [1, 3, 2])))


def test_reports_know_the_order_of_a_model():
    model = some_classes(4)
    assert held_out_report(model, model.y).order_scores is None
    model.class_order_ = model.classes_[[2, 0, 3, 1]]
    report = held_out_report(model, model.y)
    assert report.order.tolist() == [2, 0, 3, 1]
    sorted_columns = report.probability[:, [2, 0, 3, 1]]
    expected = order_scores(sorted_columns, np.array([1, 3, 0, 2])[report.codes], report.copies)
    assert report.order_scores == expected
    assert replace(report, order=None).order_scores is None
