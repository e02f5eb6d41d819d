"""What the paper's claims are about, in numbers by name: functions of findings that ``paper.toml`` refers to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from itertools import product

import numpy as np

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import n_test
from marginwise.study.paper.findings import Findings, NoTrialsError
from marginwise.study.paper.numbers import DATASETS, EARLY, EVIDENCE, SIMPLE, PaperColumn
from marginwise.study.paper.settings import HMC, MAXIMISED, SCANNED_SMOOTHING, SMOOTHED, nearest
from marginwise.study.report.summary import counted_error

Values = dict[str, float]
Measure = Callable[..., Values]

#: "Large values of k0"; one bin of the paper's histograms, in %; ascents from one start that show how they are spread.
_LARGE_K0, _BIN, _REPEATS = 100.0, 2.0, 3

#: Each approximation of the evidence with each estimate of the error.
_PAIRS = tuple(product(SIMPLE[:2], SIMPLE[2:]))


def _by_set(value: Callable[..., float]) -> Measure:
    """Make a measure of what is a number for each data set."""

    @wraps(value)
    def measure(findings: Findings, *of: str) -> Values:
        return {label: value(findings, dataset, *of) for dataset, label in DATASETS.items()}

    return measure


def _by_cell(value: Callable[[Findings, str, PaperColumn], float]) -> Measure:
    """Make a measure of what is a number for each of the 20 cells: data set, simple criterion."""

    @wraps(value)
    def measure(findings: Findings) -> Values:
        cells = product(DATASETS.items(), SIMPLE)
        return {f"{label}, {column.label}": value(findings, dataset, column) for (dataset, label), column in cells}

    return measure


@_by_cell
def separate_pairs(findings: Findings, dataset: str, column: PaperColumn) -> float:
    """Return how many pairs of converged ends are separate optima."""
    return sum(scan.separate for scan in findings.thorough().scanned(dataset, column.method))


def share_separate(findings: Findings) -> Values:
    """Return for which share of pairs of converged ends the criterion gets worse in between."""
    converged = findings.thorough()
    scans = [s for d, column in product(DATASETS, SIMPLE) for s in converged.scanned(d, column.method)]
    separate = sum(scan.separate for scan in scans)
    return {f"{separate} of {len(scans)},": separate / len(scans)}


@_by_set
def separate_evidence_pairs(findings: Findings, dataset: str) -> float:
    """Return how many pairs of ends of ascents, and of quasi-Newton if it was run, are separate optima."""
    newton = [scan for scan in findings.scans if (scan.dataset, scan.method) == (dataset, MAXIMISED)]
    return sum(scan.separate for scan in [*findings.scanned(dataset, EVIDENCE.method), *newton])


@_by_cell
def spread_of_ends(findings: Findings, dataset: str, column: PaperColumn) -> float:
    """Return standard deviation over mean of the final hyperparameters, the median over those that moved."""
    ends = findings.ends(dataset, column.method, least=2)
    moved = ends[:, np.ptp(ends, axis=0) > 0]
    ratios = moved.std(axis=0, ddof=1) / moved.mean(axis=0)
    return float(np.median(ratios)) if ratios.size else 0.0


@_by_set
def correlation(findings: Findings, dataset: str, method: str, other: str) -> float:
    """Return the median rank correlation of a walk's criterion with something else along its path."""
    return float(np.median(_told_by_paths(findings, dataset, method, f"score_{other}_correlation")))


def _told_by_paths(findings: Findings, dataset: str, method: str, name: str) -> np.ndarray:
    found = [row.extra[name] for row in findings.trials.done(dataset, method) if name in row.extra]
    if not found:
        raise NoTrialsError(f"no path of {method} on {DATASETS[dataset]}")
    return np.array(found)


def moved_by_smoothing(findings: Findings) -> Values:
    """Return by how many of the paper's standard deviations other smoothing parameters move the mean."""
    places = {column.method: place for place, column in enumerate(SIMPLE)}
    compared = {name: (one.walk, one.walk) for name, one in SMOOTHED.items()}
    compared |= {name: (one.walk, nearest(one.walk)) for name, one in SCANNED_SMOOTHING.items() if "c2" in name}
    found = {}
    for (name, (walk, usual)), (dataset, label) in product(compared.items(), DATASETS.items()):
        there, here = (float(np.mean(findings.thorough().sample(dataset, method).values)) for method in (name, usual))
        _, sd = paper.ERRORS[dataset][places[walk]]
        found[f"{label}, {name}: {there:.1f}, was {here:.1f}"] = abs(there - here) / sd
    return found


def large_k0_ratios(findings: Findings) -> Values:
    """Return how many times as often LE1 and LE2 as GACV and Span, which depend on C·k0 alone, end at a large k0."""
    ends = {c: np.concatenate([findings.ends(d, c.method)[:, 1] for d in DATASETS]) for c in SIMPLE}
    shares = {column: float(np.mean(k0 >= _LARGE_K0)) for column, k0 in ends.items()}
    return {
        f"{one.label} {shares[one]:.0%} over {other.label} {shares[other]:.0%}:": shares[one] / max(shares[other], 1e-3)
        for one, other in _PAIRS
    }


def final_k0(findings: Findings) -> Values:
    """Return the least median k0 of the sets where it is to be large over the greatest of the others; the mean."""
    ends = {dataset: findings.ends(dataset, EVIDENCE.method)[:, 1] for dataset in DATASETS}
    medians = {dataset: float(np.median(k0)) for dataset, k0 in ends.items()}
    large, small = min(medians[d] for d in ("twonorm", "crabs", "wdbc")), max(medians["pima"], medians["ringnorm"])
    told = ", ".join(f"{DATASETS[dataset]} {value:.3g}" for dataset, value in medians.items())
    mean = float(ends["twonorm"].mean())
    return {
        f"Medians {told}; least large over greatest small": large / small,
        "mean on Twonorm over the paper's 180": mean / 180.0,
    }


@_by_set
def final_koff(findings: Findings, dataset: str) -> float:
    """Return the median koff at the ends of ascents."""
    return float(np.median(findings.ends(dataset, EVIDENCE.method)[:, 2]))


@_by_set
def steps(findings: Findings, dataset: str) -> float:
    """Return the median number of steps of ascents."""
    return float(np.median(findings.sample(dataset, EVIDENCE.method, "evaluations").values))


@_by_set
def rise_and_fall(findings: Findings, dataset: str) -> float:
    """Return the share of ascents whose gradient has its peak after the start and is at most half of it at the end."""
    place, last = (_told_by_paths(findings, dataset, EVIDENCE.method, name) for name in ("peak_place", "last_gradient"))
    return float(np.mean((place > 0) & (last <= 0.5)))


@_by_set
def noise_of_ends(findings: Findings, dataset: str) -> float:
    """Return the spread of ends in ln λ from one start, by the paper's sampler, over that from random starts."""
    same, random = findings.ends(dataset, HMC, _REPEATS), findings.ends(dataset, EVIDENCE.method, 2)
    noise, starts = (np.log(ends).std(axis=0, ddof=1) for ends in (same, random))
    return float(np.median(noise / np.maximum(starts, 1e-12)))


@_by_set
def step_ratios(findings: Findings, dataset: str) -> float:
    """Return the time of a step of ascent over that of the slowest simple criterion."""
    *simple, ascent = (np.mean(findings.sample(dataset, c.method, "step_seconds").values) for c in paper.SEARCHED)
    return float(ascent / max(simple))


def near_best(findings: Findings) -> Values:
    """Return for each criterion the share of trials near the best of any method, over all sets; the least cell's."""
    shares: dict[str, list[float]] = {column.label: [] for column in SIMPLE}
    for dataset in DATASETS:
        errors = {column: np.array(findings.sample(dataset, column.method).values) for column in paper.SEARCHED}
        best = min(found.min() for found in errors.values())
        for column in SIMPLE:
            shares[column.label].append(float(np.mean(errors[column] <= best + _BIN + 1e-9)))
    means = {label: float(np.mean(found)) for label, found in shares.items()}
    return {**means, "least of any cell": min(map(min, shares.values()))}


def poor_le1(findings: Findings) -> Values:
    """Return the share of LE1 trials on Twonorm whose error is greater than any of previous work by a bin."""
    limit = max(error for error in paper.PREVIOUS["twonorm"] if error is not None) + _BIN
    return {"LE1": float(np.mean(np.array(findings.sample("twonorm", SIMPLE[0].method).values) > limit))}


def above_previous(findings: Findings, dataset: str) -> Values:
    """Return by how much the means of the simple criteria on a set are above the best of previous work."""
    return {column.label: findings.mean(dataset, column) - paper.best_previous(dataset) for column in SIMPLE}


def evidence_above_estimates(findings: Findings, dataset: str) -> Values:
    """Return by how much the means of LE1 and LE2 on a set are above those of GACV and Span."""
    mean = {column: findings.mean(dataset, column) for column in SIMPLE}
    return {f"{one.label} − {other.label}": mean[one] - mean[other] for one, other in _PAIRS}


def best_and_average(findings: Findings) -> Values:
    """Return in how many cells the best trial reaches the best of previous work, and in how many the mean misses it."""

    def reaches(dataset: str, error: float) -> bool:
        previous, points = paper.best_previous(dataset), n_test(findings.trials, dataset)
        return error <= previous + 2 * float(np.hypot(counted_error(previous, points), counted_error(error, points)))

    cells = list(product(DATASETS, SIMPLE))
    best = sum(reaches(d, min(findings.sample(d, column.method).values)) for d, column in cells)
    missed = sum(not reaches(d, findings.mean(d, column)) for d, column in cells)
    return {"cells whose best trial reaches it": best, "cells whose mean misses it": missed}


@_by_cell
def less_variable(findings: Findings, dataset: str, column: PaperColumn) -> float:
    """Return by how much the standard deviation of evidence ascent is smaller than that of each criterion."""
    return findings.sd(dataset, column) - findings.sd(dataset, EVIDENCE)


@_by_cell
def lower(findings: Findings, dataset: str, column: PaperColumn) -> float:
    """Return by how much the mean of evidence ascent is lower than that of each criterion."""
    return findings.mean(dataset, column) - findings.mean(dataset, EVIDENCE)


@_by_set
def over_previous(findings: Findings, dataset: str) -> float:
    """Return the mean of evidence ascent over the best of previous work."""
    return findings.mean(dataset, EVIDENCE) / paper.best_previous(dataset)


@_by_set
def below_variational(findings: Findings, dataset: str) -> float:
    """Return by how much the mean of evidence ascent is below that of the variational SVM."""
    return float(np.mean(findings.sample(dataset, "svm-variational").values)) - findings.mean(dataset, EVIDENCE)


@_by_set
def gain_of_stopping(findings: Findings, dataset: str) -> float:
    """Return by how many standard errors the error is lower where an independent validation set stops the ascent."""
    mean, error = stopping(findings, EVIDENCE.method, dataset)
    return mean / error if error else np.sign(mean) * np.inf if mean else 0.0


@_by_set
def stopping_between(findings: Findings, dataset: str) -> float:
    """Return how far within the least error along the ascent and the last, plus a standard error, the validated is."""
    oracle, last = findings.mean(dataset, EARLY), findings.mean(dataset, EVIDENCE)
    gain, error = stopping(findings, EVIDENCE.method, dataset)
    return min(last - gain - oracle, gain + error)


def stopping(findings: Findings, method: str, *datasets: str) -> tuple[float, float]:
    """Return by how much, in %, ascents are better if a validation set stops them, and the standard error of that."""
    rows = [row for dataset in datasets for row in findings.trials.done(dataset, method)]
    known = [(row.test_error, row.early_error) for row in rows]
    gains = [100 * (last - early) for last, early in known if last is not None and early is not None]
    if not gains:
        raise NoTrialsError(f"no {method} with a validation set on {', '.join(map(paper.label, datasets))}")
    error = float(np.std(gains, ddof=1)) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return float(np.mean(gains)), error


@_by_cell
def gain_of_voting(findings: Findings, dataset: str, column: PaperColumn) -> float:
    """Return by how much the majority of the ends of a criterion's walks is better than they are on average."""
    found = [vote.gain for vote in findings.votes if (vote.dataset, vote.method) == (dataset, column.method)]
    if not found:
        raise NoTrialsError(f"no two trials of {column.method} with the same data on {DATASETS[dataset]}")
    return found[0]


def paired_against_tuned(findings: Findings) -> Values:
    """Return the difference of errors on the same test rows, in its standard errors, by posterior and by SVM."""
    pairs = {(p.dataset, p.predicted): p.in_standard_errors for p in findings.pairs if p.method == EVIDENCE.method}
    wanted = {(dataset, by): f"{label} ({by})" for dataset, label in DATASETS.items() for by in ("posterior", "svm")}
    for (dataset, by), name in wanted.items():
        if (dataset, by) not in pairs:
            raise NoTrialsError(f"no predictions of tuned-svc and {EVIDENCE.method} on {name}")
    return {name: pairs[key] for key, name in wanted.items()}


#: The same numbers in the paper's own tables, where these have them.
PUBLISHED: Mapping[str, Values] = {
    "step_ratios": {label: paper.SECONDS[d][5] / max(paper.SECONDS[d][1:5]) for d, label in DATASETS.items()}
}
