"""What cannot be read as a table: each error names the file, the trouble and what to do."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from marginwise.datasets import load_table
from marginwise.errors import InvalidInputError


def error_of(file: Path, *arguments, **options) -> str:
    with pytest.raises(InvalidInputError) as caught:
        load_table(file, *arguments, **options)
    assert str(file) in str(caught.value)
    return str(caught.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


def test_missing_values_are_counted_and_the_first_ones_located(file: Path) -> None:
    file.write_text("a,b,y\n1,NA,0\n\n2,3,1\n?,nan,\nNULL,4,1\n,5,0\n6,Na,1\n")
    message = error_of(file, missing="refuse")
    assert "7 of its cells are missing" in message
    expected = "row 2 column 'b', row 5 column 'a', row 5 column 'b', row 5 column 'y', row 6 column 'a' and 2 more"
    assert expected in message
    assert "fill them in" in message
    table = load_table(file)
    assert table.row_numbers.tolist() == [1, 2, 4, 5, 6]
    assert "1 row without 'y' left out: row 3" in table.schema.remarks
    file.write_text("a,y\n1,\n2,NA\n")
    assert "2 of its cells are missing: row 2 column 'y'" in error_of(file)


def test_rows_are_numbered_by_the_line_they_begin_on(file: Path) -> None:
    file.write_text('a,b,y\n1,"two\nlines",0\n2,,1\n')
    assert "missing: row 4 column 'b';" in error_of(file, missing="refuse")


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "it is empty"),
        (b"\n  \n\n", "it is empty"),
        (b"a,b,y\n", "at least one row below the header"),
        (b"only\n1\n2\n", "at least one column in addition to the target 'only'"),
        (
            b"a,b,y\n1,2,3\n4,5\n6,7,8,9\n",
            "3 cells in each row as in the first, but row 3 has 2, row 4 has 4",
        ),
        (b"a,y\n1,0\n\x00,1\n", "if it is a table at all, because"),
        (b'a,y\n1,0\n"2,1\n', "row 3 is not (unexpected end of data); check its quotes"),
        (b'a,y\n"1"2,0\n', "row 2 is not"),
        (b"a,a,y\n1,2,0\n", "a different name for each column, but 'a' is repeated"),
        (b"a,b,y\n1,inf,0\n1e999,2,1\n", "finite numbers, but 1 are not: row 3 column 'a'"),
        (b"a;y\n1.234,5;0\n2.345,25;1\n", "nothing between thousands, but column 'a' has values like '1.234,5'"),
    ],
)
def test_content_that_is_no_table(file: Path, content: bytes, part: str) -> None:
    file.write_bytes(content)
    assert part in error_of(file)


def test_words_that_spoil_a_column_of_numbers_are_shown(file: Path) -> None:
    file.write_text("a,y\n" + "".join(f"{i},0\n" for i in range(1500)) + "12kg,1\n")
    assert "'a' has 1501; mend the words among its numbers, in row 1502 column 'a'" in error_of(file)


def test_too_many_words_are_to_be_dropped(file: Path) -> None:
    file.write_text("a,y\n" + "".join(f"k{i},0\n" for i in range(1500)) + "12,1\n")
    assert "'a' has 1501; drop it if it is an identifier, a date or free text" in error_of(file)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"target": "z"}, "target is 'z'; expected one of the columns 'a', 'b', 'y', or a position"),
        ({"target": 3}, "target is 3; expected a position from 0 to 2"),
        ({"target": -4}, "target is -4; expected a position"),
        ({"target": True}, "target is True"),
        ({"target": 1.5}, "target is 1.5"),
        ({"drop": ["z"]}, "drop is 'z'; expected one of the columns"),
        ({"drop": ["a", "b"]}, "at least one column in addition to the target 'y'"),
        ({"categories": {"z": ["1"]}}, "categories is 'z'"),
        ({"categories": {"b": ["u"]}}, "others are in row 3 column 'b'"),
    ],
)
def test_options_that_do_not_fit_the_table(file: Path, options: dict, part: str) -> None:
    file.write_text("a,b,y\n1,u,0\n2,v,1\n")
    assert part in error_of(file, **options)


def test_long_lists_of_columns_are_cut(file: Path) -> None:
    file.write_text(",".join(f"c{j}" for j in range(30)) + "\n" + ",".join("1" * 30) + "\n")
    assert "'c0', 'c1', 'c2', 'c3', 'c4' and 25 more" in error_of(file, "z")


@pytest.mark.parametrize("delimiter", ["", "::", '"', "\n"])
def test_delimiter_is_one_character(file: Path, delimiter: str) -> None:
    file.write_text("a,y\n1,0\n")
    with pytest.raises(InvalidInputError, match="delimiter is"):
        load_table(file, delimiter=delimiter)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    assert "an existing file" in error_of(tmp_path / "nowhere.csv")


def test_folder_instead_of_a_file(tmp_path: Path) -> None:
    assert "a file that can be read (Is a directory)" in error_of(tmp_path)


def test_damaged_gzip_file(tmp_path: Path) -> None:
    file = tmp_path / "table.csv.gz"
    content = bytearray(gzip.compress(b"a,y\n" + b"1,0\n" * 1000))
    for damaged in (content[:-10], content[:20] + b"\xff" * 10 + content[30:], content[:3]):
        file.write_bytes(damaged)
        assert "an undamaged gzip file" in error_of(file)
