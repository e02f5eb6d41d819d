"""A second table, to predict from: columns found by name, or an error that says what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from marginwise.datasets import Schema, load_inputs, load_table
from marginwise.errors import InvalidInputError


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    (tmp_path / "first.csv").write_text("age,colour,id,class\n31,blue,u1,yes\n45,red,u2,no\n")
    return load_table(tmp_path / "first.csv", drop=["id"]).schema


def second(tmp_path: Path, text: str, name: str = "second.csv") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_columns_are_found_by_name(tmp_path: Path, schema: Schema) -> None:
    inputs = load_inputs(second(tmp_path, "colour,note,age\nred,?,7\n"), schema)
    assert inputs.X.tolist() == [[7, "red"]]
    assert inputs.labels is None
    assert inputs.unused == ("note",)


@pytest.mark.parametrize(("cell", "labels"), [("yes", ("yes",)), ("", None), ("maybe", ("maybe",))])
def test_labels_are_there_if_none_is_missing(
    tmp_path: Path, schema: Schema, cell: str, labels: tuple[str, ...] | None
) -> None:
    inputs = load_inputs(second(tmp_path, f"colour,age,class\nred,7,{cell}\n"), schema)
    assert inputs.labels == labels
    assert inputs.unused == ()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (
            "age,color\n1,red\n",
            "all 2 columns that the model was trained on, but 'colour' is missing; it has 'age', 'color'",
        ),
        ("a,b\n1,red\n", "'age', 'colour' are missing"),
        ("age,colour\nold,red\n5,red\n", "numbers, as in training, but words are in row 2 column 'age'"),
        ("age,colour\n2024-05-31,red\n", "numbers in column 'age', as in training, but it has dates"),
        ("", "it is empty"),
        ("1 1:2\n", "in LIBSVM format, which has no names"),
    ],
)
def test_what_does_not_fit(tmp_path: Path, schema: Schema, text: str, part: str) -> None:
    file = second(tmp_path, text)
    with pytest.raises(InvalidInputError) as caught:
        load_inputs(file, schema)
    assert part in str(caught.value)
    assert str(file) in str(caught.value)


def test_words_that_training_had_not_are_told(tmp_path: Path, schema: Schema) -> None:
    inputs = load_inputs(second(tmp_path, "age,colour\n1,green\n2,7\n,red\n"), schema)
    assert inputs.unseen == {"colour": ("7", "green")}
    assert inputs.X[:2].tolist() == [[1, "green"], [2, "7"]]
    with pytest.raises(InvalidInputError, match="row 4 column 'age'"):
        load_inputs(second(tmp_path, "age,colour\n1,green\n2,7\n,red\n"), schema, missing="refuse")


@pytest.mark.parametrize(("text", "first"), [("1 1:2 3:4\n-1 2:1\n", 1), ("1 0:2 2:4\n-1 1:1\n", 0)])
def test_libsvm_files_have_the_inputs_of_the_first(tmp_path: Path, text: str, first: int) -> None:
    table = load_table(second(tmp_path, text, "t.svm"))
    assert table.feature_names == tuple(f"x{a}" for a in range(first, first + 3))
    inputs = load_inputs(second(tmp_path, f"1 {first + 1}:5\n1\n", "u.svm"), table.schema)
    assert inputs.X.tolist() == [[0, 5, 0], [0, 0, 0]]
    assert inputs.labels == ("1", "1")
    with pytest.raises(InvalidInputError, match=f"indices up to {first + 2}.* one of {first + 3}"):
        load_inputs(second(tmp_path, f"1 {first + 3}:5\n", "u.svm"), table.schema)
    named = load_inputs(second(tmp_path, ",".join(table.feature_names) + "\n1,2,3\n"), table.schema)
    assert named.X.tolist() == [[1, 2, 3]]


def test_groups_are_neither_unused_nor_names_of_rows(tmp_path: Path, schema: Schema) -> None:
    file = second(tmp_path, "id,colour,who,age,class\nk1,red,p,7,a\nk2,red,p,8,a\nk3,red,q,9,b\n")
    inputs = load_inputs(file, schema, groups="who")
    assert inputs.groups == ("p", "p", "q")
    assert inputs.unused == ("id",)
    assert inputs.kept == {"id": ("k1", "k2", "k3")}
    with pytest.raises(InvalidInputError, match="neither an input nor the target"):
        load_inputs(file, schema, groups="class")
