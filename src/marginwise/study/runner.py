"""Run a study: claim a trial, have it run, write its row; again until nothing is left."""

from __future__ import annotations

import signal
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import closing, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from marginwise._runtime.interrupts import answer_interrupts
from marginwise.errors import MarginwiseError
from marginwise.search.states import fingerprint
from marginwise.study.data import load_data
from marginwise.study.owners import Owner
from marginwise.study.plan import Plan, Trial
from marginwise.study.progress import Progress, show_progress
from marginwise.study.record import TrialRow
from marginwise.study.store import LEASE, Store, open_store
from marginwise.study.trial import TrialTask, differences, digest, without_places
from marginwise.study.workers import Workers, start_workers

#: A trial whose worker was killed so often is a failure.
_MOST_CRASHES = 3

#: Seconds between looks at the store when all that is left is in work elsewhere.
_POLL = 0.5


@dataclass(frozen=True)
class RunSummary:
    """What became of a study.

    Attributes
    ----------
    total, done : int
        Trials of the plan, and those that are finished now.
    run : int
        Trials finished or failed by this call.
    failed : tuple of TrialRow
        Those that failed; the next call tries them again.
    interrupted : bool
        Whether Ctrl-C ended it.
    seconds : float

    Examples
    --------
    >>> RunSummary(total=4, done=3, run=3, failed=(), interrupted=True, seconds=1.0).complete
    False
    """

    total: int
    done: int
    run: int
    failed: tuple[TrialRow, ...]
    interrupted: bool
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether every trial is finished."""
        return self.done == self.total


def run_study(
    plan: Plan,
    store: Store | str,
    *,
    n_jobs: int = -1,
    backend: str = "loky",
    scheduler: str | None = None,
    progress: bool | None = None,
    redo: bool = False,
) -> RunSummary:
    """Run all trials of the plan that the store has no row of; failed ones are tried again.

    It may be killed at any moment and called again, and several processes may call it with the same store: each
    trial is run once, and the rows are the same whatever the order, the number of processes and the interruptions.

    Parameters
    ----------
    plan : Plan
    store : Store or str
        Where the rows go, or its URL.
    n_jobs : int
        Processes on this machine; -1 for one on each core, 1 for none but this.
    backend, scheduler : str
        "loky", processes here; or "dask", the cluster whose scheduler has this address.
    progress : bool, optional
        Whether to show progress; by default on terminals.
    redo : bool
        Whether to replace rows that were damaged or made with other settings, which otherwise is an error.

    Returns
    -------
    RunSummary

    Examples
    --------
    >>> import tempfile
    >>> from marginwise.study import Effort, Newton, Plan, benchmarks, open_store, run_study
    >>> methods = {"le2": Newton("laplace-evidence", "quadratic", isotropic=True)}
    >>> plan = Plan("mine", benchmarks("crabs"), methods, effort=Effort(newton_evaluations=2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run_study(plan, f"sqlite:///{folder}/mine.sqlite", n_jobs=1).complete
    True
    """
    with closing(open_store(store)) if isinstance(store, str) else nullcontext(store) as opened:
        run = _Run(plan, opened)
        run.settle_differences(redo)
        with show_progress(progress, run.trials, opened.rows()) as shown, answer_interrupts(_interrupt):
            try:
                with start_workers(backend, n_jobs, scheduler) as workers:
                    run.go(workers, shown)
            except _Interrupted:
                run.interrupted = True
            finally:
                opened.release(run.owner)
        return run.summary()


class _Run:
    """One call of :func:`run_study` under way."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan, self.store = plan, store
        load_data.cache_clear()  # a file may have changed since
        self.trials = plan.enumerate()
        self.owner = Owner.this_process()
        self.begun = time.time()
        self.settings: dict[tuple[str, str], dict[str, Any]] = {}
        self.fingerprints: dict[tuple[str, str], str] = {}
        self.crashes: Counter[Trial] = Counter()
        self.finished = 0
        self.interrupted = False
        self._renewed = time.monotonic()

    def settle_differences(self, redo: bool) -> None:
        """Make sure that the store holds no rows of other settings: a table must not mix them; nor damaged ones."""
        if redo:
            self.store.remove(self.store.damaged())
        descriptions = {}
        for cell in dict.fromkeys((trial.dataset, trial.method) for trial in self.trials):
            task = self._task(Trial(*cell, 0))
            self.settings[cell] = task.settings()
            self.fingerprints[cell] = digest(self.settings[cell])
            descriptions[self.fingerprints[cell]] = {**self.settings[cell], "about": task.about()}
        rows = [row for row in self.store.rows() if row.status == "done"]
        found = {key: self._difference(*key) for key in {(row.dataset, row.method, row.fingerprint) for row in rows}}
        others = [row for row in rows if found[row.dataset, row.method, row.fingerprint]]
        if others and not redo:
            row = others[0]
            raise MarginwiseError(
                f"{len(others)} of {len(rows)} rows in {self.store.path} were made with other settings (the first, "
                f"{row.method} on {row.dataset}: {found[row.dataset, row.method, row.fingerprint]}). Take another "
                "store, or redo them (redo=True, --redo)"
            )
        self.store.remove(row.trial for row in others)
        self.store.describe(descriptions)

    def _difference(self, dataset: str, method: str, fingerprint_before: str) -> str:
        """Say how the settings of a row differ from those of now; nothing if they do not.

        Of a row that the plan does not have, it is known what all rows share.
        """
        if self.fingerprints.get((dataset, method)) == fingerprint_before:
            return ""
        before = self.store.settings(fingerprint_before)
        if not before:
            return "unknown settings"
        shared = {"marginwise": version("marginwise"), "effort": fingerprint(self.plan.effort)}
        now = self.settings.get((dataset, method), {**before, **shared})
        return "; ".join(differences(without_places(before), without_places(now)))

    def _task(self, trial: Trial) -> TrialTask:
        return TrialTask(trial, self.plan.methods[trial.method], self.plan.datasets[trial.dataset], self.plan.effort)

    def go(self, workers: Workers, progress: Progress) -> None:
        """Keep the workers busy until every trial is settled, here or in another process on the same store."""
        in_work: dict[Future[TrialRow], Trial] = {}
        while True:
            self._hand_out(workers, in_work)
            remaining = self.remaining()
            progress.update(remaining, len(in_work), workers.capacity())
            if in_work:
                done, _ = wait(in_work, timeout=1.0, return_when=FIRST_COMPLETED)
                if any(future.cancelled() for future in done):
                    raise MarginwiseError("the workers were lost; finished trials are kept: run the study again")
                if any(isinstance(future.exception(), BrokenExecutor) for future in done):
                    done = set(in_work)  # all that it had is lost
                    workers.restart()
                for future in done:
                    row = self._settle(in_work.pop(future), future)
                    if row is not None:
                        progress.finished(row)
            elif remaining:
                time.sleep(_POLL)  # another process has them
            else:
                return
            if time.monotonic() - self._renewed > LEASE / 10:
                self.store.renew(self.owner)
                self._renewed = time.monotonic()

    def remaining(self) -> list[Trial]:
        """Return the trials that are neither done nor have failed in this call."""
        settled = self.store.settled(self.begun)
        return [trial for trial in self.trials if trial not in settled]

    def summary(self) -> RunSummary:
        """Return what became of it."""
        mine = set(self.trials)
        rows = [row for row in self.store.rows() if row.trial in mine]
        return RunSummary(
            total=len(self.trials),
            done=sum(row.status == "done" for row in rows),
            run=self.finished,
            failed=tuple(row for row in rows if row.status == "failed"),
            interrupted=self.interrupted,
            seconds=time.time() - self.begun,
        )

    def _hand_out(self, workers: Workers, in_work: dict[Future[TrialRow], Trial]) -> None:
        """Claim as many trials as there are idle workers, and submit them."""
        while len(in_work) < workers.capacity():
            trial = self.store.claim(self.trials, self.owner, begun=self.begun)
            if trial is None:
                return
            try:
                in_work[workers.submit(self._task(trial).run)] = trial
            except BrokenExecutor as error:  # a worker was killed just now
                self._lost(trial, error)
                if in_work:
                    return  # what it had is lost too, and will say so
                workers.restart()

    def _settle(self, trial: Trial, future: Future[TrialRow]) -> TrialRow | None:
        """Write the row of a trial that has ended; None if it has none, because it is to be run again."""
        error = future.exception() if future.done() else BrokenExecutor("another worker was killed")
        if error is not None:
            return self._lost(trial, error)
        row = self._checked(future.result())
        self.finished += self.store.finish(row, self.owner)
        return row

    def _lost(self, trial: Trial, error: BaseException) -> TrialRow | None:
        """Give a trial back whose worker was lost; if that has happened too often, write that it failed."""
        self.crashes[trial] += 1
        if isinstance(error, BrokenExecutor) and self.crashes[trial] < _MOST_CRASHES:
            self.store.release(self.owner, [trial])
            return None
        lost = isinstance(error, BrokenExecutor)
        reason = "the worker was lost; memory may have run out" if lost else "the worker could not run it"
        row = _failed(trial, error, reason)
        self.finished += self.store.finish(row, self.owner)
        return row

    def _checked(self, row: TrialRow) -> TrialRow:
        """Return the row, or a failure if the worker has other code or other data than this process."""
        if row.status == "failed" or row.fingerprint == self.fingerprints[row.dataset, row.method]:
            return row
        error = MarginwiseError(f"marginwise {row.versions.get('marginwise')}, fingerprint {row.fingerprint}")
        return _failed(row.trial, error, "the worker has another marginwise or other data than this process")


class _Interrupted(BaseException):
    """Ctrl-C, under a name that no search takes for its own."""


def _interrupt(number: int, frame: object) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # pressed again it ends everything
    raise _Interrupted


def _failed(trial: Trial, error: BaseException, reason: str) -> TrialRow:
    """Return the row of a trial that its worker did not finish."""
    key = (trial.dataset, trial.method, trial.number)
    name, message = type(error).__name__, f"{reason} ({error})"
    return TrialRow(*key, seed=trial.seed, status="failed", message=message, error_name=name)
