"""TunedSVC side by side with the classifiers that it replaces: error, log-loss, calibration, time; one thread each.

    python benchmarks/classify.py run --raetsch FOLDER [--data FOLDER] [--splits 10] [--methods ...] [--sets ...]
    python benchmarks/classify.py report

Sets are the paper's five (10 seeds; Crabs 10 draws) and, where a folder with them is given, the 13 of the Rätsch
collection as NAME.npz with X, y, gen_train_idx, gen_test_idx. Inputs are standardised with training statistics. Each
result is a line in results/classify.csv as soon as it is there; a second run continues.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections import defaultdict
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: E402
from sklearn.gaussian_process import GaussianProcessClassifier  # noqa: E402
from sklearn.gaussian_process.kernels import RBF, ConstantKernel  # noqa: E402
from sklearn.linear_model import LogisticRegressionCV  # noqa: E402
from sklearn.model_selection import GridSearchCV  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from marginwise import TunedSVC, load_benchmark  # noqa: E402

RESULTS = Path("results/classify.csv")
FIELDS = ["set", "split", "method", "error", "log_loss", "calibration", "seconds"]
FIVE = ["crabs", "pima", "wdbc", "twonorm", "ringnorm"]
RAETSCH = (
    "banana breast_cancer diabetis flare_solar german heart image ringnorm splice thyroid titanic twonorm waveform"
)
GRID = {"C": 2.0 ** np.arange(-3, 10, 2), "gamma": 2.0 ** np.arange(-11, 2, 2)}


class GridSVC:
    """The grid search, its SVC for labels and a calibrated copy of it for probabilities."""

    def fit(self, X, y):
        self.search = GridSearchCV(SVC(), GRID, cv=5).fit(X, y)
        self.calibrated = CalibratedClassifierCV(SVC(**self.search.best_params_), cv=5).fit(X, y)
        return self

    def predict(self, X):
        return self.search.predict(X)

    def predict_proba(self, X):
        return self.calibrated.predict_proba(X)


def gaussian_process(scales):
    return GaussianProcessClassifier(ConstantKernel(1.0) * RBF(scales) + ConstantKernel(0.1), random_state=0)


METHODS = {
    "TunedSVC": lambda d, seed: TunedSVC(random_state=seed),
    "grid SVC": lambda d, seed: GridSVC(),
    "GP": lambda d, seed: gaussian_process(np.sqrt(d)),
    "GP ARD": lambda d, seed: gaussian_process(np.full(d, np.sqrt(d))),
    "logistic": lambda d, seed: LogisticRegressionCV(max_iter=2000, use_legacy_attributes=False, l1_ratios=(0.0,)),
    "forest": lambda d, seed: RandomForestClassifier(500, random_state=seed),
    "boosting": lambda d, seed: HistGradientBoostingClassifier(random_state=seed),
}


def five(name, split, folder):
    data = load_benchmark(name, folder, random_state=split)
    return data.X_train, data.y_train, data.X_test, data.y_test


def raetsch(name, split, folder):
    with np.load(Path(folder) / f"{name}.npz") as data:
        train, test = data["gen_train_idx"][split], data["gen_test_idx"][split]
        X, y = data["X"].astype(float), data["y"].astype(float)
    return X[train], y[train], X[test], y[test]


def standardise(train, test):
    centre, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread == 0] = 1.0
    return (train - centre) / spread, (test - centre) / spread


def calibration_error(probability, positive, bins=15):
    """Expected calibration error: mean over the rows of |accuracy - confidence| of the bin of its confidence."""
    confidence = np.maximum(probability, 1 - probability)
    right = (probability > 0.5) == positive
    places = np.minimum((confidence * bins).astype(int), bins - 1)
    total = 0.0
    for place in range(bins):
        inside = places == place
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    return total


def measure(make, X, y, Z, z, seed):
    model = make(X.shape[1], seed)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    probability = model.predict_proba(Z)[:, 1]
    own = np.clip(np.where(z > 0, probability, 1 - probability), 1e-15, 1)
    return {
        "error": 100 * np.mean(model.predict(Z) != z),
        "log_loss": -np.mean(np.log(own)),
        "calibration": calibration_error(probability, z > 0),
        "seconds": seconds,
    }


def read():
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def run(options):
    done = {(row["set"], row["split"], row["method"]) for row in read()}
    RESULTS.parent.mkdir(exist_ok=True)
    if not RESULTS.exists():
        RESULTS.write_text(",".join(FIELDS) + "\n")
    jobs = [(f"five/{name}", five, name, options.data, 10) for name in FIVE]
    if options.raetsch:
        few = {"image", "splice"}
        jobs += [
            (f"raetsch/{name}", raetsch, name, options.raetsch, min(options.splits, 2 if name in few else 10))
            for name in RAETSCH.split()
        ]
    warnings.simplefilter("ignore")
    for label, load, name, folder, n_splits in jobs:
        if options.sets and label not in options.sets:
            continue
        for split in range(min(n_splits, options.splits)):
            X, y, Z, z = load(name, split, folder)
            X, Z = standardise(X, Z)
            for method in options.methods:
                key = (label, str(split), method)
                if key in done:
                    continue
                row = measure(METHODS[method], X, y, Z, z, split)
                line = [*key, *(f"{row[field]:.6g}" for field in FIELDS[3:])]
                with RESULTS.open("a", newline="") as file:
                    csv.writer(file).writerow(line)
                print(*line, flush=True)


def report():
    table = defaultdict(dict)
    for row in read():
        values = {field: float(row[field]) for field in FIELDS[3:]}
        table[row["set"]].setdefault(row["method"], {})[int(row["split"])] = values
    for field, digits in (("error", 2), ("log_loss", 4), ("calibration", 4), ("seconds", 2)):
        methods = [m for m in METHODS if any(m in rows for rows in table.values())]
        print(f"\n{field}, mean over splits\n\n| set | " + " | ".join(methods) + " |")
        print("|---" * (1 + len(methods)) + "|")
        ranks = defaultdict(list)
        for name, rows in table.items():
            means = {m: np.mean([v[field] for v in rows[m].values()]) for m in methods if m in rows}
            cells = [f"{means[m]:.{digits}f}" if m in means else "" for m in methods]
            print(f"| {name} ({len(rows.get('TunedSVC', {}))}) | " + " | ".join(cells) + " |")
            if name.startswith("raetsch") and len(means) == len(methods):
                order = sorted(means.values())
                for m in methods:
                    ranks[m].append(np.mean([i + 1 for i, v in enumerate(order) if v == means[m]]))
        if ranks:
            print(f"| mean rank ({len(ranks[methods[0]])} sets) | "
                  + " | ".join(f"{np.mean(ranks[m]):.2f}" for m in methods) + " |")  # fmt: skip
    print("\nTunedSVC minus grid SVC, paired over splits: mean difference of the error and its standard error\n")
    for name, rows in table.items():
        if "TunedSVC" in rows and "grid SVC" in rows:
            both = sorted(set(rows["TunedSVC"]) & set(rows["grid SVC"]))
            difference = np.array([rows["TunedSVC"][s]["error"] - rows["grid SVC"][s]["error"] for s in both])
            spread = difference.std(ddof=1) / np.sqrt(len(both)) if len(both) > 1 else np.nan
            print(f"{name:<24} {difference.mean():+6.2f} ± {spread:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["run", "report"])
    parser.add_argument("--data", help="folder with original files of the paper's sets")
    parser.add_argument("--raetsch", help="folder with the Rätsch sets as NAME.npz")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--sets", nargs="*", default=[])
    arguments = parser.parse_args()
    run(arguments) if arguments.task == "run" else report()
