"""Ensembles of local optima: the SVMs at the ends of all trials of a method vote.

"One possible productive use of the high variability of classifiers produced by convergence to local optima … could be
to combine the resulting classifiers in some ensemble or voting scheme" (section results).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from marginwise.criteria.registry import as_criterion
from marginwise.datasets.benchmarks import Benchmark
from marginwise.hyperparameters import Hyperparameters
from marginwise.study.judge import Judge
from marginwise.study.paper.compare import all_datasets
from marginwise.study.paper.optima import CRITERIA
from marginwise.study.record import TrialRow
from marginwise.study.report.summary import Trials


@dataclass(frozen=True)
class MajorityVote:
    """What becomes of the ends of a method's trials on one data set when they vote; errors in %.

    ``single`` is the mean error of the voters, ``together`` that of their majority. Where votes are equal, half of an
    error is counted.
    """

    dataset: str
    method: str
    voters: int
    single: float
    together: float

    @property
    def gain(self) -> float:
        """By how much voting is better."""
        return self.single - self.together


def vote(trials: Trials, load: Callable[[TrialRow], Benchmark | None]) -> list[MajorityVote]:
    """Let the ends of each of the paper's methods vote, on every data set that can be loaded."""
    found = []
    for dataset in all_datasets(trials):
        for method, (name, slack) in CRITERIA.items():
            rows = [row for row in trials.done(dataset, method) if row.hyperparameters]
            if len(rows) < 2 or (data := load(rows[0])) is None:
                continue
            judge = Judge.of(data, as_criterion(name, slack).likelihood)
            ends = [Hyperparameters.from_values(row.hyperparameters or ()) for row in rows]
            correct = np.array([np.sign(judge.margins(end)) for end in ends])
            single = 100 * float(np.mean(correct <= 0))
            majority = correct.sum(axis=0)
            together = 100 * float(np.mean((majority < 0) + 0.5 * (majority == 0)))
            found.append(MajorityVote(dataset, method, len(rows), single, together))
    return found


def write_votes(path: Path, votes: Iterable[MajorityVote]) -> Path:
    """Write votes as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(MajorityVote)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(vote) for vote in votes)
    return path


def read_votes(path: Path) -> list[MajorityVote]:
    """Read what :func:`write_votes` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            MajorityVote(r["dataset"], r["method"], int(r["voters"]), float(r["single"]), float(r["together"]))
            for r in csv.DictReader(file)
        ]
