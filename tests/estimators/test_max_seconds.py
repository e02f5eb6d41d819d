"""A limit on the seconds of a fit: what was found by then is judged, trained, and said to be unfinished."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from marginwise import TunedSVC
from marginwise.errors import ConvergenceWarning, InvalidInputError
from tiers import with_slow

X = np.random.default_rng(0).normal(size=(2000, 4))
Y = np.where(X[:, 0] + X[:, 1] ** 2 > 1, "ill", "well")
FEW = slice(120)

#: Few rows, more classes, given spreads, few rows of many columns, and rows so many that there are no folds.
TABLES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "few": (X[FEW], Y[FEW], {}),
    "three": (X[FEW], np.digitize(X[FEW, 0], [-0.5, 0.5]), {}),
    "ard": (X[FEW], Y[FEW], {"ard": 0.5}),
    "screened": (np.random.default_rng(1).normal(size=(40, 60)), np.arange(40) % 2, {}),
    "svm": (X[FEW], Y[FEW], {"predictor": "svm"}),
    "mean": (X[FEW], Y[FEW], {"restarts": 1, "combine": "mean"}),
    "many": (X, Y, {}),
}


@pytest.mark.parametrize("table", with_slow(TABLES, {"svm", "many"}))
def test_no_time_leaves_one_evaluation_and_a_whole_model(table: str) -> None:
    rows, labels, options = TABLES[table]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = TunedSVC(max_seconds=1e-9, random_state=0, **options).fit(rows, labels)
    said = [str(one.message) for one in caught if one.category is ConvergenceWarning]
    assert any(message.startswith("max_seconds was used up") for message in said)
    assert all(len(member.tuning.trace) == 1 for member in model.ensemble_.members)
    assert len({member.tuning for member in model.ensemble_.members}) == 1
    assert model.ensemble_.weights.sum() == pytest.approx(1.0)
    assert np.isfinite(model.expected_log_loss_)
    np.testing.assert_allclose(model.predict_proba(rows[:50]).sum(axis=1), 1.0)


def test_enough_time_changes_nothing() -> None:
    rows, labels = X[FEW], Y[FEW]
    free, limited = (TunedSVC(max_seconds=s, random_state=0).fit(rows, labels) for s in (None, 1e6))
    np.testing.assert_array_equal(free.predict_proba(X), limited.predict_proba(X))


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), "60", True])
def test_other_values_are_refused(seconds: Any) -> None:
    with pytest.raises(InvalidInputError, match="max_seconds"):
        TunedSVC(max_seconds=seconds).fit(X[FEW], Y[FEW])
