"""A curve for each column: the richer form of the kernel, where the first search gains by it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from marginwise import TunedSVC


def curves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Many columns, each with a curve of its own: the row's distance from the middle."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.0, 1.0, size=(n, 20))
    return X, ((X**2).sum(axis=1) + 0.1 * rng.normal(size=n) > 20 / 3).astype(int)


def ripples(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (np.sin(3.0 * X[:, 0] * X[:, 1]) > 0).astype(int)


def terms(model: TunedSVC) -> set[str]:
    return {name for member in model.ensemble_.members for name in member.candidate.start.kernel.names}


@pytest.mark.parametrize(("table", "wanted"), [(curves, True), (ripples, False)])
def test_curves_are_there_where_the_first_search_gains_by_them(schedule, table, wanted):
    schedule(additive_from=100)
    X, y = table(220, 0)
    model = TunedSVC(0.0, random_state=0).fit(X, y)
    assert ("k2" in terms(model)) == wanted
    schedule(additive_from=1000)
    simple = TunedSVC(0.0, random_state=0).fit(X, y)
    assert "k2" not in terms(simple)
    Z, z = table(2000, 1)
    if wanted:
        assert log_loss(z, model.predict_proba(Z)) < log_loss(z, simple.predict_proba(Z)) - 0.001
    else:
        np.testing.assert_allclose(model.predict_proba(Z), simple.predict_proba(Z), atol=1e-12)


def test_other_kernels_and_criteria_have_no_further_terms(schedule):
    schedule(additive_from=10)
    X, y = curves(60, 2)
    for options in ({"kernel": "rbf"}, {"criterion": "span"}, {"predictor": "svm"}):
        assert "k2" not in terms(TunedSVC(0.0, random_state=0, **options).fit(X, y)), options


def test_what_is_gained_has_to_be_more_than_the_threshold(schedule):
    X, y = curves(220, 0)
    schedule(additive_from=100, additive_gain=np.inf)
    assert "k2" not in terms(TunedSVC(0.0, random_state=0).fit(X, y))
