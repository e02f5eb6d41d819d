"""TunedSVC on so many rows that cells of the inputs have inducing inputs of their own."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from marginwise import TunedSVC, compact
from marginwise.errors import InvalidInputError
from marginwise.export import to_json
from marginwise.fitting.rank import _some_rows, cell_sizes
from marginwise.fitting.schedule import SCHEDULE
from marginwise.multiclass.cell_predictor import CellClassPredictor

SMALL = {"exact_rows": 100, "near_rows": 100, "wide_rows": 300, "wide_local": 40, "local_numbers": 0}
CELLS = {"cell_rows": 150, "cell_features": 40, "least_cells": 2, "tuning_rank": 16}


def waves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels that turn over many times: more than few inducing inputs can follow."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 2))
    odds = 4.0 * np.sin(6.0 * X[:, 0]) * np.sin(6.0 * X[:, 1])
    return X, (rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-odds))).astype(int)


TABLE = waves(900, 0)


def fitted(*table: np.ndarray) -> TunedSVC:
    return TunedSVC(0.3, random_state=0).fit(*table)


@pytest.fixture
def model(schedule) -> TunedSVC:
    schedule(**SMALL, **CELLS)
    return fitted(*TABLE)


def test_sizes_keep_within_bounds() -> None:
    for n in (10_000, 300_000, 10**6, 10**7, 10**8):
        features, number = cell_sizes(n)
        assert number * features**2 <= SCHEDULE.cell_numbers
        assert features**2 * n <= max(SCHEDULE.cell_pass_cost, SCHEDULE.tuning_rank**2 * n)
        assert number * SCHEDULE.cell_rows <= n


def test_rows_for_inducing_inputs_do_not_depend_on_the_order() -> None:
    X, order = TABLE[0], np.random.default_rng(1).permutation(len(TABLE[0]))
    some = _some_rows(X, len(X), 200, 3)
    np.testing.assert_array_equal(some, _some_rows(X[order], len(X), 200, 3))
    assert 150 < len(some) < 250
    assert len(_some_rows(X, len(X), 5000, 3)) == len(X)


def test_cells_know_more_than_shared_inducing_inputs(model: TunedSVC, schedule) -> None:
    one = model.ensemble_.main.few_points
    assert isinstance(one, CellClassPredictor)
    assert len(one.parts) == 6
    assert len(one.inducing) == 20
    assert model.ensemble_.n_points == 40
    X_new, y_new = waves(2000, 1)
    schedule(least_cells=7, feature_numbers=0)  # no cells, and as few inducing inputs as there may be
    low_rank = fitted(*TABLE)
    assert not isinstance(low_rank.ensemble_.main.few_points, CellClassPredictor)
    losses = [-np.log(one.predict_proba(X_new)[np.arange(2000), y_new]).mean() for one in (model, low_rank)]
    assert losses[0] < losses[1] - 0.02
    assert model.expected_log_loss_ == pytest.approx(losses[0], abs=0.05)


def test_all_that_a_model_says_is_there(model: TunedSVC) -> None:
    X_new = waves(50, 2)[0]
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert sum(model.term_shares_.values()) == pytest.approx(1.0)
    mean, _ = model.latent_mean_and_variance(X_new)
    explanation = model.explain(X_new)
    np.testing.assert_allclose(explanation.base_values + explanation.values.sum(axis=1), mean, atol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X_new), model.predict_proba(X_new))


def test_it_survives_a_model_file(model: TunedSVC, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    from marginwise.saving import load_model, save_model

    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict_proba(TABLE[0]), model.predict_proba(TABLE[0]))


def test_rows_that_come_later_are_learnt_in_the_same_cells(schedule) -> None:
    schedule(**SMALL, **CELLS)
    model = TunedSVC(0.3, subset=None, random_state=0).fit(*TABLE)
    before = model.ensemble_.main.few_points
    model.update(*waves(300, 4))
    after = model.ensemble_.main.few_points
    assert after.cells is before.cells
    assert not np.array_equal(after.parts[0].coefficients, before.parts[0].coefficients)


def test_forms_that_it_does_not_have_are_refused(model: TunedSVC) -> None:
    with pytest.raises(InvalidInputError, match="inducing inputs in cells"):
        compact(model)
    with pytest.raises(InvalidInputError, match="cells of rows, which have no JSON form"):
        to_json(model)


def test_classes_with_an_order_and_groups_do_without(schedule) -> None:
    schedule(**SMALL, **CELLS)
    X, y = TABLE
    grouped = TunedSVC(0.3, random_state=0).fit(X, y, groups=np.arange(900) // 3)
    assert not isinstance(grouped.ensemble_.main.few_points, CellClassPredictor)
