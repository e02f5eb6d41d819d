"""Many searches from different starts, one after the other or side by side, with the same result."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from joblib import delayed, effective_n_jobs

from marginwise._runtime.interrupts import answer_interrupts, hold_interrupts
from marginwise._runtime.processes import job_runner, outcomes, start_deaf
from marginwise._runtime.threads import one_thread
from marginwise.criteria.base import Criterion
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.search.base import Bounds, log_bounds
from marginwise.search.driver import drive
from marginwise.search.progress import SearchWatch, progress_bar
from marginwise.search.settings import SearchSettings, space_of
from marginwise.search.task import INTERRUPTED, Task
from marginwise.search.trace import Tuning
from marginwise.status import Status


def tune_problem(problem: Problem, criterion: Criterion, start: Model, settings: SearchSettings) -> Tuning:
    """Move the hyperparameters of a checked problem, from ``start``, until the criterion stops improving."""
    first = settings.task(problem, criterion, start)
    tasks = [first, *(_restart(first, number, settings.bounds) for number in range(1, 1 + settings.restarts))]
    most = settings.limits.max_evaluations
    shown = progress_bar(settings.progress, criterion.name, n_runs=len(tasks), max_evaluations=most)
    with hold_interrupts(), shown as bar:
        runs = run_all(tasks, settings.n_jobs, bar)
    best = best_run(runs, by=None if first.held_out is None else first.held_out.stops)
    return replace(best, status=overall_status(runs, best), restarts=tuple(runs))


def run_all(tasks: Sequence[Task], n_jobs: int | None = 1, bar: SearchWatch | None = None) -> list[Tuning]:
    """Run all tasks on ``n_jobs`` processes and return the runs in order.

    When there are several, each uses one thread for linear algebra, whatever ``n_jobs``: more threads add
    numbers in another order, and the last digits would depend on the number of processes. After Ctrl-C the
    runs under way return the best they have, and those that have not begun return their starts, unless their limits
    say that it goes through.
    """
    workers = min(effective_n_jobs(n_jobs), len(tasks))
    if bar is not None and workers == 1:
        tasks = [replace(task, callbacks=(*task.callbacks, bar.on_record)) for task in tasks]
    runs: list[Tuning] = []

    def ended(run: Tuning) -> None:
        runs.append(run)
        if bar is not None:
            bar.on_run(run)

    with one_thread(len(tasks) > 1):
        if workers > 1:
            for run in _side_by_side(tasks, workers):
                ended(run)
            return runs
        for task in tasks:
            if any(run.was_interrupted for run in runs):
                task = replace(task, limits=replace(task.limits, stop=_at_once))
            ended(drive(task))
    return runs


def best_run(runs: Sequence[Tuning], by: str | None = None) -> Tuning:
    """Return the run with the best score, or with the smallest held-out error of the name ``by``.

    Runs without a score (the criterion has only a gradient) can't be compared: the first that converged is
    kept.
    """
    found = [run for run in runs if run.trace.accepted]
    if not found:
        return runs[0]
    if by is not None:
        return min(found, key=lambda run: run.errors[by])
    if np.isnan(found[0].score):
        return next((run for run in found if run.status.ok), found[0])
    return max(found, key=lambda run: run.score)


def overall_status(runs: Sequence[Tuning], best: Tuning) -> Status:
    """Return how the best run ended, unless Ctrl-C kept others from coming as far."""
    if any(run.was_interrupted for run in runs) and not best.was_interrupted:
        return replace(INTERRUPTED, message=f"{INTERRUPTED.message}; the best search had {best.status.message}")
    return best.status


def _at_once() -> bool:
    return True


def _side_by_side(tasks: Sequence[Task], workers: int) -> Iterator[Tuning]:
    """Run tasks in processes that are deaf to Ctrl-C, which reaches all processes of a terminal.

    This one hears it, and ends them or raises a flag that they look for, so that no run is lost.
    """
    parallel = job_runner(workers)
    if not tasks[0].limits.keep:
        yield from outcomes(parallel, [delayed(_run_deaf)(task) for task in tasks])
        return
    with tempfile.TemporaryDirectory() as directory:
        flag = Path(directory) / "interrupted"
        deaf = [replace(task, limits=replace(task.limits, stop=flag.exists)) for task in tasks]

        def raise_flag(number: int, frame: object) -> None:
            if flag.exists():  # pressed again: interrupt as usual
                raise KeyboardInterrupt
            flag.touch()

        with answer_interrupts(raise_flag):
            with start_deaf():
                runs = parallel(delayed(_run_deaf)(task) for task in deaf)
            yield from runs


def _run_deaf(task: Task) -> Tuning:
    with answer_interrupts(signal.SIG_IGN), one_thread():
        return drive(task)


def _restart(first: Task, number: int, bounds: Bounds) -> Task:
    """Return the search from a random start, within the bounds."""
    task = replace(first, number=number)
    objective = task.objective
    start = objective.space.model.random_start(task.generator("start"))
    if bounds:
        start = start.with_vector(np.clip(start.to_vector(), *log_bounds(start, bounds)))
    return replace(task, objective=replace(objective, space=space_of(objective.criterion, start, bounds)))
