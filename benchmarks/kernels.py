"""Do the paper's criteria gain by the sum of kernels, too? Each tunes both kernels by the same search.

    python benchmarks/kernels.py run [--data FOLDER] [--draws 10] [--sets SET ...] [--criteria NAME ...]
    python benchmarks/kernels.py report

Random draws of the paper's five sets in the paper's sizes, the same for both kernels. Labels and probabilities are
those of the posterior by expectation propagation at the hyperparameters found; the error of the SVM is beside them.
Each result is a line in results/kernels.csv as soon as it is there; a second run continues.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

from classify import FIVE
from default import drawn_anew
from marginwise import TunedSVC
from marginwise.criteria.registry import as_criterion
from results import MEASURES, Results, measure

RESULTS = Results(Path("results/kernels.csv"), {**MEASURES, "svm_error": 2, "value": 4})

#: Criterion and slack; the last is TunedSVC's own criterion, for comparison.
CRITERIA = {
    "laplace-evidence": "quadratic",
    "span": "quadratic",
    "gacv": "linear",
    "ep-loo": "linear",
    "ep-evidence": "linear",
}
KERNELS = ("rbf", "auto")

#: One length scale, and free ones.
FREEDOMS = (0.0, 1.0)

#: Criteria with jumps are searched by a simplex, which needs more than the default.
MOST_EVALUATIONS = 1000


def method(criterion, ard, kernel):
    return f"{criterion}, s = {ard:g}, {kernel}"


def measured(criterion, ard, kernel, data, seed):
    """Return the usual measures, the error of the SVM with the same hyperparameters, and the criterion's value."""
    model = TunedSVC(
        ard,
        kernel=kernel,
        criterion=criterion,
        slack=CRITERIA[criterion],
        max_evaluations=MOST_EVALUATIONS,
        random_state=seed,
    )
    found = measure(lambda d, seed: model, *data, seed)
    value = model.criterion_value_
    svm = model.set_params(predictor="svm")
    return {**found, "svm_error": 100 * np.mean(svm.predict(data[2]) != data[3]), "value": value}


def run(options):
    warnings.simplefilter("ignore")
    for name in options.sets:
        for draw in range(options.draws):
            data = drawn_anew(name, draw, options.data)
            for criterion in options.criteria:
                for ard in options.freedoms:
                    for kernel in KERNELS:
                        case = criterion, ard, kernel
                        RESULTS.once(name, draw, method(*case), lambda: measured(*case, data, draw))  # noqa: B023


def report():
    """Print for each ard and measure both kernels and their paired difference, set by set and in the mean."""
    found = RESULTS.table()
    for ard in FREEDOMS:
        ran = [one for one in CRITERIA if all(method(one, ard, KERNELS[1]) in rows for rows in found["error"].values())]
        for field, digits in (("error", 2), ("log_loss", 3), ("svm_error", 2)) if ran else ():
            print(f"\n{field}, s = {ard:g}: rbf → auto (difference ± standard error over draws)\n")
            print("| set | " + " | ".join(ran) + " |\n" + "|---" * (1 + len(ran)) + "|")
            columns = {criterion: _pairs(found[field], criterion, ard) for criterion in ran}
            for name in found[field]:
                cells = [_cell(columns[criterion][name], digits) for criterion in ran]
                print(f"| {name} | " + " | ".join(cells) + " |")
            cells = [_cell(_mean(list(columns[criterion].values())), digits) for criterion in ran]
            print("| *mean* | " + " | ".join(cells) + " |")

    choices(found)


def choices(found):
    """Print what each criterion chooses that has a value for both kernels: how often the sum, and if that was right."""
    print(
        "\nthe kernel with the better value of the criterion: sum chosen, right about the log-loss (of so many draws);"
    )
    print("error and log-loss of rbf, auto, and chosen\n")
    for criterion in CRITERIA:
        sign = -1 if as_criterion(criterion).direction == "minimise" else 1
        for ard in FREEDOMS:
            means = []
            for name, rows in found["value"].items():
                old, new = (rows[method(criterion, ard, kernel)] for kernel in KERNELS)
                draws = sorted(set(old) & set(new))
                if not draws:
                    continue
                takes = np.array([sign * new[draw] > sign * old[draw] for draw in draws])
                values = {
                    field: np.array(
                        [[found[field][name][method(criterion, ard, k)][draw] for k in KERNELS] for draw in draws]
                    )
                    for field in ("error", "log_loss")
                }
                right = takes == (values["log_loss"][:, 1] < values["log_loss"][:, 0])
                table = [
                    [*own.mean(axis=0), own[np.arange(len(draws)), takes.astype(int)].mean()] for own in values.values()
                ]
                means.append(table)
                _line(f"{criterion}, s = {ard:g}, {name}: {takes.sum()}, {right.sum()} of {len(draws)}", table)
            if means:
                _line(f"{criterion}, s = {ard:g}, mean", np.mean(means, axis=0))


def _line(label, table):
    errors, losses = table
    print(f"{label:52} " + " ".join(f"{v:6.2f}" for v in errors) + "   " + " ".join(f"{v:.4f}" for v in losses))


def _pairs(by_set, criterion, ard):
    """Return for each set the means with both kernels, their difference and its standard error."""
    pairs = {}
    for name, rows in by_set.items():
        old, new = (rows[method(criterion, ard, kernel)] for kernel in KERNELS)
        draws = sorted(set(old) & set(new))
        values = np.array([[old[draw], new[draw]] for draw in draws])
        difference = values[:, 1] - values[:, 0]
        pairs[name] = (*values.mean(axis=0), difference.mean(), difference.std(ddof=1) / np.sqrt(len(draws)))
    return pairs


def _mean(pairs):
    """Return the mean over sets, whose errors are independent."""
    old, new, difference, error = np.array(pairs).T
    return old.mean(), new.mean(), difference.mean(), np.sqrt(np.sum(error**2)) / len(error)


def _cell(pair, digits):
    old, new, difference, error = pair
    return f"{old:.{digits}f} → {new:.{digits}f} ({difference:+.{digits}f} ± {error:.{digits}f})".replace("-", "−")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["run", "report"])
    parser.add_argument("--data", help="folder with original files of the paper's sets")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=FIVE, choices=FIVE)
    parser.add_argument("--criteria", nargs="*", default=list(CRITERIA), choices=list(CRITERIA))
    parser.add_argument("--freedoms", nargs="*", type=float, default=list(FREEDOMS), metavar="S")
    arguments = parser.parse_args()
    run(arguments) if arguments.task == "run" else report()
