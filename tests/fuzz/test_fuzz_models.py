"""Model files that were damaged, or made on purpose with a digest that fits: refused in words, or they predict."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from trials import damaged, pick, run_cases

import zoo
from marginwise import MarginSVC, TunedSVC, load_model, save_model
from marginwise.cli.model_file import read_model
from marginwise.saving import FORMAT

PROBLEM = zoo.blobs(20, 2)


@cache
def saved(folder: Path, kind: int) -> bytes:
    """Return a model file: of a TunedSVC with two or three classes, or of a MarginSVC."""
    y = PROBLEM.y if kind != 1 else np.arange(20) % 3
    model = MarginSVC() if kind == 2 else TunedSVC(0.0, max_evaluations=20, random_state=0)
    model.fit(PROBLEM.X, y)
    if kind == 0:
        model.table_ = {"columns": ["a", "b"], "categories": {}, "target": "y"}
    save_model(model, folder / "whole")
    return (folder / "whole").read_bytes()


def forged(rng: np.random.Generator, content: bytes) -> bytes:
    """Return a file with something changed in its archive, and a digest that fits."""
    archive = content.split(b"\n", 2)[2]
    if rng.random() < 0.2:
        archive = damaged(rng, archive)
    else:
        buffer = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
            chosen = pick(rng, "schema.json", "schema.json", *old.namelist())
            for name in old.namelist():
                entry = old.read(name)
                if name == chosen:
                    entry = changed_schema(rng, entry) if name == "schema.json" else changed_array(rng, entry)
                new.writestr(name, entry)
        archive = buffer.getvalue()
    rest = b"{}\n" + archive
    version = pick(rng, FORMAT, FORMAT, FORMAT, 1)
    return f"marginwise-model {version} {hashlib.sha256(rest).hexdigest()}\n".encode() + rest


def changed_array(rng: np.random.Generator, content: bytes) -> bytes:
    if rng.random() < 0.3:
        return damaged(rng, content)
    array, written = np.load(io.BytesIO(content)), io.BytesIO()
    changes = (
        lambda: array[:-1] if array.ndim else array,
        lambda: array.reshape(-1)[: array.size // 2],
        lambda: array.T if array.ndim > 1 else array[:, None],
        lambda: np.concatenate([array, array]) if array.ndim else array,
        lambda: np.full_like(array, pick(rng, 0, 1, 10**6)) if array.dtype.kind in "iuf" else array,
        lambda: np.full(array.shape, pick(rng, np.nan, np.inf, -1e308)),
        lambda: array.astype(pick(rng, "<i2", "<f4", "<c16", "?")),
        lambda: np.empty((0, 0)),
    )
    np.save(written, pick(rng, *changes)())
    return written.getvalue()


def changed_schema(rng: np.random.Generator, content: bytes) -> bytes:
    """Change one thing somewhere in the tree."""
    tree = json.loads(content)
    places: list[tuple[object, object]] = []

    def walk(node: object) -> None:
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in items:
            places.append((node, key))
            walk(value)

    walk(tree)
    for _ in range(pick(rng, 1, 1, 2)):
        node, key = places[int(rng.integers(len(places)))]
        if rng.random() < 0.2 and isinstance(node, dict) and key in node:
            del node[key]
        else:
            try:
                node[key] = pick(rng, None, -1, 10**12, 2.5, "x", [], {}, True, "os.system", [[1]], "1e400", "builtins")
            except (KeyError, IndexError):
                continue
    return json.dumps(tree).encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


def loaded_or_refused(folder: Path, rng: np.random.Generator) -> str:
    content = saved(folder, int(rng.integers(3)))
    path = folder / "changed"
    path.write_bytes(damaged(rng, content) if rng.random() < 0.3 else forged(rng, content))
    model, schema = read_model(path) if rng.random() < 0.5 else (load_model(path), None)
    if schema is not None:
        assert all(isinstance(name, str) for name in schema.columns)
    found = model.decision_function(PROBLEM.X)
    assert np.isfinite(found).all()
    assert np.isin(model.predict(PROBLEM.X), model.classes_).all()
    return "loaded"


def test_changed_models(folder: Path, full: bool) -> None:
    found = run_cases(1_000 if full else 60, lambda rng: loaded_or_refused(folder, rng))
    assert found["refused"] > 0.3 * found.total()
    assert found["loaded"] > 0  # parts that predictions don't need
