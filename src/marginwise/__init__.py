"""marginwise: support vector machines that tune themselves.

Names are imported when they are first used, so that ``import marginwise`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from marginwise.criteria import Criterion, Evaluation, criterion_names, evaluate
    from marginwise.datasets import benchmark_names, load_benchmark, load_table
    from marginwise.estimators import MarginSVC, TunedSVC
    from marginwise.hyperparameters import Hyperparameters
    from marginwise.posterior import posterior
    from marginwise.solve import Solution, solve, solve_gram
    from marginwise.tuning import tune

__version__ = "0.1.0"

__all__ = [
    "Criterion",
    "Evaluation",
    "Hyperparameters",
    "MarginSVC",
    "Solution",
    "TunedSVC",
    "benchmark_names",
    "criterion_names",
    "evaluate",
    "load_benchmark",
    "load_table",
    "posterior",
    "solve",
    "solve_gram",
    "tune",
]

_HOME = {
    "Criterion": "criteria",
    "Evaluation": "criteria",
    "Hyperparameters": "hyperparameters",
    "MarginSVC": "estimators",
    "TunedSVC": "estimators",
    "Solution": "solve",
    "benchmark_names": "datasets",
    "criterion_names": "criteria",
    "evaluate": "criteria",
    "load_benchmark": "datasets",
    "load_table": "datasets",
    "posterior": "posterior",
    "solve": "solve",
    "solve_gram": "solve",
    "tune": "tuning",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"marginwise.{_HOME[name]}"), name)
    raise AttributeError(f"module 'marginwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
