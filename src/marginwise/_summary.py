"""What a prompt or a log shows of an object that holds arrays: one line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

#: Items of a sequence that are shown if it has no more, or else at its beginning, and letters of a text.
_ALL, _SOME, _LETTERS = 8, 3, 80


def summary(thing: Any, *names: str) -> str:
    """Return ``Kind(name=…, …)`` for the attributes of these names, or for all fields of a dataclass.

    Arrays are shown by their shapes, numbers with four digits, and long sequences and texts by their beginnings.
    """
    chosen = names
    if not names and is_dataclass(thing):
        chosen = tuple(field.name for field in fields(thing))
    return f"{type(thing).__name__}({', '.join(f'{name}={_shown(getattr(thing, name))}' for name in chosen)})"


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{'×'.join(map(str, value.shape))} {value.dtype}>"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return repr(value if len(value) <= _LETTERS else value[:_LETTERS] + "…")
    if isinstance(value, Mapping):
        return f"{{{_some([f'{key!r}: {_shown(one)}' for key, one in value.items()])}}}"
    if isinstance(value, (tuple, list)):
        return f"({_some([_shown(one) for one in value])})"
    return repr(value)


def _some(items: list[str]) -> str:
    if len(items) <= _ALL:
        return ", ".join(items)
    return f"{', '.join(items[:_SOME])}, … {len(items)} in all"
