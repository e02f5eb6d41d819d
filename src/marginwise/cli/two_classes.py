"""What two classes are asked for: how many of one are found, how many of the other left alone, at which threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_curve

from marginwise._arrays import Mask
from marginwise.cli.held_out import HeldOutRows
from marginwise.cli.text import percent
from marginwise.display import Cell, Page

#: The share that the two other thresholds of the table reach.
_HIGH = 0.95

#: Standard deviations of a 95 % interval.
_Z = 1.96


class Share(NamedTuple):
    """A share of some rows, and between what it may lie (95 %)."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, found: float, total: float) -> Share | None:
        """Return Wilson's interval (1927): it stays within 0 and 1, and is not empty where all or none were found."""
        if total <= 0:
            return None
        p, z2 = found / total, _Z**2 / total
        middle = (p + z2 / 2) / (1 + z2)
        half = _Z * math.sqrt(p * (1 - p) / total + z2 / (4 * total)) / (1 + z2)
        return cls(p, max(0.0, middle - half), min(1.0, middle + half))


class OperatingPoint(NamedTuple):
    """What happens if the second class is predicted from a probability of ``threshold`` on; None where nothing was."""

    threshold: float
    sensitivity: Share | None
    specificity: Share | None
    positive: Share | None
    negative: Share | None

    @classmethod
    def at(cls, held_out: HeldOutRows, threshold: float, taken: Mask) -> OperatingPoint:
        """Return that of the examples that were taken for the second class."""
        ill, w = held_out.codes == 1, held_out.weights
        right_yes, right_no = w[ill & taken].sum(), w[~ill & ~taken].sum()
        return cls(
            threshold,
            Share.of(right_yes, w[ill].sum()),
            Share.of(right_no, w[~ill].sum()),
            Share.of(right_yes, w[taken].sum()),
            Share.of(right_no, w[~taken].sum()),
        )


def operating_points(held_out: HeldOutRows) -> list[OperatingPoint]:
    """Return three: as predicted, with a sensitivity of at least 95 %, and with a specificity of at least 95 %."""
    p = held_out.probability[:, 1]
    others, own, thresholds = roc_curve(held_out.codes == 1, p, sample_weight=held_out.weights, drop_intermediate=False)
    chosen = [thresholds[np.argmax(own >= _HIGH)], thresholds[np.flatnonzero(1 - others >= _HIGH)[-1]]]
    return [
        OperatingPoint.at(held_out, 0.5, held_out.predicted == 1),
        *(OperatingPoint.at(held_out, float(min(t, 1.0)), p >= t) for t in chosen),
    ]


def add_operating_points(page: Page, held_out: HeldOutRows, labels: Sequence[str]) -> None:
    """Add a table of them."""
    no, yes = labels
    names = ["as predicted", f"to find {100 * _HIGH:.0f} % of {yes}", f"to spare {100 * _HIGH:.0f} % of {no}"]
    page.table(
        ["threshold", f"probability of {yes}", "sensitivity", "specificity", f"right about {yes}", f"right about {no}"],
        [
            [
                name,
                Cell(f"{point.threshold:.2f}", point.threshold),
                *map(_cell, (point.sensitivity, point.specificity, point.positive, point.negative)),
            ]
            for name, point in zip(names, operating_points(held_out), strict=True)
        ],
        caption="Sensitivity and specificity",
        note=f"From the probability in the second column on, {yes} is predicted. Sensitivity: of the rows that are "
        f"{yes}, how many are found. Specificity: of the rows that are {no}, how many are spared. Right about "
        f"{yes}: of the rows predicted as {yes}, how many are, if {yes} is as frequent as in this table; in the "
        f"same way for {no}. Below each share is its 95 % interval. The thresholds of the last two lines were "
        "chosen on these same rows: on new ones expect a little less.",
    )


def _cell(share: Share | None) -> Cell | None:
    if share is None:
        return None
    return Cell(percent(share.value), share.value, detail=f"{100 * share.low:.0f} – {100 * share.high:.0f}")
