"""Draw the pictures of docs/tuned-svc.md: docs/images/display-NAME.svg.

    python docs/make_display_pictures.py

The data are those of the page: two of six inputs decide whether a point is inside a ring.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from marginwise import TunedSVC
from marginwise.display import figure_style
from marginwise.plots import BoundaryDisplay, LineDisplay, RelevanceDisplay, ReliabilityDisplay, TraceDisplay

IMAGES = Path(__file__).parent / "images"


def displays() -> dict[str, Any]:
    """Return every display by its name."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 6))
    y = np.where(np.hypot(X[:, 0], X[:, 1]) + 0.3 * rng.normal(size=600) > 1.2, "outside", "inside")
    ring = TunedSVC(random_state=0).fit(X[:200], y[:200])
    flat = TunedSVC(random_state=0).fit(X[:200, :2], y[:200])
    searched = TunedSVC(ard=0, restarts=1, random_state=0).fit(X[:200], y[:200])
    print(f"error {1 - ring.score(X[200:], y[200:]):.3f}, expected {ring.expected_error_:.3f}")
    return {
        "relevances": RelevanceDisplay.from_estimator(ring),
        "reliability": ReliabilityDisplay.from_estimator(ring, X[200:], y[200:]),
        "boundary": BoundaryDisplay.from_estimator(flat, X[:200, :2], y[:200]),
        "trace": TraceDisplay.from_estimator(ring),
        "line": LineDisplay.from_estimator(searched, criteria=["ep-loo", "ep-evidence", "gacv"], n_points=15),
    }


def main() -> None:
    """Write one picture for each display."""
    mpl.use("svg")
    mpl.rcParams.update({**figure_style(), "figure.figsize": (5.0, 3.4)})
    IMAGES.mkdir(exist_ok=True)
    for name, display in displays().items():
        display.figure_.savefig(IMAGES / f"display-{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
