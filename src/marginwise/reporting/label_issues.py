"""The section of a report on rows to check: suspicious labels, and uncertain rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from marginwise._wording import numbered, percent
from marginwise.display import Cell, Page
from marginwise.inspection import DoubtfulRow, expected_label_issues, label_issues, uncertain_rows
from marginwise.reporting.training import TrainingTable

#: A label is suspicious if models without its row gave it a probability below this.
SUSPICIOUS = 0.1

#: Rows in each of the two lists of a page.
MOST = 10

#: Row numbers of one example in a table.
_MOST_ROWS = 4


def add_label_issues(page: Page, model: Any, table: TrainingTable) -> None:
    """Add both lists to a page; rows that have names are shown with them."""
    y = table.y
    page.heading("Rows to look at again")
    page.text(
        "Each row was predicted by models trained without it. Rows are numbered as in the table: the first one "
        "below the header is row 1."
    )
    suspicious = label_issues(model, y, SUSPICIOUS)
    n, by_chance = sum(len(row.rows) for row in suspicious), expected_label_issues(model, y, SUSPICIOUS)
    if suspicious:
        page.text(
            f"All other rows speak against the label of {numbered(n, 'row')}: it was given a probability below "
            f"{100 * SUSPICIOUS:.0f} %. If every label were right, about {by_chance:.1f} such rows would be "
            "expected by chance alone. Swapped samples, typing errors and truly unusual cases all look "
            "like this: check these rows first, but change a label only for a reason outside this table."
        )
        shown = suspicious[:MOST]
        part = f", {MOST} of {len(suspicious)}" if len(suspicious) > MOST else ""
        _add_table(page, shown, f"Labels that may be wrong, the least probable first{part}", table)
    else:
        page.text(f"No label is suspicious: each was given a probability of at least {100 * SUSPICIOUS:.0f} %.")
    either = "Rows that could be either, the most uncertain first"
    _add_table(page, uncertain_rows(model, y, MOST), either, table)


def _add_table(page: Page, rows: Sequence[DoubtfulRow], caption: str, table: TrainingTable) -> None:
    named = len(table.row_names) > 0
    page.table(
        ["row", *(["name"] if named else []), "its label", "probability", "or else"],
        [
            [
                Cell(_listed([str(table.number_of(place)) for place in row.rows]), table.number_of(row.rows[0])),
                *([_listed([table.name_of(place) for place in row.rows])] if named else []),
                str(row.label),
                Cell(percent(row.probability), row.probability),
                Cell(f"{row.other} ({percent(row.other_probability)})", row.other_probability),
            ]
            for row in rows
        ],
        caption=caption,
    )


def _listed(rows: Sequence[str]) -> str:
    """Return numbers or names of rows as a text; of many copies of a row, the first ones."""
    more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
    return ", ".join(rows[:_MOST_ROWS]) + more
