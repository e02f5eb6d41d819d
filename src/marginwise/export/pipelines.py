"""Converters for sklearn-onnx, so that its pipelines may end with our classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper
from skl2onnx import update_registered_converter
from skl2onnx.common.data_types import (
    BooleanTensorType,
    DoubleTensorType,
    Int64TensorType,
    StringTensorType,
)

from marginwise.errors import Finding, InvalidInputError
from marginwise.estimators import MarginSVC, TunedSVC
from marginwise.export.graph import OPSET, Graph, Value
from marginwise.export.models import Output, declared, outputs
from marginwise.export.tables import Inputs, has_words

#: Types of sklearn-onnx by those of ONNX.
_TYPES: dict[int, Any] = {
    TensorProto.STRING: StringTensorType,
    TensorProto.INT64: Int64TensorType,
    TensorProto.DOUBLE: DoubleTensorType,
    TensorProto.BOOL: BooleanTensorType,
}


def register() -> None:
    """Tell sklearn-onnx how TunedSVC and MarginSVC are converted."""
    for kind in (TunedSVC, MarginSVC):
        update_registered_converter(kind, f"Marginwise{kind.__name__}", _check, _convert, parser=_parse)


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Return the outputs of a model, which are those of ``to_onnx``."""
    operator = scope.declare_local_operator(f"Marginwise{type(model).__name__}", model)
    operator.inputs.extend(inputs)
    for one in declared(model):
        operator.outputs.append(scope.declare_local_variable(one.name, _TYPES[one.kind]([None, *one.shape])))
    return operator.outputs


def _check(operator: Any) -> None:
    """Do nothing: shapes are known since the model was parsed."""


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the model as the branch of a condition that holds where there are rows.

    So its loops stay after what they use: sklearn-onnx sorts nodes, but not by what is used inside of them.
    """
    given = container.target_opset_any_domain("")
    if given < OPSET:
        raise InvalidInputError("target_opset", given, f"{OPSET} or more")
    model = operator.raw_operator
    name = scope.get_unique_variable_name("marginwise")
    graph = Graph(prefix=name)
    results = [
        helper.make_tensor_value_info(value.name, one.kind, [None, *one.shape])
        for one, value in zip(declared(model), _written(model, graph, operator.inputs), strict=True)
    ]
    size, has_rows = (scope.get_unique_variable_name(f"{name}_{part}") for part in ("size", "has_rows"))
    nothing = scope.get_unique_variable_name(f"{name}_nothing")
    container.add_initializer(nothing, TensorProto.INT64, [1], [0])
    container.add_node("Shape", [operator.inputs[0].full_name], [size], op_version=OPSET, start=0, end=1)
    container.add_node("Greater", [size, nothing], [has_rows], op_version=OPSET)
    container.add_node(
        "If",
        [has_rows],
        [one.full_name for one in operator.outputs],
        op_version=OPSET,
        then_branch=helper.make_graph(graph.nodes, name, [], results, graph.initializers),
        else_branch=_no_rows(name, declared(model)),
    )


def _written(model: Any, graph: Graph, variables: Any) -> list[Value]:
    """Write a model to a graph and return its outputs."""
    schema = model._schema
    if len(variables) not in (1, len(schema.columns)):
        found = Finding(f"has {len(variables)} inputs")
        raise InvalidInputError("model", found, f"one matrix, or {len(schema.columns)} columns")
    if len(variables) == 1 < len(schema.columns) and any(map(has_words, schema.columns)):
        found = Finding("takes words, and a matrix of numbers comes before it")
        raise InvalidInputError("model", found, "its columns one by one, without another step of the pipeline")
    values = [_as_double(graph.value(one.full_name), one.type) for one in variables]
    return outputs(model, Inputs.of(schema, None).cells(values))


def _as_double(value: Value, kind: Any) -> Value:
    return value if isinstance(kind, (DoubleTensorType, StringTensorType)) else value.cast(np.float64)


def _no_rows(name: str, outputs: list[Output]) -> Any:
    """Return the graph of empty outputs."""
    nodes, results, initializers = [], [], []
    for one in outputs:
        own, shape = f"{name}/empty/{one.name}", [0, *one.shape]
        initializers.append(helper.make_tensor(f"{own}/constant", one.kind, shape, []))
        nodes.append(helper.make_node("Identity", [f"{own}/constant"], [own]))
        results.append(helper.make_tensor_value_info(own, one.kind, shape))
    return helper.make_graph(nodes, f"{name}_empty", [], results, initializers)
