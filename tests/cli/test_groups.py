"""``--groups``: rows that belong together, on the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from sklearn.datasets import dump_svmlight_file

from cli_tables import write_csv
from grouped import grouped_rows
from marginwise import TunedSVC, load_table
from marginwise.cli.model_file import write_model
from marginwise.errors import InvalidInputError

X, Y, GROUPS = grouped_rows(30, 6, seed=3)
FIT = ["--target", "ill", "--ard", "0"]


def table(path: Path, name: str = "patient", drop: tuple[str, ...] = ()) -> Path:
    """Visits of patients, in no order, whose names are numbers and words."""
    rows = [
        {name: f"p{group}" if group % 2 else group, "a": x[0].round(4), "b": x[1].round(4), "ill": int(y)}
        for group, x, y in zip(GROUPS, X, Y, strict=True)
    ]
    rows = [{key: cell for key, cell in row.items() if key not in drop} for row in rows[::7] + rows]
    return write_csv(path, rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and the model that ``fit`` would make of it; its report takes longer."""
    folder = tmp_path_factory.mktemp("groups")
    visits = load_table(table(folder / "visits.csv"), "ill", groups="patient")
    model = TunedSVC(0, random_state=0).fit(visits.X, visits.y, groups=visits.groups)
    write_model(model, visits, folder / "visits.skops")
    return folder


def test_what_is_expected_is_that_on_new_groups(run, folder: Path) -> None:
    arguments = ["fit", folder / "visits.csv", *FIT, "--no-files"]
    code, out, err = run(*arguments, "--groups", "patient")
    assert (code, err) == (0, "")
    assert "206 rows, 2 inputs; ill is" in out
    assert "expected on new groups (30 groups): error" in out
    grouped, loose = (json.loads(run(*arguments, "--json", *more)[1]) for more in (["-g", "patient"], ["--drop", 0]))
    assert (grouped["groups"], loose["groups"]) == (30, None)
    assert grouped["expected_error"] > loose["expected_error"] + 0.05


@pytest.mark.slow
def test_reports_speak_of_groups(run, folder: Path) -> None:
    files = ["--model", folder / "other.skops", "--report", folder / "first.html"]
    assert run("fit", folder / "visits.csv", *FIT, "--groups", "patient", *files)[0] == 0
    assert run("report", folder / "visits.skops", "--output", folder / "again.html")[0] == 0
    for page in ("first.html", "again.html"):
        assert "error expected on new groups (30 groups), ±" in (folder / page).read_text(encoding="utf-8")


def test_groups_are_no_input_and_not_needed_to_predict(run, folder: Path, tmp_path: Path) -> None:
    there = run("predict", folder / "visits.skops", folder / "visits.csv", "--json")
    gone = run("predict", folder / "visits.skops", table(tmp_path / "new.csv", drop=("patient",)), "--json")
    renamed = run("predict", folder / "visits.skops", table(tmp_path / "renamed.csv", name="who"), "--json")
    found = [json.loads(out) for _, out, _ in (there, gone, renamed)]
    assert found[0]["predictions"] == found[1]["predictions"] == found[2]["predictions"]
    assert found[0]["unused"] == ["patient"]
    assert "columns that the model does not use: patient" in there[2]
    assert "so its error on them is too low: expect" in there[2]
    assert "on new groups" in there[2]


def test_a_column_that_seems_to_name_groups_is_pointed_at(run, folder: Path, tmp_path: Path) -> None:
    _, _, err = run("fit", folder / "visits.csv", *FIT, "--no-files", "--quiet")
    assert "'patient' seems to say which rows belong together: --groups patient leaves these out together" in err
    _, _, err = run("fit", folder / "visits.csv", *FIT, "--no-files", "--groups", "patient")
    assert "belong together" not in err
    for name, said in (("PatientID", True), ("household size", False), ("idle", False)):
        _, _, err = run("fit", table(tmp_path / "t.csv", name=name), *FIT, "--no-files", "--drop", "a", "--quiet")
        assert ("seems to say which rows belong together" in err) == said


def test_words_that_follow_each_other_are_pointed_at(run, tmp_path: Path) -> None:
    rows = [
        {"plot": f"field {k}", "soil": "clay" if k % 2 else "sand", "x": i, "kind": "ab"[(i + k) % 2]}
        for k in range(24)
        for i in range(3)
    ]
    path = write_csv(tmp_path / "plots.csv", rows)
    _, _, err = run("fit", path, "--no-files", "--ard", 0)
    assert "'plot' seems to say which rows belong together: --groups plot" in err
    assert "'soil' seems" not in err


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("p,x,y\n1,2,a\n,3,b\n2,3,b\n", {}, "a group for each row, but 1 of its cells are missing: row 3 column 'p'"),
        ("p,x,y\n1,2,a\n2,3,b\n", {"groups": "q"}, "groups is 'q'; expected"),
        ("p,x,y\n1,2,a\n2,3,b\n", {"groups": "y"}, "groups is 'y'; expected another column than the target"),
        ("p,y\n1,a\n2,b\n", {}, "at least one column in addition to the target"),
        ("p,x,y\n1,2,a\n-9,3,b\n", {"missing_values": ["-9"]}, "row 3 column 'p'"),
    ],
    ids=["missing", "unknown", "target", "no input", "missing by its word"],
)
def test_columns_that_name_no_groups(tmp_path: Path, content: str, options: dict, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidInputError) as error:
        load_table(path, "y", **{"groups": "p"} | options)
    assert words in str(error.value)


def test_libsvm_files_have_no_column_to_name(tmp_path: Path) -> None:
    dump_svmlight_file(X, Y, str(tmp_path / "t.libsvm"))
    with pytest.raises(InvalidInputError, match="groups is 'p'; expected nothing"):
        load_table(tmp_path / "t.libsvm", groups="p")


def test_groups_are_read_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("p,x,y\n01,2,a\n1,3,b\n01,4,\n1,5,b\n", encoding="utf-8")
    read = load_table(path, "y", groups="p")
    assert len(read.groups) == 3  # the row without a label is left out
    assert read.groups[1] == read.groups[2]
    assert read.feature_names == ("x",)
    assert load_table(path, "y").groups == ()


def test_comparisons_keep_groups_together(run, folder: Path) -> None:
    arguments = ["compare", folder / "visits.csv", "--target", "ill", "--groups", "patient", "--criteria", "auto"]
    code, out, err = run(*arguments, "--peers", "logistic", "--folds", 3)
    assert (code, err) == (0, "")
    assert "206 rows, 2 inputs, target ill; 3 folds, 30 groups on one side each" in out
    assert {line.split()[0] for line in out.splitlines()[3:5]} == {"TunedSVC", "logistic"}


@pytest.mark.slow
def test_groups_held_out_once(run, folder: Path) -> None:
    arguments = ["compare", folder / "visits.csv", "--target", "ill", "--criteria", "", "--peers", "forest"]
    apart, mixed = (
        json.loads(run(*arguments, *more, "--test-fraction", 0.3, "--json")[1])
        for more in (["--groups", "patient"], ["--drop", "patient"])
    )
    assert 40 < apart["test_rows"] < 80  # 9 of 30 groups with 6 or 7 rows each
    assert apart["methods"][0]["error"] > mixed["methods"][0]["error"] + 0.05


def test_predictions_can_be_piped_without_the_groups(run, folder: Path) -> None:
    code, out, _ = run("predict", folder / "visits.skops", folder / "visits.csv", "--keep", "patient")
    assert code == 0
    assert next(csv.reader(out.splitlines())) == ["patient", "prediction"]
