"""Cells as people write them: what means missing, limits, percents; the words that say so, and the rows trained on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli_tables import patients, write_csv
from marginwise import load_model

FIT = ["--target", "ill", "--drop", "id", "--ard", "0"]


def table_with(path: Path, cells: dict[int, str], column: str = "age") -> Path:
    """The patients, with some cells of a column written otherwise."""
    rows = patients()
    for i, cell in cells.items():
        rows[i][column] = cell
    return write_csv(path, rows)


@pytest.mark.parametrize("word", ["n/a", "-", "k.A.", "none", "#N/A", "."])
def test_words_for_missing_cells_are_what_empty_cells_are(run, tmp_path: Path, word: str) -> None:
    results = []
    for cell in ("", word):
        table = table_with(tmp_path / "t.csv", dict.fromkeys((3, 17, 40), cell))
        code, out, err = run("fit", table, *FIT, "--no-files", "--json", "--max-evaluations", 5)
        assert code == 0
        results.append(json.loads(out))
    assert results[0]["expected_log_loss"] == results[1]["expected_log_loss"]
    assert f"warning: '{word}' in column 'age' is taken as missing\n" in err
    assert f"'{word}' in column 'age' is taken as missing" in results[1]["warnings"]


def test_limits_and_percents_are_numbers_in_fit_and_predict(run, tmp_path: Path) -> None:
    rows = patients()
    for row in rows:
        row["weight"] = f"{row['weight']:.1f}%"
    rows[5]["age"] = "<-1.5"
    table = write_csv(tmp_path / "t.csv", rows)
    model = tmp_path / "m.skops"
    code, _, err = run("fit", table, *FIT, "-m", model, "-r", tmp_path / "r.html", "--max-evaluations", 3)
    assert code == 0
    assert "'<-1.5' in column 'age' is taken as the limit itself" in err
    assert f"numbers in percent in column 'weight' are taken like '{rows[0]['weight']}' as " in err
    assert [column.kind for column in load_model(model).table_["schema"].columns] == ["number", "number", "category"]
    code, _, err = run("predict", model, table)
    assert code == 0
    assert "'<-1.5' in column 'age' is taken as the limit itself" in err


@pytest.mark.slow
def test_further_words_are_said_in_fit_and_remembered(run, tmp_path: Path) -> None:
    table = table_with(tmp_path / "t.csv", {3: "lost, perhaps", 17: "-999", 40: "-999.0"})
    code, out, err = run("fit", table, *FIT, "--no-files")
    assert (code, out) == (2, "")
    assert "column 'age' holds numbers and 1 other word ('lost, perhaps')" in err
    assert "if the words mean missing: --missing-values '\"lost, perhaps\"'" in err
    said = ["--missing-values", '"lost, perhaps",-999']
    model = tmp_path / "m.skops"
    assert run("fit", table, *FIT, *said, "-m", model, "-r", tmp_path / "r.html", "--max-evaluations", 3)[0] == 0
    rows = patients(3)
    rows[1]["age"] = "-999"
    code, out, _ = run("predict", model, write_csv(tmp_path / "new.csv", rows), "--proba")
    rows[1]["age"] = ""
    assert (code, out) == run("predict", model, write_csv(tmp_path / "new.csv", rows), "--proba")[:2]


def test_a_code_among_numbers_stays_a_category_and_is_told(run, tmp_path: Path) -> None:
    rows = [{**row, "weight": ("1", "2", "A")[i % 3]} for i, row in enumerate(patients())]
    code, _, err = run("fit", write_csv(tmp_path / "t.csv", rows), *FIT, "--no-files", "--max-evaluations", 3)
    assert code == 0
    assert "column 'weight' is taken as categories, because 'A' is among its numbers" in err


def test_gaps_in_other_words_are_refused_as_gaps(run, tmp_path: Path) -> None:
    table = table_with(tmp_path / "t.csv", {3: "n/a"})
    code, _, err = run("fit", table, *FIT, "--no-files", "--missing", "refuse")
    assert code == 2
    assert "1 of its cells are missing: row 5 column 'age'" in err


def test_columns_to_drop_can_be_listed_and_pasted(run, tmp_path: Path) -> None:
    rows = [{"sample id": row.pop("id"), "note, free": "x", **row} for row in patients()]
    table = write_csv(tmp_path / "t.csv", rows)
    words = ["fit", table, "--target", "ill", "--ard", "0", "--no-files", "-q", "--max-evaluations", 3]
    err = run(*words)[2]
    assert "'sample id' only names the rows" in err
    code, out, _ = run(*words, "--drop", 'sample id,"note, free"')
    assert code == 0
    assert (code, out) == run(*words, "--drop", "sample id", "--drop", '"note, free"')[:2]


@pytest.mark.slow
def test_rows_that_were_trained_on_are_no_measure(run, tmp_path: Path) -> None:
    table, model = write_csv(tmp_path / "t.csv", patients()), tmp_path / "m.skops"
    assert run("fit", table, *FIT, "-m", model, "-r", tmp_path / "r.html", "--max-evaluations", 3)[0] == 0
    expected = load_model(model).expected_error_
    code, out, err = run("predict", model, table, "--json")
    assert code == 0
    assert "warning: the model was trained on all of these rows, so its error on them is too low: expect " in err
    assert f"expect {100 * expected:.1f} % on new data" in err
    assert json.loads(out)["training_rows"] == 1.0
    mixed = write_csv(tmp_path / "mixed.csv", [*patients()[:10], *patients(30, seed=1)])
    assert "was trained on 25.0 % of these rows" in run("predict", model, mixed)[2]
    new = write_csv(tmp_path / "new.csv", patients(30, seed=1))
    assert "trained on" not in run("predict", model, new)[2]


def test_a_sketch_of_many_rows_tells_the_share() -> None:
    from marginwise.cli.training_rows import TrainingRows

    rng = np.random.default_rng(0)
    known, new = rng.normal(size=(20_000, 3)), rng.normal(size=(5_000, 3))
    rows = TrainingRows.of(known, most=2000)
    assert (len(rows.hashes), rows.complete) == (2000, False)
    assert rows.share(known) == 1.0
    assert rows.share(new) == 0.0
    assert rows.share(np.vstack([known[:5000], new])) == pytest.approx(0.5, abs=0.05)
