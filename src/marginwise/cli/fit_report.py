"""The report of ``marginwise fit``: one page with what the model found and how far to trust it."""

from __future__ import annotations

import warnings
from importlib import import_module
from importlib.metadata import version
from typing import Any

from marginwise.cli.class_report import add_predictions
from marginwise.cli.figures import literal, page_figure
from marginwise.cli.held_out import HeldOutRows
from marginwise.cli.summary import FitSummary, ranked
from marginwise.cli.text import percent
from marginwise.datasets import Table
from marginwise.display import Cell, Page, figure_style
from marginwise.estimators import TunedSVC
from marginwise.plots import RelevanceDisplay, TermSharesDisplay, TraceDisplay

#: Inputs in a figure, the largest first.
_MOST_BARS = 20


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
        add_predictions(page, HeldOutRows.of(model, table.X, table.y), list(summary.classes))
        _add_search(page, model, summary)
    page.text(
        f"Made by marginwise {version('marginwise')} with criterion {summary.criterion}, {summary.slack} slack and "
        f"seed {summary.seed}."
    )
    return page


def _add_shape(page: Page, model: TunedSVC, summary: FitSummary) -> None:
    page.heading("What the decision looks like")
    page.text(
        f"{summary.shape[0].upper()}{summary.shape[1:]}. These are the shares of the kernel's terms in the variance of "
        "the latent function. Beyond the training rows a straight part goes on for ever, and probabilities with it; "
        "smooth and stepwise parts fade out, and probabilities go back to those of the classes."
    )
    figure = page_figure(1.0 + 0.35 * max(1, len(summary.term_shares)))
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
    figure = page_figure(1.0 + 0.26 * shown)
    RelevanceDisplay.from_estimator(
        model, feature_names=[literal(name) for name in summary.relevances], max_features=shown, ax=figure.subplots()
    )
    largest = ", ".join(f"{name} {value:.2f}" for name, value in order[:5])
    page.figure(figure, "Relevance of the inputs, the largest first.", f"Bars; the largest are {largest}.")


def _add_influences(page: Page, order: list[tuple[str, float]]) -> None:
    shown = order[:_MOST_BARS]
    figure = page_figure(0.7 + 0.26 * len(shown))
    axes = figure.subplots()
    axes.barh(range(len(shown)), [value for _, value in shown], height=0.6)
    axes.set_yticks(range(len(shown)), [literal(name) for name, _ in shown])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("influence")
    rest = f"; the other {len(order) - len(shown)} have less" if len(order) > len(shown) else ""
    largest = ", ".join(f"{name} {value:.3f}" for name, value in shown[:5])
    page.figure(figure, f"Influence of the columns, the largest first{rest}.", f"Bars; the largest are {largest}.")


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
    figure = page_figure(4.4)
    TraceDisplay.from_estimator(model, ax=figure.subplots(2, 1, sharex=True))
    main = max((m for m in summary.members if m.separates == summary.members[0].separates), key=lambda m: m.weight)
    page.figure(
        figure,
        f"The search of the model with the largest weight ({main.separates}); it ended: {main.status}.",
        f"Criterion and hyperparameters over {main.evaluations} evaluations.",
    )
