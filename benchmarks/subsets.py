"""Models tuned on random subsets of the rows, and combined: the paper's last proposal for large data sets.

    python benchmarks/subsets.py run [--draws 5] [--sets SET ...]
    python benchmarks/subsets.py report

Gold & Sollich (2003), section conclusion: "model selection only on randomly sampled subsets of data, and then possibly
combining the resulting classifiers". One model of all rows beside one of a random part of them, and beside the mean of
the probabilities of several such (``BaggingClassifier`` without replacement), for the default and for the evidence of
expectation propagation with a length scale for each input. Random draws of the paper's five sets in its sizes. Each
result is a line in results/subsets.csv as soon as it is there; a second run continues. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from sklearn.ensemble import BaggingClassifier

from classify import FIVE
from default import FIRST_SPLIT, drawn_anew
from marginwise import TunedSVC
from results import Results, measure

RESULTS = Results(Path("results/subsets.csv"))

MODELS = {
    "default": lambda seed: TunedSVC(random_state=seed),
    "ep-evidence, s = 1": lambda seed: TunedSVC(1.0, kernel="rbf", criterion="ep-evidence", random_state=seed),
}

#: Number of models, and the part of the rows that each has.
WAYS = {"all rows": (1, 1.0), "a quarter": (1, 0.25), "9 quarters": (9, 0.25), "a half": (1, 0.5), "9 halves": (9, 0.5)}

METHODS = [f"{model}, {way}" for model in MODELS for way in WAYS]


def made(model, count, part, seed):
    return BaggingClassifier(MODELS[model](seed), count, max_samples=part, bootstrap=False, random_state=seed)


def run(options):
    warnings.simplefilter("ignore")
    for name in options.sets:
        for draw in range(FIRST_SPLIT, FIRST_SPLIT + options.draws):
            data = drawn_anew(name, draw, None)
            for model in MODELS:
                for way, (count, part) in WAYS.items():
                    make = lambda d, seed: made(model, count, part, seed)  # noqa: B023, E731
                    RESULTS.once(name, draw, f"{model}, {way}", lambda: measure(make, *data, draw))  # noqa: B023


def report():
    RESULTS.report(METHODS)
    for model in MODELS:
        for ours, other in (("9 quarters", "all rows"), ("9 halves", "all rows"), ("9 halves", "a half")):
            for field in ("error", "log_loss"):
                RESULTS.paired(f"{model}, {ours}", f"{model}, {other}", field)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["run", "report"])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--sets", nargs="*", default=FIVE, choices=FIVE)
    arguments = parser.parse_args()
    run(arguments) if arguments.task == "run" else report()
