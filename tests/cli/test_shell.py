"""The command line as a shell sees it: processes, signals, pipes, exit codes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import marginwise
from cli_tables import patients, write_csv
from marginwise.cli import main
from tiers import first_quick

COMMAND = [sys.executable, "-m", "marginwise"]
posix = pytest.mark.skipif(os.name != "posix", reason="signals as on POSIX systems")


def start(*words: object, **options) -> subprocess.Popen:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([*COMMAND, *map(str, words)], **pipes)


def test_version_and_help_need_no_numerical_library() -> None:
    blocked = (
        "import sys; sys.modules.update(numpy=None, sklearn=None); from marginwise.cli import main; sys.exit(main())"
    )
    for words, part in ((["--version"], f"marginwise {marginwise.__version__}"), (["--help"], "marginwise fit")):
        done = subprocess.run([sys.executable, "-c", blocked, *words], capture_output=True, text=True, check=True)
        assert part in done.stdout
        assert done.stderr == ""


@pytest.mark.parametrize("command", ["fit", "predict", "compare", "datasets"])
def test_help_of_each_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"usage: marginwise {command}")
    assert "--json" in out


@pytest.mark.parametrize("part", ["run", "report"])
def test_study_is_there(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", part, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: marginwise study {part}")
    assert main(["study", part, "--store", "nonsense"]) == 2
    assert "marginwise study: error: --store is 'nonsense'; expected sqlite:///" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["study"], ["nonsense"], ["--nonsense"], ["predict", "model-only"]])
def test_calls_that_make_no_sense_show_the_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: marginwise")
    assert "Traceback" not in err


@pytest.mark.slow
@posix
def test_table_from_a_pipe_and_results_to_one_that_closes(tmp_path: Path) -> None:
    model = tmp_path / "m.skops"
    content = write_csv(tmp_path / "t.csv", patients()).read_text()
    files = ["--model", model, "--report", tmp_path / "r.html", "--ard", 0]
    with start("fit", "-", "-t", "ill", "--drop", "id", *files, stdin=subprocess.PIPE) as fit:
        out, err = fit.communicate(content, timeout=300)
    assert (fit.returncode, err) == (0, "")
    assert "60 rows" in out
    unlabelled = [{name: cell for name, cell in row.items() if name != "ill"} for row in patients()]
    write_csv(tmp_path / "many.csv", unlabelled * 200)
    with start("predict", model, tmp_path / "many.csv", "--proba", "--quiet") as predict:
        assert predict.stdout.readline() == "prediction,p(no),p(yes)\n"
        predict.stdout.close()
        assert predict.stderr.read() == ""
    assert predict.returncode == 128 + 13


@posix
@pytest.mark.parametrize("jobs", first_quick([1, 2]))
def test_interruption_ends_at_once_and_leaves_nothing(tmp_path: Path, jobs: int) -> None:
    rows = [{**row, "note": "x" * 100} for row in patients(1400)]
    content = write_csv(tmp_path / "t.csv", rows).read_text()  # more than a pipe holds
    words = ["fit", "-", "-t", "ill", "--drop", "id", "--drop", "note", "--criterion", "evidence"]
    words += ["--ard", 0]  # a search on all rows at once, which takes minutes
    outputs = ["--model", tmp_path / "m.skops", "--report", tmp_path / "r.html", "--jobs", jobs]
    with start(*words, *outputs, stdin=subprocess.PIPE, start_new_session=True) as fit:
        fit.stdin.write(content)
        fit.stdin.close()  # it has begun to read
        time.sleep(2 + jobs)
        os.killpg(fit.pid, signal.SIGINT)  # as a terminal does
        fit.wait(timeout=15)
        out, err = fit.stdout.read(), fit.stderr.read()
    assert fit.returncode == 130
    assert out == ""
    assert err == "marginwise fit: interrupted\n"
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@posix
def test_full_disk_is_a_failure_that_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    assert main(["datasets", "crabs", "--output", "/dev/full"]) == 1
    err = capsys.readouterr().err
    assert err == "marginwise datasets: error: output: No space left on device\n"


def test_what_is_not_installed_is_named_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = write_csv(tmp_path / "t.csv", patients())
    monkeypatch.setattr("marginwise._runtime.packages.find_spec", lambda name: None)
    assert main(["fit", str(table)]) == 1
    assert "needs skops (pip install 'marginwise[saving]'); --no-files does without" in capsys.readouterr().err


@pytest.mark.slow
def test_terminals_without_these_characters(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    text = "größe,urteil\n" + "".join(f"{i % 2 + 0.01 * i},{'süß' if i % 2 else 'sauer'}\n" for i in range(8))
    table.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    with start("fit", table, "--no-files", "--ard", 0, env=environment) as fit:
        out, err = fit.communicate(timeout=300)
    assert (fit.returncode, err) == (0, "")
    assert "s\\xfc\\xdf (4 rows)" in out
    assert "(+- " in out
