"""Classes with an order: ``TunedSVC(classes="ordered")`` beside itself without order, ordered models and boosting.

    python benchmarks/ordered.py run [--splits 10 13] [--data DIR] [--output results/ordered.csv]
    python benchmarks/ordered.py report [--methods ordered unordered mord statsmodels boosting]

Six tables: ``diabetes`` of scikit-learn in five grades of equal size; ``marriage`` (statsmodels' ``fair``, 1 to 5) and
``party`` (statsmodels' ``anes96``, 0 to 6); ``income`` in nine classes (``--data`` is the folder of ``income.csv.gz``);
``curves`` and ``friedman`` are made up, in five and seven grades. ``permuted`` is ``curves`` with the grades named
anew at random, an order that means nothing; it is in no mean rank. 300 training rows, at most 2,000 test rows.

Peers: ``mord`` (LogisticAT: all thresholds), ``statsmodels`` (OrderedModel, probit), ``boosting``
(HistGradientBoostingClassifier) and ``CatBoost``, all with their defaults; the first two on standardised inputs, words
as zeros and ones. CatBoost takes minutes for a fit of ``income``. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from marginwise import TunedSVC
from marginwise.inspection import order_scores
from results import Results

MEASURES = {"ranked_probability_score": 4, "log_loss": 4, "absolute_error": 3, "error": 1, "seconds": 1}
METHODS = ("ordered", "unordered", "mord", "statsmodels", "boosting", "CatBoost")
ROWS, TEST_ROWS = 300, 2000

#: Its order means nothing: what it shows is that nothing is lost.
CONTROL = "permuted"


def curves() -> tuple[np.ndarray, np.ndarray]:
    """Return a made-up table in five grades: a line, a wave and a product of columns, with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2300, 6))
    latent = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=len(X))
    return X, np.digitize(latent, [-1.5, -0.5, 0.3, 1.8])


def tables(folder: Path | None) -> Iterator[tuple[str, pd.DataFrame, np.ndarray]]:
    """Yield name, inputs and grades, from 0, of each table."""
    X, target = datasets.load_diabetes(return_X_y=True)
    yield "diabetes", pd.DataFrame(X), np.digitize(target, np.quantile(target, [0.2, 0.4, 0.6, 0.8]))
    from statsmodels.datasets import anes96, fair

    marriage = fair.load_pandas().data
    grades = marriage["rate_marriage"].to_numpy().astype(int) - 1
    yield "marriage", marriage.drop(columns="rate_marriage"), grades
    party = anes96.load_pandas().data
    inputs = party[["logpopul", "TVnews", "selfLR", "age", "educ", "income"]]
    yield "party", inputs, party["PID"].to_numpy().astype(int)
    if folder is not None:
        income = pd.read_csv(folder / "income.csv.gz")
        target = income.pop("target")
        order = sorted(target.unique(), key=lambda words: float(re.search(r"[\d.]+", words)[0]) - words.startswith("-"))
        yield "income", income, target.map({label: k for k, label in enumerate(order)}).to_numpy()
    X, grades = curves()
    yield "curves", pd.DataFrame(X), grades
    X, target = datasets.make_friedman1(2300, noise=1.0, random_state=0)
    yield "friedman", pd.DataFrame(X), np.digitize(target, [8.0, 11.0, 13.0, 15.0, 17.0, 20.0])
    X, grades = curves()
    yield CONTROL, pd.DataFrame(X), np.array([2, 0, 4, 1, 3])[grades]


def prepared() -> object:
    """Return what linear models see: standardised numbers, words as zeros and ones, gaps filled."""
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False, drop="first", min_frequency=5)
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (words, make_column_selector(dtype_exclude="number")),
    )


class Statsmodels(ClassifierMixin, BaseEstimator):
    """OrderedModel behind the interface of scikit-learn."""

    def fit(self, X, y):
        from statsmodels.miscmodels.ordinal_model import OrderedModel

        self.classes_, self.kept = np.unique(y), X.std(axis=0) > 0.0
        self.model = OrderedModel(y, X[:, self.kept], distr="probit")
        self.found = self.model.fit(method="bfgs", maxiter=500, disp=False)
        return self

    def predict_proba(self, X):
        return np.asarray(self.found.predict(X[:, self.kept]))


def estimator(method: str, seed: int) -> object:
    """Return a classifier by name."""
    if method in ("ordered", "unordered"):
        return TunedSVC(classes=method, random_state=seed)
    if method == "mord":
        from mord import LogisticAT

        return make_pipeline(prepared(), LogisticAT())
    if method == "statsmodels":
        return make_pipeline(prepared(), Statsmodels())
    if method == "boosting":
        return HistGradientBoostingClassifier(random_state=seed, categorical_features="from_dtype")
    from catboost import CatBoostClassifier

    return CatBoostClassifier(verbose=False, random_seed=seed, thread_count=1, allow_writing_files=False)


def as_words(method: str, X: pd.DataFrame) -> pd.DataFrame:
    """Return the table with words as a method takes them."""
    words = X.select_dtypes(exclude="number").columns
    X = X.set_axis([str(name) for name in X.columns], axis=1)
    return X.astype({str(name): "category" for name in words}) if method == "boosting" else X


def measure(method: str, X: pd.DataFrame, y: np.ndarray, Z: pd.DataFrame, z: np.ndarray, seed: int) -> dict[str, float]:
    """Return the scores of one fit; all methods get probabilities of all grades that training has."""
    model = estimator(method, seed)
    classes, codes = np.unique(y, return_inverse=True)
    X, Z = as_words(method, X), as_words(method, Z)
    options = {}
    if method == "CatBoost":
        words = list(X.select_dtypes(exclude="number").columns)
        X, Z = X.fillna(dict.fromkeys(words, "")), Z.fillna(dict.fromkeys(words, ""))
        options = {"cat_features": words}
    start = time.process_time()
    model.fit(X, codes, **options)
    seconds = time.process_time() - start
    probability = np.zeros((len(z), y.max() + 1 if y.max() > z.max() else z.max() + 1))
    probability[:, classes] = model.predict_proba(Z)
    own = np.maximum(probability[np.arange(len(z)), z], 1e-15)
    scores = order_scores(probability, z)
    return {
        "ranked_probability_score": scores.ranked_probability_score,
        "log_loss": float(-np.log(own).mean()),
        "absolute_error": scores.mean_absolute_error,
        "error": 100.0 * float((probability.argmax(axis=1) != z).mean()),
        "seconds": seconds,
    }


def run(results: Results, splits: range, methods: list[str], folder: Path | None) -> None:
    """Measure what is not there yet."""
    for split in splits:
        for name, X, y in tables(folder):
            order = np.random.default_rng(split).permutation(len(y))
            train, test = order[: min(ROWS, 2 * len(y) // 3)], order[min(ROWS, 2 * len(y) // 3) :][:TEST_ROWS]
            for method in methods:
                arguments = (method, X.iloc[train], y[train], X.iloc[test], y[test], split)
                results.once(name, split, method, lambda arguments=arguments: measure(*arguments))


def main() -> None:
    """Measure, or print the report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("--splits", type=int, nargs=2, default=(10, 13), metavar=("FROM", "TO"))
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--data", type=Path, metavar="DIR")
    parser.add_argument("--output", type=Path, default=Path("results/ordered.csv"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    results = Results(arguments.output, MEASURES)
    if arguments.what == "run":
        run(results, range(*arguments.splits), arguments.methods, arguments.data)
        return
    ranked = Results(arguments.output, MEASURES)
    ranked.rows = lambda: [row for row in results.rows() if row["set"] != CONTROL]  # type: ignore[method-assign]
    ranked.report(arguments.methods)
    ranked.paired("ordered", "unordered", "log_loss")
    results.paired("ordered", "unordered", "ranked_probability_score")


if __name__ == "__main__":
    main()
