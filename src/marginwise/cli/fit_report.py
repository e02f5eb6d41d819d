"""The report of ``marginwise fit``: one page with what the model found and how far to trust it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array, Indices
from marginwise.cli.summary import FitSummary, ranked
from marginwise.cli.text import percent
from marginwise.datasets import Table
from marginwise.display import Cell, Page, figure_style
from marginwise.estimators import TunedSVC
from marginwise.estimators._classes import ClassificationTable
from marginwise.plots import RelevanceDisplay, ReliabilityDisplay, TermSharesDisplay, TraceDisplay

#: Inputs in a figure, the largest first, and the characters of their names.
_MOST_BARS, _LONGEST_NAME = 20, 30

#: Bins of the reliability diagram.
_BINS = 10


def fit_report(model: TunedSVC, table: Table, summary: FitSummary) -> Page:
    """Return the page."""
    page = Page(f"{summary.target} in {summary.table}", f"{summary.contents}.")
    commonest = 1 - max(summary.classes.values()) / summary.rows
    page.facts(
        [
            (percent(summary.loo_error), f"error expected on new data, ± {100 * summary.error_deviation:.1f}"),
            (f"{summary.loo_log_loss:.3f}", "log-loss expected on new data"),
            (percent(commonest), "error if the commonest class is always predicted"),
            (f"{summary.seconds:.1f} s", "to tune and train"),
        ]
    )
    page.notes(summary.warnings)
    mpl: Any = import_module("matplotlib")
    with mpl.rc_context(figure_style()), warnings.catch_warnings():
        # The page's fonts have what matplotlib's own lack.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        _add_shape(page, model, summary)
        _add_inputs(page, model, summary)
        _add_predictions(page, HeldOutRows.of(model, table.X, table.y), list(summary.classes))
        _add_search(page, model, summary)
    page.text(
        f"Made by marginwise {version('marginwise')} with criterion {summary.criterion}, {summary.slack} slack and "
        f"seed {summary.seed}."
    )
    return page


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Class probabilities of the examples that the model was trained on, from models without them.

    ``codes`` are the examples' class numbers, ``weights`` how often each is in the table.
    """

    probability: Array
    codes: Indices
    weights: Array

    @classmethod
    def of(cls, model: TunedSVC, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> HeldOutRows:
        """Return those of a model that was fitted to this table; repeated rows are one example."""
        codes = np.searchsorted(model.classes_, y)
        once = np.ones(len(y))
        rows = ClassificationTable(model._cells(X), codes, once, model.classes_, once).merged()  # as fit does
        return cls(model._held_out(), rows.codes, rows.weights)

    @property
    def predicted(self) -> Indices:
        """The number of the most probable class."""
        return self.probability.argmax(axis=1)

    def confusion(self) -> Array:
        """Return how many examples of each class (rows) were taken for each (columns)."""
        n_classes = self.probability.shape[1]
        pairs = self.codes * n_classes + self.predicted
        counts: npt.NDArray[Any] = np.bincount(pairs, self.weights, n_classes**2)
        return counts.reshape(n_classes, n_classes)

    def reliability(self, event: str) -> ReliabilityDisplay:
        """Return the reliability of the second of two classes (``event``), or of the predicted one of more."""
        if self.probability.shape[1] == 2:
            p, happened = self.probability[:, 1], self.codes == 1
        else:
            p, happened, event = self.probability.max(axis=1), self.codes == self.predicted, "the predicted class"
        return ReliabilityDisplay(p, happened, n_bins=_BINS, sample_weight=self.weights, event=event)


def _figure(height: float) -> Any:
    """Return an empty figure of the page's width; pyplot would keep it, and open a window on some systems."""
    from matplotlib.figure import Figure

    return Figure(figsize=(6.4, height))


def _literal(name: str) -> str:
    """Return a name for a figure: no formula, whatever is in it, and not longer than there is room for."""
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")


def _add_shape(page: Page, model: TunedSVC, summary: FitSummary) -> None:
    page.heading("What the decision looks like")
    page.text(
        f"{summary.shape[0].upper()}{summary.shape[1:]}. These are the shares of the kernel's terms in the variance of "
        "the latent function. Beyond the training rows a straight part goes on for ever, and probabilities with it; "
        "smooth and stepwise parts fade out, and probabilities go back to those of the classes."
    )
    figure = _figure(1.0 + 0.35 * max(1, len(summary.term_shares)))
    TermSharesDisplay.from_estimator(model, ax=figure.subplots())
    page.figure(figure, "Shares of straight, smooth and stepwise parts.", f"{summary.shape}.")


def _add_inputs(page: Page, model: TunedSVC, summary: FitSummary) -> None:
    page.heading("Which inputs matter")
    page.text(
        "The influence of a column is the mean change of the predicted probabilities when its cells are replaced by "
        "those of other rows: what the model would lose sight of without it."
    )
    _add_influences(page, ranked(summary.influences))
    page.text(
        "The relevance of an input is the mean squared slope of the latent function in it, in units of the input's "
        "spread, scaled to sum 1 and averaged over the tuned models: how much the function varies with it."
    )
    order = ranked(summary.relevances)
    shown = min(len(order), _MOST_BARS)
    figure = _figure(1.0 + 0.26 * shown)
    RelevanceDisplay.from_estimator(
        model, feature_names=[_literal(name) for name in summary.relevances], max_features=shown, ax=figure.subplots()
    )
    largest = ", ".join(f"{name} {value:.2f}" for name, value in order[:5])
    page.figure(figure, "Relevance of the inputs, the largest first.", f"Bars; the largest are {largest}.")


def _add_influences(page: Page, order: list[tuple[str, float]]) -> None:
    shown = order[:_MOST_BARS]
    figure = _figure(0.7 + 0.26 * len(shown))
    axes = figure.subplots()
    axes.barh(range(len(shown)), [value for _, value in shown], height=0.6)
    axes.set_yticks(range(len(shown)), [_literal(name) for name, _ in shown])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("influence")
    rest = f"; the other {len(order) - len(shown)} have less" if len(order) > len(shown) else ""
    largest = ", ".join(f"{name} {value:.3f}" for name, value in shown[:5])
    page.figure(figure, f"Influence of the columns, the largest first{rest}.", f"Bars; the largest are {largest}.")


def _add_predictions(page: Page, held_out: HeldOutRows, labels: list[str]) -> None:
    page.heading("How far to trust it")
    page.text(
        "Each example of the table was predicted by models that had not seen it. Where the dots are on the diagonal, "
        "what was given the probability p happened with frequency p; bars are two standard errors."
    )
    display = held_out.reliability(f"class {_literal(labels[1])}")
    figure = _figure(4.4)
    display.plot(figure.subplots(2, 1, sharex=True, height_ratios=(3, 1)))
    page.figure(
        figure,
        "Reliability of the probabilities.",
        f"Observed frequency against predicted probability; the calibration error is {display.calibration_error:.3f}.",
    )
    counts = held_out.confusion()
    page.table(
        ["true class", *(f"predicted {label}" for label in labels), "error"],
        [[label, *_confusion(row, k)] for k, (label, row) in enumerate(zip(labels, counts, strict=True))],
        caption="Confusion: numbers of examples",
    )


def _confusion(counts: Array, k: int) -> list[Cell]:
    """Return the cells of class ``k``: how often each class was predicted for it, and its error."""
    error = float(1 - counts[k] / counts.sum())
    tones = ["good" if j == k else "bad" if n else "" for j, n in enumerate(counts)]
    return [
        *(Cell(f"{n:g}", float(n), tone) for n, tone in zip(counts, tones, strict=True)),
        Cell(percent(error), error),
    ]


def _add_search(page: Page, model: TunedSVC, summary: FitSummary) -> None:
    page.heading("How it was tuned")
    page.text(
        "C, the amplitudes of the kernel's terms (k0 smooth, klin straight, k1 stepwise, koff constant) and the length "
        "scales optimise the criterion under a prior, for standardised inputs. Freedom is "
        "the prior standard deviation of the logarithms of the length scales, 0 for one that serves all inputs; "
        "the prediction is the average of the models with these weights."
    )
    rows: list[list[Any]] = [
        [
            *(m.separates, Cell(f"{m.weight:.2f}", m.weight), m.freedom),
            *(m.hyperparameters.get(name) for name in summary.names),
            *(m.criterion_value, m.evaluations),
        ]
        for m in summary.members
    ]
    header = ["classes", "weight", "freedom", *summary.names, summary.criterion, "evaluations"]
    page.table(header, rows, caption="Tuned models")
    figure = _figure(4.4)
    TraceDisplay.from_estimator(model, ax=figure.subplots(2, 1, sharex=True))
    main = max((m for m in summary.members if m.separates == summary.members[0].separates), key=lambda m: m.weight)
    page.figure(
        figure,
        f"The search of the model with the largest weight ({main.separates}); it ended: {main.status}.",
        f"Criterion and hyperparameters over {main.evaluations} evaluations.",
    )
