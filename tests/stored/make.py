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

from marginwise import TunedSVC, compact, save_model
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


def words(folder: Path) -> None:
    """Fit a table with words and gaps, and make its model compact."""
    target = folder / f"words-{FORMAT}.skops"
    if target.exists():
        print(f"{target} is there already")
        return
    rng = np.random.default_rng(0)
    X = np.array([[float(x), ["red", "blue", None][i % 3]] for i, x in enumerate(rng.normal(size=60))], dtype=object)
    y = np.array([row[0] + (row[1] == "red") > 0.2 for row in X])
    X[::9, 0] = None
    whole = TunedSVC(0.0, kernel="rbf", max_evaluations=20, random_state=0).fit(X, y)
    X = np.vstack([X, np.array([[0.5, "green"], [None, None]], dtype=object)])  # a word that training had not
    expected = {"X": X.tolist()}
    for name, model in (("words", whole), ("compact", compact(whole, tolerance=0.05))):
        save_model(model, folder / f"{name}-{FORMAT}.skops")
        expected[name] = model.predict_proba(X).tolist()
    target.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    words(Path(sys.argv[1]))
