"""Stores and checkpoints that were damaged: told in words, or gone on with; no row is lost or changed in silence."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trials import damaged, pick, run_cases

import toys
from marginwise.search.checkpoint import signed_line
from marginwise.search.trace import Tuning
from marginwise.study import open_store
from marginwise.study.record import TrialRow
from marginwise.study.report import write_report
from marginwise.tuning import tune
from zoo import blobs

ROWS = [
    TrialRow(
        dataset=dataset,
        method=method,
        number=number,
        seed=number,
        status="done",
        message="converged; C is at its upper bound",
        versions={"numpy": "2.0"},
        seconds=1.5 + number,
        evaluations=70,
        hyperparameters=(1.0, 0.3, 1e-4, 3.0),
        criterion_value=-1 / 3,
        test_error=0.1 + 0.01 * number,
        extra={"support_fraction": 0.7},
        fingerprint="abc",
        trace={"evaluation": [0.0, 1.0], "value": [-1.0, -0.5]},
    )
    for dataset in ("one", "two")
    for method in ("this", "that")
    for number in range(3)
]
PLAIN = [replace(row, trace=None) for row in ROWS]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@cache
def whole_store(folder: Path) -> bytes:
    with open_store(f"sqlite:///{folder / 'whole.sqlite'}") as store:
        store.describe({"abc": {"seed": 1, "about": {"inputs": 3, "training": 5, "test": 7}}})
        for row in ROWS:
            store.record(row)
    return (folder / "whole.sqlite").read_bytes()


def told_or_read(folder: Path, rng: np.random.Generator) -> str:
    path = folder / "store.sqlite"
    for left in folder.glob("store.sqlite*"):
        left.unlink()
    content = whole_store(folder)
    kind = pick(rng, "bytes", "bytes", "cells", "schema")
    path.write_bytes(damaged(rng, content) if kind == "bytes" else content)
    if kind != "bytes":
        change_cells(rng, path) if kind == "cells" else change_schema(rng, path)
    with open_store(f"sqlite:///{path}", read_only=bool(rng.random() < 0.5)) as store:
        rows = store.rows()
        for row in rows:
            assert row in PLAIN, "a row was changed, and nobody says so"
            assert (store.trace(row) or ROWS[0].trace) == ROWS[0].trace
        assert len(rows) == len(PLAIN) or kind == "schema", "rows were lost, and nobody says so"
        store.claims()
        store.settled(0.0)
        if rng.random() < 0.1:
            write_report(store, folder / "report", formats=("svg",))
    return "read"


def change_cells(rng: np.random.Generator, path: Path) -> None:
    database = sqlite3.connect(path)
    table, column = pick(
        rng,
        *(("trials", name) for name in ("extra", "hyperparameters", "versions", "seconds", "test_error", "seal")),
        *(("trials", name) for name in ("trace", "message", "status", "dataset", "number", "evaluations")),
        *(("settings", "description"), ("claims", "pid")),
    )
    value = pick(
        rng, None, 7, -1.5, "", "{", "[]", "[1]", "null", '{"a": []}', b"\xff\x00", b"", "é", 2**62, "x" * 10**5
    )
    with contextlib.suppress(sqlite3.Error):  # what its constraints forbid
        database.execute(f"UPDATE {table} SET {column} = ?", (value,))
        database.commit()
    database.close()


def change_schema(rng: np.random.Generator, path: Path) -> None:
    database = sqlite3.connect(path)
    statements = (
        *(f"DROP TABLE {name}" for name in ("trials", "claims", "settings")),
        *(f"ALTER TABLE trials RENAME COLUMN {name} TO other" for name in ("dataset", "trace", "extra", "seal")),
        *(f"ALTER TABLE trials DROP COLUMN {name}" for name in ("trace", "extra", "seal", "message", "finished")),
        "PRAGMA user_version = 99",
        "PRAGMA application_id = 1",
        "DELETE FROM trials",
        "CREATE TRIGGER t BEFORE INSERT ON claims BEGIN SELECT RAISE(ABORT, 'no'); END",
        "ALTER TABLE claims RENAME TO others",
    )
    database.execute(pick(rng, *statements))
    database.commit()
    database.close()


def test_damaged_stores(folder: Path, full: bool) -> None:
    found = run_cases(500 if full else 60, lambda rng: told_or_read(folder, rng))
    assert found["refused"] > 0.2 * found.total()
    assert found["read"] > 0


PROBLEM = blobs(12, 2)


def search(directory: Path | None, most: int = 30) -> Tuning:
    options: dict[str, Any] = {"search": "random-walk", "random_state": 3, "max_evaluations": most}
    return tune(PROBLEM.X, PROBLEM.y, toys.Hysteresis(), checkpoint=directory, **options)


@cache
def undisturbed() -> np.ndarray:
    return search(None).trace.to_arrays()["score"]


def ended_or_refused(folder: Path, rng: np.random.Generator) -> str:
    """Whatever happens to a checkpoint: the search ends as if it had never stopped, or its checkpoint is refused."""
    directory = folder / "checkpoint"
    shutil.rmtree(directory, ignore_errors=True)
    search(directory, int(rng.integers(1, 25)))
    path = pick(rng, *sorted(directory.iterdir()))
    kind = pick(rng, "bytes", "bytes", "lost", "forged")
    if kind == "bytes":
        path.write_bytes(damaged(rng, path.read_bytes()))
    elif kind == "lost":
        path.unlink()
    else:
        log = directory / "run-0.jsonl"
        lines = log.read_bytes().splitlines(keepends=True)
        place = int(rng.integers(len(lines)))
        entry = json.loads(lines[place])
        del entry["check"]
        key = pick(rng, *entry)
        if key in ("value", "score", "gradient"):  # another number is another search, which nobody can tell
            key = "position"
        entry[key] = pick(rng, None, 1, -1.5, "x", [], {}, [1], True, "0" * 16)
        lines[place] = signed_line(entry)
        log.write_bytes(b"".join(lines))
    found = search(directory).trace.to_arrays()["score"]
    np.testing.assert_array_equal(found, undisturbed())
    return "ended"


@pytest.mark.slow
def test_damaged_checkpoints(folder: Path, full: bool) -> None:
    found = run_cases(500 if full else 40, lambda rng: ended_or_refused(folder, rng))
    assert found["ended"] > 0.3 * found.total()
    assert found["refused"] > 0
