"""Groups of rows that belong together, as they are given: checked and numbered."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Indices
from marginwise._wording import some
from marginwise.errors import Finding, InvalidInputError
from marginwise.multiplicity import groups_with

#: Pairs of rows of one group, the numbers in the blocks that are left out: 1 GB.
_MOST_PAIRS = 2**27

_WANTED = "for each row the group that it belongs to, such as its patient"


def group_numbers(groups: Any, n: int) -> Indices:
    """Return a number for each of n rows, equal for rows of one group; labels of groups are of any hashable kind."""
    if isinstance(groups, list | tuple):
        labels = np.fromiter(groups, dtype=object, count=len(groups))  # of tuples, too, no matrix
    else:
        labels = np.asarray(groups.compute() if hasattr(groups, "compute") else groups)
    if labels.shape != (n,):
        raise InvalidInputError("groups", Finding(f"has shape {labels.shape}"), f"shape ({n},), {_WANTED}")
    values = labels.tolist()
    numbers: dict[Any, int] = {}
    for row, value in enumerate(values):
        if _is_missing(value):
            raise InvalidInputError(
                f"groups[{row}]", value, f"{_WANTED}; give a row that belongs to no other a label of its own"
            )
        try:
            numbers.setdefault(value, len(numbers))
        except TypeError:
            found = Finding(f"is of type {type(value).__name__}")
            raise InvalidInputError(f"groups[{row}]", found, "a word, a number or another hashable label") from None
    return np.array([numbers[value] for value in values], dtype=np.intp)


def require_groups(groups: Indices, codes: Indices, classes: npt.NDArray[Any]) -> tuple[str, ...]:
    """Raise if there are too few groups to leave any out, and return remarks on classes that are in one group only."""
    if groups.max() == groups.min():
        found = Finding("has one group only")
        raise InvalidInputError("groups", found, "at least two groups: what is left out is one group at a time")
    sizes = np.bincount(groups)
    if float(sizes @ sizes) > _MOST_PAIRS:
        found = Finding(f"has groups of up to {sizes.max()} rows, whose covariances with each other are too many")
        raise InvalidInputError("groups", found, "smaller groups; give fewer rows of each, drawn at random")
    numbers = groups_with(codes, groups, len(classes))
    rare = [repr(label) for label in classes[numbers == 1].tolist()]
    which = f"class {rare[0]} is" if len(rare) == 1 else f"classes {some(rare)} are each"
    if np.count_nonzero(numbers > 1) < 2:
        raise InvalidInputError(
            "groups",
            Finding(f"does not tell groups from classes: {which} in one group only"),
            "at least two classes that occur in two groups or more; add groups, or make groups finer",
        )
    if not rare:
        return ()
    return (
        f"{which} in one group only: without that group nothing is known of it, and its rows count as errors in what "
        "is expected on new groups",
    )


def _is_missing(value: object) -> bool:
    """Say whether a label is None, NaN, NaT or NA."""
    return value is None or type(value).__name__ == "NAType" or value != value
