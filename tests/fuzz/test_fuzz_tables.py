"""Tables as no user would make them on purpose: fitted with finite probabilities, or refused in words."""

from __future__ import annotations

import numpy as np
from trials import pick, run_cases

from marginwise import MarginSVC, TunedSVC, criterion_names
from marginwise.criteria import criterion_class


def column(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a column of some strange kind."""
    values = rng.normal(size=n)
    kind = pick(rng, "plain", "plain", "constant", "few", "integers", "scaled", "shifted", "outlier", "sparse", "tied")
    if kind == "constant":
        return np.full(n, pick(rng, 0.0, 1.0, -1e300, 5e-324, 1.7e308))
    if kind == "few":
        return rng.integers(0, 2, n).astype(float)
    if kind == "integers":
        return rng.integers(-(2**53), 2**53, n).astype(float)
    if kind == "scaled":
        return values * 10.0 ** rng.integers(-320, 308)
    if kind == "shifted":
        return values + 10.0 ** rng.integers(0, 20)
    if kind == "outlier":
        values[0] = pick(rng, 1e308, -1e15, 1e-308)
    if kind == "sparse":
        values[rng.random(n) < 0.9] = 0.0
    if kind == "tied":
        values[:] = np.round(values)
    return values


def labels(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    n, k = len(X), int(pick(rng, 2, 2, 2, 3, 4))
    codes = rng.integers(0, k, n) if rng.random() < 0.4 else np.argsort(np.argsort(X[:, 0])) * k // n
    if rng.random() < 0.1:
        codes[:] = 0
        codes[-1] = 1  # one row of a class
    names = pick(rng, np.arange(k), np.array(["a", "b", "ü", "d"])[:k], np.array([-1.0, 1.0, 2.0, 3.5])[:k])
    return names[codes]


def weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    kind = pick(rng, None, None, "counts", "fractions", "wide", "zeros", "large")
    if kind is None:
        return None
    if kind == "counts":
        return rng.integers(1, 5, n).astype(float)
    if kind == "fractions":
        return rng.uniform(0.1, 2.0, n)
    if kind == "wide":
        return 10.0 ** rng.uniform(-6, 6, n)
    if kind == "zeros":
        return rng.integers(0, 2, n).astype(float)
    return rng.integers(1, 10**6, n).astype(float)


def fitted_or_refused(rng: np.random.Generator) -> str:
    n, d = int(rng.integers(2, 30)), int(rng.integers(1, 5))
    X = np.column_stack([column(rng, n) for _ in range(d)])
    if rng.random() < 0.2:
        X = X[rng.integers(0, n, n)]  # rows that repeat
    if rng.random() < 0.03:
        X[0, 0] = pick(rng, np.nan, np.inf)
    y, w = labels(rng, X), weights(rng, n)
    model = estimator(rng)
    model.fit(X, y, sample_weight=w)
    new = np.vstack([X, -X, X * pick(rng, 0.0, 2.0, 1e10), np.full((1, d), pick(rng, 1.7e308, -1.7e308, 0.0))])
    new = np.where(np.isfinite(new), new, 0.0)
    assert np.isfinite(model.decision_function(new)).all()
    assert np.isin(model.predict(new), y).all()
    if isinstance(model, TunedSVC):
        probability = model.predict_proba(new)
        assert np.isfinite(probability).all()
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=1e-9)
        assert np.isfinite([model.expected_error_, model.expected_log_loss_]).all()
        assert np.isfinite(model.feature_importances_).all()
    return type(model).__name__


def estimator(rng: np.random.Generator) -> TunedSVC | MarginSVC:
    """Return an estimator with parameters of any kind; most are TunedSVC."""
    balanced = pick(rng, None, None, "balanced")
    if rng.random() < 0.2:
        numbers = 10.0 ** rng.uniform(-3, 3, 4)
        slack = pick(rng, "linear", "quadratic")
        return MarginSVC(*numbers, slack=slack, class_weight=balanced)
    criterion = pick(
        rng, *(["ep-loo"] * 8), *(name for name in criterion_names() if name.count("evidence") != 1 or "ep" in name)
    )
    slack = pick(rng, None, *criterion_class(criterion).slacks)
    return TunedSVC(
        pick(rng, 0.0, 0.0, 0.3, 1.0, "auto"),
        kernel=pick(rng, "auto", "rbf"),
        criterion=criterion,
        slack=slack,
        standardize=bool(rng.random() < 0.9),
        predictor=pick(rng, "posterior", "posterior", "svm"),
        class_weight=balanced,
        max_evaluations=int(pick(rng, 1, 2, 5)),
        random_state=int(rng.integers(100)),
    )


def test_strange_tables(full: bool) -> None:
    found = run_cases(10_000 if full else 25, fitted_or_refused)
    assert found["TunedSVC"] > 0.4 * found.total()
    assert found["refused"] < 0.4 * found.total()
