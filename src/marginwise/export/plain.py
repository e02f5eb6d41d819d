"""Fitted classifiers as plain JSON: the numbers that predictions are made of, under names that say what they are.

``docs/export.md`` has the formulas. Local blocks are left to ONNX: nobody would want to write them again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators import MarginSVC, TunedSVC
from marginwise.estimators._encoding import Encoding
from marginwise.export.stored import category_table, linear_weights
from marginwise.fitting.members import Member
from marginwise.fitting.views import NormalScores, Selection
from marginwise.inference.prediction import GaussianPredictor, LatentPredictor, Predictor
from marginwise.kernels import RBF, AdditiveLaplacian, Constant, Kernel, Laplacian, Linear
from marginwise.multiclass import ClassPredictor, OrderedLink
from marginwise.svm.pairs import PairMachines
from marginwise.tables import Schema

#: What a file says that it is.
FORMAT, VERSION = "marginwise-json", 1


def json_of(model: Any, names: Sequence[str] | None) -> str:
    """Return a fitted classifier as JSON; ``names`` are those of columns that have none."""
    if not isinstance(model, (TunedSVC, MarginSVC)):
        raise InvalidInputError("model", Finding(f"is a {type(model).__name__}"), "a TunedSVC or MarginSVC")
    check_is_fitted(model)
    schema = model._schema if names is None else model._schema.named(names)
    described = {
        "format": FORMAT,
        "version": VERSION,
        "classes": model.classes_,
        "columns": _columns(schema, model._encoding),
        "donors": model._encoding.donors,
        **(_tuned(model) if isinstance(model, TunedSVC) else {"svm": _svm(model._machines)}),
    }
    return json.dumps(_plain(described), ensure_ascii=False, allow_nan=False)


def _tuned(model: TunedSVC) -> dict[str, Any]:
    """Return the members of an ensemble and what is made of them, or the SVM."""
    ensemble = model.ensemble_
    if model.predictor == "svm":
        link = {"type": "slack", "power": ensemble.slack.power, "C": ensemble.svm_model.C}
        return {"svm": {"view": _view(ensemble.main.view), **_svm(ensemble.svm), "link": link}}
    calibration = ensemble.calibration
    return {
        "members": [_member(*pair) for pair in zip(ensemble.members, ensemble.predictors, strict=True)],
        "votes": ensemble.vote is not None,
        "calibration": None if calibration is None else {"odds": calibration.odds, "becomes": calibration.corrected},
        "importance": model._importance,
    }


def _columns(schema: Schema, encoding: Encoding) -> list[dict[str, Any]]:
    """Return for each column what it is, and what its cells become."""
    scaling, described = encoding.scaling, []
    for j, (name, column) in enumerate(zip(schema.names, schema.columns, strict=True)):
        one: dict[str, Any] = {"name": name, "kind": column.kind, "values": column.categories or None}
        if encoding.n_values[j]:
            one["inputs"] = category_table(encoding, j)
        else:
            one |= {"unit": scaling.unit[j], "centre": scaling.centre[j], "spread": scaling.spread[j]}
            one["gap"] = [encoding.centre[j], encoding.gap[j]] if encoding.gap[j] > 0.0 else None
        described.append(one)
    return described


def _member(member: Member, predictor: Predictor) -> dict[str, Any]:
    """Return the latent functions of a member, their variance, and what makes probabilities of them."""
    if not isinstance(predictor, LatentPredictor):
        found = Finding("has local blocks, which have no JSON form")
        raise InvalidInputError("model", found, "an ONNX file (to_onnx), or a model fitted with rank=500, say")
    is_square = predictor.gain.shape[1] == len(predictor.points)
    return {
        "weight": member.weight,
        "view": _view(member.view),
        "kernel": _kernel(predictor.kernel, predictor.points.shape[1]),
        "points": predictor.points,
        "coefficients": predictor.coefficients.reshape(len(predictor.points), -1),
        "gain" if is_square else "factor": predictor.gain,
        "link": _link(predictor),
    }


def _svm(machines: PairMachines) -> dict[str, Any]:
    return {
        "kernel": _kernel(machines.kernel, machines.points.shape[1]),
        "points": machines.points,
        "coefficients": machines.coefficients_by_pair(),
    }


def _kernel(kernel: Kernel, width: int) -> list[dict[str, Any]]:
    """Return the terms of a kernel."""
    for term in kernel.terms:
        if not type(term).__module__.startswith("marginwise."):  # one that inherits may compute something else
            raise _unknown(term)
    return [{"type": type(term).__name__, **_term(term, width)} for term in kernel.terms]


def _unknown(term: Kernel) -> InvalidInputError:
    found = Finding(f"has the kernel {type(term).__name__}, which has no JSON form")
    return InvalidInputError("model", found, "RBF, Laplacian, AdditiveLaplacian, Linear, Constant, and sums of them")


@singledispatch
def _term(term: Kernel, width: int) -> dict[str, Any]:
    raise _unknown(term)


@_term.register
def _(term: Constant, width: int) -> dict[str, Any]:
    return {"amplitude": term.koff}


@_term.register
def _(term: Linear, width: int) -> dict[str, Any]:
    return {"weights": linear_weights(term, width)}


@_term.register
def _(term: RBF, width: int) -> dict[str, Any]:
    return {"amplitude": term.k0, "length_scales": term.lengths(width)}


@_term.register
def _(term: Laplacian, width: int) -> dict[str, Any]:
    return {"amplitude": term.k1, "length_scales": term.lengths(width)}


@_term.register
def _(term: AdditiveLaplacian, width: int) -> dict[str, Any]:
    columns = np.arange(width) if term.columns is None else np.array(term.columns)
    return {"weights": term.column_weights(width), "length_scale": term.lam2, "columns": columns}


@singledispatch
def _link(predictor: Predictor) -> dict[str, Any]:
    found = Finding(f"predicts by {type(predictor).__name__}, which has no JSON form")
    raise InvalidInputError("model", found, "a model that TunedSVC fitted")


@_link.register
def _(predictor: ClassPredictor) -> dict[str, Any]:
    link: Any = predictor.link
    own = {"steepness": link.steepness, "widening": link.widening * predictor.unit, "floor": link.floor}
    if isinstance(link, OrderedLink):
        return {"type": "thresholds", "thresholds": link.thresholds, "order": link.order, **own}
    return {"type": "softmax", "offset": predictor.offset, **own}


@_link.register
def _(predictor: GaussianPredictor) -> dict[str, Any]:
    slack: Any = predictor.likelihood.likelihood
    return {"type": "slack", "power": slack.power, "C": predictor.likelihood.C}


def _view(view: Any) -> dict[str, Any] | None:
    if isinstance(view, Selection):
        return {"type": "selection", "inputs": view.inputs, "scales": view.scales}
    if isinstance(view, NormalScores):
        return {"type": "normal scores", "knots": view.knots, "scores": view.scores}
    return None


def _plain(thing: Any) -> Any:
    """Return lists, numbers and null, which JSON has; numbers that are not finite are null."""
    if isinstance(thing, dict):
        return {key: _plain(value) for key, value in thing.items()}
    if isinstance(thing, np.ndarray):
        return _plain(thing.tolist())
    if isinstance(thing, (list, tuple)):
        return [_plain(value) for value in thing]
    if isinstance(thing, np.generic):
        return _plain(thing.item())
    return None if isinstance(thing, float) and not np.isfinite(thing) else thing
