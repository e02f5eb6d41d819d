"""Descriptions of settings: equal if and only if the settings are."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import toys
from marginwise.criteria.base import Criterion
from marginwise.likelihoods import LINEAR, QUADRATIC
from marginwise.priors import Prior
from marginwise.search import RandomWalk
from marginwise.search.states import fingerprint
from zoo import blobs


class _Settings(toys.Hill):
    def __init__(self, slack: str, a: object) -> None:
        super().__init__(slack)
        self.a = a


THINGS = [
    None,
    0,
    1,
    True,
    1.0,
    0.1 + 0.2,
    0.3,
    "1",
    np.float64(2.0),
    np.int64(2),
    [1, 2],
    {"a": 1},
    np.arange(3),
    np.arange(3.0),
    np.arange(3.0)[:, None],
    -np.arange(3.0),
    LINEAR,
    QUADRATIC,
    toys.Hill,
    toys.Hill("linear"),
    toys.Hill("quadratic"),
    _Settings("linear", 0.1),
    _Settings("linear", np.zeros(2)),
    _Settings("linear", np.sin),
    Prior(),
    Prior(spread=None),
    RandomWalk(),
    replace(RandomWalk(), sweeps=3),
    object(),
]


def test_different_things_are_told_apart() -> None:
    texts = [json.dumps(fingerprint(thing)) for thing in THINGS]
    distinct = [text for text in texts if text not in ("true",)]
    assert len(set(distinct)) == len(distinct)


@pytest.mark.parametrize(
    "make",
    [
        lambda: _Settings("linear", {"c1": 5.0, "rows": np.arange(4), "kinds": {"b", "a"}}),
        lambda: Prior(spread=0.7),
        lambda: np.linspace(0, 1, 7),
        lambda: {"b": 1, "a": (1.5, None)},
    ],
)
def test_equal_things_are_not(make: object) -> None:
    first, second = (json.dumps(fingerprint(make())) for _ in range(2))  # type: ignore[operator]
    assert first == second


def test_survives_json() -> None:
    for thing in THINGS:
        described = fingerprint(thing)
        assert json.loads(json.dumps(described)) == described


def test_keys_do_not_depend_on_their_order() -> None:
    orders = [{"a": 1, "b": 2}, {"b": 2, "a": 1}]
    assert all(json.dumps(fingerprint(x)) == json.dumps(fingerprint(y)) for x, y in pairwise(orders))
    assert isinstance(toys.Hill(), Criterion)


def test_what_a_dataclass_has_computed_is_no_part_of_it() -> None:
    problem = blobs(5, 2)
    before = fingerprint(problem)
    assert problem.repeats is None  # which is kept from here on
    assert fingerprint(problem) == before
