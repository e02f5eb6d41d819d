"""marginwise: support vector machines that tune themselves.

Names are imported when they are first used, so that ``import marginwise`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from marginwise._runtime.garbage import uncollected

if TYPE_CHECKING:
    from marginwise.criteria import Criterion, Evaluation, criterion_names, evaluate
    from marginwise.datasets import benchmark_names, load_benchmark, load_inputs, load_table
    from marginwise.estimators import MarginSVC, TunedSVC
    from marginwise.estimators.compacting import compact
    from marginwise.export import to_onnx
    from marginwise.hyperparameters import Hyperparameters
    from marginwise.inference import posterior
    from marginwise.priors import Prior
    from marginwise.saving import load_model, save_model
    from marginwise.svm import Solution, solve, solve_gram
    from marginwise.tuning import scan_line, tune

__version__ = "0.1.0"

__all__ = [
    "Criterion",
    "Evaluation",
    "Hyperparameters",
    "MarginSVC",
    "Prior",
    "Solution",
    "TunedSVC",
    "benchmark_names",
    "compact",
    "criterion_names",
    "evaluate",
    "load_benchmark",
    "load_inputs",
    "load_model",
    "load_table",
    "posterior",
    "save_model",
    "scan_line",
    "solve",
    "solve_gram",
    "to_onnx",
    "tune",
]

_HOME = {
    "Criterion": "criteria",
    "Evaluation": "criteria",
    "Hyperparameters": "hyperparameters",
    "MarginSVC": "estimators",
    "Prior": "priors",
    "TunedSVC": "estimators",
    "Solution": "svm",
    "benchmark_names": "datasets",
    "compact": "estimators.compacting",
    "criterion_names": "criteria",
    "evaluate": "criteria",
    "load_benchmark": "datasets",
    "load_inputs": "datasets",
    "load_model": "saving",
    "load_table": "datasets",
    "posterior": "inference",
    "save_model": "saving",
    "scan_line": "tuning",
    "solve": "svm",
    "solve_gram": "svm",
    "to_onnx": "export",
    "tune": "tuning",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        with uncollected():
            return getattr(import_module(f"marginwise.{_HOME[name]}"), name)
    raise AttributeError(f"module 'marginwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, and modules that were imported, but not what this one uses itself."""
    modules = (value for value in globals().values() if getattr(value, "__package__", "").startswith("marginwise"))
    names = {module.__name__.removeprefix("marginwise.") for module in modules}
    return sorted({*__all__, "__version__", *(name for name in names if not name.startswith("_"))})
