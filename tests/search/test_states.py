"""States as bytes: what comes back is what was written, and bytes of others make nothing but errors."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import numpy as np
import pytest

from marginwise import evaluate
from marginwise.covariance import Sites
from marginwise.criteria import criterion_class, criterion_names
from marginwise.search.states import NotPlainError, from_bytes, to_bytes
from zoo import blobs

PROBLEM = blobs(12, 2)


def same(a: Any, b: Any) -> bool:
    """Whether two states are the same to the last bit, types and all."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return same(vars(a), vars(b)) if hasattr(a, "__dict__") else a == b


@pytest.mark.parametrize("name", criterion_names())
def test_states_of_all_criteria_come_back(name: str) -> None:
    for slack in criterion_class(name).slacks:
        state = evaluate(name, PROBLEM.X, PROBLEM.y, [1.0, 1.0, 0.1, 1.0], slack).state
        assert same(from_bytes(to_bytes(state)), state)


def test_plain_things_come_back() -> None:
    state = {"a": [1, 2.5, None, True, "é\n"], "b": (np.float64(0.1), np.arange(3), np.zeros((2, 0))), "c": np.bool_(1)}
    assert same(from_bytes(to_bytes(state)), state)


@pytest.mark.parametrize("thing", [object(), {1: 2}, b"bytes", np.array([None]), np.array(["a"]), {"a": {1, 2}}, 1j])
def test_other_things_are_refused(thing: Any) -> None:
    with pytest.raises(NotPlainError):
        to_bytes(thing)


def made(tree: Any, arrays: Any = (), body: bytes = b"") -> bytes:
    return json.dumps({"tree": tree, "arrays": arrays}).encode() + b"\n" + body


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x04 a pickle",
        b"[1, 2]\n",
        b"[" * 10**5,
        made({"array": 0}, [["<f8", [10**12]]]),  # far more than there is
        made({"array": 0}, [["<f8", [-1]]], bytes(8)),
        made({"array": 0}, [["|O", [1]]], bytes(8)),
        made({"array": 0}, [["<f8", [1.5]]], bytes(8)),
        made({"array": 0}, [[["f8", 2], [1]]], bytes(16)),
        made({"array": 3}),
        made({"type": "Popen", "fields": {}}),
        made({"type": "Sites", "fields": {}}),
        made({"type": "Sites", "fields": {"tau": {"plain": 1}, "nu": {"plain": 2}}}),
        made({"type": "Sites", "fields": {"tau": {"array": 0}, "nu": {"array": 0}}}, [["<f8", []]], bytes(8)),
        made({"type": "Status", "fields": {"ok": {"plain": 1}, "message": {"plain": 2}, "code": {"plain": "?"}}}),
        made({"plain": []}),
        made({"plain": 1, "list": []}),
        made(7),
    ],
)
def test_bytes_of_others_are_refused(content: bytes) -> None:
    with pytest.raises(NotPlainError):
        from_bytes(content)


def test_every_single_change_of_a_solution_is_read_or_refused() -> None:
    content = bytearray(to_bytes(evaluate("laplace-evidence", PROBLEM.X, PROBLEM.y, [1.0, 1.0, 0.1, 1.0]).state))
    for place in range(len(content)):
        content[place] ^= 0x15
        with contextlib.suppress(NotPlainError):
            from_bytes(bytes(content))
        content[place] ^= 0x15


def test_sites_need_finite_numbers() -> None:
    with pytest.raises(NotPlainError, match="finite"):
        from_bytes(to_bytes(Sites(np.array([1.0, np.inf]), np.zeros(2))))
