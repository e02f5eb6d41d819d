"""Killed at random moments and resumed, or shared by several processes, a study ends with the same table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from forked_studies import KILLED

from marginwise.study import open_store
from toy_study import chance_plan, table

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SCRIPT = Path(__file__).with_name("forked_studies.py")


def run_script(*arguments: object) -> dict:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_twenty_kills_change_nothing(tmp_path):
    url = f"sqlite:///{tmp_path / 'killed.sqlite'}"
    told = run_script("killed", url, 20)
    assert told["ended"]
    counts = told["counts"]
    assert counts == sorted(counts)  # no finished trial is ever lost
    assert counts[-1] < len(KILLED.enumerate())
    assert len(set(counts)) >= 10
    assert told["orphaned"] >= 10  # most kills fell into a trial
    with open_store(url) as killed, open_store(f"sqlite:///{tmp_path / 'undisturbed.sqlite'}") as whole:
        assert len(whole.rows()) == len(KILLED.enumerate())
        assert table(killed) == table(whole)
        assert not killed.claims()


@pytest.mark.slow
def test_a_hundred_kills_in_a_crowd_change_nothing(tmp_path, full):
    if not full:
        pytest.skip("takes minutes; the miniature of the paper's study, shared by three processes, with --full")
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    told = run_script("crowd", url, 100, 3)
    assert (told["killed"], told["lost"], told["ended"]) == (100, 0, True)
    with open_store(url) as killed, open_store(f"sqlite:///{tmp_path / 'undisturbed.sqlite'}") as whole:
        assert table(killed) == table(whole)
        assert not killed.claims()


@pytest.mark.slow
def test_processes_on_one_store_do_each_trial_once(tmp_path):
    url, log = f"sqlite:///{tmp_path / 'shared.sqlite'}", tmp_path / "log"
    assert run_script("shared", url, log, 3)["ended"]
    lines = [line.split() for line in log.read_text().splitlines()]
    names = [trial.name for trial in chance_plan(12).enumerate()]
    assert Counter(name for name, _ in lines) == Counter(names)
    assert len({pid for _, pid in lines}) == 3
    with open_store(url) as store:
        assert len(store.rows()) == len(names)


@pytest.mark.slow
def test_processes_end_with_the_one_that_started_them():
    script = (
        "import os, time\n"
        "from marginwise.study.workers import start_workers\n"
        "with start_workers('loky', 2, None) as workers:\n"
        "    print(workers.submit(os.getpid).result(), flush=True)\n"
        "    workers.submit(time.sleep, 300).result()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    worker = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 60
    while _runs(worker):
        assert time.monotonic() < deadline, "the worker has outlived its parent by a minute"
        time.sleep(0.1)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")  # a dead process that nobody has waited for is still listed
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")
