"""Kinds of doubt against sampled latent functions, and strangers against what is known of rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from marginwise import TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.fitting.doubt import _averages, _entropy
from marginwise.fitting.novelty import forgetting, surroundings
from marginwise.kernels import RBF, Blend, Constant, Linear

pytestmark = pytest.mark.filterwarnings(
    "ignore::marginwise.errors.ConvergenceWarning", "ignore::marginwise.errors.TableWarning"
)


def fitted(n_classes: int, n: int = 80) -> tuple[TunedSVC, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + 0.5 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return TunedSVC(ard=0, random_state=0).fit(X, y), X


@pytest.mark.parametrize("n_classes", [2, 4])
def test_averages_against_many_draws(n_classes: int) -> None:
    model, X = fitted(n_classes)
    rng = np.random.default_rng(1)
    for one, (mean, variance) in model.ensemble_._moments(model._encoding(X[:3])):
        p, entropy = _averages(one, mean, variance)
        spread = np.sqrt(one.blurring(variance))
        for i in range(3):
            draws = rng.normal(size=(20_000, one.n_functions))
            if mean.ndim == 1:
                f = mean[i] + spread[i] * draws[:, 0]
            else:
                f = mean[i] + spread[i] * (draws if one.n_functions > 1 else draws * [-1.0, 1.0])
            sampled = np.exp(one.log_proba_of(f, np.full(len(f), 1e-12)))
            np.testing.assert_allclose(p[i], sampled.mean(axis=0), atol=0.015)
            np.testing.assert_allclose(entropy[i], _entropy(sampled).mean(), atol=0.02)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_latent_functions_blur_labels_as_predictions_do(n_classes: int) -> None:
    model, X = fitted(n_classes)
    moments = list(model.ensemble_._moments(model._encoding(X)))
    blurred = sum(w * _averages(one, *m)[0] for w, (one, m) in zip(model.ensemble_.weights, moments, strict=True))
    np.testing.assert_allclose(blurred, model.predict_proba(X), atol=0.02)


def test_parts_of_the_doubt() -> None:
    """Noise where labels overlap, ignorance where there are no rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 1))
    y = np.where(X[:, 0] < 0, rng.random(300) < 0.5, True)  # a coin on the left, certain on the right
    model = TunedSVC(ard=0, kernel="rbf", random_state=0).fit(X, y)
    found = model.doubt([[-0.5], [0.7], [30.0]])
    np.testing.assert_allclose(found.total, found.noise + found.ignorance)
    assert (found.ignorance >= 0).all()
    assert found.noise[0] > 0.9
    assert found.total[1] < 0.5
    assert found.ignorance[2] > 3 * found.ignorance[0]
    more = TunedSVC(ard=0, kernel="rbf", random_state=0).fit(X[:40], y[:40]).doubt([[-0.5]])
    assert more.ignorance[0] > found.ignorance[0]  # fewer rows, more ignorance


def test_left_out_shares_against_leaving_out(rng: np.random.Generator) -> None:
    kernel, X = Blend(1.0, 0.1, 1.0, 0.5, 2.0), rng.normal(size=(12, 3))
    all_rows = surroundings(kernel, X, np.ones(12))
    for i in range(12):
        without = surroundings(kernel, np.delete(X, i, axis=0), np.ones(11))
        np.testing.assert_allclose(all_rows.left_out[i], without.share(X[i : i + 1])[0], atol=1e-10)
    assert all_rows.share(X).max() < 0.05  # they know themselves
    np.testing.assert_allclose(all_rows.share(X + 100.0), 1.0)


def test_terms_that_reach_everywhere_do_not_count() -> None:
    blend = forgetting(Blend(1.0, 0.1, 5.0, 0.5, 2.0, k2=0.3), 2)
    assert [term.shape for term in blend.terms] == ["smooth", "stepwise", "additive"]
    lines = forgetting(Linear(1.0, (1.0, 4.0)) + Constant(1.0), 2)
    assert isinstance(lines, RBF)
    assert forgetting(RBF(2.0) + Constant(1.0), 2) == RBF(2.0)


def test_the_threshold_leaves_out_a_share() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    model = TunedSVC(ard=0, random_state=0).fit(X[:300], X[:300, 0] > 0)
    novelty = model.novelty(X[300:], share=0.05)
    assert 0.02 < novelty.strange.mean() < 0.09
    assert model.novelty(X[300:] + 6.0).strange.all()
    far = X[300:] * 3.0
    assert roc_auc_score(np.repeat([0, 1], 400), model.novelty(np.vstack([X[300:], far])).share) > 0.9
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        model.novelty(X, share=1.0)


def test_rows_with_words_and_gaps() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice(["a", "b"], 60), rng.normal(size=60).round(2)]).astype(object)
    model = TunedSVC(ard=0, random_state=0).fit(X, X[:, 0] == "a")
    rows = np.array([["a", None], ["never seen", 50.0], ["b", 0.1]], dtype=object)
    novelty = model.novelty(rows)
    assert novelty.strange.tolist() == [False, True, False]
    assert model.doubt(rows).total.shape == (3,)
