"""Leaving whole groups of rows out: closed forms against regression without the group, gradients by differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from differences import gradient_error
from marginwise.covariance import Partition
from marginwise.covariance.groups import BlockDiagonal, GroupCavities, members_of
from marginwise.criteria import as_criterion
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.ep import run
from marginwise.inference.ep.gradient import leave_one_out
from marginwise.inference.sites import site_posterior
from marginwise.kernels import Blend
from marginwise.likelihoods import as_slack
from marginwise.model import Model
from marginwise.multiclass.posterior import ClassPosterior, least_squares, softmax_map
from marginwise.problem import MulticlassProblem, Problem
from zoo import blobs

N = 60
H = Hyperparameters(1.5, 2.0, 0.3, [1.0, 2.0, 1.5])
BLEND = Model(1.3, Blend(1.0, 0.2, 0.5, 0.8, 2.0, (1.0, 2.0, 1.5)))
#: Of one row to nine, in no order.
GROUPS = np.random.default_rng(4).permutation(
    np.repeat(np.arange(16), [9, 7, 7, 5, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 1, 1])
)
COVARIANCES = ("dense", "low rank", "local")

every_covariance = pytest.mark.parametrize("kind", COVARIANCES)


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fixed point be found to rounding, as differences need it."""
    monkeypatch.setattr(run, "APPROXIMATE", run.APPROXIMATE._replace(accuracy=0.0))


def grouped(kind: str, groups: np.ndarray = GROUPS, n_classes: int = 2) -> Problem:
    """Rows of a group that are alike, with weights."""
    base = blobs(N, 3, shift=0.6)
    rng = np.random.default_rng(1)
    X = base.X + rng.normal(size=(N, 3))[groups]
    weights = rng.uniform(0.5, 2.0, size=N)
    problem = Problem(X, base.y, weights, groups=groups)
    if n_classes > 2:
        labels = rng.integers(n_classes, size=N).astype(float)
        problem = MulticlassProblem(X, labels, weights, groups=groups, n_classes=n_classes)
    if kind != "dense":
        problem = replace(problem, inducing=X[:9] + 0.01)
    if kind == "local":
        problem = replace(problem, partition=Partition.of(X, np.array(H.length_scales), 17))
    return problem


def without(prior: np.ndarray, tau: np.ndarray, nu: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances of a group's values by regression on the other rows, from their sites."""
    rest = ~group
    gain = prior[np.ix_(group, rest)] @ np.linalg.inv(prior[np.ix_(rest, rest)] + np.diag(1.0 / tau[rest]))
    mean = gain @ (nu[rest] / tau[rest][:, None])
    return mean, np.diagonal(prior[np.ix_(group, group)] - gain @ prior[np.ix_(rest, group)])


@every_covariance
@pytest.mark.parametrize("model", [H, BLEND], ids=["the paper's", "blend"])
@pytest.mark.parametrize("posterior", [least_squares, softmax_map])
def test_cavities_of_class_functions_are_regression_without_the_group(kind, model, posterior):
    problem = grouped(kind, n_classes=3)
    found: ClassPosterior = posterior(problem, model)
    g, residual = found.gaussian, found.gaussian.prior.residual
    prior = g.prior.times(np.eye(N))
    for k in range(GROUPS.max() + 1):
        own = k == GROUPS
        mean, variance = without(prior, g.tau, found.nu, own)
        np.testing.assert_allclose(found.cavity.mean[own], mean, atol=1e-7)
        extra = 0.0 if residual is None else residual[own]
        np.testing.assert_allclose(found.cavity.variance[own], variance + extra, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_least_squares_without_a_group_are_least_squares_on_the_other_rows(n_classes):
    """Nothing but the classes' means knows the group that was left out."""
    problem = grouped("dense", n_classes=n_classes)
    left_out = least_squares(problem, BLEND).left_out
    for k in (0, 3, 15):
        own = k == GROUPS
        rest = problem.subset(np.flatnonzero(~own))
        again = least_squares(rest, BLEND)
        means = least_squares(problem, BLEND).offset
        eta = again.eta + again.precision[:, None] * (again.offset - means)  # the same targets, less the same means
        moved = replace(again, eta=eta, offset=means)
        mean, variance = moved.predictor.moments(problem.X[own])
        np.testing.assert_allclose(left_out.mean[own], mean, atol=1e-8)
        np.testing.assert_allclose(left_out.variance[own], variance, rtol=1e-7)


@every_covariance
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_cavities_of_expectation_propagation_are_its_gaussian_without_the_groups_sites(kind, slack):
    problem = grouped(kind)
    found = site_posterior(problem, H, as_slack(slack))
    g = found.gaussian
    cavities = GroupCavities.of(g, GROUPS)
    mean = cavities.mean(g.mean, g.dual_mean)
    nu = g.dual_mean + g.tau * g.mean
    prior = g.prior.times(np.eye(N))
    for k in range(GROUPS.max() + 1):
        own = k == GROUPS
        expected = without(prior, g.tau, nu[:, None], own)
        np.testing.assert_allclose(mean[own], expected[0][:, 0], atol=1e-6)
        np.testing.assert_allclose(cavities.variance[own], expected[1], rtol=1e-6)


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_expectation_propagation_without_a_group_is_near_that_on_the_other_rows(slack):
    """Other rows' sites have known the group, which is all that is approximate; leaving out single rows is far off."""
    problem = grouped("dense")
    posterior = site_posterior(problem, H, as_slack(slack))
    ours = leave_one_out(posterior.gaussian, posterior.likelihood, problem).log_probability
    by_rows = leave_one_out(posterior.gaussian, posterior.likelihood, replace(problem, groups=None)).log_probability
    refitted = np.empty(N)
    for k in range(GROUPS.max() + 1):
        own = k == GROUPS
        rest = site_posterior(problem.subset(np.flatnonzero(~own)), H, as_slack(slack))
        log_proba = rest.predictor.log_proba(problem.X[own])
        refitted[own] = log_proba[np.arange(own.sum()), problem.labels[own]]
    near, far = ours - refitted, by_rows - refitted
    assert abs(near.mean()) < 0.04 < 0.12 < far.mean()
    assert np.linalg.norm(near) < 0.4 * np.linalg.norm(far)


@every_covariance
@pytest.mark.parametrize("criterion", ["ls-loo", "ep-loo"])
@pytest.mark.parametrize("model", [H, BLEND], ids=["the paper's", "blend"])
def test_gradients_are_those_of_differences(kind, criterion, model):
    assert gradient_error(as_criterion(criterion), grouped(kind), model) < 2e-5


@every_covariance
def test_the_gradient_of_several_classes_is_that_of_differences(kind):
    assert gradient_error(as_criterion("ls-loo"), grouped(kind, n_classes=3), BLEND) < 2e-5


@every_covariance
@pytest.mark.parametrize("criterion", ["ls-loo", "ep-loo"])
def test_groups_of_one_row_are_rows(kind, criterion):
    """The special case has its own, faster code: the same values and gradients."""
    problem = grouped(kind, np.arange(N)[::-1].copy())
    as_groups = as_criterion(criterion).evaluate(problem, H)
    as_rows = as_criterion(criterion).evaluate(replace(problem, groups=None, examples=np.ones(N)), H)
    assert as_groups.value == pytest.approx(as_rows.value, abs=1e-9)
    np.testing.assert_allclose(as_groups.gradient, as_rows.gradient, atol=1e-6)


def test_names_of_groups_do_not_matter():
    names = np.random.default_rng(0).permutation(GROUPS.max() + 1) * 7
    problem = grouped("dense")
    one, other, by_rows = (
        as_criterion("ls-loo").evaluate(replace(problem, groups=groups), H).value
        for groups in (GROUPS, names[GROUPS], None)
    )
    assert other == pytest.approx(one, rel=1e-12)
    assert one < by_rows - 0.05  # not that groups did not matter, either


def test_blocks_are_a_symmetric_matrix(rng):
    members = members_of(GROUPS)
    blocks = [rng.normal(size=(*rows.shape, rows.shape[1])) for rows in members]
    sparse = BlockDiagonal(members, [b + b.transpose(0, 2, 1) for b in blocks])
    dense = sparse.times(np.eye(N))
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_array_equal(dense[GROUPS[:, None] != GROUPS], 0.0)
    np.testing.assert_array_equal(sparse.diagonal, dense.diagonal())
    x = rng.normal(size=N)
    np.testing.assert_allclose(sparse.times(x), dense @ x)
    np.testing.assert_allclose(sparse.times_squared(x), dense**2 @ x)
    np.testing.assert_allclose(sparse.plus(x).times(np.eye(N)), dense + np.diag(x))
