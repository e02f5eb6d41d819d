"""A walk that the tests kill: run as a script with the directory of its checkpoint, it goes on where it was.

It writes its trace, without times, into the same directory when it has ended.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

import numpy as np

import toys
from marginwise.search.trace import Tuning
from marginwise.tuning import tune
from zoo import blobs


def walk(directory: Path | None) -> Tuning:
    """Walk, twice, on a criterion whose last digits depend on what each evaluation is started from."""
    problem = blobs(20, 3)
    return tune(
        problem.X,
        problem.y,
        toys.Hysteresis(),
        search="random-walk",
        restarts=1,
        random_state=7,
        max_evaluations=400,
        validation=(problem.X[::2], problem.y[::2]),
        patience=10_000,
        checkpoint=directory,
        callbacks=[lambda record: time.sleep(float(os.environ.get("MARGINWISE_TEST_PAUSE", "0")))],
    )


def columns(tuning: Tuning) -> dict[str, np.ndarray]:
    """Return all that must not depend on interruptions."""
    table = {}
    for number, run in enumerate(tuning.restarts):
        for name, column in run.trace.to_arrays().items():
            if name != "seconds":
                table[f"{number} {name}"] = column.astype(str) if column.dtype == object else column
    table["best"] = tuning.hyperparameters.to_vector()
    return table


if __name__ == "__main__":
    place = Path(sys.argv[1])
    np.savez(place / "result.npz", **columns(walk(place)))
