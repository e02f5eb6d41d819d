"""TunedSVC with other kernels: what the default sees in data whose shape is known, and what a user may give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from marginwise import Prior, TunedSVC, load_benchmark, load_model, save_model
from marginwise.errors import InvalidInputError
from marginwise.kernels import RBF, Blend, Constant, Laplacian, Linear
from marginwise.plots import TermSharesDisplay
from periodic import Periodic

RNG = np.random.default_rng(11)
X = RNG.normal(size=(220, 3))
NOISE = 0.3 * RNG.normal(size=220)
SHAPES = {
    "straight": X[:, 0] - 0.7 * X[:, 1] + NOISE,
    "smooth": np.sin(2.0 * X[:, 0]) + 0.3 * X[:, 1] ** 2 - 0.3 + NOISE,
    "stepwise": np.where((X[:, 0] > 0.3) ^ (X[:, 1] > -0.2), 1.0, -1.0) + NOISE,
}


@pytest.fixture(scope="module")
def fitted() -> dict[str, TunedSVC]:
    return {name: TunedSVC(random_state=0).fit(X, latent > 0) for name, latent in SHAPES.items()}


def test_shares_say_what_the_data_are_like(fitted: dict[str, TunedSVC]) -> None:
    assert fitted["straight"].term_shares_["straight"] > 0.9
    assert fitted["smooth"].term_shares_["smooth"] > 0.6
    assert fitted["stepwise"].term_shares_["stepwise"] > 0.6
    for model in fitted.values():
        assert sum(model.term_shares_.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("shape", SHAPES)
def test_helps_where_it_should_and_does_no_harm_where_not(shape: str, fitted: dict[str, TunedSVC]) -> None:
    """On new rows of the same kind, beside the paper's kernel."""
    rng = np.random.default_rng(5)
    Z = rng.normal(size=(2000, 3))
    latent = {
        "straight": Z[:, 0] - 0.7 * Z[:, 1],
        "smooth": np.sin(2.0 * Z[:, 0]) + 0.3 * Z[:, 1] ** 2 - 0.3,
        "stepwise": np.where((Z[:, 0] > 0.3) ^ (Z[:, 1] > -0.2), 1.0, -1.0),
    }[shape]
    z = latent + 0.3 * rng.normal(size=2000) > 0
    plain = TunedSVC(kernel="rbf", random_state=0).fit(X, SHAPES[shape] > 0)

    def loss(model: TunedSVC) -> float:
        return float(-np.log(model.predict_proba(Z)[np.arange(2000), z.astype(int)]).mean())

    gain = loss(plain) - loss(fitted[shape])
    assert gain > {"straight": 0.0, "smooth": -0.01, "stepwise": 0.02}[shape]


def test_rbf_is_the_papers_kernel() -> None:
    model = TunedSVC(kernel="rbf", freedom=0).fit(X, SHAPES["smooth"] > 0)
    assert model.term_shares_ == {"smooth": pytest.approx(1.0)}
    assert (model.k0_, model.koff_) == (model.hyperparameters_.k0, model.hyperparameters_.koff)


@pytest.mark.parametrize(
    "kernel", [Periodic(), RBF() + Laplacian() + Linear() + Constant(), Linear() + Constant(), Blend().without("k1")]
)
def test_takes_any_kernel(kernel) -> None:
    y = SHAPES["straight"] > 0
    model = TunedSVC(kernel=kernel, random_state=0, max_evaluations=15).fit(X[:80], y[:80])
    assert model.score(X[80:], y[80:]) > 0.8
    assert type(model.kernel_) is type(kernel)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert np.isfinite(model.predict_proba(X)).all()


def test_low_rank_takes_any_kernel() -> None:
    y = SHAPES["straight"] > 0
    model = TunedSVC(kernel=Periodic(), freedom=0, rank=20, random_state=0, max_evaluations=5).fit(X, y)
    assert model.score(X, y) > 0.8


def test_models_with_the_default_kernel_are_saved(tmp_path: Path, fitted: dict[str, TunedSVC]) -> None:
    for name, model in fitted.items():
        save_model(model, tmp_path / f"{name}.skops")
        again = load_model(tmp_path / f"{name}.skops")
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.kernel_ == model.kernel_


def test_terms_that_carry_nothing_are_dropped() -> None:
    tight = Prior(laws={"k1": (np.log(1e-3), 0.01), "klin": (np.log(1e-3), 0.01)}, k0=(np.log(30.0), 0.01))
    model = TunedSVC(freedom=0, prior=tight).fit(X, SHAPES["smooth"] > 0)
    assert model.kernel_.present == ("k0", "koff")
    assert set(model.term_shares_) == {"smooth"}


def test_shares_are_drawn(fitted: dict[str, TunedSVC]) -> None:
    display = TermSharesDisplay.from_estimator(fitted["straight"])
    assert [label.get_text() for label in display.ax_.get_yticklabels()][0] == "straight"


@pytest.mark.parametrize("wrong", ["gauss", 3, RBF(1.0, (1.0, 2.0, 3.0))])
def test_refuses_what_is_no_kernel_to_tune(wrong) -> None:
    with pytest.raises(InvalidInputError, match="kernel"):
        TunedSVC(kernel=wrong).fit(X, SHAPES["straight"] > 0)


def test_a_line_goes_on_where_curves_fade() -> None:
    """Far from the training rows the straight part decides, and the paper's kernel knows nothing."""
    data = load_benchmark("crabs")
    far = data.X_train.mean(axis=0) + 8.0 * (data.X_train[data.y_train > 0].mean(0) - data.X_train.mean(0))
    blend, plain = (
        TunedSVC(kernel=kernel, freedom=0, random_state=0).fit(data.X_train, data.y_train) for kernel in ("auto", "rbf")
    )
    assert np.abs(blend.decision_function([far])) > np.abs(plain.decision_function([far]))
