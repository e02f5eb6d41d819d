"""TunedSVC on many rows, beside Nyström features with a linear SVM, boosting, a grid-searched SVC and its dense path.

    python benchmarks/scale.py large   [--data TABLE.csv.gz]   all rows: error, log-loss, seconds, memory, beside peers
    python benchmarks/scale.py million                         the same for a million rows, beside peers that are quick
    python benchmarks/scale.py tables  --folder DIR            five tables, 3,000 rows to all, beside peers, ranks
    python benchmarks/scale.py sizes   --folder DIR            error and log-loss of TunedSVC from 500 rows to all
    python benchmarks/scale.py exact   --folder DIR            blocks beside the exact Gram matrix, 3,000 and 5,000 rows
    python benchmarks/scale.py partitions --folder DIR         one partition and two, and factors of C, another split
    python benchmarks/scale.py growth                          seconds and memory from 10,000 to a million rows
    python benchmarks/scale.py middle  [--data TABLE.csv.gz]   3,000 rows beside GridSearchCV(SVC)
    python benchmarks/scale.py small   --raetsch FOLDER        rank against the exact Gram matrix, sets of 1,000 rows
    python benchmarks/scale.py subsets [--data TABLE.csv.gz]   rows tuned on, and classifiers of subsets combined
    python benchmarks/scale.py cluster [--data TABLE.csv.gz]   two Dask workers, 20 blocks, one worker killed
    python benchmarks/scale.py ten_million                     ten million made-up rows on two Dask workers of 3 GB

The table's last column is the label; without one, 105,908 rows with 13 inputs are made up. 20,000 random rows are the
test set. Each measurement runs in a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from results import calibration_error

#: The split that is reported. Others were looked at while choices were made.
TEST_ROWS, SPLIT, OTHER_SPLIT = 20_000, 1, 101


def table(path):
    """Return inputs and labels ±1 in random order."""
    if path:
        import pandas as pd

        data = pd.read_csv(path).to_numpy(float)
        X, y = data[:, :-1], data[:, -1]
    else:
        X, y = made_up(105_908)
    order = np.random.default_rng(SPLIT).permutation(len(y))
    return X[order], y[order]


def made_up(n):
    """Return n rows with 13 inputs, five of which decide the label but for noise."""
    return made_up_rows(np.random.default_rng(0), n)


def made_up_rows(rng, n):
    """Return n such rows from a stream of random numbers."""
    X = rng.normal(size=(n, 13))
    latent = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5 + 0.3 * X[:, 4]
    return X, np.where(latent + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)


def split(path, n=None):
    """Return n training rows (all by default) and the test rows."""
    return parted(*table(path), n)


def parted(X, y, n=None):
    """Return n of these rows (all by default) but for the last, and these to test on."""
    last = len(y) - TEST_ROWS
    rows = slice(0, last if n is None else min(n, last))
    return X[rows], y[rows], X[last:], y[last:]


def tuned(**options):
    from marginwise import TunedSVC

    return TunedSVC(random_state=0, **options)


def nystroem(calibrated, threads):
    """Nystroem(500) + LinearSVC by a grid over C and gamma, and a calibrated copy of it for probabilities."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.kernel_approximation import Nystroem
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import LinearSVC

    features = Nystroem(n_components=500, random_state=0)
    pipeline = make_pipeline(StandardScaler(), features, LinearSVC(dual=False, tol=1e-3))
    grid = {"nystroem__gamma": [0.01, 0.03, 0.1], "linearsvc__C": [0.1, 1.0, 10.0]}
    search = GridSearchCV(pipeline, grid, cv=3, n_jobs=threads)
    return CalibratedClassifierCV(search, cv=2) if calibrated else search


def boosting():
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def lightgbm(threads):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, n_jobs=threads, verbose=-1)


def catboost(threads):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(random_seed=0, thread_count=threads, verbose=False, allow_writing_files=False)


def bagged(n_subsets, size):
    """Classifiers of several subsets, their probabilities averaged."""
    from sklearn.ensemble import BaggingClassifier

    return BaggingClassifier(tuned(), n_subsets, max_samples=size, bootstrap=False, random_state=0)


def grid_svc():
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from marginwise.peers import GridSVC

    return make_pipeline(StandardScaler(), GridSVC())


def measured(label, make, arguments, data, threads):
    """Fit in a process of its own, print a line and return its numbers."""
    with multiprocessing.get_context("spawn").Pool(1, _limit, (threads,)) as pool:
        found = pool.apply(_measure, (make, arguments, data))
    print(
        f"{label:<34} {len(data[1]):>7} rows  error {found['error']:6.2f} %  log-loss {found['log_loss']:.4f}  "
        f"calibration {found['calibration']:.4f}  {found['wall']:7.1f} s  CPU {found['cpu']:7.1f} s  "
        f"predict {found['predict']:5.2f} s  {found['memory']:6.0f} MB",
        flush=True,
    )
    return found


def _limit(threads):
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    os.environ["OMP_NUM_THREADS"] = str(threads)  # for libraries that are yet to be loaded
    threadpool_limits(threads)


def _measure(make, arguments, data):
    X, y, Z, z = data
    model = make(*arguments) if isinstance(arguments, tuple) else make(**arguments)
    tuned(ard=0, rank=5, subset=50).fit(X[:100], y[:100])  # compiled code is loaded
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    predicted = model.predict(Z)
    predict = time.perf_counter() - start
    if hasattr(model, "predict_proba"):
        probability = model.predict_proba(Z)
        own = np.clip(probability[np.arange(len(z)), np.searchsorted(model.classes_, z)], 1e-15, 1)
        two = probability.shape[1] == 2
        log_loss, calibration = -np.mean(np.log(own)), calibration_error(probability[:, 1], z > 0) if two else np.nan
    else:
        log_loss = calibration = np.nan
    return {
        "error": 100 * np.mean(np.ravel(predicted) != z),
        "log_loss": log_loss,
        "calibration": calibration,
        "wall": wall,
        "cpu": cpu,
        "predict": predict,
        "memory": max(peak, base) / 1024,
    }


def large(options):
    data, threads = split(options.data), options.threads
    X, y = table(options.data)
    measured("TunedSVC, test rows included", tuned, {}, (X, y, *data[2:]), threads)  # for its time and memory
    measured("TunedSVC", tuned, {}, data, threads)
    measured("TunedSVC, kernel='rbf'", tuned, {"kernel": "rbf"}, data, threads)
    measured("TunedSVC, predictor='svm'", tuned, {"predictor": "svm"}, data, threads)
    trees(data, threads)
    measured("Nystroem(500) + LinearSVC, grid", nystroem, (False, threads), data, threads)
    measured("the same, calibrated", nystroem, (True, threads), data, threads)


def trees(data, threads):
    measured("HistGradientBoosting", boosting, (), data, threads)
    measured("LightGBM", lightgbm, (threads,), data, threads)
    measured("CatBoost", catboost, (threads,), data, threads)


def million(options):
    data = parted(*made_up(1_000_000 + TEST_ROWS))
    measured("TunedSVC", tuned, {}, data, options.threads)
    trees(data, options.threads)


#: Tables of the folder NAME.csv.gz, and how many rows to train on; None is all.
TABLES = {
    "magic": (None,),
    "penbased": (None,),
    "optdigits": (None,),
    "adult": (3_000, 10_000, None),
    "sleep_bin": (3_000, 10_000, 30_000, None),
}


def from_folder(folder, name, n=None, seed=SPLIT):
    """Return n training rows (all by default) of a table, and 20,000 test rows or, of a smaller table, a third."""
    import pandas as pd

    data = pd.read_csv(Path(folder) / f"{name}.csv.gz").to_numpy(float)
    data = data[np.random.default_rng(seed).permutation(len(data))]
    last = len(data) - (TEST_ROWS if len(data) > 2 * TEST_ROWS else len(data) // 3)
    rows = slice(0, last if n is None else min(n, last))
    return data[rows, :-1], data[rows, -1], data[last:, :-1], data[last:, -1]


def forest():
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(500, random_state=0)


def tables(options):
    """Ranks are over tables and sizes. The grid-searched SVC is run up to 3,000 rows only, and not in them."""
    makers = {
        "TunedSVC": (tuned, {}),
        "HistGradientBoosting": (boosting, ()),
        "LightGBM": (lightgbm, (1,)),
        "CatBoost": (catboost, (1,)),
        "forest": (forest, ()),
    }
    found = {name: [] for name in makers}
    for table_name, sizes in TABLES.items():
        for n in sizes:
            data = from_folder(options.folder, table_name, n)
            print(f"{table_name}, {len(data[1])} rows")
            for name, (make, arguments) in makers.items():
                found[name].append(measured(name, make, arguments, data, options.threads))
            if n is not None and n <= 3_000:
                measured("grid SVC", grid_svc, (), data, options.threads)
    for measure in ("error", "log_loss"):
        values = np.array([[one[measure] for one in column] for column in found.values()])
        ranks = (values[:, None] > values[None]).sum(axis=1) + 0.5 * ((values[:, None] == values[None]).sum(axis=1) + 1)
        print(
            f"mean rank in {measure}:", {name: round(float(r.mean()), 2) for name, r in zip(found, ranks, strict=True)}
        )
    ratios = [np.log(a["cpu"] / b["cpu"]) for a, b in zip(found["TunedSVC"], found["CatBoost"], strict=True)]
    print(f"CPU time in units of CatBoost's, geometric mean: {np.exp(np.mean(ratios)):.2f}")


def sizes(options):
    found = {}
    for name in ("sleep_bin", "magic", "penbased"):
        whole = len(from_folder(options.folder, name)[1])
        numbers = [n for n in (500, 1_000, 1_500, 2_000, 4_000, 8_000, 16_000, 40_000) if n < whole]
        for n in [*numbers, whole]:
            data = from_folder(options.folder, name, n)
            found[name, n] = measured(f"{name}, TunedSVC", tuned, {}, data, options.threads)
    if options.picture:
        draw_sizes(found, options.picture)


def draw_sizes(found, path):
    """Draw error and log-loss against the number of training rows, in units of those with all rows."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for axis, measure, title in zip(axes, ("error", "log_loss"), ("test error", "test log-loss"), strict=True):
        for name in dict.fromkeys(name for name, _ in found):
            rows = [n for other, n in found if other == name]
            values = np.array([found[name, n][measure] for n in rows])
            axis.plot(rows, values / values[-1], marker="o", markersize=3, label=name.replace("_", " "))
        axis.axvline(1500, color="0.7", linewidth=0.8)
        axis.set(xscale="log", yscale="log", xlabel="training rows", title=f"{title} / that of all rows")
        axis.set_yticks([1, 1.5, 2, 3], ["1", "1.5", "2", "3"])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.text(1650, 0.95, "exact matrix\nup to here", transform=axis.get_xaxis_transform(), fontsize=7, va="top")
    axes[1].legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})


def exact(options):
    """The same hyperparameters, those that the fit with blocks has found, with and without the approximation."""
    for name in TABLES:
        for n in (3_000, 5_000):
            X, y, Z, z = from_folder(options.folder, name, n)
            if len(y) < n:
                continue
            local, whole = exact_difference(tuned().fit(X, y), Z, z)
            print(f"{name}, {n} rows: log-loss {local:.4f} with blocks, {whole:.4f} with the exact matrix")


def exact_difference(model, Z, z):
    """Return the log-loss of a fitted model on new rows, and that of its members with the exact Gram matrix."""
    from dataclasses import replace

    from sklearn.metrics import log_loss

    ensemble = model.ensemble_
    with_blocks = log_loss(z, model.predict_proba(Z))
    trained = []
    for member in ensemble.members:
        rows = replace(ensemble.problem, X=member.inputs(ensemble.X))
        trained.append(member.candidate.labels.train(rows, member.hyperparameters))
    members = [
        replace(member, inducing=None, partition=None, stored=done.stored)
        for member, done in zip(ensemble.members, trained, strict=True)
    ]
    same = replace(ensemble, members=tuple(members))
    model.ensemble_ = same.with_latent_functions([done.predictor for done in trained], ensemble.log_left_out)
    return with_blocks, log_loss(z, model.predict_proba(Z))


#: What is compared for two classes: partitions, the factor of C, and the cost nm² of a pass.
PARTITIONS = [(1, 1.0, 3 * 2**31), *((2, factor, 3 * 2**30) for factor in (1.0, 2.0, 4.0, 8.0))]


def partitions(options):
    """What one fit has found, trained again; the log-odds are not recalibrated."""
    from dataclasses import replace
    from unittest.mock import patch

    from sklearn.metrics import log_loss

    from marginwise.fitting import rank

    for name, n in (("magic", None), ("adult", 10_000), ("adult", None), ("sleep_bin", 10_000), ("sleep_bin", None)):
        X, y, Z, z = from_folder(options.folder, name, n, OTHER_SPLIT)
        with patch.object(rank, "SCHEDULE", replace(rank.SCHEDULE, grow_from=10**9)):
            model = tuned().fit(X, y)
        found = model.ensemble_
        for number, factor, cost in PARTITIONS:
            schedule = replace(rank.SCHEDULE, partitions=number, local_pass_cost=cost)
            start = time.process_time()
            with patch.object(rank, "SCHEDULE", schedule):
                model.ensemble_ = trained_again(found, factor)
            seconds = time.process_time() - start
            p = model.predict_proba(Z)
            error = 100 * np.mean(model.classes_[p.argmax(axis=1)] != z)
            m = len(model.ensemble_.main.inducing)
            print(
                f"{name}, {len(y)} rows, {number} partitions, C times {factor:g}, m = {m}: "
                f"error {error:.2f} %  log-loss {log_loss(z, p):.4f}  CPU {seconds:.1f} s",
                flush=True,
            )


def trained_again(ensemble, factor):
    """Return an ensemble whose members are trained again by the present schedule, with a factor of C."""
    from dataclasses import replace

    from marginwise.fitting.labels import Scale
    from marginwise.fitting.rank import RankPolicy
    from marginwise.fitting.schedule import SCHEDULE
    from marginwise.fitting.stacking import kept_weights

    searches = {id(member.tuning): member for member in ensemble.members}.values()
    members, trained = [], []
    for member in searches:
        model = member.hyperparameters
        rows = replace(ensemble.problem, X=member.inputs(ensemble.X))
        model = model.with_C(model.C / SCHEDULE.partitions_C)
        for problem, used, done in RankPolicy("auto").train(
            member.candidate.labels, rows, rows.X, model, len(searches), growth=factor
        ):
            same = replace(member, scale=Scale(used.C), stored=done.stored)
            members.append(replace(same, inducing=problem.inducing, partition=problem.partition))
            trained.append(done)
    codes = ensemble.codes
    own = np.column_stack([done.log_left_out[np.arange(len(codes)), codes] for done in trained])
    weights = kept_weights(own, ensemble.sample_weight)
    kept = np.flatnonzero(weights)
    members = [replace(members[k], weight=float(weights[k])) for k in kept]
    same = replace(ensemble, members=tuple(members), calibration=None)
    return same.with_latent_functions([trained[k].predictor for k in kept], ensemble.log_left_out)


def growth(options):
    """Made-up rows, 20,000 others to test on; the exponents are slopes of straight lines in the logarithms."""
    X, y, Z, z = parted(*made_up(1_000_000 + TEST_ROWS))
    sizes = np.array([10_000, 30_000, 100_000, 300_000, 1_000_000])
    found = [measured("TunedSVC", tuned, {}, (X[:n], y[:n], Z, z), options.threads) for n in sizes]
    for measure in ("cpu", "wall", "memory"):
        exponent, _ = np.polyfit(np.log(sizes), np.log([one[measure] for one in found]), 1)
        print(f"{measure} grows as n^{exponent:.2f} between {sizes[0]} and {sizes[-1]} rows")


def middle(options):
    data = split(options.data, 3_000)
    measured("TunedSVC", tuned, {}, data, 1)
    measured("GridSearchCV(SVC) and calibration", grid_svc, (), data, 1)


def small(options):
    for name in ("image", "splice"):
        with np.load(Path(options.raetsch) / f"{name}.npz") as stored:
            X, y = stored["X"].astype(float), stored["y"].astype(float)
            splits = [(stored["gen_train_idx"][k], stored["gen_test_idx"][k]) for k in range(options.splits)]
        for train, test in splits:
            data = (X[train], y[train], X[test], y[test])
            dense = measured(f"{name}, exact", tuned, {"rank": None, "subset": None}, data, 1)
            for rank in options.ranks:
                low = measured(f"{name}, rank {rank}", tuned, {"rank": rank, "subset": None}, data, 1)
                faster, worse = dense["cpu"] / low["cpu"], low["error"] - dense["error"]
                print(f"    {faster:.1f} times faster, error {worse:+.2f} points")


def subsets(options):
    data = split(options.data, 30_000)
    for size in (1_000, 2_500, 5_000, 10_000):
        measured(f"tuned on {size}", tuned, {"subset": size}, data, options.threads)
    for number in (1, 4, 8):
        measured(f"{number} subsets of 1500 combined", bagged, (number, 1_500), data, options.threads)


def cluster(options):
    import dask.array as da
    from distributed import Client, LocalCluster

    X, y, _, _ = split(options.data, options.rows)
    here = tuned(ard=options.ard).fit(X, y)
    done = []
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as workers, Client(workers):
        there = da.from_array(X, chunks=(-(-len(X) // 20), X.shape[1]))
        fit = threading.Thread(target=lambda: done.append(tuned(ard=options.ard).fit(there, y)))
        start = time.perf_counter()
        fit.start()
        seen = set()
        while fit.is_alive() and len(seen) < 400:
            seen |= {str(key) for key in list(workers.scheduler.tasks) if "_apply" in str(key)}
            time.sleep(0.005)
        killed = fit.is_alive()
        os.kill(next(iter(workers.workers.values())).pid, signal.SIGKILL)
        fit.join()
        seconds = time.perf_counter() - start
    if not done:
        sys.exit("the fit on the cluster failed")
    difference = np.abs(done[0].hyperparameters_.to_vector() - here.hyperparameters_.to_vector()).max()
    print(f"{len(y)} rows in 20 blocks, 2 workers, one killed in mid-fit ({killed}): {seconds:.0f} s")
    print(f"largest difference of the hyperparameters' logarithms from the fit in memory: {difference:.1e}")


def made_up_block(numbers, block_info=None):
    """Return rows with 13 inputs and their label for a block of numbers, always the same ones."""
    rng = np.random.default_rng(int(numbers[0, 0]) + 1)
    X, y = made_up_rows(rng, len(numbers))
    return np.column_stack([X, y])


def worker_memory():
    """Return the largest memory that this worker has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def ten_million(options):
    """Rows are made when they are needed, never all at once: two workers have 3 GB each, the rows alone take 1 GB."""
    import dask.array as da
    from distributed import Client, LocalCluster

    n, size = options.rows or 10_000_000, 100_000
    Z, z = made_up_rows(np.random.default_rng(0), TEST_ROWS)
    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "3GB", "dashboard_address": ":0"}
    with LocalCluster(**options) as workers, Client(workers) as client:
        numbers = da.arange(n, chunks=size)[:, None]
        rows = numbers.map_blocks(made_up_block, dtype=float, chunks=(numbers.chunks[0], (14,)))
        y = rows[:, 13].compute()
        start = time.perf_counter()
        model = tuned().fit(rows[:, :13], y)
        seconds = time.perf_counter() - start
        peaks = client.run(worker_memory).values()
    probability = model.predict_proba(Z)
    error = 100 * np.mean(model.predict(Z) != z)
    log_loss = -np.mean(np.log(probability[np.arange(len(z)), (z > 0).astype(int)]))
    print(
        f"{n} rows in blocks of {size}, 2 workers: error {error:.2f} %  log-loss {log_loss:.4f}  {seconds:.0f} s  "
        f"caller {worker_memory() / 1e9:.1f} GB, workers {', '.join(f'{peak / 1e9:.1f}' for peak in peaks)} GB",
        flush=True,
    )
    X, y = made_up_rows(np.random.default_rng(1), min(n, 1_000_000))
    trees((X, y, Z, z), 2)


TASKS = {
    f.__name__: f
    for f in (large, million, tables, sizes, exact, partitions, growth, middle, small, subsets, cluster, ten_million)
}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=list(TASKS))
    parser.add_argument("--data", help="a table whose last column is the label -1 or 1")
    parser.add_argument("--folder", help="folder with tables NAME.csv.gz whose last column is the label")
    parser.add_argument("--raetsch", help="folder with the Rätsch sets as NAME.npz")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--ranks", type=int, nargs="+", default=[100, 200])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=None, help="training rows of the cluster's table")
    parser.add_argument("--ard", type=float, default=0.0)
    parser.add_argument("--picture", help="where to draw what sizes finds")
    sys.exit(TASKS[parser.parse_args().task](parser.parse_args()))
