"""Measurements of classifiers as lines of a CSV file: written as soon as they are there, read back as tables."""

from __future__ import annotations

import csv
import time
from collections import defaultdict

import numpy as np
from scipy.stats import rankdata

from marginwise.plots import ReliabilityDisplay

MEASURES = {"error": 2, "log_loss": 4, "calibration": 4, "seconds": 2}  # and the digits shown


def measure(make, X, y, Z, z, seed):
    """Return error in %, log-loss, expected calibration error and CPU seconds of ``make(n_inputs, seed)``."""
    model = make(X.shape[1], seed)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    probability = model.predict_proba(Z)[:, 1]
    own = np.clip(np.where(z > 0, probability, 1 - probability), 1e-15, 1)
    return {
        "error": 100 * np.mean(np.asarray(model.predict(Z)).astype(float) != z),  # some give labels back as strings
        "log_loss": -np.mean(np.log(own)),
        "calibration": calibration_error(probability, z > 0),
        "seconds": seconds,
    }


def calibration_error(probability, positive):
    """Return the expected calibration error of the predicted class, in 15 bins of equal width."""
    return ReliabilityDisplay(
        np.maximum(probability, 1 - probability), (probability > 0.5) == positive
    ).calibration_error


class Results:
    """The lines of one file, which a second run continues; ``measures`` are its columns and the digits shown."""

    def __init__(self, path, measures=MEASURES):
        self.path, self.measures = path, measures

    def rows(self):
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            return list(csv.DictReader(file))

    def once(self, label, split, method, measured):
        """Call ``measured`` and write its line, unless it is there already."""
        key = [label, str(split), method]
        if any([row["set"], row["split"], row["method"]] == key for row in self.rows()):
            return
        values = measured()
        line = [*key, *(f"{values[field]:.6g}" for field in self.measures)]
        self.path.parent.mkdir(exist_ok=True)
        new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(["set", "split", "method", *self.measures])
            writer.writerow(line)
        print(*line, flush=True)

    def table(self):
        """Return measure → set → method → split → value."""
        found = {field: defaultdict(lambda: defaultdict(dict)) for field in self.measures}
        for row in self.rows():
            for field in self.measures:
                found[field][row["set"]][row["method"]][int(row["split"])] = float(row[field])
        return found

    def report(self, methods, fields=None):
        """Print a table of means for each measure, and mean ranks over the sets that have all methods."""
        found = self.table()
        for field in self.measures if fields is None else fields:
            by_set = found[field]
            present = [m for m in methods if any(m in rows for rows in by_set.values())]
            print(f"\n{field}, mean over splits\n\n| set (splits) | " + " | ".join(present) + " |")
            print("|---" * (1 + len(present)) + "|")
            ranks, total = [], defaultdict(list)
            for name, rows in by_set.items():
                means = {m: np.mean(list(rows[m].values())) for m in present if m in rows}
                cells = [f"{means[m]:.{self.measures[field]}f}" if m in means else "" for m in present]
                print(f"| {name} ({max(map(len, rows.values()))}) | " + " | ".join(cells) + " |")
                if len(means) == len(present):
                    values = np.array([means[m] for m in present])
                    ranks.append(rankdata(values))
                    total[name.split("/")[0]].append(values)
            for group, values in total.items():
                cells = [f"{v:.{self.measures[field]}f}" for v in np.mean(values, axis=0)]
                print(f"| mean of {group} ({len(values)} sets) | " + " | ".join(cells) + " |")
            if ranks:
                cells = [f"{rank:.2f}" for rank in np.mean(ranks, axis=0)]
                print(f"| mean rank ({len(ranks)} sets) | " + " | ".join(cells) + " |")

    def shared_ranks(self, methods, field):
        """Print the mean ranks of the methods that were run on all sets, from the splits that all of them have."""
        by_set = self.table()[field]
        methods = [method for method in methods if all(method in rows for rows in by_set.values())]
        ranks, n_splits = [], 0
        for rows in by_set.values():
            shared = set.intersection(*(set(rows[method]) for method in methods)) if methods else ()
            if not shared:
                return
            n_splits += len(shared)
            ranks.append(rankdata(np.array([np.mean([rows[method][split] for split in shared]) for method in methods])))
        print(f"\n{field}, mean ranks on {n_splits} splits of {len(ranks)} sets\n")
        print("\n".join(f"{m:<14} {rank:.2f}" for m, rank in zip(methods, np.mean(ranks, axis=0), strict=True)))

    def paired(self, ours, other, field="error"):
        """Print the mean difference of two methods over the splits of each set, and its standard error."""
        print(f"\n{ours} minus {other}, paired over splits: mean difference of the {field} and its standard error\n")
        for name, rows in self.table()[field].items():
            both = sorted(set(rows[ours]) & set(rows[other]))
            if both:
                difference = np.array([rows[ours][s] - rows[other][s] for s in both])
                spread = difference.std(ddof=1) / np.sqrt(len(both)) if len(both) > 1 else np.nan
                print(f"{name:<24} {difference.mean():+8.3f} ± {spread:.3f}")
