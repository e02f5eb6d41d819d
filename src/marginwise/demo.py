"""The main job in a minute: TunedSVC beside a grid-searched SVC on one of the benchmark sets."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from marginwise.datasets import load_benchmark
from marginwise.estimators import TunedSVC

#: The grid that a careful user would take.
GRID = {"C": 2.0 ** np.arange(-3, 10, 2), "gamma": 2.0 ** np.arange(-11, 2, 2)}


def main() -> None:
    """Fit both on the Pima data and print errors, log-losses, times and what TunedSVC found."""
    data = load_benchmark("pima")
    write = sys.stdout.write
    write(f"{data.name}: {len(data.y_train)} training rows, {len(data.y_test)} test rows, {data.n_inputs} inputs\n\n")
    tuned, tuned_seconds = _timed(TunedSVC(random_state=0), data)
    search, search_seconds = _timed(GridSearchCV(SVC(), GRID, cv=5), data)
    calibrated, more_seconds = _timed(CalibratedClassifierCV(search.best_estimator_), data)
    write(f"{'':<40}{'test error':>11}{'log-loss':>10}{'seconds':>9}\n")
    rows = [
        ("TunedSVC().fit(X, y)", tuned, tuned, tuned_seconds),
        ("GridSearchCV(SVC) + CalibratedClassifierCV", search, calibrated, search_seconds + more_seconds),
    ]
    for name, labels, probabilities, seconds in rows:
        error = 100 * (1 - labels.score(data.X_test, data.y_test))
        proba = probabilities.predict_proba(data.X_test)
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
