"""Checks of a table before a fit: errors if nothing can be learnt from it, and warnings of one sentence each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise._wording import numbered, some
from marginwise.cli.text import option
from marginwise.datasets import Table
from marginwise.datasets.identifiers import looks_like_date
from marginwise.errors import Finding, InvalidInputError
from marginwise.tables.text import may_be_number

#: Different whole numbers beyond which a target may be a quantity, and the mean rows of each below which it is one.
_MOST_NUMBERS, _FEWEST_ROWS = 20, 10

#: Different dates that may be meant as categories, such as months.
_MOST_DATES = 12

#: A column with more different words than this, and than half of its rows, is not a category.
_MOST_WORDS = 10

#: Fewest values of a column that may say which rows belong together; of one that is known by its order alone.
_FEWEST_GROUPS, _FEWEST_RUNS = 5, 20

#: The last word in the name of such a column.
_GROUP_NAMES = (
    "id",
    "patient",
    "subject",
    "participant",
    "respondent",
    "user",
    "customer",
    "client",
    "session",
    "animal",
)

#: Rows from which on increasing whole numbers are not a coincidence.
_FEWEST_RISING = 8


def check_table(table: Table) -> list[str]:
    """Return warnings about a table; what makes it useless is an error."""
    _require_classes(table)
    _require_categories(table)
    remarks = [*_rare_classes(table), *_many_numbers(table), *_row_numbers(table), *_groups(table)]
    return [*table.schema.remarks, *remarks]


def require_folds(table: Table, ard: str | float) -> None:
    """Raise if no row could be left out to evaluate a model with several length scales."""
    second = int(np.sort(np.unique(table.y, return_counts=True)[1])[-2])
    if second < 2 and isinstance(ard, float) and ard > 0.0:
        raise InvalidInputError(
            "--ard",
            ard,
            "auto or 0: without two rows in each of two classes nothing else can be judged on rows left out",
        )


def _require_classes(table: Table) -> None:
    """Raise if the target does not hold classes."""
    labels, n = np.unique(table.y), len(table.y)
    if len(labels) == 1:
        raise InvalidInputError(
            "target", table.target_name, f"a column with two or more classes, but it is {labels[0]} in every row"
        )
    fractions = table.y.dtype.kind == "f" and (labels != np.round(labels)).any()
    quantity = table.y.dtype.kind in "if" and len(labels) > _MOST_NUMBERS and n < _FEWEST_ROWS * len(labels)
    if fractions or quantity or (len(labels) > 2 and len(labels) > n / 2):
        what = "numbers, like a quantity," if fractions or quantity else "values"
        words = ", or write them as words if each is a class" if quantity else ""
        raise InvalidInputError(
            "target",
            table.target_name,
            f"a column of classes, but it has {len(labels)} different {what} in {n} rows; "
            f"make classes of them, or choose another column{words}",
        )


def _require_categories(table: Table) -> None:
    """Raise if the words of a column are dates, or occur among numbers, so that they are not categories."""
    for name, levels in table.categories.items():
        if len(levels) > _MOST_DATES and all(map(looks_like_date, levels)):
            raise InvalidInputError(
                f"column {name!r}",
                Finding(f"holds {len(levels)} different dates, each an input of its own"),
                f"numbers or a few categories; leave it out ({option('--drop', [name])}), or write the dates as "
                "2024-05-31",
            )
        if len(levels) > max(_MOST_WORDS, len(table.y) / 2):
            words = [level for level in levels if not any(may_be_number(level, sign) for sign in ".,")]
            if 2 * len(words) < len(levels):
                raise InvalidInputError(
                    f"column {name!r}",
                    Finding(f"holds numbers and {numbered(len(words), 'other word')} ({some(map(repr, words))})"),
                    f"one or the other; if the words mean missing: {option('--missing-values', words)}",
                )


def _rare_classes(table: Table) -> Iterator[str]:
    labels, counts = np.unique(table.y, return_counts=True)
    rare = [repr(label) for label in labels[counts == 1].tolist()]
    if rare:
        which = f"class {rare[0]}" if len(rare) == 1 else f"each of the classes {some(rare)}"
        yield f"{which} of {table.target_name!r} has one row only, too few to learn from: add rows, or leave it out"


def _many_numbers(table: Table) -> Iterator[str]:
    n_labels = len(np.unique(table.y))
    if table.y.dtype.kind in "if" and n_labels > _MOST_NUMBERS:
        yield (
            f"each of the {n_labels} different numbers of {table.target_name!r} is taken for a class; "
            "if it is a quantity, make classes of it"
        )


def _row_numbers(table: Table) -> Iterator[str]:
    columns = zip(table.feature_names, table.X.T, strict=True)
    words = {*table.categories, *table.dates}
    names = [name for name, column in columns if name not in words and _rises(column.astype(float))]
    if names and len(table.X) >= _FEWEST_RISING:
        yield (
            f"{some(map(repr, names))} {'rises' if len(names) == 1 else 'rise'} from row to row, like a row number: "
            f"{option('--drop', names)} unless it is there to be learnt from"
        )


def _groups(table: Table) -> Iterator[str]:
    """Point out columns that seem to identify groups of rows."""
    if table.groups:
        return
    for name, column in zip(table.feature_names, table.X.T, strict=True):
        words = name in table.categories
        if not words and (name in table.dates or not _whole(column.astype(float))):
            continue
        number = len({cell for cell in column.tolist() if cell is not None})
        many = _FEWEST_GROUPS <= number <= len(column) / 2
        if many and (_names_group(name) or (words and number >= _FEWEST_RUNS and _in_runs(column))):
            yield (
                f"{name!r} seems to say which rows belong together: {option('--groups', [name])} leaves these out "
                f"together, so that what is expected is true for new ones (or {option('--drop', [name])})"
            )


def _whole(column: Array) -> bool:
    """Return whether all cells are whole numbers, and none is missing."""
    return bool((column == np.round(column)).all())


def _names_group(name: str) -> bool:
    """Return whether the name of a column is that of a group of rows."""
    words = re.findall("[A-Z]?[a-z]+|[A-Z]+", name)
    return bool(words) and words[-1].lower() in _GROUP_NAMES


def _in_runs(column: npt.NDArray[Any]) -> bool:
    """Return whether rows with the same word follow each other."""
    return 1 + np.count_nonzero(column[1:] != column[:-1]) == len(set(column.tolist()))


def _rises(column: Array) -> bool:
    """Return whether whole numbers rise from row to row."""
    return bool((np.diff(column) > 0).all() and (column == np.round(column)).all())
