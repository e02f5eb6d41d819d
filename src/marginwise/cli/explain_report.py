"""The page of ``marginwise explain``: for each row what is predicted, why, how sure, and whether it is a stranger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from marginwise._arrays import Array, Indices, Mask
from marginwise._wording import percent
from marginwise.cli.reasons import (
    Reason,
    explained,
    for_predicted,
    label_sets,
    reason_columns,
    strongest,
)
from marginwise.display import Cell, Page
from marginwise.errors import InvalidInputError
from marginwise.inspection import Explanation
from marginwise.reporting.effects import add_swarm
from marginwise.reporting.figures import page_style

#: Rows on the page.
_MOST_ROWS = 500


@dataclass(frozen=True, eq=False)
class ExplainedRows:
    """Predictions of rows, and what there is to say of them.

    ``sets`` are the labels that cannot be ruled out, None if sets can't be calibrated; ``values`` what each column
    contributes to the predicted class.
    """

    classes: Any
    codes: Indices
    probability: Array
    sets: Mask | None
    coverage: float
    novelty: Array
    strange: Mask
    explanation: Explanation
    values: Array
    reasons: list[list[Reason]]
    most: int

    @classmethod
    def of(cls, model: Any, X: Any, names: Sequence[str], most: int, coverage: float) -> ExplainedRows:
        """Return what a model says of rows."""
        if not 0.0 < coverage < 1.0:
            raise InvalidInputError("--coverage", coverage, "a number between 0 and 1")
        if most < 1:
            raise InvalidInputError("--reasons", most, "at least 1")
        explanation = explained(model, X, names)
        probability = model.predict_proba(X)
        codes = probability.argmax(axis=1)
        values = for_predicted(explanation, codes)
        novelty = model.novelty(X)
        return cls(
            model.classes_,
            codes,
            probability.max(axis=1),
            label_sets(model, X, coverage),
            coverage,
            novelty.share,
            novelty.strange,
            explanation,
            values,
            strongest(explanation, values, most),
            most,
        )

    def set_text(self, i: int) -> str:
        """Return the set of a row in words."""
        return "" if self.sets is None else " or ".join(map(str, self.classes[self.sets[i]]))

    def columns(self, *, values: bool) -> dict[str, list[Any]]:
        """Return the columns of the table."""
        found: dict[str, list[Any]] = {
            "prediction": self.classes[self.codes].tolist(),
            "probability": [f"{p:.6g}" for p in self.probability],
        }
        if self.sets is not None:
            found["set"] = [self.set_text(i) for i in range(len(self.codes))]
        found["novelty"] = [f"{share:.4g}" for share in self.novelty]
        found["stranger"] = ["yes" if strange else "no" for strange in self.strange]
        found |= reason_columns(self.reasons, self.most)
        if values:
            for j, name in enumerate(self.explanation.feature_names):
                found[f"why({name})"] = [f"{value:.6g}" for value in self.values[:, j]]
        return found


def explain_report(rows: ExplainedRows, kept: Mapping[str, Sequence[str]], target: str, table: str) -> Page:
    """Return the page."""
    n = len(rows.codes)
    page = Page(f"Why: {target} in {table}", "What is predicted for each row, why, and how far to trust it.")
    facts = [(str(n), "rows"), (str(int(rows.strange.sum())), "strangers, unlike all training rows")]
    if rows.sets is not None:
        several = int((rows.sets.sum(axis=1) > 1).sum())
        facts.append(
            (str(several), f"rows with more than one label that cannot be ruled out ({percent(rows.coverage)})")
        )
    page.facts(facts)
    if rows.strange.any():
        numbers = ", ".join(str(i + 1) for i in np.flatnonzero(rows.strange)[:20])
        page.notes([f"The model has seen nothing like these rows, and its predictions there are guesses: {numbers}."])
    page.heading("Row by row")
    page.text(
        "A reason is a cell and what it contributes to the predicted class, in log-odds, compared with the average "
        "training row: +0.7 doubles the odds, -0.7 halves them. It says what the model makes of the cell, not what "
        "would happen if the cell were changed. The set has all labels that cannot be ruled out: the true one is among "
        f"them in about {percent(rows.coverage)} of rows like those of training."
    )
    names = list(kept)
    header = ["row", *names, "prediction", "probability", "set", "strongest reasons", "warning"]
    page.table(header, [_row(rows, kept, i) for i in range(min(n, _MOST_ROWS))], caption="Predictions and reasons")
    if n > _MOST_ROWS:
        page.text(f"{n - _MOST_ROWS} more rows are in the CSV file only.")
    _add_swarm(page, rows)
    return page


def _row(rows: ExplainedRows, kept: Mapping[str, Sequence[str]], i: int) -> list[Any]:
    return [
        Cell(str(i + 1), i + 1),
        *(cells[i] for cells in kept.values()),
        str(rows.classes[rows.codes[i]]),
        Cell(percent(rows.probability[i]), float(rows.probability[i])),
        rows.set_text(i),
        "; ".join(reason.words for reason in rows.reasons[i]),
        "stranger" if rows.strange[i] else "",
    ]


def _add_swarm(page: Page, rows: ExplainedRows) -> None:
    """Add the contributions of all rows: to the second of two classes, or to the one that is predicted most often."""
    if len(rows.codes) < 2:
        return
    one = rows.explanation
    label = rows.classes[1 if one.values.ndim == 2 else np.bincount(rows.codes).argmax()]
    page.heading("All rows")
    with page_style():
        caption = f"What each cell contributes to {label}: a dot is a row, to the right speaks for it."
        add_swarm(page, one.of_class(label), caption)
