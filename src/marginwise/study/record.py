"""What is recorded of a trial. A field of :class:`Outcome` is a column: of the store, of its CSV file, of the report.

To record another number, declare a field here and fill it where it is computed; nothing else knows the columns. Stores
and files that were written before have None there.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from marginwise._characters import as_csv, from_csv
from marginwise.errors import InvalidInputError
from marginwise.study.plan import Trial

R = TypeVar("R")

#: A trace by columns, all of the same length: "evaluation", "value", "C", "k0", "koff", "l1" …
Trace = dict[str, list[float]]

#: Digits kept of each number of a trace, and of numbers in the CSV file: more than any table shows.
_TRACE_DIGITS, _FILE_DIGITS = 7, 6

#: Bytes of a trace that was unpacked: far more than the longest search has.
_LONGEST_TRACE = 2**28


@dataclass(frozen=True)
class Shown:
    """How the report shows a column as a table of methods × data sets.

    ``digits`` are significant ones; with 0 there is one decimal.
    """

    title: str
    note: str
    digits: int = 0


def _shown(title: str, note: str, digits: int = 0, default: Any = None) -> Any:
    return field(default=default, metadata={"shown": Shown(title, note, digits)})


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a method found.

    Attributes
    ----------
    message : str
        How the search ended.
    evaluations : int or None
        Evaluations of the criterion.
    hyperparameters : tuple or None
        C, k0, koff, l_1 … l_d that were chosen.
    criterion_value : float or None
        The criterion there.
    test_error : float or None
        Fraction of wrong labels on the test set, by the SVM where there is one.
    posterior_error, log_loss : float or None
        Error and mean negative log-probability of the labels on the test set, by the posterior.
    oracle_error : float or None
        Least test error along the path of the search: an oracle, no estimate.
    early_error : float or None
        Test error after early stopping by an independent validation set, which half of the test rows are in turn.
    wrong : tuple or None
        Places of the test rows with wrong labels, of methods that are more than their hyperparameters.
    extra : dict
        Other numbers, for which a column is not worth while.
    trace : dict or None
        The path of the search by columns. :meth:`Store.rows` leaves it out; :meth:`Store.trace` reads it.

    Examples
    --------
    >>> Outcome(message="predicted", test_error=0.05).test_error
    0.05
    """

    message: str = ""
    evaluations: int | None = None
    hyperparameters: tuple[float, ...] | None = None
    criterion_value: float | None = None
    test_error: float | None = _shown("test error (%)", "Mean ± standard deviation, and the number of trials.")
    posterior_error: float | None = _shown(
        "test error (%) of the posterior",
        "With the same hyperparameters the labels are predicted by the EP posterior instead of the SVM.",
    )
    log_loss: float | None = _shown(
        "log-loss of the posterior",
        "Mean of −ln Q(y|x) over the test set in nats, by the EP posterior; ln 2 = 0.693 is guessing.",
        digits=3,
    )
    oracle_error: float | None = None
    early_error: float | None = None
    wrong: tuple[int, ...] | None = None
    extra: dict[str, float] = field(default_factory=dict)
    trace: Trace | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class TrialRow(Outcome):
    """A finished or failed trial: which it is, what it found, and how it was made.

    Attributes
    ----------
    dataset, method, number, seed
        Which trial it is, and the seed of its random numbers.
    status, error_name : str
        "done" or "failed", and the name of the error; then ``message`` is the error's.
    versions : dict
        Versions of Python and of the packages that made it.
    seconds : float
        CPU time of its thread, so that other work on the machine does not count.
    fingerprint : str
        Digest of all settings that the row depends on.

    Examples
    --------
    >>> row = TrialRow(dataset="crabs", method="mine", number=0, seed=1, status="done", test_error=0.05)
    >>> row.trial.name
    'study/crabs/mine/0'
    """

    dataset: str
    method: str
    number: int
    seed: int
    status: str
    error_name: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float = _shown(
        "CPU seconds of a trial", "Mean ± standard deviation, number of trials.", digits=3, default=0.0
    )
    fingerprint: str = ""

    def __post_init__(self) -> None:
        if self.status not in ("done", "failed"):
            raise InvalidInputError("status", self.status, "'done' or 'failed'")

    @property
    def trial(self) -> Trial:
        """The trial that this is the row of."""
        return Trial(self.dataset, self.method, self.number)

    @property
    def ending(self) -> str:
        """How the search ended: what its message says first."""
        return self.message.split(";")[0].strip()


def shown_columns() -> dict[str, Shown]:
    """Return the columns that the report has a table of, and how it shows them."""
    return {column.name: column.metadata["shown"] for column in fields(TrialRow) if "shown" in column.metadata}


@dataclass(frozen=True)
class StoredColumn:
    """A field of a row as a column of SQLite: its type there, and the way in and out."""

    name: str
    kind: str  # TEXT, INTEGER, REAL or BLOB
    constraint: str
    as_json: bool
    as_tuple: bool
    default: Any = None

    @classmethod
    def of(cls, declared: Field[Any], annotation: Any) -> StoredColumn:
        """Return the column of a field: None makes it optional, and what SQLite does not have is JSON."""
        options = get_args(annotation) if isinstance(annotation, UnionType) else (annotation,)
        optional = type(None) in options
        plain = next(option for option in options if option is not type(None))
        if declared.name == "trace":
            return cls(declared.name, "BLOB", "", False, False)
        kind = {str: "TEXT", int: "INTEGER", float: "REAL"}.get(plain)
        constraint = "" if optional else f"NOT NULL{_default(declared)}"
        default = "{}" if declared.default is MISSING else declared.default
        return cls(declared.name, kind or "TEXT", constraint, kind is None, get_origin(plain) is tuple, default)

    @property
    def sql(self) -> str:
        """Its declaration."""
        return f"{self.name} {self.kind} {self.constraint}".strip()

    @property
    def required(self) -> bool:
        """Whether every file has it: what has a default, or may be None, can be added later."""
        return "NOT NULL" in self.constraint and "DEFAULT" not in self.constraint

    def to_sql(self, value: Any) -> Any:
        """Return a value as SQLite keeps it: it has no NaN, and no text that is not Unicode."""
        if value is None:
            return None
        if self.kind == "BLOB":
            return pack(value)
        if self.as_json:
            return json.dumps(value)
        if self.kind == "TEXT":
            return str(value).encode("utf-8", "backslashreplace").decode()
        return (None if math.isnan(value) else float(value)) if self.kind == "REAL" else int(value)

    def from_sql(self, kept: Any) -> Any:
        """Return a value that was kept; what is none is a ValueError."""
        if kept is None:
            if "NOT NULL" in self.constraint:
                raise ValueError(f"{self.name} is missing")
            return None
        if type(kept) not in _KEPT_AS[self.kind]:
            raise ValueError(f"{self.name} is {kept!r}")
        if self.kind == "BLOB":
            return unpack(kept)
        if not self.as_json:
            return kept
        value = json.loads(kept)
        if not isinstance(value, list if self.as_tuple else dict):
            raise ValueError(f"{self.name} is {kept!r}")
        return tuple(value) if self.as_tuple else value

    def from_text(self, text: str) -> Any:
        """Return a value from the CSV file, where nothing is written for None."""
        if self.as_tuple:
            return tuple(float(part) for part in text.split()) or None
        if self.as_json:
            return json.loads(text)
        if self.kind == "TEXT":
            return text
        return None if not text else int(text) if self.kind == "INTEGER" else float(text)


def _default(declared: Field[Any]) -> str:
    """Return the default that rows have for a column that was added after them."""
    if declared.default is not MISSING:
        return f" DEFAULT {declared.default!r}"
    return " DEFAULT '{}'" if declared.default_factory is not MISSING else ""


def columns_of(kind: type) -> dict[str, StoredColumn]:
    """Return the fields of a data class as columns; of a trial, those that say which it is come first."""
    hints, found = get_type_hints(kind), {declared.name for declared in fields(Outcome)}
    ordered = sorted(fields(kind), key=lambda declared: declared.name in found)
    return {declared.name: StoredColumn.of(declared, hints[declared.name]) for declared in ordered}


#: The columns of the store, by name.
COLUMNS = columns_of(TrialRow)

#: What SQLite gives for each kind of column.
_KEPT_AS: dict[str, tuple[type, ...]] = {"TEXT": (str,), "INTEGER": (int,), "REAL": (int, float), "BLOB": (bytes,)}


def seal(kept: Mapping[str, Any]) -> str:
    """Return a digest of what SQLite keeps of a row but its trace, which is compressed with one of its own.

    What is as it would be in a row from before there was the column does not count.
    """
    counted = {
        name: kept[name]
        for name, column in sorted(COLUMNS.items())
        if name != "trace" and kept.get(name) not in (None, column.default)
    }
    return hashlib.sha256(repr(counted).encode()).hexdigest()[:32]


#: What no CSV file has: it is long, or tells nothing to people.
_NOT_IN_FILE = ("trace", "versions", "fingerprint", "wrong")


def pack(trace: Mapping[str, Sequence[float]]) -> bytes:
    """Return the columns of a trace, rounded and compressed."""
    rounded = {name: [_rounded(value) for value in column] for name, column in trace.items()}
    return zlib.compress(json.dumps(rounded, separators=(",", ":")).encode(), 9)


def unpack(packed: bytes) -> Trace:
    """Return the columns of a trace."""
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(packed, _LONGEST_TRACE)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not reader.eof:
        raise ValueError("it was cut off, or is too long")
    columns = json.loads(text)
    if not isinstance(columns, dict) or not all(isinstance(column, list) for column in columns.values()):
        raise ValueError("it has no columns")
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError("its columns differ in length")
    if not all(isinstance(value, (int, float)) for column in columns.values() for value in column):
        raise ValueError("it holds something else than numbers")
    return columns


def write_rows(path: Path, items: Iterable[Any], kind: type = TrialRow) -> Path:
    """Write trials, or other data of a ``kind``, as CSV: one line each; of a trial without what is long.

    Of its message there is what stands first.
    """
    names = [name for name in columns_of(kind) if name not in _NOT_IN_FILE]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for item in items:
            item = replace(item, message=item.ending) if isinstance(item, TrialRow) else item
            writer.writerow([_cell(getattr(item, name)) for name in names])
    return path


def read_rows(path: Path, kind: type[R] = TrialRow) -> list[R]:  # type: ignore[assignment]
    """Read what :func:`write_rows` wrote, now or before there was some column; none if there is no file."""
    if not path.exists():
        return []
    columns = columns_of(kind)
    with path.open(newline="", encoding="utf-8") as file:
        return [
            kind(**{name: columns[name].from_text(from_csv(text)) for name, text in row.items() if name in columns})
            for row in csv.DictReader(file)
        ]


def _rounded(value: float) -> float:
    return float(f"{value:.{_TRACE_DIGITS}g}") if math.isfinite(value) else float(value)


def _cell(value: object) -> object:
    return as_csv(_text(value)) if isinstance(value, str) else _text(value)


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return " ".join(_text(part) for part in value)
    if isinstance(value, dict):
        return json.dumps({name: float(_text(number)) for name, number in sorted(value.items())})
    return f"{value:.{_FILE_DIGITS}g}" if isinstance(value, float) else str(value)
