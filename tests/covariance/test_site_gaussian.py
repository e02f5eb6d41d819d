"""The Gaussian of given sites, and the linearised maps, against dense algebra and differences."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.covariance import DenseCovariance, Sites
from marginwise.covariance.dense import DenseGaussian
from marginwise.covariance.triangles import mirrored
from marginwise.inference.ep.jacobian import SiteJacobian
from marginwise.inference.ep.moves import Moves
from marginwise.likelihoods import LINEAR, QUADRATIC, as_likelihood
from zoo import blobs, random_hyperparameters, twonorm


def dense_covariance(K: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """(K⁻¹ + T)⁻¹ without inverting K."""
    return np.linalg.solve(np.eye(len(tau)) + K * tau, K)


def made(K: np.ndarray, tau: np.ndarray, nu: np.ndarray) -> DenseGaussian:
    gaussian = DenseCovariance.of_matrix(K).gaussian(tau, nu)
    assert gaussian is not None
    return gaussian


@pytest.mark.parametrize("n", [1, 2, 7, 81, 200])  # below and above the size at which triangles are split
@pytest.mark.parametrize("signed", [False, True])
def test_moments(n: int, signed: bool, rng: np.random.Generator) -> None:
    problem = blobs(n, 3)
    K = random_hyperparameters(rng, 3).kernel.gram(problem.X) + 1e-6 * np.eye(n)
    tau, nu = np.exp(3 * rng.normal(size=n)), rng.normal(size=n)
    if signed:
        tau[0] *= -0.2 / (tau[0] * K[0, 0])
    sigma = dense_covariance(K, tau)
    ours = made(K, tau, nu)
    np.testing.assert_allclose(ours.full_covariance(), sigma, atol=1e-10 * K.max())
    np.testing.assert_allclose(ours.variance, np.diag(sigma), rtol=1e-9)
    np.testing.assert_allclose(ours.mean, sigma @ nu, atol=1e-9)
    np.testing.assert_allclose(K @ ours.dual_mean, ours.mean, atol=1e-8)
    np.testing.assert_allclose(
        ours.precision_gain(), np.linalg.inv(K + np.diag(1 / tau)), atol=1e-8 * np.abs(tau).max()
    )
    np.testing.assert_allclose(
        DenseCovariance.of_matrix(K).dual_mean(tau, nu), ours.dual_mean, atol=1e-9 * max(1.0, np.abs(tau).max())
    )
    assert ours.log_det == pytest.approx(np.linalg.slogdet(np.eye(n) + K * tau)[1], rel=1e-10)
    np.testing.assert_allclose(ours.times_covariance(nu), sigma @ nu, atol=1e-9)


def test_cavities_are_the_marginals_without_the_own_site(rng: np.random.Generator) -> None:
    K = random_hyperparameters(rng, 2).kernel.gram(blobs(20, 2).X)
    tau, nu = np.exp(rng.normal(size=20)), rng.normal(size=20)
    ours = made(K, tau, nu)
    for i in range(20):
        kept = np.arange(20) != i
        without = made(K, tau * kept, nu * kept)
        assert ours.cavity_mean[i] == pytest.approx(without.mean[i], rel=1e-9)
        assert ours.cavity_variance[i] == pytest.approx(without.variance[i], rel=1e-9)


def test_vanishing_precisions_lose_no_digits() -> None:
    K = random_hyperparameters(np.random.default_rng(0), 2).kernel.gram(blobs(30, 2).X)
    tau = np.geomspace(1e-300, 1e3, 30)
    tau[:3] = 0.0
    ours = made(K, tau, np.ones(30))
    sigma = dense_covariance(K, tau)
    np.testing.assert_allclose(ours.variance, np.diag(sigma), rtol=1e-9)
    np.testing.assert_allclose(ours.full_covariance(), sigma, atol=1e-11)
    np.testing.assert_allclose(ours.cavity_variance[:3], ours.variance[:3], rtol=1e-12)


def test_an_indefinite_precision_is_refused() -> None:
    prior = DenseCovariance.of_matrix(np.eye(3))
    assert prior.gaussian(np.array([-1.5, 1.0, 1.0]), np.ones(3)) is None
    assert prior.gaussian(np.array([-1.5, -1.5, 1.0]), np.ones(3)) is None  # a positive determinant
    assert prior.gaussian(np.array([np.nan, 1.0, 1.0]), np.ones(3)) is None
    assert prior.gaussian(np.ones(3), np.array([np.inf, 1.0, 1.0])) is None


def test_only_lower_triangles_count() -> None:
    lower = np.asfortranarray(np.arange(100.0 * 100).reshape(100, 100))
    full = mirrored(lower)
    np.testing.assert_array_equal(full, np.tril(lower) + np.tril(lower, -1).T)


@pytest.mark.parametrize("name", ["linear", "quadratic", "probit", "normalised-quadratic"])
@pytest.mark.parametrize("cavities", [True, False])
def test_jacobian_is_that_of_the_map(name: str, cavities: bool) -> None:
    """(I - J)(dτ, e) = r for the map's own derivative at its fixed point, by differences."""
    problem = twonorm(12)
    K = random_hyperparameters(np.random.default_rng(3), 20, 0.3).kernel.gram(problem.X)
    likelihood = as_likelihood(name).weighted(1.3, problem.weights)

    def image(sites: Sites) -> Sites:
        gaussian = made(K, *sites)
        if cavities:
            point = Moves(DenseCovariance.of_matrix(K), problem.y, likelihood).point(*sites)
            assert point is not None
            return point.matched
        expected = likelihood.expected(gaussian.mean, gaussian.variance, problem.y)
        tau = expected.shrink / gaussian.variance
        return Sites(tau, expected.slope + tau * gaussian.mean)

    sites = Sites(np.zeros(12), np.zeros(12))
    for _ in range(200):
        wanted = image(sites)
        sites = Sites(0.5 * (sites.tau + wanted.tau), 0.5 * (sites.nu + wanted.nu))
    gaussian = made(K, *sites)
    if cavities:
        moments = likelihood.tilted(gaussian.cavity_mean, gaussian.cavity_variance, problem.y)
    else:
        moments = likelihood.expected(gaussian.mean, gaussian.variance, problem.y)
    jacobian = SiteJacobian(gaussian, moments, cavities=cavities)

    rng = np.random.default_rng(0)
    change, e = 1e-5 * rng.normal(size=(2, 12))
    nu_change = e + gaussian.mean * change
    up = image(Sites(sites.tau + change, sites.nu + nu_change))
    down = image(Sites(sites.tau - change, sites.nu - nu_change))
    tau_image, nu_image = (up.tau - down.tau) / 2, (up.nu - down.nu) / 2
    right = change - tau_image, e - (nu_image - gaussian.mean * tau_image)
    ours = jacobian.solve(*right, accuracy=1e-12)
    np.testing.assert_allclose(ours[0], change, rtol=1e-5, atol=1e-10)
    np.testing.assert_allclose(ours[1], e, rtol=1e-5, atol=1e-10)


def test_second_order_moments_are_better_than_first_order() -> None:
    problem = blobs(30, 2)
    K = random_hyperparameters(np.random.default_rng(1), 2).kernel.gram(problem.X)
    gaussian = made(K, np.full(30, 0.5), problem.y * 0.5)
    likelihood = LINEAR.weighted(1.0, problem.weights)
    moments = likelihood.tilted(gaussian.cavity_mean, gaussian.cavity_variance, problem.y)
    jacobian = SiteJacobian(gaussian, moments, cavities=True)
    rng = np.random.default_rng(2)
    errors = []
    for size in (1e-2, 1e-3):
        sites = Sites(gaussian.tau + size * rng.normal(size=30), gaussian.nu + size * rng.normal(size=30))
        mean, variance = jacobian.moments_after(gaussian, sites)
        exact = made(K, *sites)
        change = sites.tau - gaussian.tau
        first = gaussian.variance - gaussian.full_covariance() ** 2 @ change
        assert np.linalg.norm(variance - exact.variance) < np.linalg.norm(first - exact.variance)
        errors.append(np.abs(mean - exact.mean).max())
    assert errors[1] < 2e-3 * errors[0] + 1e-14  # of third order


def test_transposed_systems(rng: np.random.Generator) -> None:
    problem = blobs(25, 2)
    K = random_hyperparameters(rng, 2).kernel.gram(problem.X)
    gaussian = made(K, np.exp(rng.normal(size=25)), rng.normal(size=25))
    likelihood = QUADRATIC.weighted(2.0, problem.weights)
    moments = likelihood.tilted(gaussian.cavity_mean, gaussian.cavity_variance, problem.y)
    jacobian = SiteJacobian(gaussian, moments, cavities=True)
    a, b = rng.normal(size=(2, 25))
    scale = gaussian.variance
    zero = np.zeros(25)
    forward = scale * jacobian.solve(a / scale, zero, 1e-13)[0]  # (I - M)⁻¹a
    assert b @ forward == pytest.approx(jacobian.solve_transposed(b, 1e-13) @ a, rel=1e-9)


def test_elimination_where_krylov_vectors_do_not_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = blobs(25, 2)
    K = random_hyperparameters(np.random.default_rng(5), 2).kernel.gram(problem.X)
    gaussian = made(K, np.ones(25), problem.y)
    likelihood = LINEAR.weighted(2.0, problem.weights)
    moments = likelihood.tilted(gaussian.cavity_mean, gaussian.cavity_variance, problem.y)
    jacobian = SiteJacobian(gaussian, moments, cavities=True)
    right = np.random.default_rng(6).normal(size=(2, 25))
    usual = jacobian.solve(*right, 1e-13), jacobian.solve_transposed(right[0], 1e-13)
    monkeypatch.setattr("marginwise.covariance.correlations._MAX_KRYLOV", 1)
    direct = jacobian.solve(*right, 1e-13), jacobian.solve_transposed(right[0], 1e-13)
    np.testing.assert_allclose(direct[0], usual[0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(direct[1], usual[1], rtol=1e-8, atol=1e-10)
