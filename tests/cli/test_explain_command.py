"""``marginwise explain`` and ``predict --reasons``: what they say is what Python says."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from cli_tables import patients, write_csv
from marginwise import load_model, save_model
from marginwise.cli import main
from marginwise.cli.reasons import Reason


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, and rows to explain: one that is far from all others, one with a gap."""
    folder = tmp_path_factory.mktemp("explain")
    table = write_csv(folder / "patients.csv", patients())
    files = ["--model", str(folder / "m.skops"), "--report", str(folder / "fit.html")]
    assert main(["fit", str(table), "--target", "ill", "--drop", "id", "--ard", "0", "--quiet", *files]) == 0
    rows = [{key: value for key, value in row.items() if key != "ill"} for row in patients(6, seed=1)]
    rows[2]["age"], rows[3]["weight"] = 90.0, ""
    write_csv(folder / "new.csv", rows)
    return folder


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_rows_with_reasons_sets_and_strangers(run, folder: Path) -> None:
    code, out, err = run("explain", folder / "m.skops", folder / "new.csv", "--values", "--reasons", 2)
    assert code == 0
    rows = read(out)
    assert list(rows[0]) == [
        *("id", "prediction", "probability", "set", "novelty", "stranger", "reason_1", "reason_2"),
        *("why(age)", "why(weight)", "why(place)"),
    ]
    assert rows[2]["stranger"] == "yes"
    assert "unlike all that the model was trained on" in err
    model = load_model(folder / "m.skops")
    cells = [[float(row[name]) if row[name] else np.nan for name in ("age", "weight")] for row in _new(folder)]
    X = np.array([[*numbers, row["place"]] for numbers, row in zip(cells, _new(folder), strict=True)], dtype=object)
    why = model.explain(X)
    for i, row in enumerate(rows):
        sign = 1.0 if row["prediction"] == "yes" else -1.0
        said = [float(row[f"why({name})"]) for name in ("age", "weight", "place")]
        np.testing.assert_allclose(said, sign * why.values[i], rtol=1e-5)
        assert row["prediction"] in row["set"].split(" or ")
        strongest = ("age", "weight", "place")[int(np.argmax(np.abs(said)))]
        assert row["reason_1"].startswith(f"{strongest} = ")
    assert rows[3]["reason_1"].endswith(")")


def _new(folder: Path) -> list[dict[str, str]]:
    return read((folder / "new.csv").read_text(encoding="utf-8"))


def test_a_page_for_people(run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page, table = tmp_path / "why.html", tmp_path / "why.csv"
    words = ("explain", folder / "m.skops", folder / "new.csv", "--report", page, "-o", table, "--coverage", 0.8)
    assert run(*words)[0] == 0
    html = page.read_text(encoding="utf-8")
    for text in ("Why: ill in new.csv", "speaks", "80.0 %", "stranger", "nothing like these rows", "<svg", "p0"):
        assert text in html
    assert len(read(table.read_text(encoding="utf-8"))) == 6
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "--force" in err
    monkeypatch.chdir(tmp_path)  # pages are files, whatever they are called
    assert run("explain", folder / "m.skops", folder / "new.csv", "--report", "-")[0] == 0
    assert (tmp_path / "-").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_as_json(run, folder: Path) -> None:
    code, out, _ = run("explain", folder / "m.skops", folder / "new.csv", "--json", "--quiet", "--reasons", 1)
    assert code == 0
    found = json.loads(out)
    assert len(found["reason_1"]) == 6
    assert "reason_2" not in found


def test_predictions_with_reasons(run, folder: Path) -> None:
    code, out, _ = run("predict", folder / "m.skops", folder / "new.csv", "--reasons", 2, "--quiet")
    assert code == 0
    assert list(read(out)[0]) == ["id", "prediction", "reason_1", "reason_2"]
    code, _, err = run("predict", folder / "m.skops", folder / "new.csv", "--reasons", -1)
    assert code == 2
    assert "--reasons" in err


def test_the_report_of_a_fit_has_effects_and_contributions(folder: Path) -> None:
    html = (folder / "fit.html").read_text(encoding="utf-8")
    assert "What columns do" in html
    assert "Mean probability if all rows had the same value" in html
    assert "What each cell contributes to yes" in html


@pytest.mark.parametrize(("option", "value"), [("--reasons", 0), ("--coverage", 1.5)])
def test_mistakes_are_told(run, folder: Path, option: str, value: float) -> None:
    code, out, err = run("explain", folder / "m.skops", folder / "new.csv", option, value)
    assert (code, out) == (2, "")
    assert option in err


def test_three_classes_and_models_from_python(run, tmp_path: Path) -> None:
    from marginwise import TunedSVC

    X, y = load_iris(return_X_y=True)
    save_model(TunedSVC(ard=0, random_state=0).fit(X[::3], y[::3]), tmp_path / "iris.skops")
    rows = [{f"x{j + 1}": value for j, value in enumerate(row)} for row in X[1:10:3].tolist()]
    write_csv(tmp_path / "rows.csv", rows)
    code, out, _ = run("explain", tmp_path / "iris.skops", tmp_path / "rows.csv", "--report", tmp_path / "why.html")
    assert code == 0
    assert {row["prediction"] for row in read(out)} == {"0"}
    assert "x3 = " in out


def test_reasons_in_words() -> None:
    assert Reason("age", "63", 0.81).words == "age = 63 speaks for it (+0.8)"
    assert Reason("age", "63", -0.81).text == "age = 63 (-0.81)"
