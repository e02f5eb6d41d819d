"""``marginwise fit`` and ``predict``: what users get, and what they are told when something is wrong."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_iris

from cli_tables import patients, write_csv
from marginwise import TunedSVC, load_table, save_model
from marginwise.cli import main
from marginwise.errors import TableWarning
from marginwise.saving import FORMAT
from tiers import first_quick

FAST = ["--ard", "0", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and the model and report that ``fit`` makes of it."""
    folder = tmp_path_factory.mktemp("cli")
    table = write_csv(folder / "patients.csv", patients())
    files = ["--model", str(folder / "patients.skops"), "--report", str(folder / "patients.html")]
    assert main(["fit", str(table), "--target", "ill", "--drop", "id", "--ard", "1", *files]) == 0
    return folder


def refused(run, *words: object, code: int = 2) -> str:
    """Return the one line that a mistake is answered with."""
    found, out, err = run(*words)
    assert found == code
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"marginwise {words[0]}: error: ")
    return err


def test_summary_tells_what_was_found(run, folder: Path) -> None:
    code, out, err = run("fit", folder / "patients.csv", "--target", "ill", "--drop", "id", "--no-files", "--ard", 1)
    assert (code, err) == (0, "")
    assert "patients.csv: 60 rows, 3 inputs; ill is no (" in out
    assert "expected on new data: error " in out
    assert "yes against no" in out
    influences, relevances = out.split("influence: ")[1].split("relevance: ")
    assert [line.split()[0] for line in influences.splitlines()[1:4]][-1] == "weight"
    assert {line.split()[0] for line in relevances.splitlines()[1:4]} == {"age", "weight", "place"}


def test_one_length_scale_has_relevances_too(run, folder: Path) -> None:
    words = ["fit", folder / "patients.csv", "--target", "ill", "--drop", "id", "--no-files", "--ard", 0]
    values = [float(line.split()[1]) for line in run(*words)[1].split("relevance: ")[1].splitlines()[1:4]]
    assert max(values) > 2 * min(values)


def test_json_is_alone_on_standard_output_and_is_the_model(run, folder: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = run("fit", folder / "patients.csv", "-t", "ill", "--drop", "id", "--json", "--ard", 0, "--seed", 3)
    assert code == 0
    result = json.loads(out)
    table = load_table(folder / "patients.csv", "ill", drop=["id"])
    model = TunedSVC(0.0, random_state=3).fit(table.X, table.y)
    assert result["members"][0]["hyperparameters"]["C"] == model.C_
    assert result["expected_error"] == model.expected_error_
    assert list(result["relevances"].values()) == model.feature_importances_.tolist()
    assert result["classes"] == {"no": int((table.y == "no").sum()), "yes": int((table.y == "yes").sum())}
    assert (result["model"], result["report"]) == ("patients.skops", "patients.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["patients.html", "patients.skops"]


def test_predictions_are_those_of_the_model(run, folder: Path, tmp_path: Path) -> None:
    rows = patients(20, seed=1)
    shuffled = [{name: row[name] for name in ("ill", "place", "note", "weight", "age") if name in row} for row in rows]
    new = write_csv(tmp_path / "new.csv", shuffled)
    code, out, err = run("predict", folder / "patients.skops", new, "--proba")
    assert code == 0
    table = load_table(folder / "patients.csv", "ill", drop=["id"])
    model = TunedSVC(1.0, random_state=0).fit(table.X, table.y)
    X = np.array([[r["age"], r["weight"], r["place"]] for r in rows], dtype=object)
    found = list(csv.DictReader(io.StringIO(out)))
    assert [row["prediction"] for row in found] == model.predict(X).tolist()
    np.testing.assert_allclose([float(r["p(yes)"]) for r in found], model.predict_proba(X)[:, 1], rtol=1e-4)
    error = 100 * np.mean([a["prediction"] != b["ill"] for a, b in zip(found, rows, strict=True)])
    assert err == f"the table also has 'ill': error {error:.1f} % of 20 rows, log-loss {err.split()[-1]}\n"


def test_predictions_without_target_and_with_other_columns(run, folder: Path, tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "ill"} for row in patients(5, seed=1)]
    new = write_csv(tmp_path / "new.csv", rows)
    code, out, err = run("predict", folder / "patients.skops", new)
    assert code == 0
    found = list(csv.DictReader(io.StringIO(out)))
    assert [(*row,) for row in found] == [("id", "prediction")] * 5
    assert [row["id"] for row in found] == [row["id"] for row in rows]
    assert {row["prediction"] for row in found} <= {"yes", "no"}
    assert err == ""
    code, out, err = run("predict", folder / "patients.skops", new, "--keep", "")
    assert (code, err) == (0, "columns that the model does not use: id\n")
    assert out.splitlines()[0] == "prediction"
    code, out, err = run("predict", folder / "patients.skops", new, "--json", "--proba", "--quiet")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["classes"] == ["no", "yes"]
    np.testing.assert_allclose(np.sum(result["probabilities"], axis=1), 1.0)
    assert result["error"] is None


def test_quiet_silences_remarks_and_no_warnings(run, folder: Path, tmp_path: Path) -> None:
    new = write_csv(tmp_path / "new.csv", [{**row, "age": 1e6} for row in patients(1, seed=1)])
    remark, warning = "the table also has 'ill': error", "warning: 1 value far outside the training range: age"
    _, _, err = run("predict", folder / "patients.skops", new)
    assert remark in err
    assert warning in err
    _, _, err = run("predict", folder / "patients.skops", new, "--quiet")
    assert remark not in err
    assert warning in err


def test_columns_are_carried_through(run, folder: Path, tmp_path: Path) -> None:
    rows = [{**row, "note": "ab"[i % 2], "prediction": i} for i, row in enumerate(patients(5, seed=1))]
    predict = ["predict", folder / "patients.skops", write_csv(tmp_path / "new.csv", rows), "--quiet"]
    assert run(*predict)[1].splitlines()[0] == "id,prediction"
    found = list(csv.reader(io.StringIO(run(*predict, "--keep", "note,age, ill,0", "--proba")[1])))
    assert found[0] == ["note", "age", "ill", "id", "prediction", "p(no)", "p(yes)"]
    assert [row[:4] for row in found[1:]] == [[row["note"], str(row["age"]), row["ill"], row["id"]] for row in rows]
    assert json.loads(run(*predict, "--keep", "note", "--json")[1])["kept"] == {"note": [*"ababa"]}
    assert "--keep is 'notes'; expected one of the columns" in refused(run, *predict, "--keep", "notes")
    assert "(did you mean 'note'?)" in refused(run, *predict, "--keep", "notes")
    assert "--keep is 'prediction'; expected a column of another name" in refused(run, *predict, "-k", "prediction")


def test_a_class_that_training_had_not_counts_as_an_error(run, folder: Path, tmp_path: Path) -> None:
    rows = [{**row, "ill": "perhaps"} for row in patients(5, seed=1)]
    code, out, _ = run("predict", folder / "patients.skops", write_csv(tmp_path / "new.csv", rows), "--json")
    assert code == 0
    assert (json.loads(out)["error"], json.loads(out)["log_loss"]) == (1.0, None)


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_formats_give_the_same(run, folder: Path, tmp_path: Path, suffix: str) -> None:
    table = tmp_path / f"new{suffix}"
    rows = patients(20, seed=1)
    if suffix == ".parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        pyarrow = pytest.importorskip("pyarrow")
        parquet.write_table(pyarrow.Table.from_pylist(rows), table)
    else:
        content = write_csv(tmp_path / "plain.csv", rows).read_bytes()
        table.write_bytes(gzip.compress(content) if suffix.endswith(".gz") else content)
    expected = run("predict", folder / "patients.skops", write_csv(tmp_path / "other.csv", rows), "-q", "-p")
    assert run("predict", folder / "patients.skops", table, "-q", "-p") == expected
    assert expected[0] == 0


@pytest.mark.slow
def test_libsvm_with_three_classes(run, tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    dump_svmlight_file(X[::3], y[::3], str(tmp_path / "train.svm"), zero_based=False)
    dump_svmlight_file(np.hstack([X[1::9, :3], 0 * X[1::9, :1]]), y[1::9], str(tmp_path / "new.svm"), zero_based=False)
    model, report = tmp_path / "m.skops", tmp_path / "r.html"
    code, out, _ = run("fit", tmp_path / "train.svm", "-m", model, "-r", report, "--ard", 0)
    assert code == 0
    assert "all 3" in out
    code, out, err = run("predict", model, tmp_path / "new.svm", "--proba")
    assert code == 0
    assert out.splitlines()[0] == "prediction,p(0),p(1),p(2)"
    assert len(out.splitlines()) == 1 + len(y[1::9])
    assert "the table has 'label', too" in err


def test_table_from_standard_input_and_columns_by_position(run, folder: Path) -> None:
    code, out, _ = run("fit", folder / "patients.csv", "--target", "-1", "--drop", 0, "--no-files", "--ard", 0)
    assert code == 0
    assert "ill is no" in out


@pytest.mark.parametrize(
    ("text", "options", "part"),
    [
        (None, [], "t.csv: expected an existing file; check the spelling"),
        ("", [], "it is empty"),
        ("a,y\n", [], "at least one row below the header"),
        ("a,b,y\n1,2,0\n3,4\n", [], "row 3 has 2"),
        ("a,y\n1,0\n2,1\n", ["--target", "z"], "--target is 'z'; expected one of the columns 'a', 'y'"),
        ("a,y\n1,0\n2,1\n", ["--drop", "z"], "--drop is 'z'; expected one of the columns 'a', 'y'"),
        ("a,y\n1,0\n2,1\n", ["--drop", "a"], "at least one column in addition to the target"),
        ("a,y\n1,0\n2,1\n", ["--delimiter", "::"], "--delimiter is '::'"),
        ("a,y\n1,0\n2,0\n", [], "--target is 'y'; expected a column with two or more classes, but it is 0 in every"),
        (
            "a,y\n1,0.1\n2,0.2\n3,0.3\n",
            [],
            "a column of classes, but it has 3 different numbers, like a quantity,",
        ),
        ("a,y\n1,ann\n2,bob\n3,cy\n", [], "expected a column of classes"),
        ("a,y\n1,0\n,1\n", ["--missing", "refuse"], "missing: row 3 column 'a'"),
        (
            "a,y\n" + "".join(f"name{i},{i % 2}\n" for i in range(150)),
            [],
            "t.csv: expected a column to learn from, but 'a' only names the rows",
        ),
        ("a,y\n1,0\n2,1\n", ["--criterion", "magic"], "--criterion is 'magic'; expected one of 'cross-validation'"),
        ("a,y\n1,0\n2,1\n", ["--criterion", "kwok-evidence", "--slack", "quadratic"], "slack"),
        ("a,y\n1,0\n2,1\n2,0\n1,1\n", ["--ard", "-1"], "--ard is -1.0"),
        ("a,y\n1,0\n2,1\n2,0\n1,1\n", ["--restarts", "-1"], "--restarts is -1"),
    ],
)
def test_mistakes_in_a_call_of_fit(run, tmp_path: Path, monkeypatch, text, options, part) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("t.csv").write_text(text)
    assert part in refused(run, "fit", "t.csv", *options)
    assert [path.name for path in tmp_path.iterdir()] == ([] if text is None else ["t.csv"])


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--seed", "-1"], "argument --seed: '-1' is not a whole number"),
        (["--jobs", "0"], "argument --jobs/-j: '0' is neither a number of processes nor -1"),
        (["--ard", "much"], "argument --ard: 'much' is neither a number nor auto"),
        (["--slack", "cubic"], "argument --slack: invalid choice"),
        (["--no-such"], "unrecognized arguments: --no-such"),
    ],
)
def test_mistyped_options_show_the_usage(run, options, part) -> None:
    code, out, err = run("fit", "t.csv", *options)
    assert (code, out) == (2, "")
    assert err.startswith("usage: marginwise")
    assert part in err.splitlines()[-1]


@pytest.mark.parametrize("option", first_quick(["--report", "--model"]))
def test_files_are_replaced_only_when_told(run, folder: Path, tmp_path: Path, option: str) -> None:
    table, out = folder / "patients.csv", tmp_path / "out"
    out.write_text("mine")
    other = {"--model": "--report", "--report": "--model"}[option]
    words = ["fit", table, "-t", "ill", "--drop", "id", option, out, other, tmp_path / "other", *FAST]
    assert f"{option} is '{out}'; expected a new file, but it exists" in refused(run, *words)
    assert out.read_text() == "mine"
    assert not (tmp_path / "other").exists()
    assert run(*words, "--force") == (0, "", "")
    assert out.read_bytes() != b"mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "out"]


def test_places_that_cannot_be_written_to(run, folder: Path, tmp_path: Path) -> None:
    fit = ["fit", folder / "patients.csv", "-t", "ill", "--report", tmp_path / "r.html"]
    assert "make" in refused(run, *fit, "--model", tmp_path / "no" / "m.skops")
    assert "it is a folder" in refused(run, *fit, "--model", tmp_path)
    assert "another file than the model" in refused(run, *fit, "--model", tmp_path / "r.html")
    assert f"but {folder / 'patients.csv'} is not a folder" in refused(run, *fit, "-m", folder / "patients.csv" / "m")
    assert f"but {folder / 'patients.csv'} is not a folder" in refused(
        run, *fit, "-m", folder / "patients.csv" / "new" / "m"
    )
    assert "a path that can be written to, but it cannot (File name too long)" in refused(run, *fit, "-m", "m" * 300)
    if Path("/dev/null").is_char_device():
        assert "a plain file" in refused(run, *fit, "--model", "/dev/null", "--force")
    predict = ["predict", folder / "patients.skops", folder / "patients.csv"]
    assert "first" in refused(run, *predict, "--output", tmp_path / "no" / "p.csv")


@pytest.mark.parametrize("exists", [False, True])
def test_a_folder_that_takes_no_files_is_found_before_the_fit(
    run, folder: Path, tmp_path: Path, monkeypatch, exists: bool
) -> None:
    out = tmp_path / "out"
    if exists:  # the file could be written to, but not replaced in one step
        out.write_text("mine")

    def refuse(*arguments: object, **options: object) -> None:  # rights do not bind a superuser
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    monkeypatch.setattr("marginwise.cli.fit.read_table", pytest.fail)
    expected = f"is '{out}'; expected a path that can be written to, but it cannot (Permission denied); choose another"
    for words in (
        ["fit", folder / "patients.csv", "--model", out],
        ["predict", folder / "patients.skops", folder / "patients.csv", "--output", out],
        ["compare", folder / "patients.csv", "--report", out],
        ["datasets", "crabs", "--output", out],
    ):
        assert expected in refused(run, *words, "--force")


@pytest.mark.slow
def test_long_names_are_written(run, folder: Path, tmp_path: Path) -> None:
    model = tmp_path / ("m" * 250)
    words = ["fit", folder / "patients.csv", "-t", "ill", "--drop", "id", "-m", model, "-r", tmp_path / "r", *FAST]
    assert run(*words) == (0, "", "")
    assert run("predict", model, folder / "patients.csv", "--quiet")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [model.name, "r"]


def test_model_and_report_are_two_files(run, folder: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["fit", folder / "patients.csv", "-t", "ill", "--model", "one", "--report", "./other/../one"]
    (tmp_path / "other").mkdir()
    assert "another file than the model" in refused(run, *words)


def test_what_is_read_is_never_written(run, folder: Path) -> None:
    table, model = folder / "patients.csv", folder / "patients.skops"
    before = table.read_bytes(), model.read_bytes()
    assert "than what is read" in refused(run, "fit", table, "--model", table, "--report", folder / "n", "--force")
    assert "than what is read" in refused(run, "fit", table, "--model", folder / "n", "--report", table, "--force")
    assert "than what is read" in refused(run, "predict", model, table, "--output", table, "--force")
    assert "than what is read" in refused(run, "predict", model, table, "--output", model, "--force")
    assert before == (table.read_bytes(), model.read_bytes())


def test_predictions_in_a_file(run, folder: Path, tmp_path: Path) -> None:
    words = ["predict", folder / "patients.skops", folder / "patients.csv", "--output", tmp_path / "p.csv"]
    code, out, err = run(*words)
    assert (code, out) == (0, "")
    assert f"60 predictions written to {tmp_path / 'p.csv'}" in err
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 61
    assert "it exists" in refused(run, *words)


def test_mistakes_in_a_call_of_predict(run, folder: Path, tmp_path: Path) -> None:
    model = folder / "patients.skops"
    new = tmp_path / "new.csv"
    new.write_text("age,place\n1,town\n")
    assert "new.csv: expected all 3 columns that the model was trained on, but 'weight' is missing" in refused(
        run, "predict", model, new
    )
    new.write_text("age,weight,place\n1,2,moon\n")
    assert (
        "'place' has values that did not occur in training, each a category of its own: moon\n"
        in run("predict", model, new)[2]
    )
    new.write_text("age,weight,place\n1,,town\n")
    assert "row 2 column 'weight'" in refused(run, "predict", model, new, "--missing", "refuse")
    assert run("predict", model, new)[0] == 0
    new.write_text("age,weight,place\nold,2,town\n")
    assert "words are in row 2 column 'age'" in refused(run, "predict", model, new)
    assert "nowhere.csv: expected an existing file" in refused(run, "predict", model, tmp_path / "nowhere.csv")
    assert "nowhere.skops" in refused(run, "predict", tmp_path / "nowhere.skops", new)
    assert "is not a model file" in refused(run, "predict", new, new)


def test_models_from_python_know_their_words_and_dates(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"code": rng.integers(0, 3, 40), "word": rng.choice(["u", "v"], 40)})
    table["level"] = pd.Categorical(rng.choice(["lo", "hi"], 40), ["lo", "hi"], ordered=True)
    table["when"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, 40), "D")
    y = np.where((table["word"] == "u") ^ (rng.random(40) < 0.1), "yes", "no")
    with pytest.warns(TableWarning, match="holds dates"):
        model = TunedSVC(0.0, random_state=0).fit(table, y)
    save_model(model, tmp_path / "m.skops")
    table.to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = run("predict", tmp_path / "m.skops", tmp_path / "t.csv", "--proba")
    assert code == 0
    found = [float(row["p(yes)"]) for row in csv.DictReader(io.StringIO(out))]
    np.testing.assert_allclose(found, model.predict_proba(table)[:, 1], rtol=1e-4)


def test_changed_model_file_is_refused(run, folder: Path, tmp_path: Path) -> None:
    content = bytearray((folder / "patients.skops").read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "m.skops").write_bytes(content)
    assert "damaged or changed" in refused(run, "predict", tmp_path / "m.skops", folder / "patients.csv")
    written = f"marginwise-model {FORMAT} ".encode()
    newer = (folder / "patients.skops").read_bytes().replace(written, b"marginwise-model 99 ", 1)
    (tmp_path / "m.skops").write_bytes(newer)
    assert "a newer marginwise" in refused(run, "predict", tmp_path / "m.skops", folder / "patients.csv")


@pytest.mark.parametrize("names", [["age", "weight"], None])
def test_models_saved_from_python_predict_too(run, folder: Path, tmp_path: Path, names) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    if names is not None:
        X = pytest.importorskip("pandas").DataFrame(X, columns=names)
    save_model(TunedSVC(0.0, random_state=0).fit(X, y), tmp_path / "m.skops")
    table = folder / "patients.csv"
    if names is None:
        assert "'x1', 'x2' are missing" in refused(run, "predict", tmp_path / "m.skops", table)
        table = tmp_path / "new.csv"
        table.write_text("x2,x1\n1,2\n")
    code, out, _ = run("predict", tmp_path / "m.skops", table, "--keep", "")
    assert code == 0
    assert set(out.splitlines()[1:]) <= {"0", "1"}


def test_report_is_one_page_with_all_there_is_to_say(folder: Path) -> None:
    page = (folder / "patients.html").read_text(encoding="utf-8")
    for part in ("ill in patients.csv", "place", "Right and wrong", "predicted yes", "yes against no by", "ls-loo"):
        assert part in page


@pytest.mark.slow
def test_words_in_the_table_are_harmless_in_the_report(run, tmp_path: Path) -> None:
    words = {"yes": "<script>alert(1)</script>", "no": "&"}
    rows = [{"<b>age": row["age"], "weight": row["weight"], "k": words[str(row["ill"])]} for row in patients(30)]
    table = write_csv(tmp_path / "t.csv", rows)
    assert run("fit", table, "-m", tmp_path / "m", "-r", tmp_path / "r.html", "--ard", 1, "--quiet")[0] == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "<b>age" not in page
    assert "&lt;b&gt;age" in page


@pytest.mark.slow
def test_names_in_any_script_are_no_formulas_in_the_report(run, tmp_path: Path) -> None:
    names = {"age": r"cost in $ \frac{ $", "weight": "体重", "ill": "$x^{$", "place": "a name " * 20}
    rows = [{names[key]: value for key, value in row.items() if key != "id"} for row in patients(30)]
    rows = [{**row, names["ill"]: "ja $" if row[names["ill"]] == "yes" else "否"} for row in rows]
    table = write_csv(tmp_path / "t.csv", rows)
    assert run("fit", table, "-m", tmp_path / "m", "-r", tmp_path / "r.html", "--ard", 1, "-q") == (0, "", "")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "体重" in page
    assert "否" in page
    assert "ja $" in page


@given(
    content=st.binary(max_size=200)
    | st.text("age,weighplc\n\r\t;| 0123456789.eE+-:#\"'ä", max_size=200).map(str.encode)
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_file_whatever_leads_to_a_traceback(
    folder: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    (folder / "any").write_bytes(content)
    assert main(["predict", str(folder / "patients.skops"), str(folder / "any"), "--quiet"]) in (0, 2)
    assert capsys.readouterr().err.count("\n") <= 1
    if b"ill" not in content:
        assert main(["fit", str(folder / "any"), "--target", "ill", "--no-files"]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_the_model_is_kept_when_what_comes_after_the_fit_fails(
    run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_large(*_: object) -> None:
        raise MemoryError("Unable to allocate 4 GiB")

    monkeypatch.setattr("marginwise.reporting.summary.permutation_effects", too_large)
    model, report = tmp_path / "m.skops", tmp_path / "r.html"
    words = ["fit", folder / "patients.csv", "-t", "ill", "--drop", "id", *FAST, "-m", model, "-r", report]
    assert "fewer rows or columns" in refused(run, *words, code=1)
    assert run("predict", model, folder / "patients.csv")[0] == 0
    assert not report.exists()


def test_classes_with_an_order(run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    size = rng.normal(size=90)
    grade = np.array(["low", "medium", "high"])[np.digitize(size + 0.3 * rng.normal(size=90), [-0.5, 0.5])]
    table = write_csv(tmp_path / "grades.csv", pd.DataFrame({"size": size, "grade": grade}).to_dict("records"))
    words = ["fit", table, "--target", "grade", "--ard", 0, "--no-files"]
    code, out, _ = run(*words, "--ordered", "low,medium,high", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["class_order"] == ["low", "medium", "high"]
    assert found["order_scores"]["ranked_probability_score"] < found["order_scores"]["base_ranked_probability_score"]
    assert "order: high < low < medium" in run(*words, "--ordered")[1]
    assert "each of the classes high, low, medium once" in refused(run, *words, "--ordered", "low,high")
