"""The row of a trial, and how it and its trace are written down."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from marginwise.errors import InvalidInputError
from marginwise.study.plan import Trial

#: Digits kept of each number of a trace.
_DIGITS = 7


@dataclass(frozen=True)
class TrialRow:
    """A finished or failed trial.

    Attributes
    ----------
    dataset, method, number, seed
        Which trial it is, and the seed of its random numbers.
    status, message, error_name : str
        "done" or "failed"; how the search ended, or what went wrong and the name of the error.
    versions : dict
        Versions of Python and of the packages that made it.
    seconds : float
        Time it took.
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
        Test error after early stopping by a validation set.
    extra : dict
        Other numbers.
    fingerprint : str
        Digest of all settings that the row depends on.
    """

    dataset: str
    method: str
    number: int
    seed: int
    status: str
    message: str = ""
    error_name: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    evaluations: int | None = None
    hyperparameters: tuple[float, ...] | None = None
    criterion_value: float | None = None
    test_error: float | None = None
    posterior_error: float | None = None
    log_loss: float | None = None
    oracle_error: float | None = None
    early_error: float | None = None
    extra: dict[str, float] = field(default_factory=dict)
    fingerprint: str = ""

    @property
    def trial(self) -> Trial:
        """The trial that this is the row of."""
        return Trial(self.dataset, self.method, self.number)

    def __post_init__(self) -> None:
        if self.status not in ("done", "failed"):
            raise InvalidInputError("status", self.status, "'done' or 'failed'")


COLUMNS = tuple(column.name for column in fields(TrialRow))
_AS_JSON = {"versions", "hyperparameters", "extra"}


def to_values(row: TrialRow) -> dict[str, Any]:
    """Return a row as values that a database keeps, by column."""
    values = {key: json.dumps(value) if key in _AS_JSON else value for key, value in asdict(row).items()}
    if row.hyperparameters is None:
        values["hyperparameters"] = None
    return values


def to_row(values: Sequence[Any]) -> TrialRow:
    """Return the row of these values, in the order of ``COLUMNS``."""
    named = dict(zip(COLUMNS, values, strict=True))
    for key in _AS_JSON:
        named[key] = None if named[key] is None else json.loads(named[key])
    if named["hyperparameters"] is not None:
        named["hyperparameters"] = tuple(named["hyperparameters"])
    return TrialRow(**named)


def pack(trace: Mapping[str, Sequence[float]]) -> bytes:
    """Return the columns of a trace, rounded and compressed."""
    rounded = {name: [_rounded(value) for value in column] for name, column in trace.items()}
    return zlib.compress(json.dumps(rounded, separators=(",", ":")).encode(), 9)


def unpack(packed: bytes) -> dict[str, list[float]]:
    """Return the columns of a trace."""
    columns: dict[str, list[float]] = json.loads(zlib.decompress(packed))
    return columns


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else float(value)
