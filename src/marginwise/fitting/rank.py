"""How a table with many rows is made small enough: tuned on few rows, trained with local blocks or inducing inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise.covariance.blocks import as_blocks
from marginwise.covariance.cells import ROWS_EACH, Cells
from marginwise.covariance.gaussian import Sites
from marginwise.covariance.inducing import choose_inducing
from marginwise.covariance.partition import Partition
from marginwise.fitting.labels import LabelModel, SlackLabels, Trained
from marginwise.fitting.schedule import SCHEDULE
from marginwise.kernels.base import Kernel
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.row_hash import hash_rows

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
        if isinstance(self.rank, str) and labels.sums_rows and problem.groups is None:
            features, cells = cell_sizes(problem.n)
            if cells >= SCHEDULE.least_cells:
                return (in_cells(problem, model.kernel, features, cells, self.seed),)
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

    def train(
        self, labels: LabelModel, problem: Problem, seen: Array, model: Model, members: int, growth: float | None = None
    ) -> list[TrainedOn]:
        """Train one of some members on all rows, in each partition from where it ended in the one before.

        ``growth`` is the factor by which C grew for another member, None for the first one: see :func:`_grown`.
        """
        problems = self.for_training(labels, problem, seen, model, members)
        usual = SCHEDULE.partitions_C if len(problems) > 1 else 1.0
        used, near = model.with_C((growth or usual) * model.C), self.start(labels, problems[0], seen, model)
        done = _trained_on(labels, problems, used, near)
        if growth is None and self.automatic and labels.sums_rows and _may_grow(problem):
            done = _grown(labels, done)
        return done


class TrainedOn(NamedTuple):
    """What was trained, with the model and the problem that it was trained on."""

    problem: Problem
    model: Model
    trained: Trained


def _trained_on(labels: LabelModel, problems: Sequence[Problem], model: Model, near: Sites | None) -> list[TrainedOn]:
    """Train on the rows in each partition, from where it ended in the one before."""
    done = []
    for rows in problems:
        trained = labels.train(rows, model, near)
        near = trained.sites
        done.append(TrainedOn(rows, model, trained))
    return done


def _may_grow(problem: Problem) -> bool:
    """Say whether rows in memory are so many more than those that C was found on that these tell too little."""
    return isinstance(problem.X, np.ndarray) and problem.n >= SCHEDULE.grow_from


def _grown(labels: LabelModel, done: list[TrainedOn]) -> list[TrainedOn]:
    """Return the same with C doubled again and again, as long as rows that are left out get more probable.

    The more rows, the finer the details of a function that they can tell, and the larger it may be.
    """
    problems, value = [one.problem for one in done], _left_out(done)
    for _ in range(SCHEDULE.most_doublings):
        near = done[0]
        larger = _trained_on(labels, problems, near.model.with_C(2.0 * near.model.C), near.trained.sites)
        gain = _left_out(larger) - value
        if gain > 0.0:
            done, value = larger, value + gain
        if gain < SCHEDULE.growth_gain * problems[0].weights.sum():
            break
    return done


def _left_out(done: Sequence[TrainedOn]) -> float:
    """Return the log-probability of all labels by the mean of several, each row without one of its examples."""
    problem = done[0].problem
    rows, labels = np.arange(problem.n), problem.labels
    own = np.array([one.trained.log_left_out[rows, labels] for one in done])
    return float(problem.weights @ (np.logaddexp.reduce(own, axis=0) - np.log(len(done))))


def in_blocks(problem: Problem, seen: Array, kernel: Kernel, m: int, seed: int, *, single: bool) -> Problem:
    """Return the problem with m inducing inputs from the rows ``seen``, and blocks of as many rows."""
    inducing = choose_inducing(seen, kernel, m, seed=seed)
    partition = Partition.of(problem.X, kernel.lengths(problem.X.shape[1]), m)
    return replace(problem, inducing=inducing, partition=partition, single=single)


def in_cells(problem: Problem, kernel: Kernel, features: int, number: int, seed: int) -> Problem:
    """Return the problem with inducing inputs for all rows, and more of them for those of each cell of the inputs."""
    shared = int(SCHEDULE.shared_part * features)
    rows = _some_rows(problem.X, problem.n, ROWS_EACH * number * (features - shared), seed)
    cells = Cells.of(rows, kernel, number, features - shared, seed)
    return replace(problem, inducing=choose_inducing(rows, kernel, shared, seed=seed), cells=cells, single=True)


def cell_sizes(n: int) -> tuple[int, int]:
    """Return the number of features of a row of n, and that of cells."""
    affordable = int(np.sqrt(SCHEDULE.cell_pass_cost / n))
    features = max(SCHEDULE.tuning_rank, min(SCHEDULE.cell_features, affordable))
    return features, min(SCHEDULE.cell_numbers // features**2, n // SCHEDULE.cell_rows)


def _some_rows(X: Any, n: int, wanted: int, seed: int) -> Array:
    """Return about so many of n rows, which and in which order depends on nothing but their cells."""
    found = as_blocks(X).map(_hashed_below, wanted / n, seed)
    rows, numbers = (np.concatenate(part) for part in zip(*found, strict=True))
    return np.asarray(rows[np.argsort(numbers)])


def _hashed_below(X: Array, share: float, seed: int) -> tuple[Array, npt.NDArray[np.uint64]]:
    numbers = hash_rows(X, seed)
    few = numbers <= np.uint64(min(share, 1.0) * (2.0**64 - 2.0**11))
    return X[few], numbers[few]


class LocalSize(NamedTuple):
    """The number of inducing inputs with blocks of as many rows, and that of partitions; m = 0 if memory is short."""

    m: int
    partitions: int


def local_size(n: int, n_classes: int, members: int) -> LocalSize:
    """Return what some members with n rows are trained with, if memory has room for it."""
    s = SCHEDULE
    usual, most, pass_cost, several = s.usual_local, s.most_local, s.local_pass_cost, s.partitions
    if n_classes > 2:
        usual, most, pass_cost, several = s.usual_local_classes, s.most_local_classes, s.local_pass_cost_classes, 1
    wanted = max(usual, min(most, int(np.sqrt(pass_cost / n))))
    if wanted >= n:
        several = 1  # one block is the exact matrix
    kept = several * (max(members, 2) if n >= s.grow_from else members)  # a larger C is compared with one before
    room = s.local_numbers // numbers_kept(n, 1, kept)
    return LocalSize(min(wanted, room), several) if room >= s.least_local else LocalSize(0, 1)


def numbers_kept(n: int, m: int, members: int) -> int:
    """Return how many numbers are in memory where members with local blocks of m rows are trained one by one.

    Each keeps V, J and Σ_R (:mod:`marginwise.covariance.local_gaussian`); the last one has K - VVᵀ as well, and two
    factors with their products with V.
    """
    return n * m * (3 * members + 5)


def _by_sites(labels: LabelModel) -> bool:
    return isinstance(labels, SlackLabels)
