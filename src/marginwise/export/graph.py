"""ONNX graphs written as expressions: values with the operators of arrays, and loops whose bodies are functions.

Equal expressions are one node and equal arrays one constant, so that whoever writes a graph need not keep track of what
is there already. A node stands in the innermost loop that one of its inputs belongs to; what does not change in a loop
is computed before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

#: Version of the operators: strings are compared, and axes are inputs of reductions. The oldest format that has it.
OPSET, IR_VERSION = 19, 9

#: What stands for a value in an expression.
Operand = Any


class Graph:
    """Nodes that are being written, or those of the body of a loop.

    Attributes
    ----------
    nodes : list of NodeProto
    initializers : list of TensorProto
        Constants; those of a body are in the whole graph.
    """

    def __init__(self, prefix: str = "", outer: Graph | None = None) -> None:
        self._prefix: str = prefix if outer is None else outer._prefix
        self._depth: int = 0 if outer is None else outer._depth + 1
        self._root: Graph = self if outer is None else outer._root
        self._known: dict[Any, tuple[Value, ...]] = {}
        self._count = 0
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []

    def value(self, name: str) -> Value:
        """Return the value of this name, an input."""
        return Value(self, name)

    def constant(self, array: npt.ArrayLike) -> Value:
        """Return an array as a value; words are strings."""
        content = np.asarray(array)
        words = content.dtype.kind in "UO"
        key = (
            content.dtype.str,
            content.shape,
            tuple(content.flat) if words else hashlib.sha256(content.tobytes()).digest(),
        )
        root = self._root
        if key not in root._known:
            name = root._new_name()
            root._known[key] = (Value(root, name),)
            root.initializers.append(_tensor(name, content))
        return root._known[key][0]

    def _new_name(self) -> str:
        self._count += 1
        return f"{self._prefix}/{self._depth}/{self._count}"

    def add(self, op: str, inputs: Sequence[Value], outputs: int, attributes: dict[str, Any]) -> tuple[Value, ...]:
        """Return the outputs of a node, which is written unless it is there already."""
        names = tuple(one.name for one in inputs)
        key = (op, names, tuple((name, _key(value)) for name, value in sorted(attributes.items())))
        if key not in self._known:
            made = tuple(Value(self, self._new_name()) for _ in range(outputs))
            self.nodes.append(helper.make_node(op, names, [one.name for one in made], **attributes))
            self._known[key] = made
        return self._known[key]

    def body(self, write: Callable[..., Sequence[Value]], given: Sequence[int], returned: Sequence[int]) -> Any:
        """Return what a function writes, as the body of a loop with inputs and outputs of these types."""
        inner = Graph(outer=self)
        arguments = [inner.value(inner._new_name()) for _ in given]
        # the outputs of a body are its own, and neither its inputs nor values from outside
        results = [inner.add("Identity", [one], 1, {})[0] for one in write(*arguments)]
        return helper.make_graph(
            inner.nodes,
            "body",
            [_declared(one, kind) for one, kind in zip(arguments, given, strict=True)],
            [_declared(one, kind) for one, kind in zip(results, returned, strict=True)],
        )


class Value:
    """A tensor of a graph: what NumPy calls an array, without its numbers."""

    __slots__ = ("graph", "name")
    __array_ufunc__ = None  # arrays leave operators with values to them

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    def __add__(self, other: Operand) -> Value:
        return node("Add", self, other)

    def __radd__(self, other: Operand) -> Value:
        return node("Add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return node("Sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return node("Sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return node("Mul", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return node("Mul", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return node("Div", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return node("Div", other, self)

    def __matmul__(self, other: Operand) -> Value:
        return node("MatMul", self, other)

    def __neg__(self) -> Value:
        return node("Neg", self)

    def __invert__(self) -> Value:
        return node("Not", self)

    def __and__(self, other: Operand) -> Value:
        return node("And", self, other)

    def __le__(self, other: Operand) -> Value:
        return node("LessOrEqual", self, other)

    def __ge__(self, other: Operand) -> Value:
        return node("GreaterOrEqual", self, other)

    def __gt__(self, other: Operand) -> Value:
        return node("Greater", self, other)

    def equals(self, other: Operand) -> Value:
        """Return where it equals another one."""
        return node("Equal", self, other)

    @property
    def T(self) -> Value:
        """The transposed matrix."""
        return node("Transpose", self, perm=[1, 0])

    @property
    def n_rows(self) -> Value:
        """The length of the first axis, shape (1,)."""
        return node("Shape", self, start=0, end=1)

    def cast(self, kind: type[np.generic]) -> Value:
        """Return it as numbers of another type."""
        return node("Cast", self, to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))

    def take(self, places: Operand, axis: int = 0) -> Value:
        """Return the entries at these places along an axis."""
        return node("Gather", self, places, axis=axis)

    def sum(self, axis: int, *, keep: bool = False) -> Value:
        """Return the sums along an axis, which stays with length 1 if ``keep``."""
        return node("ReduceSum", self, [axis], keepdims=int(keep))

    def max(self, axis: int, *, keep: bool = False) -> Value:
        """Return the largest entries along an axis."""
        return node("ReduceMax", self, [axis], keepdims=int(keep))

    def unsqueeze(self, axis: int) -> Value:
        """Return it with one more axis, of length 1."""
        return node("Unsqueeze", self, [axis])

    def squeeze(self, axis: int) -> Value:
        """Return it without an axis of length 1."""
        return node("Squeeze", self, [axis])

    def reshape(self, *sizes: Operand) -> Value:
        """Return it in another shape; sizes are numbers or values of shape (1,), and may be 0."""
        parts = [size if isinstance(size, Value) else self.graph.constant([size]) for size in sizes]
        return node("Reshape", self, concat(parts, axis=0), allowzero=1)


def node(op: str, *inputs: Operand, **attributes: Any) -> Value:
    """Return the only output of a node; inputs that are not values are constants."""
    return nodes(op, *inputs, outputs=1, **attributes)[0]


def nodes(op: str, *inputs: Operand, outputs: int, **attributes: Any) -> tuple[Value, ...]:
    """Return the outputs of a node."""
    inside = _innermost(one for one in inputs if isinstance(one, Value))
    own = [one if isinstance(one, Value) else inside.constant(one) for one in inputs]
    return inside.add(op, own, outputs, attributes)


def where(condition: Value, yes: Operand, no: Operand) -> Value:
    """Return ``yes`` where the condition holds, ``no`` elsewhere."""
    return node("Where", condition, yes, no)


def maximum(*values: Operand) -> Value:
    """Return the largest of several, entry by entry."""
    return node("Max", *values)


def minimum(*values: Operand) -> Value:
    """Return the smallest of several, entry by entry."""
    return node("Min", *values)


def exp(x: Value) -> Value:
    """Return exponentials."""
    return node("Exp", x)


def log(x: Value) -> Value:
    """Return natural logarithms."""
    return node("Log", x)


def concat(parts: Sequence[Value], axis: int) -> Value:
    """Return values one after the other along an axis."""
    return parts[0] if len(parts) == 1 else node("Concat", *parts, axis=axis)


def positions(mask: Value) -> Value:
    """Return where a mask of one axis holds."""
    return node("NonZero", mask).squeeze(0)


def fold(step: Callable[..., Value], start: Value, *tables: Value) -> Value:
    """Return what is left of ``start`` after state = step(state, column, …) for each column of the tables in turn."""
    double = TensorProto.DOUBLE
    outer = _innermost([start, *tables])
    body = outer.body(lambda *arguments: [step(*arguments)], [double] * (1 + len(tables)), [double])
    axes = [1] * len(tables)
    return node("Scan", start, *tables, body=body, num_scan_inputs=len(tables), scan_input_axes=axes)


def repeat(step: Callable[..., Sequence[Value]], times: Value, *start: Value) -> tuple[Value, ...]:
    """Return what is left of states after states = step(k, states…) for k = 0 … times - 1."""

    def write(number: Value, going_on: Value, *states: Value) -> Sequence[Value]:
        return [going_on, *step(number, *states)]

    numbers = [TensorProto.DOUBLE] * len(start)
    going_on = [TensorProto.BOOL, *numbers]
    body = _innermost([times, *start]).body(write, [TensorProto.INT64, *going_on], going_on)
    return nodes("Loop", times, np.array(True), *start, outputs=len(start), body=body)


def _innermost(values: Iterable[Value]) -> Graph:
    return max((one.graph for one in values), key=lambda graph: graph._depth)


def _declared(value: Value, kind: int) -> Any:
    """Return an input or output of a body: counters and conditions are single numbers, other tensors of any shape."""
    return helper.make_tensor_value_info(value.name, kind, None if kind == TensorProto.DOUBLE else [])


def _key(attribute: Any) -> Any:
    if isinstance(attribute, onnx.GraphProto):
        return attribute.SerializeToString(deterministic=True)
    return tuple(attribute) if isinstance(attribute, list) else attribute


def _tensor(name: str, content: npt.NDArray[Any]) -> Any:
    if content.dtype.kind in "UO":
        words: Any = [str(word).encode() for word in content.flat]
        return helper.make_tensor(name, TensorProto.STRING, content.shape, words)
    return onnx.numpy_helper.from_array(np.asarray(content, order="C"), name)
