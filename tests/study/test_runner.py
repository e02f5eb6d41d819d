"""Running a study: the same rows whatever the order and the workers; failures, interruptions and other settings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.study import Plan, TrialRow, benchmarks, open_store, runner
from marginwise.study.owners import Owner
from marginwise.study.paper import methods
from marginwise.study.runner import run_study
from toy_study import SMALL, Chance, Moody, chance_plan, table

REAL = Plan(
    "real",
    benchmarks("crabs"),
    methods("gacv-walk", "evidence-ascent", "ep-loo-prior", "tuned-svc"),
    trials=2,
    effort=SMALL,
)


@pytest.fixture
def store(tmp_path):
    with open_store(f"sqlite:///{tmp_path / 'study.sqlite'}") as opened:
        yield opened


@pytest.mark.slow
def test_rows_do_not_depend_on_the_number_of_processes(tmp_path):
    tables = []
    for n_jobs in (1, 2):
        with open_store(f"sqlite:///{tmp_path / f'{n_jobs}.sqlite'}") as store:
            summary = run_study(REAL, store, n_jobs=n_jobs)
            assert summary.complete
            assert summary.run == 8
            tables.append(table(store))
    assert tables[0] == tables[1]
    assert len({row["seed"] for row in tables[0]}) == 8


def test_rows_do_not_depend_on_the_order(tmp_path):
    plan = chance_plan()
    backwards = replace(plan, datasets=_reversed(plan.datasets), methods=_reversed(plan.methods))
    tables = []
    for number, one in enumerate((plan, backwards)):
        with open_store(f"sqlite:///{tmp_path / f'{number}.sqlite'}") as store:
            run_study(one, store, n_jobs=1)
            tables.append(table(store))
    assert tables[0] == tables[1]


def _reversed(things: dict) -> dict:
    return dict(reversed(things.items()))


def test_a_finished_study_is_left_as_it_is_and_a_larger_one_adds_to_it(store):
    assert run_study(chance_plan(2), store, n_jobs=1).run == 8
    before = table(store, times=True)
    assert run_study(chance_plan(2), store, n_jobs=1).run == 0
    assert table(store, times=True) == before
    summary = run_study(chance_plan(3), store.url, n_jobs=1)
    assert (summary.run, summary.done, summary.total, summary.complete) == (4, 12, 12, True)
    assert [row for row in table(store, times=True) if row["number"] < 2] == before


def test_failures_have_names_and_are_tried_again(store, tmp_path):
    mood = tmp_path / "mood"
    plan = replace(chance_plan(2), methods={"one": Chance(), "other": Moody(str(mood))})
    mood.touch()
    summary = run_study(plan, store, n_jobs=1)
    assert (summary.run, summary.done, len(summary.failed), summary.complete) == (8, 4, 4, False)
    assert {(row.error_name, row.message) for row in summary.failed} == {
        ("ArithmeticError", "not today, 0"),
        ("ArithmeticError", "not today, 1"),
    }
    assert all(row.test_error is None for row in summary.failed)
    mood.unlink()
    again = run_study(plan, store, n_jobs=1)
    assert (again.run, again.done, again.failed) == (4, 8, ())


def test_rows_of_other_settings_are_not_mixed_in(store):
    run_study(chance_plan(1), store, n_jobs=1)
    before = table(store)
    slower = replace(chance_plan(2), methods={"one": Chance(), "other": Chance(pause=1e-3)})
    with pytest.raises(MarginwiseError, match=r"2 of 4 rows .* other on crabs: method pause was 0.0, is 0.001"):
        run_study(slower, store, n_jobs=1)
    assert table(store) == before
    summary = run_study(replace(slower, trials=1), store, n_jobs=1, redo=True)
    assert (summary.run, summary.done) == (2, 4)
    other = replace(chance_plan(1), datasets=benchmarks("wdbc"), effort=replace(SMALL, test_rows=40))
    with pytest.raises(MarginwiseError, match="effort test_rows was 50, is 40"):
        run_study(other, store, n_jobs=1)
    store.record(TrialRow("crabs", "a-method-of-long-ago", 0, 0, "done"))
    with pytest.raises(MarginwiseError, match=r"1 of 5 rows .* a-method-of-long-ago on crabs: unknown settings"):
        run_study(replace(slower, trials=1), store, n_jobs=1)


def test_rows_that_the_plan_does_not_have_are_left_alone(store):
    whole = chance_plan(1)
    run_study(whole, store, n_jobs=1)
    before = table(store)
    more = whole.with_more(methods={"third": Chance(pause=1e-3)}).part(methods=["third"])
    assert run_study(more, store, n_jobs=1).run == 2
    assert run_study(whole, store, n_jobs=1).run == 0
    assert [row for row in table(store) if row["method"] != "third"] == before


@dataclass(frozen=True)
class Interrupting:
    """Presses Ctrl-C in its third trial."""

    def run(self, data, trial, effort):
        if trial.number == 2:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5.0)
        return Chance().run(data, trial, effort)


def test_ctrl_c_keeps_what_is_finished(store):
    plan = Plan("interrupted", benchmarks("crabs"), {"one": Interrupting()}, trials=5, effort=SMALL)
    handler = signal.getsignal(signal.SIGINT)
    summary = run_study(plan, store, n_jobs=1)
    assert (summary.interrupted, summary.run, summary.done) == (True, 2, 2)
    assert store.claims() == {}
    assert signal.getsignal(signal.SIGINT) is handler


class Fragile:
    """Workers that are lost with all they have a number of times."""

    def __init__(self, losses):
        self.losses, self.broken = losses, False

    def capacity(self):
        return 3

    def submit(self, function, *arguments):
        future = Future()
        if self.losses:
            self.broken = True
            future.set_exception(BrokenExecutor("a worker was killed"))
        else:
            future.set_result(function(*arguments))
        return future

    def restart(self):
        assert self.broken
        self.losses -= 1
        self.broken = False


@pytest.mark.parametrize(("losses", "failed"), [(2, 0), (3, 3)])
def test_trials_of_killed_workers_are_run_again_but_not_for_ever(store, monkeypatch, losses, failed):
    @contextmanager
    def fragile(*arguments):
        yield Fragile(losses)

    monkeypatch.setattr(runner, "start_workers", fragile)
    summary = run_study(chance_plan(2), store)
    assert len(summary.failed) == failed
    assert summary.done == 8 - failed
    assert {row.error_name for row in summary.failed} <= {"BrokenExecutor"}
    assert run_study(chance_plan(2), store).complete is (failed == 0)  # they were lost again


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds the workers in /proc")
def test_a_worker_that_is_killed_is_replaced(store):
    plan = Plan(
        "long", benchmarks("crabs"), methods("span-walk"), trials=6, effort=replace(SMALL, walk_evaluations=1000)
    )
    killed = []

    def kill_one():
        while not killed:
            time.sleep(0.01)
            if store.rows():
                killed.extend(_loky_workers()[:1])
                os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill_one)
    thread.start()
    summary = run_study(plan, store, n_jobs=2)
    thread.join()
    assert killed
    assert summary.complete
    assert summary.run == 6


def _loky_workers():
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in children if b"LokyProcess" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_rows_of_workers_with_other_code_are_refused(store, monkeypatch):
    class Stranger(Fragile):
        def submit(self, function, *arguments):
            row, future = function(*arguments), Future()
            future.set_result(replace(row, fingerprint="other") if row.method == "other" else row)
            return future

    @contextmanager
    def strangers(*arguments):
        yield Stranger(0)

    monkeypatch.setattr(runner, "start_workers", strangers)
    summary = run_study(chance_plan(1), store)
    assert [(row.method, row.error_name) for row in summary.failed] == [("other", "MarginwiseError")] * 2
    assert "another marginwise" in summary.failed[0].message


def test_a_run_waits_for_trials_that_others_have(store):
    plan, other = chance_plan(1), Owner.this_process()
    theirs = store.claim(plan.enumerate(), other, begun=0.0)
    summaries = []
    thread = threading.Thread(target=lambda: summaries.append(run_study(plan, store, n_jobs=1)))
    thread.start()
    while len(store.rows()) < 3:
        time.sleep(0.01)
    assert thread.is_alive()
    store.finish(TrialRow(theirs.dataset, theirs.method, theirs.number, theirs.seed, "done"), other)
    thread.join(timeout=300)
    assert (summaries[0].run, summaries[0].done) == (3, 4)


def test_what_makes_no_sense_is_refused(store):
    with pytest.raises(InvalidInputError, match="backend is 'threads'"):
        run_study(REAL, store, backend="threads")
    with pytest.raises(InvalidInputError, match="scheduler"):
        run_study(REAL, store, scheduler="tcp://here:8786")
    with pytest.raises(InvalidInputError, match="n_jobs is 0"):
        run_study(REAL, store, n_jobs=0)
    with pytest.raises(InvalidInputError, match="methods is 'alchemy'"):
        REAL.part(methods=["alchemy"])
    with pytest.raises(InvalidInputError, match="datasets is 'iris'"):
        benchmarks("iris")
    with pytest.raises(InvalidInputError, match="trials is -1"):
        replace(REAL, trials=-1)
    with pytest.raises(InvalidInputError, match="a mapping from names to datasets"):
        replace(REAL, datasets=("crabs",))
    with pytest.raises(InvalidInputError, match="a number of trials of 'evidence-ascent', too"):
        replace(REAL, trials={"gacv-walk": 2})
    with pytest.raises(InvalidInputError, match="methods is 'tuned-svc'; expected a name that the plan does not have"):
        REAL.with_more(methods=methods("tuned-svc"))
    assert store.claims() == {}


def test_a_read_only_store_can_not_be_run(store, tmp_path):
    with open_store(store.url, read_only=True) as reader, pytest.raises(MarginwiseError, match="can't be written"):
        run_study(REAL, reader, n_jobs=1)


@pytest.mark.slow
def test_the_command_ends_on_ctrl_c_with_130_and_keeps_what_is_finished(tmp_path):
    url = f"sqlite:///{tmp_path / 'study.sqlite'}"
    part = ["--paper", "--datasets", "crabs,pima", "--methods", "span-walk", "--trials", "20"]
    arguments = [sys.executable, "-m", "marginwise", "study", "run", *part, "--jobs", "2", "--store", url]
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with open_store(url) as store:
        while len(store.rows()) < 2 and process.poll() is None:
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        out, err = process.communicate(timeout=300)
        assert process.returncode == 130, err
        assert "the same command continues" in out
        assert "Traceback" not in err
        rows = store.rows()
        assert 2 <= len(rows) < 40
        assert {row.status for row in rows} == {"done"}
        assert not any("interrupted" in row.message for row in rows)
        assert store.claims() == {}
