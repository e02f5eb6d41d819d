"""Messages a user can act on, and the one way from a status to a warning or an error."""

from __future__ import annotations

import ast
import pickle
import warnings
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import marginwise
from marginwise.errors import (
    ConvergenceWarning,
    Finding,
    InvalidInputError,
    MarginwiseError,
    NotConvergedError,
    choose,
)
from marginwise.status import CONVERGED, Code, Status

FAILED = Status(False, "the iteration did not end; try a smaller C")


def test_invalid_input_names_argument_value_and_what_is_allowed() -> None:
    error = InvalidInputError("C", -1.5, "a positive finite number")
    assert str(error) == "C is -1.5; expected a positive finite number."
    assert (error.argument, error.value, error.allowed) == ("C", -1.5, "a positive finite number")


@pytest.mark.parametrize(
    ("error", "builtin"),
    [(InvalidInputError("C", 0, "more"), ValueError), (NotConvergedError("too far"), ArithmeticError)],
)
def test_errors_are_ours_and_python_s(error: Exception, builtin: type[Exception]) -> None:
    assert isinstance(error, MarginwiseError)
    assert isinstance(error, builtin)


def test_errors_cross_process_borders() -> None:
    """A worker's error arrives with its message: joblib pickles it."""
    error = pickle.loads(pickle.dumps(InvalidInputError("y[3]", 2.0, "-1 or +1")))
    assert isinstance(error, InvalidInputError)
    assert str(error) == "y[3] is 2.0; expected -1 or +1."
    assert error.argument == "y[3]"
    assert str(pickle.loads(pickle.dumps(NotConvergedError("too far")))) == "too far"


def test_what_is_wrong_may_be_said_in_words() -> None:
    error = InvalidInputError("y", Finding("has one class only"), "two classes")
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == "y has one class only; expected two classes."


def test_sentences_are_never_shown_as_values() -> None:
    """A string that the library writes itself is a Finding: 'y is "labels of 1 class"' reads like a value."""
    quoted = []
    for path in sorted(Path(marginwise.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "InvalidInputError":
                value = node.args[1]
                written = isinstance(value, ast.Constant) and isinstance(value.value, str)
                if written or isinstance(value, ast.JoinedStr):
                    quoted.append(f"{path.name}:{node.lineno}: {ast.unparse(value)}")
    assert quoted == []


def test_choose_returns_an_option() -> None:
    assert choose("slack", "linear", ["quadratic", "linear"]) == "linear"


@pytest.mark.parametrize("value", ["Linear", "", None, 1, ["linear"], b"linear"])
def test_choose_lists_the_options(value: object) -> None:
    with pytest.raises(InvalidInputError) as caught:
        choose("slack", value, {"quadratic": 2, "linear": 1})
    assert str(caught.value) == f"slack is {value!r}; expected one of 'linear', 'quadratic'."


def test_a_good_status_is_silent() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CONVERGED.warn()
        CONVERGED.require()
    assert bool(CONVERGED) is True


def test_a_bad_status_warns_or_raises_with_its_message() -> None:
    assert bool(FAILED) is False
    with pytest.warns(ConvergenceWarning, match="try a smaller C"):
        FAILED.warn()
    with pytest.raises(NotConvergedError, match="try a smaller C"):
        FAILED.require()


def test_the_warning_points_at_the_caller_of_the_library() -> None:
    def library() -> None:
        FAILED.warn()

    with pytest.warns(ConvergenceWarning) as record:
        library()
    first = test_the_warning_points_at_the_caller_of_the_library.__code__.co_firstlineno
    assert record[0].filename == __file__
    assert record[0].lineno == first + 5


def test_a_status_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        FAILED.ok = True  # type: ignore[misc]


def test_a_status_has_a_code_that_says_how_a_method_ended() -> None:
    assert Status(True, "fine").code is Code.CONVERGED
    assert Status(False, "no").code is Code.FAILED
    budget = Status(False, "used up", Code.BUDGET)
    assert pickle.loads(pickle.dumps(budget)) == budget
