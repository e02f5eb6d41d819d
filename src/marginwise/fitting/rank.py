"""How a table with many rows is made small enough: tuned on few rows, trained with local blocks or inducing inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from marginwise._arrays import Array
from marginwise.covariance.gaussian import Sites
from marginwise.covariance.inducing import choose_inducing
from marginwise.covariance.partition import Partition
from marginwise.fitting.labels import LabelModel, SlackLabels, Trained
from marginwise.fitting.schedule import SCHEDULE
from marginwise.kernels.base import Kernel
from marginwise.model import Model
from marginwise.problem import Problem

#: The last fit by expectation propagation is begun with a smaller rank: its sites are near at a sixteenth of the cost.
_COARSER = 4


@dataclass(frozen=True, eq=False)
class RankPolicy:
    """The rank that a model is tuned and trained with.

    Attributes
    ----------
    rank : "auto", int or None
        Number of inducing inputs; "auto" is local blocks where they fit into memory, and otherwise as many inducing
        inputs as leave little; None is the exact Gram matrix.
    seed : int
        Draws the start of the inducing inputs.
    """

    rank: str | int | None = None
    seed: int = 0

    @property
    def exact(self) -> bool:
        """Whether the Gram matrix of all rows is exact."""
        return self.rank is None

    @property
    def automatic(self) -> bool:
        """Whether rows are many, and how that is met is left to the schedule."""
        return isinstance(self.rank, str)

    def order(self, n: int) -> int:
        """Return the most rows of a square matrix in the fit of a table of n rows."""
        return n if self.rank is None else SCHEDULE.most_inducing if isinstance(self.rank, str) else self.rank

    def for_tuning(self, problem: Problem, start: Model) -> Problem:
        """Return the problem to tune on, with inducing inputs chosen for ``start`` where its rank is limited."""
        if self.rank is None or (isinstance(self.rank, str) and problem.n <= SCHEDULE.exact_rows):
            return problem
        number = SCHEDULE.tuning_rank if isinstance(self.rank, str) else self.rank
        return replace(problem, inducing=choose_inducing(problem.X, start.kernel, number, seed=self.seed))

    def for_training(
        self, labels: LabelModel, problem: Problem, seen: Array, model: Model, members: int
    ) -> tuple[Problem, ...]:
        """Return the problems of all rows that one of some members is trained on, in as many partitions as pay.

        Blocks and inducing inputs are chosen for its hyperparameters, the latter from the rows ``seen``.
        """
        if self.rank is None:
            return (problem,)
        size = local_size(problem.n, problem.n_classes, members)
        if isinstance(self.rank, str) and size.m > 0 and isinstance(problem.X, np.ndarray) and not _by_sites(labels):
            whole = in_blocks(problem, seen, model.kernel, size.m, self.seed, single=True)
            lengths = model.kernel.lengths(problem.X.shape[1])
            others = (
                Partition.of(problem.X, lengths, size.m, direction="random", seed=seed)
                for seed in range(1, size.partitions)
            )
            return (whole, *(replace(whole, partition=partition) for partition in others))
        if _by_sites(labels):
            most = min(SCHEDULE.most_inducing, int(np.sqrt(SCHEDULE.pass_cost / (members * problem.n))))
        else:
            most = min(SCHEDULE.most_inducing_classes, SCHEDULE.feature_numbers // problem.n)
        number = None if isinstance(self.rank, str) else self.rank
        most = max(SCHEDULE.tuning_rank, most)
        points = choose_inducing(seen, model.kernel, number, most=most, seed=self.seed)
        return (replace(problem, inducing=points, single=not _by_sites(labels)),)

    def start(self, labels: LabelModel, problem: Problem, seen: Array, model: Model) -> Sites | None:
        """Return sites near by for expectation propagation with many inducing inputs, found with fewer."""
        few = 0 if problem.inducing is None else len(problem.inducing) // _COARSER
        if few < 2 or not _by_sites(labels):
            return None
        coarse = choose_inducing(seen, model.kernel, few, seed=self.seed)
        return labels.train(replace(problem, inducing=coarse), model).sites

    def train(self, labels: LabelModel, problem: Problem, seen: Array, model: Model, members: int) -> list[TrainedOn]:
        """Train one of some members on all rows, in each partition from where it ended in the one before."""
        problems = self.for_training(labels, problem, seen, model, members)
        if len(problems) > 1:
            model = model.with_C(SCHEDULE.partitions_C * model.C)
        near = self.start(labels, problems[0], seen, model)
        done = []
        for rows in problems:
            trained = labels.train(rows, model, near)
            near = trained.sites
            done.append(TrainedOn(rows, model, trained))
        return done


class TrainedOn(NamedTuple):
    """What was trained, with the model and the problem that it was trained on."""

    problem: Problem
    model: Model
    trained: Trained


def in_blocks(problem: Problem, seen: Array, kernel: Kernel, m: int, seed: int, *, single: bool) -> Problem:
    """Return the problem with m inducing inputs from the rows ``seen``, and blocks of as many rows."""
    inducing = choose_inducing(seen, kernel, m, seed=seed)
    partition = Partition.of(problem.X, kernel.lengths(problem.X.shape[1]), m)
    return replace(problem, inducing=inducing, partition=partition, single=single)


class LocalSize(NamedTuple):
    """The number of inducing inputs with blocks of as many rows, and that of partitions; m = 0 if memory is short."""

    m: int
    partitions: int


def local_size(n: int, n_classes: int, members: int) -> LocalSize:
    """Return what some members with n rows are trained with: several partitions where memory has room for them."""
    s = SCHEDULE
    usual, most, pass_cost, several = s.usual_local, s.most_local, s.local_pass_cost, s.partitions
    if n_classes > 2:
        usual, most, pass_cost, several = s.usual_local_classes, s.most_local_classes, s.local_pass_cost_classes, 1
    wanted = max(usual, min(most, int(np.sqrt(pass_cost / n))))
    if wanted >= n:
        several = 1  # one block is the exact matrix
    for partitions in range(several, 0, -1):
        room = SCHEDULE.local_numbers // numbers_kept(n, 1, members * partitions)
        if room >= SCHEDULE.least_local:
            return LocalSize(min(wanted, room), partitions)
    return LocalSize(0, 1)


def numbers_kept(n: int, m: int, members: int) -> int:
    """Return how many numbers are in memory where members with local blocks of m rows are trained one by one.

    Each keeps V, J and Σ_R (:mod:`marginwise.covariance.local_gaussian`); the last one has K - VVᵀ as well, and two
    factors with their products with V.
    """
    return n * m * (3 * members + 5)


def _by_sites(labels: LabelModel) -> bool:
    return isinstance(labels, SlackLabels)
