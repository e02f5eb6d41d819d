"""The SQLite file of a study: made, checked, read and written, with every trouble told in words."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.study.record import COLUMNS

#: Marks the file as a study ("mwst"), and the layout of its tables.
APPLICATION, SCHEMA = 0x6D777374, 1

#: Seconds to wait for another process that is writing.
PATIENCE = 60.0

#: What tells trials apart.
_KEY = "dataset TEXT NOT NULL, method TEXT NOT NULL, number INTEGER NOT NULL"

#: The tables of a new file; the columns of a trial are the fields of its row, when it was written, and its seal.
_TABLES = {
    "trials": f"{', '.join(column.sql for column in COLUMNS.values())}, finished REAL NOT NULL, seal TEXT, "
    "PRIMARY KEY (dataset, method, number), CHECK (status IN ('done', 'failed'))",
    "claims": f"{_KEY}, host TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL, token TEXT NOT NULL, "
    "until REAL NOT NULL, PRIMARY KEY (dataset, method, number)",
    "settings": "fingerprint TEXT PRIMARY KEY, description TEXT NOT NULL",
}

#: Columns of trials that files from before may lack, and how they are declared when they are added.
_LATER = {column.name: column.sql for column in COLUMNS.values() if not column.required} | {"seal": "seal TEXT"}


class Database:
    """A connection to the file. Threads may share it."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path, self.read_only = path, read_only
        self._lock = threading.RLock()
        try:
            self.connection = _connect(path, read_only)
        except sqlite3.Error as error:
            raise self._refused(f"an SQLite file that can be opened ({error})") from None
        try:
            self._check_or_create()
        except BaseException:
            self.connection.close()
            raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self.connection.close()

    def select(self, query: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """Return what a query finds."""
        with self._lock, self._explained():
            return self.connection.execute(query, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in a transaction during which no other process can write."""
        if self.read_only:
            raise MarginwiseError(f"{self.path} can't be written; copy it, or make it writable")
        with self._lock, self._explained():
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:  # Ctrl-C may come at any moment
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def columns(self, table: str = "trials") -> set[str]:
        """Return the columns that a table of this file has."""
        return {name for (name,) in self.select("SELECT name FROM pragma_table_info(?)", (table,))}

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what a full disk, a lock or damage mean."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorname", "")
            if code.startswith(_TROUBLE):
                raise MarginwiseError(
                    f"{self.path} can't be read or written: {error}. What was finished is kept: mend that, and the "
                    "same command goes on"
                ) from None
            raise self.damaged(str(error)) from None

    def damaged(self, how: str) -> MarginwiseError:
        """Return the error that says so."""
        return MarginwiseError(
            f"{self.path} was damaged ({how}): take a copy from before, or let SQLite save what it can "
            "(sqlite3 FILE .recover)"
        )

    def _refused(self, wanted: str) -> InvalidInputError:
        return InvalidInputError("store", str(self.path), wanted)

    def _check_or_create(self) -> None:
        """Make the tables in a new file; refuse files of others, of a later version, and damaged ones."""
        try:
            tables = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise self._refused(f"an SQLite file ({error})") from None
        if not tables and not self.read_only:
            with self._explained():
                self.connection.execute("PRAGMA journal_mode = WAL")
            with self.writing() as connection:
                if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:  # nobody was quicker
                    for name, declared in _TABLES.items():
                        connection.execute(f"CREATE TABLE {name} ({declared})")
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    connection.execute(f"PRAGMA user_version = {SCHEMA}")
        (application,), (schema,) = (self.select(f"PRAGMA {name}")[0] for name in ("application_id", "user_version"))
        if application != APPLICATION:
            raise self._refused("a study of marginwise; this SQLite file is something else")
        if schema != SCHEMA:
            raise self._refused(f"a study in layout {SCHEMA}; it is in {schema}: use the marginwise that made it")
        self._check_whole()

    def _check_whole(self) -> None:
        """Make sure that all pages and tables are there; add the columns that were declared since."""
        found = self.select("PRAGMA quick_check(1)")[0][0]
        if found != "ok":
            raise self.damaged(" ".join(str(found).split()))
        for name in _TABLES:
            needed = {declared.split()[0] for declared in _TABLES[name].split(", PRIMARY KEY (")[0].split(", ")}
            missing = sorted(needed - self.columns(name) - (_LATER.keys() if name == "trials" else set()))
            if missing:
                raise self.damaged(f"the table {name} lacks {', '.join(missing)}")
        if not self.read_only and not _LATER.keys() <= self.columns():
            with self.writing() as connection:
                for name in _LATER.keys() - self.columns():  # as they are now: another process may have been quicker
                    connection.execute(f"ALTER TABLE trials ADD COLUMN {_LATER[name]}")


#: What SQLite calls trouble that is no damage to the file.
_TROUBLE = (
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_READONLY",
    "SQLITE_CANTOPEN",
    "SQLITE_PERM",
    "SQLITE_NOMEM",
)


def _connect(path: Path, read_only: bool) -> sqlite3.Connection:
    address = path.absolute().as_uri()
    if read_only:
        # Without a log next to it the file is complete, and can be read even where no file may be made.
        whole = not path.with_name(path.name + "-wal").exists()
        address += "?mode=ro" + ("&immutable=1" if whole else "")
    connection = sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA trusted_schema = OFF")  # views and triggers of others run no functions
    except BaseException:
        connection.close()
        raise
    return connection
