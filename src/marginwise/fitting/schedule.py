"""Every threshold of rows, ranks, folds and evaluations that a fit keeps to, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """How much work goes where. ``benchmarks/default.py`` chose the first part, ``benchmarks/scale.py`` the second.

    Both used splits that no comparison contains.

    Attributes
    ----------
    spreads : tuple of float
        Prior standard deviations of ln l_a around a shared ln l that are tried after one shared length scale.
    n_folds, first_folds : int
        Folds, and how many of them a candidate has to gain on before the others are tried.
    fold_rows : int
        Most rows that a fold trains on.
    shared_fold_evaluations : int
        Evaluations of a search on a fold with one length scale, which begins at the optimum of all rows.
    fold_evaluations, many_fold_evaluations : int
        Evaluations of a search on a fold with several; with few rows, and with many. More would not help: a short
        search stays near to one length scale where nothing pulls it away.
    least_weight : float
        Members with a weight below this are dropped: they would cost a search and change next to nothing.
    pseudo_counts : float
        Rows that stacking counts as already seen, spread evenly over the candidates.
    coarse_rows, halve_from : int
        Most rows that searches begin on, and from how many rows on the first one begins on half of these.
    auxiliary_rows : int
        Most rows that a term of the kernel alone is tuned on: it has few hyperparameters.
    additive_from, additive_gain : int, float
        Rows from which the kernel may have a curve for each column as well, and by how much the first search has to
        gain by it, in the mean log-probability of a label.
    no_gain, no_gain_moves : float, int
        A search that others follow ends when so many moves raised the sum of log-probabilities by no more than this.
    small_gain : float
        A search with a length scale for each input, where rows are many, ends at a move that raised the sum by no more
        than this: each hyperparameter is uncertain by half a unit of the sum anyway.
    last_evaluations, many_last_evaluations : int
        Evaluations of the last search on all rows; fewer where rows are many, because each costs more and the search
        begins nearer to its end.
    near_rows, near_evaluations : int
        Rows and most evaluations of the first searches with a length scale for each input, where an exact matrix of all
        rows would be too large; the other rows choose a spread.
    worse_level : float
        Level of significance at which a larger spread has to be worse on these to be left.
    wide_rows, wide_local, wide_evaluations : int
        Rows to tune on there, inducing inputs (and rows of a block) of the last search on them, and its most
        evaluations.
    view_evaluations : int
        Most evaluations of the search that follows on another view of the same rows.
    scored_from, many_scored_from : float
        Root mean square distance of normal scores from straight lines in the inputs (1 - correlation²) from which they
        are a candidate where rows are few, and a member where they are many.
    softmax_classes : int
        Classes up to which the softmax likelihood is tried in addition to least squares: with more, its mode is far.
    screened_share, screened_evaluations : float, int
        With more inputs than this many times the rows, models of a few screened columns are candidates; evaluations of
        each of their searches.
    threshold_rows : int
        Rows up to which the likelihood of classes with an order is trained.
    exact_rows : int
        Rows up to which the Gram matrix is exact.
    tuning_rows : int
        Most rows that are tuned on where the rank is given; otherwise as many as have an exact matrix. The model is
        trained on all.
    least_local : int
        Inducing inputs m with local blocks, which have as many rows: the fewest that are worth it.
    usual_local, most_local, local_pass_cost : int
        The fewest that are taken where memory allows, the most, and in between multiplications nm² of one pass over the
        rows; of two classes.
    usual_local_classes, most_local_classes, local_pass_cost_classes : int
        The same of more: one factorisation serves all classes, and classes that hardly overlap need a covariance that
        is nearly exact.
    partitions : int
        Partitions of the rows of two classes that a member is trained in, where memory allows: rows near a border of
        one are inside a block of another, and the mean of their predictions is better than one with larger blocks at
        the same cost.
    partitions_C : float
        Factor of C in several partitions: their mean is smoother than each of them.
    grow_from, most_doublings, growth_gain : int, int, float
        Rows in memory from which C is doubled as long as these, left out one by one, get more probable by it, how many
        times at most, and the gain in the mean log-probability of a label below which a doubling is the last.
    local_numbers : int
        Numbers in single precision that local blocks of all members keep, nm(3k + 5) for k members in all partitions:
        features, their posterior and blocks of each, and what the training of the last one takes.
    cell_features, cell_pass_cost, shared_part : int, int, float
        Most features m of a row where cells of the inputs have inducing inputs of their own, because blocks would need
        too much memory, multiplications nm² of one pass over the rows, and the part of the features that all cells
        share.
    cell_numbers, cell_rows, least_cells : int
        Numbers of the square matrices of all cells together, the fewest rows that a cell has on average, and the fewest
        cells: so many have more inducing inputs in all than are affordable without.
    tuning_rank : int
        Inducing inputs while tuning.
    most_inducing, most_inducing_classes : int
        Most inducing inputs of the last fit: of two classes, and of more.
    pass_cost : int
        Multiplications nm² of one pass over the rows in the last fit of two classes, for all members together.
    feature_numbers : int
        Features of all rows together in the last fit of more classes, 2 GiB of numbers.
    polish_evaluations : int
        Evaluations of the search with new inducing inputs that follows the others where the rank is limited.
    calibration_rows, judged_rows : int
        Rows from which on log-odds of two classes are recalibrated, and most rows that this, the weights of members and
        the probabilities of sets are found from: more would not change them.
    """

    spreads: tuple[float, ...] = (0.3, 1.0)
    n_folds: int = 4
    first_folds: int = 2
    fold_rows: int = 700
    shared_fold_evaluations: int = 2
    fold_evaluations: int = 7
    many_fold_evaluations: int = 8
    least_weight: float = 0.125
    pseudo_counts: float = 4.0
    coarse_rows: int = 600
    halve_from: int = 300
    auxiliary_rows: int = 300
    additive_from: int = 600
    additive_gain: float = 0.001
    no_gain: float = 0.05
    no_gain_moves: int = 3
    small_gain: float = 1.0
    last_evaluations: int = 8
    many_last_evaluations: int = 3
    near_rows: int = 1000
    near_evaluations: int = 8
    worse_level: float = 0.1
    wide_rows: int = 6000
    wide_local: int = 250
    wide_evaluations: int = 8
    view_evaluations: int = 4
    scored_from: float = 0.08
    many_scored_from: float = 0.01
    softmax_classes: int = 200
    threshold_rows: int = 2_000_000
    screened_share: float = 0.5
    screened_evaluations: int = 20
    exact_rows: int = 1500
    tuning_rows: int = 5000
    least_local: int = 200
    usual_local: int = 300
    most_local: int = 600
    local_pass_cost: int = 3 * 2**30
    usual_local_classes: int = 400
    most_local_classes: int = 1200
    local_pass_cost_classes: int = 2**32
    partitions: int = 2
    partitions_C: float = 2.0
    grow_from: int = 50_000
    most_doublings: int = 3
    growth_gain: float = 0.0005
    local_numbers: int = 425_000_000
    cell_features: int = 600
    cell_pass_cost: int = 2**37
    shared_part: float = 0.5
    cell_numbers: int = 2**23
    cell_rows: int = 2000
    least_cells: int = 8
    tuning_rank: int = 200
    most_inducing: int = 1448
    most_inducing_classes: int = 1024
    pass_cost: int = 2**38
    feature_numbers: int = 2**28
    polish_evaluations: int = 25
    calibration_rows: int = 1500
    judged_rows: int = 2**20

    def are_many(self, n: int) -> bool:
        """Say whether searches begin on a part of n rows."""
        return n > self.coarse_rows


#: What every fit keeps to.
SCHEDULE = Schedule()
