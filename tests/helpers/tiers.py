"""Which cases of a test are slow, where not all are: for the values of one argument of ``pytest.mark.parametrize``."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def first_quick(values: Iterable[Any], quick: int = 1) -> list[Any]:
    """Return the values, all but the first ``quick`` of them marked slow."""
    return [
        value if number < quick else pytest.param(value, marks=pytest.mark.slow) for number, value in enumerate(values)
    ]


def with_slow(values: Iterable[Any], slow: Container[Any]) -> list[Any]:
    """Return the values, those in ``slow`` marked so."""
    return [pytest.param(value, marks=pytest.mark.slow) if value in slow else value for value in values]
