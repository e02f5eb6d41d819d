"""The size of model files beside pickles, and the time to load them.

    python benchmarks/model_files.py

TunedSVC of two of the paper's tables and of 1,000 rows × 20 columns. A pickle is compressed as well, because model
files are. Times are CPU seconds: of the file with its checks, which include a prediction, and of the pickle with one.
"""

from __future__ import annotations

import pickle
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from marginwise import TunedSVC, load_benchmark, load_model, save_model


def main() -> None:
    print("| table | kB of file | kB of pickle | compressed | s to load | s to unpickle |\n" + "|---" * 6 + "|")
    for name, (X, y) in tables().items():
        model = TunedSVC(random_state=0).fit(X, y)
        pickled = pickle.dumps(model)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.skops"
            save_model(model, path)
            sizes = [path.stat().st_size, len(pickled), len(zlib.compress(pickled))]
            times = [seconds(lambda path=path: load_model(path))]
        times.append(seconds(lambda pickled=pickled, X=X: pickle.loads(pickled).predict_proba(X[:1])))
        cells = [name, *(f"{size / 1e3:.0f}" for size in sizes), *(f"{one:.2f}" for one in times)]
        print("| " + " | ".join(cells) + " |", flush=True)


def tables() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return rows and labels by name."""
    paper = {name: load_benchmark(name) for name in ("crabs", "pima")}
    made = make_classification(1000, 20, n_informative=8, n_redundant=4, flip_y=0.05, random_state=0)
    return {**{name: (data.X_train, data.y_train) for name, data in paper.items()}, "1,000 × 20": made}


def seconds(function: Callable[[], Any]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    function()
    return time.process_time() - start


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    main()
