"""ONNX graphs and files run by onnxruntime, beside the arrays that they should give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from marginwise.export.graph import IR_VERSION, OPSET, Graph


def evaluated(write: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """Return what a function of values writes, computed for these arrays."""
    graph = Graph()
    names = [f"input{k}" for k in range(len(arrays))]
    result = write(*map(graph.value, names))
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim)
        for name, array in zip(names, arrays, strict=True)
    ]
    output = onnx.ValueInfoProto(name=result.name)  # of any type
    whole = helper.make_graph(graph.nodes, "test", inputs, [output], graph.initializers)
    file = helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return session_of(file).run(None, dict(zip(names, arrays, strict=True)))[0]


def session_of(file: Any) -> onnxruntime.InferenceSession:
    """Return a session of a file, with one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(file.SerializeToString(), options)


def results_of(file: Any, inputs: dict[str, Any]) -> dict[str, np.ndarray]:
    """Return the outputs of a file by their names; the file is checked first."""
    onnx.checker.check_model(file, full_check=True)
    session = session_of(file)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def columns_of(frame: Any, words: tuple[str, ...] = (), dates: tuple[str, ...] = ()) -> dict[str, np.ndarray]:
    """Return the inputs of a file for a pandas data frame, as the documentation says they are made."""
    inputs = {}
    for name in frame:
        column = frame[name]
        if name in words:
            cells = column.astype(object).where(column.notna(), "").to_numpy(dtype=object)
        elif name in dates:
            cells = (column - np.datetime64(0, "s")) / np.timedelta64(1, "D")
        else:
            cells = column.astype(float)
        inputs[name] = np.asarray(cells)[:, None]
    return inputs
