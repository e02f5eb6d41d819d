"""The few exceptions of the library, each with a message a user can act on."""

from __future__ import annotations

from collections.abc import Iterable


class MarginwiseError(Exception):
    """Base of every error raised on purpose by marginwise."""


class Finding(str):
    """What is wrong with an argument whose value is not to be shown: the rest of a sentence, verb first."""


class InvalidInputError(MarginwiseError, ValueError):
    """An argument has a value that is not allowed; the message names it and says what is.

    Parameters
    ----------
    argument : str
        Its name.
    value : object
        What was given; or, as a ``Finding``, what is wrong with it.
    allowed : str
        What is expected.

    Examples
    --------
    >>> str(InvalidInputError("C", -1, "a positive number"))
    'C is -1; expected a positive number.'
    >>> str(InvalidInputError("y", Finding("has one class only"), "two classes or more"))
    'y has one class only; expected two classes or more.'
    """

    def __init__(self, argument: str, value: object, allowed: str) -> None:
        super().__init__(argument, value, allowed)  # all three, so that it can be pickled
        self.argument, self.value, self.allowed = argument, value, allowed

    def __str__(self) -> str:
        found = self.value if isinstance(self.value, Finding) else f"is {self.value!r}"
        return f"{self.argument} {found}; expected {self.allowed}."


class NotConvergedError(MarginwiseError, ArithmeticError):
    """A numerical method ended without its result; the message says where and what to try."""


class ModelFileError(MarginwiseError, ValueError):
    """A file holds no model, or one that was damaged, or more than a model; the message says which."""


class ConvergenceWarning(UserWarning):
    """A numerical method ended with a result that is less exact than asked for."""


class TableWarning(UserWarning):
    """A table was not taken quite as it stands, or a model learnt nothing from it."""


class GroupWarning(TableWarning):
    """Rows of a table belong together, and that limits what can be expected on new ones."""


class TuningWarning(UserWarning):
    """A model whose rows have changed would gain from refitting."""


class DriftWarning(TuningWarning):
    """Rows that were added to a model are predicted worse than those that it was tuned on."""


class NothingLearntWarning(TableWarning):
    """On rows that were left out a model is not clearly better than always predicting the shares of the classes."""


def choose(argument: str, value: object, options: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``options``; otherwise say which ones there are."""
    names = sorted(options)
    if not isinstance(value, str) or value not in names:
        raise InvalidInputError(argument, value, "one of " + ", ".join(map(repr, names)))
    return value
