"""Searches that stop and go on: the same to the last bit, wherever they stopped."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from killed import columns, walk

import toys
from marginwise._runtime.files import hold, sync
from marginwise.covariance import Partition
from marginwise.covariance.cells import Cells
from marginwise.criteria.base import Criterion
from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.hyperparameters import paper_start
from marginwise.kernels.rbf import RBF
from marginwise.likelihoods import LINEAR
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.search import SEARCHES, RandomWalk, Record
from marginwise.search.base import Space
from marginwise.search.checkpoint import signed_line
from marginwise.search.held_out import HeldOut
from marginwise.search.objective import Objective
from marginwise.search.task import Task
from marginwise.search.trace import Tuning
from marginwise.tuning import tune
from zoo import blobs

PROBLEM = blobs(20, 3)

#: Makes the walk in killed.py slow enough to be killed on its way.
SLOW = os.environ | {"MARGINWISE_TEST_PAUSE": "0.002"}


def go(directory: Path | None, toy: type[Criterion] = toys.Hysteresis, **options: Any) -> Tuning:
    options = {"search": "random-walk", "random_state": 3, "max_evaluations": 60} | options
    return tune(PROBLEM.X, PROBLEM.y, toy(), checkpoint=directory, **options)


def assert_same(a: Tuning, b: Tuning) -> None:
    first, second = columns(a), columns(b)
    assert first.keys() == second.keys()
    for name, column in first.items():
        np.testing.assert_array_equal(column, second[name], err_msg=name)


@pytest.mark.parametrize(
    ("search", "toy"),
    [
        pytest.param(name, toy, id=f"{name}-{toy.name}")
        for name, search in SEARCHES.items()
        for toy in (toys.Hysteresis, toys.NoisySlope, toys.Potholes, toys.Terraces)
        if toys.suits(search, toy, PROBLEM)
    ],
)
def test_continued_equals_uninterrupted_wherever_it_stopped(search: str, toy: type[Criterion], tmp_path: Path) -> None:
    whole = go(None, toy, search=search)
    for stop in (1, 2, 7, 8, 23, 59):
        directory = tmp_path / str(stop)
        go(directory, toy, search=search, max_evaluations=stop)
        assert_same(go(directory, toy, search=search), whole)
        assert_same(go(directory, toy, search=search), whole)  # and once more, when it had ended


def test_a_smaller_budget_ends_within_what_is_logged(tmp_path: Path) -> None:
    go(tmp_path)
    assert_same(go(tmp_path, max_evaluations=20), go(None, max_evaluations=20))


def test_only_new_evaluations_are_made_and_told(tmp_path: Path) -> None:
    go(tmp_path, max_evaluations=25)
    told: list[Record] = []
    go(tmp_path, callbacks=[told.append])
    assert [record.index for record in told] == list(range(25, 60))


def test_time_goes_on_where_it_was(tmp_path: Path) -> None:
    first = go(tmp_path, max_evaluations=25)
    then = go(tmp_path)
    np.testing.assert_array_equal(then.trace.to_arrays()["seconds"][:25], first.trace.to_arrays()["seconds"])
    assert (np.diff(then.trace.to_arrays()["seconds"]) >= 0).all()


def log(directory: Path) -> Path:
    return directory / "run-0.jsonl"


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_line_that_was_cut_off_is_dropped(cut: int, tmp_path: Path) -> None:
    go(tmp_path, max_evaluations=30)
    log(tmp_path).write_bytes(log(tmp_path).read_bytes()[:-cut])
    assert_same(go(tmp_path), go(None))


def test_a_first_line_that_was_cut_off_is_written_again(tmp_path: Path) -> None:
    go(tmp_path, max_evaluations=1)
    log(tmp_path).write_bytes(log(tmp_path).read_bytes()[:50])
    assert_same(go(tmp_path), go(None))


def test_killed_between_the_state_and_its_line(tmp_path: Path) -> None:
    """The state of a point is on disk, its line is not yet: the state of the last line is still there."""
    go(tmp_path, max_evaluations=30)
    before = tmp_path / "before"
    shutil.copytree(tmp_path, before)
    (before / f"run-0.state-{path_of(tmp_path)[-1] + 3}").write_bytes(b"a state of a point that was never logged")
    assert_same(go(before), go(None))
    kept = {path.name for path in before.iterdir()}
    assert kept == {"run-0.jsonl", *(f"run-0.state-{index}" for index in path_of(before)[-2:])}


def path_of(directory: Path) -> list[int]:
    """The evaluations that the search moved to."""
    entries = [json.loads(line) for line in log(directory).read_text().splitlines()[1:]]
    return [index for index, entry in enumerate(entries) if entry["accepted"]]


def test_after_the_loss_of_the_last_line_nothing_is_computed_twice_but_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a power failure: the state of the line before is still there."""
    go(tmp_path, max_evaluations=30)
    lines = log(tmp_path).read_bytes().splitlines(keepends=True)
    last = path_of(tmp_path)[-1]
    log(tmp_path).write_bytes(b"".join(lines[: 1 + last]))
    looks, evaluate = 0, toys.Hysteresis.evaluate

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal looks
        looks += 1
        return evaluate(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(toys.Hysteresis, "evaluate", counted)
        found = go(tmp_path)
    assert looks == 60 - last
    assert_same(found, go(None))


@pytest.mark.parametrize("lost", ["one", "all", "flipped"])
def test_states_that_are_lost_are_computed_again(lost: str, tmp_path: Path) -> None:
    go(tmp_path, max_evaluations=30)
    states = sorted(tmp_path.glob("*.state-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    for path in states[-1:] if lost == "one" else states:
        if lost == "flipped":
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
        else:
            path.unlink()
    assert_same(go(tmp_path), go(None))


def test_states_that_are_no_data_are_computed_again(tmp_path: Path) -> None:
    go(tmp_path, toys.OwnState, max_evaluations=30)
    assert [path.name for path in tmp_path.iterdir()] == ["run-0.jsonl"]
    assert_same(go(tmp_path, toys.OwnState), go(None, toys.OwnState))


@pytest.mark.parametrize("criterion", ["laplace-evidence", "ep-loo", "cross-validation", "radius-margin"])
def test_states_of_real_criteria_are_kept(criterion: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {"random_state": 1, "search": "nelder-mead"}
    tune(PROBLEM.X, PROBLEM.y, criterion, max_evaluations=12, checkpoint=tmp_path, **options)
    assert len(list(tmp_path.glob("*.state-*"))) == 2
    continued = tune(PROBLEM.X, PROBLEM.y, criterion, max_evaluations=24, checkpoint=tmp_path, **options)
    assert_same(continued, tune(PROBLEM.X, PROBLEM.y, criterion, max_evaluations=24, **options))


@pytest.mark.parametrize("line", [1, 8, 20])
def test_a_garbled_line_and_those_after_it_are_computed_again(line: int, tmp_path: Path) -> None:
    go(tmp_path, max_evaluations=30)
    lines = log(tmp_path).read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b"1", b"2", 1)
    log(tmp_path).write_bytes(b"".join(lines))
    with pytest.warns(UserWarning, match=f"damaged after {line - 1} evaluations"):
        found = go(tmp_path)
    assert_same(found, go(None))


def test_a_state_runs_no_code(tmp_path: Path) -> None:
    """A state that was made to run something when it is unpickled, with a line that vouches for it."""
    go(tmp_path, max_evaluations=30)
    last = path_of(tmp_path)[-1]
    proof = tmp_path / "it ran"
    evil = pickle.dumps(Touch(str(proof)))
    (tmp_path / f"run-0.state-{last}").write_bytes(evil)
    lines = log(tmp_path).read_bytes().splitlines(keepends=True)
    entry = json.loads(lines[1 + last])
    del entry["check"]
    lines[1 + last] = signed_line(entry | {"state": hashlib.sha256(evil).hexdigest()[:16]})
    log(tmp_path).write_bytes(b"".join(lines))
    assert_same(go(tmp_path), go(None))
    assert not proof.exists()
    pickle.loads(evil)
    assert proof.exists(), "the test can fail"


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (Path(self.path),)


def test_a_second_process_is_kept_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(tmp_path, max_evaluations=30)
    content = log(tmp_path).read_bytes()
    monkeypatch.setattr("marginwise.search.checkpoint._PATIENCE", 0.1)
    with log(tmp_path).open("ab") as held:
        assert hold(held, 0.0)
        with pytest.raises(InvalidInputError, match="no other process works on"):
            go(tmp_path)
        assert log(tmp_path).read_bytes() == content
    assert_same(go(tmp_path), go(None))


@pytest.mark.slow
def test_two_processes_at_once_do_no_harm(tmp_path: Path) -> None:
    """Whoever comes second waits a little, and then says that the directory is taken."""
    script = Path(__file__).with_name("killed.py")
    both = [
        subprocess.Popen([sys.executable, script, tmp_path], env=SLOW, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    errors = [process.communicate()[1] for process in both]
    codes = [process.returncode for process in both]
    assert 0 in codes
    assert all(code == 0 or "no other process works on" in error for code, error in zip(codes, errors, strict=True))
    whole = columns(walk(None))
    with np.load(tmp_path / "result.npz") as found:
        for name, column in whole.items():
            np.testing.assert_array_equal(found[name], column, err_msg=name)


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = 0

    def full(file: Any) -> None:
        nonlocal lines
        lines += 1
        if lines > 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(file)

    with monkeypatch.context() as patch:
        patch.setattr("marginwise.search.checkpoint.sync", full)
        with pytest.raises(
            MarginwiseError, match=r"can't be read or written: No space left on device; .* the same call"
        ):
            go(tmp_path)
    assert_same(go(tmp_path), go(None))


def test_keeps_no_states_for_criteria_without_any(tmp_path: Path) -> None:
    go(tmp_path, toys.Hill)
    assert [path.name for path in tmp_path.iterdir()] == ["run-0.jsonl"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"random_state": 4}, "seed"),
        ({"search": "nelder-mead"}, "search"),
        ({"search": RandomWalk(first_step=0.2)}, "search"),
        ({"start": [1, 1, 0.1, 1, 1, 2]}, "start"),
        ({"prior": Prior()}, "prior"),
        ({"toy": toys.Hill}, "criterion"),
        ({"isotropic": True}, "bounds"),
        ({"sample_weight": np.full(20, 2.0)}, "data"),
        ({"inducing": PROBLEM.X[:4]}, "data"),
        ({"test": (PROBLEM.X, PROBLEM.y)}, "held-out data"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(change: dict[str, Any], named: str, tmp_path: Path) -> None:
    go(tmp_path, max_evaluations=5)
    content = log(tmp_path).read_bytes()
    with pytest.raises(InvalidInputError, match=rf"same problem with the same settings \({named} differs"):
        go(tmp_path, **change)
    assert log(tmp_path).read_bytes() == content


def test_other_data_are_refused(tmp_path: Path) -> None:
    go(tmp_path, max_evaluations=5)
    with pytest.raises(InvalidInputError, match="data differs"):
        tune(PROBLEM.X + 1e-9, PROBLEM.y, toys.Hysteresis(), search="random-walk", random_state=3, checkpoint=tmp_path)


@pytest.mark.parametrize("changed", [field.name for field in fields(Problem)])
@pytest.mark.parametrize("held_out", [False, True])
def test_a_change_of_any_part_of_a_problem_is_seen(changed: str, held_out: bool) -> None:
    """Also of parts that are added one day: others than arrays, true or false are changed by hand."""
    cut, whole = (Partition.of(PROBLEM.X, np.ones(3), size) for size in (10, PROBLEM.n))
    cells, others = (Cells.of(PROBLEM.X, RBF(3.0, 0.5), number, rank=3) for number in (2, 3))
    problem = replace(PROBLEM, inducing=PROBLEM.X[:4], examples=np.ones(PROBLEM.n), partition=cut, cells=cells)
    problem = replace(problem, groups=np.arange(PROBLEM.n) // 2)
    part = getattr(problem, changed)
    if changed in ("partition", "cells"):
        opposite = whole if changed == "partition" else others
    else:
        opposite = not part if isinstance(part, bool) else -part
    other = replace(problem, **{changed: opposite})
    space = Space.around(paper_start(3))

    def settings(inside: Problem, outside: Problem) -> dict[str, Any]:
        objective = Objective(toys.Hill(), inside, space)
        return Task(objective, held_out=HeldOut(inside, LINEAR, {"test": outside})).settings()

    first = settings(problem, problem)
    second = settings(problem, other) if held_out else settings(other, problem)
    different = {key for key in first if first[key] != second[key]}
    assert different == {"held-out data" if held_out else "data"}


def test_a_low_rank_search_is_not_continued_with_other_inducing_inputs(tmp_path: Path) -> None:
    def low_rank(inducing: Any) -> Tuning:
        return tune(PROBLEM.X, PROBLEM.y, "ep-loo", inducing=inducing, max_evaluations=2, checkpoint=tmp_path)

    low_rank(PROBLEM.X[:6])
    low_rank(PROBLEM.X[:6])
    with pytest.raises(InvalidInputError, match=r"same problem with the same settings \(data differs"):
        low_rank(PROBLEM.X[6:12])


def test_weights_of_held_out_examples_are_seen(tmp_path: Path) -> None:
    go(tmp_path, max_evaluations=5, validation=(PROBLEM.X, PROBLEM.y, np.ones(20)))
    with pytest.raises(InvalidInputError, match="held-out data differs"):
        go(tmp_path, validation=(PROBLEM.X, PROBLEM.y, np.arange(1.0, 21.0)))


def forged(directory: Path, index: int, **parts: Any) -> None:
    """Change an evaluation in a log, checksum and all."""
    lines = log(directory).read_bytes().splitlines(keepends=True)
    entry = json.loads(lines[1 + index])
    del entry["check"]
    lines[1 + index] = signed_line(entry | parts)
    log(directory).write_bytes(b"".join(lines))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"position": [0.1] * 6}, "evaluation 4 was made elsewhere"),
        ({"position": "nowhere"}, "describes no evaluation"),
        ({"gradient": [1.0]}, "describes no evaluation"),
        ({"value": "high"}, "describes no evaluation"),
        ({"accepted": 1}, "describes no evaluation"),
        ({"errors": {"test": 0.5}, "accepted": True}, "evaluation 4 does not follow"),
        ({"more": 1}, "describes no evaluation"),
    ],
)
def test_a_log_that_was_forged_is_refused(parts: dict[str, Any], message: str, tmp_path: Path) -> None:
    go(tmp_path, max_evaluations=10)
    forged(tmp_path, 4, **parts)
    with pytest.raises(InvalidInputError, match=message):
        go(tmp_path)


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    log(tmp_path).write_text("my notes\nand more\n")
    with pytest.raises(InvalidInputError, match="something else"):
        go(tmp_path)
    assert log(tmp_path).read_text() == "my notes\nand more\n"
    with pytest.raises(InvalidInputError, match="a directory"):
        go(log(tmp_path))


def test_without_a_seed_the_recorded_one_is_taken(tmp_path: Path) -> None:
    short = go(tmp_path, random_state=None, max_evaluations=20)
    long = go(tmp_path, random_state=None)
    np.testing.assert_array_equal(long.trace.to_arrays()["score"][:20], short.trace.to_arrays()["score"])
    other = go(None, random_state=None)
    assert not np.array_equal(other.trace.to_arrays()["score"], long.trace.to_arrays()["score"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 17))
def test_killed_at_random_moments_it_ends_the_same(seed: int, tmp_path: Path, full: bool) -> None:
    """A process that is killed with SIGKILL again and again, once it has made some progress."""
    if seed > 5 and not full:
        pytest.skip("takes long: with --full")
    chance = random.Random(seed)
    script = Path(__file__).with_name("killed.py")
    kills, logs = (12 if full else 4), [tmp_path / f"run-{number}.jsonl" for number in range(2)]

    def progress() -> int:
        return sum(path.read_bytes().count(b"\n") for path in logs if path.exists())

    for _ in range(kills):
        goal = progress() + chance.randint(5, 800 // (kills + 1))
        process = subprocess.Popen([sys.executable, script, tmp_path], env=SLOW)
        while progress() < goal and process.poll() is None:
            time.sleep(0.002)
        assert process.poll() is None, "it ended before it was killed"
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 0 < progress() < 802
    subprocess.run([sys.executable, script, tmp_path], check=True)
    whole = columns(walk(None))
    with np.load(tmp_path / "result.npz") as continued:
        assert set(continued.files) == whole.keys()
        for name, column in whole.items():
            np.testing.assert_array_equal(continued[name], column, err_msg=name)


def test_a_file_system_without_locks_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("marginwise._runtime.files.fcntl.flock", none)
    assert_same(go(tmp_path), go(None))
    monkeypatch.setattr("marginwise._runtime.files.fcntl", None)
    assert_same(go(tmp_path), go(None))
