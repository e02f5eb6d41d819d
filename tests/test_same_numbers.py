"""Criteria, posteriors and the SVM give the numbers of version 0.1, whatever the code around them becomes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stored.values import computed

#: Relative error that is allowed: between versions of NumPy and SciPy, whose BLAS differ, up to 3e-12 was seen.
_ROUNDING = 1e-11

TABLE = json.loads((Path(__file__).parent / "stored" / "values-0.1.json").read_text())


@pytest.fixture(scope="module")
def now() -> dict[str, list[float]]:
    return computed()


def test_no_value_is_missing(now: dict[str, list[float]]) -> None:
    assert now.keys() >= TABLE.keys()
    assert len(TABLE) > 500


def test_values_are_those_of_version_0_1(now: dict[str, list[float]]) -> None:
    wrong = {}
    for key, stored in TABLE.items():
        before, after = np.array(stored), np.array(now[key])
        error = np.abs(after - before).max() / max(np.abs(before).max(), 1e-3)
        if not error <= _ROUNDING and not (np.isnan(before).all() and np.isnan(after).all()):
            wrong[key] = error
    assert not wrong
