"""Tables that can be read but not learnt from as they stand: each is told in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli_tables import patients, write_csv

FIT = ["--no-files", "--ard", "0"]


def table_of(tmp_path: Path, **columns: object) -> Path:
    """The patients without their identifiers, with further columns, each a function of the row's number."""
    rows = [{k: v for k, v in row.items() if k != "id"} for row in patients()]
    for i, row in enumerate(rows):
        row.update({name: column(i) for name, column in columns.items()})
        row["ill"] = row.pop("ill")  # the last column is the target
    return write_csv(tmp_path / "t.csv", rows)


@pytest.mark.parametrize("command", ["fit", "compare"])
@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {"ill": lambda i: i % 25},
            "--target is 'ill'; expected a column of classes, but it has 25 different numbers, like a quantity, in 60 "
            "rows; make classes of them, or choose another column, or write them as words if each is a class",
        ),
        (
            {"seen": lambda i: f"{1 + i % 28}.{1 + i % 12}.2024 12:30"},
            "column 'seen' holds 60 different dates, each an input of its own; expected numbers or a few categories; "
            "leave it out (--drop seen), or write the dates as 2024-05-31",
        ),
    ],
    ids=["whole numbers", "German dates"],
)
def test_tables_that_are_refused(run, tmp_path: Path, command: str, columns: dict, expected: str) -> None:
    code, out, err = run(command, table_of(tmp_path, **columns))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"marginwise {command}: error: {expected}" in err


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {"ill": lambda i: "once" if i == 7 else "no" if i % 2 else "yes"},
            "class 'once' of 'ill' has one row only, too few to learn from: add rows, or leave it out",
        ),
        (
            {"name": lambda i: f"n{i % 50}"},
            "'name' only names the rows and is not learnt from: hardly any two rows share a word",
        ),
        (
            {"number": lambda i: 3 * i + 1},
            "'number' rises from row to row, like a row number: --drop number unless it is there to be learnt from",
        ),
        (
            {"seen": lambda i: f"2024-0{1 + i % 2}-{1 + i % 20:02}"},
            "column 'seen' holds dates, taken as numbers of days: a weekday or season is not seen unless it is a "
            "column of its own",
        ),
    ],
    ids=["class of one row", "names", "row numbers", "dates"],
)
def test_tables_that_are_warned_about(run, tmp_path: Path, columns: dict, expected: str) -> None:
    code, out, err = run("fit", table_of(tmp_path, **columns), *FIT, "--json")
    assert code == 0
    assert f"warning: {expected}\n" in err
    assert expected in json.loads(out)["warnings"]


def test_many_classes_with_many_rows_are_warned_about(run, tmp_path: Path) -> None:
    rows = [{"a": i % 21, "b": (i * i) % 13, "y": i % 21} for i in range(210)]
    words = ["compare", write_csv(tmp_path / "t.csv", rows), "--criteria", "", "--peers", "logistic", "--folds", 2]
    code, _, err = run(*words)
    expected = "each of the 21 different numbers of 'y' is taken for a class; if it is a quantity, make classes of it"
    assert (code, err) == (0, f"warning: {expected}\n")


def test_a_model_that_learnt_nothing_is_told(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [{"a": float(a), "y": "rare" if i % 5 == 0 else "often"} for i, a in enumerate(rng.normal(size=50).round(3))]
    table = write_csv(tmp_path / "t.csv", rows)
    code, _, err = run("fit", table, *FIT)
    assert code == 0
    assert "the columns as they are do not help to tell the classes apart" in err
    assert "is not clearly below the 0.500 of always predicting the shares of the classes" in err
    assert err.count("\n") == 1
    code, _, err = run("fit", table, *FIT, "--class-weight", "balanced", "--json")
    assert (code, err) == (0, "")


def test_a_table_with_nothing_wrong_has_no_warnings(run, tmp_path: Path) -> None:
    code, out, err = run("fit", table_of(tmp_path), *FIT, "--quiet")
    assert (code, out.count("\n"), err) == (0, 1, "")
    assert out.startswith("t.csv: error ")


def test_class_weight_is_that_of_the_estimator(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from marginwise import TunedSVC

    seen = []
    fit = TunedSVC.fit
    monkeypatch.setattr(
        TunedSVC, "fit", lambda self, *rows, **more: seen.append(self.class_weight) or fit(self, *rows, **more)
    )
    for options in ([], ["--class-weight", "balanced"]):
        assert run("fit", table_of(tmp_path), *FIT, *options)[0] == 0
    assert seen == [None, "balanced"]


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("400,410,kind\n1,2,u\n3,4,v\n", [], "--header is not given; expected yes or no, because the first row of"),
        ("größe,y\n1,u\n2,v\n", [], "--encoding is not given; expected its name, because"),
        ("a;y\n1,234;u\n2,345;v\n", [], "--decimal is not given; expected '.' or ',', because"),
        ("a;y\n1,234;u\n2,345;v\n", ["--decimal", ";"], "--decimal is ';'; expected one of ',', '.'"),
        ("a;y\n1;u\n2;v\n", ["--encoding", "klingon"], "--encoding is 'klingon'; expected a name that Python knows"),
    ],
)
def test_what_must_be_said_is_named_by_its_option(run, tmp_path: Path, content: str, options, expected: str) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(content.encode("latin-1"))
    code, out, err = run("fit", file, *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert expected in err


def test_a_table_from_a_german_spreadsheet(run, tmp_path: Path) -> None:
    rows = patients()
    lines = ["Größe;Gewicht;Urteil", *(f"{r['age']};{r['weight']};{r['ill']}".replace(".", ",") for r in rows)]
    (tmp_path / "t.csv").write_bytes("\r\n".join(lines).encode("latin-1"))
    write_csv(tmp_path / "p.csv", [{"Größe": r["age"], "Gewicht": r["weight"], "Urteil": r["ill"]} for r in rows])
    code, out, err = run("fit", tmp_path / "t.csv", "--encoding", "latin-1", *FIT)
    assert (code, err) == (0, "")
    assert out == run("fit", tmp_path / "p.csv", *FIT)[1].replace("p.csv", "t.csv")


@pytest.mark.parametrize(("said", "rows"), [("yes", 59), ("no", 60)])
def test_header_is_said(run, tmp_path: Path, said: str, rows: int) -> None:
    lines = [f"{r['age']},{r['weight']},{r['ill']}\n" for r in patients()]
    (tmp_path / "t.csv").write_text("".join(lines))
    code, out, _ = run("fit", tmp_path / "t.csv", "--header", said, *FIT)
    assert code == 0
    assert f"t.csv: {rows} rows, 2 inputs" in out


@pytest.mark.parametrize(("ard", "works"), [("1", False), ("0", True)])
def test_a_class_of_one_row_leaves_nothing_to_judge_free_length_scales_by(run, tmp_path: Path, ard, works) -> None:
    rows = [{"a": i % 7, "b": i * i % 11, "y": "rare" if i == 3 else "often"} for i in range(30)]
    code, out, err = run("fit", write_csv(tmp_path / "t.csv", rows), "--no-files", "--ard", ard)
    assert code == (0 if works else 2)
    assert ("expected on new data: error 3.3 %" in out) == works
    assert ("--ard is 1.0; expected auto or 0: without two rows in each of two classes" in err) != works
