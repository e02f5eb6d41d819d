"""What a user should know of how the cells of a table were taken, in a sentence for each kind of thing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from marginwise._wording import some


class Note(NamedTuple):
    """How the cells of a column were taken.

    ``missing`` and ``limits`` are the cells of text that were taken as missing, and as the limit that they name;
    ``percent`` shows how a number in percent was taken. ``from_text`` says that numbers were stored as text, ``among``
    are words because of which a column that looks like numbers is one of categories.
    """

    column: str | int
    missing: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    percent: str = ""
    dates: bool = False
    from_text: bool = False
    among: tuple[str, ...] = ()


def remarks(notes: Iterable[Note], mend: str) -> tuple[str, ...]:
    """Return the sentences; ``mend`` is what to do about words among numbers that mean missing."""
    notes = list(notes)
    said = []
    for taken, as_what in (
        ({note.column: note.missing for note in notes}, "missing"),
        ({note.column: note.limits for note in notes}, "the limit itself"),
    ):
        words = dict.fromkeys(repr(word) for own in taken.values() for word in own)
        if words:
            columns = _columns([name for name, own in taken.items() if own])
            said.append(f"{some(words)} in {columns} {_are(words)} taken as {as_what}")
    said += [
        f"numbers in percent in {_columns([note.column])} are taken like {note.percent}"
        for note in notes
        if note.percent
    ]
    texts = [note.column for note in notes if note.from_text]
    if texts:
        said.append(
            f"{_columns(texts)} {_holds(texts)} numbers as text, taken as numbers: for categories, name "
            f"{'it' if len(texts) == 1 else 'them'} in categorical_features"
        )
    dates = [note.column for note in notes if note.dates]
    if dates:
        said.append(
            f"{_columns(dates)} {_holds(dates)} dates, taken as numbers of days: a weekday or season is not seen "
            "unless it is a column of its own"
        )
    said += [
        f"{_columns([note.column])} is taken as categories, because {some(map(repr, note.among))} "
        f"{_are(note.among)} among its numbers; {mend}"
        for note in notes
        if note.among
    ]
    return tuple(said)


def _columns(names: Sequence[str | int]) -> str:
    return f"{'column' if len(names) == 1 else 'columns'} {some(map(repr, names))}"


def _are(words: object) -> str:
    return "is" if len(words) == 1 else "are"  # type: ignore[arg-type]


def _holds(names: Sequence[object]) -> str:
    return "holds" if len(names) == 1 else "hold"
