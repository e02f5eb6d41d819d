"""Hyperparameters far from any data: numbers that are finite, or a status or an error that says why not."""

from __future__ import annotations

from typing import Any

import numpy as np
from trials import pick, run_cases

from marginwise import (
    Hyperparameters,
    MarginSVC,
    Prior,
    criterion_names,
    evaluate,
    posterior,
    tune,
)
from marginwise.criteria import criterion_class
from marginwise.inference import Precision
from marginwise.kernels import RBF, Blend, Constant, Laplacian, Linear
from marginwise.model import Model
from marginwise.search import SEARCHES


def extreme(rng: np.random.Generator) -> float:
    """Return a positive number: of a search, far from it, or at the edge of what is allowed."""
    return float(
        10.0 ** pick(rng, rng.uniform(-3, 3), rng.uniform(-3, 3), rng.uniform(-20, 20), rng.uniform(-51, 51), -50, 50)
    )


def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    n, d = int(rng.integers(2, 25)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * 10.0 ** pick(rng, 0, 0, 0, -10, 10, 90)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return X, y, pick(rng, None, None, rng.uniform(0.1, 3.0, n), 10.0 ** rng.uniform(-11, 11, n))


def model(rng: np.random.Generator, d: int) -> Model:
    if rng.random() < 0.5:
        return Hyperparameters(extreme(rng), extreme(rng), extreme(rng), [extreme(rng) for _ in range(pick(rng, 1, d))])
    kernels = (
        lambda: RBF(extreme(rng), extreme(rng)),
        lambda: Laplacian(extreme(rng), extreme(rng)) + Constant(extreme(rng)),
        lambda: Linear(extreme(rng)) + Constant(extreme(rng)),
        lambda: Blend().with_values(np.array([extreme(rng) for _ in Blend().values])),
    )
    return Model(extreme(rng), pick(rng, *kernels)())


def finite(*numbers: object) -> bool:
    return all(part is None or bool(np.isfinite(np.asarray(part, dtype=float)).all()) for part in numbers)


def evaluated(rng: np.random.Generator) -> str:
    X, y, w = data(rng)
    name = pick(rng, *(name for name in criterion_names() if name != "evidence" or rng.random() < 0.2))
    found = evaluate(name, X, y, model(rng, X.shape[1]), pick(rng, *criterion_class(name).slacks), sample_weight=w)
    if not found.status.ok:
        assert found.status.message
        return "said"
    assert finite(found.gradient), (name, found)
    assert finite(found.value) or found.gradient is not None, (name, found)
    return "evaluated"


def inferred(rng: np.random.Generator) -> str:
    X, y, w = data(rng)
    method = pick(rng, "ep", "ep", "laplace", "variational", "sample")
    options: dict[str, Any] = {"precision": Precision(max_steps=32)} if method == "sample" else {}
    if method in ("ep", "sample"):
        options["inducing"] = pick(rng, None, None, X[:1], X[: 1 + len(X) // 2] + 0.1)
    place, slack = model(rng, X.shape[1]), pick(rng, "linear", "quadratic")
    found = posterior(X, y, place, slack, method, sample_weight=w, **options)
    probability = found.predict_proba(np.vstack([X, -X]))
    if not found.status.ok:
        assert found.status.message
        return "said"
    assert finite(found.log_evidence, found.gradient, found.latent_mean, found.latent_variance, probability), found
    return "inferred"


def searched(rng: np.random.Generator) -> str:
    X, y, w = data(rng)
    name = pick(rng, *(name for name in criterion_names() if name != "evidence"))
    start = None if rng.random() < 0.3 else 10.0 ** rng.uniform(-2, 2, 4)
    prior = pick(rng, None, Prior(spread=float(10.0 ** rng.uniform(-7, 7)), C=(0.0, float(10.0 ** rng.uniform(-7, 7)))))
    found = tune(
        *(X, y, name),
        search=pick(rng, "auto", *SEARCHES),
        start=start,
        prior=prior,
        sample_weight=w,
        max_evaluations=int(rng.integers(1, 6)),
        random_state=int(rng.integers(100)),
    )
    assert finite(found.hyperparameters.values)
    assert finite(found.value) or not found.status.ok, (name, found)
    return "searched"


def trained(rng: np.random.Generator) -> str:
    X, y, w = data(rng)
    if len(set(y)) < 2:
        return "one class"
    numbers = [extreme(rng) for _ in range(4)]
    classifier = MarginSVC(*numbers, slack=pick(rng, "linear", "quadratic")).fit(X, y, sample_weight=w)
    assert finite(classifier.decision_function(X))
    return "trained"


CASES = (evaluated, evaluated, evaluated, inferred, inferred, searched, trained)


def any_of_them(rng: np.random.Generator) -> str:
    return pick(rng, *CASES)(rng)


def test_extremes(full: bool) -> None:
    found = run_cases(2_000 if full else 40, any_of_them)
    assert found["evaluated"] > 0.1 * found.total()
    assert found["refused"] < 0.6 * found.total()
