"""Kernels of ``sklearn.gaussian_process.kernels`` as nodes."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as gp

from marginwise.errors import Finding, InvalidInputError
from marginwise.export.graph import Value, exp, log, node
from marginwise.export.points import Points, filled, minus_half_squares


def cross(kernel: Any, rows: Value, points: Points) -> Value:
    """Return K(a_i, b_j), shape (n, m)."""
    if not type(kernel).__module__.startswith("sklearn."):  # one that inherits may compute something else
        raise _unknown(kernel)
    return _cross(kernel, rows, points)


@singledispatch
def _cross(kernel: Any, rows: Value, points: Points) -> Value:
    raise _unknown(kernel)


@singledispatch
def diagonal(kernel: Any, rows: Value) -> Any:
    """Return K(a_i, a_i), a column, or a number where it is the same for all; 1 unless a kernel says otherwise."""
    return 1.0


def _unknown(kernel: Any) -> InvalidInputError:
    found = Finding(f"has the kernel {type(kernel).__name__}, which has no ONNX form")
    wanted = "RBF, Matern with nu 0.5, 1.5, 2.5 or inf, RationalQuadratic, ExpSineSquared, DotProduct, ConstantKernel, "
    return InvalidInputError("model", found, wanted + "and what is made of them by +, * and **")


@_cross.register
def _(kernel: gp.ConstantKernel, rows: Value, points: Points) -> Value:
    return filled(float(kernel.constant_value), rows, points)


@diagonal.register
def _(kernel: gp.ConstantKernel, rows: Value) -> Any:
    return float(kernel.constant_value)


@_cross.register
def _(kernel: gp.DotProduct, rows: Value, points: Points) -> Value:
    return rows @ points.value.T + float(kernel.sigma_0) ** 2


@diagonal.register
def _(kernel: gp.DotProduct, rows: Value) -> Any:
    return (rows * rows).sum(1, keep=True) + float(kernel.sigma_0) ** 2


@_cross.register
def _(kernel: gp.RBF, rows: Value, points: Points) -> Value:
    return exp(_minus_half_squares(kernel, rows, points))


@_cross.register
def _(kernel: gp.Matern, rows: Value, points: Points) -> Value:
    """Rasmussen & Williams (2006), eqs. 4.14, 4.17: polynomials times exponentials of d, 3^½d, 5^½d."""
    squares = _minus_half_squares(kernel, rows, points)
    if kernel.nu == np.inf:
        return exp(squares)
    if kernel.nu not in (0.5, 1.5, 2.5):
        found = Finding(f"has a Matern kernel with nu={kernel.nu:g}, which has no ONNX form")
        raise InvalidInputError("model", found, "0.5, 1.5, 2.5 or inf")
    d = node("Sqrt", squares * (-4.0 * kernel.nu))  # √(2ν) times the distance
    if kernel.nu == 0.5:
        return exp(-d)
    return (1.0 + d if kernel.nu == 1.5 else 1.0 + d + d * d / 3.0) * exp(-d)


@_cross.register
def _(kernel: gp.RationalQuadratic, rows: Value, points: Points) -> Value:
    squares = _minus_half_squares(kernel, rows, points)
    return exp(log(1.0 - squares / float(kernel.alpha)) * -float(kernel.alpha))


@_cross.register
def _(kernel: gp.ExpSineSquared, rows: Value, points: Points) -> Value:
    start = filled(0.0, rows, points)
    distance = node("Sqrt", minus_half_squares(start, rows, points.value) * -2.0)
    wave = node("Sin", distance * (math.pi / kernel.periodicity))
    return exp(wave * wave * (-2.0 / kernel.length_scale**2))


@_cross.register
def _(kernel: gp.Sum, rows: Value, points: Points) -> Value:
    return cross(kernel.k1, rows, points) + cross(kernel.k2, rows, points)


@diagonal.register
def _(kernel: gp.Sum, rows: Value) -> Any:
    return diagonal(kernel.k1, rows) + diagonal(kernel.k2, rows)


@_cross.register
def _(kernel: gp.Product, rows: Value, points: Points) -> Value:
    return cross(kernel.k1, rows, points) * cross(kernel.k2, rows, points)


@diagonal.register
def _(kernel: gp.Product, rows: Value) -> Any:
    return diagonal(kernel.k1, rows) * diagonal(kernel.k2, rows)


@_cross.register
def _(kernel: gp.Exponentiation, rows: Value, points: Points) -> Value:
    return node("Pow", cross(kernel.kernel, rows, points), float(kernel.exponent))


@diagonal.register
def _(kernel: gp.Exponentiation, rows: Value) -> Any:
    own = diagonal(kernel.kernel, rows)
    exponent = float(kernel.exponent)
    return node("Pow", own, exponent) if isinstance(own, Value) else own**exponent


def _minus_half_squares(kernel: Any, rows: Value, points: Points) -> Value:
    """Return -½|a_i - b_j|² in units of the length scales."""
    scales = np.broadcast_to(np.asarray(kernel.length_scale, dtype=float), points.all.shape[1:]).copy()
    return minus_half_squares(filled(0.0, rows, points), rows / scales, points.value / scales)
