"""Exact Shapley values of fitted models, against all coalitions of the columns of the user's table."""

from __future__ import annotations

import numpy as np
import pytest

from coalitions import enumerated
from marginwise import MarginSVC, TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.inspection import explain
from marginwise.kernels import RBF, AdditiveLaplacian, Blend, Constant, Laplacian, Linear

EVERY_TERM = Blend(1.0, 0.1, 1.0, 1.0, 3.0, k2=1.0, lam2=2.0)


def table(n: int, n_classes: int, *, words: bool, gaps: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return four columns of numbers, and two of words, with gaps or without."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(2).astype(object)
    score = X[:, 0].astype(float) * X[:, 1].astype(float) + X[:, 2].astype(float)
    if words:
        kinds = rng.choice(["red", "green", "blue"], n)
        X = np.column_stack([X, kinds, rng.choice(["yes", "no"], n)])
        score = score + (kinds == "red")
    if gaps:
        X[rng.random(n) < 0.2, 1] = np.nan
        if words:
            X[rng.random(n) < 0.2, 4] = None
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return X if words else X.astype(float), y


def coalition_values(model, row: np.ndarray, background: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Shapley values, interactions and base value from predictions of rows with exchanged cells."""

    def value(S: np.ndarray) -> np.ndarray:
        return model.latent_mean_and_variance(np.where(S, row, background))[0].mean(axis=0)

    first, pairs = enumerated(value, len(row))
    return first, pairs, value(np.zeros(len(row), dtype=bool))


CASES = {
    "numbers": (2, {}, {}),
    "every term": (2, {"kernel": EVERY_TERM, "ard": 1.0}, {}),
    "words and gaps": (2, {"kernel": EVERY_TERM}, {"words": True, "gaps": True}),
    "five classes": (5, {"ard": 0}, {"words": True, "gaps": True}),
    "low rank": (2, {"rank": 12, "subset": None, "ard": 0}, {"words": True}),
    "low rank, five classes": (5, {"rank": 12, "subset": None, "ard": 0}, {}),
    "a sum of kernels": (2, {"kernel": RBF() + Laplacian() + Linear() + AdditiveLaplacian() + Constant()}, {}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning", "ignore::marginwise.errors.TableWarning")
def test_against_all_coalitions(case: str) -> None:
    n_classes, settings, kind = CASES[case]
    kind = {"words": False, "gaps": False} | kind
    X, y = table(70, n_classes, **kind)
    settings = {"ard": 0} | settings
    model = TunedSVC(random_state=0, max_evaluations=8, **settings).fit(X, y)
    rows, background = X[:2].copy(), X[10:13]
    rows[1, 3] = np.nan  # a gap where training had none
    found = explain(model, rows, background, interactions=True)
    off = ~np.eye(X.shape[1], dtype=bool)
    for i, row in enumerate(rows):
        first, pairs, base = coalition_values(model, row, background)
        np.testing.assert_allclose(found.values[i], first, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.interactions[i][off], 0.5 * pairs[off], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.base_values[i], base, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.interactions.sum(axis=2), found.values, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.latent, model.latent_mean_and_variance(rows)[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning", "ignore::marginwise.errors.TableWarning")
def test_local_blocks_are_explained_by_the_function_of_the_rows_own_block(n_classes: int, schedule) -> None:
    schedule(exact_rows=60)
    X, y = table(240, n_classes, words=True, gaps=True)
    model = TunedSVC(ard=0, random_state=0, max_evaluations=6).fit(X, y)
    assert model.ensemble_.main.partition is not None
    found = explain(model, X[:3], X[20:22])
    np.testing.assert_allclose(found.latent, model.latent_mean_and_variance(X[:3])[0], rtol=0, atol=1e-9)
    encode = lambda rows: model._encoding(model._encoding.filled(model._cells(rows))[0])  # noqa: E731
    for i, row in enumerate(X[:3]):
        parts = [function for _, function in model.ensemble_.description.latent_expansions(encode(row[None]))]

        def value(S: np.ndarray, parts=parts, row=row) -> np.ndarray:
            return sum(part(encode(np.where(S, row, X[20:22]))).mean(axis=0) for part in parts)

        first, _ = enumerated(value, X.shape[1])
        np.testing.assert_allclose(found.values[i].reshape(first.shape), first, rtol=0, atol=1e-9)


def test_screened_columns_alone_contribute() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 200))
    y = X[:, 3] + X[:, 7] > 0
    model = TunedSVC(random_state=0).fit(X, y)
    assert any(member.view is not None for member in model.ensemble_.members)
    found = explain(model, X[:5])
    np.testing.assert_allclose(found.latent, model.latent_mean_and_variance(X[:5])[0], rtol=0, atol=1e-9)
    if all(member.view is not None for member in model.ensemble_.members):
        assert (found.values == 0.0).all(axis=0).sum() > 100


@pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning", "ignore::marginwise.errors.TableWarning")
def test_adds_up_with_a_hundred_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 100))
    model = TunedSVC(ard=0, kernel=EVERY_TERM, random_state=0, max_evaluations=8).fit(X, X[:, 0] + X[:, 1] > 0)
    found = model.explain(X[:4])
    np.testing.assert_allclose(found.latent, model.latent_mean_and_variance(X[:4])[0], rtol=0, atol=1e-9)


def test_a_column_without_effect_and_equal_columns() -> None:
    """Shapley's axioms, on a model of two copies of one column and one that never changes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    X = np.column_stack([x, x, np.ones(80)])
    found = TunedSVC(ard=0, random_state=0).fit(X, x > 0).explain(X[:6])
    np.testing.assert_allclose(found.values[:, 0], found.values[:, 1], rtol=0, atol=1e-12)
    assert (found.values[:, 2] == 0.0).all()
    np.testing.assert_allclose(found.base_values, found.base_values[0])


def test_parts_of_an_explanation() -> None:
    X, y = table(60, 3, words=False, gaps=False)
    found = TunedSVC(ard=0, random_state=0).fit(X, y).explain(X[:5], X[:1], interactions=True)
    assert (found.values.shape, found.base_values.shape) == ((5, 4, 3), (5, 3))
    one = found.of_class(2)[1:3]
    assert (one.values.shape, one.interactions.shape) == ((2, 4), (2, 4, 4))
    np.testing.assert_array_equal(one.data, X[1:3])
    np.testing.assert_allclose(found.values[0], 0.0, atol=1e-12)  # the background row itself
    with pytest.raises(InvalidInputError, match="class to look at"):
        found.one_function()
    with pytest.raises(InvalidInputError, match="one of the classes"):
        found.of_class("red")
    two = TunedSVC(ard=0, random_state=0).fit(X, y > 0).explain(X[:2])
    np.testing.assert_array_equal(two.of_class(False).values, -two.values)
    assert two.one_function() is two


def test_what_cannot_be_explained() -> None:
    X, y = table(40, 2, words=False, gaps=False)
    with pytest.raises(InvalidInputError, match="a fitted TunedSVC"):
        explain(MarginSVC().fit(X, y), X)
    model = TunedSVC(ard=0, criterion="ls-loo", random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match='predictor="posterior"'):
        model.set_params(predictor="svm").explain(X)


def test_rows_must_be_in_memory() -> None:
    dask_array = pytest.importorskip("dask.array")
    X, y = table(40, 2, words=False, gaps=False)
    model = TunedSVC(ard=0, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="compute"):
        model.explain(dask_array.from_array(X, chunks=20))


def test_shap_takes_it() -> None:
    shap = pytest.importorskip("shap")
    X, y = table(60, 2, words=False, gaps=False)
    made = TunedSVC(ard=0, random_state=0).fit(X, y).explain(X[:5]).to_shap()
    assert isinstance(made, shap.Explanation)
    assert made.shape == (5, 4)
