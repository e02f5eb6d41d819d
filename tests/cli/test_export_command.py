"""``marginwise export``: files that predict as the models do, with the names of the columns."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginwise import MarginSVC, TunedSVC, load_inputs, load_model, load_table, save_model
from marginwise.cli.model_file import write_model
from onnx_values import results_of

#: A table whose label follows from its cells.
ROWS = "age,colour,class\n" + "".join(
    f"{20 + k % 37},{'red' if k % 3 else 'blue'},{int(k % 37 > 15)}\n" for k in range(40)
)


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    """A model file as ``marginwise fit`` writes it."""
    (tmp_path / "table.csv").write_text(ROWS)
    table = load_table(tmp_path / "table.csv")
    model = TunedSVC(ard=0, random_state=0, categorical_features=table.categorical_features)
    write_model(model.fit(table.X, table.y), table, tmp_path / "table.skops")
    return tmp_path / "table.skops"


def test_columns_are_inputs_by_name(model_file: Path, run) -> None:
    code, out, err = run("export", model_file, "--to", "onnx")
    assert (code, out) == (0, "")
    assert re.search(r"written to .*table\.onnx: \d+\.\d\d MB\n$", err)
    (model_file.parent / "new.csv").write_text("age,colour\n33,red\n,green\n50,\n")
    model = load_model(model_file)
    rows = load_inputs(model_file.parent / "new.csv", model.table_["schema"]).X
    inputs = {"age": np.array([[33.0], [np.nan], [50.0]]), "colour": np.array([["red"], ["green"], [""]], dtype=object)}
    results = results_of(onnx.load(model_file.with_suffix(".onnx")), inputs)
    np.testing.assert_allclose(results["probabilities"], model.predict_proba(rows), atol=1e-9)


def test_files_are_replaced_only_if_asked_for(model_file: Path, run) -> None:
    other = model_file.parent / "other.onnx"
    other.write_text("mine")
    code, _, err = run("export", model_file, "-o", other)
    assert (code, other.read_text()) == (2, "mine")
    assert "--force" in err
    assert run("export", model_file, "-o", other, "--force", "--quiet") == (0, "", "")
    assert onnx.load(other).producer_name == "marginwise"
    code, _, err = run("export", model_file, "-o", model_file, "--force")
    assert code == 2
    assert "another file than what is read" in err


def test_models_from_python_are_exported(tmp_path: Path, run) -> None:
    save_model(MarginSVC().fit([[0.0, 1.0], [1.0, 0.0]], ["low", "high"]), tmp_path / "m.skops")
    assert run("export", tmp_path / "m.skops", "--quiet") == (0, "", "")
    assert [one.name for one in onnx.load(tmp_path / "m.onnx").graph.input] == ["X"]


def test_numbers_as_json(model_file: Path, run) -> None:
    assert run("export", model_file, "--to", "json", "--quiet") == (0, "", "")
    numbers = json.loads(model_file.with_suffix(".json").read_text(encoding="utf-8"))
    assert [column["name"] for column in numbers["columns"]] == ["age", "colour"]
    assert numbers["classes"] == [0, 1]


def test_what_is_no_model_is_said(tmp_path: Path, run) -> None:
    (tmp_path / "m.skops").write_text("nothing")
    code, _, err = run("export", tmp_path / "m.skops")
    assert code == 2
    assert "not a model file" in err
    assert not (tmp_path / "m.onnx").exists()


def test_pipelines_are_told_where_to_go(tmp_path: Path, run) -> None:
    pipeline = make_pipeline(StandardScaler(), MarginSVC()).fit([[0.0], [1.0]], [0, 1])
    save_model(pipeline, tmp_path / "p.skops")
    code, _, err = run("export", tmp_path / "p.skops")
    assert code == 2
    assert "p.skops is a Pipeline; expected a TunedSVC or MarginSVC; pipelines are for skl2onnx.to_onnx" in err
