"""The likelihoods' moments against integrals by brute force, and derivatives against differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.special import log_ndtr as scipy_log_ndtr

import brute_force
from marginwise.errors import InvalidInputError
from marginwise.likelihoods import LIKELIHOODS, SLACKS, Moments, as_likelihood
from marginwise.likelihoods.truncated import half_line, log_ndtr

ONE = np.ones(1)


def tilted(name: str, m: float, v: float, C: float, w: float = 1.0) -> Moments:
    likelihood = as_likelihood(name).weighted(C, np.array([w]))
    return Moments(*(entry[0] for entry in likelihood.tilted(np.array([m]), np.array([v]), ONE)))


def expected(name: str, m: float, v: float, C: float, w: float = 1.0) -> Moments:
    likelihood = as_likelihood(name).weighted(C, np.array([w]))
    return Moments(*(entry[0] for entry in likelihood.expected(np.array([m]), np.array([v]), ONE)))


@pytest.mark.parametrize("x", [-30.0, -5.0, -1.0, 0.0, 0.7, 2.99, 3.0, 3.01, 6.0, 40.0, 1e3, 1e6])
def test_truncated_normal(x: float) -> None:
    end = max(0.0, -x) + 40.0 / max(1.0, x)  # beyond it nothing is left
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(0.0, end, 201)
    u = (edges[:-1, None] + 0.5 * (end / 200) * (nodes + 1.0)).ravel()
    shift = 0.5 * min(x, 0.0) ** 2  # the largest exponent, so that nothing overflows
    density = np.tile(weights, 200) * (0.5 * end / 200) * np.exp(-0.5 * u * u - x * u - shift)

    def moment(power: int, centre: float) -> float:
        return float(density @ (u - centre) ** power)

    log_mills, mean, variance, third, fourth = half_line(x)
    mass = moment(0, 0.0)
    assert log_mills == pytest.approx(np.log(mass) + shift, rel=1e-12, abs=1e-13)
    assert mean == pytest.approx(moment(1, 0.0) / mass, rel=1e-11)
    assert variance == pytest.approx(moment(2, mean) / mass, rel=1e-9)
    scale = variance**0.5
    assert third / scale**3 == pytest.approx(moment(3, mean) / mass / scale**3, rel=1e-8, abs=1e-9)
    assert fourth / scale**4 == pytest.approx(moment(4, mean) / mass / scale**4 - 3.0, rel=1e-6, abs=1e-7)


def test_log_normal_distribution_function() -> None:
    x = np.concatenate([np.linspace(-40, 40, 401), [-1e5, -3.0, 1e5]])
    np.testing.assert_allclose([log_ndtr(value) for value in x], scipy_log_ndtr(x), rtol=1e-13, atol=1e-300)


GRID = list(
    itertools.product([-20.0, -3.0, -1.0, 0.4, 1.0, 1.7, 8.0], [1e-6, 1e-2, 1.0, 30.0, 1e4], [1e-4, 0.3, 1.0, 20.0])
)


@pytest.mark.parametrize("name", SLACKS)
def test_slack_moments_on_a_broad_grid(name: str) -> None:
    for m, v, C in GRID:
        exact, ours = brute_force.integrate(name, m, v, C), tilted(name, m, v, C)
        scale = exact.variance**0.5
        where = f"m={m}, v={v}, C={C}"
        assert ours.value == pytest.approx(exact.log_z, rel=1e-11, abs=1e-11), where
        assert np.sqrt(v) * ours.slope == pytest.approx(exact.shift, rel=1e-9, abs=1e-11 * scale), where
        assert ours.keep == pytest.approx(exact.variance, rel=1e-9), where
        assert 1.0 - ours.shrink == pytest.approx(exact.variance, rel=1e-9, abs=1e-12), where
        assert v**1.5 * ours.third == pytest.approx(exact.third, rel=1e-7, abs=1e-9 * scale**3), where
        assert v**2 * ours.fourth == pytest.approx(exact.fourth, rel=1e-6, abs=1e-8 * scale**4), where


@pytest.mark.parametrize("name", SLACKS)
def test_slack_moments_at_the_extremes(name: str) -> None:
    for m, v, C in itertools.product([-1e4, -10.0, 0.9, 1.1, 1e4], [1e-12, 1e-6, 1.0, 1e6], [1e-6, 1.0, 1e3, 1e6]):
        exact, ours = brute_force.integrate(name, m, v, C), tilted(name, m, v, C)
        where = f"m={m}, v={v}, C={C}"
        assert ours.value == pytest.approx(exact.log_z, rel=1e-9, abs=1e-10), where
        if abs(exact.log_z) < 1e9:  # beyond it the exponents that ours is compared with have lost too many digits
            assert np.sqrt(v) * ours.slope == pytest.approx(exact.shift, rel=1e-7, abs=1e-14), where
            assert ours.keep == pytest.approx(exact.variance, rel=1e-6), where


@pytest.mark.parametrize("name", sorted(set(LIKELIHOODS) - set(SLACKS)))
def test_other_moments_on_a_grid(name: str) -> None:
    for m, v, C in itertools.product([-6.0, -1.0, 0.2, 1.0, 5.0], [1e-4, 0.1, 3.0, 400.0], [0.05, 1.0, 30.0]):
        exact, ours = brute_force.integrate(name, m, v, C), tilted(name, m, v, C)
        scale = exact.variance**0.5
        where = f"m={m}, v={v}, C={C}"
        assert ours.value == pytest.approx(exact.log_z, rel=1e-9, abs=1e-10), where
        assert np.sqrt(v) * ours.slope == pytest.approx(exact.shift, rel=1e-7, abs=1e-10 * scale), where
        assert ours.keep == pytest.approx(exact.variance, rel=1e-8), where
        assert 1.0 - ours.shrink == pytest.approx(exact.variance, rel=1e-8, abs=1e-10), where
        assert v**1.5 * ours.third == pytest.approx(exact.third, rel=1e-6, abs=1e-8 * scale**3), where
        assert v**2 * ours.fourth == pytest.approx(exact.fourth, rel=1e-5, abs=1e-7 * scale**4), where


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_expected_log_likelihood(name: str) -> None:
    for m, v, C in itertools.product([-6.0, 0.2, 1.0, 5.0], [1e-4, 0.1, 3.0, 400.0], [0.05, 1.0, 30.0]):
        exact, ours = brute_force.integrate(name, m, v, C, 1.7, tilted=False), expected(name, m, v, C, 1.7)
        assert ours.value == pytest.approx(exact.mean_log_likelihood, rel=1e-9, abs=1e-12), f"m={m}, v={v}, C={C}"
        assert ours.keep == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_weights_are_repetitions(name: str) -> None:
    ours, exact = tilted(name, 0.3, 2.0, 1.5, 2.6), brute_force.integrate(name, 0.3, 2.0, 1.5, 2.6)
    assert ours.value == pytest.approx(exact.log_z, rel=1e-9)
    assert ours.keep == pytest.approx(exact.variance, rel=1e-8)


def difference(function: Callable[[float], Moments], step: float) -> Moments:
    """Derivative of every entry at 0, by differences of fourth order."""
    near, far = ([np.array(function(s * k * step)) for s in (1, -1)] for k in (1, 2))
    return Moments(*(8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * step))


@pytest.mark.parametrize("moments", [tilted, expected])
@pytest.mark.parametrize("name", LIKELIHOODS)
def test_derivatives_are_those_of_the_value(name: str, moments: Callable[..., Moments]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(8):
        m, v, C, w = rng.normal() * 2, np.exp(rng.normal()), np.exp(rng.normal()), rng.choice([1.0, 2.5])
        here = moments(name, m, v, C, w)
        by_mean = difference(
            partial(lambda m, v, C, w, x: moments(name, m + x, v, C, w), m, v, C, w), 1e-3 * np.sqrt(v)
        )
        by_c = difference(partial(lambda m, v, C, w, x: moments(name, m, v, C + x, w), m, v, C, w), 1e-3 * C)
        assert here.slope == pytest.approx(by_mean.value, rel=1e-6, abs=1e-8)
        assert -here.shrink / v == pytest.approx(by_mean.slope, rel=1e-6, abs=1e-8)
        assert here.third == pytest.approx(-by_mean.shrink / v, rel=1e-6, abs=1e-8)
        assert here.fourth == pytest.approx(by_mean.third, rel=1e-5, abs=1e-7)
        assert here.value_c == pytest.approx(by_c.value, rel=1e-6, abs=1e-8)
        assert here.slope_c == pytest.approx(by_c.slope, rel=1e-6, abs=1e-8)
        assert here.curvature_c == pytest.approx(-by_c.shrink / v, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", SLACKS)
def test_nothing_overflows_however_extreme(name: str) -> None:
    m, v, C = (
        grid.ravel()
        for grid in np.meshgrid(
            [-1e4, -100.0, -1.0, 0.0, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 2.0, 100.0, 1e4],
            np.geomspace(1e-12, 1e6, 19),
            np.geomspace(1e-6, 1e6, 13),
        )
    )
    for k in np.unique(C):
        rows = k == C
        likelihood = as_likelihood(name).weighted(k, np.ones(rows.sum()))
        ours = likelihood.tilted(m[rows], v[rows], np.ones(rows.sum()))
        assert all(np.isfinite(entry).all() for entry in ours)
        assert (ours.keep > 0).all()
        assert (ours.shrink >= 0).all()  # log-concave
        np.testing.assert_allclose(ours.keep + ours.shrink, 1.0, rtol=1e-9)
        assert (ours.value <= 1e-15).all()


@pytest.mark.parametrize("name", sorted(set(LIKELIHOODS) - set(SLACKS)))
def test_quadrature_finds_its_range_however_extreme(name: str) -> None:
    m, v = (grid.ravel() for grid in np.meshgrid([-100.0, -1.0, 0.0, 1.0, 100.0, 1e4], np.geomspace(1e-12, 1e6, 7)))
    for C in (1e-6, 1.0, 1e6):
        likelihood = as_likelihood(name).weighted(C, np.full(len(m), 2.5))
        for ours in (likelihood.tilted(m, v, np.ones(len(m))), likelihood.expected(m, v, np.ones(len(m)))):
            assert all(np.isfinite(entry).all() for entry in ours)
            assert (ours.keep > 0).all()


def test_labels_only_change_the_sign_of_odd_derivatives() -> None:
    m, v = np.array([0.3, -0.3]), np.array([2.0, 2.0])
    both = as_likelihood("linear").weighted(1.3, np.ones(2)).tilted(m, v, np.array([1.0, -1.0]))
    for k, entry in enumerate(both):
        assert entry[1] == (-entry[0] if k in (1, 4, 7) else entry[0])


def test_unknown_likelihood_is_named() -> None:
    with pytest.raises(InvalidInputError, match="likelihood is 'cauchit'"):
        as_likelihood("cauchit").weighted(1.0, ONE)
