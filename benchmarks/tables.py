"""Tables with words and gaps: TunedSVC beside boosting with native categories and an SVC with one-hot columns.

    python benchmarks/tables.py run [--data FOLDER] [--adult FILE] [--methods ...] [--sets ...] [--choosing]
    python benchmarks/tables.py report

Real tables are read from FOLDER: income, pima_gaps, zoo and dna as NAME.csv.gz with the classes in the column
``target`` and empty cells for gaps; adult is a CSV file of integer codes. At most 1000 rows are trained on and 3000 are
tested, in five splits. Ten made-up tables have a known truth; "truth" is its own error and log-loss. With --choosing
all splits are others: settings were chosen on these. Each result is a line in results/tables.csv as soon as it is
there; a second run continues. One thread; methods that are not installed are left out with a note.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from scipy.special import expit  # noqa: E402
from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: E402
from sklearn.compose import make_column_transformer  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.model_selection import StratifiedShuffleSplit  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, StandardScaler  # noqa: E402

from marginwise import TunedSVC  # noqa: E402
from marginwise.peers import GridSVC  # noqa: E402
from results import Results  # noqa: E402

MEASURES = {"error": 2, "log_loss": 4, "seconds": 2}
SPLITS, MOST_TRAINED, MOST_TESTED = 5, 1000, 3000

#: Columns of adult that are categories, counted from 1.
ADULT_CATEGORIES = (2, 4, 6, 7, 8, 9, 10, 14)

#: Ordered columns of income, lowest first.
_SIZES = ["One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine or more"]
INCOME_ORDER = {
    "AGE": ["14-17", "18-24", "25-34", "35-44", "45-54", "55-64", "65+"],
    "EDUCATION": [
        "Grade 8 or less",
        "Grades 9 to 11",
        "Graduated High Scool",
        "1 to 3 years of college",
        "College graduate",
        "Grad Study",
    ],
    "AREA": ["-1 year", "1-3 years", "4-6 years", "7-10 years", "10+ years"],
    "HOUSEHOLD.SIZE": _SIZES,
    "UNDER18": ["None", *_SIZES],
}


class OneHotSVC(ClassifierMixin, BaseEstimator):
    """The grid-searched SVC; words most frequent and one-hot, numbers mean and indicator, standardised."""

    def fit(self, X, y):
        X = as_codes(X)
        words = [name for name in X if X[name].dtype == "category"]
        numbers = [name for name in X if name not in words]
        indicators = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        self.model_ = make_pipeline(
            make_column_transformer(
                (make_pipeline(SimpleImputer(strategy="most_frequent"), indicators), words),
                (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
            ),
            GridSVC(),
        ).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(as_codes(X))

    def predict_proba(self, X):
        return self.model_.predict_proba(as_codes(X))


class Boosting(HistGradientBoostingClassifier):
    """scikit-learn's, with its own treatment of categories and gaps; ordered categories are numbers."""

    def fit(self, X, y):
        return super().fit(as_codes(X), y)

    def predict(self, X):
        return super().predict(as_codes(X))

    def predict_proba(self, X):
        return super().predict_proba(as_codes(X))


class CatBoost(ClassifierMixin, BaseEstimator):
    """CatBoost with its own treatment of categories and gaps in numbers; a gap in a category is a word."""

    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y):
        from catboost import CatBoostClassifier

        X = self._table(X)
        self.model_ = CatBoostClassifier(
            random_seed=self.seed,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
            cat_features=[name for name in X if X[name].dtype == object],
        ).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def _table(self, X):
        X = as_codes(X)
        words = [name for name in X if X[name].dtype == "category"]
        return X.assign(**{name: X[name].astype(object).where(X[name].notna(), "missing") for name in words})

    def predict(self, X):
        return np.ravel(self.model_.predict(self._table(X)))

    def predict_proba(self, X):
        return self.model_.predict_proba(self._table(X))


def as_codes(X):
    """Return the table with words as categories and ordered ones as numbers, for those that do not know them."""
    X = X.copy()
    for name in X:
        if X[name].dtype == "category" and X[name].dtype.ordered:
            X[name] = X[name].cat.codes.where(X[name].notna()).astype(float)
        elif not pd.api.types.is_numeric_dtype(X[name]):
            X[name] = X[name].astype("category")
    return X


METHODS = {
    "TunedSVC": lambda seed: TunedSVC(random_state=seed),
    "boosting": lambda seed: Boosting(random_state=seed, categorical_features="from_dtype"),
    "CatBoost": lambda seed: CatBoost(seed),
    "one-hot SVC": lambda seed: OneHotSVC(),
}


def real(name, options):
    """Return a table and its classes."""
    if name == "adult":
        table = pd.read_csv(options.adult)
        y = table.pop("y")
        return table.assign(**{f"x{j}": table[f"x{j}"].astype("category") for j in ADULT_CATEGORIES}), y.to_numpy()
    file = "income" if name.startswith("income") else name
    table = pd.read_csv(Path(options.data) / f"{file}.csv.gz", keep_default_na=False, na_values=[""])
    y = table.pop("target").to_numpy(dtype=str)
    for column, order in (INCOME_ORDER if file == "income" else {}).items():
        unknown = set(table[column].dropna()) - set(order)
        if unknown:
            raise ValueError(f"{column} has {unknown}")
        table[column] = pd.Categorical(table[column], order, ordered=True)
    if name == "income2":
        y = np.isin(y, [label for label in np.unique(y) if _lower_end(label) >= 40])
    return table, y


def _lower_end(label):
    digits = label.strip("[]()").split("-")[0].split(".")[0]
    return float(digits) if digits else 0.0


def words(rng, n, k, shares=None):
    return np.array([f"w{i}" for i in range(k)])[rng.choice(k, n, p=shares)]


def effects(rng, column, size=1.5):
    levels, codes = np.unique(column, return_inverse=True)
    return size * rng.normal(size=len(levels))[codes]


def made_up(name, n, rng):
    """Return a table and the log-odds of its second class."""
    x = rng.normal(size=(n, 4))
    numbers = {f"x{a}": x[:, a] for a in range(4)}
    a, b, c = words(rng, n, 4), words(rng, n, 8), words(rng, n, 20)
    match name:
        case "effects":
            table, f = {"a": a, "b": b, "c": c}, effects(rng, a) + effects(rng, b) + effects(rng, c)
        case "many values":
            long = words(rng, n, 100, rng.dirichlet(np.ones(100)))
            table, f = {"long": long, "x0": x[:, 0]}, effects(rng, long, 2.0) + x[:, 0]
        case "slopes":
            table, f = {"b": b, **numbers}, effects(rng, b, 2.0) * x[:, 0] + x[:, 1]
        case "pairs":
            table, f = {"a": a, "b": b, "x0": x[:, 0]}, effects(rng, np.char.add(a, b), 2.0) + 0.5 * x[:, 0]
        case "thresholds":
            table, f = {"a": a, **numbers}, np.where(x[:, 0] > effects(rng, a, 0.7), 2.0, -2.0) + x[:, 1]
        case "gaps at random":
            table, f = numbers, 2.0 * x[:, 0] + 3.0 * np.sin(2.0 * x[:, 1]) - x[:, 2]
            table = {key: holes(rng, value, np.full(n, 0.25)) for key, value in table.items()}
        case "gaps by value":
            table, f = numbers, 2.0 * x[:, 0] - 2.0 * x[:, 1] + x[:, 2] ** 2
            table = {key: holes(rng, value, expit(2.0 * value - 1.5)) for key, value in table.items()}
        case "gaps by class":
            f = 1.5 * x[:, 0] + effects(rng, a, 1.0)
            table = {"a": a, **numbers, "x1": holes(rng, x[:, 1], expit(f))}
        case "ordered":
            level = rng.integers(0, 7, n)
            ladder = pd.Categorical.from_codes(level, [f"step {i}" for i in range(7)], ordered=True)
            table, f = {"ladder": ladder, "a": a, **numbers}, 1.2 * (level - 3) + effects(rng, a, 1.0) + x[:, 0]
        case _:
            f = effects(rng, a) + effects(rng, c) + effects(rng, b, 1.0) * x[:, 0] + 2.0 * np.abs(x[:, 1])
            gappy = np.where(rng.random(n) < 0.15, None, b)
            table = {"a": a, "b": gappy, "c": c, **numbers, "x1": holes(rng, x[:, 1], expit(2.0 * x[:, 1] - 2.0))}
    return pd.DataFrame(table), f - np.median(f)


def holes(rng, values, probability):
    return np.where(rng.random(len(values)) < probability, np.nan, values)


REAL = ["pima_gaps", "income2", "adult", "zoo", "dna", "income"]
MADE_UP = ["effects", "many values", "slopes", "pairs", "thresholds"]
MADE_UP += ["gaps at random", "gaps by value", "gaps by class", "ordered", "all"]


def split_of(name, split, options):
    """Return training and test table and classes, and the test rows' true log-odds where they are known."""
    seed = split + (1000 if options.choosing else 0)
    if name in MADE_UP:
        rng = np.random.default_rng([MADE_UP.index(name), seed])
        table, f = made_up(name, 600 + MOST_TESTED, rng)
        y = (rng.random(len(f)) < expit(f)).astype(int)
        return table[:600], y[:600], table[600:], y[600:], f[600:]
    table, y = real(name, options)
    train = min(MOST_TRAINED, 2 * len(y) // 3)
    test = min(MOST_TESTED, len(y) - train)
    rows, others = next(StratifiedShuffleSplit(1, train_size=train, test_size=test, random_state=seed).split(y, y))
    return table.iloc[rows], y[rows], table.iloc[others], y[others], None


def scored(probability, classes, y, seconds=0.0):
    own = probability[np.arange(len(y)), np.searchsorted(classes, y)]
    wrong = classes[probability.argmax(axis=1)] != y
    return {"error": 100 * wrong.mean(), "log_loss": -np.log(np.clip(own, 1e-15, 1)).mean(), "seconds": seconds}


def measure(make, X, y, Z, z, seed):
    model = make(seed)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    result = scored(model.predict_proba(Z), np.asarray(model.classes_), z, seconds)
    return {**result, "error": 100 * np.mean(np.asarray(model.predict(Z)).astype(z.dtype) != z)}


def run(options):
    results = Results(Path(options.results), MEASURES)
    warnings.simplefilter("ignore")
    absent = [name for name in options.methods if name == "CatBoost" and find_spec("catboost") is None]
    for name in absent:
        print(f"{name} is not installed, and left out")
    missing = {"adult"} if not options.adult else set()
    missing |= set() if options.data else {"pima_gaps", "income2", "zoo", "dna", "income"}
    sets = [name for name in (options.sets or [*REAL, *MADE_UP]) if name not in missing]
    rng = np.random.default_rng(0)
    TunedSVC().fit(rng.normal(size=(100, 3)), rng.normal(size=100) > 0)  # compiled code is loaded
    for name in sets:
        label = f"{'made up' if name in MADE_UP else 'real'}/{name}"
        for split in range(options.splits):
            X, y, Z, z, f = split_of(name, split, options)
            if f is not None:
                p = expit(f)
                results.once(label, split, "truth", lambda: scored(np.column_stack([1 - p, p]), np.array([0, 1]), z))  # noqa: B023
            for method in options.methods:
                if method not in absent:
                    results.once(label, split, method, lambda: measure(METHODS[method], X, y, Z, z, split))  # noqa: B023


def report(options):
    results = Results(Path(options.results), MEASURES)
    results.report(METHODS)
    for other in ("CatBoost", "boosting", "one-hot SVC"):
        results.paired("TunedSVC", other, "log_loss")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["run", "report"])
    parser.add_argument("--data", help="folder with the real tables as NAME.csv.gz")
    parser.add_argument("--adult", help="file of the table adult")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--sets", nargs="*", default=[])
    parser.add_argument("--choosing", action="store_true", help="on other splits than those reported")
    parser.add_argument("--results", default="results/tables.csv")
    arguments = parser.parse_args()
    run(arguments) if arguments.task == "run" else report(arguments)
