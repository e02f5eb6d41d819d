"""The main job in a minute: TunedSVC beside a grid-searched SVC on one of the benchmark sets."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from marginwise.comparison import GridSVC
from marginwise.datasets import load_benchmark
from marginwise.estimators import TunedSVC


def main() -> None:
    """Fit both on the Pima data and print errors, log-losses, times and what TunedSVC found."""
    data = load_benchmark("pima")
    write = sys.stdout.write
    write(f"{data.name}: {len(data.y_train)} training rows, {len(data.y_test)} test rows, {data.n_inputs} inputs\n\n")
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
    write("\n(The first use compiles and keeps the code: a second `make demo` is quicker.)\n\n")
    write(f"estimated from the training rows alone: error {100 * tuned.loo_error_:.1f} %, ")
    write(f"log-loss {tuned.loo_log_loss_:.3f}\nrelevances: ")
    order = np.argsort(-tuned.feature_importances_)
    write(", ".join(f"{data.feature_names[a]} {tuned.feature_importances_[a]:.2f}" for a in order) + "\n")


def _timed(model: Any, data: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    model.fit(data.X_train, data.y_train)
    return model, time.perf_counter() - start


if __name__ == "__main__":
    main()
