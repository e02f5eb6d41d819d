"""Write a model file of this version beside its predictions, for later versions to load.

    python tests/stored/make.py TunedSVC tests/stored/format-<number>                      once for each format
    python tests/stored/make.py MarginSVC tests/stored/margin-<what will be old about it>

A file that is there stays as it is: it stands for the models that users have. ``margin-rest`` was written when
MarginSVC separated each class from the rest; now it separates pairs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from marginwise import MarginSVC, TunedSVC, save_model

MODELS = {
    "TunedSVC": TunedSVC(restarts=1, max_evaluations=8, random_state=0),
    "MarginSVC": MarginSVC(C=2.0, length_scales=[1.0, 2.0]),
}


def main(name: str, target: Path) -> None:
    """Fit three classes in two inputs, so that every part of a model is in the file."""
    if target.with_suffix(".skops").exists():
        raise SystemExit(f"{target}.skops is there already")
    rng = np.random.default_rng(0)
    y = np.repeat(["bird", "cat", "fish"], 10)
    X = rng.normal(size=(30, 2)) + 1.5 * np.column_stack([y == "bird", y == "cat"])
    model = MODELS[name].fit(X, y)
    save_model(model, target.with_suffix(".skops"))
    expected = {
        "X": X.tolist(),
        "predict": model.predict(X).tolist(),
        "decision_function": model.decision_function(X).tolist(),
    }
    if isinstance(model, TunedSVC):
        expected["predict_proba"] = model.predict_proba(X).tolist()
        expected["hyperparameters"] = [model.C_, *model.kernel_.values]
    target.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
