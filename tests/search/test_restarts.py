"""Several searches: their starts and seeds, workers, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from killed import columns

import toys
from marginwise.hyperparameters import paper_start
from marginwise.search.restarts import best_run
from marginwise.tuning import tune
from zoo import blobs

PROBLEM = blobs(20, 3)


@pytest.mark.parametrize("search", ["random-walk", "quasi-newton"])
def test_the_number_of_workers_does_not_matter(search: str, tmp_path: Path) -> None:
    tunings = [
        tune(
            PROBLEM.X,
            PROBLEM.y,
            toys.RegressionEvidence(),
            search=search,
            restarts=3,
            random_state=11,
            max_evaluations=150,
            n_jobs=n_jobs,
            checkpoint=None if n_jobs == 1 else tmp_path,
        )
        for n_jobs in (1, 2)
    ]
    first, second = map(columns, tunings)
    for name, column in first.items():
        np.testing.assert_array_equal(column, second[name], err_msg=name)


def test_the_first_start_is_the_given_one_and_the_others_are_random() -> None:
    tuning = tune(PROBLEM.X, PROBLEM.y, toys.Hill(), restarts=20, random_state=0)
    starts = [run.start for run in tuning.restarts]
    np.testing.assert_allclose(starts[0].to_vector(), paper_start(3).to_vector())
    logs = np.array([start.to_vector() for start in starts[1:]])
    assert len(np.unique(logs[:, 0])) == 20
    assert 0.4 <= np.exp(logs[:, 0]).min() < 0.5
    assert 0.7 < np.exp(logs[:, 0]).max() <= 0.8
    assert (np.abs(logs[:, 1]) <= 1).all()
    assert ((logs[:, 2] >= -2) & (logs[:, 2] <= -1)).all()
    assert ((logs[:, 3:] >= -1) & (logs[:, 3:] <= 2)).all()


def test_more_restarts_add_to_the_same_searches() -> None:
    few, many = (tune(PROBLEM.X, PROBLEM.y, toys.Waves(), restarts=k, random_state=2) for k in (1, 3))
    for a, b in zip(few.restarts, many.restarts, strict=False):
        assert a.hyperparameters == b.hyperparameters


def test_the_best_is_kept_and_all_are_reported() -> None:
    tuning = tune(PROBLEM.X, PROBLEM.y, toys.Waves(), restarts=5, random_state=1)
    values = [run.value for run in tuning.restarts]
    assert len(values) == 6
    assert len(np.unique(np.round(values, 4))) > 1  # there are local optima
    assert tuning.value == max(values)
    minimised = tune(PROBLEM.X, PROBLEM.y, toys.Bowl(), restarts=2, random_state=1, max_evaluations=5)
    assert minimised.value == min(run.value for run in minimised.restarts)


def test_without_values_the_first_that_converged_is_kept() -> None:
    runs = tune(PROBLEM.X, PROBLEM.y, toys.Slope(), restarts=2, random_state=0).restarts
    assert best_run(runs) is runs[0]
    stopped = tune(PROBLEM.X, PROBLEM.y, toys.Slope(), random_state=0, max_evaluations=3).restarts[0]
    assert best_run([stopped, *runs]) is runs[0]


def test_a_search_that_failed_is_no_candidate() -> None:
    """From some of the random starts the criterion cannot be evaluated."""
    tuning = tune(PROBLEM.X, PROBLEM.y, toys.Potholes(), restarts=12, random_state=0)
    failed = [run for run in tuning.restarts if np.isnan(run.value)]
    assert failed
    assert tuning.value == max(run.value for run in tuning.restarts if not np.isnan(run.value))


SCRIPT = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with it ignored
sys.path.insert(0, {tests!r})
import toys
from zoo import blobs
from marginwise.tuning import tune
from marginwise.criteria.base import Evaluation

class Slow(toys.Hill):
    def evaluate(self, problem, hyperparameters, state=None, **options):
        time.sleep(0.01)
        return super().evaluate(problem, hyperparameters, state, **options)

p = blobs(20, 3)
tuning = tune(p.X, p.y, Slow(), search="random-walk", restarts={restarts}, n_jobs={n_jobs}, random_state=0,
              checkpoint={directory!r})
longest = max(len(run.trace) for run in tuning.restarts)  # the best may have only just begun
print(len(tuning.restarts), longest > 3, tuning.status.ok, tuning.status.message)
print([len(run.trace) > 0 for run in tuning.restarts])
"""


@pytest.mark.parametrize(("n_jobs", "restarts"), [(1, 0), (1, 2), pytest.param(2, 2, marks=pytest.mark.slow)])
def test_ctrl_c_returns_the_best_so_far(n_jobs: int, restarts: int, tmp_path: Path) -> None:
    """SIGINT goes to all processes of the group, as it does from a terminal."""
    tests = str(Path(__file__).parents[1] / "helpers")
    script = SCRIPT.format(tests=tests, n_jobs=n_jobs, restarts=restarts, directory=str(tmp_path))
    log = tmp_path / "run-0.jsonl"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        while not (log.exists() and log.read_bytes().count(b"\n") > 10):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    summary, begun = output.splitlines()
    assert summary.startswith(f"{1 + restarts} True False interrupted")
    assert begun.startswith("[True")
