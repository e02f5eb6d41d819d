"""The store: rows come back as they were, claims are exclusive, and a kill at any moment leaves whole rows only."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
import zlib
from dataclasses import fields, replace

import numpy as np
import pytest

from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.study import Effort, Plan, Walk, benchmarks, run_study
from marginwise.study import database as database_module
from marginwise.study.owners import Owner
from marginwise.study.plan import Trial
from marginwise.study.record import COLUMNS, TrialRow
from marginwise.study.store import LEASE, open_store
from marginwise.study.trial import TrialTask

TRIALS = [Trial("crabs", "gacv-walk", number) for number in range(4)]
ROW = TrialRow(
    dataset="crabs",
    method="gacv-walk",
    number=1,
    seed=2**32 - 1,
    status="done",
    message="converged",
    versions={"numpy": "2.0"},
    seconds=1.5,
    evaluations=70,
    hyperparameters=(1.0, 0.1 + 0.2, 1e-4, 3.0),
    criterion_value=-1 / 3,
    test_error=0.1,
    extra={"support_fraction": 0.7},
    fingerprint="abc",
)


def url(path):
    return f"sqlite:///{path / 'study.sqlite'}"


@pytest.fixture
def store(tmp_path):
    with open_store(url(tmp_path)) as opened:
        yield opened


def dead_process() -> Owner:
    """Return an owner whose process has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return replace(Owner.this_process(), pid=process.pid, token="dead")


def test_rows_come_back_as_they_were_and_in_order(store, tmp_path):
    failed = TrialRow("crabs", "gacv-walk", 0, 1, "failed", message="no luck", error_name="ArithmeticError")
    other = TrialRow("crabs", "a-method", 7, 1, "done")
    for row in (ROW, other, failed):
        store.record(row)
    assert store.rows() == [other, failed, ROW]
    with open_store(url(tmp_path), create=False, read_only=True) as again:
        assert again.rows() == [other, failed, ROW]


def test_traces_come_back_to_seven_digits(store):
    rng = np.random.default_rng(0)
    trace = {"value": rng.normal(size=50).tolist(), "test_error": [float("nan"), 0.0] * 25}
    store.record(replace(ROW, trace=trace))
    found = store.trace(ROW)
    np.testing.assert_allclose(found["value"], trace["value"], rtol=1e-6)
    np.testing.assert_array_equal(found["test_error"], trace["test_error"])
    assert store.trace(replace(ROW, number=2)) is None


def test_a_row_is_done_or_failed():
    with pytest.raises(InvalidInputError, match="status is 'perhaps'"):
        replace(ROW, status="perhaps")


@pytest.mark.parametrize("wrong", ["study.sqlite", "postgresql:///x", "sqlite://x", "sqlite:///", "sqlite:///:memory:"])
def test_other_addresses_are_refused(wrong):
    with pytest.raises(InvalidInputError, match="expected sqlite:///FILE"):
        open_store(wrong)


def test_what_is_no_study_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="a file in a directory that exists"):
        open_store(f"sqlite:///{tmp_path}/nowhere/study.sqlite")
    with pytest.raises(InvalidInputError, match="not a directory"):
        open_store(f"sqlite:///{tmp_path}")
    with pytest.raises(InvalidInputError, match="a study that was begun"):
        open_store(url(tmp_path), create=False)
    text = tmp_path / "text.sqlite"
    text.write_text("not a database, but long enough to look like one" * 30)
    with pytest.raises(InvalidInputError, match="an SQLite file"):
        open_store(f"sqlite:///{text}")
    assert text.read_text().startswith("not a database")
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE things (x)")
    database.close()
    with pytest.raises(InvalidInputError, match="something else"):
        open_store(f"sqlite:///{other}")


def test_a_later_layout_is_refused(store, tmp_path):
    store.close()
    with sqlite3.connect(store.path) as database:
        database.execute(f"PRAGMA user_version = {database_module.SCHEMA + 1}")
    database.close()
    with pytest.raises(InvalidInputError, match="use the marginwise that made it"):
        open_store(url(tmp_path))


def test_a_store_that_is_only_read_can_not_be_written(store, tmp_path):
    store.record(ROW)
    with open_store(url(tmp_path), read_only=True) as reader:
        with pytest.raises(MarginwiseError, match="can't be written"):
            reader.record(ROW)
        store.record(replace(ROW, number=2))  # which the reader sees
        assert [row.number for row in reader.rows()] == [1, 2]


def test_a_file_without_permission_is_only_read(store, tmp_path, monkeypatch):
    store.record(ROW)
    store.close()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # permissions do not bind root
    with open_store(url(tmp_path)) as reader:
        assert reader.read_only
        assert reader.rows() == [ROW]


def test_a_trial_is_claimed_once_and_finished_by_its_owner_only(store, tmp_path):
    mine, yours = Owner.this_process(), Owner.this_process()
    with open_store(url(tmp_path)) as second:
        assert store.claim(TRIALS, mine, begun=0.0) == TRIALS[0]
        assert second.claim(TRIALS, yours, begun=0.0) == TRIALS[1]
        assert not store.finish(ROW, mine)
        assert store.rows() == []
        assert second.finish(ROW, yours)
        assert store.rows() == [ROW]
        assert store.claims() == {TRIALS[0]: mine}
        store.release(mine)
        assert second.claim(TRIALS, yours, begun=0.0) == TRIALS[0]
        assert [second.claim(TRIALS, yours, begun=0.0) for _ in range(3)] == [TRIALS[2], TRIALS[3], None]


def test_failed_trials_are_tried_again_by_the_next_run_only(store):
    owner = Owner.this_process()
    begun = time.time()
    failed = replace(ROW, number=0, status="failed", error_name="ArithmeticError")
    assert store.claim(TRIALS[:1], owner, begun=begun) == TRIALS[0]
    assert store.finish(failed, owner)
    assert store.claim(TRIALS[:1], owner, begun=begun) is None
    assert store.claim(TRIALS[:1], owner, begun=time.time() + 1.0) == TRIALS[0]
    assert store.rows() == [failed]  # until the new row is there
    assert store.finish(replace(ROW, number=0), owner)
    assert [row.status for row in store.rows()] == ["done"]


def test_claims_of_the_dead_are_taken_over(store):
    me = Owner.this_process()
    assert store.claim(TRIALS[:1], dead_process(), begun=0.0) == TRIALS[0]
    assert store.claim(TRIALS[:1], me, begun=0.0) == TRIALS[0]
    if sys.platform == "linux":  # a process number that is in use again
        assert store.claim(TRIALS[1:2], replace(me, born="1", token="before"), begun=0.0) == TRIALS[1]
        assert store.claim(TRIALS[1:2], me, begun=0.0) == TRIALS[1]
    assert store.claim(TRIALS[:2], replace(me, token="another run"), begun=0.0) is None


def test_claims_from_elsewhere_hold_as_long_as_their_lease(store, monkeypatch):
    me, far = Owner.this_process(), replace(Owner.this_process(), host="far away", token="far")
    assert far.lives() is None
    assert store.claim(TRIALS[:1], far, begun=0.0) == TRIALS[0]
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 0.9 * LEASE)
    assert store.claim(TRIALS[:1], me, begun=0.0) is None
    store.renew(far)
    monkeypatch.setattr(time, "time", lambda: now + 1.8 * LEASE)
    assert store.claim(TRIALS[:1], me, begun=0.0) is None
    monkeypatch.setattr(time, "time", lambda: now + 2.0 * LEASE)
    assert store.claim(TRIALS[:1], me, begun=0.0) == TRIALS[0]
    assert not store.finish(replace(ROW, number=0), far)  # it came too late


@pytest.mark.slow
def test_a_process_killed_in_the_middle_of_a_write_leaves_nothing_of_it(store, tmp_path):
    store.record(ROW)
    script = """
        import os, signal, sys
        from dataclasses import replace
        from marginwise.study.owners import Owner
        from marginwise.study.plan import Trial
        from marginwise.study.store import open_store

        store, owner = open_store(sys.argv[1]), Owner.this_process()
        row = store.rows()[0]
        assert store.claim([Trial("crabs", "gacv-walk", 2)], owner, begun=0.0)
        store._database.connection.execute("PRAGMA cache_size = 1")  # pages go to the file before the transaction ends
        with store._database.writing() as database:
            database.execute("DELETE FROM claims")
            store._insert(database, replace(row, number=2, trace={"value": [i / 7 for i in range(100_000)]}))
            os.kill(os.getpid(), signal.SIGKILL)
    """
    process = subprocess.run([sys.executable, "-c", textwrap.dedent(script), url(tmp_path)], check=False)
    assert process.returncode == -signal.SIGKILL
    assert store.path.with_name(store.path.name + "-wal").stat().st_size > 100_000
    with open_store(url(tmp_path)) as after:
        assert after.rows() == [ROW]
        assert list(after.claims()) == [TRIALS[2]]
        assert after.claim(TRIALS[2:3], Owner.this_process(), begun=0.0) == TRIALS[2]


def test_a_log_cut_off_anywhere_holds_whole_rows_only(store, tmp_path, rng):
    for number in range(5):
        store.record(replace(ROW, number=number, trace={"value": rng.normal(size=300).tolist()}))
    log = store.path.with_name(store.path.name + "-wal")
    size = log.stat().st_size
    counts = set()
    for place in sorted(rng.integers(0, size, size=25)):
        copy = tmp_path / f"cut-{place}.sqlite"
        shutil.copy(store.path, copy)
        copy.with_name(copy.name + "-wal").write_bytes(log.read_bytes()[:place])
        with open_store(f"sqlite:///{copy}") as cut:
            rows = cut.rows()
            assert rows == [replace(ROW, number=number) for number in range(len(rows))]
            assert all(len(cut.trace(row)["value"]) == 300 for row in rows)
            counts.add(len(rows))
    assert len(counts) >= 4  # cuts fell into several rows


#: The tables as they were written before columns were declared, word by word.
_BEFORE = """
CREATE TABLE trials (
    dataset TEXT NOT NULL, method TEXT NOT NULL, number INTEGER NOT NULL, seed INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')), message TEXT NOT NULL, error_name TEXT NOT NULL,
    versions TEXT NOT NULL, seconds REAL NOT NULL, evaluations INTEGER, hyperparameters TEXT, criterion_value REAL,
    test_error REAL, posterior_error REAL, log_loss REAL, oracle_error REAL, early_error REAL, extra TEXT NOT NULL,
    fingerprint TEXT NOT NULL, finished REAL NOT NULL, trace BLOB,
    PRIMARY KEY (dataset, method, number)
);
CREATE TABLE claims (
    dataset TEXT NOT NULL, method TEXT NOT NULL, number INTEGER NOT NULL,
    host TEXT NOT NULL, pid INTEGER NOT NULL, born TEXT NOT NULL, token TEXT NOT NULL, until REAL NOT NULL,
    PRIMARY KEY (dataset, method, number)
);
CREATE TABLE settings (fingerprint TEXT PRIMARY KEY, description TEXT NOT NULL);
PRAGMA application_id = 1836544884;
PRAGMA user_version = 1;
"""


def _written_before(path, settings: str = "{}") -> None:
    """Write a store as it was before, with one row."""
    database = sqlite3.connect(path)
    database.executescript(_BEFORE)
    database.execute(
        "INSERT INTO trials VALUES ('crabs', 'gacv-walk', 0, 7, 'done', 'converged', '', '{\"numpy\": \"2.0\"}', 1.5, "
        "70, '[1.0, 2.0, 0.1, 3.0]', -0.5, 0.1, NULL, NULL, NULL, NULL, '{\"optima\": 2.0}', 'old', 1.0, ?)",
        (zlib.compress(b'{"value":[1.5]}'),),
    )
    database.execute("INSERT INTO settings VALUES ('old', ?)", (settings,))
    database.commit()
    database.close()


def test_a_store_from_before_is_read_and_continued(tmp_path):
    plan = Plan("before", benchmarks("crabs"), {"gacv-walk": Walk("gacv", "linear")}, effort=Effort(train_rows=20))
    task = TrialTask(plan.enumerate()[0], plan.methods["gacv-walk"], plan.datasets["crabs"], plan.effort)
    settings = json.dumps(task.settings()).replace("marginwise.study.plan.Effort", "marginwise.study.declare.Effort")
    assert "declare" in settings
    _written_before(tmp_path / "study.sqlite", settings)
    with open_store(url(tmp_path)) as before:
        (row,) = before.rows()
        assert (row.hyperparameters, row.extra, row.early_error) == ((1.0, 2.0, 0.1, 3.0), {"optima": 2.0}, None)
        assert before.trace(row) == {"value": [1.5]}
        assert before.about(row) == {}
        assert run_study(plan, before, n_jobs=1).run == 0
        before.record(replace(ROW, trace={"value": [2.0]}))
        assert before.rows() == [row, ROW]


def test_a_column_that_was_declared_since_is_added(tmp_path):
    path = tmp_path / "study.sqlite"
    _written_before(path)
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE trials DROP COLUMN early_error")
        database.execute("ALTER TABLE trials DROP COLUMN error_name")
    database.close()
    with open_store(url(tmp_path), read_only=True) as reader:
        assert (reader.rows()[0].early_error, reader.rows()[0].error_name) == (None, "")
    with open_store(url(tmp_path)) as store, open_store(url(tmp_path)):
        store.record(replace(ROW, early_error=0.25))
        assert [(row.early_error, row.error_name) for row in store.rows()] == [(None, ""), (0.25, "")]


def test_columns_are_the_fields_of_a_row(store):
    names = {name for (name,) in store._database.select("SELECT name FROM pragma_table_info('trials')")}
    assert names == {field.name for field in fields(TrialRow)} | {"finished", "seal"}
    kinds = {name: column.sql for name, column in COLUMNS.items()}
    assert kinds["number"] == "number INTEGER NOT NULL"
    assert kinds["seconds"] == "seconds REAL NOT NULL DEFAULT 0.0"
    assert kinds["log_loss"] == "log_loss REAL"
    assert kinds["extra"] == "extra TEXT NOT NULL DEFAULT '{}'"
    assert kinds["hyperparameters"] == "hyperparameters TEXT"
    assert kinds["trace"] == "trace BLOB"


def damage(path, *statements: str) -> None:
    """Change a store behind its back."""
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE trials SET extra = '{\"support_fraction\": 0.7'",
        "UPDATE trials SET extra = '[1]'",
        "UPDATE trials SET hyperparameters = '[1.0, 0.3, 1e-4]'",
        "UPDATE trials SET seconds = 'long'",
        "UPDATE trials SET test_error = 0.01",
        "UPDATE trials SET message = x'ff00'",
        "UPDATE trials SET dataset = 7",
        "UPDATE trials SET seal = 'abc'",
    ],
)
def test_a_damaged_row_is_said_and_can_be_redone(store, tmp_path, statement):
    store.record(ROW)
    store.record(replace(ROW, number=2))
    store.close()
    damage(store.path, statement + " WHERE number = 1")
    with open_store(url(tmp_path)) as opened:
        with pytest.raises(MarginwiseError, match=r"was damaged \(1 rows, the first gacv-walk on .*--redo"):
            opened.rows()
        opened.remove(opened.damaged())
        assert opened.rows() == [replace(ROW, number=2)]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP TABLE claims", "the table claims lacks born, dataset"),
        ("DROP TABLE settings", "the table settings lacks"),
        ("DROP TABLE trials", "the table trials lacks dataset, finished, method, number, seed, status"),
        ("ALTER TABLE trials DROP COLUMN finished", "the table trials lacks finished"),
    ],
)
def test_missing_tables_are_said(store, tmp_path, statement, said):
    store.close()
    damage(store.path, statement)
    with pytest.raises(MarginwiseError, match=rf"was damaged \({said}"):
        open_store(url(tmp_path))


@pytest.mark.parametrize(
    "trace",
    ["'text'", "x'00'", "zeroblob(100)", f"x'{zlib.compress(b'[1]').hex()}'", f"x'{zlib.compress(b'{').hex()}'"],
)
def test_a_damaged_trace_is_said(store, tmp_path, trace):
    store.record(replace(ROW, trace={"value": [1.0]}))
    damage(store.path, f"UPDATE trials SET trace = {trace}")
    with pytest.raises(MarginwiseError, match=r"was damaged \(the trace of gacv-walk on crabs"):
        store.trace(ROW)


def test_a_trace_that_unpacks_to_far_too_much_is_refused_and_not_unpacked(store, monkeypatch):
    monkeypatch.setattr("marginwise.study.record._LONGEST_TRACE", 1000)
    store.record(replace(ROW, trace={"value": [0.0] * 1000}))
    with pytest.raises(MarginwiseError, match="cut off, or is too long"):
        store.trace(ROW)


@pytest.mark.parametrize("description", ["{", "7", "[]"])
def test_damaged_settings_are_said(store, description):
    store.describe({"abc": {"seed": 1}})
    damage(store.path, f"UPDATE settings SET description = '{description}'")
    with pytest.raises(MarginwiseError, match=r"was damaged \(the settings abc"):
        store.settings("abc")


def test_a_full_disk_is_said_and_loses_nothing(store, tmp_path):
    store.record(ROW)
    pages = store._database.select("PRAGMA page_count")[0][0]
    store._database.connection.execute(f"PRAGMA max_page_count = {pages}")  # SQLite answers as on a full disk
    large = replace(ROW, number=2, message="x" * 10**5)
    with pytest.raises(
        MarginwiseError, match=r"full\. What was finished is kept: mend that, and the same command goes on"
    ):
        store.record(large)
    store._database.connection.execute("PRAGMA max_page_count = 100000")
    store.record(large)
    assert store.rows() == [ROW, large]


def test_what_sqlite_has_no_word_for_is_kept(store):
    store.record(replace(ROW, message="no \udcff text", test_error=float("nan"), seconds=2))
    assert store.rows() == [replace(ROW, message="no \\udcff text", test_error=None, seconds=2.0)]
