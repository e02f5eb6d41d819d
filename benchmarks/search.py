"""Searches side by side: how many evaluations each needs, where it ends, and that a killed one ends the same.

    python benchmarks/search.py                              all parts at full size (hours)
    python benchmarks/search.py --parts walks --datasets crabs pima --walks 5
    python benchmarks/search.py --parts ascent --starts 3
    python benchmarks/search.py --parts killed

walks   quasi-Newton against the greedy random walk of Gold & Sollich (2003), section ztmc, both from the paper's fixed
        start. Goal: a value at least as good as the best of 25 walks in 1/50 of one walk's evaluations, if need be with
        restarts that together cost no more than one walk.
ascent  gradient ascent on the exact evidence, by sampling, and on that of expectation propagation, from the same
        random starts on Twonorm: where they end, their test errors and times.
killed  a long walk that is killed ten times and continued, against the same walk uninterrupted.

Tables are printed and written to --results as CSV and Markdown. The searches are recorded there too: a benchmark that
is stopped goes on where it was when it is started again. Set OPENBLAS_NUM_THREADS=1 to run them side by side.
"""

from __future__ import annotations

import argparse
import csv
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from marginwise.criteria import criterion_class, criterion_names
from marginwise.datasets import Benchmark, benchmark_names, load_benchmark
from marginwise.hyperparameters import random_start
from marginwise.search import GradientAscent, Search, Tuning
from marginwise.tuning import tune

#: Criteria with their slacks of the comparison with random walks.
CRITERIA = (
    ("laplace-evidence", "linear"),
    ("laplace-evidence", "quadratic"),
    ("span", "quadratic"),
    ("ep-evidence", "linear"),
    ("ep-loo", "linear"),
)

#: Goal: evaluations of one walk for each of quasi-Newton; and what counts as the same value of a criterion.
GOAL, SAME = 50, 1e-4

Row = dict[str, object]


#: Ascents end when gradients are a tenth of their peaks. On Twonorm the evidence is a ridge beyond: k0 grows to its
#: bound, test errors stay the same, and sampled gradients become all noise.
ASCENT = GradientAscent(tolerance=0.1)


def search(data: Benchmark, criterion: str, slack: str, method: str | Search, place: Path, **options: object) -> Tuning:
    """Tune on the training set, recorded at ``place``."""
    return tune(
        data.X_train, data.y_train, criterion, slack, search=method, checkpoint=place, progress=False, **options
    )  # type: ignore[arg-type]


def needed(runs: Sequence[Tuning], goal: float) -> int | None:
    """Return after how many evaluations, counted through all runs in order, a score reached ``goal``."""
    before = 0
    for run in runs:
        scores = run.trace.to_arrays()["score"]
        reached = np.flatnonzero(scores >= goal)
        if reached.size:
            return before + int(reached[0]) + 1
        before += len(scores)
    return None


def compare_with_walks(name: str, criterion: str, slack: str, arguments: argparse.Namespace) -> Row:
    """Return the row of one data set and criterion."""
    data = load_benchmark(name)
    place = arguments.results / "searches" / f"{name}-{criterion}-{slack}"
    walks = Parallel(n_jobs=arguments.jobs)(
        delayed(search)(
            data,
            criterion,
            slack,
            "random-walk",
            place / f"walk-{seed}",
            random_state=seed,
            max_evaluations=arguments.walk_evaluations,
        )
        for seed in range(arguments.walks)
    )
    sign = 1 if criterion_class(criterion).direction == "maximise" else -1
    values = np.array([walk.value for walk in walks])
    lengths = [len(walk.trace) for walk in walks]
    one_walk = int(np.median(lengths))
    goal = float((sign * values).max()) - SAME

    runs = list(search(data, criterion, slack, "quasi-newton", place / "newton", random_state=0).restarts)
    first = runs[0]
    restarts = 0
    while needed(runs, goal) is None and sum(len(run.trace) for run in runs) < one_walk:
        restarts += 1
        tuning = search(data, criterion, slack, "quasi-newton", place / "newton", random_state=0, restarts=restarts)
        runs = list(tuning.restarts)
    count = needed(runs, goal)
    best = max(runs, key=lambda run: run.score)
    return {
        "data": name,
        "criterion": criterion,
        "slack": slack,
        "walks": len(walks),
        "walk best": f"{sign * (sign * values).max():.4f}",
        "walk median": f"{np.median(values):.4f}",
        "walk evaluations": one_walk,
        "newton": f"{first.value:.4f}",
        "newton evaluations": len(first.trace),
        "restarts": restarts,
        "newton best": f"{best.value:.4f}",
        "needed": "-" if count is None else count,
        "walk / needed": "-" if count is None else f"{one_walk / count:.0f}",
        "goal": "no" if count is None else "yes" if one_walk / count >= GOAL else "equal cost" if restarts else "no",
    }


def ascend(seed: int, criterion: str, arguments: argparse.Namespace) -> Row:
    """Return the row of one gradient ascent on Twonorm."""
    data = load_benchmark("twonorm")
    start = random_start(data.n_inputs, np.random.default_rng(seed))
    place = arguments.results / "searches" / f"ascent-{criterion}-{seed}"
    tuning = search(
        data,
        criterion,
        "linear",
        ASCENT,
        place,
        start=start,
        random_state=0,
        max_evaluations=arguments.ascent_evaluations,
        test=(data.X_test, data.y_test),
    )
    found = tuning.hyperparameters
    return {
        "criterion": criterion,
        "start": seed,
        "steps": len(tuning.trace),
        "C": f"{found.C:.3g}",
        "k0": f"{found.k0:.3g}",
        "koff": f"{found.koff:.3g}",
        "mean ln l": f"{np.log(found.length_scales).mean():.2f}",
        "test error %": f"{100 * tuning.restarts[0].errors['test']:.2f}",
        "oracle %": f"{100 * tuning.trace.oracle_minimum().errors['test']:.2f}",
        "seconds": f"{tuning.trace[-1].seconds:.0f}",
        "ended": "converged" if tuning.status.ok else tuning.status.message,
    }


def long_walk(place: Path | None, evaluations: int) -> Tuning:
    """Walk on Twonorm, with warm-started solutions and a test error along the path."""
    data = load_benchmark("twonorm")
    return tune(
        data.X_train,
        data.y_train,
        "laplace-evidence",
        "linear",
        search="random-walk",
        random_state=1,
        max_evaluations=evaluations,
        test=(data.X_test[:500], data.y_test[:500]),
        checkpoint=place,
        progress=False,
    )


def kill_and_continue(arguments: argparse.Namespace, kills: int = 10) -> Row:
    """Return the row of a walk that was killed with SIGKILL again and again."""
    chance = random.Random(time.time_ns())
    place = arguments.results / "searches" / f"killed-{time.time_ns()}"
    log = place / "run-0.jsonl"
    command = [sys.executable, __file__, "--long-walk", str(place), str(arguments.killed_evaluations)]

    def progress() -> int:
        return log.read_bytes().count(b"\n") if log.exists() else 0

    survived = 0
    for _ in range(kills):
        goal = progress() + chance.randint(1, arguments.killed_evaluations // (kills + 2))
        process = subprocess.Popen(command)
        while progress() < goal and process.poll() is None:
            time.sleep(1e-3)
        survived += process.poll() is not None
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = progress() - 1
    continued, whole = long_walk(place, arguments.killed_evaluations), long_walk(None, arguments.killed_evaluations)
    tables = [tuning.trace.to_arrays() for tuning in (continued, whole)]
    columns = tables[1].keys() - {"seconds", "failure"}
    same = [np.array_equal(tables[0][key], tables[1][key], equal_nan=True) for key in columns]
    return {
        "kills": kills - survived,
        "evaluations before the last start": before,
        "evaluations": len(whole.trace),
        "columns": len(same),
        "identical": "yes" if all(same) and continued.hyperparameters == whole.hyperparameters else "no",
    }


def report(name: str, rows: list[Row], results: Path) -> None:
    """Print a table and write it as CSV and Markdown."""
    if not rows:
        return
    columns = list(rows[0])
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(str(row[column]) for column in columns) + " |" for row in rows]
    print("\n".join(lines), flush=True)
    (results / f"search-{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with open(results / f"search-{name}.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Tuning the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--parts", nargs="+", choices=("walks", "ascent", "killed"), default=["walks", "ascent", "killed"]
    )
    parser.add_argument("--datasets", nargs="+", choices=benchmark_names(), default=list(benchmark_names()))
    parser.add_argument("--criteria", nargs="+", default=[f"{name}:{slack}" for name, slack in CRITERIA])
    parser.add_argument("--walks", type=int, default=25)
    parser.add_argument("--walk-evaluations", type=int, default=20_000)
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--ascent-criteria", nargs="+", default=["ep-evidence", "evidence"])
    parser.add_argument("--ascent-evaluations", type=int, default=200)
    parser.add_argument("--killed-evaluations", type=int, default=3000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--long-walk", nargs=2, metavar=("PLACE", "EVALUATIONS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.long_walk:
        long_walk(Path(arguments.long_walk[0]), int(arguments.long_walk[1]))
        return
    arguments.results.mkdir(parents=True, exist_ok=True)
    if "walks" in arguments.parts:
        rows = []
        for name in arguments.datasets:
            for criterion in arguments.criteria:
                rows.append(compare_with_walks(name, *criterion.split(":"), arguments))
                print(rows[-1], flush=True)
        report("walks", rows, arguments.results)
    if "ascent" in arguments.parts:
        known = [criterion for criterion in arguments.ascent_criteria if criterion in criterion_names()]
        for criterion in set(arguments.ascent_criteria) - set(known):
            print(f"there is no criterion {criterion!r}")
        jobs = [delayed(ascend)(seed, criterion, arguments) for criterion in known for seed in range(arguments.starts)]
        report("ascent", Parallel(n_jobs=arguments.jobs)(jobs), arguments.results)
    if "killed" in arguments.parts:
        report("killed", [kill_and_continue(arguments)], arguments.results)


if __name__ == "__main__":
    main()
