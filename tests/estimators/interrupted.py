"""A process that fits and predicts until Ctrl-C, and tells on standard output what it made of it."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_score
from threadpoolctl import threadpool_info

from marginwise import TunedSVC


def table(rows: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(rows, 6))
    latent = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=rows)
    return X, np.digitize(latent, np.quantile(latent, np.arange(1, classes) / classes))


def main(kind: str, n_jobs: int | None, classes: int, rows: int, times: int) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with it ignored
    warnings.simplefilter("ignore")
    X, y = table(rows, classes)
    model = TunedSVC(n_jobs=n_jobs, random_state=0)
    many = np.repeat(X, 200_000 // rows, axis=0)

    def work() -> None:
        if kind == "fit":
            model.fit(X, y)
        elif kind == "cross_val_score":
            cross_val_score(model, X, y, cv=2)
        else:
            model.predict(many)

    model.fit(X, y)  # compiles, or loads what was compiled
    begun = time.monotonic()
    work()
    say(seconds=time.monotonic() - begun)
    for number in range(times):
        if number % 2 and kind == "fit":
            model = TunedSVC(n_jobs=n_jobs, random_state=0)  # in turn fitted before and not
        before, state = vars(model).copy(), surroundings()
        outcome, finished = "nothing", None
        say(ready=True)
        try:
            work()
            finished = time.monotonic()
            time.sleep(20)
        except BaseException as error:
            outcome = type(error).__name__
        same = before.keys() == vars(model).keys() and all(vars(model)[name] is before[name] for name in before)
        left = children()
        say(
            outcome=outcome,
            finished=finished,
            same=same or finished is not None,
            restored=surroundings() == state,
            left=left if finished is None else [],
        )


def surroundings() -> list[Any]:
    """Return who answers Ctrl-C, whether it is blocked, and the threads of each BLAS."""
    handler = repr(signal.getsignal(signal.SIGINT))
    blocked = signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, set())
    return [handler, blocked, sorted((info["filepath"], info["num_threads"]) for info in threadpool_info())]


def children() -> list[str]:
    """Return the commands of the processes started by this one, but the trackers that joblib keeps for good."""
    own = str(os.getpid())
    commands = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = process.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            command = process.joinpath("cmdline").read_text().replace("\0", " ")
        except OSError:  # it has just ended
            continue
        if parent == own and "resource_tracker" not in command:
            commands.append(command)
    return commands


def say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    kind, n_jobs, *numbers = sys.argv[1:]
    main(kind, None if n_jobs == "None" else int(n_jobs), *map(int, numbers))
