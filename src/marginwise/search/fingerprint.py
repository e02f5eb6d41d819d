"""What a search depends on, in a form that can be written down and compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def fingerprint(thing: Any) -> Any:
    """Return ``thing`` as plain lists, numbers and strings that are equal if and only if the things are.

    Arrays become a digest of their bytes, objects the name of their class with their attributes (dataclasses
    with their fields: what they have computed from these is no part of them), and functions their names: what
    a function closes over is not seen.
    """
    if thing is None or isinstance(thing, (bool, int, str)):
        return thing
    if isinstance(thing, (float, np.generic)):
        return repr(float(thing)) if isinstance(thing, (float, np.floating)) else repr(thing)
    if isinstance(thing, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(thing).tobytes()).hexdigest()[:16]
        return f"{thing.dtype} {list(thing.shape)} {digest}"
    if isinstance(thing, Mapping):
        return {str(key): fingerprint(value) for key, value in sorted(thing.items(), key=lambda item: str(item[0]))}
    if isinstance(thing, (list, tuple, set, frozenset)):
        items = sorted(thing, key=repr) if isinstance(thing, (set, frozenset)) else thing
        return [fingerprint(item) for item in items]
    if isinstance(thing, type) or (callable(thing) and hasattr(thing, "__qualname__")):
        return f"{thing.__module__}.{thing.__qualname__}"
    kind = type(thing)
    attributes = _fields(thing) if is_dataclass(kind) else getattr(thing, "__dict__", None)
    if attributes is None:
        return f"{kind.__module__}.{kind.__qualname__}"
    return [f"{kind.__module__}.{kind.__qualname__}", fingerprint(attributes)]


def _fields(thing: Any) -> dict[str, Any]:
    return {field.name: getattr(thing, field.name) for field in fields(thing)}
