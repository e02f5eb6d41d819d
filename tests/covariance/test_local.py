"""Local blocks: everything is that of the dense matrix VVᵀ + blockdiag(K - VVᵀ), and derivatives by differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from differences import gradient_error
from marginwise.covariance import DenseCovariance, LocalGaussian, Partition, choose_inducing
from marginwise.criteria.ep import EPEvidence, EPLeaveOneOut
from marginwise.criteria.least_squares import LeastSquaresLeaveOneOut
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.api import posterior
from marginwise.inference.ep import run
from marginwise.inference.ep.gradient import leave_one_out
from marginwise.inference.ep.moves import Moves
from marginwise.inference.ep.run import run_ep
from marginwise.inference.gaussian import GaussianPosterior
from marginwise.inference.sites import site_posterior
from marginwise.kernels import Blend
from marginwise.likelihoods import SLACKS, as_slack
from marginwise.model import Model
from marginwise.multiclass.posterior import least_squares, softmax_map
from marginwise.problem import MulticlassProblem, Problem
from marginwise.svm.api import solve_problem, solve_svm
from zoo import blobs, hard_problems

H = Hyperparameters(1.5, 2.0, 0.3, [1.0, 2.0, 1.5])
BLEND = Model(1.3, Blend(1.0, 0.2, 0.5, 0.8, 2.0, (1.0, 2.0, 1.5)))
HARD = {name: (problem, h) for name, problem, h in hard_problems()}
NEW = np.random.default_rng(2).normal(size=(25, 3))

every_slack = pytest.mark.parametrize("slack", SLACKS)
every_model = pytest.mark.parametrize("model", [H, BLEND], ids=["the paper's", "blend"])


@pytest.fixture(autouse=True)
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the fixed point be found to rounding, as differences need it."""
    monkeypatch.setattr(run, "APPROXIMATE", run.APPROXIMATE._replace(accuracy=0.0))


def local(size: int = 17, rank: int = 8, n: int = 60) -> Problem:
    base = blobs(n, 3, shift=0.6)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, size=n)
    partition = Partition.of(base.X, np.array(H.length_scales), size)
    return replace(base, weights=weights, inducing=base.X[:rank] + 0.01, partition=partition)


def classes(at: Problem) -> MulticlassProblem:
    labels = np.random.default_rng(5).integers(3, size=at.n).astype(float)
    return MulticlassProblem(at.X, labels, at.weights, at.inducing, None, at.partition, n_classes=3)


def dense_problem(at: Problem) -> Problem:
    return replace(at, inducing=None, partition=None)


def matrix(at: Problem, model: Model, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The matrix that stands for K, by the textbook: exact for rows in one block, Nyström's for others."""
    kernel = model.kernel
    inner = kernel.gram(at.inducing)
    inner += 1e-9 * np.diag(inner.diagonal())
    Q = kernel.cross(A, at.inducing) @ np.linalg.solve(inner, kernel.cross(at.inducing, B))
    same = at.partition.assign(A)[:, None] == at.partition.assign(B)
    return np.where(same, kernel.cross(A, B), Q)


@every_slack
@every_model
@pytest.mark.parametrize(("size", "rank"), [(17, 8), (30, 1), (5, 40)])
def test_is_the_dense_method_on_the_approximate_matrix(slack: str, model: Model, size: int, rank: int) -> None:
    at = local(size, rank)
    assert at.partition.n_blocks > 1
    K = DenseCovariance.of_matrix(matrix(at, model, at.X, at.X))
    likelihood = as_slack(slack).weighted(model.C, at.weights)
    dense = run_ep(K, at.y, likelihood, tolerance=1e-12)
    ours = site_posterior(at, model, as_slack(slack), tolerance=1e-12)
    assert ours.status.ok
    assert ours.log_evidence == pytest.approx(dense.log_evidence, abs=1e-6)
    np.testing.assert_allclose(ours.latent_mean, dense.mean, atol=1e-6)
    np.testing.assert_allclose(ours.latent_variance, dense.variance, rtol=1e-6)
    left_out = [leave_one_out(g, likelihood, at).log_probability for g in (ours.gaussian, dense.gaussian)]
    np.testing.assert_allclose(*left_out, atol=1e-6)
    k = matrix(at, model, NEW, at.X)
    b, W = dense.gaussian.predictor()
    mean, variance = ours.latent_mean_and_variance(NEW)
    np.testing.assert_allclose(mean, k @ b, atol=1e-6)
    np.testing.assert_allclose(variance, model.kernel.diagonal(NEW) - np.einsum("ij,ij->i", k @ W, k), rtol=1e-5)


@every_slack
@pytest.mark.parametrize("criterion", [EPEvidence, EPLeaveOneOut])
def test_one_block_is_the_exact_matrix(criterion: type, slack: str) -> None:
    at = local(60)
    exact = criterion(slack).evaluate(dense_problem(at), H)
    ours = criterion(slack).evaluate(at, H)
    assert ours.value == pytest.approx(exact.value, abs=1e-9)
    np.testing.assert_allclose(ours.gradient, exact.gradient, atol=1e-7)
    whole, parts = (site_posterior(one, H, as_slack(slack)) for one in (dense_problem(at), at))
    for theirs, own in zip(whole.latent_mean_and_variance(NEW), parts.latent_mean_and_variance(NEW), strict=True):
        np.testing.assert_allclose(own, theirs, atol=1e-7)


@every_model
@pytest.mark.parametrize("criterion", [EPEvidence, EPLeaveOneOut])
@pytest.mark.parametrize(("size", "rank"), [(17, 8), (30, 1)])
def test_gradients_agree_with_differences(criterion: type, model: Model, size: int, rank: int) -> None:
    assert gradient_error(criterion("linear", tolerance=1e-12), local(size, rank), model) < 1e-6


@every_slack
def test_gradients_of_the_other_slack_and_length_scale_agree(slack: str) -> None:
    model = Hyperparameters(0.7, 20.0, 3.0, 2.0)
    assert gradient_error(EPLeaveOneOut(slack, tolerance=1e-12), local(), model) < 1e-6


@every_model
def test_least_squares_are_those_of_the_approximate_matrix(model: Model) -> None:
    at = classes(local())
    K = matrix(at, model, at.X, at.X)
    ours = least_squares(at, model)
    targets = np.where(at.labels[:, None] == np.arange(3), 1.0, -1.0) - ours.offset + 1.0
    A = np.linalg.inv(K + np.diag(1.0 / (model.C * at.weights)))
    alpha = A @ targets
    v = 1.0 / A.diagonal() - 1.0 / (model.C * at.weights)  # Rasmussen & Williams (2006), eqs. 5.11, 5.12
    np.testing.assert_allclose(ours.cavity.variance, v, rtol=1e-6)
    np.testing.assert_allclose(ours.cavity.mean, targets - alpha / A.diagonal()[:, None], atol=1e-6)
    moments = ours.predictor.moments(NEW)
    k = matrix(at, model, NEW, at.X)
    np.testing.assert_allclose(moments.mean, k @ alpha + ours.offset, atol=1e-6)
    variance = model.kernel.diagonal(NEW) - np.einsum("ij,ij->i", k @ A, k)
    np.testing.assert_allclose(moments.variance, model.C * variance, rtol=1e-5)
    np.testing.assert_allclose(ours.predictor.scores(NEW), moments.mean, atol=1e-12)


@every_model
def test_least_squares_gradients_agree_with_differences(model: Model) -> None:
    assert gradient_error(LeastSquaresLeaveOneOut(), classes(local()), model) < 1e-6
    assert gradient_error(LeastSquaresLeaveOneOut(), local(), model) < 1e-6


def test_softmax_of_one_block_is_that_of_the_exact_matrix() -> None:
    at = classes(local(60))
    exact, ours = softmax_map(dense_problem(at), BLEND), softmax_map(at, BLEND)
    np.testing.assert_allclose(ours.left_out.mean, exact.left_out.mean, atol=1e-6)
    np.testing.assert_allclose(ours.left_out.variance, exact.left_out.variance, rtol=1e-6)
    for theirs, own in zip(exact.predictor.moments(NEW), ours.predictor.moments(NEW), strict=True):
        np.testing.assert_allclose(own, theirs, atol=1e-6)


def test_softmax_mode_is_stationary() -> None:
    """At the mode b = K⁻¹θ is the slope w(indicator - p) of the log-likelihood."""
    at = classes(local())
    ours = softmax_map(at, BLEND)
    K = BLEND.C * matrix(at, BLEND, at.X, at.X)
    np.testing.assert_allclose(K @ ours.dual_mean, ours.mean, atol=1e-6)
    p = np.exp(ours.mean) / np.exp(ours.mean).sum(axis=1, keepdims=True)
    slope = at.weights[:, None] * ((at.labels[:, None] == np.arange(3)) - p)
    np.testing.assert_allclose(ours.dual_mean, slope, atol=2e-3)


def moments(gaussian: LocalGaussian, nu: np.ndarray, X: np.ndarray = NEW) -> tuple[np.ndarray, np.ndarray]:
    prior = gaussian.prior
    return gaussian.moments_at(X, prior.features.at(X), prior.mean_weights(*gaussian.coefficients(nu)))


def one_by_one(gaussian: LocalGaussian, nu: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same by the formulas with r, row by row and in double precision whatever that of the blocks is."""
    prior, (dual, u), found = gaussian.prior, gaussian.coefficients(nu), []
    duals = prior.split(dual)
    for x in X:
        v = prior.features.at(x[None])[0]
        mean, variance, rest = v @ u, prior.kernel.diagonal(x[None])[0] - v @ v, gaussian.root @ v
        k = prior._present.get(int(prior.partition.assign(x[None])[0]))
        if k is not None:
            part = gaussian.parts.blocks[k]
            V, J, W, tau = (
                one.astype(float) for one in (part.block.V, part.J, part.open.precision_gain(), part.open.tau)
            )
            r = prior.kernel.cross(x[None], part.block.X)[0] - V @ v
            mean, variance, rest = mean + r @ duals[k], variance - r @ W @ r, rest - J.T @ (tau * r)
        found.append((mean, variance + rest @ rest))
    means, variances = zip(*found, strict=True)
    return np.array(means), np.array(variances)


@every_model
@pytest.mark.parametrize("single", [False, True])
def test_many_rows_at_once_are_predicted_as_each_alone(model: Model, single: bool) -> None:
    """Also rows that were trained on, among them inducing inputs, rows far away, and none at all."""
    at = replace(local(n=300, size=60, rank=40), single=single)
    ours = site_posterior(at, model, as_slack("linear")).gaussian
    assert isinstance(ours, LocalGaussian)
    assert ours.parts.blocks[0].open.explained.matrix.dtype == (np.float32 if single else np.float64)
    X = np.concatenate([NEW, at.X[::7], at.X[:3] + 0.01, 20.0 * NEW[:3]])
    exact = one_by_one(ours, ours.nu, X)
    for found, expected in zip(moments(ours, ours.nu, X), exact, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-5 if single else 1e-9, atol=0.0 if single else 1e-11)
    np.testing.assert_array_equal(moments(ours, ours.nu, X)[0], predicted_means(ours, X))
    assert [len(part) for part in moments(ours, ours.nu, X[:0])] == [0, 0]


def predicted_means(gaussian: LocalGaussian, X: np.ndarray) -> np.ndarray:
    prior = gaussian.prior
    return prior.means_at(X, prior.features.at(X), prior.mean_weights(*gaussian.coefficients(gaussian.nu)))


def test_small_variances_of_single_precision_keep_their_digits() -> None:
    """A constant takes 99.9 % of the prior variance, and many labels leave a thousandth of the rest."""
    at = replace(local(n=300, size=60, rank=40), single=True)
    prior = at.covariance(Model(1.0, Blend(1.0, 3000.0, 0.0, 0.5, 2.0, (1.0, 2.0, 1.5))))
    ours = prior.gaussian(np.full(at.n, 3000.0), np.linspace(-1.0, 1.0, at.n))
    assert isinstance(ours, LocalGaussian)
    (mean, variance), (means, variances) = (f(ours, ours.nu, at.X[::5]) for f in (moments, one_by_one))
    assert variances.max() < 2e-3
    np.testing.assert_allclose(variance, variances, rtol=0.005)
    np.testing.assert_allclose(mean, means, rtol=1e-9, atol=1e-9)


@every_model
def test_rows_of_a_block_without_any_are_predicted_by_features_alone(model: Model) -> None:
    at = local()
    few = at.partition.assign(at.X) != at.partition.assign(at.X)[0]
    at = replace(at, X=at.X[few], y=at.y[few], weights=at.weights[few])
    ours = site_posterior(at, model, as_slack("linear")).gaussian
    assert isinstance(ours, LocalGaussian)
    assert any(found.block is None for found in ours.prior.located(NEW))
    for found, expected in zip(moments(ours, ours.nu), one_by_one(ours, ours.nu, NEW), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@every_model
def test_predictions_do_not_need_the_covariances_of_the_rows_before_their_labels(model: Model) -> None:
    ours = least_squares(classes(local()), model)
    whole, few = ours.gaussian, ours.predictor.gaussian
    assert isinstance(whole, LocalGaussian)
    for one, other in zip(moments(whole, ours.nu), moments(few, ours.nu), strict=True):
        np.testing.assert_array_equal(one, other)
    weights = np.linspace(-1.0, 1.0, len(NEW))
    assert whole.variance_of_sum(NEW, weights) == few.variance_of_sum(NEW, weights)
    assert sum(part.open.prior.gram.size + part.block.open.gram.size for part in few.parts.blocks) == 0
    assert all(block.open.gram.size == 0 for block in few.prior.blocks.blocks)
    assert all(part.open.prior.gram.size > 0 for part in whole.parts.blocks)


@every_slack
def test_svm_is_that_of_the_approximate_matrix(slack: str) -> None:
    at = local()
    theirs = solve_svm(DenseCovariance.of_matrix(matrix(at, H, at.X, at.X)), at.y, at.penalties(H.C), as_slack(slack))
    ours = solve_problem(at, H, as_slack(slack))
    assert ours.status.ok
    np.testing.assert_allclose(ours.latent, theirs.latent, atol=1e-6)
    np.testing.assert_allclose(ours.objective, theirs.objective, rtol=1e-6)
    signed = at.y * ours.alpha
    np.testing.assert_allclose(at.covariance(H).function_at(NEW, signed), matrix(at, H, NEW, at.X) @ signed, atol=1e-6)


def test_a_training_row_is_predicted_as_itself() -> None:
    at = local()
    ours = site_posterior(at, H, as_slack("linear"))
    mean, variance = ours.latent_mean_and_variance(at.X)
    np.testing.assert_allclose(mean, ours.latent_mean, atol=1e-7)
    np.testing.assert_allclose(variance, ours.latent_variance, rtol=1e-6)


@pytest.mark.parametrize("many", [False, True])
def test_slopes_and_terms_are_those_of_the_latent_mean(many: bool) -> None:
    at = local()
    weights = at.weights
    predictor = (least_squares(classes(at), BLEND) if many else site_posterior(at, BLEND, as_slack("linear"))).predictor

    def latent(X: np.ndarray) -> np.ndarray:
        return predictor.latent_mean(X).reshape(len(X), -1)

    step, squares = 1e-6, []
    for move in step * np.eye(3):
        slopes = (latent(at.X + move) - latent(at.X - move)) / (2.0 * step)
        squares.append(weights @ (slopes**2).sum(axis=1) / weights.sum())
    np.testing.assert_allclose(predictor.squared_slopes(weights), squares, rtol=1e-3)
    shares = predictor.term_shares(weights)
    assert sum(shares.values()) == pytest.approx(1.0)
    parts = sum(predictor._latent_of(term, at.n) for term in BLEND.kernel.terms)
    np.testing.assert_allclose(parts, latent(at.X), atol=1e-6)


def test_a_block_without_rows_is_predicted_from_afar() -> None:
    """Of a fold the blocks are those of all rows, and some can be empty."""
    at = local()
    numbers = at.partition.assign(at.X)
    fold = at.subset(np.flatnonzero(numbers != numbers[0]))
    new = NEW[at.partition.assign(NEW) == numbers[0]]
    assert len(new)
    ours = site_posterior(fold, H, as_slack("linear"))
    k = matrix(fold, H, new, fold.X)
    mean, variance = ours.latent_mean_and_variance(new)
    np.testing.assert_allclose(mean, k @ ours.gaussian.dual_mean, atol=1e-6)
    assert (variance > 0.0).all()


def test_rows_that_are_inducing_inputs_leave_nothing_open() -> None:
    base = local()
    at = replace(base, inducing=base.X)
    exact = EPLeaveOneOut().evaluate(dense_problem(at), H)
    ours = EPLeaveOneOut().evaluate(at, H)
    assert ours.status.ok
    assert ours.value == pytest.approx(exact.value, abs=1e-6)
    np.testing.assert_allclose(ours.gradient, exact.gradient, atol=1e-5)


def test_repeated_rows_are_those_of_the_approximate_matrix() -> None:
    at = local()
    at = at.subset(np.repeat(np.arange(60), np.random.default_rng(3).integers(1, 4, size=60)))
    K = DenseCovariance.of_matrix(matrix(at, H, at.X, at.X))
    dense = run_ep(K, at.y, as_slack("linear").weighted(H.C, at.weights), tolerance=1e-10)
    ours = EPEvidence(tolerance=1e-10).evaluate(at, H)
    assert ours.value * at.weights.sum() == pytest.approx(dense.log_evidence, abs=1e-6)


def test_sites_give_the_posterior_back() -> None:
    at = local()
    ours = site_posterior(at, H, as_slack("linear"))
    again = GaussianPosterior.from_sites(at, H, ours.likelihood, ours.sites)
    np.testing.assert_allclose(again.log_label_probability(NEW), ours.log_label_probability(NEW), atol=1e-9)


def test_many_rows_converge_in_few_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "APPROXIMATE", run.APPROXIMATE._replace(accuracy=1e-6))
    base = blobs(2000, 2, shift=0.5)
    at = replace(base, inducing=base.X[:40], partition=Partition.of(base.X, np.ones(2), 150))
    cold = EPLeaveOneOut().evaluate(at, Hyperparameters(1.0, 30.0, 1.0, 1.0))
    warm = EPLeaveOneOut().evaluate(at, Hyperparameters(1.0, 31.0, 1.0, 1.0), cold.state)
    assert cold.status.ok
    assert cold.info["sweeps"] <= 20
    assert warm.info["sweeps"] < cold.info["sweeps"]


@every_slack
@pytest.mark.parametrize("name", HARD)
def test_hard_problems_converge(slack: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "APPROXIMATE", run.APPROXIMATE._replace(accuracy=1e-6))
    base, h = HARD[name]
    partition = Partition.of(base.X, h.kernel.lengths(base.X.shape[1]), 15)
    at = replace(base, inducing=choose_inducing(base.X, h.kernel, 12), partition=partition)
    ours = site_posterior(at, h, as_slack(slack))
    assert ours.status.ok, ours.status.message
    assert np.isfinite(ours.log_evidence)
    assert (ours.latent_variance > 0).all()


def test_updates_in_turn_need_no_matrix_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    at = local()
    moves = Moves(at.covariance(H), at.y, as_slack("linear").weighted(H.C, at.weights))
    monkeypatch.setattr(LocalGaussian, "full_covariance", lambda self: pytest.fail("n×n numbers were asked for"))
    start = moves.prior()
    moved = moves.one_at_a_time(start, 0.9)
    assert moved is not None
    assert moved.rms_residual < start.rms_residual


def test_methods_without_a_form_with_blocks_say_so() -> None:
    at = local()
    with pytest.raises(InvalidInputError, match="partition"):
        at.undivided_covariance(H)
    with pytest.raises(InvalidInputError, match="inducing"):
        replace(at, inducing=None)
    with pytest.raises(InvalidInputError, match="rank"):
        at.dense_covariance(H)
    assert posterior(at.X, at.y, H, inducing=at.inducing).status.ok
