"""Where the rows of a study are kept: an SQLite file that several processes may share and that survives any kill.

A trial is claimed before it is run, and its row is written in one transaction that also ends the claim. Nothing but
committed rows is ever seen; what a killed process had claimed is taken over by the next that asks.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from marginwise.errors import InvalidInputError
from marginwise.study.database import Database
from marginwise.study.owners import Owner
from marginwise.study.plan import Trial
from marginwise.study.record import COLUMNS, Trace, TrialRow, seal

#: Seconds for which a claim holds where nobody can see whether its process lives; it is renewed all the time.
LEASE = 600.0

_FORM = "sqlite:///FILE, or sqlite:////DIRECTORY/FILE for an absolute path"

#: What tells trials apart.
_SAME = "dataset = ? AND method = ? AND number = ?"


def open_store(url: str, *, create: bool = True, read_only: bool = False) -> Store:
    """Return the store at ``url``: ``sqlite:///FILE``.

    Parameters
    ----------
    url : str
    create : bool
        Whether a file that does not exist is made; otherwise that is an error.
    read_only : bool
        Whether to open it for reading only; a file that can't be written always is.

    Returns
    -------
    Store

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/mine.sqlite") as store:
    ...     store.rows()
    []
    """
    path = _path(url)
    if path.is_dir() or not path.parent.is_dir():
        what = "a file, not a directory" if path.is_dir() else f"a file in a directory that exists: {path.parent}"
        raise InvalidInputError("store", url, what)
    if not path.exists() and (read_only or not create):
        raise InvalidInputError("store", url, "a study that was begun; `marginwise study run` begins one")
    return Store(path, read_only=read_only or (path.exists() and not os.access(path, os.W_OK)))


class Store:
    """Rows, traces and claims in one SQLite file; open it with :func:`open_store`. Threads may share it.

    Parameters
    ----------
    path : Path
        The file.
    read_only : bool, default=False
        Whether to open it for reading only.

    Examples
    --------
    >>> import tempfile
    >>> from marginwise.study import Effort, Newton, Plan, benchmarks, open_store, run_study
    >>> methods = {"le2": Newton("laplace-evidence", "quadratic", isotropic=True)}
    >>> plan = Plan("mine", benchmarks("crabs"), methods, effort=Effort(newton_evaluations=2))
    >>> with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/mine.sqlite") as store:
    ...     _ = run_study(plan, store, n_jobs=1)
    ...     [(row.dataset, row.method, row.status) for row in store.rows()]
    [('crabs', 'le2', 'done')]
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path, self.read_only = path, read_only
        self._database = Database(path, read_only=read_only)
        known = self._database.columns()
        self._names = [name for name in COLUMNS if name != "trace" and name in known]
        self._seal = "seal" if "seal" in known else "NULL"

    @property
    def url(self) -> str:
        """The address of this store."""
        return f"sqlite:///{self.path}"

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def rows(self) -> list[TrialRow]:
        """Return all finished and failed trials without their traces, sorted by data set, method and number.

        What was not recorded yet when a store was made is None. A row that was damaged is an error.
        """
        rows, damaged = self._read()
        if damaged:
            raise self._database.damaged(
                f"{len(damaged)} rows, the first {damaged[0].method} on {damaged[0].dataset}, trial "
                f"{damaged[0].number}; redo them with redo=True, --redo"
            )
        return rows

    def damaged(self) -> list[Trial]:
        """Return the trials whose rows are not what was written."""
        return self._read()[1]

    def trace(self, row: TrialRow) -> Trace | None:
        """Return the columns of the search's trace, None if there is none."""
        found = self._database.select(f"SELECT trace FROM trials WHERE {_SAME}", _key(row.trial))
        try:
            trace: Trace | None = COLUMNS["trace"].from_sql(found[0][0]) if found else None
        except ValueError as error:
            raise self._database.damaged(f"the trace of {row.method} on {row.dataset}: {error}") from None
        return trace

    def _read(self) -> tuple[list[TrialRow], list[Trial]]:
        """Return the rows, and the trials of those that were damaged."""
        query = f"SELECT {self._seal}, {', '.join(self._names)} FROM trials ORDER BY dataset, method, number"
        rows, damaged = [], []
        for kept, *values in self._database.select(query):
            found = dict(zip(self._names, values, strict=True))
            try:
                if kept is not None and kept != seal(found):  # rows from before have no seal
                    raise ValueError
                rows.append(TrialRow(**{name: COLUMNS[name].from_sql(value) for name, value in found.items()}))
            except ValueError:
                damaged.append(Trial(found["dataset"], found["method"], found["number"]))
        return rows, damaged

    def claims(self) -> dict[Trial, Owner]:
        """Return the trials that somebody works on, or did when it was killed."""
        found = self._database.select("SELECT dataset, method, number, host, pid, born, token FROM claims")
        return {Trial(*values[:3]): Owner(*values[3:]) for values in found}

    def settings(self, fingerprint: str) -> dict[str, Any]:
        """Return the settings that have this fingerprint; empty if they are not known."""
        return {key: value for key, value in self._description(fingerprint).items() if key != "about"}

    def about(self, row: TrialRow) -> dict[str, Any]:
        """Return what is known of a row's data: inputs, training, test, provenance; empty in stores from before."""
        return self._description(row.fingerprint).get("about", {})

    def describe(self, settings: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep what the fingerprints stand for; what is ``about`` the data is no setting."""
        rows = [(key, json.dumps(value, sort_keys=True)) for key, value in settings.items()]
        with self._database.writing() as database:
            database.executemany("INSERT OR IGNORE INTO settings VALUES (?, ?)", rows)

    def settled(self, begun: float) -> set[Trial]:
        """Return the trials that are done, or have failed since the time ``begun``."""
        query = "SELECT dataset, method, number FROM trials WHERE status = 'done' OR finished >= ?"
        return {Trial(*values) for values in self._database.select(query, (begun,))}

    def claim(self, trials: Iterable[Trial], owner: Owner, *, begun: float) -> Trial | None:
        """Claim the first of ``trials`` that is neither done nor in work, and return it; None if there is none.

        Trials that failed before the time ``begun`` are tried again.
        """
        with self._database.writing() as database:
            settled, taken = self.settled(begun), self._taken(database)
            free = next((trial for trial in trials if trial not in settled and trial not in taken), None)
            if free is not None:
                values = (*_key(free), owner.host, owner.pid, owner.born, owner.token, time.time() + LEASE)
                database.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            return free

    def renew(self, owner: Owner) -> None:
        """Extend the lease of all that this owner has claimed."""
        with self._database.writing() as database:
            database.execute("UPDATE claims SET until = ? WHERE token = ?", (time.time() + LEASE, owner.token))

    def release(self, owner: Owner, trials: Iterable[Trial] | None = None) -> None:
        """Give up these claims of the owner, or all."""
        with self._database.writing() as database:
            if trials is None:
                database.execute("DELETE FROM claims WHERE token = ?", (owner.token,))
            else:
                database.executemany(_DROP_CLAIM, [(*_key(trial), owner.token) for trial in trials])

    def finish(self, row: TrialRow, owner: Owner) -> bool:
        """Write a row and end its claim, in one transaction; False if the claim was lost and nothing is written."""
        with self._database.writing() as database:
            ended = database.execute(_DROP_CLAIM, (*_key(row.trial), owner.token)).rowcount
            if ended:
                self._insert(database, row)
            return bool(ended)

    def record(self, row: TrialRow) -> None:
        """Write a row that nobody has claimed, in the place of any other of the same trial."""
        with self._database.writing() as database:
            self._insert(database, row)

    def remove(self, trials: Iterable[Trial]) -> None:
        """Forget the rows of these trials."""
        with self._database.writing() as database:
            database.executemany(f"DELETE FROM trials WHERE {_SAME}", [_key(trial) for trial in trials])

    def _insert(self, database: sqlite3.Connection, row: TrialRow) -> None:
        values = {name: column.to_sql(getattr(row, name)) for name, column in COLUMNS.items()}
        values |= {"finished": time.time(), "seal": seal(values)}
        names, places = ", ".join(values), ", ".join("?" * len(values))
        database.execute(f"INSERT OR REPLACE INTO trials ({names}) VALUES ({places})", tuple(values.values()))

    def _description(self, fingerprint: str) -> dict[str, Any]:
        found = self._database.select("SELECT description FROM settings WHERE fingerprint = ?", (fingerprint,))
        try:
            description = json.loads(found[0][0]) if found else {}
        except (ValueError, TypeError):
            description = None
        if not isinstance(description, dict):
            raise self._database.damaged(f"the settings {fingerprint}")
        return description

    def _taken(self, database: sqlite3.Connection) -> set[Trial]:
        """Return the trials whose owners live; where that can't be seen, those whose leases have not run out."""
        now = time.time()
        taken, lives = set(), {}
        for values in database.execute("SELECT dataset, method, number, host, pid, born, token, until FROM claims"):
            owner = Owner(*values[3:7])
            if owner not in lives:
                lives[owner] = owner.lives()
            if lives[owner] or (lives[owner] is None and values[7] > now):
                taken.add(Trial(*values[:3]))
        return taken


_DROP_CLAIM = f"DELETE FROM claims WHERE {_SAME} AND token = ?"


def _path(url: str) -> Path:
    scheme, separator, rest = str(url).partition(":///")
    if not separator or scheme != "sqlite" or not rest or rest == ":memory:":
        raise InvalidInputError("store", url, _FORM)
    return Path(rest).expanduser()


def _key(trial: Trial) -> tuple[str, str, int]:
    return trial.dataset, trial.method, trial.number
