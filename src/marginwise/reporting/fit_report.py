"""The report of ``marginwise fit``: one page with what the model found and how far to trust it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from marginwise.display import Cell, Page
from marginwise.display.drawing import FORMATS
from marginwise.display.style import require_matplotlib
from marginwise.errors import choose
from marginwise.estimators import TunedSVC
from marginwise.plots import RelevanceDisplay, TermSharesDisplay, TraceDisplay
from marginwise.reporting.class_report import add_predictions
from marginwise.reporting.effects import add_effects
from marginwise.reporting.figures import literal, page_figure, page_style
from marginwise.reporting.label_issues import add_label_issues
from marginwise.reporting.summary import FitSummary, summarise
from marginwise.reporting.text import ranked
from marginwise.reporting.training import TrainingTable, no_feature_names

#: Inputs in a figure, the largest first.
_MOST_BARS = 20


def write_report(
    model: Any, path: Path, *, positive_class: Any = None, title: str = "", plots: str | None = None
) -> Path:
    """Write the report of a model from what it holds itself, and its pictures next to it if a format is given."""
    require_matplotlib("matplotlib")
    if plots is not None:
        choose("plots", plots, FORMATS)
    table = TrainingTable.of_model(model)
    summary = summarise(model, table, warnings=model._remarks, positive_class=positive_class)
    page = fit_report(model, table, summary, positive_class=positive_class, title=title)
    if plots is not None:
        page.write_pictures(pictures_folder(path), plots)
    return page.write(path)


def pictures_folder(report: Path) -> Path:
    """Return the folder of a report's pictures."""
    return report.with_name(f"{report.stem}-plots")


def fit_report(
    model: TunedSVC, table: TrainingTable, summary: FitSummary, *, positive_class: Any = None, title: str = ""
) -> Page:
    """Return the page."""
    named = f"{summary.target} in {summary.table}" if summary.table else f"{type(model).__name__}: {summary.target}"
    page = Page(title or named, f"{summary.contents}.")
    page.facts(summary.facts)
    page.notes(summary.warnings)
    with page_style(), no_feature_names():
        _add_shape(page, model, summary)
        _add_inputs(page, model, summary)
        if model.predictor == "posterior":  # what a classical SVM does has no such parts
            add_effects(page, model, table.X, summary.influences, positive_class)
        if summary.is_judged:
            add_predictions(page, model, table.y, positive_class)
            add_label_issues(page, model, table)
        _add_search(page, model, summary)
    took = "" if summary.seconds is None else f" in {summary.seconds:.1f} s"
    seed = "" if summary.seed is None else f" and seed {summary.seed}"
    page.text(
        f"Made{took} by marginwise {version('marginwise')} with criterion {summary.criterion}, {summary.slack} slack"
        f"{seed}."
    )
    return page


def _add_shape(page: Page, model: TunedSVC, summary: FitSummary) -> None:
    page.heading("What the decision looks like")
    page.text(
        f"{summary.shape[0].upper()}{summary.shape[1:]}. A straight part means that the more of an input there is, "
        "the more (or less) probable a class becomes. A smooth part may rise and fall again; a stepwise part changes "
        "around certain values of single inputs. Beyond the rows of this table a straight part goes on forever, and "
        "so do its probabilities; the others fade out, and probabilities return to the shares of the classes."
    )
    figure = page_figure(1.0 + 0.35 * max(1, len(summary.term_shares)))
    TermSharesDisplay.from_estimator(model, ax=figure.subplots())
    caption = (
        "How much of the score behind the probabilities is straight, smooth and stepwise (shares of its variance)."
    )
    page.figure(figure, caption, f"Bars: {summary.shape}.")


def _add_inputs(page: Page, model: TunedSVC, summary: FitSummary) -> None:
    page.heading("Which inputs matter")
    page.text(
        "Influence: by how much the predicted probabilities change, on average, when the cells of a column are "
        "replaced by those of other rows. 0.1 is ten percentage points. A column without influence is not needed."
    )
    _add_influences(page, ranked(summary.influences))
    page.text(
        "Relevance: how steeply the score behind the probabilities rises or falls along an input (its mean squared "
        "slope, inputs in units of their spread; all relevances sum to 1). Both say what this model uses, not what "
        "causes what: of two inputs that say the same, one may get everything."
    )
    order = ranked(summary.relevances)
    shown = min(len(order), _MOST_BARS)
    figure = page_figure(1.0 + 0.26 * shown)
    RelevanceDisplay.from_estimator(
        model, feature_names=[literal(name) for name in summary.relevances], max_features=shown, ax=figure.subplots()
    )
    largest = ", ".join(f"{name} {value:.2f}" for name, value in order[:5])
    page.figure(
        figure,
        "Relevance of the inputs, the largest first. Where several models are averaged, a dot is one of them: "
        "dots that lie apart mean that the relevance is uncertain.",
        f"Bars; the largest are {largest}.",
    )


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
        "For those who know support vector machines, or want to repeat the fit elsewhere: C, the amplitudes of "
        "the kernel's terms (k0 smooth, klin straight, k1 stepwise, koff constant) and the length scales optimise "
        "the criterion under a prior, for standardised inputs. The column ard is the prior standard deviation of the "
        "logarithms of the length scales, 0 for one shared by all inputs; the prediction is the average of the "
        "models with these weights."
    )
    rows: list[list[Any]] = [
        [
            *(m.separates, Cell(f"{m.weight:.2f}", m.weight), m.ard),
            *(Cell(m.shown(name), m.hyperparameters.get(name)) for name in summary.names),
            *(m.criterion_value, m.evaluations),
        ]
        for m in summary.members
    ]
    header = ["classes", "weight", "ard", *summary.names, summary.criterion, "evaluations"]
    page.table(header, rows, caption="Tuned models")
    figure = page_figure(4.4)
    TraceDisplay.from_estimator(model, ax=figure.subplots(2, 1, sharex=True))
    main = max((m for m in summary.members if m.separates == summary.members[0].separates), key=lambda m: m.weight)
    page.figure(
        figure,
        f"The search that found the model with the largest weight ({main.separates}). Above: its score, which should "
        f"rise and level off. Below: the hyperparameters on the way. It ended: {main.status}.",
        f"Criterion and hyperparameters over {main.evaluations} evaluations.",
    )
