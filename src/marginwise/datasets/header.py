"""Whether the first row of a text holds the names of the columns: by what differs between it and the rows below."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from marginwise._wording import some
from marginwise.datasets.reading import repeated
from marginwise.errors import InvalidInputError
from marginwise.tables.text import is_missing, number, text_numbers

#: Rows below the first that are looked at, and the fewest numbers that tell how they are spread.
_SAMPLE, _FEWEST = 50, 5

#: A number is far from others if it is that many times their range away.
_FAR = 10.0

#: Steps between evenly spaced numbers may differ by that share of them, since names are rounded.
_UNEVEN = 0.05

_INTEGER = re.compile(r"[-+]?\d+")


def recognise_header(path: Path, rows: Sequence[Sequence[str]], decimal: str, names: Collection[str]) -> bool:
    """Return whether the first row holds names; an error where it may as well hold data.

    It does if it has one of the ``names`` that are expected, a word above numbers, or words only. It does not if a
    word of it is found again below, as those of classes are. Where words do not tell, or contradict each other, weaker
    signs may: two tell names, none tells data, and one leaves it open.
    """
    first = rows[0]
    if _holds(first, names, decimal):
        return True
    columns = [_Column(cell, [row[j] for row in rows[1:]], decimal) for j, cell in enumerate(first)]
    if len(rows) == 1:  # a header alone would be of no use
        return all(column.head is None for column in columns)
    told = _told_by_words(columns)
    answer = _told_by_signs(columns) if told is None else told
    if answer is None:
        shown = some(map(repr, first))
        raise InvalidInputError(
            "header", None, f"yes or no, because the first row of {path} may be names or data: {shown}"
        )
    return answer


@dataclass(frozen=True)
class _Column:
    """The cell in the first row, and those below it."""

    cell: str
    below: Sequence[str]
    decimal: str

    @cached_property
    def head(self) -> float | None:
        """The number in the first row."""
        return None if is_missing(self.cell) else number(self.cell, self.decimal)

    @cached_property
    def is_word(self) -> bool:
        """Whether the first row has a word here."""
        return self.head is None and not is_missing(self.cell)

    @cached_property
    def recurs(self) -> bool:
        """Whether the cell of the first row is found again."""
        return self.cell in self.below

    @cached_property
    def sample(self) -> list[str]:
        """Some cells below that are not missing."""
        return [cell for cell in self.below[:_SAMPLE] if not is_missing(cell)]

    @cached_property
    def numbers(self) -> list[float] | None:
        """These as numbers, if there are some and all are."""
        found = text_numbers(self.sample, self.decimal)
        return None if found is None else [value for value in found.values.tolist() if value == value] or None

    @cached_property
    def spread(self) -> list[float] | None:
        """These, if they are enough to tell how far numbers of this column lie apart."""
        return None if self.numbers is None or len(self.numbers) < _FEWEST else self.numbers


def _holds(first: Sequence[str], names: Collection[str], decimal: str) -> bool:
    """Return whether a word among the names, or all of them, are in the first row."""
    found = [name for name in names if name in first]
    return bool(found) and (len(found) == len(names) or any(number(name, decimal) is None for name in found))


def _told_by_words(columns: Sequence[_Column]) -> bool | None:
    """Return what words of the first row tell; None if they contradict each other, or there are too few."""
    words = [column for column in columns if column.is_word]
    only_words = all(column.is_word or column.cell == "" for column in columns)
    above_numbers = any(column.numbers is not None for column in words)
    recurs = any(column.recurs for column in words)
    if above_numbers:
        return True if only_words or not recurs else None
    return only_words and not recurs if only_words or recurs else None


def _told_by_signs(columns: Sequence[_Column]) -> bool | None:
    """Return what weaker signs tell: two of them names, none data where nothing in the first row is remarkable."""
    signs = sum(sign(columns) for sign in (_evenly_spaced, _far_away, _whole_above_fractions, _alone, _above_words))
    heads = [column for column in columns if column.head is not None]
    twice = bool(repeated(column.cell for column in heads))
    if signs >= 2 and not twice:
        return True
    usual = twice or any(column.recurs for column in heads) or not any(column.is_word for column in columns)
    return False if signs == 0 and usual else None


def _evenly_spaced(columns: Sequence[_Column]) -> bool:
    """Return whether the numbers of the first row count the columns, or are like 400, 410, 420 for long enough."""
    heads = [column.head for column in columns if column.head is not None and np.isfinite(column.head)]
    if len(heads) < _FEWEST:
        return len(heads) > 2 and any(heads == list(range(k, k + len(heads))) for k in (0, 1))
    steps = np.diff(heads)
    step = steps.mean()
    return bool(step != 0 and np.abs(steps - step).max() <= _UNEVEN * abs(step))


def _far_away(columns: Sequence[_Column]) -> bool:
    """Return whether most numbers of the first row are far from those below."""
    return _most([_is_far(c.head, c.spread) for c in columns if c.head is not None and c.spread is not None])


def _is_far(head: float, numbers: Sequence[float]) -> bool:
    low, high = min(numbers), max(numbers)
    return bool(max(low - head, head - high) > _FAR * (high - low))


def _whole_above_fractions(columns: Sequence[_Column]) -> bool:
    """Return whether most columns of numbers written with fractions have a whole number in the first row."""
    numeric = [column for column in columns if column.head is not None and column.spread is not None]
    fractions = [column for column in numeric if not any(map(_INTEGER.fullmatch, column.sample))]
    return _most([_INTEGER.fullmatch(column.cell) is not None for column in fractions])


def _alone(columns: Sequence[_Column]) -> bool:
    """Return whether a word of the first row is not found again, while those below it are."""
    words = [column for column in columns if column.is_word and len(column.below) >= _FEWEST]
    return any(2 * len(set(column.below)) <= len(column.below) for column in words)


def _above_words(columns: Sequence[_Column]) -> bool:
    """Return whether a number of the first row is above words only."""
    below = [column.sample for column in columns if column.head is not None]
    return any(sample and all(number(cell, ".") is None for cell in sample) for sample in below)


def _most(answers: Sequence[bool]) -> bool:
    """Return whether more than half of two or more answers are yes."""
    return len(answers) >= 2 and 2 * sum(answers) > len(answers)
