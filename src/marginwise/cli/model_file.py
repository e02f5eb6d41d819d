"""Model files of the command line: the model, what the table it was trained on looked like, and which rows it had."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise.cli.training_rows import TrainingRows
from marginwise.datasets import Schema, Table
from marginwise.datasets.encoding import as_labels
from marginwise.errors import InvalidInputError, ModelFileError
from marginwise.saving import load_model, save_model
from marginwise.tables import Column
from marginwise.tables.reading import CATEGORY, NUMBER


def write_model(model: Any, table: Table, path: Path) -> None:
    """Write a model with the columns and the rows that it was trained on, as its attribute ``table_``."""
    rows = TrainingRows.of(table.schema.cells(table.X)[0])
    model.table_ = {
        "schema": table.schema,
        "row_hashes": rows.hashes,
        "all_rows": rows.complete,
        "row_names": np.array(table.row_names),
        "row_numbers": table.row_numbers,
    }
    save_model(model, path)


def write_updated(model: Any, path: Path, cells: Array | None, names: Sequence[str]) -> None:
    """Write a model whose rows have changed; what its file says of them follows: added cells, and what they are called.

    A model that was saved from Python says nothing of them.
    """
    described = getattr(model, "table_", None)
    if described is not None and cells is not None:
        rows = TrainingRows(described["row_hashes"], described["all_rows"]).joined(TrainingRows.of(cells))
        called, numbers = described["row_names"], described["row_numbers"]
        if len(called):
            called = np.append(called, names if len(names) == len(cells) else [""] * len(cells))
        model.table_ = {
            **described,
            "row_hashes": rows.hashes,
            "all_rows": rows.complete,
            "row_names": called,
            "row_numbers": np.append(numbers, np.max(numbers, initial=0) + 1 + np.arange(len(cells))),
        }
    save_model(model, path)


def given_numbers(model: Any) -> list[int]:
    """Return the numbers of the rows that a model was given, as reports count them."""
    known = (getattr(model, "table_", None) or {}).get("row_numbers", ())
    return list(map(int, known)) if len(known) else list(range(1, len(model.row_groups_) + 1))


def given_places(model: Any, numbers: Sequence[int]) -> list[int]:
    """Return the places, from 0, of rows with these numbers, as reports count them."""
    places = {number: place for place, number in enumerate(given_numbers(model))}
    for number in numbers:
        if number not in places:
            wanted = f"numbers of rows that the model was given, up to {max(places)}"
            raise InvalidInputError("--forget", number, wanted)
    return [places[number] for number in numbers]


def labels_as(labels: Sequence[str], classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return labels as they are written as what classes are: words, or numbers."""
    return np.array(labels) if classes.dtype.kind == "U" else as_labels(labels)


def read_model(path: Path) -> tuple[Any, Schema, TrainingRows | None]:
    """Return the model in a file, the columns that it expects, and the rows that it was trained on.

    A model that was saved from Python has no ``table_``: its columns are the names it was fitted with, or x1, x2, ….
    """
    model = load_model(path)
    if not hasattr(model, "predict_proba"):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, which has no probabilities")
    described = getattr(model, "table_", None)
    if described is None:
        names = getattr(model, "feature_names_in_", None)
        numbered = [f"x{a}" for a in range(1, model.n_features_in_ + 1)]
        return model, _schema_of(model, tuple(numbered if names is None else map(str, names))), None
    if not isinstance(described, Mapping) or not isinstance(described.get("schema"), Schema):
        raise ModelFileError(f"{path} does not say which columns its model expects")
    schema = described["schema"]
    if len(schema.columns) != model.n_features_in_:
        raise ModelFileError(f"{path} holds a model of {model.n_features_in_} columns with a description of others")
    return model, schema, TrainingRows(described["row_hashes"], described["all_rows"])


def _schema_of(model: Any, names: tuple[str, ...]) -> Schema:
    """Return what columns of these names hold by the model's own schema, if it has one; codes are numbers in files."""
    learnt = getattr(model, "_schema", None)
    if learnt is None:
        return Schema.numeric(names)
    return replace(learnt, columns=tuple(map(_in_files, learnt.named(names).columns)))


def _in_files(column: Column) -> Column:
    is_code = column.kind == CATEGORY and not all(isinstance(category, str) for category in column.categories)
    return Column(column.name, NUMBER) if is_code else column
