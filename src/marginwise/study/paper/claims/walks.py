"""The paper's claims about the simple criteria: their local optima, hyperparameters and correlations."""

from __future__ import annotations

import numpy as np

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims.claim import (
    ASCENT_SECTION,
    SIMPLE_SECTION,
    Cells,
    Claim,
    Judgement,
    listed,
    per_dataset,
    split_cells,
    verdict,
)
from marginwise.study.paper.findings import Findings, NoTrialsError
from marginwise.study.paper.names import SMOOTHED
from marginwise.study.paper.numbers import DATASETS, SIMPLE

#: Two numbers are of the same order of magnitude if their ratio is within this factor of 1.
_MAGNITUDE = float(np.sqrt(10.0))

#: "Large values of k0".
_LARGE_K0 = 100.0

#: "Always": of all pairs, but for a few whose ends are the same optimum.
_ALWAYS = 0.95


def _simple_optima(findings: Findings) -> Judgement:
    cells, split, scans = split_cells(findings, [column.method for column in SIMPLE])
    shares = {
        column.label: f"{sum(method == column.method for _, method in split)} of "
        f"{sum(method == column.method for _, method in cells)}"
        for column in SIMPLE
    }
    every = all(any(method == column.method for _, method in split) for column in SIMPLE)
    pairs = min(sum((scan.dataset, scan.method) == cell for scan in scans) for cell in cells)
    return Judgement(
        verdict(every and len(split) > len(cells) / 2, bool(split)),
        f"Sets on which some of {pairs} pairs of ends are separate: "
        + ", ".join(f"{label} {share}" for label, share in shares.items())
        + f". For none in: {listed(_names(cells - split))}.",
    )


def _always_worse(findings: Findings) -> Judgement:
    _, _, scans = split_cells(findings, [column.method for column in SIMPLE])
    separate = sum(scan.separate for scan in scans)
    share = separate / len(scans)
    return Judgement(
        verdict(share >= _ALWAYS, share > 0.5),
        f"The criterion gets worse in between for {separate} of {len(scans)} random pairs of ends ({share:.0%}).",
    )


def _spread(findings: Findings) -> Judgement:
    ratios = {}
    for dataset, label in DATASETS.items():
        for column in SIMPLE:
            ends = findings.trials.hyperparameters(dataset, column.method)
            if len(ends) < 2:
                raise NoTrialsError(f"fewer than two of {column.method} on {label}")
            moved = ends[:, np.ptp(ends, axis=0) > 0]
            ratio = moved.std(axis=0, ddof=1) / moved.mean(axis=0)
            ratios[f"{label}, {column.label}"] = float(np.median(ratio)) if ratio.size else 0.0
    within = [cell for cell, ratio in ratios.items() if 1 / _MAGNITUDE <= ratio <= _MAGNITUDE]
    return Judgement(
        verdict(len(within) == len(ratios), len(within) > len(ratios) / 2),
        f"Standard deviation over mean, the median over hyperparameters: {min(ratios.values()):.2g} to "
        f"{max(ratios.values()):.2g}; of order 1 in {len(within)} of {len(ratios)} cells.",
    )


def _error_follows(findings: Findings) -> Judgement:
    medians = _correlations(findings, "le1-walk", "error")
    return Judgement(
        verdict(all(value < 0 for value in medians.values()), medians["twonorm"] < 0),
        f"Rank correlation of the Laplace evidence with the test error along a walk, median over trials: "
        f"{per_dataset(medians)}.",
    )


def _gacv_follows(findings: Findings) -> Judgement:
    return _estimate_follows(findings, "le1-walk", "gacv", "GACV")


def _span_follows(findings: Findings) -> Judgement:
    return _estimate_follows(findings, "le2-walk", "span", "span estimate")


def _estimate_follows(findings: Findings, method: str, name: str, label: str) -> Judgement:
    medians = _correlations(findings, method, name)
    falling = sum(value < 0 for value in medians.values())
    return Judgement(
        verdict(falling == len(medians), falling > len(medians) / 2),
        f"Rank correlation of the Laplace evidence with the {label} along a walk, median over trials: "
        f"{per_dataset(medians)}.",
    )


def _correlations(findings: Findings, method: str, name: str) -> dict[str, float]:
    return {
        dataset: _median(findings, dataset, method, f"score_{name}_correlation", f"path of {method}")
        for dataset in DATASETS
    }


def _smoothing(findings: Findings) -> Judgement:
    moved = []
    for name, method in SMOOTHED.items():
        for dataset, label in DATASETS.items():
            there, here = findings.varied.sample(dataset, name).mean, findings.thorough_mean(dataset, method)
            if there is None or here is None:
                raise NoTrialsError(f"no {name} on {label}")
            column = next(column for column in SIMPLE if column.method == method)
            sd = paper.ERRORS[dataset][paper.COLUMNS.index(column)][1]
            moved.append((abs(there - here) / sd, f"{label}, {name} ({there:.1f}, was {here:.1f})"))
    within = sum(ratio <= 1 for ratio, _ in moved)
    return Judgement(
        verdict(within == len(moved), within >= 0.75 * len(moved)),
        f"With a, c1 and η two or three times as large or small the mean moves by at most one of the paper's standard "
        f"deviations in {within} of {len(moved)} cells; more in: {listed(name for ratio, name in moved if ratio > 1)}.",
    )


def _large_amplitudes(findings: Findings) -> Judgement:
    shares = {}
    for column in SIMPLE:
        ends = [findings.trials.hyperparameters(dataset, column.method) for dataset in DATASETS]
        if not all(len(found) for found in ends):
            raise NoTrialsError(f"no {column.method} on some set")
        # GACV and span depend on C·k0 alone; their C is 1.
        shares[column.label] = float(np.mean([share for found in ends for share in found[:, 1] >= _LARGE_K0]))
    evidence, estimates = (shares["LE1"], shares["LE2"]), (shares["GACV"], shares["Span"])
    return Judgement(
        verdict(min(evidence) > 2 * max(estimates), sum(evidence) > sum(estimates)),
        f"Ends with k0 of {_LARGE_K0:g} or more: "
        f"{', '.join(f'{label} {share:.0%}' for label, share in shares.items())}.",
    )


def _names(cells: Cells) -> list[str]:
    labels = {column.method: column.label for column in paper.COLUMNS[:5]}
    return sorted(f"{DATASETS[dataset]}, {labels[method]}" for dataset, method in cells)


def _median(findings: Findings, dataset: str, method: str, fact: str, what: str) -> float:
    """Return the median over trials of a number that their paths tell."""
    found = [row.extra[fact] for row in findings.trials.done(dataset, method) if fact in row.extra]
    if not found:
        raise NoTrialsError(f"no {what} on {DATASETS[dataset]}")
    return float(np.median(found))


CLAIMS = (
    Claim(
        "Abstract; " + SIMPLE_SECTION,
        "All simple criteria have multiple local optima.",
        "Every criterion has ends with a barrier between them on some set, and more than half of the 20 cells (data "
        "set, criterion) have; in part if some cell has.",
        _simple_optima,
    ),
    Claim(
        SIMPLE_SECTION,
        "The criteria always deteriorated in between the points found by the search.",
        f"For {_ALWAYS:.0%} of random pairs of ends; in part if for more than half.",
        _always_worse,
    ),
    Claim(
        SIMPLE_SECTION,
        "The spread of the final hyperparameters is always of the order of magnitude of their average.",
        "Ratio between 1/√10 and √10 in every cell; in part if in more than half.",
        _spread,
    ),
    Claim(
        SIMPLE_SECTION,
        "Maximising the Laplace evidence goes along with reducing the test error.",
        "Negative rank correlation along the walks on all sets; in part if on Twonorm, the paper's example.",
        _error_follows,
    ),
    Claim(
        SIMPLE_SECTION,
        "Maximising the evidence generally reduces the GACV.",
        "Negative rank correlation along the walks on all sets; in part if on three.",
        _gacv_follows,
    ),
    Claim(
        SIMPLE_SECTION,
        "For quadratic slack, the Laplace evidence and the span estimate have the same correlation.",
        "Negative rank correlation along the walks on all sets; in part if on three.",
        _span_follows,
    ),
    Claim(
        "Optimization of “simple” model selection criteria",
        "The results do not depend strongly on the smoothing parameters a, c1, c2 and η.",
        "With a and η three times as large or small and c1 twice, thorough walks, the mean moves by at most one of the "
        "paper's standard deviations in all cells; in part if in three quarters. c2 = 0 is not varied.",
        _smoothing,
    ),
    Claim(
        ASCENT_SECTION,
        "Large k0 were also found with the approximate evidence, but were much less common with the error estimates.",
        f"k0 of {_LARGE_K0:g} or more in more than twice as many ends of LE1 and of LE2, over all sets, as of GACV and "
        "of Span; in part if in more.",
        _large_amplitudes,
    ),
)
