"""Hyperparameters: what is refused, the order of their logarithms, bounds, and the paper's starts."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters, paper_start, random_start
from marginwise.kernels.constant import KOFF_BOUNDS
from marginwise.kernels.rbf import K0_BOUNDS, LENGTH_SCALE_BOUNDS
from marginwise.model import C_BOUNDS

#: Values that are no positive finite number, whatever else they are.
NOT_POSITIVE = [0, 0.0, -0.0, -1, -1e-300, np.nan, np.inf, -np.inf, "1", "one", b"2", None, 1j, [1.0], {}, 10**400]


@pytest.mark.parametrize("value", NOT_POSITIVE, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("name", ["C", "k0", "koff"])
def test_a_number_that_is_not_positive_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Hyperparameters(**{name: value})  # type: ignore[arg-type]
    assert caught.value.argument == name
    assert caught.value.value is value
    assert str(caught.value) == f"{name} is {value!r}; expected a positive finite number."


@pytest.mark.parametrize("value", NOT_POSITIVE, ids=lambda value: repr(value)[:12])
def test_a_length_scale_is_refused_with_its_place(value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Hyperparameters(length_scales=[1.0, value, 2.0])  # type: ignore[list-item]
    assert caught.value.argument == "length_scales[1]"
    assert "a positive finite number" in str(caught.value)


@pytest.mark.parametrize("value", [[], (), np.ones((2, 2)), [[1.0, 2.0]], np.ones((1, 1))])
def test_length_scales_of_another_shape_are_refused(value: object) -> None:
    with pytest.raises(InvalidInputError, match=r"(?s)^length_scales is .*flat sequence") as caught:
        Hyperparameters(length_scales=value)  # type: ignore[arg-type]
    assert caught.value.argument == "length_scales"


@pytest.mark.parametrize("value", ["1.5", "123", None, {1.0, 2.0}])
def test_length_scales_that_are_no_numbers_are_refused(value: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^length_scales\[0\] is "):
        Hyperparameters(length_scales=value)  # type: ignore[arg-type]


@pytest.mark.parametrize("scales", [2, 2.0, np.float32(2), np.array(2.0), [2], (2.0,), np.array([2])])
def test_one_length_scale_in_any_form(scales: object) -> None:
    h = Hyperparameters(np.float64(3), 1, 0.5, scales)  # type: ignore[arg-type]
    assert h.length_scales == (2.0,)
    assert h.is_isotropic
    assert all(type(value) is float for value in (h.C, h.k0, h.koff, *h.length_scales))


def test_frozen_equal_hashable_and_picklable() -> None:
    h = Hyperparameters(1, 2, 3, [4, 5])
    with pytest.raises(FrozenInstanceError):
        h.C = 2.0  # type: ignore[misc]
    assert h == Hyperparameters(1.0, 2.0, 3.0, np.array([4.0, 5.0]))
    assert hash(h) == hash(Hyperparameters(1, 2, 3, (4, 5)))
    assert h != Hyperparameters(1, 2, 3, [5, 4])
    assert pickle.loads(pickle.dumps(h)) == h
    assert h.with_C(7) == Hyperparameters(7, 2, 3, [4, 5])
    with pytest.raises(InvalidInputError, match=r"^k0 is -1"):
        h.with_values(np.array([1.0, -1.0, 3.0, 4.0, 5.0]))


def test_the_length_scales_are_not_the_caller_s_array() -> None:
    scales = np.array([1.0, 2.0])
    h = Hyperparameters(length_scales=scales)
    scales[:] = -1
    assert h.length_scales == (1.0, 2.0)


def test_order_of_the_vector() -> None:
    h = Hyperparameters(C=2, k0=3, koff=5, length_scales=[7, 11, 13])
    np.testing.assert_allclose(np.exp(h.to_vector()), [2, 3, 5, 7, 11, 13], rtol=1e-15)
    assert h.names == ("C", "k0", "koff", "l_1", "l_2", "l_3")
    assert Hyperparameters(2, 3, 5, 7).names == ("C", "k0", "koff", "l")


@given(st.lists(st.floats(-115, 115), min_size=4, max_size=12))
def test_vector_there_and_back(logs: list[float]) -> None:
    h = Hyperparameters.from_vector(logs)
    np.testing.assert_allclose(h.to_vector(), logs, rtol=1e-14, atol=1e-14)
    assert len(h.length_scales) == len(logs) - 3
    again = Hyperparameters.from_vector(h.to_vector())
    np.testing.assert_allclose(again.length_scales, h.length_scales, rtol=1e-12)


@pytest.mark.parametrize(
    "vector", [[], [0.0], [0, 0, 0], np.zeros((2, 4)), 0.0, ["a", 0, 0, 0], [None, 0, 0, 0], "abcd"]
)
def test_a_vector_of_another_shape_is_refused(vector: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^vector is ") as caught:
        Hyperparameters.from_vector(vector)  # type: ignore[arg-type]
    assert "at least one log length scale" in caught.value.allowed


@pytest.mark.parametrize(
    ("vector", "name"),
    [([800, 0, 0, 0], "C"), ([0, -800, 0, 0], "k0"), ([0, 0, np.nan, 0], "koff"), ([0, 0, 0, 0, np.inf], "l")],
)
def test_a_logarithm_out_of_range_names_the_hyperparameter(vector: list[float], name: str) -> None:
    with pytest.raises(InvalidInputError, match=r"^(C|k0|koff|length_scales\[1\]) is ") as caught:
        Hyperparameters.from_vector(vector)
    assert caught.value.argument.startswith(name)


def test_from_values() -> None:
    h = Hyperparameters(1, 2, 3, [4, 5])
    assert Hyperparameters.from_values(h) is h
    assert Hyperparameters.from_values([1, 2, 3, 4, 5]) == h
    assert Hyperparameters.from_values(np.array([1.0, 2, 3, 4])) == Hyperparameters(1, 2, 3, 4)


@pytest.mark.parametrize("values", [[], [1, 2], [1, 2, 3], 5.0, np.ones((2, 4))])
def test_from_too_few_values(values: object) -> None:
    with pytest.raises(InvalidInputError, match="C, k0, koff and at least one length scale"):
        Hyperparameters.from_values(values)  # type: ignore[arg-type]


def test_scales_for_isotropic_and_ard() -> None:
    np.testing.assert_array_equal(Hyperparameters(length_scales=2).as_ard(3).length_scales, [2, 2, 2])
    np.testing.assert_array_equal(Hyperparameters(length_scales=[1, 2, 3]).as_ard(3).length_scales, [1, 2, 3])
    ard = Hyperparameters(2, 3, 4, 5).as_ard(2)
    assert ard == Hyperparameters(2, 3, 4, [5, 5])
    assert not ard.is_isotropic


def test_the_wrong_number_of_length_scales() -> None:
    with pytest.raises(InvalidInputError, match="length_scales has 2 values; expected 1 or 3 values, because X has 3"):
        Hyperparameters(length_scales=[1, 2]).as_ard(3)


def test_paper_start() -> None:
    """Section ztmc: C=1, l_a=1, k0=1, koff=0.1."""
    assert paper_start(3) == Hyperparameters(1, 1, 0.1, [1, 1, 1])
    assert paper_start(3, isotropic=True) == Hyperparameters(1, 1, 0.1, 1)


@pytest.mark.parametrize("isotropic", [False, True])
def test_random_start_fills_the_paper_s_ranges(isotropic: bool, rng: np.random.Generator) -> None:
    """Section gradient_ascent: C in [0.4, 0.8], ln l_a in [-1, 2], ln k0 in [-1, 1], ln koff in [-2, -1]."""
    draws = [random_start(2, rng, isotropic=isotropic) for _ in range(2000)]
    assert {len(h.length_scales) for h in draws} == {1 if isotropic else 2}
    columns = np.column_stack(
        [[h.C for h in draws], *np.log([(h.k0, h.koff, *h.length_scales) for h in draws]).T],
    )
    ranges = np.array([(0.4, 0.8), (-1, 1), (-2, -1), *[(-1, 2)] * (columns.shape[1] - 3)])
    width = ranges[:, 1] - ranges[:, 0]
    assert (columns >= ranges[:, 0] - 1e-12).all()
    assert (columns <= ranges[:, 1] + 1e-12).all()
    # Uniform: the extremes are reached, and the mean is within five standard errors of the middle.
    assert (columns.min(axis=0) < ranges[:, 0] + 0.01 * width).all()
    assert (columns.max(axis=0) > ranges[:, 1] - 0.01 * width).all()
    assert (np.abs(columns.mean(axis=0) - ranges.mean(axis=1)) < 5 * width / np.sqrt(12 * 2000)).all()
    assert np.abs(np.corrcoef(columns.T) - np.eye(columns.shape[1])).max() < 5 / np.sqrt(2000)


def test_random_start_depends_on_the_generator_alone() -> None:
    first, second = (random_start(4, np.random.default_rng(7)) for _ in range(2))
    assert first == second != random_start(4, np.random.default_rng(8))


def test_bounds_hold_the_starts(rng: np.random.Generator) -> None:
    lowest, highest = paper_start(2).log_bounds
    expected = [C_BOUNDS, K0_BOUNDS, KOFF_BOUNDS, LENGTH_SCALE_BOUNDS, LENGTH_SCALE_BOUNDS]
    np.testing.assert_allclose(np.exp([lowest, highest]).T, expected)
    for h in (paper_start(2), *(random_start(2, rng) for _ in range(50))):
        assert (lowest < h.to_vector()).all()
        assert (h.to_vector() < highest).all()
