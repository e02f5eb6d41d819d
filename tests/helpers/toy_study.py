"""Methods that take next to no time, for tests of what runs them; and the study they are used in."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass

import numpy as np

from marginwise.hyperparameters import random_start
from marginwise.study import Effort, Outcome, Plan, benchmarks
from marginwise.study.judge import flat

#: Settings that make real methods small.
SMALL = Effort(
    train_rows=30, test_rows=50, walk_evaluations=60, ascent_evaluations=3, newton_evaluations=5, hmc_steps=50
)


@dataclass(frozen=True)
class Chance:
    """Draws numbers, and notes in a file that it has run."""

    log: str = ""
    pause: float = 0.0

    def run(self, data, trial, effort):
        if self.log:
            with open(self.log, "ab", buffering=0) as file:
                file.write(f"{trial.name} {os.getpid()}\n".encode())
        time.sleep(self.pause)
        rng = np.random.default_rng(trial.seed)
        errors = rng.uniform(size=3)
        return Outcome(
            message="drawn",
            evaluations=len(data.y_train),
            hyperparameters=flat(random_start(data.n_inputs, rng)),
            test_error=float(errors[0]),
            trace={"value": errors.tolist()},
        )


@dataclass(frozen=True)
class Moody:
    """Fails as long as a file is there."""

    mood: str

    def run(self, data, trial, effort):
        if os.path.exists(self.mood):
            raise ArithmeticError(f"not today, {trial.number}")
        return Chance().run(data, trial, effort)


def chance_plan(trials: int = 6, *, log: str = "", pause: float = 0.0) -> Plan:
    """Return a plan of two methods that take no time."""
    chance = Chance(log, pause)
    return Plan("chance", benchmarks("crabs", "pima"), {"one": chance, "other": chance}, trials, effort=SMALL)


def table(store, *, times: bool = False) -> list[dict]:
    """Return all columns and traces of a store, without the times if not asked for."""
    rows = []
    for row in store.rows():
        values = asdict(row) | {"trace": store.trace(row)}
        if not times:
            del values["seconds"]
            values["extra"] = {key: value for key, value in values["extra"].items() if not key.endswith("seconds")}
        rows.append(values)
    return rows
