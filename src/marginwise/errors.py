"""The exceptions and warnings of the library, each with a message that a user can act on."""

from __future__ import annotations

from collections.abc import Iterable


class MarginwiseError(Exception):
    """Base of every error raised on purpose by marginwise."""


class Finding(str):
    """What is wrong with an argument whose value is not shown: the rest of a sentence, beginning with its verb."""


class InvalidInputError(MarginwiseError, ValueError):
    """An argument has a value that is not allowed; the message names the argument and says what is expected.

    Parameters
    ----------
    argument : str
        Name of the argument.
    value : object
        The value that was given; or, as a ``Finding``, what is wrong with it.
    allowed : str
        What would be allowed.

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
    """A numerical method failed; the message says where, and what to try."""


class ModelFileError(MarginwiseError, ValueError):
    """A model file is damaged, or does not hold a model and nothing else; the message says which."""


class ConvergenceWarning(UserWarning):
    """A numerical method returned a result that is less accurate than requested."""


class TableWarning(UserWarning):
    """A table was not used exactly as given, or a model learnt nothing from it."""


class GroupWarning(TableWarning):
    """Rows of a table seem to belong together, which limits what can be expected on new rows."""


class TuningWarning(UserWarning):
    """A model whose rows have changed would benefit from refitting."""


class DriftWarning(TuningWarning):
    """Rows that were added to a model are predicted worse than those that it was tuned on."""


class NothingLearntWarning(TableWarning):
    """On held-out rows a model is not clearly better than always predicting the class frequencies."""


def choose(argument: str, value: object, options: Iterable[str]) -> str:
    """Return ``value`` if it is one of ``options``; otherwise say which ones there are."""
    names = sorted(options)
    if not isinstance(value, str) or value not in names:
        raise InvalidInputError(argument, value, "one of " + ", ".join(map(repr, names)))
    return value
