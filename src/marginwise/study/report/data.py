"""The data that the rows of a store were computed from, as far as they can be loaded again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from marginwise.datasets.benchmarks import Benchmark, benchmark_names
from marginwise.errors import MarginwiseError
from marginwise.study.data import DESCRIBED, BenchmarkSource, Source, load_data
from marginwise.study.plan import Effort
from marginwise.study.record import TrialRow
from marginwise.study.store import Store
from marginwise.study.trial import fingerprint_of


class StudyData:
    """The data sets of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._loaded: dict[tuple[str, str], Benchmark | None] = {}
        load_data.cache_clear()  # a file may have changed since

    def load(self, row: TrialRow) -> Benchmark | None:
        """Return the data that a trial was run on; None if they are gone, or are others by now."""
        key = (row.dataset, row.fingerprint)
        if key not in self._loaded:
            self._loaded[key] = self._load(row)
        return self._loaded[key]

    def sizes(self, row: TrialRow) -> tuple[int, int, int] | None:
        """Return the numbers of inputs, training and test rows; None if they are not known."""
        if about := self._store.about(row):
            return about["inputs"], about["training"], about["test"]
        data = self.load(row)
        return None if data is None else (data.n_inputs, len(data.y_train), len(data.y_test))

    def limits(self, rows: Iterable[TrialRow]) -> str:
        """Return what trials were limited to, in words; empty if all had the usual effort."""
        efforts = {self._effort(fingerprint) for fingerprint in dict.fromkeys(row.fingerprint for row in rows)}
        return "; some ".join(sorted({effort.limits for effort in efforts} - {""}))

    def _effort(self, fingerprint: str) -> Effort:
        effort = self._store.settings(fingerprint).get("effort")
        return Effort(**effort[1]) if effort else Effort()

    def _load(self, row: TrialRow) -> Benchmark | None:
        settings, source = self._store.settings(row.fingerprint), self._source(row)
        if source is None:
            return None
        try:
            data = load_data(source, self._effort(row.fingerprint))
        except (MarginwiseError, OSError):
            return None
        known = settings.get("data")
        return data if known is None or known == fingerprint_of(data) else None

    def _source(self, row: TrialRow) -> Source | None:
        """Return where the data are from: as recorded, or, in stores that do not say it, the set of this name."""
        described: list[Any] | None = self._store.about(row).get("source")
        if described is None:
            return BenchmarkSource(row.dataset) if row.dataset in benchmark_names() else None
        name, values = described
        lists_as_tuples = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
        return DESCRIBED[name](**lists_as_tuples)
