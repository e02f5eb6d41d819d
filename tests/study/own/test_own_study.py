"""A user's table and criterion in the paper's study: run, killed, resumed and reported, beside the paper's own."""

from __future__ import annotations

import argparse
import csv
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from own_criteria import Alignment, RoundedAlignment

from marginwise.cli import main
from marginwise.cli.study import add_arguments, planned
from marginwise.criteria import evaluate
from marginwise.datasets import benchmark_names, load_benchmark
from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.hyperparameters import Hyperparameters
from marginwise.likelihoods import LINEAR
from marginwise.study import Judge, Newton, TableSource, Walk, open_store, run_study, search_on, tables
from marginwise.study.data import load_data
from marginwise.study.paper import OWN_METHODS, methods, quick_plan
from marginwise.study.paper.report import write_paper_report
from marginwise.study.plan import Effort, Plan
from marginwise.study.report import write_report
from page_checks import check_page, read
from toy_study import table

HERE = Path(__file__).parent
OWN = ["--criterion", "own_criteria:Alignment"]
PART = [
    "--quick",
    "--datasets",
    "flowers,crabs",
    "--methods",
    "alignment,gacv-walk,tuned-svc",
    "--trials",
    "2",
    "--no-progress",
]


def write_flowers(path: Path, n: int = 90, seed: int = 3) -> Path:
    """Write a table of two kinds of flowers, with a column of words and one that is constant."""
    rng = np.random.default_rng(seed)
    rows = [["length", "width", "colour", "pot", "kind"]]
    for k in rng.integers(2, size=n):
        colour = str(rng.choice(["red", "blue", "white"]))
        rows.append([f"{rng.normal(4 + 1.5 * k):.2f}", f"{rng.normal(2 - k):.2f}", colour, "1", ("iris", "rose")[k]])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table and a module, and a study of both run there in two processes."""
    folder = tmp_path_factory.mktemp("own")
    write_flowers(folder / "flowers.csv")
    shutil.copy(HERE / "own_criteria.py", folder)
    run = subprocess.run(command(), cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "12 of 12 trials" in run.stdout
    return folder


def command(store: str = "study.sqlite", jobs: int = 2) -> list[str]:
    """Return the command as a user types it; it is started in the folder of the module."""
    own = ["--data", "flowers.csv", "--target", "kind", *OWN, *PART]
    return [
        sys.executable,
        "-m",
        "marginwise",
        "study",
        "run",
        *own,
        "--store",
        f"sqlite:///{store}",
        "--jobs",
        f"{jobs}",
    ]


def plan_of(*words: str) -> Plan:
    """Return the plan of a command."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return planned(parser.parse_args(["run", *words]))


def test_a_study_of_ones_own_has_all_rows_and_the_usual_searches(place, monkeypatch):
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "path", [*sys.path])
    plan = plan_of("--data", "flowers.csv", *OWN)
    assert plan.effort == Effort()
    assert list(plan.datasets) == ["flowers"]
    assert list(plan.methods) == [*OWN_METHODS, "alignment"]
    assert {"tuned-svc", "ep-loo-newton", "svm-cv"} <= {*OWN_METHODS}
    assert {plan.count("flowers", method) for method in plan.methods} == {3}
    assert len(load_data(plan.datasets["flowers"], plan.effort).y_train) == 60
    named = plan_of("--data", "flowers.csv", "--datasets", "flowers,crabs", "--methods", "gacv-walk", "--trials", "1")
    assert (list(named.datasets), list(named.methods)) == (["crabs", "flowers"], ["gacv-walk"])
    assert named.effort == Effort()
    assert set(plan_of(*OWN).datasets) == set(benchmark_names())
    assert plan_of("--quick", "--data", "flowers.csv").effort == plan_of().effort == quick_plan().effort
    assert plan_of("--paper", *OWN).count("pima", "alignment") == 10


def test_original_files_are_read_from_a_folder(tmp_path, monkeypatch):
    header = ",".join([*(f"x{a}" for a in range(20)), "y"])
    values = np.random.default_rng(0).normal(size=(7400, 20)).round(2)
    lines = [",".join([*map(str, row), str(-1 if place % 2 else 1)]) for place, row in enumerate(values.tolist())]
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "twonorm.csv").write_text("\n".join([header, *lines]))
    monkeypatch.chdir(tmp_path)
    plan = plan_of("--paper", "--data-dir", "files", "--datasets", "twonorm")
    data = plan.datasets["twonorm"].load()
    raw = np.array(values)
    np.testing.assert_allclose(data.X_train, ((raw - raw.mean(axis=0)) / raw.std(axis=0))[:300], atol=1e-9)
    varied = plan_of("--sensitivity", "--data-dir", "files", "--datasets", "twonorm-delve,twonorm")
    np.testing.assert_array_equal(varied.datasets["twonorm-delve"].load().X_train, data.X_train)
    assert not np.array_equal(varied.datasets["twonorm"].load().X_train, data.X_train)  # the study's own draw


def test_limits_are_said_first(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_flowers(tmp_path / "flowers.csv", n=120)
    run = ["study", "run", "--data", "flowers.csv", "--methods", "gp-mean-field", "--trials", "1", "--jobs", "1"]
    quick = [*run, "--quick", "--datasets", "flowers", "--store", "sqlite:///quick.sqlite"]
    assert main(quick) == 0
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("a miniature: at most 60 training rows, 500 test rows")
    assert second == "trials: 1; methods: 1; data: flowers"
    assert main([*run, "--store", "sqlite:///own.sqlite"]) == 0
    assert capsys.readouterr().out.startswith("trials: 1; methods: 1; data: flowers\n")
    for name, limited in (("quick", True), ("own", False)):
        assert main(["study", "report", "--store", f"sqlite:///{name}.sqlite", "--output", name]) == 0
        texts = read((tmp_path / name / "index.html").read_text(encoding="utf-8")).texts
        said = [place for place, text in enumerate(texts) if "This is a miniature: at most 60 training rows" in text]
        assert bool(said) == limited
        if said:
            assert said[0] < next(place for place, text in enumerate(texts) if "finished trials" in text)


def opened(folder: Path, name: str = "study.sqlite"):
    return open_store(f"sqlite:///{folder / name}")


def test_own_rows_stand_beside_the_papers(place):
    with opened(place) as store:
        rows = {(row.dataset, row.method, row.number): row for row in store.rows()}
    assert {key[:2] for key in rows} == {(d, m) for d in ("flowers", "crabs") for m in PART[4].split(",")}
    assert {row.status for row in rows.values()} == {"done"}
    own = rows["flowers", "alignment", 1]
    assert own.seed == own.trial.seed
    assert len(own.hyperparameters) == 3 + 6  # two numbers, three colours, the pot
    data = load_data(TableSource(str(place / "flowers.csv"), "kind"), quick_plan().effort)
    found = Hyperparameters.from_values(own.hyperparameters)
    assert evaluate(Alignment(), data.X_train, data.y_train, found).value == pytest.approx(own.criterion_value)
    assert Judge.of(data, LINEAR).svm_error(found) == own.test_error


@pytest.mark.slow
def test_killed_and_resumed_it_ends_with_the_same_rows(place):
    process = subprocess.Popen(command("killed.sqlite", jobs=1), cwd=place, stdout=subprocess.DEVNULL)
    while not (place / "killed.sqlite").exists():
        time.sleep(0.01)
    with opened(place, "killed.sqlite") as killed, opened(place) as whole:
        while not killed.rows() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        finished = table(killed, times=True)
        assert 1 <= len(finished) < 12
        resumed = subprocess.run(
            command("killed.sqlite", jobs=1), cwd=place, capture_output=True, text=True, check=True
        )
        assert f"{12 - len(finished)} were run" in resumed.stdout
        after = table(killed, times=True)
        assert [row for row in after if any(row == before for before in finished)] == finished
        assert table(killed) == table(whole)  # which two processes had made


@pytest.mark.slow
def test_the_report_has_them_in_every_table(place, capsys):
    output = place / "report"
    assert main(["study", "report", "--store", f"sqlite:///{place / 'study.sqlite'}", "--output", str(output)]) == 0
    html = (output / "index.html").read_text(encoding="utf-8")
    check_page(html)
    texts = " ".join(read(html).texts)
    assert "every table has the data set flowers and the method alignment" in texts
    for name in ("table2-times", "table3-thorough-wide", "table3-thorough", "table4-thorough", "table5-previous"):
        records = read_table(output / "tables" / f"{name}.csv")
        cells = {(record["dataset"], record["column"]) for record in records if record["ours"]}
        assert {("flowers", "alignment"), ("crabs", "alignment")} <= cells, name
        assert not any(record["published"] for record in records if record["dataset"] == "flowers")
    for name in ("methods-test-error", "methods-log-loss", "methods-seconds"):
        cells = {(r["dataset"], r["method"]) for r in read_table(output / "tables" / f"{name}.csv") if r["mean"]}
        assert {("flowers", "alignment"), ("flowers", "gacv-walk"), ("crabs", "tuned-svc")} <= cells, name
    sizes = {
        r["what"]: r["ours"] for r in read_table(output / "tables" / "table1-data.csv") if r["dataset"] == "flowers"
    }
    assert sizes == {"inputs": "6", "training": "60", "test": "30"}
    assert {scan["dataset"] for scan in read_table(output / "scans.csv")} == {"flowers", "crabs"}
    for kind in ("histogram", "spread"):
        assert (output / "figures" / f"{kind}-flowers.svg").exists()
    markdown = (output / "report.md").read_text(encoding="utf-8")
    header = next(line for line in markdown.splitlines() if line.startswith("| Data set | LE1 | LE2"))
    assert header.endswith("| ES | ES, validated | alignment |")


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_a_changed_table_or_criterion_is_noticed(place, tmp_path):
    for name in ("flowers.csv", "own_criteria.py", "study.sqlite"):
        shutil.copy(place / name, tmp_path)
    module = tmp_path / "own_criteria.py"
    module.write_text(module.read_text() + "\n# a remark\n")
    told = subprocess.run(command(), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 1
    assert "4 of 12 rows" in told.stderr
    assert "code own_criteria was" in told.stderr
    shutil.copy(place / "own_criteria.py", tmp_path)
    write_flowers(tmp_path / "flowers.csv", seed=4)
    told = subprocess.run(command(), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "6 of 12 rows" in told.stderr
    assert "flowers: data was" in told.stderr


def test_without_the_papers_data_the_report_is_about_the_study_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_flowers(tmp_path / "my flowers.csv")
    plan = Plan("mine", tables("my flowers.csv"), methods("gp-laplace"), effort=Effort(newton_evaluations=3))
    run_study(plan, "sqlite:///mine.sqlite", n_jobs=1)
    assert main(["study", "report", "--store", "sqlite:///mine.sqlite", "--output", "report"]) == 0
    html = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    check_page(html)
    texts = read(html).texts
    assert "my flowers" in texts
    assert not any("Sollich" in text for text in texts)
    (tmp_path / "my flowers.csv").unlink()  # what was recorded of the data is enough
    assert main(["study", "report", "--store", "sqlite:///mine.sqlite", "--output", "again"]) == 0
    assert (tmp_path / "again" / "index.html").read_text(encoding="utf-8") == html


def test_the_table_is_split_once_and_scaled_by_its_training_rows(tmp_path):
    path = str(write_flowers(tmp_path / "flowers.csv", n=300))
    data, again = TableSource(path).load(), TableSource(path).load()
    np.testing.assert_array_equal(data.X_test, again.X_test)
    assert (len(data.y_train), len(data.y_test)) == (200, 100)
    assert abs(data.y_train.mean() - data.y_test.mean()) < 0.02
    np.testing.assert_allclose(data.X_train.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(data.X_train.std(axis=0), [1, 1, 1, 1, 1, 0], atol=1e-12)
    assert len(TableSource(path, drop=("pot",), test_fraction=0.2).load().y_test) == 60
    other = shutil.copy(path, tmp_path / "others.csv")
    assert not np.array_equal(TableSource(str(other)).load().X_test, data.X_test)  # the seed is the name's


class InMemory:
    """Data that are in no file."""

    def load(self):
        return replace(load_benchmark("crabs"), name="shells", provenance="memory")


def test_a_data_set_may_be_anything_that_loads(tmp_path):
    with opened(tmp_path) as store:
        plan = Plan("memory", {"shells": InMemory()}, methods("gp-laplace"), effort=Effort(newton_evaluations=2))
        assert run_study(plan, store, n_jobs=1).complete
        (row,) = store.rows()
        assert store.about(row) == {"inputs": 5, "training": 80, "test": 120}
        assert (
            "| shells | 5 | 80 | 120 |" in (write_report(store, tmp_path / "report").parent / "report.md").read_text()
        )
        assert write_paper_report(store, tmp_path / "paper").exists()  # though its data can't be loaded again


def test_a_criterion_without_gradient_is_searched_by_walks():
    assert isinstance(search_on(Alignment()), Newton)
    assert isinstance(search_on(RoundedAlignment()), Walk)
    assert isinstance(search_on("radius-margin"), Newton)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--criterion", "nowhere_at_all:Mine"], "a module that can be imported from"),
        (["--criterion", "own_criteria:not_a_criterion"], "derived from marginwise.criteria.Criterion"),
        (["--criterion", "own_criteria:Missing"], "a class Missing of own_criteria"),
        (["--criterion", "own_criteria:Unfinished"], "a class that is made without arguments and has all methods"),
        (["--criterion", "own_criteria:Nameless"], "a class with a name, as every criterion has"),
        (["--criterion", "alchemy"], "--criterion is 'alchemy'; expected one of"),
        ([*OWN, *OWN], "criteria with other names than 'alignment'"),
        (["--target", "kind"], "unless there is a table"),
        (["--data", "missing.csv"], "missing.csv"),
        (["--data", "crabs.csv"], "--datasets is 'crabs'; expected a name that the plan does not have yet"),
        (["--data", "flowers.csv", "--data", "other/flowers.csv"], "files with different names"),
        (["--data", "flowers.csv", "--target", "colour"], "a column with two classes"),
        (["--data", "flowers.csv", "--test-fraction", "2", "--datasets", "flowers"], "--test-fraction is 2.0"),
        (["--datasets", "tulips"], "--datasets is 'tulips'; expected one of"),
        (["--methods", "alchemy"], "--methods is 'alchemy'; expected one of"),
        (["--trials", "-1"], "--trials is -1"),
    ],
)
def test_mistakes_are_named(place, words, message, monkeypatch, capsys):
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (place / "other").mkdir(exist_ok=True)
    for name in ("crabs.csv", "other/flowers.csv"):
        shutil.copy(place / "flowers.csv", place / name)
    assert main(["study", "run", "--store", "sqlite:///none.sqlite", *words]) == 2
    assert message in capsys.readouterr().err
    (place / "none.sqlite").unlink(missing_ok=True)


def test_a_part_has_the_trials_of_the_whole():
    whole = quick_plan()
    part = whole.part(["pima"], ["tuned-svc", "le1-walk"])
    assert set(part.enumerate()) < set(whole.enumerate())
    assert tuple(part.methods) == ("le1-walk", "tuned-svc")
    assert part.part(trials=3).count("pima", "tuned-svc") == 3
    with pytest.raises(InvalidInputError, match="methods is 'alchemy'"):
        whole.part(methods=["alchemy"])


def test_a_worker_without_the_criterion_says_so(place, monkeypatch):
    class Lost:
        def capacity(self):
            return 1

        def submit(self, function, *arguments):
            from concurrent.futures import Future

            future = Future()
            future.set_exception(ModuleNotFoundError("No module named 'own_criteria'"))
            return future

        def close(self, *, kill=False): ...

        def restart(self): ...

    monkeypatch.setattr("marginwise.study.workers._make", lambda *arguments: Lost())
    plan = Plan("lost", tables(str(place / "flowers.csv")), {"alignment": Newton(Alignment())})
    with opened(place, "lost.sqlite") as store:
        (row,) = run_study(plan, store).failed
    assert row.message == "the worker could not run it (No module named 'own_criteria')"


@pytest.mark.slow
def test_the_general_study_does_not_know_the_paper():
    code = "import sys, marginwise.study, marginwise.study.report; sys.exit('marginwise.study.paper' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=os.environ, check=False).returncode == 0


def test_settings_of_an_unknown_kind_of_row_are_refused(place):
    with opened(place) as store, pytest.raises(MarginwiseError, match="effort"):
        run_study(Plan("other", {}, {}, effort=Effort()), store, n_jobs=1)


@pytest.mark.slow
def test_the_documented_commands_run(tmp_path):
    page = (HERE.parents[2] / "docs" / "study.md").read_text(encoding="utf-8")
    section = page[page.index("## Your own study") :]
    (tmp_path / "my_module.py").write_text(re.search(r"```python\n(# my_module.py.*?)```", section, re.DOTALL)[1])
    path = write_flowers(tmp_path / "my.csv")
    path.write_text(path.read_text().replace(",kind", ",y", 1))
    commands = re.search(r"```sh\n(.*?)```", section, re.DOTALL)[1].splitlines()
    assert [words.split()[2] for words in commands] == ["run", "report"]
    for words in commands:
        told = subprocess.run(
            [sys.executable, "-m", *shlex.split(words)], cwd=tmp_path, capture_output=True, check=False
        )
        assert told.returncode == 0, told.stderr
    with opened(tmp_path, "own.sqlite") as store:
        assert {(row.dataset, row.method) for row in store.rows()} == {
            (dataset, method) for dataset in ("my", "crabs") for method in ("mine", "tuned-svc")
        }
    assert (tmp_path / "own-report" / "index.html").exists()
