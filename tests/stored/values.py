"""What version 0.1 computes on ten fixed problems: written once, and every later version is compared with it.

    python tests/stored/values.py tests/stored/values-0.1.json

Only public names are used, so that any version can be run. A file that is there stays as it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from marginwise import Hyperparameters, criterion_names, evaluate, posterior, solve

SLACKS = ("linear", "quadratic")

#: Criteria that are sampled: their digits hang on every rounding on the way.
SAMPLED = {"evidence"}


def problems() -> Iterator[tuple[str, np.ndarray, np.ndarray, Hyperparameters]]:
    """Yield ten problems: inputs that matter and others, one length scale and many, noise, and extremes."""
    for number in range(10):
        rng = np.random.default_rng([2003, number])
        n, d = (40, 2) if number % 2 else (60, 5)
        X = rng.normal(size=(n, d))
        noise = (0.3, 1.0, 2.0)[number % 3]
        y = np.where(X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.5 + noise * rng.normal(size=n) > 0, 1.0, -1.0)
        scales = np.exp(rng.normal(scale=0.3, size=d)) + 0.5 if number % 4 else 1.5
        C, k0, koff = np.exp(rng.normal(scale=(0.5, 1.0)[number > 5], size=3)) * (1.0, 2.0, 0.2)
        yield f"problem {number}", X, y, Hyperparameters(C, k0, koff, scales)


def computed() -> dict[str, list[float]]:
    """Return all values by name."""
    table: dict[str, list[float]] = {}
    for name, X, y, h in problems():
        for slack in SLACKS:
            table |= {f"{name}, {slack}, {key}": value for key, value in _of_one(X, y, h, slack).items()}
    return table


def _of_one(X: np.ndarray, y: np.ndarray, h: Hyperparameters, slack: str) -> dict[str, list[float]]:
    values: dict[str, Any] = {}
    weights = 1.0 + np.arange(len(y)) % 3
    inducing = X[::4]
    for label, options in (("", {}), ("weights, ", {"sample_weight": weights}), ("low rank, ", {"inducing": inducing})):
        solution = solve(X, y, h, slack, **options)
        values |= {f"{label}solve alpha": solution.alpha, f"{label}solve latent": solution.latent}
        ep = posterior(X, y, h, slack, **options)
        values |= {f"{label}ep evidence": ep.log_evidence, f"{label}ep gradient": ep.gradient}
        values |= {f"{label}ep mean": ep.latent_mean, f"{label}ep variance": ep.latent_variance}
        values |= {f"{label}ep probability": ep.predict_proba(X[:5] + 0.1)[:, 1]}
    for method in ("variational", "laplace"):
        result = posterior(X, y, h, slack, method)
        values |= {f"{method} evidence": result.log_evidence, f"{method} mean": result.latent_mean}
    for criterion in set(criterion_names()) - SAMPLED:
        try:
            found = evaluate(criterion, X, y, h, slack)
        except ValueError:  # not defined for this slack
            continue
        values[f"{criterion}"] = found.value
        if found.gradient is not None:
            values[f"{criterion} gradient"] = found.gradient
    return {key: np.atleast_1d(value).tolist() for key, value in sorted(values.items())}


def main(target: Path) -> None:
    """Write the table."""
    if target.exists():
        raise SystemExit(f"{target} is there already")
    target.write_text(json.dumps(computed()) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
