"""Where the rows of a study are kept: an SQLite file that several processes may share and that survives any kill.

A trial is claimed before it is run, and its row is written in one transaction that also ends the claim. Nothing but
committed rows is ever seen; what a killed process had claimed is taken over by the next that asks.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.study.owners import Owner
from marginwise.study.plan import Trial
from marginwise.study.record import COLUMNS, Trace, TrialRow

#: Marks the file as a study ("mwst"), and the layout of its tables.
APPLICATION, SCHEMA = 0x6D777374, 1

#: Seconds for which a claim holds where nobody can see whether its process lives; it is renewed all the time.
LEASE = 600.0

#: Seconds to wait for another process that is writing.
PATIENCE = 60.0

_FORM = "sqlite:///FILE, or sqlite:////DIRECTORY/FILE for an absolute path"

#: What tells trials apart.
_KEY = "dataset TEXT NOT NULL, method TEXT NOT NULL, number INTEGER NOT NULL"
_SAME = "dataset = ? AND method = ? AND number = ?"

#: The tables of a new store; the columns of a trial are the fields of its row.
_TABLES = (
    f"CREATE TABLE trials ({', '.join(column.sql for column in COLUMNS.values())}, finished REAL NOT NULL, "
    "PRIMARY KEY (dataset, method, number), CHECK (status IN ('done', 'failed')))",
    f"CREATE TABLE claims ({_KEY}, host TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL, token TEXT NOT NULL, "
    "until REAL NOT NULL, PRIMARY KEY (dataset, method, number))",
    "CREATE TABLE settings (fingerprint TEXT PRIMARY KEY, description TEXT NOT NULL)",
)


def open_store(url: str, *, create: bool = True, read_only: bool = False) -> Store:
    """Return the store at ``url``: ``sqlite:///FILE``.

    Parameters
    ----------
    url : str
    create : bool
        Whether a file that does not exist is made; otherwise that is an error.
    read_only : bool
        Whether to open it for reading only; a file that can't be written always is.
    """
    path = _path(url)
    if path.is_dir() or not path.parent.is_dir():
        what = "a file, not a directory" if path.is_dir() else f"a file in a directory that exists: {path.parent}"
        raise InvalidInputError("store", url, what)
    if not path.exists() and (read_only or not create):
        raise InvalidInputError("store", url, "a study that was begun; `marginwise study run` begins one")
    return Store(path, read_only=read_only or (path.exists() and not os.access(path, os.W_OK)))


class Store:
    """Rows, traces and claims in one SQLite file; open it with :func:`open_store`. Threads may share it."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path, self.read_only = path, read_only
        self._lock = threading.RLock()
        try:
            self._database = _connect(path, read_only)
        except sqlite3.DatabaseError as error:
            raise InvalidInputError("store", str(path), f"an SQLite file that can be opened ({error})") from None
        try:
            self._check_or_create()
        except BaseException:
            self._database.close()
            raise

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
        with self._lock:
            self._database.close()

    def rows(self) -> list[TrialRow]:
        """Return all finished and failed trials without their traces, sorted by data set, method and number.

        What was not recorded yet when a store was made is None.
        """
        names = [name for name in COLUMNS if name != "trace" and name in self._known]
        found = self._select(f"SELECT {', '.join(names)} FROM trials ORDER BY dataset, method, number")
        return [
            TrialRow(**{name: COLUMNS[name].from_sql(value) for name, value in zip(names, values, strict=True)})
            for values in found
        ]

    def trace(self, row: TrialRow) -> Trace | None:
        """Return the columns of the search's trace, None if there is none."""
        found = self._select(f"SELECT trace FROM trials WHERE {_SAME}", _key(row.trial))
        trace: Trace | None = COLUMNS["trace"].from_sql(found[0][0]) if found else None
        return trace

    def claims(self) -> dict[Trial, Owner]:
        """Return the trials that somebody works on, or did when it was killed."""
        found = self._select("SELECT dataset, method, number, host, pid, born, token FROM claims")
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
        with self._writing() as database:
            database.executemany("INSERT OR IGNORE INTO settings VALUES (?, ?)", rows)

    def settled(self, begun: float) -> set[Trial]:
        """Return the trials that are done, or have failed since the time ``begun``."""
        query = "SELECT dataset, method, number FROM trials WHERE status = 'done' OR finished >= ?"
        return {Trial(*values) for values in self._select(query, (begun,))}

    def claim(self, trials: Iterable[Trial], owner: Owner, *, begun: float) -> Trial | None:
        """Claim the first of ``trials`` that is neither done nor in work, and return it; None if there is none.

        Trials that failed before the time ``begun`` are tried again.
        """
        with self._writing() as database:
            settled, taken = self.settled(begun), self._taken(database)
            free = next((trial for trial in trials if trial not in settled and trial not in taken), None)
            if free is not None:
                values = (*_key(free), owner.host, owner.pid, owner.born, owner.token, time.time() + LEASE)
                database.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
            return free

    def renew(self, owner: Owner) -> None:
        """Extend the lease of all that this owner has claimed."""
        with self._writing() as database:
            database.execute("UPDATE claims SET until = ? WHERE token = ?", (time.time() + LEASE, owner.token))

    def release(self, owner: Owner, trials: Iterable[Trial] | None = None) -> None:
        """Give up these claims of the owner, or all."""
        with self._writing() as database:
            if trials is None:
                database.execute("DELETE FROM claims WHERE token = ?", (owner.token,))
            else:
                database.executemany(_DROP_CLAIM, [(*_key(trial), owner.token) for trial in trials])

    def finish(self, row: TrialRow, owner: Owner) -> bool:
        """Write a row and end its claim, in one transaction; False if the claim was lost and nothing is written."""
        with self._writing() as database:
            ended = database.execute(_DROP_CLAIM, (*_key(row.trial), owner.token)).rowcount
            if ended:
                self._insert(database, row)
            return bool(ended)

    def record(self, row: TrialRow) -> None:
        """Write a row that nobody has claimed, in the place of any other of the same trial."""
        with self._writing() as database:
            self._insert(database, row)

    def remove(self, trials: Iterable[Trial]) -> None:
        """Forget the rows of these trials."""
        with self._writing() as database:
            database.executemany(f"DELETE FROM trials WHERE {_SAME}", [_key(trial) for trial in trials])

    def _insert(self, database: sqlite3.Connection, row: TrialRow) -> None:
        values = {name: column.to_sql(getattr(row, name)) for name, column in COLUMNS.items()}
        names, places = ", ".join(values), ", ".join("?" * len(values))
        database.execute(
            f"INSERT OR REPLACE INTO trials ({names}, finished) VALUES ({places}, ?)", (*values.values(), time.time())
        )

    def _description(self, fingerprint: str) -> dict[str, Any]:
        found = self._select("SELECT description FROM settings WHERE fingerprint = ?", (fingerprint,))
        return json.loads(found[0][0]) if found else {}

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

    def _select(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction that no other process can write beside."""
        if self.read_only:
            raise MarginwiseError(f"{self.path} can't be written; copy it, or make it writable")
        with self._lock:
            try:
                self._begin()
                yield self._database
                self._database.execute("COMMIT")
            except BaseException:  # Ctrl-C may come at any moment
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def _begin(self) -> None:
        try:
            self._database.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise MarginwiseError(f"{self.path} can't be written: {error}") from None

    def _check_or_create(self) -> None:
        """Make the tables in a new file; refuse files of others, and of a later version."""
        try:
            tables = self._select("SELECT count(*) FROM sqlite_master")[0][0]
        except sqlite3.DatabaseError as error:
            raise InvalidInputError("store", str(self.path), f"an SQLite file ({error})") from None
        if not tables and not self.read_only:
            self._database.execute("PRAGMA journal_mode = WAL")
            with self._writing() as database:
                if not database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:  # nobody was quicker
                    for statement in _TABLES:
                        database.execute(statement)
                    database.execute(f"PRAGMA application_id = {APPLICATION}")
                    database.execute(f"PRAGMA user_version = {SCHEMA}")
        (application,), (schema,) = (self._select(f"PRAGMA {name}")[0] for name in ("application_id", "user_version"))
        if application != APPLICATION:
            raise InvalidInputError(
                "store", str(self.path), "a study of marginwise; this SQLite file is something else"
            )
        if schema != SCHEMA:
            raise InvalidInputError(
                "store",
                str(self.path),
                f"a study in layout {SCHEMA}; it is in {schema}: use the marginwise that made it",
            )
        self._known = self._columns()
        if not self.read_only and not COLUMNS.keys() <= self._known:
            self._add_columns()

    def _columns(self) -> set[str]:
        """Return the columns that this file has."""
        return {name for (name,) in self._select("SELECT name FROM pragma_table_info('trials')")}

    def _add_columns(self) -> None:
        """Give a file from before the columns that were declared since."""
        with self._writing() as database:
            for name in COLUMNS.keys() - self._columns():  # as they are now: another process may have been quicker
                database.execute(f"ALTER TABLE trials ADD COLUMN {COLUMNS[name].sql}")
        self._known = self._columns()


_DROP_CLAIM = f"DELETE FROM claims WHERE {_SAME} AND token = ?"


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    if read_only:
        # Without a log beside it the file is complete, and can be read even where no file may be made.
        whole = not path.with_name(path.name + "-wal").exists()
        address += "?mode=ro" + ("&immutable=1" if whole else "")
    database = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA synchronous = FULL")
    return database


def _path(url: str) -> Path:
    scheme, separator, rest = str(url).partition(":///")
    if not separator or scheme != "sqlite" or not rest or rest == ":memory:":
        raise InvalidInputError("store", url, _FORM)
    return Path(rest).expanduser()


def _key(trial: Trial) -> tuple[str, str, int]:
    return trial.dataset, trial.method, trial.number
