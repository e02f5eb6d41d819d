"""Members that predict together as nodes: how each sees the inputs, their mixture or votes, recalibration."""

from __future__ import annotations

from functools import reduce, singledispatch
from operator import add

import numpy as np

from marginwise._arrays import Array
from marginwise.errors import Finding, InvalidInputError
from marginwise.export import links
from marginwise.export.functions import interpolate, log_expit, log_softmax
from marginwise.export.graph import Value, concat, exp, log, maximum, node
from marginwise.export.predictors import moments
from marginwise.fitting.calibration import Calibration
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.members import Member
from marginwise.fitting.stacking import TIE_BREAK, Vote
from marginwise.fitting.views import NormalScores, Selection


def log_proba(ensemble: Ensemble, inputs: Value) -> Value:
    """Return the logarithms of the class probabilities, shape (n, n_classes)."""
    logs = [
        links.log_proba(predictor, *moments(predictor, seen(member, inputs)))
        for member, predictor in zip(ensemble.members, ensemble.predictors, strict=True)
    ]
    mixed = _mixed(logs, ensemble.weights) if ensemble.vote is None else _shares(ensemble.vote, logs, ensemble.weights)
    return mixed if ensemble.calibration is None else _recalibrated(ensemble.calibration, mixed)


def seen(member: Member, inputs: Value) -> Value:
    """Return what a member sees of the inputs."""
    return inputs if member.view is None else view(member.view, inputs)


@singledispatch
def view(shown: object, inputs: Value) -> Value:
    """Return what a view shows of the inputs."""
    found = Finding(f"sees its inputs by {type(shown).__name__}, which has no ONNX form")
    raise InvalidInputError("model", found, "a model that TunedSVC fitted")


@view.register
def _(shown: Selection, inputs: Value) -> Value:
    return inputs.take(shown.inputs, 1) * shown.scales


@view.register
def _(shown: NormalScores, inputs: Value) -> Value:
    return interpolate(inputs, shown.knots, shown.scores)


def by_importance(logs: Value, importance: Array) -> Value:
    """Return log-probabilities with what the classes count for, p_k proportional to c_k p_k."""
    return log_softmax(logs + np.log(importance / importance.max()))


def _mixed(logs: list[Value], weights: Array) -> Value:
    """Return ln Σ_i w_i e^{l_i}."""
    if len(logs) == 1:
        return logs[0]
    largest = maximum(*logs)
    parts = [exp(own - largest) * weight for own, weight in zip(logs, weights.tolist(), strict=True)]
    return log(reduce(add, parts)) + largest


def _shares(vote: Vote, logs: list[Value], weights: Array) -> Value:
    """Return the logarithm of each class's share of the votes, and a little of the mean of all probabilities."""
    parts = []
    for own, weight in zip(logs, weights.tolist(), strict=True):
        weighted = by_importance(own, vote.importance)
        best = node("ArgMax", weighted, axis=1, keepdims=1)
        ballot = best.equals(np.arange(len(vote.importance))).cast(np.float64)
        little = maximum(exp(weighted), np.finfo(float).tiny) * TIE_BREAK
        parts.append((ballot * (1.0 - TIE_BREAK) + little) * weight)
    return log(reduce(add, parts))


def _recalibrated(calibration: Calibration, logs: Value) -> Value:
    log_odds = logs.take(np.array([1]), 1) - logs.take(np.array([0]), 1)
    corrected = interpolate(log_odds, [calibration.odds], [calibration.corrected])
    return log_expit(concat([-corrected, corrected], axis=1))
