"""Quasi-Newton: the curvature, bounds, and SciPy's L-BFGS-B beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import toys
from marginwise.criteria import as_criterion
from marginwise.criteria.base import Criterion
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters, paper_start, random_start
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.search import Limits, Objective, QuasiNewton, Space, Task, Tuning, drive
from marginwise.search.quasi_newton import curvature, pairs_of
from zoo import blobs, twonorm

SPACE = Space.around(paper_start(3))


def climb(objective: Objective, search: QuasiNewton | None = None) -> Tuning:
    return drive(Task(objective, search or QuasiNewton(), Limits(1000)))


def l_bfgs_b(objective: Objective) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores that SciPy's minimiser sees, in order, and where it ends."""
    scores = []

    def descent(position: np.ndarray) -> tuple[float, np.ndarray]:
        point, _ = objective.evaluate(np.array(position))
        assert point.gradient is not None
        scores.append(point.score)
        return -point.score, -point.gradient

    bounds = list(zip(objective.space.lower, objective.space.upper, strict=True))
    options = {"ftol": 1e-10, "gtol": 1e-6, "maxfun": 1000}
    result = minimize(descent, objective.space.start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.array(scores), result.x


def test_curvature_has_the_secant_property_and_is_positive_definite(rng: np.random.Generator) -> None:
    A = rng.normal(size=(5, 8))
    hessian = A @ A.T
    moves = rng.normal(size=(7, 5))
    B = curvature(tuple((s, hessian @ s) for s in moves))
    np.testing.assert_allclose(B @ moves[-1], hessian @ moves[-1], rtol=1e-9)
    assert np.linalg.eigvalsh(B).min() > 0
    np.testing.assert_allclose(B, B.T, rtol=1e-12)


def test_curvature_is_the_hessian_after_conjugate_moves(rng: np.random.Generator) -> None:
    """Along eigenvectors the updates do not disturb one another, and five of them say all about five dimensions."""
    A = rng.normal(size=(5, 8))
    hessian = A @ A.T
    _, axes = np.linalg.eigh(hessian)
    np.testing.assert_allclose(curvature(tuple((s, hessian @ s) for s in axes.T)), hessian, atol=1e-10)


def test_many_hyperparameters_need_no_matrix(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step from products of a few vectors is the step from the matrix that they stand for."""
    from marginwise.search import quasi_newton as module

    A = rng.normal(size=(30, 40))
    hessian = A @ A.T
    pairs = tuple((s, hessian @ s) for s in rng.normal(size=(12, 30)))
    gradient, free = rng.normal(size=30), rng.uniform(size=30) < 0.8
    dense = module.newton_step(pairs, gradient, free)
    np.testing.assert_allclose(curvature(pairs)[np.ix_(free, free)] @ dense, gradient[free], rtol=1e-8)
    monkeypatch.setattr(module, "_DENSE", 0)
    np.testing.assert_allclose(module.newton_step(pairs, gradient, free), dense, rtol=1e-7)
    parallel = (pairs[0], (-pairs[0][0], pairs[0][1]))
    with pytest.raises(np.linalg.LinAlgError), np.errstate(invalid="ignore"):
        module.newton_step(parallel, gradient, free)


@pytest.mark.parametrize("toy", [toys.Hill, toys.Valley, toys.RegressionEvidence])
def test_is_no_slower_than_scipy(toy: type[Criterion]) -> None:
    """Count evaluations until the better of the two ends is reached to 3e-4, summed over starts and sizes."""
    ours = theirs = 0
    problems: list[tuple[Problem, int]] = [(blobs(60, 3), 3), (twonorm(100), 20)]
    for problem, d in problems:
        for seed in range(3):
            start = random_start(d, np.random.default_rng(seed))
            objective = Objective(toy(), problem, Space.around(start))
            run = climb(objective)
            assert run.status.ok, run.status.message
            scores = [run.trace.to_arrays()["score"], l_bfgs_b(objective)[0]]
            goal = max(score.max() for score in scores) - 3e-4
            assert run.score > goal
            needed = [int(np.argmax(score > goal)) if score.max() > goal else 1000 for score in scores]
            ours, theirs = ours + needed[0], theirs + needed[1]
    assert ours <= 1.1 * theirs


@pytest.mark.parametrize("toy", [toys.Hill, toys.RegressionEvidence])
def test_finds_optima_on_the_bounds(toy: type[Criterion]) -> None:
    box = Space(SPACE.model, SPACE.origin, SPACE.free, SPACE.start - 0.4, SPACE.start + 0.2)
    objective = Objective(toy(), blobs(60, 3), box)
    run = climb(objective)
    scores, position = l_bfgs_b(objective)
    assert run.status.ok, run.status.message
    assert run.score == pytest.approx(scores.max(), abs=1e-5)
    found = run.trace.best()
    assert found is not None
    on_a_bound = (position <= box.lower + 1e-9) | (position >= box.upper - 1e-9)
    assert on_a_bound.any()
    found_on_a_bound = (found.point.position <= box.lower) | (found.point.position >= box.upper)
    np.testing.assert_array_equal(found_on_a_bound, on_a_bound)
    assert "bound" in run.status.message


def test_a_start_in_a_corner_is_reported_as_it_is() -> None:
    """All derivatives push against bounds: there is nothing to do, and that is convergence."""
    _, gradient = toys.hill(SPACE.start)
    corner = Space(
        SPACE.model,
        SPACE.origin,
        SPACE.free,
        np.where(gradient < 0, SPACE.start, SPACE.start - 1),
        np.where(gradient > 0, SPACE.start, SPACE.start + 1),
    )
    run = climb(Objective(toys.Hill(), blobs(10, 3), corner))
    assert run.status.ok
    assert len(run.trace) == 1


def test_no_hyperparameter_moves_further_than_allowed() -> None:
    run = climb(Objective(toys.Hill(), blobs(10, 3), SPACE), QuasiNewton(first_move=0.1, largest_move=0.3))
    positions = np.array([record.point.position for record in run.trace.accepted])
    assert np.abs(np.diff(positions, axis=0)).max() <= 0.3 + 1e-12
    assert run.value == pytest.approx(0.0, abs=1e-4)


class _Kinked(Criterion):
    """A ridge with a kink: the gradient points at the ridge from both sides and is never small."""

    name, direction, smooth, equation = "toy-kinked", "maximise", True, "toy"

    def evaluate(self, problem, hyperparameters, state=None, **_):  # type: ignore[no-untyped-def]
        from marginwise.criteria.base import Evaluation

        logs = hyperparameters.to_vector()
        return Evaluation(-np.abs(logs - 0.3).sum(), -np.sign(logs - 0.3))


def test_ends_on_a_kink_and_says_what_is_wrong() -> None:
    run = climb(Objective(_Kinked(), blobs(10, 3), SPACE))
    assert run.score > run.trace[0].point.score + 1.0
    assert not run.status.ok
    assert "no point along the gradient is better; the largest derivative is 1" in run.status.message


def test_forgets_curvature_that_rounding_has_spoilt(monkeypatch: pytest.MonkeyPatch) -> None:
    import marginwise.search.quasi_newton as module

    honest: Callable[..., np.ndarray] = module.curvature
    calls = iter(range(10**6))

    def spoilt(pairs: object) -> np.ndarray:
        B = honest(pairs)
        return -B if next(calls) % 5 == 3 else B

    monkeypatch.setattr(module, "curvature", spoilt)
    run = climb(Objective(toys.Hill(), blobs(10, 3), SPACE))
    assert run.status.ok
    assert run.value == pytest.approx(0.0, abs=1e-4)


def test_an_earlier_search_shows_the_curvature() -> None:
    """Near its end another search converges in a few steps, and cannot tell the curvature before it has made some."""
    problem = twonorm(40)
    space = Space.around(paper_start(problem.X.shape[1], isotropic=True))
    objective = Objective(as_criterion("ep-evidence", "linear"), problem, space, Prior())
    first = climb(objective)
    aside = Hyperparameters.from_vector(first.hyperparameters.to_vector() + 0.2)
    near = replace(objective, space=Space.around(aside))
    learnt = pairs_of([record.point for record in first.trace.accepted])
    told, untold = climb(near, QuasiNewton(curvature_pairs=learnt)), climb(near)
    assert learnt
    assert told.status.ok
    assert told.score == pytest.approx(untold.score, abs=1e-5)
    assert len(told.trace) < len(untold.trace)
    assert told.trace[2].point.score > untold.trace[2].point.score


def test_curvature_of_another_space_is_refused() -> None:
    pair = (np.ones(2), np.ones(2))
    with pytest.raises(InvalidInputError, match="6 free hyperparameters"):
        climb(Objective(toys.Hill(), blobs(20, 3), SPACE, None), QuasiNewton(curvature_pairs=(pair,)))
