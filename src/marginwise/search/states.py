"""Things as plain data: what a search depends on, to be compared, and what one evaluation leaves to the next.

The latter is bytes that hold data and no code: a line of JSON that says how it is built, then its arrays. Reading one
makes lists, dicts, numbers, arrays and the few types below, and nothing else, whoever wrote the bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.gaussian import Sites
from marginwise.multiclass.link import SoftmaxLink
from marginwise.status import Code, Status
from marginwise.svm.base import Solution

#: Kinds of arrays: truth values, integers, floating-point numbers.
_KINDS = "biuf"


class NotPlainError(Exception):
    """A state holds something else than data, or is not what it should be."""


def to_bytes(state: Any) -> bytes:
    """Return a state as bytes; one that holds more than data is a NotPlainError."""
    arrays: list[Array] = []
    tree = _plain(state, arrays)
    shapes = [[array.dtype.str, list(array.shape)] for array in arrays]
    head = json.dumps({"tree": tree, "arrays": shapes}).encode()
    return b"\n".join([head, b"".join(array.tobytes() for array in arrays)])


def from_bytes(content: bytes) -> Any:
    """Return the state; bytes that hold none are a NotPlainError. It takes no more memory than they do."""
    head, _, body = content.partition(b"\n")
    try:
        described = json.loads(head)
        arrays, used = [], 0
        for dtype, shape in described["arrays"]:
            kind = np.dtype(str(dtype))
            size = int(np.prod(np.array(shape, dtype=object)))
            if kind.kind not in _KINDS or any(not isinstance(n, int) or n < 0 for n in shape):
                raise NotPlainError(f"an array of {dtype} {shape}")
            arrays.append(np.frombuffer(body, kind, size, used).reshape(shape).copy())
            used += size * kind.itemsize
        return _built(described["tree"], arrays)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, StopIteration, RecursionError) as error:
        raise NotPlainError(str(error)) from None


def _plain(thing: Any, arrays: list[Array]) -> Any:
    """Return a thing in terms of JSON; arrays are put on the list and stand there by number."""
    if isinstance(thing, (np.ndarray, np.generic)):
        if thing.dtype.kind not in _KINDS:
            raise NotPlainError(f"an array of {thing.dtype}")
        arrays.append(np.asarray(thing))
        return {"scalar" if isinstance(thing, np.generic) else "array": len(arrays) - 1}
    if thing is None or type(thing) in (bool, int, float, str):
        return {"plain": thing}
    if type(thing) in (list, tuple):
        return {type(thing).__name__: [_plain(item, arrays) for item in thing]}
    if type(thing) is dict and all(type(key) is str for key in thing):
        return {"dict": {key: _plain(item, arrays) for key, item in thing.items()}}
    if type(thing) in _BUILDERS:
        return {"type": type(thing).__name__, "fields": {name: _plain(part, arrays) for name, part in _parts(thing)}}
    if isinstance(thing, Code):
        return {"plain": str(thing)}
    raise NotPlainError(f"a {type(thing).__qualname__}")


def _parts(thing: Any) -> list[tuple[str, Any]]:
    if is_dataclass(thing):
        return [(field.name, getattr(thing, field.name)) for field in fields(thing)]
    return list(thing._asdict().items())


def _built(node: Any, arrays: list[Array]) -> Any:
    """Return what :func:`_plain` was given."""
    if "type" in node:
        parts = {name: _built(part, arrays) for name, part in node["fields"].items()}
        return next(build for kind, build in _BUILDERS.items() if kind.__name__ == node["type"])(parts)
    ((kind, content),) = node.items()
    if kind in ("array", "scalar"):
        array = arrays[content]
        return array if kind == "array" else array[()]
    if kind in ("list", "tuple"):
        items = [_built(item, arrays) for item in content]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {key: _built(item, arrays) for key, item in content.items()}
    if kind == "plain" and (content is None or isinstance(content, (bool, int, float, str))):
        return content
    raise NotPlainError(f"a part of kind {kind}")


def _solution(parts: dict[str, Any]) -> Solution:
    solution = Solution(**parts)
    n = _require_vectors(solution.alpha, solution.latent)
    for rows in (solution.support, solution.marginal, solution.bound):
        if rows.ndim != 1 or rows.dtype.kind != "i" or ((rows < 0) | (rows >= n)).any():
            raise NotPlainError("rows that are not there")
    if not isinstance(solution.status, Status):
        raise NotPlainError("a solution without a status")
    return solution


def _sites(parts: dict[str, Any]) -> Sites:
    sites = Sites(**parts)
    _require_vectors(*sites)
    return sites


def _status(parts: dict[str, Any]) -> Status:
    return Status(bool(parts["ok"]), str(parts["message"]), Code(parts["code"]))


def _link(parts: dict[str, Any]) -> SoftmaxLink:
    link = SoftmaxLink(**parts)
    if not np.isfinite([link.steepness, link.widening, link.floor]).all():
        raise NotPlainError("numbers that are not finite")
    return link


#: What a state may hold in addition to lists, tuples, dicts, numbers, texts and arrays; what makes one of its parts.
_BUILDERS: dict[type, Callable[[dict[str, Any]], Any]] = {
    Solution: _solution,
    Sites: _sites,
    SoftmaxLink: _link,
    Status: _status,
}


def _require_vectors(*vectors: Array) -> int:
    """Return the length of vectors of numbers that all have the same."""
    lengths = {len(vector) for vector in vectors}
    if len(lengths) != 1 or any(vector.ndim != 1 or vector.dtype != np.float64 for vector in vectors):
        raise NotPlainError("vectors of different lengths")
    if not all(np.isfinite(vector).all() for vector in vectors):
        raise NotPlainError("numbers that are not finite")
    return lengths.pop()


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
