"""``marginwise compare`` and ``datasets``."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli_tables import patients, write_csv
from marginwise import benchmark_names, load_benchmark, load_table
from marginwise.cli.compare_chart import ComparisonChart
from marginwise.comparison import Score
from page_checks import CHROMIUM, beyond_the_edge, check_page

QUICK = ["--criteria", "laplace-evidence", "--peers", "boosting"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "t.csv", [{k: v for k, v in row.items() if k != "id"} for row in patients(40)])


def test_table_on_the_terminal_and_page(run, table: Path, tmp_path: Path) -> None:
    code, out, err = run("compare", table, "-t", "ill", "--folds", 2, *QUICK, "--report", tmp_path / "r.html")
    assert (code, err) == (0, "")
    assert out.startswith("t.csv: 40 rows, 3 inputs, target ill; 2 folds\n")
    names = [line.split("  ")[0] for line in out.splitlines()[3:5]]
    assert sorted(names) == ["TunedSVC laplace-evidence", "boosting"]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "TunedSVC laplace-evidence" in page
    assert "calibration error" in page
    check_page(page)
    assert page.count("<figure") == 1
    if CHROMIUM is not None:
        assert beyond_the_edge(tmp_path / "r.html") == "nothing"


def test_the_chart_shows_what_the_table_says() -> None:
    scores = [Score("best", 0.1, 0.02, 0.3, 0.05, 0.01, 0.0, 0.0, 1.0, (0.0, 0.2), (0.2, 0.4))]
    scores += [Score("$x$", 0.2, 0.03, 0.5, 0.06, 0.01, 0.2, 0.1, 1.0, (0.1, 0.3), (0.4, 0.6))]
    chart = ComparisonChart(scores)
    for axes, mean, deviation, factor in zip(
        chart.figure.axes, ("error", "log_loss"), ("error_deviation", "log_loss_deviation"), (100, 1), strict=True
    ):
        lines = [line.get_xdata() for line in axes.lines]
        for score, (bar, folds, dot) in zip(scores, (lines[:3], lines[3:]), strict=True):
            value, spread = factor * getattr(score, mean), factor * getattr(score, deviation)
            np.testing.assert_allclose(bar, [value - 2 * spread, value + 2 * spread])
            np.testing.assert_allclose(dot, [value])
            np.testing.assert_allclose(
                folds, factor * np.array(getattr(score, f"split_{mean}{'s' if factor > 1 else 'es'}"))
            )
    assert [text.get_text() for text in chart.figure.axes[0].get_yticklabels()] == ["best", r"\$x\$"]
    assert "best has the smallest log-loss, 0.300" in chart.alt


@pytest.mark.slow
def test_json_does_not_depend_on_the_number_of_processes(run, table: Path) -> None:
    words = ["compare", table, "-t", "ill", "--test-fraction", 0.25, *QUICK, "--json"]
    results = []
    for jobs in (1, 2):
        code, out, err = run(*words, "--jobs", jobs)
        assert (code, err) == (0, "")
        results.append(json.loads(out))
        for method in results[-1]["methods"]:
            assert method.pop("seconds") > 0
    assert results[0] == results[1]
    assert results[0]["test_rows"] == 10
    losses = [method["log_loss"] for method in results[0]["methods"]]
    assert losses == sorted(losses)
    for method in results[0]["methods"]:  # one split, the whole of what is held out
        assert method["split_errors"] == [method["error"]]
        assert method["split_log_losses"] == [method["log_loss"]]


def test_a_classifier_that_fails_is_named_and_the_others_go_on(run, tmp_path: Path) -> None:
    rows = [{"a": i % 7, "y": "few" if i < 2 else "many"} for i in range(20)]
    table = write_csv(tmp_path / "t.csv", rows)
    words = ["compare", table, "--folds", 2, "--criteria", "", "--json"]
    code, out, err = run(*words, "--peers", "grid-svc,boosting")  # no two folds of one row
    assert code == 0
    assert err.startswith("warning: grid-svc failed: ")
    methods = {method["method"]: method for method in json.loads(out)["methods"]}
    assert methods["grid-svc"]["error"] is None
    assert 0 <= methods["boosting"]["error"] <= 1
    assert run(*words, "--peers", "grid-svc")[0] == 1


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--folds", 1], "--folds is 1; expected 2 or more"),
        (["--folds", 30], "--folds is 30; expected at most"),
        (["--test-fraction", 1.5], "--test-fraction is 1.5; expected a share between 0 and 1"),
        (["--test-fraction", 0.001], "--test-fraction is 0.001; expected another share of the 40 rows"),
        (["--criteria", "magic"], "criterion is 'magic'; expected one of"),
        (["--peers", "magic"], "--peers is 'magic'; expected one of 'boosting', 'forest', 'grid-svc', 'logistic'"),
        (["--criteria", "", "--peers", ""], "at least one name"),
        (
            ["--report", "/no/such/folder/r.html"],
            "--report is '/no/such/folder/r.html'; expected a file in an existing",
        ),
    ],
)
def test_mistakes(run, table: Path, options: list, part: str) -> None:
    code, out, err = run("compare", table, "-t", "ill", *options)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert part in err


def test_list_of_the_sets(run) -> None:
    code, out, err = run("datasets")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(benchmark_names())
    assert json.loads(run("datasets", "--json")[1])[1]["test"] == 332


@pytest.mark.parametrize("part", ["all", "train", "test"])
def test_sets_are_written_exactly(run, tmp_path: Path, part: str) -> None:
    file = tmp_path / "crabs.csv"
    code, out, err = run("datasets", "crabs", "--part", part, "--output", file)
    assert (code, out) == (0, "")
    data = load_benchmark("crabs")
    X = {"train": [data.X_train], "test": [data.X_test], "all": [data.X_train, data.X_test]}[part]
    y = {"train": [data.y_train], "test": [data.y_test], "all": [data.y_train, data.y_test]}[part]
    assert err.startswith(f"{len(np.hstack(y))} rows of crabs written")
    table = load_table(file, "y")
    np.testing.assert_array_equal(table.X, np.vstack(X))
    np.testing.assert_array_equal(table.y, np.hstack(y))
    assert "it exists" in run("datasets", "crabs", "-o", file)[2]
    if part == "all":
        assert run("datasets", "crabs")[1] == file.read_text()


def test_unknown_set(run) -> None:
    code, out, err = run("datasets", "iris")
    assert (code, out) == (2, "")
    assert "NAME is 'iris'; expected one of 'crabs'" in err
