"""Features of single precision: against those of double precision, and what they are for."""

from __future__ import annotations

import weakref
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from scipy.special import expit

from marginwise._runtime.threads import one_thread
from marginwise.covariance import LowRankCovariance, Partition, as_blocks, choose_inducing
from marginwise.criteria.least_squares import LeastSquaresLeaveOneOut
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.sites import site_posterior
from marginwise.kernels import Blend
from marginwise.likelihoods import SLACKS, as_slack
from marginwise.model import Model
from marginwise.multiclass.posterior import least_squares, softmax_map
from marginwise.problem import Problem, as_problem
from marginwise.svm.low_rank import solve_low_rank
from zoo import blobs

BASE = blobs(900, 3, shift=0.5)
H = Hyperparameters(1.2, 40.0, 5.0, [1.5, 2.0, 3.0])
POINTS = choose_inducing(BASE.X, H.kernel, 80)
RICHER = Model(0.8, Blend(k0=27.0, koff=7.5, klin=2.8, k1=0.3, lam=30.0, length_scales=(1.4, 40.0, 7.0)))
NEW = blobs(300, 3, shift=0.5, seed=4).X


@pytest.fixture(autouse=True)
def several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginwise.covariance.blocks.ROWS", 200)


def kept(single: bool, X: object = BASE.X) -> LowRankCovariance:
    return LowRankCovariance(H.kernel, as_blocks(X), POINTS, single=single)


@pytest.mark.parametrize("X", [BASE.X, da.from_array(BASE.X, chunks=(300, 3))], ids=["memory", "Dask"])
def test_products_agree_and_are_of_double_precision(X: object, rng: np.random.Generator) -> None:
    double, single = kept(False), kept(True, X)
    x, u, R = rng.normal(size=900), rng.normal(size=80), np.asfortranarray(np.tril(rng.normal(size=(80, 80))))
    pairs = {
        "diagonal": (double.diagonal, single.diagonal),
        "project": (double.project(x), single.project(x)),
        "expand": (double.expand(u), single.expand(u)),
        "weighted": (double.weighted(x), single.weighted(x)),
        "normal equations": (double.normal_equations(x, x)[0], single.normal_equations(x, x)[0]),
        "quadratic": (double.quadratic(R @ R.T), single.quadratic(R @ R.T)),
        "means": (double.moments(u, R)[0], single.moments(u, R)[0]),
        "variances": (double.moments(u, R)[1], single.moments(u, R)[1]),
    }
    for name, (exact, ours) in pairs.items():
        assert ours.dtype == np.float64, name
        np.testing.assert_allclose(ours, exact, atol=1e-5 * np.abs(exact).max(), err_msg=name)
    assert np.abs(double.residual - single.residual).max() < 1e-5


def test_one_block_is_summed_in_double_precision_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginwise.covariance.blocks.ROWS", 2000)
    for X in (BASE.X, da.from_array(BASE.X, chunks=(900, 3))):
        assert kept(True, X).weighted(np.ones(900)).dtype == np.float64


@pytest.mark.parametrize("slack", SLACKS)
@pytest.mark.parametrize("model", [H, RICHER])
def test_the_posterior_is_that_of_double_precision(slack: str, model: Model) -> None:
    at = replace(BASE, inducing=POINTS)
    exact = site_posterior(at, model, as_slack(slack), with_gradient=False)
    rounded = LowRankCovariance(model.kernel, as_blocks(BASE.X), POINTS, single=True)
    ours = site_posterior(at, model, as_slack(slack), with_gradient=False, covariance=rounded)
    assert ours.status.ok, ours.status.message
    np.testing.assert_allclose(ours.predict_proba(NEW), exact.predict_proba(NEW), atol=5e-4)
    np.testing.assert_allclose(ours.latent_mean, exact.latent_mean, atol=0.02, rtol=5e-3)
    assert ours.log_evidence == pytest.approx(exact.log_evidence, abs=0.01)


@pytest.mark.parametrize("slack", SLACKS)
def test_the_svm_is_that_of_double_precision(slack: str) -> None:
    by, penalties = as_slack(slack), H.C * BASE.weights
    exact = solve_low_rank(kept(False), BASE.y, penalties, by)
    ours = solve_low_rank(kept(True), BASE.y, penalties, by)
    assert ours.status.ok, ours.status.message
    np.testing.assert_allclose(ours.latent, exact.latent, atol=0.03)
    assert ours.objective == pytest.approx(exact.objective, rel=5e-3)


def test_a_by_mean_tolerance_needs_no_more_sweeps_and_changes_little() -> None:
    at, slack = replace(BASE, inducing=POINTS), as_slack("linear")
    exact = site_posterior(at, RICHER, slack, with_gradient=False)
    worst = site_posterior(at, RICHER, slack, with_gradient=False, tolerance=1e-3)
    by_mean = site_posterior(at, RICHER, slack, with_gradient=False, tolerance=1e-3, norm="rms")
    assert by_mean.status.ok, by_mean.status.message
    assert by_mean.diagnostics["sweeps"] <= worst.diagnostics["sweeps"]
    assert by_mean.diagnostics["residual"] >= worst.diagnostics["residual"]
    difference = by_mean.predict_proba(NEW) - exact.predict_proba(NEW)
    assert np.sqrt(np.mean(difference**2)) < 2e-3


def test_sums_do_not_keep_what_they_are_of() -> None:
    """A hundred matrices of 2048 rows would not fit into memory."""
    alive: list[weakref.ref[np.ndarray]] = []
    most = 0

    def ones(_: np.ndarray) -> np.ndarray:
        nonlocal most
        result = np.ones((3, 3))
        alive.append(weakref.ref(result))
        most = max(most, sum(reference() is not None for reference in alive))
        return result

    with one_thread():
        total = as_blocks(np.zeros((200 * 40, 1))).total(ones)
    np.testing.assert_array_equal(total, np.full((3, 3), 40.0))
    assert most <= 2


def local(single: bool, n: int = 600) -> Problem:
    rows = as_problem(BASE.X[:n], BASE.y[:n], partition=Partition.of(BASE.X[:n], np.ones(3), 90), inducing=POINTS)
    return replace(rows, single=single)


def test_blocks_of_single_precision_agree_with_those_of_double(rng: np.random.Generator) -> None:
    double, single = (local(one).covariance(H) for one in (False, True))
    x, tau = rng.normal(size=(600, 2)), rng.uniform(0.0, 2.0, size=600)
    assert single.blocks.blocks[0].V.dtype == single.blocks.blocks[0].open.gram.dtype == np.float32
    np.testing.assert_allclose(single.times(x), double.times(x), atol=1e-3)  # of values around 1,000
    np.testing.assert_allclose(single.dual_solver(tau)(x), double.dual_solver(tau)(x), atol=1e-5)
    ours, exact = single.gaussian(tau, x[:, 0]), double.gaussian(tau, x[:, 0])
    assert ours is not None
    assert exact is not None
    for name in ("mean", "variance", "free", "cavity_mean", "cavity_variance", "log_det"):
        value = np.asarray(getattr(ours, name))
        assert value.dtype == np.float64, name
        np.testing.assert_allclose(value, getattr(exact, name), rtol=1e-4, atol=1e-5, err_msg=name)
    by = [one.prior.mean_weights(*one.coefficients(one.nu)) for one in (ours, exact)]
    V = exact.prior.features.at(NEW)
    for found, expected in zip(ours.moments_at(NEW, V, by[0]), exact.moments_at(NEW, V, by[1]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_criterion_and_posteriors_with_blocks_of_single_precision() -> None:
    values = [LeastSquaresLeaveOneOut().evaluate(local(one), RICHER) for one in (False, True)]
    assert values[1].value == pytest.approx(values[0].value, abs=1e-6)
    assert values[0].gradient is not None
    assert values[1].gradient is not None
    np.testing.assert_allclose(values[1].gradient, values[0].gradient, atol=1e-5)
    for make in (least_squares, softmax_map):
        exact, ours = (make(local(one), RICHER) for one in (False, True))
        np.testing.assert_allclose(ours.left_out.mean, exact.left_out.mean, atol=3e-4)
        np.testing.assert_allclose(ours.predictor.latent_mean(NEW), exact.predictor.latent_mean(NEW), atol=1e-4)


def test_the_last_step_to_the_mode_of_two_classes_is_that_of_the_gaussian() -> None:
    """The way there ends a step earlier than in double precision, which moves next to nothing."""
    exact = softmax_map(local(single=False), RICHER, tolerance=1e-8)
    ours = softmax_map(local(single=True), RICHER)
    np.testing.assert_allclose(expit(ours.mean[:, 1] * 2), expit(exact.mean[:, 1] * 2), atol=1e-3)
    np.testing.assert_allclose(ours.gaussian.variance, exact.gaussian.variance, rtol=0.02)


def test_rows_far_away_do_not_take_the_digits_of_gradients() -> None:
    """Straight lines give them a variance of tens of thousands, which blocks and features have to agree on."""
    at = local(True)
    X = at.X.copy()
    X[::60, 0] *= 40.0
    points = np.concatenate([POINTS, X[::60]])
    model = Model(1.0, Blend(k0=1.6, koff=0.1, klin=20.0, k1=0.4, lam=50.0, k2=1.4, length_scales=(2.0, 29.0, 29.0)))
    far = as_problem(X, at.y, partition=Partition.of(X, np.ones(3), 90), inducing=points)
    gradients = [LeastSquaresLeaveOneOut().evaluate(replace(far, single=one), model).gradient for one in (False, True)]
    assert gradients[0] is not None
    assert gradients[1] is not None
    np.testing.assert_allclose(gradients[1], gradients[0], atol=1e-5)


def test_no_site_is_too_weak_for_single_precision() -> None:
    tau = np.full(600, 1e-40)
    gaussian = local(True).covariance(H).gaussian(tau, np.zeros(600))
    assert gaussian is not None
    np.testing.assert_allclose(gaussian.variance, local(True).covariance(H).diagonal, rtol=1e-4)


def test_rows_too_far_for_single_precision_are_predicted_in_double() -> None:
    """Straight lines have covariances of 1e100 there, and no number of single precision is as large."""
    partition = Partition.of(BASE.X, RICHER.kernel.lengths(3), 80)
    labelled = replace(BASE, inducing=POINTS, partition=partition)
    far = np.vstack([NEW[:3], np.full((1, 3), 1e60), [[-1e100, 0.0, 1.0]]])
    double, single = (
        least_squares(replace(labelled, single=one), RICHER).predictor.latent_mean_and_variance(far)
        for one in (False, True)
    )
    for exact, ours in zip(double, single, strict=True):
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, exact, rtol=1e-3, atol=1e-3)
