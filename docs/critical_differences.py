"""Which classifiers of docs/comparison.csv differ by more than chance over distinct problems: tests and their diagram.

Friedman's test of all mean ranks, then Wilcoxon's signed-rank test of each pair with Holm's correction: Demšar (2006),
Statistical comparisons of classifiers over multiple data sets, JMLR 7; Benavoli et al. (2016), Should we really use
post-hoc tests based on mean-ranks?, JMLR 17. Sets of one problem are one observation: the mean of their differences.
``make_comparison.py`` draws it.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import chi2, wilcoxon

LEVEL = 0.05

#: measure → set → method → value.
Found = dict[str, dict[str, dict[str, float]]]


def friedman(mean_ranks: list[float], count: int) -> float:
    """Return the p-value that classifiers with these mean ranks are equal (Demšar 2006, section 3.2.2)."""
    k = len(mean_ranks)
    statistic = 12 * count / (k * (k + 1)) * (np.square(mean_ranks).sum() - k * (k + 1) ** 2 / 4)
    return float(chi2.sf(statistic, k - 1))


def holm(p_values: list[float]) -> list[float]:
    """Return p-values corrected for their number: the j-th smallest of m times m - j, and no less than those before."""
    order = np.argsort(p_values)
    raised = np.asarray(p_values)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return corrected.tolist()


def pairwise(by_set: dict[str, dict[str, float]], problem: dict[str, str]) -> dict[frozenset[str], float]:
    """Return the corrected p-value of each pair of methods."""
    pairs = list(combinations(next(iter(by_set.values())), 2))
    p_values = []
    for one, other in pairs:
        differences = defaultdict(list)
        for name, values in by_set.items():
            differences[problem[name]].append(values[one] - values[other])
        p_values.append(float(wilcoxon([np.mean(own) for own in differences.values()]).pvalue))
    return dict(zip(map(frozenset, pairs), holm(p_values), strict=True))


def differing(p_values: dict[frozenset[str], float], method: str) -> list[str]:
    """Return the methods that differ from this one."""
    return [other for pair, p in p_values.items() if method in pair and p < LEVEL for other in pair - {method}]


def groups(ranked: list[str], p_values: dict[frozenset[str], float]) -> list[list[str]]:
    """Return the largest groups of two or more classifiers of which no two differ, in the order of the ranks."""
    same = {frozenset(pair) for pair, p in p_values.items() if p >= LEVEL}
    found: list[list[str]] = []
    for size in range(len(ranked), 1, -1):
        for group in map(list, combinations(ranked, size)):
            if all(frozenset(pair) in same for pair in combinations(group, 2)):
                found += [group] if not any(set(group) <= set(larger) for larger in found) else []
    return found


def draw(
    ranks: dict[str, dict[str, float]],
    p_values: dict[str, dict[frozenset[str], float]],
    names: dict[str, str],
    path: Path,
) -> None:
    """Draw mean ranks by measure, a line for each classifier, and a stroke for each group that is the same."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    from marginwise.display import MUTED, SERIES, figure_style

    mpl.use("svg")
    mpl.rcParams.update(figure_style())
    figure, axes = plt.subplots(len(ranks), 1, figsize=(6.4, 2.8 * len(ranks)), layout="constrained")
    for ax, (measure, own) in zip(axes, ranks.items(), strict=True):
        ranked = sorted(own, key=own.__getitem__)
        count = len(ranked)
        for place, method in enumerate(ranked):
            ax.plot([own[method], count + 0.4], [place, place], color=MUTED, linewidth=0.6, zorder=0)
            ax.text(own[method] - 0.2, place, f"{own[method]:.1f}", ha="right", va="center", fontsize=8)
        ax.scatter([own[method] for method in ranked], range(count), color=SERIES[0], s=34)
        for column, group in enumerate(groups(ranked, p_values[measure])):
            places, x = [ranked.index(method) for method in group], count + 0.6 + 0.35 * column
            ax.plot([x] * len(places), places, color=SERIES[1], linewidth=2, marker="o", markersize=5)
        ax.set_yticks(range(count), [names[method] for method in ranked])
        ax.set_xticks(range(1, count + 1))
        ax.invert_yaxis()
        ax.set_xlim(1, None)
        ax.set_xlabel(f"mean rank in {measure}; a stroke joins those that do not differ significantly")
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
