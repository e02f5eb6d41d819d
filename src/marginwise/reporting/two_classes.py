"""The table of sensitivity and specificity of a class."""

from __future__ import annotations

from typing import Any

from marginwise._wording import percent
from marginwise.display import Cell, Page
from marginwise.inspection import Proportion, operating_points

#: The share that the two other thresholds of the table reach.
_HIGH = 0.95


def add_operating_points(page: Page, model: Any, y: Any, place: int) -> None:
    """Add a table of them for the class at this place; of more than two the others are taken together."""
    labels = model.classes_.tolist()
    yes = str(labels[place])
    no = str(labels[1 - place]) if len(labels) == 2 else f"not {yes}"
    names = ["as predicted", f"to find {100 * _HIGH:.0f} % of {yes}", f"to spare {100 * _HIGH:.0f} % of {no}"]
    points = operating_points(model, y, _HIGH, positive_class=labels[place])
    page.table(
        ["threshold", f"probability of {yes}", "sensitivity", "specificity", f"right about {yes}", f"right about {no}"],
        [
            [
                name,
                Cell(f"{point.threshold:.2f}", point.threshold),
                *map(_cell, point[1:]),
            ]
            for name, point in zip(names, points, strict=True)
        ],
        caption="Sensitivity and specificity",
        note=f"From the probability in the second column on, {yes} is predicted. Sensitivity: of the rows that are "
        f"{yes}, how many are found. Specificity: of the rows that are {no}, how many are spared. Right about "
        f"{yes}: of the rows predicted as {yes}, how many are, if {yes} is as frequent as in this table; in the "
        f"same way for {no}. Below each share is its 95 % interval. The thresholds of the last two lines were "
        "chosen on these same rows: expect a little less on new ones.",
    )


def _cell(share: Proportion | None) -> Cell | None:
    if share is None:
        return None
    return Cell(percent(share.value), share.value, detail=f"{100 * share.low:.0f} – {100 * share.high:.0f}")
