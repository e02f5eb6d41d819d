"""From the moments of latent values to the logarithms of class probabilities."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from marginwise.errors import Finding, InvalidInputError
from marginwise.export.functions import log_add_exp, log_mills, log_softmax, log_tail, log_upper
from marginwise.export.graph import Operand, Value, concat, exp, log, node, where
from marginwise.inference.prediction import LabelPredictor, Predictor
from marginwise.likelihoods.slack import Slack
from marginwise.multiclass.link import Link, SoftmaxLink
from marginwise.multiclass.ordered_link import OrderedLink, ranks_of
from marginwise.multiclass.posterior import ClassScores


@singledispatch
def log_proba(predictor: Predictor, mean: Value, variance: Value) -> Value:
    """Return them, shape (n, n_classes), from means of shape (n, K) and variances of shape (n, 1)."""
    found = Finding(f"predicts by {type(predictor).__name__}, which has no ONNX form")
    raise InvalidInputError("model", found, "a model that TunedSVC fitted")


@log_proba.register
def _(predictor: ClassScores, mean: Value, variance: Value) -> Value:
    return _linked(predictor.link, mean + predictor.offset, variance * predictor.unit, len(predictor.offset))


@singledispatch
def _linked(link: Link | None, mean: Value, variance: Value, n_functions: int) -> Value:
    """Return the logarithms of class probabilities from what a link takes."""
    found = Finding(f"predicts by a {type(link).__name__}, which has no ONNX form")
    raise InvalidInputError("model", found, "a model that TunedSVC fitted")


@_linked.register
def _(link: SoftmaxLink, mean: Value, variance: Value, n_functions: int) -> Value:
    logs = log_softmax(mean * (link.steepness / node("Sqrt", 1.0 + variance * link.widening)))
    return log_add_exp(logs + math.log1p(-link.floor), math.log(link.floor / n_functions))


@_linked.register
def _(link: OrderedLink, mean: Value, variance: Value, n_functions: int) -> Value:
    """As differences of Φ: the floor is far above their rounding."""
    z = (np.array(link.thresholds) - mean * link.steepness) / node("Sqrt", 1.0 + variance * link.widening)
    tail = exp(log_tail(z, log_mills(node("Abs", z))))
    reached = where(z >= 0.0, 1.0 - tail, tail)
    edge = 0.0 * mean
    own = concat([reached, edge + 1.0], axis=1) - concat([edge, reached], axis=1)
    return log(own.take(ranks_of(link.order), 1) * (1.0 - link.floor) + link.floor / len(link.order))


@log_proba.register
def _(predictor: LabelPredictor, mean: Value, variance: Value) -> Value:
    likelihood = predictor.likelihood.likelihood
    if not isinstance(likelihood, Slack):
        found = Finding(f"has the likelihood {likelihood.name!r}, which has no ONNX form")
        raise InvalidInputError("model", found, "a model with the slack likelihood, least squares or softmax")
    margins = concat([-mean, mean], axis=1)
    return log_softmax(_log_average(likelihood, margins, variance, predictor.likelihood.C))


def _log_average(slack: Slack, m: Value, v: Value, C: float) -> Value:
    """Return ln ∫ N(f; m, v) exp[-C l_p(f)] df for margins m, two in a row: the first moment of ``likelihoods.tilted``.

    With a = (1 - m)/√v the part beyond the margin is Φ(-a). The other is φ(a) R(b) λ, R Mills' ratio: b = C√v - a and
    λ = 1 for linear slack, b = -aλ and λ = 1/√(1 + Cv) for quadratic. Where b < 0, R(b) is Φ(-b)/φ(b), and the squares
    of a and b, which may be huge, are subtracted before they are computed.
    """
    s = node("Sqrt", v)
    log_scale: Operand
    a = (1.0 - m) / s
    if slack.power == 1:
        c = s * C
        b, log_scale, shift = c - a, 0.0, c * (c * 0.5 - a)
    else:
        widened = 1.0 + v * C
        b, log_scale = -a / node("Sqrt", widened), log(widened) * -0.5
        shift = log_scale - a * a * (v * C / widened) * 0.5
    tails = log_mills(node("Abs", concat([a, b], axis=1)))
    at_a, at_b = tails.take(np.array([0, 1]), 1), tails.take(np.array([2, 3]), 1)
    inner = where(b >= 0.0, log_tail(a, at_b) + log_scale, shift + log_upper(b, at_b))
    return log_add_exp(log_upper(a, at_a), inner)
