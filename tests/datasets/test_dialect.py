"""How a text is written: recognised where that is safe, otherwise an error that names the argument to say it with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from marginwise.datasets import load_inputs, load_table
from marginwise.errors import InvalidInputError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "table.csv"


def spectra(header: str, n: int = 12, classes: tuple[str, ...] = ("oak", "ash")) -> str:
    """Absorbances below one and a class, below this header."""
    rng = np.random.default_rng(0)
    curves = rng.uniform(0.1, 0.9, size=(n, 4)).round(3)
    return f"{header}\n" + "".join(f"{','.join(map(str, row))},{classes[i % 2]}\n" for i, row in enumerate(curves))


def asked(argument: str, file: Path, *arguments, **options) -> str:
    """Return the error that asks for an argument which was not given."""
    with pytest.raises(InvalidInputError) as caught:
        load_table(file, *arguments, **options)
    assert (caught.value.argument, caught.value.value) == (argument, None)
    assert str(file) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("400,410,420,430,species", "evenly spaced, far away, and a word that is not found again"),
        ("3999.64,3510.1,2800.2,1200.7,species", "far away, and a word that is not found again"),
        ("0,1,2,3,4", "evenly spaced, and whole numbers above fractions"),
        ("0,1,2,3,species", "as pandas numbers columns"),
    ],
)
def test_names_that_are_numbers_are_a_header(file: Path, header: str, why: str) -> None:
    file.write_text(spectra(header, classes=("1", "0") if header.endswith("4") else ("oak", "ash")))
    table = load_table(file)
    assert table.feature_names == tuple(header.split(",")[:-1]), why
    assert len(table.y) == 12
    assert len(set(table.y.tolist())) == 2


def test_the_name_of_the_target_tells_a_header(file: Path) -> None:
    text = "2,5,7,kind\n" + "3,4,8,u\n4,6,9,v\n" * 3
    file.write_text(text)
    assert "may be names or data: '2', '5', '7', 'kind'" in asked("header", file)
    assert load_table(file, "kind").feature_names == ("2", "5", "7")
    assert load_table(file, header=False).feature_names == ("x1", "x2", "x3")


def test_the_names_of_a_model_tell_a_header(file: Path, tmp_path: Path) -> None:
    file.write_text(spectra("400,410,420,430,species"))
    schema = load_table(file).schema
    new = tmp_path / "new.csv"
    new.write_text("400,410,420,430\n0.1,0.2,0.3,0.4\n")
    assert load_inputs(new, schema).X.tolist() == [[0.1, 0.2, 0.3, 0.4]]


def test_a_position_is_no_name(file: Path) -> None:
    file.write_text("5.1,1,7\n4.2,0,1\n4.9,1,3\n")
    assert load_table(file, "1").y.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    "text",
    [
        spectra("0.213,0.456,0.712,0.315,oak"),
        spectra("0.213,0.456,0.712,0.315,1", classes=("1", "0")),
        "5,3,1\n" + "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(20)),
        "k0,5,3,1\n" + "".join(f"k{i},{i % 7},{i % 5},{i % 2}\n" for i in range(1, 20)),
        "p,x,p\n" + "e,x,s\np,y,s\n" * 4,
    ],
    ids=["classes as words", "classes as numbers", "whole numbers", "identifiers", "words only, found again"],
)
def test_data_in_the_first_row_stays_data(file: Path, text: str) -> None:
    file.write_text(text)
    table = load_table(file, drop=[0] if text.startswith("k") else [])
    assert len(table.y) == text.count("\n")
    assert table.target_name.startswith("x")


@pytest.mark.parametrize(
    "text",
    [
        "5.1,3.5,setosa\n4.9,3.0,virginica\n",
        "unknown,2.5,yes\n1.5,2.0,no\n2.5,3.0,yes\n",
        "0,1,2\n" + "".join(f"{i % 3},{i % 5},{i % 2}\n" for i in range(20)),
        "400,400,420,species\n" + "0.1,0.2,0.3,oak\n0.2,0.1,0.4,ash\n" * 5,
        "12,7,1\nwa,wb,1\nwc,wd,0\n",
    ],
    ids=["two rows", "word above numbers beside one found again", "a count", "a name twice", "numbers above words"],
)
def test_a_first_row_that_may_be_both_is_asked_for(file: Path, text: str) -> None:
    file.write_text(text)
    assert "header is None; expected yes or no, because the first row of" in asked("header", file)
    assert len(load_table(file, header=False).y) == text.count("\n")


def test_a_single_row_of_numbers_is_data(file: Path) -> None:
    file.write_text("1,2,3,4\n")
    assert load_table(file).X.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_tell_the_encoding(file: Path, encoding: str) -> None:
    file.write_bytes("größe,y\n1,süß\n2,sauer\n".encode(encoding))
    table = load_table(file)
    assert (table.feature_names, table.y.tolist()) == (("größe",), ["süß", "sauer"])


@pytest.mark.parametrize("said", ["UTF-16", "utf-16-le"])
def test_byte_order_marks_are_no_part_of_a_name(file: Path, said: str) -> None:
    file.write_bytes("\ufeffa,y\n1,u\n2,v\n".encode("utf-16-le"))
    assert load_table(file, encoding=said).feature_names == ("a",)
    with pytest.raises(InvalidInputError, match=r"encoding is 'cp1252'; expected utf-16, because .* byte order mark"):
        load_table(file, encoding="cp1252")


def test_bytes_that_are_not_utf8_are_asked_for_and_shown(file: Path) -> None:
    file.write_bytes("größe,y\n1,süß\n2,sauer\n".encode("cp1252"))
    message = asked("encoding", file)
    assert "is not UTF-8: line 1 holds other bytes; by cp1252 (Western Windows) they would read 'größe'" in message
    for encoding in ("cp1252", "latin-1"):
        assert load_table(file, encoding=encoding).feature_names == ("größe",)


def test_encodings_that_do_not_fit(file: Path) -> None:
    file.write_bytes("größe,y\n1,süß\n".encode("cp1252"))
    for encoding, part in (("utf-8", "but line 1 holds other bytes"), ("klingon", "a name that Python knows")):
        with pytest.raises(InvalidInputError, match=part) as caught:
            load_table(file, encoding=encoding)
        assert (caught.value.argument, caught.value.value) == ("encoding", encoding)


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_decimal_commas_are_recognised(file: Path, delimiter: str) -> None:
    rows = [["a", "b", "c", "y"], ["1,5", "-2,25e3", "7", "1,0"], ["NA", "1,234", "8", "0,0"], ["2,5", "0", "9", "1,0"]]
    file.write_text("\n".join(delimiter.join(row) for row in rows))
    table = load_table(file, drop=["a"])
    assert table.X.tolist() == [[-2250, 7], [1.234, 8], [0, 9]]
    assert table.y.tolist() == [1.0, 0.0, 1.0]


def test_quoted_commas_beside_commas_are_asked_for(file: Path) -> None:
    file.write_text('a,y\n"1,5",0\n"2,25",1\n')
    assert "numbers written like '1,5'" in asked("decimal", file)
    assert load_table(file, decimal=",").X.tolist() == [[1.5], [2.25]]


def test_blanks_part_decimal_commas_that_are_said(file: Path) -> None:
    file.write_text("a b y\n1,5 2,5 0\n2,5 3,5 1\n")
    assert load_table(file, decimal=",").X.tolist() == [[1.5, 2.5], [2.5, 3.5]]


def test_commas_that_may_part_thousands_are_asked_for(file: Path) -> None:
    file.write_text("a;y\n1,234;0\n2,345;1\n")
    assert f"'.' or ',', because {file} has numbers written like '1,234'" in asked("decimal", file)
    assert load_table(file, decimal=",").X.tolist() == [[1.234], [2.345]]
    file.write_text("a;y\n1,234;0\n0,345;1\n")
    assert load_table(file).X.tolist() == [[1.234], [0.345]]


def test_commas_in_one_column_and_points_in_another_are_asked_for(file: Path) -> None:
    file.write_text("a;b;y\n1,5;2.5;0\n2,5;3.5;1\n")
    assert "numbers written like '1,5', '2.5'" in asked("decimal", file)


@pytest.mark.parametrize("decimal", [".", ","])
def test_numbers_with_the_other_sign_are_no_categories(file: Path, decimal: str) -> None:
    file.write_text("a;b;y\n1,5;2.5;0\n2,5;3.5;1\n")
    with pytest.raises(InvalidInputError, match=f"the decimal sign '{decimal}'.*name the sign"):
        load_table(file, decimal=decimal)


def test_decimal_is_a_point_or_a_comma(file: Path) -> None:
    file.write_text("a,y\n1,0\n")
    with pytest.raises(InvalidInputError, match=r"decimal is ';'; expected one of ',', '\."):
        load_table(file, decimal=";")


@pytest.mark.parametrize(
    ("target", "meant"),
    [("diagnose", "'diagnosis'"), ("Diagnosis", "'diagnosis'"), ("ages", "'age'"), ("zzz", None)],
)
def test_the_name_that_was_meant_is_told(file: Path, target: str, meant: str | None) -> None:
    file.write_text("age,weight,diagnosis\n1,2,u\n3,4,v\n")
    with pytest.raises(InvalidInputError) as caught:
        load_table(file, target)
    question = f" (did you mean {meant}?)" if meant else ""
    expected = (
        f"expected one of the columns 'age', 'weight', 'diagnosis'{question}, or a position, because {file} has 3"
    )
    assert expected in str(caught.value)


def test_a_name_in_a_file_read_without_a_header(file: Path) -> None:
    file.write_text("5.1,3.5,1\n4.9,3.0,0\n4.8,3.1,1\n")
    with pytest.raises(InvalidInputError, match="3 columns and was read without a header"):
        load_table(file, "species")
