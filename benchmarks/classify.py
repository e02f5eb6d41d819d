"""TunedSVC side by side with the classifiers that it replaces: error, log-loss, calibration, time; one thread each.

    python benchmarks/classify.py run --raetsch FOLDER [--data FOLDER] [--splits 10] [--methods ...] [--sets ...]
    python benchmarks/classify.py report

Sets are the paper's five (10 seeds; Crabs 10 draws) and, where a folder with them is given, the 13 of the Rätsch
collection as NAME.npz with X, y, gen_train_idx, gen_test_idx. Without a folder of original files Twonorm and Ringnorm
are drawn anew for each split, which are other tables: the five are then called drawn/NAME and not five/NAME. Inputs are
standardised with training statistics. Each result is a line in results/classify.csv as soon as it is there; a second
run continues.
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier  # noqa: E402
from sklearn.gaussian_process import GaussianProcessClassifier  # noqa: E402
from sklearn.gaussian_process.kernels import RBF, ConstantKernel  # noqa: E402
from sklearn.linear_model import LogisticRegressionCV  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.svm import SVC  # noqa: E402

from gp_packages import GPyEP, GPyTorchVariational  # noqa: E402
from marginwise import TunedSVC, load_benchmark  # noqa: E402
from marginwise.peers import GridSVC  # noqa: E402
from results import Results, measure  # noqa: E402

RESULTS = Results(Path("results/classify.csv"))
FIVE = ["crabs", "pima", "wdbc", "twonorm", "ringnorm"]
RAETSCH = (
    "banana breast_cancer diabetis flare_solar german heart image ringnorm splice thyroid titanic twonorm waveform"
)


class OptunaSVC(GridSVC):
    """SVC by 100 trials of Optuna over C and gamma in the place of the grid; calibrated in the same way."""

    def fit(self, X, y):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)

        def score(trial):
            C, gamma = (
                trial.suggest_float("C", 2**-3, 2**9, log=True),
                trial.suggest_float("gamma", 2**-11, 2, log=True),
            )
            return cross_val_score(SVC(C=C, gamma=gamma), X, y, cv=5).mean()

        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
        study.optimize(score, n_trials=100)
        self.search_ = SVC(**study.best_params).fit(X, y)
        self.calibrated_ = CalibratedClassifierCV(SVC(**study.best_params), cv=5).fit(X, y)
        return self


def gaussian_process(scales):
    return GaussianProcessClassifier(ConstantKernel(1.0) * RBF(scales) + ConstantKernel(0.1), random_state=0)


def catboost(seed):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False)


def lightgbm(seed):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def ebm(seed):
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=seed, n_jobs=1)


METHODS = {
    "TunedSVC": lambda d, seed: TunedSVC(random_state=seed),
    "TunedSVC rbf": lambda d, seed: TunedSVC(kernel="rbf", random_state=seed),
    "grid SVC": lambda d, seed: GridSVC(),
    "GP": lambda d, seed: gaussian_process(np.sqrt(d)),
    "GP ARD": lambda d, seed: gaussian_process(np.full(d, np.sqrt(d))),
    "GPy": lambda d, seed: GPyEP(ard=False, seed=seed),
    "GPy ARD": lambda d, seed: GPyEP(seed=seed),
    "GPyTorch": lambda d, seed: GPyTorchVariational(ard=False, seed=seed),
    "GPyTorch ARD": lambda d, seed: GPyTorchVariational(seed=seed),
    "logistic": lambda d, seed: LogisticRegressionCV(max_iter=2000, use_legacy_attributes=False, l1_ratios=(0.0,)),
    "forest": lambda d, seed: RandomForestClassifier(500, random_state=seed),
    "Optuna SVC": lambda d, seed: OptunaSVC(),
    "boosting": lambda d, seed: HistGradientBoostingClassifier(random_state=seed),
    "CatBoost": lambda d, seed: catboost(seed),
    "LightGBM": lambda d, seed: lightgbm(seed),
    "EBM": lambda d, seed: ebm(seed),
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


def run(options):
    jobs = [(f"{'five' if options.data else 'drawn'}/{name}", five, name, options.data, 10) for name in FIVE]
    if options.raetsch:
        few = {"image", "splice"}
        jobs += [
            (f"raetsch/{name}", raetsch, name, options.raetsch, min(options.splits, 2 if name in few else 10))
            for name in RAETSCH.split()
        ]
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    TunedSVC().fit(rng.normal(size=(100, 3)), rng.normal(size=100) > 0)  # compiled code is loaded
    for label, load, name, folder, n_splits in jobs:
        if options.sets and label not in options.sets:
            continue
        for split in range(min(n_splits, options.splits)):
            X, y, Z, z = load(name, split, folder)
            X, Z = standardise(X, Z)
            for method in options.methods:
                RESULTS.once(label, split, method, lambda: measure(METHODS[method], X, y, Z, z, split))  # noqa: B023


def report():
    RESULTS.report(METHODS)
    RESULTS.paired("TunedSVC", "TunedSVC rbf")
    RESULTS.paired("TunedSVC", "TunedSVC rbf", "log_loss")
    RESULTS.paired("TunedSVC", "grid SVC")
    RESULTS.paired("TunedSVC", "grid SVC", "log_loss")
    for field in ("error", "log_loss"):  # what takes long was run on few splits
        RESULTS.shared_ranks([method for method in METHODS if method not in ("TunedSVC rbf", "GP ARD")], field)


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
