"""The report of ``marginwise fit``: one page with what the model found and how far to trust it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise import __version__
from marginwise.cli.summary import Summary
from marginwise.cli.text import percent
from marginwise.datasets import Table
from marginwise.estimators import TunedSVC
from marginwise.page import Cell, Page


def fit_report(model: TunedSVC, table: Table, summary: Summary) -> Page:
    """Return the page."""
    page = Page(f"{summary.target} in {summary.table}", f"{summary.contents}.")
    page.facts(
        [
            (percent(summary.loo_error), f"error expected on new data, ± {100 * summary.error_deviation:.1f}"),
            (f"{summary.loo_log_loss:.3f}", "log-loss expected on new data"),
            (percent(1 - max(summary.classes.values()) / summary.rows), "error of always saying the commonest class"),
            (f"{summary.seconds:.1f} s", "to tune and train"),
        ]
    )
    page.notes(summary.warnings)
    _relevances(page, model, summary)
    _reliability(page, model, summary)
    _search(page, model, summary)
    page.text(
        f"marginwise {__version__}, criterion {summary.criterion}, {summary.slack} slack, seed {summary.seed}. "
        "Error, log-loss, probabilities and confusion are of examples that were left out when they were predicted."
    )
    return page


def held_out(model: TunedSVC) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """Return the class probabilities of each training example, from models without it, and its class number."""
    probability = np.column_stack([part.held_out for part in model.models_])
    labels = np.column_stack([part.y for part in model.models_])
    if len(model.classes_) == 2:
        return np.column_stack([1.0 - probability, probability]), (labels[:, 0] > 0).astype(np.intp)
    return probability / probability.sum(axis=1, keepdims=True), labels.argmax(axis=1)


def _relevances(page: Page, model: TunedSVC, summary: Summary) -> None:
    page.heading("Which inputs matter")
    page.text(
        "The relevance of an input is 1/l² of its length scale l, averaged over the models below and scaled to sum 1: "
        "the shorter the length scale, the faster the prediction changes with the input."
    )
    rows: list[list[Any]] = [[name, value] for name, value in summary.ranked()]
    page.table(["input", "relevance"], rows, caption="Relevance of the inputs")


def _reliability(page: Page, model: TunedSVC, summary: Summary) -> None:
    page.heading("How far to trust it")
    probability, codes = held_out(model)
    predicted = probability.argmax(axis=1)
    labels = list(summary.classes)
    counts = np.zeros((len(labels), len(labels)), dtype=int)
    np.add.at(counts, (codes, predicted), 1)
    rows: list[list[Any]] = [
        [
            label,
            *(Cell(str(n), n, "good" if i == j else "bad" if n else "") for j, n in enumerate(counts[i].tolist())),
            Cell(percent(1 - counts[i, i] / counts[i].sum()), 1 - counts[i, i] / counts[i].sum()),
        ]
        for i, label in enumerate(labels)
    ]
    page.table(
        ["true class", *(f"predicted {label}" for label in labels), "error"],
        rows,
        caption="Confusion",
        note="Each example was predicted by models that had not seen it.",
    )


def _search(page: Page, model: TunedSVC, summary: Summary) -> None:
    page.heading("How it was tuned")
    page.text(
        "Length scales, C, k0 and koff maximise the criterion under a prior; freedom is the prior standard deviation "
        "of the logarithms of the length scales, 0 for one that serves all inputs. Predictions are averages with these "
        "weights. Hyperparameters are for standardised inputs."
    )
    rows: list[list[Any]] = [
        [m.separates, m.weight, m.freedom, m.C, m.k0, m.koff, m.criterion_value, m.evaluations, m.status]
        for m in summary.members
    ]
    header = ["classes", "weight", "freedom", "C", "k0", "koff", summary.criterion, "evaluations", "ended"]
    page.table(header, rows, caption="Tuned models")
