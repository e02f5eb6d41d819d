"""Is what a model says of its own performance honest? Random tables, and as many new rows as it takes to know.

    python benchmarks/honesty.py run [--tables 2000] [--seed 0] [--jobs 1] [--output results/honesty.jsonl]
    python benchmarks/honesty.py report [--output results/honesty.jsonl]

Table number t is drawn with the seed (seed, t): its kind, its size, the law of its rows and the mode of the model all
follow from these two numbers. The error and the log-loss that the model states for new rows are compared with those on
2,000 new rows from the same law. ``report`` has the share of tables on which the two agree within three standard errors
of their difference, by kind and by mode, and the number of tables of pure noise on which the model claims to be better
than chance by more than three. There are two standard errors of what is stated, and all of this is reported for both:

- "by rows" is that of a mean over as many independent rows. It is too small: folds train on common rows, and the model
  that predicts new rows is none of theirs.
- "as stated" is what the model itself gives, ``expected_error_se_`` and ``expected_log_loss_se_``.

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
#: One table of so many is larger than others, in turn: tuned on part of its rows, or with an approximate kernel.
LARGE_EVERY, LARGE = 25, ((700, 1500), (1600, 2500))

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
WHAT = ("error", "log_loss")
#: Standard errors of what is stated, and the end of their names in a record.
STANDARD_ERRORS = {"by rows": "se", "as stated": "own_se"}
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


def stated(model: TunedSVC, y: np.ndarray) -> dict[str, Any]:
    """Return what the model states, with both standard errors; None if not given. Only this knows its attributes."""
    if not np.isfinite(model.expected_error_):
        return dict.fromkeys(f"stated_{what}" for what in WHAT)
    losses = row_losses(model.held_out_proba_, np.searchsorted(model.classes_, y))
    return {
        "stated_error": model.expected_error_,
        "stated_error_se": counted_se(model.expected_error_, len(y)),
        "stated_error_own_se": model.expected_error_se_,
        "stated_log_loss": model.expected_log_loss_,
        "stated_log_loss_se": standard_error(losses),
        "stated_log_loss_own_se": model.expected_log_loss_se_,
    }


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
        turn = number // LARGE_EVERY
        kind, mode, n = ("plain", "noise")[turn // 2 % 2], "ard auto", int(rng.integers(*LARGE[turn % 2]))
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
    error = float(wrong.mean())
    return {
        **record,
        "seconds": round(time.perf_counter() - start, 2),
        **stated(model, y),
        "error": error,
        "error_se": counted_se(error, NEW_ROWS),
        "log_loss": float(losses.mean()),
        "log_loss_se": standard_error(losses),
    }


def z_score(record: dict[str, Any], what: str, se: str = "se") -> float | None:
    """Return how far the stated number is below the true one, in standard errors of the difference."""
    if record.get(f"stated_{what}") is None:
        return None
    gap = record[what] - record[f"stated_{what}"]
    return float(gap / np.hypot(record[f"{what}_se"], record[f"stated_{what}_{se}"]))


def claims_better_than_chance(record: dict[str, Any], se: str = "se") -> bool:
    """Whether an error or log-loss on noise is stated that is below that of chance by three standard errors."""
    p = NOISE[record["kind"]]
    chance = {"error": min(p, 1.0 - p), "log_loss": float(-p * np.log(p) - (1.0 - p) * np.log(1.0 - p))}
    return any(
        record.get(f"stated_{what}") is not None
        and record[f"stated_{what}"] < value - 3.0 * record[f"stated_{what}_{se}"]
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
    noise = [record for record in records if record["kind"] in NOISE and "failed" not in record]
    for told, se in STANDARD_ERRORS.items():
        print(f"standard errors {told}: share within three, mean and standard deviation of z")
        print(f"{'':<24}{'tables':>7}{'failed':>7}{'error':>26}{'log-loss':>26}")
        for name in (name for name in order if name in groups):
            found = [record for record in groups[name] if "failed" not in record]
            cells = "".join(f"{cell:>26}" for cell in agreement(found, se))
            print(f"{name:<24}{len(groups[name]):>7}{len(groups[name]) - len(found):>7}{cells}")
        claimed = [record["table"] for record in noise if claims_better_than_chance(record, se)]
        print(f"tables of noise said to be better than chance: {len(claimed)} of {len(noise)} {claimed or ''}\n")
    print("tables that differ by more than three standard errors by rows:")
    for record in records:
        scores = {what: z_score(record, what) for what in WHAT}
        if "failed" in record or max(abs(score or 0.0) for score in scores.values()) > 3.0:
            told = record.get("failed") or ", ".join(
                f"{what} {record[f'stated_{what}']:.3f} stated, {record[what]:.3f} true (z {score:+.1f})"
                for what, score in scores.items()
            )
            print(f"  table {record['table']}, {record['kind']}, {record['mode']}, n {record['n']}: {told}")


def agreement(records: list[dict[str, Any]], se: str) -> list[str]:
    """Return the share within three standard errors, mean and deviation of z, of both numbers; how many lack them."""
    told = []
    for what in WHAT:
        scores = [z_score(record, what, se) for record in records]
        known = np.array([score for score in scores if score is not None])
        text = (
            f"{np.mean(np.abs(known) <= 3.0):.1%} {known.mean():+.2f} {known.std():.2f}" if len(known) else "not given"
        )
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
