"""Model files of the command line: the model, and what the table it was trained on looked like."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marginwise.datasets import Schema
from marginwise.errors import ModelFileError
from marginwise.saving import load_model, save_model
from marginwise.tables.reading import DATE


def write_model(model: Any, schema: Schema, path: Path) -> None:
    """Write a model with the columns that it expects, as its attribute ``table_`` in plain words."""
    model.table_ = {
        "columns": list(schema.columns),
        "categories": {name: list(levels) for name, levels in schema.categories.items()},
        "target": schema.target,
        "dates": list(schema.dates),
    }
    save_model(model, path)


def read_model(path: Path) -> tuple[Any, Schema]:
    """Return the model in a file and the columns that it expects.

    A model that was saved from Python has no ``table_``: its columns are the names it was fitted with, or x1, x2, ….
    """
    model = load_model(path)
    if not hasattr(model, "predict_proba"):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, which gives no probabilities")
    described = getattr(model, "table_", None)
    if described is None:
        names = getattr(model, "feature_names_in_", None)
        numbered = [f"x{a}" for a in range(1, model.n_features_in_ + 1)]
        return model, _schema_of(model, tuple(numbered if names is None else map(str, names)))
    if not isinstance(described, Mapping) or not {"columns", "categories", "target"} <= set(described):
        raise ModelFileError(f"{path} does not say which columns its model expects")
    if len(described["columns"]) != model.n_features_in_:
        raise ModelFileError(f"{path} is of a time when words were encoded before the fit; fit the model again")
    categories = {name: tuple(levels) for name, levels in described["categories"].items()}
    dates = tuple(described.get("dates", ()))
    return model, Schema(tuple(described["columns"]), categories, described["target"], dates)


def _schema_of(model: Any, names: tuple[str, ...]) -> Schema:
    """Return what columns of these names hold by the model's own schema, if it has one; codes are numbers in files."""
    learnt = getattr(model, "_schema", None)
    kinds = dict(zip(names, () if learnt is None else learnt.columns, strict=learnt is not None))
    words = {
        name: column.categories
        for name, column in kinds.items()
        if column.categories and all(isinstance(category, str) for category in column.categories)
    }
    return Schema(names, words, "", tuple(name for name, column in kinds.items() if column.kind == DATE))
