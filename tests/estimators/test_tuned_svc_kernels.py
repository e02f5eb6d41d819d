"""TunedSVC with other kernels: what the default sees in data whose shape is known, and what a user may give."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from marginwise import MarginSVC, Prior, TunedSVC, load_model, save_model
from marginwise.errors import InvalidInputError
from marginwise.kernels import RBF, AdditiveLaplacian, Blend, Constant, Laplacian, Linear, Precomputed
from marginwise.plots import TermSharesDisplay
from periodic import Periodic

N = 250


def straight(X: np.ndarray) -> np.ndarray:
    return X[:, 0] - 0.7 * X[:, 1]


def smooth(X: np.ndarray) -> np.ndarray:
    return 0.5 * (np.sum(X**2, axis=1) - 4.35)  # the shell of a ball: no line, and along no axis


def stepwise(X: np.ndarray) -> np.ndarray:
    return np.where(X[:, 0] > 0.5, 1.0, np.where(X[:, 1] > 0.0, -1.0, np.where(X[:, 2] > -0.5, 0.6, -0.6)))


SHAPES = {"straight": straight, "smooth": smooth, "stepwise": stepwise}


def drawn(shape: str, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, len(shape)])
    X = rng.normal(size=(n, 5))
    return X, SHAPES[shape](X) + 0.5 * rng.normal(size=n) > 0


@pytest.fixture(scope="module")
def fitted() -> dict[str, TunedSVC]:
    return {shape: TunedSVC(random_state=0).fit(*drawn(shape, N, 1)) for shape in SHAPES}


@pytest.mark.slow
def test_shares_say_what_the_data_are_like(fitted: dict[str, TunedSVC]) -> None:
    """In the mean over draws: one draw of so few rows can look like another shape."""
    for shape, first in fitted.items():
        models = [first, *(TunedSVC(random_state=0).fit(*drawn(shape, N, seed)) for seed in (2, 3))]
        for model in models:
            assert sum(model.term_shares_.values()) == pytest.approx(1.0)
        mean = {name: np.mean([model.term_shares_.get(name, 0.0) for model in models]) for name in SHAPES}
        assert max(mean, key=mean.get) == shape
        assert mean["straight"] > 0.8 or shape != "straight"


@pytest.mark.slow
def test_shares_are_those_of_members_that_have_a_choice(fitted: dict[str, TunedSVC]) -> None:
    """A term alone has one shape whatever the data are like."""
    model = fitted["straight"].ensemble_
    assert any(member.candidate.auxiliary for member in model.members)
    assert not model.main.candidate.auxiliary
    whole = tuple(member for member in model.members if not member.candidate.auxiliary)
    alone = replace(model, members=whole)
    for shape, share in alone.description.term_shares.items():
        assert model.description.term_shares[shape] == pytest.approx(share)
    for member in model.members:
        if member.candidate.auxiliary:
            only = replace(model, members=(replace(member, weight=1.0),))
            assert list(only.description.term_shares.values()) == [pytest.approx(1.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "gain"), [("straight", -0.01), ("smooth", -0.02), ("stepwise", 0.02)])
def test_helps_where_it_should_and_does_little_harm_where_not(shape: str, gain: float, full: bool) -> None:
    """Log-loss on new rows beside that of the paper's kernel, the mean over draws."""

    def loss(kernel: str, seed: int) -> float:
        model = TunedSVC(kernel=kernel, random_state=0).fit(*drawn(shape, N, seed))
        Z, z = drawn(shape, 3000, seed + 1000)
        return float(-np.log(model.predict_proba(Z)[np.arange(3000), z.astype(int)]).mean())

    gains = [loss("rbf", seed) - loss("auto", seed) for seed in range(10 if full else 3)]
    assert np.mean(gains) > gain


def test_rbf_is_the_papers_kernel() -> None:
    model = TunedSVC(kernel="rbf", ard=0).fit(*drawn("smooth", N, 1))
    assert model.term_shares_ == {"smooth": pytest.approx(1.0)}
    assert (model.k0_, model.koff_) == (model.hyperparameters_.k0, model.hyperparameters_.koff)


@pytest.mark.parametrize(
    "kernel",
    [
        Periodic(),
        RBF() + Laplacian() + Linear() + Constant(),
        Linear() + Constant(),
        pytest.param(AdditiveLaplacian() + Constant(), marks=pytest.mark.slow),
        Blend().without("k1"),
        Blend(k2=1.0),
    ],
)
def test_takes_any_kernel(kernel) -> None:
    X, y = drawn("straight", N, 2)
    model = TunedSVC(kernel=kernel, random_state=0).fit(X[:80], y[:80])
    assert model.score(X[80:], y[80:]) > 0.7
    assert type(model.kernel_) is type(kernel)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore:the search had not converged")
@pytest.mark.parametrize("ard", [0, 1.0])
@pytest.mark.parametrize(
    ("criterion", "slack"), [("laplace-evidence", "quadratic"), ("span", "quadratic"), ("gacv", "linear")]
)
def test_criteria_of_the_svm_alone_tune_the_default_kernel(criterion: str, slack: str, ard: float) -> None:
    X, y = drawn("straight", N, 2)
    model = TunedSVC(ard, criterion=criterion, slack=slack, random_state=0).fit(X[:80], y[:80])
    scores = [record.point.score for record in model.trace_.accepted]
    assert len(model.trace_) > 1
    assert scores == sorted(scores)
    assert "klin" in model.kernel_.present
    assert model.score(X[80:], y[80:]) > 0.8
    assert np.isfinite(model.predict_proba(X)).all()


def test_low_rank_takes_any_kernel() -> None:
    X, y = drawn("straight", N, 2)
    model = TunedSVC(kernel=RBF() + Linear(), ard=0, rank=20, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.7


def test_models_with_the_default_kernel_are_saved(tmp_path: Path, fitted: dict[str, TunedSVC]) -> None:
    X, _ = drawn("smooth", 50, 3)
    for name, model in fitted.items():
        save_model(model, tmp_path / f"{name}.skops")
        again = load_model(tmp_path / f"{name}.skops")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.kernel_ == model.kernel_


@pytest.mark.filterwarnings("ignore:k1 = 0.001 ended on its lower bound")
@pytest.mark.filterwarnings("ignore:klin = 0.001 ended on its lower bound")
def test_terms_that_carry_nothing_are_dropped() -> None:
    tight = Prior(laws={"k1": (np.log(1e-3), 0.01), "klin": (np.log(1e-3), 0.01)}, k0=(np.log(30.0), 0.01))
    model = TunedSVC(ard=0, prior=tight).fit(*drawn("smooth", N, 1))
    assert model.kernel_.present == ("k0", "koff")
    assert set(model.term_shares_) == {"smooth"}


def test_shares_are_drawn(fitted: dict[str, TunedSVC]) -> None:
    display = TermSharesDisplay.from_estimator(fitted["straight"])
    assert display.ax_.get_yticklabels()[0].get_text() == "straight"


@pytest.mark.parametrize("wrong", ["gauss", 3])
def test_refuses_what_is_no_kernel_to_tune(wrong) -> None:
    with pytest.raises(InvalidInputError, match="kernel"):
        TunedSVC(kernel=wrong).fit(*drawn("straight", 30, 1))


def test_a_line_goes_on_where_curves_fade() -> None:
    """Ten spreads away from the training rows the straight part decides, and the paper's kernel knows little."""
    X, y = drawn("straight", N, 1)
    far = np.array([[10.0, -10.0, 0.0, 0.0, 0.0]])
    blend, plain = (TunedSVC(kernel=kernel, ard=0, random_state=0).fit(X, y) for kernel in ("auto", "rbf"))
    assert blend.predict_proba(far)[0, 1] > 0.99
    assert blend.predict_proba(far)[0, 1] > plain.predict_proba(far)[0, 1]


@pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning")
def test_a_matrix_is_a_kernel_of_row_numbers(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=40) > 0.0
    kernel, rows = RBF(1.0, 1.5), np.arange(40)[:, None]
    matrix = TunedSVC(0.0, kernel=Precomputed(kernel.gram(X)), standardize=False, max_evaluations=5, random_state=0)
    matrix.fit(rows[:30], y[:30])
    assert matrix.score(rows[30:], y[30:]) >= 0.8
    assert matrix.feature_importances_.tolist() == [1.0]
    fixed = MarginSVC(C=2.0, kernel=Precomputed(kernel.gram(X))).fit(rows[:30], y[:30])
    same = MarginSVC(C=2.0, kernel=kernel).fit(X[:30], y[:30])
    np.testing.assert_allclose(fixed.decision_function(rows[30:]), same.decision_function(X[30:]), atol=1e-9)
    save_model(matrix, tmp_path / "m.skops")
    np.testing.assert_array_equal(load_model(tmp_path / "m.skops").predict(rows), matrix.predict(rows))


@pytest.mark.parametrize(
    ("estimator", "X", "message"),
    [
        (
            TunedSVC(kernel="precomputed"),
            [[0.0], [1.0]],
            r"TunedSVC\(kernel=Precomputed\(K\), standardize",
        ),
        (MarginSVC(kernel="precomputed"), [[0.0], [1.0]], r"Precomputed; MarginSVC\(kernel=Precomputed\(K\)\).fit\("),
        (
            TunedSVC(kernel=Precomputed(np.eye(2))),
            [[0.0], [1.0]],
            "standardize is True; expected False with",
        ),
        (
            MarginSVC(kernel=Precomputed(np.eye(2))),
            [[0.0], [2.0]],
            "X holds 2; expected row numbers .*, 0 … 1",
        ),
        (MarginSVC(kernel=Precomputed(np.eye(2))), [[0.5], [1.0]], "X holds 0.5; expected row numbers"),
        (MarginSVC(kernel=Precomputed(np.eye(2))), np.eye(2), "X has 2 columns; expected row numbers"),
    ],
)
def test_a_matrix_that_is_given_otherwise(estimator, X, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        estimator.fit(X, [0, 1])


@pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning")
def test_length_scales_of_a_given_kernel_are_its_form_alone() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X[:, 0] > 0.0
    few = {"max_evaluations": 4, "random_state": 0}
    found = [TunedSVC(0.5, kernel=RBF(1.0, lengths), **few).fit(X, y) for lengths in (1.0, [1.0, 2.0, 3.0])]
    np.testing.assert_array_equal(found[0].predict_proba(X), found[1].predict_proba(X))
