"""Stand-ins for fitted models: held-out probabilities that are made up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Predicted:
    """What an inspection asks of a fitted model, and the labels that it was fitted to.

    Probabilities and codes are those of examples; ``groups`` has the example of each row, -1 for a row left out.
    """

    classes_: np.ndarray
    probability: np.ndarray
    codes: np.ndarray
    row_groups_: np.ndarray

    @property
    def held_out_proba_(self) -> np.ndarray:
        nothing = np.full((1, len(self.classes_)), np.nan)
        return np.vstack([self.probability, nothing])[self.row_groups_]

    @property
    def y(self) -> np.ndarray:
        return self.classes_[self.codes][self.row_groups_]


def some_classes(n_classes: int, n: int = 400, strength: float = 2.0, labels=None) -> Predicted:
    """Probabilities that know something of the classes, and rows that are repeated, in any order."""
    rng = np.random.default_rng(0)
    codes = np.r_[np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)]
    odds = rng.normal(size=(n, n_classes))
    odds[np.arange(n), codes] += strength
    odds, copies = np.exp(odds), rng.integers(1, 4, n)
    rows = rng.permutation(np.repeat(np.arange(n), copies))
    classes = np.arange(n_classes) if labels is None else np.array(labels)
    return Predicted(classes, odds / odds.sum(axis=1, keepdims=True), codes, rows)
