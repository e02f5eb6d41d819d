"""Shapley values by their definition: the sum over all coalitions."""

from __future__ import annotations

import itertools
import math

import numpy as np


def enumerated(value, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Shapley values (d, …) and pair interactions (d, d, …) of a game, from their definitions."""
    v = {mask: value(np.array(mask, dtype=bool)) for mask in itertools.product((False, True), repeat=d)}
    first = np.zeros((d, *np.shape(v[(True,) * d])))
    pairs = np.zeros((d, *first.shape))
    for mask in v:
        for j in range(d):
            if mask[j]:
                continue
            with_j = tuple(flag or h == j for h, flag in enumerate(mask))
            weight = math.factorial(sum(mask)) * math.factorial(d - sum(mask) - 1) / math.factorial(d)
            first[j] += weight * (v[with_j] - v[mask])
            for k in range(d):
                if k != j and not mask[k]:
                    with_k, both = (tuple(f or h == k for h, f in enumerate(m)) for m in (mask, with_j))
                    half = math.factorial(sum(mask)) * math.factorial(d - sum(mask) - 2) / math.factorial(d - 1)
                    pairs[j, k] += half * (v[both] - v[with_j] - v[with_k] + v[mask])
    return first, pairs
