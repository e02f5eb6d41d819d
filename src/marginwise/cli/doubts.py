"""Rows that deserve a second look: labels that all other rows speak against, and rows that could be either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from marginwise._wording import numbered
from marginwise.cli.held_out import HeldOutRows
from marginwise.cli.text import percent
from marginwise.display import Cell, Page

#: A label is suspicious if models without its row gave it a probability below this.
SUSPICIOUS = 0.1

#: Rows in each of the two lists of a page.
_MOST = 10

#: Row numbers of one example in a table.
_MOST_ROWS = 4


class Doubt(NamedTuple):
    """Rows with the same cells (numbers from 1), their label, and what models without them say.

    ``probability`` is that of the label, ``other`` the most probable class beside it.
    """

    rows: tuple[int, ...]
    label: str
    probability: float
    other: str
    other_probability: float


def suspicious_labels(held_out: HeldOutRows, labels: Sequence[str]) -> list[Doubt]:
    """Return the rows whose own label is improbable given all others, the least probable first."""
    own = held_out.own
    order = np.argsort(own, kind="stable")
    return [_doubt(held_out, labels, int(i)) for i in order[: np.count_nonzero(own < SUSPICIOUS)]]


def uncertain_rows(held_out: HeldOutRows, labels: Sequence[str], most: int = _MOST) -> list[Doubt]:
    """Return the rows whose two most probable classes are nearest to each other, the nearest first."""
    best = np.sort(held_out.probability, axis=1)
    order = np.argsort(best[:, -1] - best[:, -2], kind="stable")
    return [_doubt(held_out, labels, int(i)) for i in order[:most]]


def expected_suspicious(held_out: HeldOutRows) -> float:
    """Return how many labels would be suspicious if all were right and the probabilities true: Σ_ik w_i p_ik [p_ik<.1].

    Such rows are as improbable as their labels; with many rows some are there.
    """
    p = held_out.probability
    return float(held_out.weights @ np.where(p < SUSPICIOUS, p, 0.0).sum(axis=1))


def _doubt(held_out: HeldOutRows, labels: Sequence[str], i: int) -> Doubt:
    p, own = held_out.probability[i].copy(), held_out.codes[i]
    probability, p[own] = float(p[own]), -1.0
    other = int(p.argmax())
    return Doubt(held_out.rows_of(i), labels[own], probability, labels[other], float(p[other]))


def add_doubts(page: Page, held_out: HeldOutRows, labels: Sequence[str]) -> None:
    """Add both lists to a page."""
    page.heading("Rows to look at again")
    page.text(
        "Each row was judged by models that had not seen it. Rows are numbered as in the table: the first one "
        "below the header is row 1."
    )
    suspicious = suspicious_labels(held_out, labels)
    n, by_chance = sum(len(doubt.rows) for doubt in suspicious), expected_suspicious(held_out)
    if suspicious:
        page.text(
            f"All other rows speak against the label of {numbered(n, 'row')}: it was given a probability below "
            f"{100 * SUSPICIOUS:.0f} %. If every label were right, about {by_chance:.1f} such rows would be "
            "expected by chance alone. A mix-up of samples, a slip of the pen and a truly unusual case all look "
            "like this: check these rows first, and change a label only for a reason outside this table."
        )
        shown = suspicious[:_MOST]
        _add_table(page, shown, f"Labels that may be wrong, the least probable first{_part(shown, suspicious)}")
    else:
        page.text(f"No label is suspicious: each was given a probability of at least {100 * SUSPICIOUS:.0f} %.")
    _add_table(page, uncertain_rows(held_out, labels), "Rows that could be either, the most uncertain first")


def _part(shown: Sequence[Doubt], whole: Sequence[Doubt]) -> str:
    return f", {len(shown)} of {len(whole)}" if len(shown) < len(whole) else ""


def _add_table(page: Page, doubts: Sequence[Doubt], caption: str) -> None:
    page.table(
        ["row", "its label", "probability", "or else"],
        [
            [
                Cell(_numbers(doubt.rows), doubt.rows[0]),
                doubt.label,
                Cell(percent(doubt.probability), doubt.probability),
                Cell(f"{doubt.other} ({percent(doubt.other_probability)})", doubt.other_probability),
            ]
            for doubt in doubts
        ],
        caption=caption,
    )


def _numbers(rows: Sequence[int]) -> str:
    """Return row numbers as a text; of many copies of a row, the first ones."""
    more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
    return ", ".join(map(str, rows[:_MOST_ROWS])) + more
