"""Kernels from elsewhere are what ours are: the same numbers where both exist, derivatives of what they compute."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process import kernels as gp
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, RationalQuadratic, WhiteKernel
from sklearn.metrics.pairwise import chi2_kernel, polynomial_kernel

from marginwise import MarginSVC, TunedSVC, evaluate, load_benchmark, load_model, save_model
from marginwise.errors import InvalidInputError
from marginwise.kernels import RBF, Constant, FunctionKernel, GPKernel, borrowed
from marginwise.model import Model

RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(7, 3)), RNG.normal(size=(5, 3))
KERNELS = {
    "rbf": GPKernel(ConstantKernel(2.0) * gp.RBF([1.0, 2.0, 0.7])),
    "matern": GPKernel(Matern(1.3, nu=1.5)),
    "fixed": GPKernel(ConstantKernel(2.0, "fixed") * RationalQuadratic(1.2, 0.8)),
    "function": FunctionKernel(polynomial_kernel, 1.7),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("second", [A, B], ids=["same", "other"])
def test_contractions_are_derivatives(kernel, second: np.ndarray) -> None:
    G = RNG.normal(size=(len(A), len(second)))
    found = kernel.contract(G, kernel.cross(A, second), A, second)
    g = RNG.normal(size=len(A))
    on_diagonal = kernel.contract_diagonal(g, A)
    logs, step = np.log(kernel.values), 1e-4
    for p in range(len(logs)):
        moved = [kernel.with_values(np.exp(logs + sign * step * np.eye(len(logs))[p])) for sign in (1, -1)]
        up, down = (np.vdot(G, one.cross(A, second)) for one in moved)
        assert found[p] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-6)
        up, down = (g @ one.diagonal(A) for one in moved)
        assert on_diagonal[p] == pytest.approx((up - down) / (2 * step), rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(kernel.diagonal(A), np.diag(kernel.cross(A, A)))


def test_the_same_kernel_has_the_same_numbers() -> None:
    theirs, ours = KERNELS["rbf"], RBF(2.0, [1.0, 2.0, 0.7])
    np.testing.assert_allclose(theirs.cross(A, B), ours.cross(A, B))
    y = np.where(A[:, 0] > 0, 1, -1)
    first, second = (evaluate("ep-loo", A, y, Model(1.5, kernel + Constant(0.3))) for kernel in (theirs, ours))
    assert first.value == pytest.approx(second.value, rel=1e-9)
    assert sorted(first.gradient) == pytest.approx(sorted(second.gradient), rel=1e-5, abs=1e-9)


def test_differences_are_said_once(caplog: pytest.LogCaptureFixture, monkeypatch) -> None:
    borrowed._tell_of_differences.cache_clear()
    kernel = KERNELS["matern"]
    with caplog.at_level(logging.WARNING, "marginwise"):
        for _ in range(2):
            kernel.contract(np.ones((7, 5)), kernel.cross(A, B), A, B)
    assert [record.message for record in caplog.records] == [
        "GP kernels of scikit-learn have gradients for K(X, X) only: others are taken by differences"
    ]


def test_large_gradients_are_never_an_array_of_three_axes(monkeypatch) -> None:
    kernel, G = KERNELS["rbf"], np.ones((7, 7))
    whole = kernel.contract(G, kernel.cross(A, A), A, A)
    monkeypatch.setattr(borrowed, "_LARGEST_GRADIENT", 10)
    np.testing.assert_allclose(kernel.contract(G, kernel.cross(A, A), A, A), whole, rtol=1e-8)


def test_a_kernel_of_scikit_learn_is_tuned_reported_and_saved(tmp_path: Path) -> None:
    data = load_benchmark("crabs")
    model = TunedSVC(kernel=ConstantKernel(1.0) * Matern(1.0, nu=2.5), random_state=0)
    model.fit(data.X_train, data.y_train)
    start = GPKernel(ConstantKernel(1.0) * Matern(1.0, nu=2.5))
    assert not np.allclose(model.kernel_.terms[0].values, start.values, rtol=0.05)  # it moved
    assert model.score(data.X_test, data.y_test) > 0.9
    assert "GPKernel(" in repr(model.hyperparameters_)
    assert "What columns do" in model.report(tmp_path / "r.html").read_text(encoding="utf-8")
    save_model(model, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    np.testing.assert_allclose(again.predict_proba(data.X_test), model.predict_proba(data.X_test), rtol=1e-10)


def test_a_function_is_a_kernel() -> None:
    X = RNG.random((40, 3))
    y = X[:, 0] > X[:, 1]
    model = TunedSVC(kernel=chi2_kernel, standardize=False, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    same = MarginSVC(C=2.0, kernel=lambda P, Q: RBF(1.5, 2.0).cross(P, Q)).fit(X, y)
    ours = MarginSVC(C=2.0, k0=1.5, koff=0.1, length_scales=2.0).fit(X, y)
    np.testing.assert_allclose(same.decision_function(X), ours.decision_function(X), rtol=1e-6)


def test_what_is_no_kernel() -> None:
    X, y = RNG.normal(size=(20, 2)), np.repeat([0, 1], 10)
    with pytest.raises(InvalidInputError, match="noise of the labels belongs to the likelihood"):
        TunedSVC(kernel=gp.RBF() + WhiteKernel()).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"returned an array of shape \(20,\)"):
        TunedSVC(kernel=lambda P, Q: np.ones(len(P))).fit(X, y)
    with pytest.raises(InvalidInputError, match="or a function K"):
        TunedSVC(kernel=3.0).fit(X, y)
