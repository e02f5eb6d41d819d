"""Tables read from CSV files: columns, categories, labels, and a round trip of arbitrary tables."""

from __future__ import annotations

import csv
import gzip
import tempfile
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from marginwise.datasets import load_table
from marginwise.tables.text import may_be_number


@pytest.fixture
def write(tmp_path: Path):
    def write_text(text: str, name: str = "table.csv") -> Path:
        file = tmp_path / name
        file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return file

    return write_text


def test_numbers_and_categories(write) -> None:
    table = load_table(write("age,colour,class\n31,red,yes\n4.5e1,blue,no\n-2,red,yes\n"))
    assert table.feature_names == ("age", "colour")
    assert table.X.tolist() == [[31, "red"], [45, "blue"], [-2, "red"]]
    assert load_table(write("age,class\n31,yes\n45,no\n")).X.dtype == np.float64
    assert table.y.tolist() == ["yes", "no", "yes"]
    assert table.target_name == "class"
    assert table.categories == {"colour": ("blue", "red")}


@pytest.mark.parametrize("target", ["b", 1, -2])
def test_target_by_name_or_position(write, target: str | int) -> None:
    table = load_table(write("a,b,c\n1,0,3\n4,1,6\n"), target)
    assert (table.feature_names, table.target_name) == (("a", "c"), "b")
    assert table.y.tolist() == [0, 1]
    assert table.X.tolist() == [[1, 3], [4, 6]]


@pytest.mark.parametrize(
    ("cells", "kind", "labels"),
    [
        (["1", "-1", "+1"], "i", [1, -1, 1]),
        (["0.5", "1", "2e3"], "f", [0.5, 1.0, 2000.0]),
        (["007", "7", "1"], "U", ["007", "7", "1"]),
        (["12345678901234567890", "1", "1"], "U", ["12345678901234567890", "1", "1"]),
        (["1", "inf", "2"], "U", ["1", "inf", "2"]),
        (["yes", "1", "no"], "U", ["yes", "1", "no"]),
        (["yes", "yes", "yes"], "U", ["yes", "yes", "yes"]),
    ],
)
def test_labels_are_as_given(write, cells: list[str], kind: str, labels: list) -> None:
    table = load_table(write("x,y\n" + "".join(f"1,{cell}\n" for cell in cells)))
    assert table.y.dtype.kind == kind
    assert table.y.tolist() == labels


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.txt"])
def test_delimiters_and_compression_are_recognised(write, delimiter: str, name: str) -> None:
    text = "a,b,y\n1.5,u,1\n2.5,v,0\n".replace(",", delimiter)
    table = load_table(write(text, name))
    assert table.feature_names == ("a", "b")
    assert table.X[:, 0].tolist() == [1.5, 2.5]


def test_delimiter_is_seen_beside_the_others_in_cells(write) -> None:
    table = load_table(write("length in mm;kind, place;y\n1;a, b;1\n2;c, d;0\n"))
    assert table.feature_names == ("length in mm", "kind, place")
    assert table.categories == {"kind, place": ("a, b", "c, d")}


def test_runs_of_blanks_part_cells_once(write) -> None:
    table = load_table(write("  a   b  y \n 1.0  2   1\n10.0  3   0  \n"))
    assert table.X.tolist() == [[1, 2], [10, 3]]


def test_given_delimiter_is_used(write) -> None:
    table = load_table(write("a:b:y\n1:2:0\n3:4:1\n"), delimiter=":")
    assert table.X.tolist() == [[1, 2], [3, 4]]


def test_quotes_byte_order_mark_blank_lines_and_windows_line_ends(write) -> None:
    text = '\ufeff"a, b","say ""hi""",y\r\n\r\n1, "x\r\ny",1\r\n2,z,0\r\n\r\n'
    table = load_table(write(text))
    assert table.categories == {'say "hi"': ("x\r\ny", "z")}


@pytest.mark.parametrize(
    ("text", "names", "n"),
    [
        ("5.1,3.5,setosa\n4.9,3.0,virginica\n4.8,3.1,setosa\n", ("x1", "x2"), 3),
        ("1,2,0\n", ("x1", "x2"), 1),
        ("a,2019,y\n1,2,u\n3,4,v\n", ("a", "2019"), 2),
        ("a,b,y\nu,1,0\nv,?,1\n", None, 2),
        ("kind,y\nu,p\nv,q\n", ("kind",), 2),
        (",a,y\n1,2,0\n2,3,1\n", ("x1", "a"), 2),
        ("a,male,y\n1,male,0\n2,female,1\n", ("a", "male"), 2),
    ],
    ids=["none", "one row", "number as a name", "missing below", "words only", "name left empty", "name of a value"],
)
def test_header_is_recognised(write, text: str, names: tuple[str, ...] | None, n: int) -> None:
    table = load_table(write(text), drop=["b"] if names is None else [])
    assert len(table.X) == len(table.y) == n
    assert table.feature_names == (names or ("a",))


def test_word_above_missing_values_only_is_no_header(write) -> None:
    assert load_table(write("u,1,0\n?,2,1\n?,3,0\n"), drop=[0]).X.tolist() == [[1], [2], [3]]


def test_header_can_be_said(write) -> None:
    file = write("u,p\nv,q\n")
    assert load_table(file, header=False).categories == {"x1": ("u", "v")}
    assert load_table(file, header=True).categories == {"u": ("v",)}


def test_dropped_columns_are_not_looked_at(write) -> None:
    table = load_table(write("id,a,note,y\nk1,1,NA,0\nk2,2,,1\n"), drop=["id", 2])
    assert table.feature_names == ("a",)


def test_columns_of_codes_can_be_categories(write) -> None:
    first = load_table(write("colour,code,y\nred,1,0\nblue,2,1\ngreen,1,1\n"), categories={"code": ["1", "2", "3"]})
    assert first.categories == {"colour": ("blue", "green", "red"), "code": ("1", "2", "3")}
    assert first.X.tolist() == [["red", "1"], ["blue", "2"], ["green", "1"]]


def test_missing_cells_are_kept_as_such(write) -> None:
    table = load_table(write("age,colour,y\n?,red,0\n31,,1\n45,blue,1\n"))
    assert table.categories == {"colour": ("blue", "red")}
    assert np.isnan(table.X[0, 0])
    assert table.X[1:].tolist() == [[31, None], [45, "blue"]]
    numbers = load_table(write("a,b,y\n1,,0\n?,2,1\n"))
    np.testing.assert_array_equal(numbers.X, [[1, np.nan], [np.nan, 2]])


def test_dates_are_dates(write) -> None:
    table = load_table(write("when,kind,y\n2024-05-31,u,0\n,v,1\n2024-06-01 12:00,u,1\n"))
    assert table.dates == ("when",)
    assert table.X[:, 0].tolist() == [datetime(2024, 5, 31), None, datetime(2024, 6, 1, 12)]
    assert load_table(write("when,y\n2024-05-31,0\n2024-13-01,1\n")).categories.keys() == {"when"}


def test_many_rows_of_numbers_are_read_exactly(write, rng: np.random.Generator) -> None:
    X = rng.normal(size=(500, 4)) * 10.0 ** rng.integers(-300, 300, size=(500, 4))
    rows = [",".join(map(repr, row)) for row in np.c_[X, np.arange(500) % 2].tolist()]
    np.testing.assert_array_equal(load_table(write("a,b,c,d,y\n" + "\n".join(rows))).X, X)


def is_plain_word(word: str) -> bool:
    """Whether a table holds a word as it is: no blanks around it, no number, no sign of a missing value."""
    unusable = {"\0", "\ufeff"} & set(word)  # no text holds the first; the second is dropped as a byte order mark
    return word == word.strip() and not may_be_number(word.replace(",", ".", 1)) and not unusable


any_words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(is_plain_word)
letters = st.text(st.characters(codec="utf-8", categories=["L"]), min_size=1, max_size=6).filter(is_plain_word)
numbers = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**15), 10**15)


@given(data=st.data(), delimiter=st.sampled_from(",;\t|"))
def test_round_trip_of_any_words_with_delimiter_and_header_said(data: st.DataObject, delimiter: str) -> None:
    check_round_trip(data, any_words, delimiter, {"delimiter": delimiter, "header": True})


@given(data=st.data(), delimiter=st.sampled_from(",;\t| "))
def test_round_trip_with_delimiter_and_header_recognised(data: st.DataObject, delimiter: str) -> None:
    check_round_trip(data, letters, delimiter, {})


def check_round_trip(data: st.DataObject, words: st.SearchStrategy[str], delimiter: str, options: dict) -> None:
    n = data.draw(st.integers(1, 8))
    kinds = data.draw(st.lists(st.sampled_from([numbers, words]), min_size=1, max_size=5))
    names = data.draw(st.lists(words, min_size=len(kinds) + 1, max_size=len(kinds) + 1, unique=True))
    columns = [data.draw(st.lists(kind, min_size=n, max_size=n)) for kind in kinds]
    labels = data.draw(st.lists(words, min_size=n, max_size=n))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.csv"
        with file.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream, delimiter=delimiter)
            writer.writerow(names)
            writer.writerows(zip(*columns, labels, strict=True))
        table = load_table(file, names[-1], **options)
    assert table.target_name == names[-1]
    assert table.y.tolist() == labels
    assert table.feature_names == tuple(names[:-1])
    for name, kind, column, found in zip(names, kinds, columns, table.X.T, strict=False):
        if kind is numbers:
            assert found.tolist() == [float(value) for value in column]
            assert name not in table.categories
        else:
            assert found.tolist() == column
            assert table.categories[name] == tuple(sorted(set(column)))
