"""What a problem accepts and refuses, and what it knows of itself."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy import sparse

from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.problem import Problem, as_problem, check_gram, check_inputs, check_labels, check_weights
from zoo import blobs

X, Y = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [1, -1, 1]


def test_lists_become_float_arrays() -> None:
    problem = as_problem(X, Y)
    assert problem.n == 3
    for array, shape in ((problem.X, (3, 2)), (problem.y, (3,)), (problem.weights, (3,))):
        assert array.dtype == np.float64
        assert array.shape == shape
    assert problem.X.flags.c_contiguous
    np.testing.assert_array_equal(problem.weights, [1, 1, 1])


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, bool, object])
def test_numbers_of_any_type(dtype: type) -> None:
    problem = as_problem(np.array([[0, 1], [1, 1]], dtype=dtype), np.array([1, 1], dtype=dtype))
    np.testing.assert_array_equal(problem.X, [[0, 1], [1, 1]])


def test_columns_of_a_fortran_array() -> None:
    problem = as_problem(np.asfortranarray(X), Y)
    assert problem.X.flags.c_contiguous
    np.testing.assert_array_equal(problem.X, X)


def test_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        as_problem(X, Y).y = np.ones(3)  # type: ignore[misc]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_named_with_its_place(bad: float) -> None:
    broken = np.array(X)
    broken[1, 0] = bad
    with pytest.raises(InvalidInputError) as caught:
        as_problem(broken, Y)
    assert str(caught.value) == f"X[1, 0] is {bad}; expected a finite number."
    with pytest.raises(InvalidInputError, match=r"^sample_weight\[2\] is .* a finite number"):
        as_problem(X, Y, [1, 1, bad])
    with pytest.raises(InvalidInputError, match=r"^y\[0\] is .*; expected -1 or \+1"):
        as_problem(X, [bad, 1, 1])
    gram = np.eye(3)
    gram[0, 2] = bad
    with pytest.raises(InvalidInputError, match=r"^gram\[0, 2\] is .* a finite number"):
        check_gram(gram)


def test_infinities_that_cancel_and_sums_that_overflow() -> None:
    """The quick test is a sum: it must neither warn nor be fooled."""
    with pytest.raises(InvalidInputError, match=r"^X\[0, 0\] is inf"):
        check_inputs([[np.inf], [-np.inf]])
    with pytest.raises(
        InvalidInputError, match=r"^X\[1, 0\] is -1.7e\+308; expected a number from -1e\+100 to 1e\+100"
    ):
        check_inputs([[1e100], [-1.7e308], [1.7e308]])


@pytest.mark.parametrize(
    "values",
    [1.0, [1.0, 2.0], [], [[]], np.empty((0, 3)), np.empty((3, 0)), np.ones((2, 2, 2)), None],
    ids=lambda values: str(np.shape(values)),
)
def test_inputs_of_another_shape(values: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^X has shape .*; expected shape \(n, d\)"):
        check_inputs(values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "values",
    [
        [["a", "b"]],
        [["1", "2"]],
        [[b"1"]],
        [[1.0, 2.0], [3.0]],
        [[1j]],
        np.array([[1.0 + 0j]]),
        sparse.csr_matrix(np.eye(2)),
        [[{}]],
        "text",
    ],
    ids=repr,
)
def test_inputs_that_are_no_numbers(values: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^X is '\w+'; expected numbers only, in a rectangular array"):
        check_inputs(values)  # type: ignore[arg-type]


@pytest.mark.parametrize("y", [[1, -1], [[1, -1, 1]], 1.0, [1, -1, 1, 1], [], [[1], [-1], [1]]])
def test_labels_of_another_shape(y: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^y has shape .*; expected shape \(3,\), one label for"):
        as_problem(X, y)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0, 2, -1.0000001, 1 + 2**-52])
def test_labels_that_are_not_plus_or_minus_one(bad: float) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_labels([1, bad, -1], 3)
    assert (caught.value.argument, caught.value.value, caught.value.allowed) == ("y[1]", bad, "-1 or +1")


def test_labels_that_are_words() -> None:
    with pytest.raises(InvalidInputError, match=r"^y is 'list'; expected numbers only"):
        check_labels(["1", "-1"], 2)


@pytest.mark.parametrize("weights", [[1, 1], 1.0, [[1, 1, 1]]])
def test_weights_of_another_shape(weights: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^sample_weight has shape .*\(3,\), one weight for each"):
        as_problem(X, Y, weights)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [0.0, -1.0, -0.0])
def test_weights_that_are_not_positive(bad: float) -> None:
    with pytest.raises(InvalidInputError, match=r"^sample_weight\[1\] is .*a positive number \(leave the row out"):
        check_weights([1, bad, 1], 3)


def test_a_problem_that_was_put_together_by_hand_has_one_label_and_weight_for_each_row() -> None:
    with pytest.raises(InvalidInputError, match=r"shape of labels and weights is \(\(2,\), \(3,\)\); expected \(3,\)"):
        Problem(np.array(X), np.array([1.0, -1.0]), np.ones(3))


def test_gram_is_not_copied_without_need() -> None:
    gram = np.eye(4)
    assert check_gram(gram) is gram
    assert check_gram(np.eye(4, dtype=np.float32)).dtype == np.float64


@pytest.mark.parametrize("gram", [np.ones((2, 3)), [1.0, 2.0], 1.0, np.empty((0, 0)), np.ones((2, 2, 2))])
def test_gram_of_another_shape(gram: object) -> None:
    with pytest.raises(InvalidInputError, match=r"^gram has shape .*a square matrix, shape \(n, n\)"):
        check_gram(gram)  # type: ignore[arg-type]


def test_gram_that_is_not_symmetric() -> None:
    for n in (2, 5, 60):
        K = Hyperparameters(length_scales=[1, 1]).kernel.gram(blobs(n, 2).X)
        check_gram(K + 1e-12 * np.triu(np.ones((n, n))))  # rounding is forgiven
        with pytest.raises(InvalidInputError, match=r"^gram is not symmetric"):
            check_gram(np.triu(K))
        K[0, 1] += 1e-3
        with pytest.raises(InvalidInputError, match=r"^gram is not symmetric"):
            check_gram(K)


@pytest.mark.parametrize("bad", [0.0, -0.25])
def test_gram_with_a_diagonal_that_is_not_positive(bad: float) -> None:
    gram = np.diag([1.0, bad, 2.0])
    with pytest.raises(InvalidInputError) as caught:
        check_gram(gram)
    assert str(caught.value) == f"gram[1, 1] is {bad}; expected a positive number, K(x, x)."


def test_gram_and_penalties() -> None:
    problem = as_problem(X, Y, [0.5, 1, 2])
    h = Hyperparameters(4.0, 2.0, 0.5, [1, 3])
    np.testing.assert_array_equal(h.kernel.gram(problem.X), h.kernel.gram(np.array(X)))
    np.testing.assert_array_equal(problem.penalties(h.C), [2, 4, 8])


def test_repeats() -> None:
    assert as_problem(X, Y).repeats is None
    # Rows 0, 2, 5 are one example; row 3 has its input but the other label.
    inputs = [[0.0, 1], [1, 1], [0, 1], [0, 1], [1, 2], [-0.0, 1]]
    groups = as_problem(inputs, [1, 1, 1, -1, 1, 1]).repeats
    assert groups is not None
    same = np.equal.outer(groups, groups)
    expected = np.eye(6, dtype=bool)
    expected[np.ix_([0, 2, 5], [0, 2, 5])] = True
    np.testing.assert_array_equal(same, expected)


def test_subset_keeps_rows_together() -> None:
    problem = as_problem(X, Y, [1, 2, 3])
    part = problem.subset(np.array([2, 0, 2]))
    np.testing.assert_array_equal(part.X, [[4, 5], [0, 1], [4, 5]])
    np.testing.assert_array_equal(part.y, [1, 1, 1])
    np.testing.assert_array_equal(part.weights, [3, 1, 3])
    assert problem.repeats is None
    assert part.repeats is not None
