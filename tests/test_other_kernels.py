"""A kernel that the library does not have, and a sum of four that it has, wherever a kernel can be given."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
import pytest

from differences import gradient_error
from known_laws import few, quadrature, quadrature_gradient
from marginwise import MarginSVC, evaluate, posterior, scan_line, solve, solve_gram, tune
from marginwise.criteria import as_criterion, criterion_class, criterion_names
from marginwise.criteria.base import Criterion
from marginwise.criteria.ep import EPEvidence, EPLeaveOneOut
from marginwise.criteria.radius import RadiusMargin, smallest_ball
from marginwise.criteria.training import train
from marginwise.errors import InvalidInputError
from marginwise.inference.ep import run
from marginwise.inference.sampling.collect import Precision
from marginwise.kernels import RBF, Blend, Constant, Kernel, Laplacian, Linear
from marginwise.likelihoods import SLACKS, as_slack
from marginwise.model import Model
from marginwise.priors import Prior
from marginwise.problem import Problem, as_problem
from periodic import Periodic
from zoo import blobs

PERIODIC = Periodic(1.5, 4.0, (1.2, 2.0))
SUM = RBF(1.2, (1.0, 2.0)) + Laplacian(0.5, (2.0, 3.0)) + Linear(0.4, (0.7, 1.3)) + Constant(0.2)
BLEND = Blend(1.2, 0.2, 0.4, 0.5, 2.5, (1.0, 2.0), k2=0.6, lam2=1.5)
KERNELS = {
    "periodic": PERIODIC,
    "one for all inputs": SUM.with_values(np.array([1.2, 0.5, 0.4, 0.2, 1.5, 2.5, 1.0])),
    "sum": SUM,
    "blend": BLEND,
}
PROBLEM = blobs(40, 2, shift=0.6)

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
every_slack = pytest.mark.parametrize("slack", SLACKS)


def smooth_criteria() -> list[Criterion]:
    """All criteria that have a value and a gradient, EP's with a fixed point exact enough for differences."""
    found: list[Criterion] = []
    for name in sorted({"radius-margin", *criterion_names()} - {"evidence"}):
        kind = criterion_class(name)
        options = {"tolerance": 1e-11} if kind in (EPEvidence, EPLeaveOneOut) else {}
        if kind.smooth:
            found += [kind(slack, **options) for slack in kind.slacks]
    return [*found, *(RadiusMargin(slack, radius="bound") for slack in SLACKS)]


SMOOTH = [
    pytest.param(c, id=f"{c.name}-{c.likelihood.name}{'-bound' * (vars(c).get('radius') == 'bound')}")
    for c in smooth_criteria()
]


def test_all_smooth_criteria_are_there() -> None:
    assert len(SMOOTH) >= 12


# Criteria


@pytest.mark.parametrize("criterion", SMOOTH)
@every_kernel
def test_gradient_agrees_with_differences(criterion: Criterion, kernel: Kernel) -> None:
    assert gradient_error(criterion, PROBLEM, Model(0.7, kernel)) < 1e-6


@pytest.mark.parametrize("criterion", SMOOTH)
def test_gradient_with_weights(criterion: Criterion) -> None:
    weights = np.random.default_rng(7).uniform(0.3, 3.0, size=PROBLEM.n)
    assert gradient_error(criterion, Problem(PROBLEM.X, PROBLEM.y, weights), Model(0.6, SUM)) < 1e-6


@pytest.mark.parametrize("name", sorted(set(criterion_names()) - {"evidence"}))
@every_kernel
def test_evaluate_takes_a_kernel(name: str, kernel: Kernel) -> None:
    result = evaluate(name, PROBLEM.X, PROBLEM.y, 0.7, kernel=kernel)
    assert result.status.ok, result.status.message
    assert np.isfinite(result.value)
    assert result.gradient is None or result.gradient.shape == (1 + len(kernel.values),)
    assert as_criterion(name).evaluate(PROBLEM, Model(0.7, kernel)).value == result.value
    assert evaluate(name, PROBLEM.X, PROBLEM.y, [0.7, *kernel.values], kernel=kernel).value == result.value


@every_kernel
def test_leave_one_out_is_retraining(kernel: Kernel) -> None:
    errors = 0
    for i in range(PROBLEM.n):
        rest = np.arange(PROBLEM.n) != i
        solution = solve(PROBLEM.X[rest], PROBLEM.y[rest], 0.7, kernel=kernel)
        latent = kernel.cross(PROBLEM.X[[i]], PROBLEM.X[rest]) @ (PROBLEM.y[rest] * solution.alpha)
        errors += int(latent[0] * PROBLEM.y[i] <= 0)
    assert evaluate("loo", PROBLEM.X, PROBLEM.y, 0.7, kernel=kernel).value == errors / PROBLEM.n


@pytest.mark.parametrize(("kernel", "n"), [(SUM, 2), (SUM, 8), (Linear(), 1), (Linear() + Constant(), 2)])
def test_values_must_be_as_many_as_the_kernel_has(kernel: Kernel, n: int) -> None:
    with pytest.raises(InvalidInputError, match="klin"):
        evaluate("gacv", PROBLEM.X, PROBLEM.y, np.full(n, 0.7), kernel=kernel)


# The smallest ball


def brute_force(P: np.ndarray, q: np.ndarray) -> float:
    """The largest Σγ_i q_i - γᵀPγ over γ ≥ 0, Σγ = 1, from the stationary points on all faces of the simplex."""
    best = 0.0
    n = len(P)
    for face in chain.from_iterable(combinations(range(n), size) for size in range(1, n + 1)):
        S = np.array(face)
        system = np.block([[2.0 * P[np.ix_(S, S)], np.ones((len(S), 1))], [np.ones((1, len(S))), np.zeros((1, 1))]])
        gamma = np.linalg.lstsq(system, np.append(q[S], 1.0), rcond=None)[0][:-1]
        if gamma.min() >= -1e-12 and abs(gamma.sum() - 1.0) < 1e-9:
            best = max(best, float(gamma @ q[S] - gamma @ P[np.ix_(S, S)] @ gamma))
    return best


@every_slack
@pytest.mark.parametrize("kernel", [Linear(2.0), Linear(2.0) + Constant(0.5), SUM, PERIODIC, RBF(0.1) + Linear(30.0)])
def test_ball_of_points_with_unequal_norms(kernel: Kernel, slack: str, rng: np.random.Generator) -> None:
    for shift in (0.0, 3.0):
        X, y = rng.normal(size=(7, 2)) + shift, np.tile([1.0, -1.0], 4)[:7]
        trained = train(as_problem(X, y), Model(1.3, kernel), as_slack(slack))
        P = kernel.gram(X) + (np.eye(7) / 1.3 if slack == "quadratic" else 0.0)
        ball = smallest_ball(trained)
        assert ball.status.ok
        assert ball.squared_radius == pytest.approx(brute_force(P, P.diagonal()), rel=1e-9)


@every_slack
@pytest.mark.parametrize("kernel", [Linear(2.0), SUM, PERIODIC])
def test_ball_of_weighted_points_is_that_of_their_copies(kernel: Kernel, slack: str, rng: np.random.Generator) -> None:
    """Each copy has a direction of its own in the feature space of K + I/C."""
    X, y, copies = rng.normal(size=(4, 2)), np.array([1.0, -1.0, 1.0, -1.0]), np.array([1, 2, 3, 1])
    trained = train(as_problem(X, y, copies), Model(1.3, kernel), as_slack(slack))
    P = kernel.gram(np.repeat(X, copies, axis=0)) + (np.eye(7) / 1.3 if slack == "quadratic" else 0.0)
    assert smallest_ball(trained).squared_radius == pytest.approx(brute_force(P, P.diagonal()), rel=1e-9)
    bound = RadiusMargin(slack, radius="bound").evaluate(trained.problem, trained.model)
    assert bound.info["squared_radius"] == pytest.approx(P.diagonal().max(), rel=1e-12)


# Low rank


@pytest.mark.parametrize("criterion", [EPEvidence, EPLeaveOneOut])
@every_slack
@every_kernel
def test_low_rank_gradients(criterion: type, slack: str, kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "APPROXIMATE", run.APPROXIMATE._replace(accuracy=0.0))
    problem = Problem(PROBLEM.X, PROBLEM.y, PROBLEM.weights, PROBLEM.X[:8] + 0.03)
    assert gradient_error(criterion(slack, tolerance=1e-12), problem, Model(0.7, kernel)) < 1e-6


@every_slack
@every_kernel
def test_low_rank_laplace_gradients(slack: str, kernel: Kernel) -> None:
    problem = Problem(PROBLEM.X, PROBLEM.y, PROBLEM.weights, PROBLEM.X[:8] + 0.03)
    assert gradient_error(as_criterion("laplace-evidence", slack), problem, Model(0.7, kernel)) < 1e-5


@every_kernel
def test_all_rows_inducing_is_the_whole_matrix(kernel: Kernel) -> None:
    X, y, new = PROBLEM.X, PROBLEM.y, PROBLEM.X[:6] + 0.1
    whole, low_rank = (posterior(X, y, 0.7, kernel=kernel, inducing=points) for points in (None, X))
    assert low_rank.log_evidence == pytest.approx(whole.log_evidence, abs=1e-5)
    np.testing.assert_allclose(low_rank.gradient, whole.gradient, atol=1e-5)
    np.testing.assert_allclose(low_rank.predict_proba(new), whole.predict_proba(new), atol=1e-5)
    one, other = (solve(X, y, 0.7, kernel=kernel, inducing=points) for points in (None, X))
    np.testing.assert_allclose(one.latent, other.latent, atol=1e-4)


# Posteriors

#: Two examples, whose posterior is known by quadrature.
TWO = few(2)


@every_slack
@every_kernel
def test_methods_against_quadrature(kernel: Kernel, slack: str) -> None:
    model = Model(0.7, kernel)
    exact = quadrature(TWO, model, as_slack(slack))
    ep, variational, laplace = (
        posterior(TWO.X, TWO.y, 0.7, slack, method, kernel=kernel) for method in ("ep", "variational", "laplace")
    )
    assert ep.log_evidence == pytest.approx(exact.log_evidence, abs=5e-3)
    assert exact.log_evidence - 0.1 < variational.log_evidence <= exact.log_evidence + 1e-9
    assert np.isfinite(laplace.log_evidence)
    mean = exact.mean(exact.latent)
    np.testing.assert_allclose(ep.latent_mean, mean, atol=0.02)
    np.testing.assert_allclose(variational.latent_mean, mean, atol=0.1)
    np.testing.assert_allclose(ep.gradient, quadrature_gradient(TWO, model, as_slack(slack)), atol=5e-3)


@every_slack
@every_kernel
def test_sampled_gradient_and_evidence(kernel: Kernel, slack: str) -> None:
    model = Model(0.7, kernel)
    exact, gradient = quadrature(TWO, model, as_slack(slack)), quadrature_gradient(TWO, model, as_slack(slack))
    precision = Precision(tolerance=0.01)
    ours = posterior(TWO.X, TWO.y, 0.7, slack, "sample", kernel=kernel, seed=1, evidence=True, precision=precision)
    assert (np.abs(ours.gradient - gradient) < 5 * ours.gradient_se + 1e-6).all()
    assert (ours.gradient_se < 0.05).all()
    assert abs(ours.log_evidence - exact.log_evidence) < 5 * ours.log_evidence_se
    np.testing.assert_allclose(ours.latent_mean, exact.mean(exact.latent), atol=0.05)


def test_the_papers_sampler() -> None:
    gradient = quadrature_gradient(TWO, Model(0.7, SUM), as_slack("linear"))
    ours = posterior(TWO.X, TWO.y, 0.7, "linear", "hmc", kernel=SUM, seed=1, n_samples=6000, n_discarded=1000)
    assert (np.abs(ours.gradient - gradient) < 5 * ours.gradient_se + 1e-6).all()
    assert (ours.gradient_se < 0.05).all()


@every_kernel
def test_sampled_gradient_is_near_that_of_ep(kernel: Kernel) -> None:
    """On forty examples, whose quadrature nobody can do; EP's own error is small there."""
    ep = posterior(PROBLEM.X, PROBLEM.y, 0.7, kernel=kernel)
    ours = posterior(PROBLEM.X, PROBLEM.y, 0.7, method="sample", kernel=kernel, seed=1)
    assert (np.abs(ours.gradient - ep.gradient) < 5 * ours.gradient_se + 2e-3).all()


@every_kernel
def test_predictions_go_back_to_the_prior_far_away(kernel: Kernel) -> None:
    result = posterior(PROBLEM.X, PROBLEM.y, 0.7, kernel=kernel)
    new = np.random.default_rng(3).normal(size=(9, 2)) * 2.0
    _, variance = result.latent_mean_and_variance(new)
    assert (variance > 0).all()
    assert (variance <= kernel.diagonal(new)).all()
    np.testing.assert_allclose(result.predict_proba(new).sum(axis=1), 1.0, rtol=1e-12)


# The SVM, the searches and the estimators


@every_slack
@every_kernel
def test_svm_is_that_of_the_gram_matrix(kernel: Kernel, slack: str) -> None:
    expected = solve_gram(kernel.gram(PROBLEM.X), PROBLEM.y, 1.7, slack)
    for options in ({}, {"max_memory": 4000}):  # a matrix in memory, and rows on demand
        ours = solve(PROBLEM.X, PROBLEM.y, 1.7, slack, kernel=kernel, **options)
        assert ours.status.ok
        np.testing.assert_allclose(ours.latent, expected.latent, atol=1e-9)


@pytest.mark.parametrize("criterion", ["ep-loo", "radius-margin", "cross-validation"])
@every_kernel
def test_tune_improves_on_the_start(criterion: str, kernel: Kernel) -> None:
    start = evaluate(criterion, PROBLEM.X, PROBLEM.y, 1.0, kernel=kernel.for_inputs(2))
    found = tune(PROBLEM.X, PROBLEM.y, criterion, kernel=kernel, max_evaluations=15, random_state=0)
    assert type(found.hyperparameters.kernel) is type(kernel)
    assert found.hyperparameters.names == Model(1.0, kernel.for_inputs(2)).names
    sign = 1.0 if criterion_class(criterion).direction == "maximise" else -1.0
    if criterion_class(criterion).smooth:
        assert sign * found.value > sign * start.value
    else:
        assert sign * found.value >= sign * start.value


def test_tune_with_a_prior_random_starts_and_one_for_all_inputs() -> None:
    kernel = KERNELS["one for all inputs"]
    found = tune(
        PROBLEM.X,
        PROBLEM.y,
        "laplace-evidence",
        kernel=kernel,
        isotropic=True,
        prior=Prior(),
        restarts=2,
        random_state=0,
        max_evaluations=10,
    )
    assert len(found.restarts) == 3
    assert found.hyperparameters.names == ("C", "k0", "k1", "klin", "koff", "l", "lam", "m")
    starts = [next(iter(run.trace)).hyperparameters for run in found.restarts]
    assert len({tuple(start.values) for start in starts}) == 3


@every_kernel
def test_scan_line(kernel: Kernel) -> None:
    ends = [Model(0.5, kernel), Model(2.0, kernel)]
    by_models = scan_line("gacv", PROBLEM.X, PROBLEM.y, *ends, n_points=5)
    by_values = scan_line("gacv", PROBLEM.X, PROBLEM.y, *(end.values for end in ends), n_points=5, kernel=kernel)
    values = [evaluate("gacv", PROBLEM.X, PROBLEM.y, C, kernel=kernel).value for C in np.geomspace(0.5, 2.0, 5)]
    for line in (by_models, by_values):
        np.testing.assert_allclose(line.values["gacv"], values, rtol=1e-9)


@every_kernel
def test_margin_svc(kernel: Kernel) -> None:
    model = MarginSVC(C=1.7, kernel=kernel).fit(PROBLEM.X, PROBLEM.y)
    expected = solve(PROBLEM.X, PROBLEM.y, 1.7, kernel=kernel)
    np.testing.assert_allclose(model.decision_function(PROBLEM.X), expected.latent, atol=1e-9)
    assert model.get_params()["kernel"] is kernel
