"""Rows that belong together: is what a model expects on new groups true, and are its predictions better for knowing?

    python benchmarks/groups.py run [--seed 0] [--jobs 1] [--output results/groups.jsonl]
    python benchmarks/groups.py report [--output results/groups.jsonl]
    python benchmarks/groups.py remark [--seed 0] [--draws 20] [--data DIR]

Twenty made-up tables, ``SIZES`` × ``EFFECTS``, each with its own law. Inputs are a part that a group has in common and
one of the row's own, in the shares that an effect says, and the log-odds of a label are a function of the inputs plus a
number of the group. A model is fitted with the groups and one without, and both are asked on 1,000 new groups.

"far off" counts the tables on which the expected error is more than two of its standard errors from the error on new
groups. CPU times are those of the fit; measure with nothing else running. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from marginwise import TunedSVC, load_benchmark, load_table
from marginwise.errors import MarginwiseError
from marginwise.estimators._alike import alike_in_runs

NEW_GROUPS, ROWS_OF_NEW = 1000, 10
INPUTS = 5


class Size(NamedTuple):
    """A number of groups, and the fewest and most rows that one has."""

    groups: int
    fewest: int
    most: int

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """Return the group of each row; sizes of groups are uniform in their logarithms."""
        sizes = np.exp(rng.uniform(np.log(self.fewest), np.log(self.most + 1), size=self.groups)).astype(int)
        return np.repeat(np.arange(self.groups), sizes)

    def __str__(self) -> str:
        rows = self.fewest if self.fewest == self.most else f"{self.fewest} to {self.most}"
        return f"{self.groups} groups of {rows} rows"


class Effect(NamedTuple):
    """What rows of a group have in common: a share of the variance of each input, and log-odds of this spread."""

    inputs: float
    log_odds: float


SIZES = (Size(60, 5, 5), Size(40, 10, 10), Size(30, 20, 20), Size(24, 50, 50), Size(120, 5, 50))
EFFECTS = {"none": Effect(0.0, 0.0), "weak": Effect(0.5, 0.5), "medium": Effect(0.8, 1.0), "strong": Effect(0.95, 2.0)}
TABLES = tuple((size, name) for size in SIZES for name in EFFECTS)


@dataclass(frozen=True)
class Law:
    """The distribution of the rows of a table."""

    effect: Effect
    straight: np.ndarray
    waves: np.ndarray

    @classmethod
    def drawn(cls, effect: Effect, rng: np.random.Generator) -> Law:
        return cls(effect, rng.normal(size=INPUTS), rng.normal(size=INPUTS))

    def rows(self, groups: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return inputs and labels of rows of these groups."""
        number, n, common = groups.max() + 1, len(groups), self.effect.inputs
        X = np.sqrt(common) * rng.normal(size=(number, INPUTS))[groups]
        X += np.sqrt(1.0 - common) * rng.normal(size=(n, INPUTS))
        log_odds = X @ self.straight + np.sin(2.0 * X) @ self.waves
        log_odds += self.effect.log_odds * rng.normal(size=number)[groups]
        return X, (rng.uniform(size=n) < expit(log_odds)).astype(int)


def losses(model: TunedSVC, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row whether it is taken for the other class, and its log-loss."""
    proba = model.predict_proba(X)
    return proba.argmax(axis=1) != y, -np.log(np.maximum(proba[np.arange(len(y)), y], np.finfo(float).tiny))


def judge(number: int, seed: int) -> dict[str, Any]:
    """Draw a table, fit models with and without its groups, and return what they state beside what is true."""
    size, name = TABLES[number]
    rng = np.random.default_rng([seed, number])
    law, groups = Law.drawn(EFFECTS[name], rng), size.drawn(rng)
    X, y = law.rows(groups, rng)
    new = np.repeat(np.arange(NEW_GROUPS), ROWS_OF_NEW)
    X_new, y_new = law.rows(new, rng)
    record: dict[str, Any] = {"seed": seed, "table": number, "size": str(size), "effect": name, "rows": len(y)}
    for told in ("with", "without"):
        model = TunedSVC(random_state=0)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, groups=groups if told == "with" else None)
        seconds = time.process_time() - start
        wrong, loss = losses(model, X_new, y_new)
        record[told] = {
            "expected_error": model.expected_error_,
            "expected_error_se": model.expected_error_se_,
            "expected_log_loss": model.expected_log_loss_,
            "expected_log_loss_se": model.expected_log_loss_se_,
            "error": float(wrong.mean()),
            "log_loss": float(loss.mean()),
            "seconds": round(seconds, 3),
        }
    return record


def off(one: dict[str, Any], what: str) -> float:
    """Return how far what is expected is below what is true, in its standard errors."""
    return float((one[what] - one[f"expected_{what}"]) / one[f"expected_{what}_se"])


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(arguments: argparse.Namespace) -> None:
    done = {record["table"] for record in lines_of(arguments.output) if record["seed"] == arguments.seed}
    left = [number for number in range(len(TABLES)) if number not in done]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    data = load_benchmark("crabs")
    TunedSVC().fit(data.X_train, data.y_train, groups=np.arange(len(data.y_train)) // 2)  # compiled, whatever comes
    with ProcessPoolExecutor(arguments.jobs) as pool, arguments.output.open("a") as file:
        for future in as_completed([pool.submit(judge, number, arguments.seed) for number in left]):
            file.write(json.dumps(future.result()) + "\n")
            file.flush()


def report(arguments: argparse.Namespace) -> None:
    records = sorted(lines_of(arguments.output), key=lambda record: (record["seed"], record["table"]))
    print("| table | effect | new groups: with | expected | new groups: without | expected |")
    print("|---|---|---:|---:|---:|---:|")
    for record in records:
        cells = [cell for told in ("with", "without") for cell in _cells(record[told])]
        print(f"| {record['size']} | {record['effect']} | {' | '.join(cells)} |")
    for told in ("with", "without"):
        for what in ("error", "log_loss"):
            z = np.array([off(record[told], what) for record in records])
            print(
                f"{told} groups, {what}: {np.sum(np.abs(z) > 2)} of {len(z)} far off; z {z.mean():.2f} ± {z.std():.2f}"
            )
    for name in EFFECTS:
        own = [record for record in records if record["effect"] == name]
        gains = [record["without"]["log_loss"] - record["with"]["log_loss"] for record in own]
        errors = [record["without"]["error"] - record["with"]["error"] for record in own]
        better = f"{np.count_nonzero(np.array(gains) > 0)} of {len(own)} tables"
        print(
            f"{name}: log-loss on new groups lower by {np.mean(gains):.4f} with groups ({better}), "
            f"error by {100 * np.mean(errors):.2f} points"
        )
    ratios = np.log([record["with"]["seconds"] / record["without"]["seconds"] for record in records])
    print(f"CPU time: {np.exp(ratios.mean()):.2f} times (geometric mean), {np.exp(np.median(ratios)):.2f} (median)")


def _cells(one: dict[str, Any]) -> tuple[str, str]:
    far = "**" if abs(off(one, "error")) > 2 else ""
    stated = f"{far}{100 * one['expected_error']:.1f} ± {100 * one['expected_error_se']:.1f}{far}"
    return (
        f"{100 * one['error']:.1f} / {one['log_loss']:.3f}",
        f"{stated} / {one['expected_log_loss']:.3f} ± {one['expected_log_loss_se']:.3f}",
    )


def remark(arguments: argparse.Namespace) -> None:
    for name, effect in EFFECTS.items():
        said, shuffled = 0, 0
        for draw in range(arguments.draws):
            for size in SIZES:
                rng = np.random.default_rng([arguments.seed, draw, list(EFFECTS).index(name), SIZES.index(size)])
                X, y = Law.drawn(effect, rng).rows(size.drawn(rng), rng)
                order = rng.permutation(len(y))
                said, shuffled = said + remarked(X, y), shuffled + remarked(X[order], y[order])
        print(f"{name}: {said} of {arguments.draws * len(SIZES)} tables, {shuffled} in random order")
    others = dict(known_tables(arguments.draws))
    for path in sorted(arguments.data.rglob("*.csv*")) if arguments.data else ():
        try:
            table = load_table(path)
        except MarginwiseError:
            continue
        others[path.name] = table.schema.cells(table.X)[0], np.unique(table.y, return_inverse=True)[1]
    which = [name for name, (X, y) in others.items() if remarked(X, y)]
    print(f"other tables: {len(which)} of {len(others)} {', '.join(which)}")


def known_tables(draws: int) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """Yield tables of scikit-learn, made-up ones several times, shuffled or sorted by class, and rounded ones."""
    for name in ("iris", "wine", "breast_cancer", "digits"):
        yield name, getattr(datasets, f"load_{name}")(return_X_y=True)
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        for shuffle in (True, False):
            yield (
                f"classification {seed} {shuffle}",
                datasets.make_classification(400, 8, shuffle=shuffle, random_state=seed),
            )
            yield f"moons {seed} {shuffle}", datasets.make_moons(300, shuffle=shuffle, noise=0.2, random_state=seed)
            yield f"circles {seed} {shuffle}", datasets.make_circles(300, shuffle=shuffle, noise=0.1, random_state=seed)
            yield f"blobs {seed} {shuffle}", datasets.make_blobs(300, shuffle=shuffle, random_state=seed)[:2]
        yield f"quantiles {seed}", datasets.make_gaussian_quantiles(n_samples=300, random_state=seed)
        yield f"hastie {seed}", datasets.make_hastie_10_2(600, random_state=seed)
        yield f"rounded {seed}", (np.round(rng.normal(size=(400, 3))), rng.integers(2, size=400))
        copies = rng.integers(60, size=400)
        yield f"copies {seed}", (rng.normal(size=(60, 4))[copies], copies % 2)
        X = rng.normal(size=(400, 2))
        yield f"nearly sorted {seed}", (X[np.argsort(X[:, 0] + 0.1 * rng.normal(size=400))], rng.integers(2, size=400))


def remarked(X: np.ndarray, y: np.ndarray) -> bool:
    """Return whether a fit would remark on it; gaps are filled by means, and inputs standardised."""
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    codes = np.unique(y, return_inverse=True)[1]
    return alike_in_runs(StandardScaler().fit_transform(X), codes, np.arange(len(X)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for command in (run, report, remark):
        one = commands.add_parser(command.__name__)
        one.add_argument("--output", type=Path, default=Path("results/groups.jsonl"))
        one.add_argument("--seed", type=int, default=0)
        one.add_argument("--jobs", type=int, default=1)
        one.set_defaults(command=command)
        if command is remark:
            one.add_argument("--draws", type=int, default=20)
            one.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    arguments.command(arguments)


if __name__ == "__main__":
    main()
