"""What a report tells of held-out examples is what the model tells."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from marginwise import TunedSVC
from marginwise.cli.fit_report import HeldOutRows

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.TableWarning"),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"freedom": 0.0}, {"freedom": 0.0, "subset": 60}])
def test_confusion_counts_the_rows_of_the_table(n_classes: int, options: dict) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 2 - n_classes, :2], y[y > 2 - n_classes]  # several rows are repeated
    assert len(np.unique(np.c_[X, y], axis=0)) < len(y)
    model = TunedSVC(**options, random_state=0).fit(X, y)
    held_out = HeldOutRows.of(model, X, y)
    counts = held_out.confusion()
    np.testing.assert_allclose(counts.sum(axis=1), np.unique(y, return_counts=True)[1])
    assert 1 - np.trace(counts) / len(y) == pytest.approx(model.loo_error_)
    own = held_out.probability[np.arange(len(held_out.codes)), held_out.codes]
    assert -held_out.weights @ np.log(own) / len(y) == pytest.approx(model.loo_log_loss_)
    display = held_out.reliability("class 2")
    assert display.counts.sum() == pytest.approx(len(y))
    happened = counts[1].sum() if n_classes == 2 else np.trace(counts)
    assert np.nansum(display.observed * display.counts) == pytest.approx(happened)
