"""Processes that run jobs end with the one that started them, however that ends."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from cli_tables import patients, write_csv
from marginwise import TunedSVC

#: Seconds for which processes may go on after the kill: they look once a second.
_GRACE = 15.0

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes can't be seen on this system")


def session(leader: int) -> dict[int, str]:
    """Return the living processes of a session, and their commands."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, number = process.joinpath("stat").read_text().rpartition(")")[2].split()[:4]
            command = process.joinpath("cmdline").read_text().replace("\0", " ")
        except OSError:  # it has just ended
            continue
        if int(number) == leader and state not in "ZX":
            found[int(process.name)] = command
    return found


def killed(command: list[str], begun: int, wait: float) -> int:
    """Kill a command, ``wait`` seconds after it has ``begun`` so many processes; return how many there were."""
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
    )
    while len(session(process.pid)) < begun and process.poll() is None:
        time.sleep(0.01)
    time.sleep(wait)
    were = len(session(process.pid))
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + _GRACE
    while left := session(process.pid):
        assert time.monotonic() < deadline, f"these outlive it: {left}"
        time.sleep(0.05)
    return were


@pytest.mark.slow
def test_nothing_outlives_a_killed_fit(tmp_path: Path, full: bool) -> None:
    table, chance = write_csv(tmp_path / "t.csv", patients(200)), random.Random(3)
    command = [sys.executable, "-m", "marginwise", "fit", str(table), "-t", "ill", "--drop", "id", "--no-files"]
    most = [killed([*command, "-j", "2"], 5, chance.uniform(0.0, 3.0)) for _ in range(20 if full else 2)]
    assert max(most) >= 4, "it had no processes"


def test_nothing_outlives_a_killed_search(tmp_path: Path, full: bool) -> None:
    script = (
        "import numpy as np\n"
        "from marginwise import tune\n"
        "rng = np.random.default_rng(0)\n"
        "X = rng.normal(size=(150, 5)); y = np.sign(X[:, 0] + rng.normal(size=150))\n"
        "tune(X, y, 'ep-loo', restarts=50, random_state=0, n_jobs=2)\n"
    )
    chance = random.Random(4)
    most = [killed([sys.executable, "-c", script], 5, chance.uniform(0.0, 3.0)) for _ in range(20 if full else 1)]
    assert max(most) >= 4, "it had no processes"


@pytest.mark.filterwarnings("ignore:the columns as they are do not help")
def test_threads_run_jobs_as_well() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 3
    here = TunedSVC(0.0, random_state=0).fit(X, y).predict_proba(X)
    with parallel_config(backend="threading"):
        np.testing.assert_allclose(TunedSVC(0.0, random_state=0, n_jobs=2).fit(X, y).predict_proba(X), here, atol=1e-9)
