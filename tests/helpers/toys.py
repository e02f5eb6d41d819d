"""Criteria with known optima, on which searches are tested exactly."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from marginwise.criteria.base import Criterion, Evaluation
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.problem import Problem
from marginwise.search import Objective, Search, Space
from marginwise.search.base import lacks
from marginwise.status import Status


def centre(size: int) -> np.ndarray:
    """The optimum of most toys, in logarithms."""
    return np.linspace(-0.8, 1.2, size)


@cache
def _curvature(size: int) -> np.ndarray:
    axes, _ = np.linalg.qr(np.random.default_rng(size).normal(size=(size, size)))
    return axes * np.geomspace(0.1, 3.0, size) @ axes.T


def hill(logs: np.ndarray) -> tuple[float, np.ndarray]:
    """A concave quadratic with optimum 0 at :func:`centre`, its axes turned and its curvatures 1 : 30."""
    offset = centre(len(logs)) - logs
    pull = _curvature(len(logs)) @ offset
    return -0.5 * float(pull @ offset), pull


class Hill(Criterion):
    """A concave quadratic, to be maximised."""

    name, direction, smooth, equation = "toy-hill", "maximise", True, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        return Evaluation(*hill(hyperparameters.to_vector()))


class Bowl(Criterion):
    """The same upside down, to be minimised, and 2 at its optimum."""

    name, direction, smooth, equation = "toy-bowl", "minimise", True, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        value, gradient = hill(hyperparameters.to_vector())
        return Evaluation(2.0 - value, -gradient)


class Valley(Criterion):
    """Rosenbrock's curved valley in the logarithms; the optimum 0 is at e⁰, e⁰ …"""

    name, direction, smooth, equation = "toy-valley", "minimise", True, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        x = hyperparameters.to_vector() + 1.0
        ahead = x[1:] - x[:-1] ** 2
        gradient = np.zeros_like(x)
        gradient[1:] += 2.0 * ahead
        gradient[:-1] += -4.0 * ahead * x[:-1] - 0.2 * (1.0 - x[:-1])
        return Evaluation(float(ahead @ ahead + 0.1 * np.sum((1.0 - x[:-1]) ** 2)), gradient)


class Waves(Criterion):
    """A hill with waves on it: many local optima."""

    name, direction, smooth, equation = "toy-waves", "maximise", True, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        logs = hyperparameters.to_vector()
        value, gradient = hill(logs)
        phase = 4.0 * (logs - centre(len(logs)))
        return Evaluation(value + 0.3 * float(np.cos(phase).sum()), gradient - 1.2 * np.sin(phase))


class Terraces(Criterion):
    """A hill cut into terraces, without gradient."""

    name, direction, smooth, equation = "toy-terraces", "maximise", False, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        value, _ = hill(hyperparameters.to_vector())
        return Evaluation(np.floor(50.0 * value) / 50.0, None)


class Cliff(Criterion):
    """A hill of which the part with large koff cannot be evaluated; the optimum is close to it."""

    name, direction, smooth, equation = "toy-cliff", "maximise", True, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        logs = hyperparameters.to_vector()
        if logs[2] > centre(len(logs))[2] + 0.05:
            return Evaluation(np.nan, None, Status(False, "over the cliff"))
        return Evaluation(*hill(logs))


class Potholes(Criterion):
    """A hill that cannot be evaluated in one place out of four, in each of the ways in which that happens."""

    name, direction, smooth, equation = "toy-potholes", "maximise", True, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        logs = hyperparameters.to_vector()
        value, gradient = hill(logs)
        kind = int(1e4 * abs(logs.sum())) % 16  # not at the paper's start, where it is 1
        if kind == 5:
            return Evaluation(np.nan, None, Status(False, "a pothole"))
        if kind == 2:
            raise np.linalg.LinAlgError("not positive definite")
        if kind == 3:
            return Evaluation(np.inf, gradient)
        if kind == 4:
            return Evaluation(value, gradient * np.nan)
        return Evaluation(value, gradient)


class Slope(Criterion):
    """A hill that shows nothing but its gradient."""

    name, direction, smooth, equation = "toy-slope", "maximise", True, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        return Evaluation(np.nan, hill(hyperparameters.to_vector())[1])


class NoisySlope(Criterion):
    """A hill that shows its gradient with noise, which the position determines, and the noise's standard error."""

    name, direction, smooth, equation = "toy-noisy-slope", "maximise", True, "toy"
    noise = 0.01

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        logs = hyperparameters.to_vector()
        rng = np.random.default_rng(np.frombuffer(logs.tobytes(), dtype=np.uint32))
        gradient = hill(logs)[1] + self.noise * rng.normal(size=len(logs))
        return Evaluation(np.nan, gradient, info={"gradient_se": np.full(len(logs), self.noise)})


class Product(Criterion):
    """A hill in log C·k0, log C·koff and the length scales: C by itself does not matter."""

    name, direction, smooth, equation = "toy-product", "maximise", True, "toy"
    scale_free = True

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        logs = hyperparameters.to_vector()
        logs[1:3] += logs[0]
        value, gradient = hill(logs[1:])
        return Evaluation(value, np.concatenate([[gradient[0] + gradient[1]], gradient]))


class Hysteresis(Criterion):
    """A hill whose last digits depend on the state that an evaluation is started from, as with real solvers."""

    name, direction, smooth, equation = "toy-hysteresis", "maximise", True, "toy"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        value, gradient = hill(hyperparameters.to_vector())
        trembling = 1e-7 * np.sin(1e6 * (0.3 if state is None else state["last"]) + 1e3 * value)
        return Evaluation(value + trembling, gradient * (1.0 + trembling), state={"last": trembling})


class OwnState(Hysteresis):
    """The same, with a state of a type that only this criterion knows."""

    name = "toy-own-state"

    class State:
        """More than data."""

        def __init__(self, last: float) -> None:
            self.last = last

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        found = super().evaluate(problem, hyperparameters, None if state is None else {"last": state.last})
        return Evaluation(found.value, found.gradient, state=self.State(found.state["last"]))


class RegressionEvidence(Criterion):
    """The evidence of Gaussian process regression on the labels, with noise variance 1/C, divided by n."""

    name, direction, smooth, equation = "toy-regression", "maximise", True, "Rasmussen & Williams eqs. 5.8, 5.9"

    def evaluate(self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any) -> Evaluation:
        K, n = hyperparameters.kernel.gram(problem.X), problem.n
        noise = 1.0 / hyperparameters.C
        factor = cho_factor(K + noise * np.eye(n))
        weights = cho_solve(factor, problem.y)
        inverse = cho_solve(factor, np.eye(n))
        G = 0.5 * (np.outer(weights, weights) - inverse)
        gradient = np.array([-noise * np.trace(G), *hyperparameters.kernel.contract(G, K, problem.X, problem.X)])
        log_det = 2.0 * np.log(factor[0].diagonal()).sum()
        value = -0.5 * (problem.y @ weights + log_det + n * np.log(2.0 * np.pi))
        return Evaluation(float(value) / n, gradient / n)


def landscape(toy: type[Criterion], problem: Problem, start: Hyperparameters | None = None) -> Objective:
    """Return the toy as a score, around the paper's start if no other is given."""
    space = Space.around(start or paper_start(problem.X.shape[1]), fix_C=toy.scale_free)
    return Objective(toy(), problem, space)


def suits(search: type[Search[Any]], toy: type[Criterion], problem: Problem) -> bool:
    """Say whether the toy gives what the search needs."""
    objective = landscape(toy, problem)
    return not lacks(search, objective.evaluate(objective.space.start)[0])


TOYS: tuple[type[Criterion], ...] = (
    Hill,
    Bowl,
    Valley,
    Waves,
    Terraces,
    Cliff,
    Potholes,
    Slope,
    NoisySlope,
    Product,
    Hysteresis,
    RegressionEvidence,
)
