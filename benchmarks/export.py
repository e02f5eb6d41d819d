"""ONNX files beside Python: forty models, their largest difference, sizes, and times of one row and of many.

    python benchmarks/export.py [--only WORD] [--rows 10000] [--output results/export.md]

Tables are made up. Differences are those of class probabilities (of MarginSVC, of decision values in units of the
largest) on 400 new rows, a third of them with missing cells, with words that training did not have, or far from all
training rows. Times are CPU times on one thread, the median of one row's and the least of three for many rows, which
onnxruntime gets 1,000 at a time. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd

from marginwise import MarginSVC, TunedSVC, to_onnx
from marginwise.kernels import RBF, AdditiveLaplacian, Constant, Laplacian, Linear

#: Largest difference of a probability that is allowed.
BAR = 1e-6

#: Rows that differences are looked at, and rows that onnxruntime gets at a time.
STRANGE, CHUNK = 400, 1000

TWO_WEIGHTS = {0: 1.0, 1: 5.0}
SUM = RBF() + Linear() + AdditiveLaplacian() + Constant()


@dataclass
class Case:
    """A model: its table, with a share of gaps, rows, columns, classes and parameters."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    n: int = 300
    columns: int = 8
    classes: int = 2
    gaps: float = 0.0
    frame: bool = False
    kind: type = TunedSVC

    def table(self, n: int, seed: int, gaps: float) -> tuple[Any, np.ndarray]:
        """Return rows and their labels."""
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, self.columns))
        latent = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + (X[:, 3] > 0.3) + 0.5 * rng.normal(size=n)
        cuts = np.quantile(latent, np.arange(1, self.classes) / self.classes)
        X[:, 4] = np.exp(X[:, 4])
        table: Any = X
        if self.frame:
            table = pd.DataFrame(X, columns=[f"x{a}" for a in range(self.columns)])
            words = np.array(["low", "middle", "high"])
            table["x3"] = words[np.digitize(X[:, 3], [-0.4, 0.3])]
            table["kind"] = rng.choice(["a", "b", "c", "d"], n)
            table["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
            table = table.mask(rng.random(table.shape) < gaps)
        else:
            # in every other column, so that gaps in the others are new
            table[:, ::2][rng.random((n, len(table[0, ::2]))) < gaps] = np.nan
        return table, np.digitize(latent, cuts)

    def strange_rows(self) -> Any:
        """Return new rows, a third of them with gaps, unseen words or numbers far out."""
        rows, _ = self.table(STRANGE, 1, 0.0)
        rng = np.random.default_rng(2)
        third = np.arange(0, STRANGE, 3)
        if not self.frame:
            holes = rng.random((len(third), self.columns)) < 0.3
            rows[third] = np.where(holes, np.nan, rows[third])
            rows[1, 0], rows[4, 1], rows[7, 0] = 1e30, -1e5, 40.0
            return rows
        mask = np.zeros(rows.shape, dtype=bool)
        mask[third] = rng.random((len(third), rows.shape[1])) < 0.3
        rows = rows.mask(mask)
        rows.loc[[2, 5, 8], "kind"], rows.loc[[2, 3], "x3"], rows.loc[4, "x1"] = "never seen", "odd", 1e30
        return rows


def columns_of(rows: Any) -> dict[str, np.ndarray]:
    """Return the inputs of a file."""
    if isinstance(rows, np.ndarray):
        return {"X": rows}
    inputs: dict[str, np.ndarray] = {}
    for name in rows:
        column = rows[name]
        if name in ("x3", "kind"):
            inputs[name] = column.astype(object).where(column.notna(), "").to_numpy(dtype=object)[:, None]
        else:
            days = (column - pd.Timestamp(0)) / pd.Timedelta(days=1) if name == "when" else column
            inputs[name] = days.to_numpy(dtype=float)[:, None]
    return inputs


EP, SVM, VOTE = {"criterion": "ep-loo"}, {"predictor": "svm"}, {"combine": "vote", "restarts": 2}
MANY = {"n": 2500, "columns": 6}

CASES = [
    Case("default"),
    Case("one length scale", {"ard": 0}),
    Case("own length scales", {"ard": 1.0}),
    Case("RBF", {"kernel": "rbf"}),
    Case("RBF, expectation propagation", {"kernel": "rbf", **EP}),
    Case("expectation propagation", EP),
    Case("quadratic slack", {**EP, "slack": "quadratic"}),
    Case("SVM", SVM),
    Case("SVM, quadratic slack", {**SVM, "slack": "quadratic"}),
    Case("sum of four kernels", {"kernel": SUM}),
    Case("Laplacian", {"kernel": Laplacian() + Constant()}),
    Case("straight lines", {"kernel": Linear() + Constant()}),
    Case("additive steps", {"kernel": AdditiveLaplacian() + Constant()}),
    Case("class weights", {"class_weight": TWO_WEIGHTS}),
    Case("class weights, SVM", {**SVM, "class_weight": "balanced"}),
    Case("votes", VOTE),
    Case("mean of optima", {"combine": "mean", "restarts": 2}),
    Case("not standardised", {"standardize": False, "kernel": "rbf"}),
    Case("low rank", {"rank": 60}),
    Case("low rank, SVM", {"rank": 60, **SVM}),
    Case("3 classes", classes=3),
    Case("3 classes, SVM", SVM, classes=3),
    Case("3 classes, votes", VOTE, classes=3),
    Case("3 classes, class weights", {"class_weight": "balanced"}, classes=3),
    Case("3 classes, low rank", {"rank": 60}, classes=3),
    Case("7 classes", classes=7),
    Case("7 classes, SVM", SVM, classes=7),
    Case("gaps", gaps=0.2),
    Case("gaps, 3 classes, SVM", SVM, classes=3, gaps=0.2),
    Case("words and dates", frame=True),
    Case("words and dates, SVM", SVM, frame=True),
    Case("words, dates and gaps", frame=True, gaps=0.2),
    Case("words, dates and gaps, 3 classes", {"class_weight": "balanced"}, frame=True, gaps=0.2, classes=3),
    Case("screened columns", n=80, columns=60),
    Case("blocks", **MANY),
    Case("blocks, 3 classes", classes=3, **MANY),
    Case("blocks, words and gaps", frame=True, gaps=0.1, **MANY),
    Case("20,000 rows, low rank", {"rank": 200}, n=20_000),
    Case("MarginSVC, 3 classes", {"C": 3.0, "length_scales": 2.0}, classes=3, kind=MarginSVC),
    Case("MarginSVC, words and gaps", {"C": 3.0, "slack": "quadratic"}, frame=True, gaps=0.2, kind=MarginSVC),
]


def measured(case: Case, n_rows: int) -> list[str]:
    """Return a row of the table."""
    X, y = case.table(case.n, 0, case.gaps)
    seed = {"random_state": 0} if case.kind is TunedSVC else {}
    model = case.kind(**seed, **case.parameters).fit(X, y)
    file = to_onnx(model).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options)
    name = "probabilities" if case.kind is TunedSVC else "decision"
    ask = model.predict_proba if case.kind is TunedSVC else model.decision_function

    def run(inputs: dict[str, np.ndarray]) -> np.ndarray:
        return session.run([name], inputs)[0]

    def run_many(inputs: dict[str, np.ndarray]) -> None:
        for start in range(0, n_rows, CHUNK):
            run({key: column[start : start + CHUNK] for key, column in inputs.items()})

    strange = case.strange_rows()
    expected = ask(strange)
    unit = 1.0 if case.kind is TunedSVC else np.abs(expected).max()
    difference = np.abs(run(columns_of(strange)) - expected).max() / unit
    many, _ = case.table(n_rows, 3, 0.0)
    one, inputs = many[:1], columns_of(many)
    first = {key: column[:1] for key, column in inputs.items()}
    rows = [cpu_time(ask, one, 50), cpu_time(run, first, 50), cpu_time(ask, many, 3), cpu_time(run_many, inputs, 3)]
    milliseconds = [f"{1e3 * seconds:.2f}" for seconds in rows[:2]] + [f"{1e3 * seconds:.0f}" for seconds in rows[2:]]
    members = len(model.ensemble_.members) if case.kind is TunedSVC else 1
    size = len(file) / 2**20
    return [case.name, str(members), f"{difference:.0e}", f"{size:.2f}", *milliseconds]


def cpu_time(function: Callable[[Any], Any], argument: Any, times: int) -> float:
    """Return the CPU time of a call: the median of many, the least of few."""
    function(argument)
    taken = []
    for _ in range(times):
        start = time.process_time()
        function(argument)
        taken.append(time.process_time() - start)
    return float(np.median(taken) if times > 3 else min(taken))


def main() -> None:
    """Measure all cases and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--output", type=Path, default=Path("results/export.md"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    many = f"{arguments.rows:,} rows"
    head = ["model", "members", "largest difference", "MB"]
    head += ["1 row: Python, ms", "ONNX, ms", f"{many}: Python, ms", "ONNX, ms"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    print(*lines, sep="\n")
    differences = []
    for case in CASES:
        if arguments.only in case.name:
            row = measured(case, arguments.rows)
            differences.append(float(row[2]))
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
    print(f"\n{len(differences)} models; largest difference {max(differences):.0e}, allowed {BAR:.0e}")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
