"""The main job in a minute: TunedSVC and a grid-searched SVC, where tuning pays and where it hardly can."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marginwise._arrays import Array
from marginwise.datasets import load_benchmark
from marginwise.display import figure_style
from marginwise.errors import ConvergenceWarning
from marginwise.estimators import TunedSVC
from marginwise.peers import GridSVC
from marginwise.plots import BoundaryDisplay, LineDisplay, RelevanceDisplay, ReliabilityDisplay, TraceDisplay
from marginwise.tuning import scan_line

#: Where pictures are written, in the directory that the demo is started in.
FOLDER = Path("marginwise-demo")

#: Share of the rows of the survey whose label is wrong: no classifier can do better.
_NOISE = 0.05


class DemoTable(NamedTuple):
    """A table to learn from, and rows to judge by."""

    X_train: Array
    y_train: Array
    X_test: Array
    y_test: Array
    feature_names: tuple[str, ...]


def survey(seed: int = 0) -> DemoTable:
    """Return answers to 53 questions, yes or no, of which three decide: if q1 then q2, else q3; 5 % wrong."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(2200, 53)).astype(float)
    y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2])
    y = np.where(rng.random(len(y)) < _NOISE, 1 - y, y)
    names = tuple(f"q{number}" for number in range(1, X.shape[1] + 1))
    return DemoTable(X[:200], y[:200], X[200:], y[200:], names)


def main() -> None:
    """Compare on a table with many useless inputs and on the Pima data, and tell what TunedSVC found."""
    write = sys.stdout.write
    questions = survey()
    write("compiling …\n\n")
    _compile(questions)
    write("200 answers to 53 yes-or-no questions; three of them decide the label, 5 % of the labels are wrong\n")
    tuned = _compare(questions)
    write(f"  what matters: {_most_relevant(tuned, questions.feature_names, 4)}\n")
    proba = tuned.predict_proba(questions.X_test[:3])[:, 1]
    write(f"  probability of the label 1, first new rows: {', '.join(f'{p:.2f}' for p in proba)}\n\n")

    data = load_benchmark("pima")
    write(f"diabetes among Pima women: {len(data.y_train)} rows, {data.n_inputs} inputs that all matter\n")
    tuned = _compare(data)
    write(f"  what matters: {_most_relevant(tuned, data.feature_names, data.n_inputs)}\n")
    shares = (f"{100 * share:.0f} % {shape}" for shape, share in tuned.term_shares_.items())
    write(f"  shape of the decision: {', '.join(shares)}\n")
    write(f"  error expected on new rows, from the training rows alone: {100 * tuned.expected_error_:.1f} %\n\n")
    names = _draw(tuned, data, FOLDER)
    write(f"pictures in {FOLDER}/: {', '.join(names)}\n" if names else "pictures: pip install 'marginwise[plots]'\n")


def _compile(data: Any) -> None:
    """Fit both to a few rows: a first fit compiles and imports, which the seconds of a comparison are to leave out."""
    for model in _models().values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(data.X_train[:60, :5], data.y_train[:60]).predict_proba(data.X_test[:1, :5])


def _models() -> dict[str, Any]:
    return {"TunedSVC().fit(X, y)": TunedSVC(random_state=0), "GridSearchCV(SVC) + CalibratedClassifierCV": GridSVC()}


def _compare(data: Any) -> TunedSVC:
    """Fit both, print errors, log-losses and times on new rows, and return the tuned one."""
    sys.stdout.write(f"  {'':<44}{'test error':>10}{'log-loss':>10}{'seconds':>9}\n")
    models = _models()
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(data.X_train, data.y_train)
        seconds = time.perf_counter() - start
        error = 100 * (1 - model.score(data.X_test, data.y_test))
        proba = model.predict_proba(data.X_test)
        own = proba[np.arange(len(proba)), (data.y_test > 0).astype(int)]
        sys.stdout.write(f"  {name:<44}{error:>8.1f} %{-np.log(own).mean():>10.3f}{seconds:>9.2f}\n")
    tuned: TunedSVC = next(iter(models.values()))
    return tuned


def _most_relevant(model: TunedSVC, names: Any, number: int) -> str:
    order = np.argsort(-model.feature_importances_)[:number]
    return ", ".join(f"{names[a]} {model.feature_importances_[a]:.2f}" for a in order)


def _draw(model: TunedSVC, data: Any, folder: Path) -> list[str]:
    """Write a picture of everything that can be seen of a model, and return their names; none without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return []
    matplotlib.use("agg")
    style: Any = figure_style()
    folder.mkdir(exist_ok=True)
    with matplotlib.rc_context(style):
        displays = _displays(model, data)
        for name, display in displays.items():
            display.figure_.savefig(folder / f"{name}.png", dpi=150)
    return [f"{name}.png" for name in displays]


def _displays(model: TunedSVC, data: Any) -> dict[str, Any]:
    """Return all displays by name."""
    first, second = np.argsort(-model.feature_importances_)[:2].tolist()
    rows, start = model.ensemble_.problem, model.trace_[0].hyperparameters
    found = model.ensemble_.main.tuning.hyperparameters
    line = scan_line("ls-loo", rows.X, rows.y, start, found, sample_weight=rows.weights)
    return {
        "relevances": RelevanceDisplay.from_estimator(model, feature_names=data.feature_names),
        "reliability": ReliabilityDisplay.from_estimator(model, data.X_test, data.y_test),
        "boundary": BoundaryDisplay.from_estimator(
            model, data.X_train, data.y_train, features=(first, second), feature_names=data.feature_names
        ),
        "search": TraceDisplay.from_estimator(model),
        "line": LineDisplay(line).plot(),
    }


if __name__ == "__main__":
    main()
