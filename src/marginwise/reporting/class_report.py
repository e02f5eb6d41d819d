"""The section of a report on held-out predictions: reliability, confusion, scores and ROC curves by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise._wording import percent
from marginwise.display import MUTED, SERIES, Cell, Page
from marginwise.inspection import HeldOutReport, held_out_report
from marginwise.inspection.positive import positive_place
from marginwise.plots import ReliabilityDisplay
from marginwise.reporting.figures import literal, page_figure
from marginwise.reporting.two_classes import add_operating_points

#: Bins of the reliability diagram, rows from which on one has a dot, and dots from which on it is drawn at all. With
#: ten rows a frequency of one half has a standard error of 16 percentage points; with fewer a dot says nothing.
_BINS, _FEWEST_ROWS, _FEWEST_DOTS = 10, 10, 2

#: Classes up to which the confusion is a table; beyond, it is a picture and a list of the commonest mistakes.
_MOST_IN_TABLE = 12

#: Mistakes in that list.
_MOST_MISTAKES = 15

#: Classes up to which a picture has their names next to it, and numbers in its cells.
_MOST_NAMED, _MOST_NUMBERED = 50, 30

#: ROC curves in colours of their own, and all that are drawn, those of the lowest area.
_MOST_COLOURED, _MOST_CURVES = 6, 100


def add_predictions(page: Page, model: Any, y: Any, positive_class: Any = None) -> None:
    """Add the section to a page."""
    report = held_out_report(model, y)
    labels = [str(label) for label in report.classes.tolist()]
    meant = positive_place(report.classes.tolist(), positive_class)
    page.heading("How far to trust it")
    page.text(
        "Each row of the table was predicted by models trained without it, as if it were new. This section compares "
        "these predictions with the truth."
    )
    _add_reliability(page, reliability(report, meant))
    if len(labels) <= _MOST_IN_TABLE:
        _add_confusion_table(page, report.confusion, labels)
    else:
        _add_confusion_picture(page, report.confusion, labels)
        _add_mistakes(page, report)
    if meant is not None:
        add_operating_points(page, model, y, meant)
    if len(labels) > 2:
        _add_order(page, report)
        _add_scores(page, report, labels)
    _add_curves(page, report, labels, meant)


def _add_reliability(page: Page, display: ReliabilityDisplay) -> None:
    """Add the reliability diagram, or say why there is none."""
    if np.count_nonzero(display.enough(_FEWEST_ROWS)) < _FEWEST_DOTS:
        page.text(
            f"There is no reliability diagram: it needs {_FEWEST_ROWS} rows in each of {_FEWEST_DOTS} or more ranges "
            f"of probability (of {_BINS}), and nearly all rows of this table are in one, or they are too few."
        )
        return
    figure = page_figure(4.4)
    display.plot(figure.subplots(2, 1, sharex=True, height_ratios=(3, 1)), fewest=_FEWEST_ROWS)
    few = int(display.counts[~display.enough(_FEWEST_ROWS)].sum())
    left = f" Ranges with fewer than {_FEWEST_ROWS} rows ({few} rows in all) have no dot." if few else ""
    page.figure(
        figure,
        "Can the probabilities be trusted? Of the rows that were given a probability of, say, 70 %, "
        "about 70 % should turn out so. Dots on the dashed line mean that they did; the bars show how far dots stray "
        f"by chance (95 % intervals). Below: how many rows had such a probability.{left}",
        f"Observed frequency against predicted probability; the calibration error is {display.calibration_error:.3f}.",
    )


def reliability(report: HeldOutReport, place: int | None) -> ReliabilityDisplay:
    """Return the reliability of the class at this place, or of the predicted one."""
    if place is not None:
        p, happened = report.probability[:, place], report.codes == place
        event = f"class {literal(str(report.classes.tolist()[place]))}"
    else:
        p, happened, event = report.probability.max(axis=1), report.codes == report.predicted, "the predicted class"
    return ReliabilityDisplay(p, happened, n_bins=_BINS, sample_weight=report.copies, event=event)


def _add_confusion_table(page: Page, counts: Array, labels: list[str]) -> None:
    page.table(
        ["true class", *(f"predicted {label}" for label in labels), "error"],
        [[label, *_confusion(row, k)] for k, (label, row) in enumerate(zip(labels, counts, strict=True))],
        caption="Right and wrong predictions: numbers of rows",
    )


def _confusion(counts: Array, k: int) -> list[Cell]:
    """Return the cells of class ``k``: how often each class was predicted for it, and its error."""
    error = float(1 - counts[k] / counts.sum())
    tones = ["good" if j == k else "bad" if n else "" for j, n in enumerate(counts)]
    return [
        *(Cell(f"{n:g}", float(n), tone) for n, tone in zip(counts, tones, strict=True)),
        Cell(percent(error), error),
    ]


def _add_confusion_picture(page: Page, counts: Array, labels: list[str]) -> None:
    figure = page_figure(6.6)
    draw_confusion(figure.subplots(), counts, labels)
    wrong = counts.sum() - np.trace(counts)
    page.figure(
        figure,
        "Confusion: each row of the picture is a true class, each column a predicted one. Squares on the diagonal are "
        "right predictions, all others mistakes; the darker, the larger the share of the true class.",
        f"Matrix of {len(labels)} classes; {wrong:g} of {counts.sum():g} examples are off the diagonal.",
    )


def draw_confusion(axes: Any, counts: Array, labels: Sequence[str]) -> None:
    """Draw a square for each pair of classes that occurs: right ones in one colour, mistakes in another.

    Pairs that do not occur are not drawn, so that the figure of many classes stays small.
    """
    from matplotlib.collections import PatchCollection
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    n = len(labels)
    true, taken = np.nonzero(counts)
    shares = counts[true, taken] / counts.sum(axis=1)[true]
    # The page turns colours into those of its background; shades of one are therefore different opacities.
    colours = [
        to_rgba(SERIES[0 if i == j else 1], 0.2 + 0.55 * np.sqrt(s))
        for i, j, s in zip(true, taken, shares, strict=True)
    ]
    squares = [Rectangle((j - 0.5, i - 0.5), 1.0, 1.0) for i, j in zip(true, taken, strict=True)]
    axes.add_collection(PatchCollection(squares, facecolors=colours, edgecolors="none"))
    if n <= _MOST_NUMBERED:
        for i, j in zip(true, taken, strict=True):
            axes.text(j, i, f"{counts[i, j]:g}", ha="center", va="center", fontsize=6)
    axes.set(xlim=(-0.5, n - 0.5), ylim=(n - 0.5, -0.5), aspect="equal", xlabel="predicted class", ylabel="true class")
    axes.grid(visible=False)
    if n <= _MOST_NAMED:
        names = [literal(label) for label in labels]
        axes.set_xticks(range(n), names, rotation=90)
        axes.set_yticks(range(n), names)
        axes.tick_params(labelsize=8 if n <= 26 else 6)
    else:
        step = 10 if n < 200 else 100
        axes.set(xlabel="predicted class, by its place in the table", ylabel="true class, by its place in the table")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_ticks(range(step - 1, n, step), [str(place) for place in range(step, n + 1, step)])


def _add_mistakes(page: Page, report: HeldOutReport) -> None:
    made = report.mistakes
    if not made:
        page.text("There were no mistakes.")
        return
    rest = f" of {len(made)}" if len(made) > _MOST_MISTAKES else ""
    page.table(
        ["true class", "taken for", "examples", "share of the true class"],
        [
            [str(m.true), str(m.predicted), Cell(f"{m.rows:g}", m.rows), Cell(percent(m.share), m.share)]
            for m in made[:_MOST_MISTAKES]
        ],
        caption=f"The commonest mistakes{f', {_MOST_MISTAKES}{rest}' if rest else ''}",
    )


def _add_scores(page: Page, report: HeldOutReport, labels: list[str]) -> None:
    page.table(
        ["class", "rows", "recall", "precision", "F1", "AUC"],
        [
            [label, s.rows, *(_share(value) for value in (s.recall, s.precision, s.f1)), Cell(f"{s.auc:.3f}", s.auc)]
            for label, s in zip(labels, report.scores.values(), strict=True)
        ],
        caption="How well each class is told from the others",
        note="Recall: of the rows of this class, how many were found. Precision: of the rows that were predicted as "
        "this class, how many are. F1: one number for both, their harmonic mean. AUC: how often a row of this class "
        "is given a higher probability of it than a row of another class; 0.5 is no better than chance.",
    )


def _add_order(page: Page, report: HeldOutReport) -> None:
    """Add how far predictions are off, where the classes have an order."""
    scores = report.order_scores
    if report.order is None or scores is None:
        return
    order = " < ".join(str(label) for label in report.classes[report.order].tolist())
    rows = [
        ("ranked probability score", scores.ranked_probability_score, scores.base_ranked_probability_score),
        ("mean distance of the median class", scores.mean_absolute_error, scores.base_mean_absolute_error),
    ]
    page.table(
        ["", "this model", "without any input"],
        [[name, Cell(f"{own:.3f}", own), Cell(f"{base:.3f}", base)] for name, own, base in rows],
        caption=f"How far predictions are off, in the order {order}",
        note="Ranked probability score: the mean squared difference between the probability of being at most in a "
        "class and what happened, over all classes but the highest; 0 is perfect, and probability far from the true "
        "class costs more than probability next to it. Distance: how many classes the median class is from the "
        "true one.",
    )


def _share(value: float | None) -> Cell | None:
    return None if value is None else Cell(percent(value), value)


def _add_curves(page: Page, report: HeldOutReport, labels: list[str], meant: int | None) -> None:
    figure = page_figure(4.4)
    draw_curves(figure.subplots(), report, labels, meant)
    areas = [scores.auc for scores in report.scores.values()]
    lowest = int(np.argmin(areas))
    if len(labels) == 2:
        assert meant is not None
        yes, no, area = labels[meant], labels[1 - meant], areas[meant]
        caption = f"ROC curve of {yes}: how many of its rows are found, and how many others are taken for it, "
        caption += "as the threshold is lowered from 1 to 0. The dot is where predictions are made. The area under the "
        caption += f"curve, {area:.3f}, is how often a row of {yes} has a higher probability than one of {no}: "
        caption += "1 is perfect, 0.5 (the dashed line) a coin."
        alternative = f"ROC curve with area {area:.3f}."
    else:
        caption = "ROC curves of each class against all others: how many of its rows are found, and how many others "
        caption += "are taken for it, as the threshold is lowered from 1 to 0."
        alternative = f"ROC curves; the lowest area is that of {labels[lowest]}, {areas[lowest]:.3f}."
    page.figure(figure, caption, alternative)


def draw_curves(axes: Any, report: HeldOutReport, labels: Sequence[str], meant: int | None) -> None:
    """Draw the ROC curve of the one of two classes that is meant, or of each of more; of many, the lowest areas."""
    classes, areas = list(report.scores), [scores.auc for scores in report.scores.values()]
    order = [meant] if len(labels) == 2 and meant is not None else sorted(range(len(labels)), key=lambda k: areas[k])
    coloured = len(order) if len(order) <= len(SERIES) else _MOST_COLOURED
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle="--", zorder=1)
    for place, k in reversed(list(enumerate(order[:_MOST_CURVES]))):
        own: dict[str, Any] = {"color": MUTED, "linewidth": 0.6, "alpha": 0.5}
        if place < coloured:
            own = {"color": SERIES[place], "label": f"{literal(labels[k])}, {areas[k]:.3f}"}
        axes.plot(*report.roc(classes[k]), **own)
    if len(labels) == 2:
        recall = [scores.recall for scores in report.scores.values()]
        axes.plot(1 - recall[1 - order[0]], recall[order[0]], "o", color=SERIES[0])
    axes.set(xlabel="share of the others taken for it", ylabel="share of the class found", xlim=(-0.01, 1.01))
    axes.set(ylim=(-0.01, 1.02), aspect="equal")
    handles, names = axes.get_legend_handles_labels()
    title = "area under the curve" if coloured == len(order) else "lowest areas"
    axes.legend(
        handles[::-1],
        names[::-1],
        title=title,
        loc="lower right" if len(names) == 1 else "center left",
        bbox_to_anchor=None if len(names) == 1 else (1.02, 0.5),
        alignment="left",
    )
