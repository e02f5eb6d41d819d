"""Ctrl-C at random moments of fit, cross_val_score and predict: a KeyboardInterrupt, soon, and nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tiers import first_quick

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes as on Linux")

SCRIPT = str(Path(__file__).with_name("interrupted.py"))

#: What is done, n_jobs, classes, rows; beyond 1500 rows the kernel is of low rank.
CASES = [
    ("fit", None, 2, 400),
    ("fit", None, 3, 400),
    ("fit", None, 2, 2000),
    ("fit", None, 3, 2000),
    ("fit", 2, 2, 400),
    ("fit", 2, 3, 400),
    ("fit", 2, 2, 2000),
    ("fit", 2, 3, 2000),
    ("cross_val_score", None, 2, 400),
    ("predict", None, 2, 400),
]


@pytest.mark.parametrize("case", first_quick(CASES), ids=lambda case: "-".join(map(str, case)))
def test_ctrl_c_at_random_moments(case: tuple, full: bool) -> None:
    if not full and case[2:] == (3, 2000):
        pytest.skip("takes long, and does what others do: with --full")
    times = 20 if full else 1
    rng = np.random.default_rng([20030705, CASES.index(case)])
    command = [sys.executable, SCRIPT, *map(str, case), str(times)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            seconds = hear(process)["seconds"]
            for _ in range(times):
                assert hear(process) == {"ready": True}
                interrupt(process, rng.uniform(0.0, 0.9) * seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert process.returncode == 0


def interrupt(process: subprocess.Popen[str], seconds: float) -> None:
    """Press Ctrl-C after so many seconds, and look at what the process made of it."""
    time.sleep(seconds)
    sent = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # to all processes, as a terminal does
    told = hear(process)
    told["after"] = time.monotonic() - sent
    print(told)
    assert told["outcome"] == "KeyboardInterrupt", told
    assert told["finished"] is None or told["finished"] < sent, told
    assert told["same"], told
    assert told["restored"], told
    assert told["left"] == [], told
    assert told["after"] < 3.0, told  # one second, on a machine that does nothing else


def hear(process: subprocess.Popen[str]) -> dict:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())
