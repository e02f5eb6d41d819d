"""Tables as users have them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np


def patients(n: int = 60, seed: int = 0) -> list[dict[str, object]]:
    """Rows with an identifier, two numbers, a word and two classes that the first number and the word tell apart."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for i in range(n):
        age, weight, place = float(rng.normal()), float(rng.normal()), ("town", "village")[int(rng.integers(2))]
        ill = age + (place == "town") + 0.3 * rng.normal() > 0.5
        rows.append(
            {
                "id": f"p{i}",
                "age": round(age, 3),
                "weight": round(weight, 3),
                "place": place,
                "ill": "yes" if ill else "no",
            }
        )
    return rows


def write_csv(path: Path, rows: list[dict[str, object]]) -> Path:
    """Write rows as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
