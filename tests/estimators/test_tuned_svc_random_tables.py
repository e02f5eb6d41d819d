"""No table, however odd, gives NaN, a crash or an error that does not say what is wrong."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marginwise import MarginSVC, TunedSVC
from marginwise.errors import ConvergenceWarning, TableWarning

#: What a column of a table may look like; each takes a generator and the number of rows.
COLUMNS: dict[str, Any] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "constant": lambda rng, n: np.full(n, rng.normal()),
    "zero": lambda rng, n: np.zeros(n),
    "two values": lambda rng, n: rng.integers(0, 2, size=n).astype(float),
    "few values": lambda rng, n: rng.integers(-2, 3, size=n).astype(float),
    "nearly constant": lambda rng, n: 1.0 + 1e-15 * rng.integers(0, 3, size=n),
    "one outlier": lambda rng, n: np.where(np.arange(n) == rng.integers(n), 1e12, rng.normal(size=n)),
    "heavy tails": lambda rng, n: rng.standard_cauchy(size=n) ** 3,
    "huge": lambda rng, n: 1e150 * rng.normal(size=n),
    "tiny": lambda rng, n: 1e-150 * rng.normal(size=n),
    "denormal": lambda rng, n: 1e-310 * rng.integers(0, 5, size=n),
    "near the limit": lambda rng, n: rng.choice([-1e300, 1e300, 0.0], size=n),
    "far off": lambda rng, n: 1e9 + rng.normal(size=n),
    "all orders": lambda rng, n: rng.choice([-1.0, 1.0], size=n) * 10.0 ** rng.uniform(-200, 200, size=n),
}

#: How labels follow, as class numbers, from the first column.
LABELS: dict[str, Any] = {
    "chance": lambda rng, first, k: rng.integers(0, k, size=len(first)),
    "by rank": lambda rng, first, k: np.argsort(np.argsort(first)) * k // len(first),
    "one of a kind": lambda rng, first, k: np.minimum(np.arange(len(first)), k - 1)[::-1],
    "alternating": lambda rng, first, k: np.arange(len(first)) % k,
}

WEIGHTS: dict[str, Any] = {
    "none": lambda rng, n: None,
    "counts": lambda rng, n: rng.integers(0, 4, size=n).astype(float),
    "fractions": lambda rng, n: rng.uniform(0.1, 2.0, size=n),
    "unequal": lambda rng, n: 10.0 ** rng.uniform(-3, 3, size=n),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.random.Generator]:
    """Return inputs, labels, weights, and a generator for new rows."""
    n = draw(st.integers(2, 24))
    columns = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = np.column_stack([COLUMNS[name](rng, n) for name in columns])
    if draw(st.booleans()):  # repeated rows, with equal and with opposite labels
        X = X[rng.integers(0, n, size=n)]
    y = LABELS[draw(st.sampled_from(sorted(LABELS)))](rng, X[:, 0], draw(st.integers(2, min(n, 4))))
    return X, y, WEIGHTS[draw(st.sampled_from(sorted(WEIGHTS)))](rng, n), rng


PARAMETERS = st.fixed_dictionaries(
    {
        "ard": st.sampled_from(["auto", 0, 0.3, 3.0]),
        "slack": st.sampled_from([None, "quadratic"]),
        "predictor": st.sampled_from(["posterior", "svm"]),
        "class_weight": st.sampled_from([None, "balanced"]),
        "validation_fraction": st.sampled_from([None, None, 0.3]),
        "max_evaluations": st.sampled_from([1, 5, 30]),
    }
)

#: The ways to refuse a table that cannot be learnt from, each of which says why.
REFUSALS = (
    "at least two classes",
    "weights that are not all zero",
    "expected a number from -1e+100 to 1e+100",
    "because a class has only one row",
    "0, or weights from",
)


def check(model: Any, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, new: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", TableWarning)
        try:
            model.fit(X, y, sample_weight=weights)
        except ValueError as error:
            assert any(reason in str(error) for reason in REFUSALS), error  # noqa: PT017
            return
    for rows in (X, new):
        decision = model.decision_function(rows)
        assert np.isfinite(decision).all()
        predicted = model.predict(rows)
        if not hasattr(model, "predict_proba"):
            continue
        probability = model.predict_proba(rows)
        assert ((probability >= 0) & (probability <= 1)).all()
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=1e-12)
        np.testing.assert_array_equal(predicted, model.classes_[probability.argmax(axis=1)])
        mean, variance = model.latent_mean_and_variance(rows)
        assert np.isfinite(mean).all()
        assert (variance > 0).all()
    if hasattr(model, "predict_proba"):
        for value in (model.C_, model.k0_, model.koff_):
            assert np.isfinite(value)
        assert np.isfinite(model.log_evidence_) == (model.ensemble_.main.labels == "slack")
        # A class too rare for folds leaves nothing to expect where length scales are free.
        assert np.isfinite(model.expected_log_loss_) or model.ard not in ("auto", 0) or model.predictor == "svm"
        assert 0.0 <= model.expected_error_ <= 1.0 or np.isnan(model.expected_log_loss_)
        assert model.feature_importances_.sum() == pytest.approx(1.0)


def new_rows(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows made of the table's numbers, of zeros, and of very large and the smallest numbers."""
    mixed = rng.permuted(X, axis=0)[:5]
    extremes = np.array([0.0, 1.0, -1e300, 1e300, 5e-324])[:, None] * np.ones(X.shape[1])
    return np.vstack([mixed, extremes])


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@given(table=tables(), parameters=PARAMETERS)
def test_every_table_gives_a_model_or_a_reason(table, parameters):
    X, y, weights, rng = table
    check(TunedSVC(random_state=0, **parameters), X, y, weights, new_rows(X, rng))


@settings(suppress_health_check=list(HealthCheck))
@given(table=tables(), C=st.sampled_from([1e-3, 1.0, 1e3]), slack=st.sampled_from(["linear", "quadratic"]))
def test_given_hyperparameters_do_as_well(table, C, slack):
    X, y, weights, rng = table
    X = np.clip(X, -1e100, 1e100)  # this estimator does not scale its inputs
    check(MarginSVC(C=C, slack=slack), X, y, weights, np.clip(new_rows(X, rng), -1e100, 1e100))
