"""Write a MarginSVC of three classes beside its predictions, for later versions to load.

    python tests/stored/make_margin.py tests/stored/margin-<what is old about it>

``margin-rest`` was written when MarginSVC separated each class from the rest; now it separates pairs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from marginwise import MarginSVC, save_model


def main(target: Path) -> None:
    """Fit three classes in two inputs."""
    if target.with_suffix(".skops").exists():
        raise SystemExit(f"{target}.skops is there already")
    rng = np.random.default_rng(0)
    y = np.repeat(["bird", "cat", "fish"], 10)
    X = rng.normal(size=(30, 2)) + 1.5 * np.column_stack([y == "bird", y == "cat"])
    model = MarginSVC(C=2.0, length_scales=[1.0, 2.0]).fit(X, y)
    save_model(model, target.with_suffix(".skops"))
    expected = {
        "X": X.tolist(),
        "predict": model.predict(X).tolist(),
        "decision_function": model.decision_function(X).tolist(),
    }
    target.with_suffix(".json").write_text(json.dumps(expected) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
