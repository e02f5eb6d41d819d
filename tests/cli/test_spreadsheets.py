"""Tables as spreadsheets have them: titles, names of patients, empty labels, Excel files in and out."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from cli_tables import patients, write_csv
from marginwise import load_table
from marginwise.errors import InvalidInputError

FIT = ["--target", "ill", "--ard", 0]


def write_xlsx(path: Path, rows: list[dict[str, Any]], above: tuple[str, ...] = ()) -> Path:
    """Write rows below some lines of text, on the first of two sheets."""
    book = openpyxl.Workbook()
    sheet = book.active
    for line in above:
        sheet.append([line] if line else [])
    sheet.append(list(rows[0]))
    for row in rows:
        sheet.append(list(row.values()))
    book.create_sheet("notes").append(["nothing", "here"])
    book.save(path)
    return path


def as_numbers(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows, numbers as such."""

    def number(text: Any) -> Any:
        try:
            return float(text)
        except (TypeError, ValueError):
            return text

    return [{name: number(cell) for name, cell in row.items()} for row in rows]


def test_an_excel_file_is_the_same_table_as_a_csv_file(tmp_path: Path) -> None:
    rows = patients()
    plain = load_table(write_csv(tmp_path / "t.csv", rows), "ill")
    for above in ((), ("Ward 7", "")):
        file = write_xlsx(tmp_path / "t.xlsx", as_numbers(rows), above)
        sheet = load_table(file, "ill", skip=len(above))
        assert sheet.feature_names == plain.feature_names
        assert sheet.X.tolist() == plain.X.tolist()
        assert sheet.y.tolist() == plain.y.tolist()
    titled = write_csv(tmp_path / "titled.csv", rows)
    titled.write_text("Ward 7; all of them\n\n" + titled.read_text(encoding="utf-8"), encoding="utf-8")
    assert load_table(titled, "ill", skip=2).X.tolist() == plain.X.tolist()


def test_cells_of_excel_are_what_they_look_like(tmp_path: Path) -> None:
    rows = [
        {"seen": datetime.date(2024, 5, 1 + i), "code": 7, "x": 0.1 + i, "flag": bool(i % 2), "y": f"k{i % 2}"}
        for i in range(4)
    ]
    rows[1]["x"] = "#DIV/0!"
    rows[2]["x"] = None
    table = load_table(write_xlsx(tmp_path / "t.xlsx", rows))
    assert table.dates == ("seen",)
    assert [cell != cell for cell in table.X[:, 2].astype(float)] == [False, True, True, False]
    assert table.X[0, 2] == 0.1
    assert set(table.categories["flag"]) == {"True", "False"}


def test_sheets_and_what_no_other_file_has(tmp_path: Path) -> None:
    file = write_xlsx(tmp_path / "t.xlsx", patients())
    assert load_table(file, "ill", sheet="Sheet").y.tolist() == load_table(file, "ill", sheet=1).y.tolist()
    with pytest.raises(InvalidInputError, match=r"sheet is 'march'; expected one of the sheets 'Sheet', 'notes'"):
        load_table(file, "ill", sheet="march")
    plain = write_csv(tmp_path / "t.csv", patients())
    with pytest.raises(InvalidInputError, match="no Excel file"):
        load_table(plain, "ill", sheet="march")
    with pytest.raises(InvalidInputError, match="skip is -1"):
        load_table(plain, "ill", skip=-1)
    broken = tmp_path / "broken.xlsx"
    broken.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(InvalidInputError):
        load_table(broken, "ill")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with patients in Excel, two without a label, and what a fit wrote of them."""
    from marginwise.cli import main

    folder = tmp_path_factory.mktemp("ward")
    rows = [{"id": f"P-{i:03}"} | {k: v for k, v in row.items() if k != "id"} for i, row in enumerate(patients())]
    rows[3]["ill"] = rows[40]["ill"] = ""
    table = write_xlsx(folder / "patients.xlsx", as_numbers(rows))
    files = ["-m", folder / "m.skops", "-r", folder / "r.html"]
    words = ["fit", table, *FIT, *files, "--positive", "no", "--plots", "svg", "--quiet"]
    assert main([str(word) for word in words]) == 0
    return folder


def test_rows_without_a_label_and_names_of_rows_are_set_aside(run, fitted: Path) -> None:
    code, out, err = run("fit", fitted / "patients.xlsx", *FIT, "--no-files", "--json")
    assert code == 0
    assert "warning: 2 rows without 'ill' left out: rows 4, 41\n" in err
    assert "warning: 'id' only names the rows and is not learnt from" in err
    found = json.loads(out)
    assert found["rows"] == 58
    assert "id" not in found["relevances"]
    for row in found["uncertain_rows"]:
        assert row["names"] == [f"P-{number - 1:03}" for number in row["rows"]]
    assert any(number > 41 for row in found["uncertain_rows"] for number in row["rows"])
    page = (fitted / "r.html").read_text(encoding="utf-8")
    assert f">{found['uncertain_rows'][0]['names'][0]}<" in page
    assert "to find 95 % of no" in page
    assert len(list((fitted / "r-plots").glob("*.svg"))) == page.count("<figure>")
    code, _, err = run("fit", fitted / "patients.xlsx", *FIT, "--no-files", "--missing", "refuse")
    assert code == 2
    assert "row 5 column 'ill'" in err


def test_a_report_of_a_model_is_that_of_its_fit(run, fitted: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("report", fitted / "m.skops", "--positive", "no")[:2] == (0, "report m.html\n")
    again, first = (
        (folder / name).read_text(encoding="utf-8") for folder, name in ((tmp_path, "m.html"), (fitted, "r.html"))
    )
    for section in ("How far to trust it", "Rows to look at again"):  # from the same numbers
        assert again.split(section)[2].split("<h2")[0] == first.split(section)[2].split("<h2")[0]
    code, _, err = run("report", fitted / "m.skops", "--positive", "perhaps", "--force")
    assert code == 2
    assert "--positive is 'perhaps'; expected one of the classes no, yes" in err
    assert "it exists" in run("report", fitted / "m.skops")[2]


def test_predictions_go_to_excel_and_back(run, fitted: Path, tmp_path: Path) -> None:
    words = ["predict", fitted / "m.skops", fitted / "patients.xlsx", "--proba", "--quiet"]
    out = run(*words)[1]
    plain = list(csv.DictReader(out.splitlines()))
    assert run(*words, "-o", tmp_path / "p.xlsx")[0] == 0
    sheet = openpyxl.load_workbook(tmp_path / "p.xlsx").active
    header, *rows = sheet.iter_rows(values_only=True)
    assert list(header) == list(plain[0])
    assert [row[0] for row in rows] == [row["id"] for row in plain]
    assert all(isinstance(row[2], float) for row in rows)
    assert [row[2] for row in rows] == [float(row["p(no)"]) for row in plain]
    assert run(*words, "-o", tmp_path / "p.csv", "--output-format", "csv-semicolon")[0] == 0
    raw = (tmp_path / "p.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbfid;prediction;")
    assert raw.count(b"\r\n") == 61
    german = load_table(tmp_path / "p.csv", "prediction")
    assert german.X[:, 1].astype(float).tolist() == [row[2] for row in rows]
    code, _, err = run(*words, "--output-format", "xlsx")
    assert code == 2
    assert "--output predictions.xlsx" in err


def test_no_cell_becomes_a_formula(run, fitted: Path, tmp_path: Path) -> None:
    rows = [dict(row, id=f'=HYPERLINK("http://x{i}")') for i, row in enumerate(patients()[:3])]
    new = write_csv(tmp_path / "new.csv", rows)
    assert run("predict", fitted / "m.skops", new, "-o", tmp_path / "p.xlsx", "--quiet")[0] == 0
    cell = openpyxl.load_workbook(tmp_path / "p.xlsx").active["A2"]
    assert (cell.data_type, cell.value) == ("s", '=HYPERLINK("http://x0")')


def test_values_far_outside_training_are_pointed_out(run, fitted: Path, tmp_path: Path) -> None:
    rows = patients()[:5]
    code, _, err = run("predict", fitted / "m.skops", write_csv(tmp_path / "near.csv", rows))
    assert code == 0
    assert "far outside" not in err
    rows[2]["weight"] = 70_000
    code, out, err = run("predict", fitted / "m.skops", write_csv(tmp_path / "far.csv", rows), "--json")
    assert code == 0
    assert "warning: 1 value far outside the training range: weight = 70000 in row 3 (training: " in err
    (cell,) = json.loads(out)["far_outside"]
    assert (cell["row"], cell["column"]) == (3, "weight")
    many = [dict(row, age=float(row["age"]) + 60 if row["age"] else 150, weight=5) for row in patients()[:30]]
    err = run("predict", fitted / "m.skops", write_csv(tmp_path / "many.csv", many))[2]
    assert "of 30 rows unlike the training rows, the prediction is a guess: rows " in err
