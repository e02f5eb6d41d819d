"""Write model files of this version beside their predictions, for later versions to load.

    python tests/stored/make.py tests/stored

Once for each format, when it is released: a file that is there stays as it is, for it stands for the models that users
have.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from marginwise import TunedSVC, save_model
from marginwise.saving import FORMAT

CLASSES = {"two": ["bird", "cat"], "three": ["bird", "cat", "fish"]}


def main(folder: Path) -> None:
    """Fit two and three classes in two inputs."""
    for name, classes in CLASSES.items():
        target = folder / f"format-{FORMAT}-{name}.skops"
        if target.exists():
            print(f"{target} is there already")
            continue
        rng = np.random.default_rng(0)
        y = np.repeat(classes, 12)
        X = rng.normal(size=(len(y), 2)) + 1.5 * np.column_stack([y == "bird", y == "cat"])
        model = TunedSVC(restarts=1, max_evaluations=8, random_state=0).fit(X, y)
        save_model(model, target)
        expected = {
            "X": X.tolist(),
            "predict": model.predict(X).tolist(),
            "decision_function": model.decision_function(X).tolist(),
            "predict_proba": model.predict_proba(X).tolist(),
            "hyperparameters": [model.C_, *model.kernel_.values],
            "held_out_proba": model.held_out_proba_.tolist(),
            "labels": [member.labels for member in model.ensemble_.members],
        }
        target.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
