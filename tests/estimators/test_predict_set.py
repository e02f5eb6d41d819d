"""Sets of labels: the threshold against its definition, and coverage on new rows."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise import TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.estimators._sets import Conformity, _factor, conformities, label_sets


@pytest.mark.parametrize("n", [5, 19, 20, 100, 7000])
@pytest.mark.parametrize("coverage", [0.5, 0.9, 0.95])
def test_threshold_is_an_order_statistic(n: int, coverage: float, rng: np.random.Generator) -> None:
    own = rng.random(n)
    k = int(np.floor((1 - coverage) * (n + 1) + 1e-9))
    expected = np.sort(own)[k - 1] if k > 0 else 0.0
    found = Conformity.of(own, np.full(n, 2.0)).threshold(coverage)
    assert found == expected if n < 5000 else 0.0 <= expected - found < 1e-3


def test_weights_are_copies(rng: np.random.Generator) -> None:
    own, counts = rng.random(50), rng.integers(1, 4, 50)
    weighted, copied = (
        Conformity.of(own, counts.astype(float)),
        Conformity.of(np.repeat(own, counts), np.ones(counts.sum())),
    )
    for coverage in (0.6, 0.8, 0.9):
        assert (
            abs(
                np.searchsorted(np.sort(own), weighted.threshold(coverage))
                - np.searchsorted(np.sort(own), copied.threshold(coverage))
            )
            <= 1
        )


def test_exchangeable_scores_are_covered_as_promised(rng: np.random.Generator) -> None:
    """Of n + 1 exchangeable scores the last is covered with at least the probability asked for, and hardly more."""
    covered = []
    for _ in range(4000):
        own = rng.random(40)
        covered.append(own[-1] >= Conformity.of(own[:-1], np.ones(39)).threshold(0.9))
    assert 0.885 < np.mean(covered) < 0.915


def test_sets_are_never_empty_and_grow_with_coverage() -> None:
    conformity = Conformity.of(np.linspace(0.4, 1.0, 99), np.ones(99))
    proba = np.array([[0.5, 0.3, 0.2], [0.34, 0.33, 0.33], [0.05, 0.05, 0.9]])
    assert label_sets(proba, [conformity], 0.5).tolist() == [
        [True, False, False],
        [True, False, False],
        [False, False, True],
    ]
    assert label_sets(proba, [conformity], 0.995).all()
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        label_sets(proba, [conformity], 1.0)
    with pytest.raises(InvalidInputError, match="no held-out"):
        label_sets(proba, [], 0.9)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_coverage_on_new_rows(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2200, 3))
    score = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=2200)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    model = TunedSVC(ard=0, random_state=0).fit(X[:200], y[:200])
    sets = model.predict_set(X[200:])
    assert sets.shape == (2000, n_classes)
    covered = sets[np.arange(2000), y[200:]].mean()
    assert 0.85 < covered < 0.95
    assert sets.sum(axis=1).mean() < 0.9 * n_classes


def test_folds_are_made_as_sure_as_the_model_itself(rng: np.random.Generator) -> None:
    logs = rng.normal(size=(50, 3))
    weights = np.ones(50)
    assert _factor(logs, 2.0 * logs, weights) == pytest.approx(2.0, abs=0.01)
    assert _factor(logs, 0.5 * logs, weights) == 1.0  # never less sure
    assert _factor(logs, 100.0 * logs, weights) == 4.0
    codes = rng.integers(0, 3, 50)
    first, second = conformities(logs, 2.0 * logs, codes, weights)
    assert first.threshold(0.8) == pytest.approx(second.threshold(0.8), abs=0.01)
    assert conformities(logs[:0], None, codes[:0], weights[:0]) == ()
