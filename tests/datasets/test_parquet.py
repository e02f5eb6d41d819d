"""Tables in Parquet format: the same as the CSV file of the same cells."""

from __future__ import annotations

import datetime
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from marginwise.datasets import load_inputs, load_table
from marginwise.errors import InvalidInputError, MarginwiseError

pyarrow = pytest.importorskip("pyarrow", reason="Parquet files need pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

COLUMNS = {
    "age": [31, 45, 7],
    "height": [1.5, 2.25, -3e-7],
    "price": [Decimal("1.10"), Decimal("2.20"), Decimal("3.30")],
    "colour": ["red", "blue", "red"],
    "tall": [True, False, True],
    "day": [datetime.date(2003, 7, 5)] * 3,
    "class": [1, 0, 1],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    parquet.write_table(pyarrow.table(COLUMNS), tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def test_is_the_same_table_as_in_a_text_file(file: Path) -> None:
    text = file.with_suffix(".csv")
    rows = [",".join(map(str, row)) for row in [list(COLUMNS), *zip(*COLUMNS.values(), strict=True)]]
    text.write_text("\n".join(rows))
    first, second = load_table(file), load_table(text)
    assert first.schema == second.schema
    assert first.feature_names == second.feature_names
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    assert first.y.dtype == second.y.dtype
    np.testing.assert_array_equal(load_inputs(text, first.schema).X, first.X)
    np.testing.assert_array_equal(load_inputs(file, second.schema).X, first.X)


def test_is_known_by_its_content(file: Path) -> None:
    assert load_table(file.rename(file.with_name("table"))).target_name == "class"


def test_row_names_and_categories_of_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.Categorical(["u", "v"]), "y": [0.5, 1.0]}, index=["r1", "r2"])
    frame.to_parquet(tmp_path / "t.parquet")
    table = load_table(tmp_path / "t.parquet")
    assert table.feature_names == ("a",)
    assert table.y.tolist() == [0.5, 1.0]


def test_missing_values_are_located_by_row_number(tmp_path: Path) -> None:
    columns = {"a": [1, None, 3], "b": ["u", "v", None], "c": [0.5, 1.0, float("nan")], "y": [0, 1, 0]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    with pytest.raises(InvalidInputError, match="row 2 column 'a', row 3 column 'b', row 3 column 'c';"):
        load_table(tmp_path / "t.parquet", missing="refuse")
    assert load_table(tmp_path / "t.parquet").X[2, 1] is None


@pytest.mark.parametrize("columns", [{}, {"a": pyarrow.array([], "int64"), "y": pyarrow.array([], "int64")}])
def test_empty_table(columns: dict, tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table(columns), tmp_path / "t.parquet")
    with pytest.raises(InvalidInputError, match="it is empty"):
        load_table(tmp_path / "t.parquet")


def test_repeated_name(tmp_path: Path) -> None:
    table = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"])
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InvalidInputError, match="'a' is repeated"):
        load_table(tmp_path / "t.parquet")


def test_damaged_file(file: Path) -> None:
    content = file.read_bytes()
    for damaged in (content[:-30], content[:50], content[:100] + b"\xff" * 400 + content[500:]):
        file.write_bytes(damaged)
        with pytest.raises(InvalidInputError, match="an undamaged Parquet file"):
            load_table(file)


def test_says_what_to_install(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MarginwiseError, match=r"pip install 'marginwise\[parquet\]'"):
        load_table(file)
