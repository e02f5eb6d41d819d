"""Fitted classifiers as ONNX graphs with their outputs, and as whole files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper
from sklearn.utils.validation import check_is_fitted

import marginwise
from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators import MarginSVC, TunedSVC
from marginwise.estimators._classes import n_decisions
from marginwise.export import ensembles, machines
from marginwise.export.encodings import encoded, filled, mean, mean_of_logs
from marginwise.export.functions import log_softmax
from marginwise.export.graph import IR_VERSION, OPSET, Graph, Value, concat, exp, maximum, minimum, node
from marginwise.export.tables import Inputs
from marginwise.problem import FAR

#: Types of labels by the kinds of arrays.
_LABELS: dict[str, int] = {
    "U": TensorProto.STRING,
    "i": TensorProto.INT64,
    "f": TensorProto.DOUBLE,
    "b": TensorProto.BOOL,
}


class Output(NamedTuple):
    """An output: its name, the type of its numbers, and the lengths of its axes after the first, that of rows."""

    name: str
    kind: int
    shape: tuple[int, ...] = ()


def declared(model: Any) -> list[Output]:
    """Return the outputs of a fitted classifier."""
    n_classes = len(model.classes_)
    found = [Output("label", _LABELS[_labels(model.classes_).dtype.kind])]
    if hasattr(model, "predict_proba"):
        found.append(Output("probabilities", TensorProto.DOUBLE, (n_classes,)))
    width = n_decisions(n_classes)
    return [*found, Output("decision", TensorProto.DOUBLE, () if width == 1 else (width,))]


@singledispatch
def outputs(model: Any, cells: Value) -> list[Value]:
    """Return what a fitted classifier says of cells, in the order of :func:`declared`."""
    raise _foreign(model)


def _foreign(model: Any) -> InvalidInputError:
    return InvalidInputError(
        "model",
        Finding(f"is a {type(model).__name__}"),
        "a TunedSVC or MarginSVC; pipelines are for skl2onnx.to_onnx, after marginwise.export.register_converters()",
    )


@outputs.register
def _(model: TunedSVC, cells: Value) -> list[Value]:
    logs, values = (_svm if model.predictor == "svm" else _posterior)(model, cells)
    probabilities = exp(log_softmax(logs))
    return [_label(model, logs), probabilities, _as_declared(values, model)]


def _posterior(model: TunedSVC, cells: Value) -> tuple[Value, Value]:
    """Return log-probabilities and decision values by the average over the posterior."""
    ensemble, n_classes = model.ensemble_, len(model.classes_)
    logs = _of_rows(model, cells, n_classes, lambda inputs: ensembles.log_proba(ensemble, inputs), mean_of_logs)
    if np.ptp(model._importance) > 0.0 and ensemble.vote is None:
        logs = ensembles.by_importance(logs, model._importance)
    if n_decisions(n_classes) == 1:
        return logs, logs.take(np.array([1]), 1) - logs.take(np.array([0]), 1)
    return logs, logs


def _svm(model: TunedSVC, cells: Value) -> tuple[Value, Value]:
    """Return the same by the SVM."""
    ensemble, n_classes = model.ensemble_, len(model.classes_)

    def log_proba(inputs: Value) -> Value:
        own = ensembles.seen(ensemble.main, inputs)
        return machines.log_proba(ensemble.svm, own, ensemble.svm_model.C, ensemble.slack)

    def decision(inputs: Value) -> Value:
        return machines.decision(ensemble.svm, ensembles.seen(ensemble.main, inputs))

    logs = _of_rows(model, cells, n_classes, log_proba, mean_of_logs)
    return logs, _of_rows(model, cells, n_decisions(n_classes), decision, mean)


@outputs.register
def _(model: MarginSVC, cells: Value) -> list[Value]:
    width = n_decisions(len(model.classes_))

    def decision(inputs: Value) -> Value:
        return machines.decision(model._machines, minimum(maximum(inputs, -FAR), FAR))

    values = _of_rows(model, cells, width, decision, mean)
    # of two classes the second wins where the only value is positive, and the first where it is 0
    scores = concat([values * 0.0, values], axis=1) if width == 1 else values
    return [_label(model, scores), _as_declared(values, model)]


def model_of(model: Any, names: Sequence[str] | None) -> Any:
    """Return a fitted classifier as a whole ONNX file; ``names`` are those of columns that have none."""
    if outputs.dispatch(type(model)) is outputs.dispatch(object):
        raise _foreign(model)
    check_is_fitted(model)
    graph, inputs = Graph(), Inputs.of(model._schema, names)
    written = outputs(model, inputs.cells([graph.value(name) for name in inputs.names]))
    stated = []
    for one, value in zip(declared(model), written, strict=True):
        name = one.name
        while name in inputs.names:
            name += "_"
        graph.nodes.append(helper.make_node("Identity", [value.name], [name]))
        stated.append(helper.make_tensor_value_info(name, one.kind, ["n", *one.shape]))
    file = helper.make_model(
        helper.make_graph(graph.nodes, type(model).__name__, inputs.declared(), stated, graph.initializers),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="marginwise",
        producer_version=marginwise.__version__,
    )
    columns = json.dumps(inputs.described(), ensure_ascii=False)
    helper.set_model_props(file, {"columns": columns, "classes": json.dumps(model.classes_.tolist())})
    return file


def _of_rows(
    model: Any,
    cells: Value,
    width: int,
    function: Callable[[Value], Value],
    average: Callable[[Value], Value],
) -> Value:
    """Return a function of inputs at all rows: averaged over the copies of those whose gaps are filled."""
    copies = filled(model._encoding, cells)
    if copies is None:
        return function(encoded(model._encoding, cells))
    return copies.averaged(function(encoded(model._encoding, copies.cells)), width, average)


def _label(model: Any, scores: Value) -> Value:
    """Return the class with the largest score, the first of equals."""
    return scores.graph.constant(_labels(model.classes_)).take(node("ArgMax", scores, axis=1, keepdims=0))


def _labels(classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the classes as strings, whole numbers, numbers or truth values that ONNX has."""
    kind = classes.dtype.kind
    if kind not in "UOiufb":
        found = Finding(f"has labels of type {classes.dtype}")
        raise InvalidInputError("model", found, "labels that are strings, numbers or truth values")
    plain = {"O": np.str_, "i": np.int64, "u": np.int64, "f": np.float64}
    return classes.astype(plain[kind]) if kind in plain else classes


def _as_declared(values: Value, model: Any) -> Value:
    """Return decision values without the second axis, if there is one for each row."""
    return values.squeeze(1) if n_decisions(len(model.classes_)) == 1 else values
