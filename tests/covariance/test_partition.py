"""Blocks of neighbouring rows: their sizes, and where rows go, old and new."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise.covariance import Partition
from marginwise.covariance.partition import DIRECTIONS
from marginwise.errors import InvalidInputError
from marginwise.problem import as_problem

every_direction = pytest.mark.parametrize("direction", DIRECTIONS)


@every_direction
@pytest.mark.parametrize(("n", "size"), [(1, 1), (7, 100), (100, 100), (101, 100), (1000, 90), (1000, 1)])
def test_blocks_have_about_the_size_asked_for(n: int, size: int, direction: str, rng: np.random.Generator) -> None:
    X = rng.normal(size=(n, 3))
    partition = Partition.of(X, np.array([1.0, 2.0, 0.5]), size, direction=direction)
    counts = np.bincount(partition.assign(X), minlength=partition.n_blocks)
    assert len(counts) == partition.n_blocks == -(-n // size)
    assert counts.max() <= size
    assert counts.min() >= size // 2 or partition.n_blocks == 1


@every_direction
def test_equal_rows_share_a_block(direction: str, rng: np.random.Generator) -> None:
    distinct = rng.normal(size=(40, 4)).round(1)
    rows = rng.integers(40, size=500)
    blocks = Partition.of(distinct[rows], np.ones(4), 30, direction=direction).assign(distinct[rows])
    for number in range(40):
        assert len(np.unique(blocks[rows == number])) <= 1


@every_direction
def test_rows_that_are_all_equal_can_not_be_cut(direction: str) -> None:
    partition = Partition.of(np.ones((50, 2)), np.ones(2), 10, direction=direction)
    assert partition.n_blocks == 1
    np.testing.assert_array_equal(partition.assign(np.zeros((3, 2))), [0, 0, 0])


@every_direction
def test_is_the_same_again_and_for_rows_in_another_order(direction: str, rng: np.random.Generator) -> None:
    X, order = rng.normal(size=(300, 3)), rng.permutation(300)
    first = Partition.of(X, np.ones(3), 40, direction=direction)
    again = Partition.of(X, np.ones(3), 40, direction=direction)
    np.testing.assert_array_equal(first.thresholds, again.thresholds)
    shuffled = Partition.of(X[order], np.ones(3), 40, direction=direction)
    np.testing.assert_array_equal(shuffled.assign(X), first.assign(X))


def test_random_cuts_lie_elsewhere_for_each_seed(rng: np.random.Generator) -> None:
    """And yet across the axis along which the rows vary by far the most."""
    X = rng.normal(size=(300, 3))
    blocks = [Partition.of(X, np.ones(3), 40, direction="random", seed=seed).assign(X) for seed in (1, 2)]
    together = [own[:, None] == own for own in blocks]
    assert (together[0] & together[1]).sum() < 0.7 * together[0].sum()
    long = X * [100.0, 1.0, 1.0]
    for seed in range(5):
        first = Partition.of(long, np.ones(3), 40, direction="random", seed=seed).directions[0]
        assert np.abs(first[1:]).max() < 0.1 * np.abs(first[0])


def test_cuts_across_what_the_kernel_sees_most_of(rng: np.random.Generator) -> None:
    X = rng.normal(size=(200, 2)) * [10.0, 1.0]
    assert Partition.of(X, np.ones(2), 100, direction="widest").directions[0, 1] == 0.0
    assert Partition.of(X, np.array([100.0, 1.0]), 100, direction="widest").directions[0, 0] == 0.0
    along, across = np.abs(Partition.of(X, np.array([100.0, 1.0]), 100).directions[0] * [100.0, 1.0])
    assert along < 0.1 * across


def test_principal_axis(rng: np.random.Generator) -> None:
    X = np.outer(rng.normal(size=500), [1.0, 1.0]) + 0.01 * rng.normal(size=(500, 2))
    direction = Partition.of(X, np.ones(2), 250).directions[0]
    np.testing.assert_allclose(direction / np.linalg.norm(direction), np.sqrt([0.5, 0.5]), atol=0.01)


def test_wrong_arguments(rng: np.random.Generator) -> None:
    X = rng.normal(size=(20, 2))
    with pytest.raises(InvalidInputError, match="size"):
        Partition.of(X, np.ones(2), 0)
    with pytest.raises(InvalidInputError, match="direction"):
        Partition.of(X, np.ones(2), 5, direction="shortest")
    with pytest.raises(InvalidInputError, match="one for 3, as X has"):
        Partition.of(X, np.ones(2), 5).assign(np.zeros((4, 3)))
    with pytest.raises(InvalidInputError, match="one for 3, as X has"):
        as_problem(np.zeros((2, 3)), [-1, 1], inducing=np.zeros((1, 3)), partition=Partition.of(X, np.ones(2), 5))
