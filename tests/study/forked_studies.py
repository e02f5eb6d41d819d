"""Studies that tests kill or let compete, run as a script: it imports once and forks, so that each takes no time.

    forked_studies.py killed STORE KILLS    kill a study of real methods so often, then let it end
    forked_studies.py shared STORE LOG N    let N processes share a study of toy methods
    forked_studies.py crowd STORE KILLS N   let N processes share the miniature of the paper's study, and kill one of
                                            them at random moments so often

Prints a line of JSON that says what happened.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from marginwise.study import Plan, benchmarks, open_store, run_study
from marginwise.study.paper import methods, quick_plan
from toy_study import SMALL, chance_plan

#: The methods of a killed study: walks, quasi-Newton, sampling and a grid.
KILLED = Plan(
    "killed",
    benchmarks("crabs", "pima"),
    methods("le1-walk", "span-walk", "evidence-ascent", "svm-cv", "ep-loo-newton"),
    {"le1-walk": 12, "span-walk": 12, "evidence-ascent": 2, "svm-cv": 1, "ep-loo-newton": 9},
    effort=SMALL,
)


def forked(function) -> int:
    """Run a function in a forked process; return its number."""
    pid = os.fork()
    if pid:
        return pid
    try:
        function()
    except BaseException as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def ended_well(pid: int) -> bool:
    return os.waitpid(pid, 0)[1] == 0


def kill_and_resume(url: str, kills: int) -> dict:
    chance = random.Random(kills)
    undisturbed = Path(url.removeprefix("sqlite:///")).with_name("undisturbed.sqlite")
    run_study(KILLED, f"sqlite:///{undisturbed}", n_jobs=1)  # compiles everything before the first fork
    counts, orphaned = [], 0
    with open_store(url) as store:
        for _ in range(kills):
            goal = len(store.rows()) + chance.randint(0, 3)
            pid = forked(lambda: run_study(KILLED, url, n_jobs=1))
            while len(store.rows()) < goal and not os.waitpid(pid, os.WNOHANG)[0]:
                time.sleep(1e-3)
            time.sleep(chance.uniform(0.0, 0.1))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            counts.append(len(store.rows()))
            orphaned += bool(store.claims())
    pid = forked(lambda: run_study(KILLED, url, n_jobs=1))
    return {"counts": counts, "orphaned": orphaned, "ended": ended_well(pid)}


def share(url: str, log: str, processes: int) -> dict:
    plan = chance_plan(trials=12, log=log, pause=0.01)
    pids = [forked(lambda: run_study(plan, url, n_jobs=1)) for _ in range(processes)]
    ended = [ended_well(pid) for pid in pids]
    return {"ended": all(ended)}


def kill_in_a_crowd(url: str, kills: int, processes: int) -> dict:
    chance, plan = random.Random(kills), quick_plan()
    undisturbed = Path(url.removeprefix("sqlite:///")).with_name("undisturbed.sqlite")
    run_study(plan, f"sqlite:///{undisturbed}", n_jobs=1)
    killed, lost, total = 0, 0, len(plan.enumerate())
    crowd: list[int] = []
    with open_store(url) as store:
        while killed < kills and len(store.rows()) < total - processes:
            crowd += [forked(lambda: run_study(plan, url, n_jobs=1)) for _ in range(processes - len(crowd))]
            before = len(store.rows())
            time.sleep(chance.uniform(0.0, 0.3))
            pid = crowd.pop(chance.randrange(len(crowd)))
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            killed += 1
            lost += len(store.rows()) < before
    for pid in crowd:
        os.waitpid(pid, 0)
    ended = ended_well(forked(lambda: run_study(plan, url, n_jobs=1)))
    return {"killed": killed, "lost": lost, "ended": ended}


if __name__ == "__main__":
    kind, *arguments = sys.argv[1:]
    if kind == "killed":
        told = kill_and_resume(arguments[0], int(arguments[1]))
    elif kind == "crowd":
        told = kill_in_a_crowd(arguments[0], int(arguments[1]), int(arguments[2]))
    else:
        told = share(arguments[0], arguments[1], int(arguments[2]))
    print(json.dumps(told))
