"""The section of a report on columns: effects of the strongest, and contributions of all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from marginwise.display import Page
from marginwise.inspection import Explanation, effect, explain
from marginwise.inspection.positive import positive_place
from marginwise.plots import BeeswarmDisplay, EffectDisplay
from marginwise.reporting.figures import literal, page_figure
from marginwise.reporting.text import ranked

#: Columns whose effects are drawn, and columns of the contributions.
_EFFECTS, _COLUMNS = 4, 12

#: Rows from which on half as many effects are drawn, so that they take less time than the fit.
_MANY = 1500

#: Rows that contributions are drawn for, and rows they are compared with; fewer where a model is large.
_ROWS, _BACKGROUND = 100, 30

#: Rows times background rows times points times columns, which the time of contributions grows with.
_LARGEST = 3e8

#: Classes whose curves can be told apart.
_MOST_CLASSES = 5


def add_effects(page: Page, model: Any, X: Any, influences: dict[str, float], positive_class: Any = None) -> None:
    """Add effects of the columns with the largest influence, and what cells contribute."""
    names = list(influences)
    page.heading("What columns do")
    if len(model.classes_) <= _MOST_CLASSES:
        most = _EFFECTS if len(X) <= _MANY else _EFFECTS // 2
        strongest = [name for name, _ in ranked(influences)[:most]]
        _add_curves(page, model, X, names, strongest, positive_class)
    kernels = [member.hyperparameters.kernel for member in model.ensemble_.members]
    if all(term.composition is not None for kernel in kernels for term in kernel.terms):
        _add_contributions(page, model, X, names, positive_class)
    else:
        page.text("Contributions of cells are not shown: they need a kernel that is a sum or product over columns.")


def _add_curves(page: Page, model: Any, X: Any, names: list[str], shown: list[str], positive_class: Any) -> None:
    rows = -(-len(shown) // 2)
    figure = page_figure(0.4 + 2.4 * rows)
    axes = np.ravel(figure.subplots(rows, 2 if len(shown) > 1 else 1))
    additive = False
    for ax, name in zip(axes, shown, strict=False):
        found = effect(model, names.index(name), background=_some(X, _BACKGROUND))
        additive = found.additive
        display = EffectDisplay(replace(found, name=literal(name)), model.classes_)
        display.plot(ax, response="probability", positive_class=positive_class)
        ax.set_ylabel("probability")
    for ax in axes[len(shown) :]:
        ax.set_visible(False)
    more = " The model is a sum of functions of single columns: no column changes what another one does." * additive
    page.figure(
        figure,
        "Mean probability if all rows had the same value in a column, for the most influential columns; the band is "
        f"the model's own uncertainty (95 %).{more}",
        f"Curves for {', '.join(shown)}.",
    )


def _add_contributions(page: Page, model: Any, X: Any, names: list[str], positive_class: Any) -> None:
    cost = _BACKGROUND * model.ensemble_.n_points * len(names)
    size = int(np.clip(_LARGEST / cost, 10, _ROWS))
    some = _some(X, size)
    explanation = explain(model, some, _some(X, _BACKGROUND))
    meant = positive_place(model.classes_.tolist(), positive_class)
    label = model.classes_[np.bincount(model.ensemble_.codes).argmax() if meant is None else meant]
    add_swarm(
        page,
        replace(explanation.of_class(label), feature_names=names),
        f"What each cell contributes to {label}, in log-odds: a dot is one of {len(some)} rows, to the right speaks "
        "for it. Contributions are Shapley values: with the mean they add up to the score behind the probability.",
    )


def add_swarm(page: Page, explanation: Explanation, caption: str) -> None:
    """Add a dot for each row and column, by what the cell contributes."""
    names = explanation.feature_names
    shown = min(_COLUMNS, len(names))
    figure = page_figure(1.2 + 0.42 * shown)
    display = BeeswarmDisplay(replace(explanation, feature_names=[literal(name) for name in names]))
    display.plot(figure.subplots(), max_features=shown)
    strong = ", ".join(names[j] for j in np.argsort(-display.strength)[:3])
    page.figure(figure, caption, f"Dots; the columns that contribute most are {strong}.")


def _some(X: Any, size: int) -> Any:
    """Return rows at even steps."""
    return X[:: max(1, len(X) // size)][:size]
