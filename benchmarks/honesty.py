"""Is what a model says of its own performance honest? Random tables, and as many new rows as it takes to know.

    python benchmarks/honesty.py run [--tables 2000] [--seed 0] [--jobs 1] [--output results/honesty.jsonl]
    python benchmarks/honesty.py report [--output results/honesty.jsonl]

Table number t is drawn with the seed (seed, t): its kind, its size, the law of its rows and the mode of the model all
follow from these two numbers. The error and the log-loss that the model states for new rows are compared with those on
2,000 new rows from the same law. Both have standard errors, that of a stated error from the number of training rows.
``report`` has the share of tables on which the two agree within three standard errors of their difference, by kind and
by mode, and the number of tables of pure noise on which the model claims to be better than chance by more than three.
One line of JSON for each table is appended to the output; a run that is stopped goes on. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from marginwise import TunedSVC

NEW_ROWS = 2000
#: Every class has at least so many training rows: a table is drawn again until it has.
LEAST_ROWS = 4
#: Share of the tables that are so large that the kernel is approximated.
LARGE_EVERY, LARGE = 50, (1600, 2500)

MODES: dict[str, dict[str, Any]] = {
    "ard auto": {},
    "ard 0": {"ard": 0},
    "ard 0.3": {"ard": 0.3},
    "ard 1": {"ard": 1.0},
    "svm": {"predictor": "svm"},
    "mean of restarts": {"combine": "mean", "restarts": 2},
    "validation": {"validation_fraction": 0.25},
    "rank 20": {"rank": 20},
}
NOISE = {"noise": 0.5, "noise, 30 % ones": 0.3}
KINDS = (*NOISE, "plain", "wide", "rounded", "rare", "words", "missing", "classes")


@dataclass(frozen=True)
class Law:
    """The distribution of the rows of a table: what its kind is, and numbers that are drawn once."""

    kind: str
    inputs: int
    classes: int
    weights: np.ndarray
    shift: float

    @classmethod
    def drawn(cls, kind: str, n: int, rng: np.random.Generator) -> Law:
        most = {"rounded": 3, "words": 8, "missing": 12, "wide": 300}.get(kind, 30)
        inputs = int(np.exp(rng.uniform(np.log(min(2 * n, 200)) if kind == "wide" else 0.0, np.log(most + 1))))
        classes = int(rng.integers(3, 6)) if kind == "classes" else 2
        weights = np.zeros((inputs, classes))
        some = rng.permutation(inputs)[: rng.integers(1, 5)]  # the inputs that matter
        weights[some] = rng.normal(size=(len(some), classes))
        return cls(kind, inputs, classes, weights * rng.uniform(0.5, 4.0), -3.0 if kind == "rare" else 0.0)

    def rows(self, n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
        """Return inputs and labels of n rows."""
        X = rng.normal(size=(n, self.inputs))
        if self.kind == "rounded":
            X = np.round(X)
        if self.kind in NOISE:
            return X, (rng.uniform(size=n) < NOISE[self.kind]).astype(int)
        scores = X @ self.weights + 0.7 * np.sin(2.0 * X) @ self.weights[:, ::-1]
        if self.classes > 2:
            y = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)  # softmax
        else:
            y = (rng.uniform(size=n) < expit(scores[:, 1] - scores[:, 0] + self.shift)).astype(int)
        if self.kind == "words":
            names = np.array(["red", "green", "blue", "grey"])
            columns = {"colour": names[np.digitize(X[:, 0], [-1.0, 0.0, 1.0])], "noise": names[rng.integers(4, size=n)]}
            return pd.DataFrame({**{f"x{a}": X[:, a] for a in range(1, self.inputs)}, **columns}), y
        if self.kind == "missing":
            X[rng.uniform(size=X.shape) < 0.15] = np.nan
        return X, y


def stated(model: TunedSVC, y: np.ndarray) -> tuple[float | None, float | None, float | None]:
    """Return error and log-loss as the model states them, and the standard error of the second; None if not given.

    The only place that knows the names of its attributes.
    """
    held_out = getattr(model, "held_out_proba_", None)
    error = None if held_out is None else standard_error(row_losses(held_out, np.searchsorted(model.classes_, y)))
    return getattr(model, "expected_error_", None), getattr(model, "expected_log_loss_", None), error


def row_losses(proba: np.ndarray, places: np.ndarray) -> np.ndarray:
    return -np.log(np.maximum(proba[np.arange(len(places)), places], np.finfo(float).tiny))


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def counted_se(error: float, n: int) -> float:
    """√(ε(1-ε)/n), with one error more and one right more so that it is never 0."""
    share = (error * n + 1.0) / (n + 2.0)
    return float(np.sqrt(share * (1.0 - share) / n))


def plan(number: int, seed: int) -> tuple[str, str, int, np.random.Generator]:
    """Return kind and mode of a table, its number of rows and its random numbers. All pairs take turns."""
    rng = np.random.default_rng([seed, number])
    kind, mode = KINDS[number % len(KINDS)], list(MODES)[number // len(KINDS) % len(MODES)]
    n = int(np.exp(rng.uniform(np.log(100 if kind == "rare" else 40), np.log(400))))
    if number % LARGE_EVERY == LARGE_EVERY - 1:
        kind, mode, n = ("plain", "noise")[number // LARGE_EVERY % 2], "ard auto", int(rng.integers(*LARGE))
    return kind, mode, n, rng


def judge(number: int, seed: int) -> dict[str, Any]:
    """Draw a table, fit a model to it, and return what it states beside what is true."""
    kind, mode, n, rng = plan(number, seed)
    while True:
        law = Law.drawn(kind, n, rng)
        X, y = law.rows(n, rng)
        if np.bincount(y, minlength=law.classes).min() >= LEAST_ROWS:
            break
    record = {"seed": seed, "table": number, "kind": kind, "mode": mode, "n": n, "inputs": law.inputs}
    model = TunedSVC(random_state=0, **MODES[mode])
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
            X_new, y_new = law.rows(NEW_ROWS, rng)
            wrong = model.predict(X_new) != y_new
            losses = row_losses(model.predict_proba(X_new), np.searchsorted(model.classes_, y_new))
    except Exception as failure:  # reported, and not the end of the run
        return {**record, "failed": f"{type(failure).__name__}: {failure}"}
    error, (stated_error, stated_loss, loss_se) = float(wrong.mean()), stated(model, y)
    if loss_se is None:  # without held-out probabilities, the losses of new rows say how much that of a row varies
        loss_se = float(losses.std(ddof=1) / np.sqrt(n))
    return {
        **record,
        "seconds": round(time.perf_counter() - start, 2),
        "stated_error": stated_error,
        "stated_error_se": None if stated_error is None else counted_se(stated_error, n),
        "error": error,
        "error_se": counted_se(error, NEW_ROWS),
        "stated_log_loss": stated_loss,
        "stated_log_loss_se": loss_se,
        "log_loss": float(losses.mean()),
        "log_loss_se": standard_error(losses),
    }


def z_score(record: dict[str, Any], what: str) -> float | None:
    """Return how far the stated number is below the true one, in standard errors of the difference."""
    if record.get(f"stated_{what}") is None:
        return None
    gap = record[what] - record[f"stated_{what}"]
    return float(gap / np.hypot(record[f"{what}_se"], record[f"stated_{what}_se"]))


def claims_better_than_chance(record: dict[str, Any]) -> bool:
    """Whether an error or log-loss on noise is stated that is below that of chance by three standard errors."""
    p = NOISE[record["kind"]]
    chance = {"error": min(p, 1.0 - p), "log_loss": float(-p * np.log(p) - (1.0 - p) * np.log(1.0 - p))}
    return any(
        record.get(f"stated_{what}") is not None
        and record[f"stated_{what}"] < value - 3.0 * record[f"stated_{what}_se"]
        for what, value in chance.items()
    )


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(arguments: argparse.Namespace) -> None:
    done = {record["table"] for record in lines_of(arguments.output) if record["seed"] == arguments.seed}
    left = [number for number in range(arguments.tables) if number not in done]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(arguments.jobs) as pool, arguments.output.open("a") as file:
        for future in as_completed([pool.submit(judge, number, arguments.seed) for number in left]):
            file.write(json.dumps(future.result()) + "\n")
            file.flush()


def report(arguments: argparse.Namespace) -> None:
    records = lines_of(arguments.output)
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        for name in (f"kind: {record['kind']}", f"mode: {record['mode']}", "all"):
            groups[name].append(record)
    order = [*(f"kind: {kind}" for kind in KINDS), *(f"mode: {mode}" for mode in MODES), "all"]
    print(f"{'':<24}{'tables':>7}{'failed':>7}{'error: within 3 se, mean z':>30}{'log-loss: the same':>24}")
    for name in (name for name in order if name in groups):
        found = [record for record in groups[name] if "failed" not in record]
        cells = "".join(f"{told:>{width}}" for told, width in zip(agreement(found), (30, 24), strict=True))
        print(f"{name:<24}{len(groups[name]):>7}{len(groups[name]) - len(found):>7}{cells}")
    noise = [record for record in records if record["kind"] in NOISE and "failed" not in record]
    claimed = [record["table"] for record in noise if claims_better_than_chance(record)]
    print(f"tables of noise said to be better than chance: {len(claimed)} of {len(noise)} {claimed or ''}")
    for record in records:
        worst = max((abs(z_score(record, what) or 0.0) for what in ("error", "log_loss")), default=0.0)
        if "failed" in record or worst > 3.0:
            told = record.get("failed") or ", ".join(
                f"{what} {record[f'stated_{what}']:.3f} stated, {record[what]:.3f} true (z {score:+.1f})"
                for what in ("error", "log_loss")
                if (score := z_score(record, what)) is not None
            )
            print(f"  table {record['table']}, {record['kind']}, {record['mode']}, n {record['n']}: {told}")


def agreement(records: list[dict[str, Any]]) -> list[str]:
    """Return the share within three standard errors and the mean z of both numbers; how many are not given."""
    told = []
    for what in ("error", "log_loss"):
        scores = [z_score(record, what) for record in records]
        known = np.array([score for score in scores if score is not None])
        text = f"{np.mean(np.abs(known) <= 3.0):.1%}, {known.mean():+.2f}" if len(known) else "not given"
        told.append(text + (f" ({len(scores) - len(known)} not given)" if 0 < len(known) < len(scores) else ""))
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("results/honesty.jsonl"))
    arguments = parser.parse_args()
    {"run": run, "report": report}[arguments.command](arguments)


if __name__ == "__main__":
    main()
