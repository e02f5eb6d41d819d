"""Draw every criterion along a line through hyperparameter space: docs/images/criterion-NAME.svg.

    python docs/make_criteria_pictures.py

The line is one common length scale for all inputs, from 0.3 to 30, at C = 1, k0 = 3 and koff = 0.3, on Pima. Below
each criterion is the test error of the same SVM, which no criterion sees. Dots mark the best value of each curve.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from marginwise.criteria import as_criterion, criterion_class, criterion_names
from marginwise.criteria.evidence import Evidence
from marginwise.datasets import load_benchmark
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import SLACKS, as_slack
from marginwise.problem import as_problem
from marginwise.svm import solve_problem

IMAGES = Path(__file__).parent / "images"
LENGTHS = np.geomspace(0.3, 30.0, 61)
COLOURS = {"linear": "tab:blue", "quadratic": "tab:orange"}

DATA = load_benchmark("pima")
PROBLEM = as_problem(DATA.X_train, DATA.y_train)


def at(length: float) -> Hyperparameters:
    """Return the point of the line."""
    return Hyperparameters(C=1.0, k0=3.0, koff=0.3, length_scales=length)


def test_error(length: float, slack: str) -> float:
    """Return the error of the SVM on the test set."""
    solution = solve_problem(PROBLEM, at(length), as_slack(slack))
    latent = at(length).kernel.cross(DATA.X_test, PROBLEM.X) @ (PROBLEM.y * solution.alpha)
    return float(np.mean(DATA.y_test * latent <= 0))


def curve(name: str, slack: str) -> np.ndarray:
    """Return the criterion along the line, NaN where it has no value."""
    # The sampled evidence gives its gradient alone unless its value is asked for.
    criterion = Evidence(slack, value=True) if name == "evidence" else as_criterion(name, slack)
    state, values = None, []
    for length in LENGTHS:
        evaluation = criterion.evaluate(PROBLEM, at(length), state)
        state = evaluation.state
        values.append(evaluation.value if evaluation.status.ok else np.nan)
    return np.array(values)


def draw(axes: Axes, values: np.ndarray, slack: str, best: int | None = None) -> None:
    """Draw a curve, with a dot at its best value."""
    axes.semilogx(LENGTHS, values, color=COLOURS[slack], linewidth=1.2, label=f"{slack} slack")
    if best is not None:
        axes.plot(LENGTHS[best], values[best], "o", color=COLOURS[slack], markersize=4)


def main() -> None:
    """Write one picture for each criterion."""
    # Text as text and fixed identifiers: small files that change only when what they show does.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "marginwise", "font.size": 8})
    IMAGES.mkdir(exist_ok=True)
    errors = {slack: np.array([test_error(length, slack) for length in LENGTHS]) for slack in SLACKS}
    for name in criterion_names():
        kind = criterion_class(name)
        figure = Figure(figsize=(4.2, 3.0), layout="constrained")
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        for slack in kind.slacks:
            values = curve(name, slack)
            best = np.nanargmax if kind.direction == "maximise" else np.nanargmin
            place = int(best(values))
            draw(upper, values, slack, place)
            draw(lower, errors[slack], slack, place)
            print(f"{name:26} {slack:10} best at l = {LENGTHS[place]:6.2f}: test error {errors[slack][place]:.3f}")
        upper.set_ylabel(name)
        upper.legend(frameon=False)
        lower.set_ylabel("test error")
        lower.set_xlabel("length scale")
        figure.savefig(IMAGES / f"criterion-{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
