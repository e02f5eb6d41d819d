"""A likelihood of a user, in NumPy alone, does all that those of the package do."""

from __future__ import annotations

import numpy as np
import pytest

from differences import gradient_error
from marginwise import TunedSVC, evaluate, posterior, tune
from marginwise.criteria import as_criterion
from marginwise.criteria.ep import EPEvidence, EPLeaveOneOut
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference.ep import run
from marginwise.inference.ep.run import run_ep
from marginwise.inference.ep.sequential import sweep_sites
from marginwise.likelihoods import LIKELIHOODS, LINEAR, SLACKS, Likelihood, Logistic, Moments, Normalised, as_likelihood
from marginwise.problem import Problem
from zoo import blobs

H = Hyperparameters(1.4, 3.0, 0.2, [1.0, 1.5])
PROBLEM = blobs(20, 2, shift=0.5)
WEIGHTED = Problem(PROBLEM.X, PROBLEM.y, np.random.default_rng(7).uniform(0.3, 3.0, size=20))

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
_PANELS = 100


class OwnLogistic(Likelihood):
    """1/(1 + e^{-f}), or 1/(1 + e^{-Cf}) with ``has_penalty``, by dense quadrature."""

    name = "own-logistic"

    def __init__(self, *, has_penalty: bool = False) -> None:
        self.has_penalty = has_penalty

    def tilted(self, f: np.ndarray, v: np.ndarray, C: float, weights: np.ndarray) -> Moments:
        return self._moments(f, v, C if self.has_penalty else 1.0, weights, True)

    def expected(self, f: np.ndarray, v: np.ndarray, C: float, weights: np.ndarray) -> Moments:
        return self._moments(f, v, C if self.has_penalty else 1.0, weights, False)

    def _moments(self, f: np.ndarray, v: np.ndarray, C: float, w: np.ndarray, tilted: bool) -> Moments:
        s = np.sqrt(v)
        low, high = -9.0 * s, 9.0 * s + C * w * v * tilted  # the slope of ln t is never above C
        step = (high - low)[:, None, None] / _PANELS
        x = low[:, None, None] + step * (np.arange(_PANELS)[:, None] + 0.5 * (1.0 + _NODES))
        x, weight = x.reshape(len(f), -1), (0.5 * step * np.tile(_WEIGHTS, (_PANELS, 1))).reshape(len(f), -1)
        z, w, v = f[:, None] + x, w[:, None], v[:, None]
        log_t, wrong = -w * np.logaddexp(0.0, -C * z), 1.0 / (1.0 + np.exp(C * z))
        slope, by_c = w * C * wrong, self.has_penalty * w * z * wrong
        density = weight * np.exp(log_t * tilted - 0.5 * x**2 / v) / np.sqrt(2.0 * np.pi * v)
        total = density.sum(axis=1)
        density /= total[:, None]

        def mean(values: np.ndarray) -> np.ndarray:
            return np.einsum("ij,ij->i", density, values)

        e, d, d_c = (values - mean(values)[:, None] for values in (x, slope, by_c))
        variance, covariance, v = mean(e * e), mean(e * d), v[:, 0]
        return Moments(
            np.log(total) if tilted else mean(log_t),
            mean(slope),
            -covariance,
            variance / v,
            mean(e**2 * d) / v**2,
            (mean(e**3 * d) - 3.0 * variance * covariance) / v**3,
            mean(by_c),
            mean(e * d_c) / v,
            mean(e**2 * d_c) / v**2,
        )


class Asked(Likelihood):
    """Another likelihood behind a type that nothing in the package knows."""

    def __init__(self, other: Likelihood) -> None:
        self.name, self.has_penalty, self.other = f"asked-{other.name}", other.has_penalty, other

    def tilted(self, f: np.ndarray, v: np.ndarray, C: float, weights: np.ndarray) -> Moments:
        return self.other.tilted(f, v, C, weights)

    def expected(self, f: np.ndarray, v: np.ndarray, C: float, weights: np.ndarray) -> Moments:
        return self.other.expected(f, v, C, weights)

    def log_kappa(self, C: float) -> float:
        return self.other.log_kappa(C)

    def log_kappa_derivative(self, C: float) -> float:
        return self.other.log_kappa_derivative(C)


@pytest.mark.parametrize("moments", ["tilted", "expected"])
def test_its_moments_are_those_of_the_package(moments: str, rng: np.random.Generator) -> None:
    f, v, w = rng.normal(size=20), np.exp(rng.normal(size=20)), rng.uniform(0.3, 3.0, size=20)
    ours, theirs = (getattr(one, moments)(f, v, 1.0, w) for one in (OwnLogistic(), Logistic()))
    for name, own, known in zip(Moments._fields, ours, theirs, strict=True):
        np.testing.assert_allclose(own, known, rtol=1e-9, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("name", ["ep-evidence", "ep-loo"])
@pytest.mark.parametrize("problem", [PROBLEM, WEIGHTED], ids=["plain", "weighted"])
def test_criteria_take_it(name: str, problem: Problem) -> None:
    ours = evaluate(name, problem.X, problem.y, H, OwnLogistic(), sample_weight=problem.weights)
    theirs = evaluate(name, problem.X, problem.y, H, "logistic", sample_weight=problem.weights)
    assert ours.value == pytest.approx(theirs.value, rel=1e-9)
    np.testing.assert_allclose(ours.gradient, theirs.gradient, atol=1e-8)
    assert ours.gradient[0] == 0.0  # nothing depends on C


@pytest.mark.parametrize("kind", [EPEvidence, EPLeaveOneOut])
@pytest.mark.parametrize("has_penalty", [False, True])
@pytest.mark.parametrize("problem", [PROBLEM, WEIGHTED], ids=["plain", "weighted"])
def test_gradients_by_differences(kind, has_penalty: bool, problem: Problem) -> None:
    criterion = kind(OwnLogistic(has_penalty=has_penalty), tolerance=1e-11)
    assert gradient_error(criterion, problem, H) < 1e-6


@pytest.mark.parametrize("kind", [EPEvidence, EPLeaveOneOut])
@pytest.mark.parametrize("likelihood", sorted(set(LIKELIHOODS) - set(SLACKS)))
def test_gradients_of_those_of_the_package(kind, likelihood: str) -> None:
    assert gradient_error(kind(likelihood, tolerance=1e-11), WEIGHTED, H) < 1e-6


def test_gradients_with_inducing_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = run.APPROXIMATE._replace(accuracy=0.0)  # as differences need it
    monkeypatch.setattr(run, "APPROXIMATE", exact)
    inducing = Problem(PROBLEM.X, PROBLEM.y, PROBLEM.weights, PROBLEM.X[:8] + 0.01)
    for kind in (EPEvidence, EPLeaveOneOut):
        assert gradient_error(kind(OwnLogistic(), tolerance=1e-12), inducing, H) < 1e-6


def test_posteriors_take_it() -> None:
    for method in ("ep", "variational"):
        ours = posterior(PROBLEM.X, PROBLEM.y, H, OwnLogistic(), method)
        theirs = posterior(PROBLEM.X, PROBLEM.y, H, "logistic", method)
        np.testing.assert_allclose(ours.predict_proba(PROBLEM.X[:5]), theirs.predict_proba(PROBLEM.X[:5]), atol=1e-7)
    with pytest.raises(InvalidInputError, match="likelihood is 'own-logistic'; expected linear or quadratic"):
        posterior(PROBLEM.X, PROBLEM.y, H, OwnLogistic(), "laplace")


@pytest.mark.parametrize("slack", SLACKS.values(), ids=SLACKS)
def test_one_site_at_a_time_is_the_same_compiled_or_asked(slack) -> None:
    K, n = PROBLEM.dense_covariance(H).gram, PROBLEM.n
    found = []
    for likelihood in (slack, Asked(slack)):
        covariance, mean, tau, nu = K.copy(), np.zeros(n), np.zeros(n), np.zeros(n)
        for _ in range(3):
            sweep_sites(covariance, mean, tau, nu, PROBLEM.y, likelihood.weighted(H.C, WEIGHTED.weights), 0.9)
        found.append(np.concatenate([covariance.ravel(), mean, tau, nu]))
    assert np.abs(found[0][-n:]).min() > 0.0
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-14)


def test_a_marginal_without_variance_is_left_alone() -> None:
    """Compiled or asked: rounding may leave nothing of a marginal."""
    for likelihood in (LINEAR, Asked(LINEAR)):
        covariance, mean = np.diag([1.0, -1e-17, 1.0]), np.zeros(3)
        tau, nu = np.array([0.1, 0.1, 2.0]), np.zeros(3)
        sweep_sites(covariance, mean, tau, nu, np.ones(3), likelihood.weighted(1.0, np.ones(3)), 1.0)
        assert tau[0] != 0.1
        np.testing.assert_array_equal(tau[1:], [0.1, 2.0])


def test_single_sites_alone_find_the_fixed_point(monkeypatch: pytest.MonkeyPatch) -> None:
    likelihood = OwnLogistic().weighted(H.C, PROBLEM.weights)
    usual = run_ep(PROBLEM.dense_covariance(H), PROBLEM.y, likelihood)
    monkeypatch.setattr("marginwise.inference.ep.run._PATIENCE", 0)
    monkeypatch.setattr("marginwise.inference.ep.moves.Moves.newton", lambda *_: None)
    alone = run_ep(PROBLEM.dense_covariance(H), PROBLEM.y, likelihood)
    assert alone.status.ok
    np.testing.assert_allclose(alone.mean, usual.mean, atol=1e-5)


def test_a_search_keeps_a_C_that_nothing_depends_on() -> None:
    found = tune(PROBLEM.X, PROBLEM.y, "ep-evidence", "logistic", start=H, max_evaluations=15)
    assert found.hyperparameters.C == H.C
    assert found.value > evaluate("ep-evidence", PROBLEM.X, PROBLEM.y, H, "logistic").value


def test_where_an_svm_is_needed_a_slack_is_asked_for() -> None:
    wanted = "slack is 'logistic'; expected 'linear' or 'quadratic', because an SVM is to be trained"
    with pytest.raises(InvalidInputError, match=wanted):
        TunedSVC(criterion="ep-evidence", slack="logistic").fit(PROBLEM.X, PROBLEM.y)
    with pytest.raises(InvalidInputError, match=wanted):
        tune(PROBLEM.X, PROBLEM.y, "ep-evidence", "logistic", test=(PROBLEM.X, PROBLEM.y))
    with pytest.raises(InvalidInputError, match=wanted):
        as_criterion("laplace-evidence", Logistic())
    with pytest.raises(InvalidInputError, match="slack is 'logistic'; expected one of 'linear', 'quadratic'"):
        as_criterion("gacv", "logistic")


def test_names_and_objects() -> None:
    assert as_likelihood("logistic") == Logistic()
    assert as_likelihood("normalised-linear") == Normalised(LINEAR)
    assert as_likelihood("linear") is LINEAR
    own = OwnLogistic()
    assert as_likelihood(own) is own
    assert as_criterion(EPEvidence(own), own).likelihood is own
    with pytest.raises(InvalidInputError, match="slack is 'linear'; expected 'own-logistic', that of the criterion"):
        as_criterion(EPEvidence(own), "linear")
    with pytest.raises(InvalidInputError, match=r"likelihood is 'cauchit'; expected one of .*'probit'"):
        as_likelihood("cauchit")
