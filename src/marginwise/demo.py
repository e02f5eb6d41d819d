"""The main job in a minute: TunedSVC beside a grid-searched SVC on one of the benchmark sets, and pictures of it."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from marginwise.comparison import GridSVC
from marginwise.datasets import load_benchmark
from marginwise.display import figure_style
from marginwise.estimators import TunedSVC
from marginwise.plots import BoundaryDisplay, LineDisplay, RelevanceDisplay, ReliabilityDisplay, TraceDisplay
from marginwise.tuning import scan_line

#: Where pictures are written, in the directory that the demo is started in.
FOLDER = Path("marginwise-demo")


def main() -> None:
    """Fit both on the Pima data and print errors, log-losses, times and what TunedSVC found."""
    data = load_benchmark("pima")
    write = sys.stdout.write
    write(f"{data.name}: {len(data.y_train)} training rows, {len(data.y_test)} test rows, {data.n_inputs} inputs\n\n")
    write("TunedSVC compiles its code at the first use, or loads it: ")
    sys.stdout.flush()
    _, first_seconds = _timed(TunedSVC(random_state=0), data)
    write(f"{first_seconds:.1f} s, not counted below\n\n")
    tuned, tuned_seconds = _timed(TunedSVC(random_state=0), data)
    grid, grid_seconds = _timed(GridSVC(), data)
    write(f"{'':<40}{'test error':>11}{'log-loss':>10}{'seconds':>9}\n")
    rows = [
        ("TunedSVC().fit(X, y)", tuned, tuned_seconds),
        ("GridSearchCV(SVC) + CalibratedClassifierCV", grid, grid_seconds),
    ]
    for name, model, seconds in rows:
        error = 100 * (1 - model.score(data.X_test, data.y_test))
        proba = model.predict_proba(data.X_test)
        own = proba[np.arange(len(proba)), (data.y_test > 0).astype(int)]
        write(f"{name:<42}{error:>7.1f} %{-np.log(own).mean():>10.3f}{seconds:>9.2f}\n")
    write(f"\nestimated from the training rows alone: error {100 * tuned.loo_error_:.1f} %, ")
    write(f"log-loss {tuned.loo_log_loss_:.3f}\nrelevances: ")
    order = np.argsort(-tuned.feature_importances_)
    write(", ".join(f"{data.feature_names[a]} {tuned.feature_importances_[a]:.2f}" for a in order) + "\n")
    names = _draw(tuned, data, FOLDER)
    write(f"pictures in {FOLDER}/: {', '.join(names)}\n" if names else "pictures: pip install marginwise[plots]\n")


def _draw(model: TunedSVC, data: Any, folder: Path) -> list[str]:
    """Write a picture of everything that can be seen of a model, and return their names; none without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("agg")
    style: Any = figure_style()
    folder.mkdir(exist_ok=True)
    with matplotlib.rc_context(style):
        displays = _displays(model, data)
        for name, display in displays.items():
            display.figure_.savefig(folder / f"{name}.png", dpi=150)
    return [f"{name}.png" for name in displays]


def _displays(model: TunedSVC, data: Any) -> dict[str, Any]:
    """Return all displays by name."""
    first, second = np.argsort(-model.feature_importances_)[:2].tolist()
    part, start = model.models_[0], model.trace_[0].hyperparameters
    line = scan_line("ep-loo", part.X, part.y, start, model.hyperparameters_, sample_weight=part.sample_weight)
    return {
        "relevances": RelevanceDisplay.from_estimator(model, feature_names=data.feature_names),
        "reliability": ReliabilityDisplay.from_estimator(model, data.X_test, data.y_test),
        "boundary": BoundaryDisplay.from_estimator(
            model, data.X_train, data.y_train, features=(first, second), feature_names=data.feature_names
        ),
        "search": TraceDisplay.from_estimator(model),
        "line": LineDisplay(line).plot(),
    }


def _timed(model: Any, data: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    return model, time.perf_counter() - start


if __name__ == "__main__":
    main()
