"""Write a model file of this version beside its predictions, for later versions to load: run once for each format.

    python tests/stored/make.py tests/stored/format-<number>

A file that is there stays as it is: it stands for the models that users have.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from marginwise import TunedSVC, save_model


def main(target: Path) -> None:
    """Fit three classes in two inputs, so that every part of a model is in the file."""
    if target.with_suffix(".skops").exists():
        raise SystemExit(f"{target}.skops is there already")
    rng = np.random.default_rng(0)
    y = np.repeat(["bird", "cat", "fish"], 10)
    X = rng.normal(size=(30, 2)) + 1.5 * np.column_stack([y == "bird", y == "cat"])
    model = TunedSVC(restarts=1, max_evaluations=8, random_state=0).fit(X, y)
    save_model(model, target.with_suffix(".skops"))
    found = model.hyperparameters_
    expected = {
        "X": X.tolist(),
        "predict": model.predict(X).tolist(),
        "predict_proba": model.predict_proba(X).tolist(),
        "decision_function": model.decision_function(X).tolist(),
        "hyperparameters": [found.C, found.k0, found.koff, *found.length_scales],
    }
    target.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
