"""SVMs of all pairs of classes as nodes: latent functions, votes, and coupled probabilities."""

from __future__ import annotations

import numpy as np

from marginwise.export.functions import log_expit
from marginwise.export.graph import Value, concat, exp, log, maximum, node, repeat
from marginwise.export.kernels import cross
from marginwise.export.points import Points
from marginwise.likelihoods.slack import Slack
from marginwise.svm.pairs import PairMachines, pairs_of


def decision(machines: PairMachines, rows: Value) -> Value:
    """Return the latent function of two classes, a column, or votes for each of more (``svm.pairs.votes``)."""
    latent = _latent(machines, rows)
    if machines.one_pair:
        return latent
    first, second = (np.eye(machines.n_classes)[side] for side in pairs_of(machines.n_classes))
    for_second = (latent > 0.0).cast(np.float64)
    won = for_second @ second + (1.0 - for_second) @ first
    confidence = latent @ (second - first)
    return won + confidence / (3.0 * (node("Abs", confidence) + 1.0))


def log_proba(machines: PairMachines, rows: Value, C: float, slack: Slack) -> Value:
    """Return logarithms of class probabilities, shape (n, n_classes)."""
    latent = _latent(machines, rows)
    log_odds = (_loss(slack, -latent) - _loss(slack, latent)) * C
    if machines.one_pair:
        return log_expit(concat([-log_odds, log_odds], axis=1))
    p = couple(exp(log_expit(log_odds)), machines.n_classes)
    return log(maximum(p, np.finfo(float).tiny))


def couple(second: Value, n_classes: int) -> Value:
    """Return class probabilities from those of the second class of each pair, as ``svm.pairs.couple``.

    The equations are solved by Gauss-Jordan elimination, of all rows together. The matrix is positive definite, so that
    no pivots have to be looked for.
    """
    i, j = pairs_of(n_classes)
    n_pairs = len(i)
    places = np.full((n_classes, n_classes), 2 * n_pairs)
    places[i, j], places[j, i] = n_pairs + np.arange(n_pairs), np.arange(n_pairs)
    nothing = second.take(np.array([0]), 1) * 0.0
    r = concat([second, 1.0 - second, nothing], axis=1).take(places, 1)
    turned = node("Transpose", r, perm=[0, 2, 1])
    own = (r * r).sum(1).unsqueeze(2) * np.eye(n_classes)
    equations = concat([1.0 - r * turned + own, own.take(np.array([0]), 2) * 0.0 + 1.0], axis=2)
    units = second.graph.constant(np.eye(n_classes)[:, :, None])

    def eliminate(k: Value, matrix: Value) -> tuple[Value]:
        row = matrix.take(k, 1)
        row = row / row.take(k, 1).unsqueeze(1)
        column = matrix.take(k, 2).unsqueeze(2)
        return (matrix - (column - units.take(k)) * row.unsqueeze(1),)

    (solved,) = repeat(eliminate, second.graph.constant(np.array(n_classes)), equations)
    p = maximum(solved.take(np.array(n_classes), 2), 0.0)
    return p / p.sum(1, keep=True)


def _latent(machines: PairMachines, rows: Value) -> Value:
    """Return the latent function of each pair, shape (n, n_pairs)."""
    k = cross(machines.kernel, rows, Points.of(rows.graph, machines.points))
    return k @ machines.coefficients_by_pair()


def _loss(slack: Slack, margin: Value) -> Value:
    violation = maximum(1.0 - margin, 0.0)
    return violation if slack.power == 1 else violation * violation * 0.5
