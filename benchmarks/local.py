"""Local blocks and cells beside the exact matrix and low rank alone: errors, log-losses, CPU seconds.

    python benchmarks/local.py magic.csv.gz [--rows 3000 5000] [--method least-squares] [--inducing 300 500]
        [--blocks 300 500 1000] [--cells 16 64] [--cuts] [--borders] [--pivots] [--gradient]

The table has its label in the last column. The sum of kernels is tuned once, on 1,500 of the rows to train with, and
serves all; rows to test are what a random permutation leaves, at most 4,000. Least squares are for any number of
classes, "ep" is for two. ``--cells`` adds so many cells with inducing inputs of their own: half of the features of a
row are shared. ``--cuts`` compares directions of cuts and the mean over two partitions, ``--borders`` scores by the
distance from the border of a block (exact · in blocks · mean of two partitions), ``--pivots`` centres of k-means with
randomly pivoted Cholesky as inducing inputs, ``--gradient`` adds the seconds of a criterion with its gradient. Set
OPENBLAS_NUM_THREADS=1.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from marginwise import Prior
from marginwise.covariance import Partition, choose_inducing
from marginwise.covariance.cells import Cells
from marginwise.criteria.ep import EPLeaveOneOut
from marginwise.criteria.least_squares import LeastSquaresLeaveOneOut
from marginwise.inference.sites import site_posterior
from marginwise.kernels import Blend
from marginwise.likelihoods import as_slack
from marginwise.model import Model
from marginwise.multiclass.linear import linear_least_squares
from marginwise.multiclass.posterior import least_squares
from marginwise.problem import MulticlassProblem, Problem
from marginwise.search import Limits
from marginwise.search.restarts import tune_problem
from marginwise.search.settings import SearchSettings

TUNED_ON, TESTED, SPREAD = 1500, 4000, 1.0
EP_TOLERANCE = 1e-3


def read(path):
    """Return standardised inputs and class numbers."""
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    X = table[:, :-1]
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), np.unique(table[:, -1], return_inverse=True)[1]


def as_problem(X, codes, method, **options):
    weights = np.ones(len(X))
    if method == "ep":
        return Problem(X, np.where(codes == 1, 1.0, -1.0), weights, **options)
    return MulticlassProblem(X, codes.astype(float), weights, n_classes=int(codes.max()) + 1, **options)


def tuned(path, X, codes, method):
    """Return the model, from a file if it was tuned before."""
    kept = Path("build") / f"local-{Path(path).stem}-{method}.json"
    prior, d = Prior(spread=SPREAD), X.shape[1]
    start = prior.mean_of(Model(1.0, Blend(length_scales=(1.0,) * d)), d)
    if kept.exists():
        return start.with_vector(np.array(json.loads(kept.read_text())))
    criterion = EPLeaveOneOut("linear", tolerance=1e-4) if method == "ep" else LeastSquaresLeaveOneOut()
    begin = time.process_time()
    problem = as_problem(X, codes, method)
    result = tune_problem(problem, criterion, start, SearchSettings(prior=prior, limits=Limits(40)))
    print(f"tuned on {len(X)} rows: {result.value:.4f} after {time.process_time() - begin:.0f} s\n", flush=True)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(result.hyperparameters.to_vector().tolist()))
    return result.hyperparameters


def predicted(problem, model, method, X_test):
    """Return log-probabilities of the classes at test rows, and the CPU seconds of training and predicting."""
    begin = time.process_time()
    if method == "ep":
        posterior = site_posterior(
            problem, model, as_slack("linear"), tolerance=EP_TOLERANCE, with_gradient=False, norm="rms"
        )
        seconds = time.process_time() - begin
        logs = posterior.log_label_probability(X_test)
        logs = logs - np.logaddexp(*logs.T)[:, None]
    else:
        linear = problem.inducing is not None and problem.partition is None
        posterior = (linear_least_squares if linear else least_squares)(problem, model)
        link = posterior.fitted_link()
        seconds = time.process_time() - begin
        logs = link.log_proba(*posterior.predictor.moments(X_test))
    return logs, seconds, time.process_time() - begin - seconds


def gradient_seconds(problem, model, method):
    criterion = EPLeaveOneOut("linear", tolerance=1e-4) if method == "ep" else LeastSquaresLeaveOneOut()
    begin = time.process_time()
    criterion.evaluate(problem, model)
    return time.process_time() - begin


def judged(logs, codes):
    own = logs[np.arange(len(codes)), codes]
    return 100 * np.mean(logs.argmax(axis=1) != codes), -own.mean()


def rotated(X, lengths, size, seed):
    """Return a partition whose cuts are across the axes of a random rotation of the scaled inputs."""
    d = X.shape[1]
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
    turned = Partition.of(X / lengths @ Q, np.ones(d), size, direction="widest")
    return replace(turned, directions=turned.directions @ Q.T / lengths)


def randomly_pivoted(X, kernel, rank, seed=0):
    """Return the rows that randomly pivoted Cholesky chooses (Chen, Epperly, Tropp & Webber 2022)."""
    rng = np.random.default_rng(seed)
    open_variance, F, chosen = kernel.diagonal(X).copy(), np.zeros((len(X), rank)), []
    for k in range(rank):
        row = rng.choice(len(X), p=open_variance / open_variance.sum())
        column = kernel.cross(X, X[row : row + 1])[:, 0] - F[:, :k] @ F[row, :k]
        F[:, k] = column / np.sqrt(column[row])
        open_variance = np.maximum(open_variance - F[:, k] ** 2, 0.0)
        open_variance[row] = 0.0
        chosen.append(row)
    return X[np.sort(chosen)]


def border_distances(partition, X, lengths):
    """Return the distance of each row from the nearest cut on its way down the tree, in units of the length scales."""
    norms = np.linalg.norm(partition.directions * lengths, axis=1)
    distances = np.full(len(X), np.inf)
    for i, x in enumerate(X):
        node = 0 if len(norms) else -1
        while node >= 0:
            off = x @ partition.directions[node] - partition.thresholds[node]
            distances[i] = min(distances[i], abs(off) / norms[node])
            node = partition.children[node, int(off > 0)]
    return distances


class Table:
    """What is compared: rows to train with, rows to test, the model; each line is printed when it is there."""

    def __init__(self, arguments, X, codes, n):
        order = np.random.default_rng(0).permutation(len(X))
        self.arguments, self.method, self.n = arguments, arguments.method, n
        self.train, test = order[:n], order[-TESTED:]
        self.X, self.codes, self.X_test, self.codes_test = X[self.train], codes[self.train], X[test], codes[test]
        first = order[:TUNED_ON]
        self.model = tuned(arguments.table, X[first], codes[first], self.method)
        self.kernel = self.model.kernel
        self.lengths = self.kernel.lengths(X.shape[1])
        self.first = None

    def line(self, name, **options):
        problem = as_problem(self.X, self.codes, self.method, **options)
        logs, seconds, predicting = predicted(problem, self.model, self.method, self.X_test)
        self.first = logs if self.first is None else self.first
        cells = [self.n, name, *self.scores(logs), f"{seconds:.1f}", f"{predicting:.1f}"]
        if self.arguments.gradient:
            cells.append(f"{gradient_seconds(problem, self.model, self.method):.1f}")
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
        return logs

    def scores(self, logs):
        """Return error and log-loss, and by how much the latter is above the first line, with its standard error."""
        error, loss = judged(logs, self.codes_test)
        more = (self.first - logs)[np.arange(len(logs)), self.codes_test]
        return f"{error:.2f}", f"{loss:.4f}", f"{1e3 * more.mean():.1f} ± {1e3 * more.std() / len(more) ** 0.5:.1f}"

    def partition(self, size, direction="principal"):
        return Partition.of(self.X, self.lengths, size, direction=direction)

    def compare(self):
        a = self.arguments
        exact = self.line("exact") if self.n <= a.most_exact else None
        for rank in a.inducing:
            inducing = choose_inducing(self.X, self.kernel, rank=rank)
            self.line(f"m = {rank}, diagonal", inducing=inducing)
            for size in a.blocks:
                partition = self.partition(size)
                logs = self.line(f"m = {rank}, B = {size}", inducing=inducing, partition=partition)
                if a.borders and exact is not None:
                    other = self.partition(size, "random")
                    second = self.line(f"m = {rank}, B = {size}, random", inducing=inducing, partition=other)
                    both = np.logaddexp(logs, second) - np.log(2.0)
                    self.borders(partition, logs, both, exact)
            for number in a.cells:
                shared = choose_inducing(self.X, self.kernel, rank=rank // 2)
                cells = Cells.of(self.X, self.kernel, number, rank - rank // 2)
                self.line(f"m = {rank}, {number} cells", inducing=shared, cells=cells)

    def borders(self, partition, logs, both, exact):
        """Print scores of quarters of the test rows, those near a border first: exact, with blocks, in two partitions.

        The border is that of the first partition; the other one has its own elsewhere.
        """
        distances = border_distances(partition, self.X_test, self.lengths)
        for k, rows in enumerate(np.array_split(np.argsort(distances), 4)):
            scores = [judged(one[rows], self.codes_test[rows]) for one in (exact, logs, both)]
            errors, losses = (" · ".join(f"{value:.4g}" for value in column) for column in zip(*scores, strict=True))
            print(f"| | quarter {k + 1}, up to {distances[rows].max():.3f} | {errors} | {losses} | | | |", flush=True)

    def cuts(self, rank=500):
        inducing = choose_inducing(self.X, self.kernel, rank=rank)
        for size in self.arguments.blocks:
            found = {
                "widest": self.partition(size, "widest"),
                "principal": self.partition(size),
                "rotation 1": rotated(self.X, self.lengths, size, 1),
                "rotation 2": rotated(self.X, self.lengths, size, 2),
            }
            logs = {
                name: self.line(f"m = {rank}, B = {size}, {name}", inducing=inducing, partition=partition)
                for name, partition in found.items()
            }
            for first, second in (("widest", "principal"), ("rotation 1", "rotation 2")):
                mean = np.logaddexp(logs[first], logs[second]) - np.log(2.0)
                print(f"| {self.n} | mean of {first} and {second} | {' | '.join(self.scores(mean))} | | |", flush=True)

    def pivots(self, rank=500):
        size = self.arguments.blocks[0]
        partition = self.partition(size)
        for name, choose in (("k-means", choose_inducing), ("random pivots", randomly_pivoted)):
            begin = time.process_time()
            inducing = choose(self.X, self.kernel, rank)
            name = f"m = {rank} by {name} ({time.process_time() - begin:.1f} s)"
            self.line(f"{name}, diagonal", inducing=inducing)
            self.line(f"{name}, B = {size}", inducing=inducing, partition=partition)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table")
    parser.add_argument("--rows", type=int, nargs="*", default=[3000, 5000])
    parser.add_argument("--method", choices=("least-squares", "ep"), default="least-squares")
    parser.add_argument("--inducing", type=int, nargs="*", default=[300, 500])
    parser.add_argument("--blocks", type=int, nargs="*", default=[300, 500, 1000])
    parser.add_argument("--cells", type=int, nargs="*", default=[])
    parser.add_argument("--most-exact", type=int, default=5000)
    for flag in ("cuts", "borders", "pivots", "gradient"):
        parser.add_argument(f"--{flag}", action="store_true")
    arguments = parser.parse_args()
    X, codes = read(arguments.table)
    heads = ["rows", "covariance", "error %", "log-loss", "10⁻³ above the first", "training s", "predicting s"]
    heads += ["criterion and gradient s"] if arguments.gradient else []
    for n in arguments.rows:
        table = Table(arguments, X, codes, n)
        if n == arguments.rows[0]:
            print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads), flush=True)
        if arguments.cuts:
            table.cuts()
        elif arguments.pivots:
            table.pivots()
        else:
            table.compare()


if __name__ == "__main__":
    main()
