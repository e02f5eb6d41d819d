"""Predictions from the JSON of ``marginwise.export.to_json`` by NumPy and Φ alone, written from its documentation."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtr

#: Nodes and weights of an integral from -1 to 1.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)


def proba(numbers: dict[str, Any], row: list[Any]) -> np.ndarray:
    """Return class probabilities of a row of cells, None where they are missing."""
    found = np.mean([_proba(numbers, _inputs(numbers, cells)) for cells in filled(numbers, row)], axis=0)
    weighted = found * numbers.get("importance", 1.0)
    return weighted / weighted.sum()


def decision(numbers: dict[str, Any], row: list[Any]) -> np.ndarray:
    """Return the latent functions of all pairs of classes of an SVM."""
    return np.mean([_pairs(numbers["svm"], _inputs(numbers, cells)) for cells in filled(numbers, row)], axis=0)


def filled(numbers: dict[str, Any], row: list[Any]) -> list[list[Any]]:
    """Return the row with gaps filled by donors, where training had none."""
    columns = numbers["columns"]
    open_ = [
        cell is None and "inputs" not in column and column["gap"] is None
        for cell, column in zip(row, columns, strict=True)
    ]
    if not any(open_):
        return [row]
    return [
        [given if gap else cell for cell, given, gap in zip(row, donor, open_, strict=True)]
        for donor in numbers["donors"]
    ]


def _inputs(numbers: dict[str, Any], row: list[Any]) -> np.ndarray:
    parts = []
    for cell, column in zip(row, numbers["columns"], strict=True):
        if "inputs" in column:
            values = column["values"]
            place = len(values) + 1 if cell is None else values.index(cell) if cell in values else len(values)
            parts.append(column["inputs"][place])
        elif cell is None:
            parts.append(column["gap"])
        else:
            scaled = (cell / column["unit"] - column["centre"]) / column["spread"]
            parts.append([scaled] if column["gap"] is None else [scaled, 0.0])
    return np.concatenate(parts)


def _seen(view: dict[str, Any] | None, x: np.ndarray) -> np.ndarray:
    if view is None:
        return x
    if view["type"] == "selection":
        return x[view["inputs"]] * view["scales"]
    shown = []
    for value, knots, scores in zip(x, view["knots"], view["scores"], strict=True):
        shown.append(np.interp(value, knots, scores) + value - np.clip(value, knots[0], knots[-1]))
    return np.array(shown)


def _kernel(terms: list[dict[str, Any]], x: np.ndarray, z: np.ndarray) -> np.ndarray:
    total = np.zeros(len(z))
    for term in terms:
        if term["type"] == "Constant":
            total += term["amplitude"]
        elif term["type"] == "Linear":
            total += z @ (np.array(term["weights"]) * x)
        elif term["type"] == "AdditiveLaplacian":
            for c, weight in enumerate(term["weights"]):
                own = np.array(term["columns"]) == c
                total += weight * np.exp(-np.abs(z - x)[:, own].sum(axis=1) / term["length_scale"])
        else:
            power = 2 if term["type"] == "RBF" else 1
            distance = (np.abs((z - x) / term["length_scales"]) ** power).sum(axis=1) / power
            total += term["amplitude"] * np.exp(-distance)
    return total


def _linked(link: dict[str, Any], mean: np.ndarray, variance: float) -> np.ndarray:
    if link["type"] == "softmax":
        z = np.exp(link["steepness"] * (mean + link["offset"]) / np.sqrt(1.0 + link["widening"] * variance))
        return (1.0 - link["floor"]) * z / z.sum() + link["floor"] / len(z)
    if link["type"] == "thresholds":
        z = (np.array(link["thresholds"]) - link["steepness"] * mean) / np.sqrt(1.0 + link["widening"] * variance)
        p = np.diff(np.concatenate([[0.0], ndtr(z), [1.0]]))
        return (1.0 - link["floor"]) * p[np.argsort(link["order"])] + link["floor"] / len(p)
    z = np.array([_average(link, sign * mean[0], np.sqrt(variance)) for sign in (-1.0, 1.0)])
    return z / z.sum()


def _average(link: dict[str, Any], mean: float, deviation: float) -> float:
    """Return the average of exp[-C l(f)] over f ~ N(mean, deviation²), by parts on both sides of the corner."""
    low, high = min(mean - 12.0 * deviation, 1.0), max(mean + 12.0 * deviation, 1.0)
    total = 0.0
    for start, stop in ((low, 1.0), (1.0, high)):
        f = 0.5 * (start + stop) + 0.5 * (stop - start) * _NODES
        density = np.exp(-0.5 * ((f - mean) / deviation) ** 2)
        total += 0.5 * (stop - start) * (_WEIGHTS @ (density * np.exp(-link["C"] * _loss(link, f))))
    return total


def _loss(link: dict[str, Any], margin: np.ndarray) -> np.ndarray:
    return np.maximum(0.0, 1.0 - margin) ** link["power"] / link["power"]


def _proba(numbers: dict[str, Any], x: np.ndarray) -> np.ndarray:
    if "svm" in numbers:
        return _svm_proba(numbers, x)
    mixture = np.zeros(len(numbers["classes"]))
    for member in numbers["members"]:
        own = _seen(member["view"], x)
        k = _kernel(member["kernel"], own, np.array(member["points"]))
        image = k @ np.array(member.get("gain") or member["factor"])
        explained = image @ k if "gain" in member else image @ image
        variance = _kernel(member["kernel"], own, own[None])[0] - explained
        mixture += member["weight"] * _linked(member["link"], k @ np.array(member["coefficients"]), variance)
    if numbers["calibration"] is not None:
        odds, becomes = numbers["calibration"]["odds"], numbers["calibration"]["becomes"]
        own = np.log(mixture[1] / mixture[0])
        own = np.interp(own, odds, becomes) + own - np.clip(own, odds[0], odds[-1])
        mixture = np.array([1.0 / (1.0 + np.exp(own)), 1.0 / (1.0 + np.exp(-own))])
    return mixture


def _pairs(svm: dict[str, Any], x: np.ndarray) -> np.ndarray:
    own = _seen(svm.get("view"), x)
    return _kernel(svm["kernel"], own, np.array(svm["points"])) @ np.array(svm["coefficients"])


def _svm_proba(numbers: dict[str, Any], x: np.ndarray) -> np.ndarray:
    """Return probabilities of the pairs, coupled by equations (Wu, Lin & Weng 2004)."""
    link, latent = numbers["svm"]["link"], _pairs(numbers["svm"], x)
    second = 1.0 / (1.0 + np.exp(link["C"] * (_loss(link, latent) - _loss(link, -latent))))
    size = len(numbers["classes"])
    r = np.zeros((size, size))
    for (i, j), p in zip(combinations(range(size), 2), second, strict=True):
        r[i, j], r[j, i] = 1.0 - p, p
    if size == 2:
        return r[[0, 1], [1, 0]]
    Q = np.diag((r**2).sum(axis=0)) - r * r.T
    solved = np.linalg.solve(
        np.block([[Q, np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]]), [0] * size + [1]
    )
    return solved[:-1]
