"""``marginwise update``: rows come to a model file and go from it, and it says what has become of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from marginwise import TunedSVC, load_model, save_model
from marginwise.cli import main


def patients(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, place = rng.normal(50.0, 10.0, n).round(1), rng.choice(["north", "south"], n)
    ill = np.where(age + 5.0 * (place == "north") + rng.normal(0.0, 8.0, n) > 52.0, "yes", "no")
    return pd.DataFrame({"code": [f"k{seed}{i}" for i in range(n)], "age": age, "place": place, "ill": ill})


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("update")
    table, path = folder / "first.csv", folder / "model.skops"
    patients(60, 0).to_csv(table, index=False)
    files = ["--model", str(path), "--report", str(folder / "report.html")]
    assert main(["fit", str(table), "--target", "ill", "--ard", "0", "--quiet", *files]) == 0
    return path


@pytest.fixture
def model(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    capsys.readouterr()
    return Path(shutil.copy(fitted, tmp_path / "model.skops"))


def test_rows_are_added_and_forgotten(run, model: Path, tmp_path: Path) -> None:
    new, more = patients(40, 1), tmp_path / "more.csv"
    new.to_csv(more, index=False)
    other = tmp_path / "other.skops"
    code, out, err = run("update", model, more, "--forget", "3,5-6", "--output", other)
    assert (code, err) == (0, "")
    assert out.startswith("tuned on 60 rows, 40 added and 3 forgotten since\nlog-loss of the rows added, before")
    assert out.endswith(f"model   {other}\n")
    expected = load_model(model)
    expected.update(new[["age", "place"]].to_numpy(dtype=object), new["ill"].to_numpy(), forget=[2, 4, 5])
    updated = load_model(other)
    Z = patients(20, 2)[["age", "place"]].to_numpy(dtype=object)
    np.testing.assert_allclose(updated.predict_proba(Z), expected.predict_proba(Z), rtol=0, atol=1e-10)
    assert updated.table_["row_numbers"].tolist() == list(range(1, 101))
    assert updated.table_["row_names"][[0, 60]].tolist() == ["k00", "k10"]
    _, _, err = run("predict", other, more, "--output", tmp_path / "predictions.csv")
    assert "the model was trained on all of these rows" in err
    code, out, _ = run("update", other, "--forget", 100, "--json")
    assert code == 0
    assert json.loads(out)["n_forgotten"] == 4
    assert str(load_model(other).updates_) == "tuned on 60 rows, 40 added and 4 forgotten since"


def test_it_says_when_new_rows_are_not_like_the_others(run, model: Path, tmp_path: Path) -> None:
    new = patients(60, 1)
    new["ill"] = np.where(new["ill"] == "yes", "no", "yes")
    new.to_csv(tmp_path / "more.csv", index=False)
    code, _, err = run("update", model, tmp_path / "more.csv")
    assert code == 0
    assert "warning: of the rows added, those from about number 1 on are predicted worse than the rows before" in err
    assert "warning: the model was tuned on 60 rows and has 120 now" in err


def test_rows_are_counted_as_in_the_file(run, tmp_path: Path) -> None:
    old, new, model = patients(63, 0), patients(60, 1), tmp_path / "model.skops"
    old.loc[[0, 7, 9], "ill"] = None  # left out
    new["ill"] = np.where(new["ill"] == "yes", "no", "yes")
    for name, rows in (("old.csv", old), ("new.csv", new)):
        rows.to_csv(tmp_path / name, index=False)
    report = tmp_path / "report.html"
    files = ["--model", model, "--report", report]
    assert run("fit", tmp_path / "old.csv", "--target", "ill", "--ard", "0", *files)[0] == 0
    code, out, _ = run("update", model, tmp_path / "new.csv", "--forget", "2-6", "--json")
    assert code == 0
    assert json.loads(out)["drift_since"] == 64
    code, _, err = run("report", model, "--output", report, "--force")
    assert (code, err) == (0, "warning: 5 rows of 120 left out: no held-out probabilities\n")


def test_mistakes_are_answered_in_a_line_and_leave_the_file(run, model: Path, tmp_path: Path) -> None:
    before, more = model.read_bytes(), tmp_path / "more.csv"
    for change, words, message in (
        ({}, ["--forget", "0"], "--forget is 0; expected numbers of rows that the model was given, up to 60"),
        ({"ill": "perhaps"}, [], "y has classes that the model does not know, 'perhaps'"),
        ({"place": "west"}, [], "column 'place' has words that the model does not know, west"),
        ({"ill": np.nan}, [], "target is 'ill'; expected a column 'ill' with a label in each row"),
        ({}, ["--target", "sick"], "target is 'sick'; expected a column 'sick'"),
        ({}, ["--groups", "code"], "--groups is given; expected None"),
        ({}, ["--output", model], "--output"),
        ({}, ["--forget", "three"], "'three' is neither a number of a row nor a range"),
        ({}, ["--forget", "5-3"], "'5-3' is neither a number of a row nor a range"),
    ):
        patients(5, 1).assign(**change).to_csv(more, index=False)
        code, out, err = run("update", model, more, *words)
        assert (code, out) == (2, "")
        assert message in err
        assert model.read_bytes() == before
    code, _, err = run("update", model)
    assert code == 2
    assert "a table of rows to add, or --forget" in err


def test_a_model_from_python_takes_rows_and_groups(run, tmp_path: Path) -> None:
    first, more = patients(60, 0), patients(20, 1)
    numbers = pd.DataFrame({"age": first["age"], "weight": first["age"] ** 2})
    groups = [f"p{k // 2}" for k in range(60)]
    save_model(TunedSVC(ard=0, random_state=0).fit(numbers, first["ill"], groups=groups), tmp_path / "model.skops")
    table = tmp_path / "more.csv"
    new = pd.DataFrame({"age": more["age"], "weight": more["age"] ** 2, "who": [f"q{k // 2}" for k in range(20)]})
    new.assign(ill=more["ill"]).to_csv(table, index=False)
    code, out, err = run("update", tmp_path / "model.skops", table, "--target", "ill", "--groups", "who")
    assert (code, err) == (0, "")
    assert out.startswith("tuned on 60 rows, 20 added since")
    assert load_model(tmp_path / "model.skops").n_groups_ == 40
    new.loc[[2, 5], "who"] = None
    new.assign(ill=more["ill"]).to_csv(table, index=False)
    for groups, message in (
        ("who", "a group for each row, but 2 of its cells are missing: row 4 column 'who', row 7"),
        ("age", "--groups is 'age'; expected a column that is neither an input nor the target"),
        ("nobody", "--groups is 'nobody'; expected one of the columns"),
    ):
        code, out, err = run("update", tmp_path / "model.skops", table, "--target", "ill", "--groups", groups)
        assert (code, out) == (2, "")
        assert message in err
