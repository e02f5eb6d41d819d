"""What the paper's claims are about, in numbers by name: functions of findings that ``paper.toml`` refers to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from marginwise._arrays import Array
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import n_test
from marginwise.study.paper.findings import Findings, NoTrialsError
from marginwise.study.paper.numbers import DATASETS, EARLY, EVIDENCE, SIMPLE, PaperColumn
from marginwise.study.paper.optima import Scan
from marginwise.study.paper.settings import HMC, MAXIMISED, SCANNED_SMOOTHING, SMOOTHED, nearest
from marginwise.study.report.summary import counted_error

Values = dict[str, float]

_LE1, _LE2, _GACV, _SPAN = SIMPLE

#: "Large values of k0"; one bin of the paper's histograms, in %; ascents from one start that show how they are spread.
_LARGE_K0, _BIN, _REPEATS = 100.0, 2.0, 3


def _by_set(value: Callable[[str], float], datasets: Iterable[str] = DATASETS) -> Values:
    return {DATASETS[dataset]: value(dataset) for dataset in datasets}


def _by_cell(value: Callable[[str, PaperColumn], float]) -> Values:
    """Return a number for each of the 20 cells (data set, simple criterion)."""
    return {f"{DATASETS[dataset]}, {column.label}": value(dataset, column) for dataset in DATASETS for column in SIMPLE}


def _scans(findings: Findings, dataset: str, method: str) -> list[Scan]:
    found = [scan for scan in findings.scans if (scan.dataset, scan.method) == (dataset, method)]
    if not found:
        raise NoTrialsError(f"no two trials of {method} with the same data on {DATASETS[dataset]}")
    return found


def separate_pairs(findings: Findings) -> Values:
    """Return how many pairs of converged ends are separate optima."""
    converged = findings.thorough()
    return _by_cell(lambda d, column: sum(scan.separate for scan in _scans(converged, d, column.method)))


def share_separate(findings: Findings) -> Values:
    """Return for which share of pairs of converged ends the criterion gets worse in between."""
    converged = findings.thorough()
    scans = [scan for dataset in DATASETS for column in SIMPLE for scan in _scans(converged, dataset, column.method)]
    return {f"{sum(scan.separate for scan in scans)} of {len(scans)},": float(np.mean([s.separate for s in scans]))}


def separate_evidence_pairs(findings: Findings) -> Values:
    """Return how many pairs of ends of ascents, and of quasi-Newton if it was run, are separate optima."""

    def count(dataset: str) -> float:
        newton = [scan for scan in findings.scans if (scan.dataset, scan.method) == (dataset, MAXIMISED)]
        return sum(scan.separate for scan in [*_scans(findings, dataset, EVIDENCE.method), *newton])

    return _by_set(count)


def spread_of_ends(findings: Findings) -> Values:
    """Return standard deviation over mean of the final hyperparameters, the median over those that moved."""

    def ratio(dataset: str, column: PaperColumn) -> float:
        ends = _ends(findings, dataset, column.method, least=2)
        moved = ends[:, np.ptp(ends, axis=0) > 0]
        ratios = moved.std(axis=0, ddof=1) / moved.mean(axis=0)
        return float(np.median(ratios)) if ratios.size else 0.0

    return _by_cell(ratio)


def correlation_with_error(findings: Findings) -> Values:
    """Return the median rank correlation of the Laplace evidence with the test error along walks."""
    return _path_medians(findings, _LE1, "error")


def correlation_with_gacv(findings: Findings) -> Values:
    """Return the same with the GACV."""
    return _path_medians(findings, _LE1, "gacv")


def correlation_with_span(findings: Findings) -> Values:
    """Return the same with the span estimate, for quadratic slack."""
    return _path_medians(findings, _LE2, "span")


def _path_medians(findings: Findings, column: PaperColumn, name: str) -> Values:
    return _by_set(lambda d: float(np.median(_facts(findings, d, column.method, f"score_{name}_correlation"))))


def _facts(findings: Findings, dataset: str, method: str, name: str) -> list[float]:
    """Return a number that the paths of trials tell."""
    found = [row.extra[name] for row in findings.trials.done(dataset, method) if name in row.extra]
    if not found:
        raise NoTrialsError(f"no path of {method} on {DATASETS[dataset]}")
    return found


def moved_by_smoothing(findings: Findings) -> Values:
    """Return by how many of the paper's standard deviations other smoothing parameters move the mean."""
    columns = {column.method: column for column in SIMPLE}
    compared = {name: (method, columns[method]) for name, method in SMOOTHED.items()}
    compared |= {name: (nearest(_SPAN.method), _SPAN) for name in SCANNED_SMOOTHING if "c2" in name}
    found = {}
    for name, (method, column) in compared.items():
        for dataset, label in DATASETS.items():
            there = findings.varied.sample(dataset, name).mean
            here = findings.thorough().trials.sample(dataset, method).mean
            if there is None or here is None:
                raise NoTrialsError(f"no {name} on {label}")
            sd = paper.ERRORS[dataset][paper.COLUMNS.index(column)][1]
            found[f"{label}, {name}: {there:.1f}, was {here:.1f}"] = abs(there - here) / sd
    return found


def large_k0_ratios(findings: Findings) -> Values:
    """Return how many times as often LE1 and LE2 as GACV and Span end at a large k0."""

    def share(column: PaperColumn) -> float:
        # GACV and span depend on C·k0 alone; their C is 1.
        ends = np.concatenate([_ends(findings, dataset, column.method)[:, 1] for dataset in DATASETS])
        return float(np.mean(ends >= _LARGE_K0))

    shares = {column: share(column) for column in SIMPLE}
    return {
        f"{one.label} {shares[one]:.0%} over {other.label} {shares[other]:.0%}:": shares[one] / max(shares[other], 1e-3)
        for one in (_LE1, _LE2)
        for other in (_GACV, _SPAN)
    }


def final_k0(findings: Findings) -> Values:
    """Return the least median k0 of the sets where it is to be large over the greatest of the others; the mean."""
    medians = {dataset: _median_end(findings, dataset, 1) for dataset in DATASETS}
    large, small = (
        min(medians[d] for d in ("twonorm", "crabs", "wdbc")),
        max(medians[d] for d in ("pima", "ringnorm")),
    )
    mean = float(_ends(findings, "twonorm", EVIDENCE.method)[:, 1].mean())
    told = ", ".join(f"{DATASETS[dataset]} {value:.3g}" for dataset, value in medians.items())
    return {f"Medians {told}; least large over greatest small": large / small, K0_KEY: mean / 180.0}


#: What ``paper.toml`` calls the second number of :func:`final_k0`.
K0_KEY = "mean on Twonorm over the paper's 180"


def final_koff(findings: Findings) -> Values:
    """Return the median koff at the ends of ascents."""
    return _by_set(lambda dataset: _median_end(findings, dataset, 2))


def _median_end(findings: Findings, dataset: str, place: int) -> float:
    return float(np.median(_ends(findings, dataset, EVIDENCE.method)[:, place]))


def _ends(findings: Findings, dataset: str, method: str, least: int = 1) -> Array:
    ends = findings.trials.hyperparameters(dataset, method)
    if len(ends) < least:
        raise NoTrialsError(f"fewer than {least} of {method} on {DATASETS[dataset]}")
    return ends


def steps(findings: Findings) -> Values:
    """Return the median number of steps of ascents."""
    return _by_set(lambda d: float(np.median(findings.field(d, EVIDENCE.method, "evaluations").values)))


def rise_and_fall(findings: Findings) -> Values:
    """Return the share of ascents whose gradient has its peak after the start and is at most half of it at the end."""

    def share(dataset: str) -> float:
        place, last = (_facts(findings, dataset, EVIDENCE.method, name) for name in ("peak_place", "last_gradient"))
        return float(np.mean((np.array(place) > 0) & (np.array(last) <= 0.5)))

    return _by_set(share)


def noise_of_ends(findings: Findings) -> Values:
    """Return the spread of ends in ln λ from one start, by the paper's sampler, over that from random starts."""

    def ratio(dataset: str) -> float:
        same = _ends(findings, dataset, HMC, least=_REPEATS)
        noise, starts = (
            np.log(found).std(axis=0, ddof=1) for found in (same, _ends(findings, dataset, EVIDENCE.method, least=2))
        )
        return float(np.median(noise / np.maximum(starts, 1e-12)))

    return _by_set(ratio)


def step_ratios(findings: Findings) -> Values:
    """Return the time of a step of ascent over that of the slowest simple criterion."""

    def seconds(dataset: str, column: PaperColumn) -> float:
        return float(np.mean(findings.field(dataset, column.method, "step_seconds").values))

    return _by_set(lambda d: seconds(d, EVIDENCE) / max(seconds(d, column) for column in SIMPLE))


def near_best(findings: Findings) -> Values:
    """Return for each criterion the share of trials near the best of any method, over all sets; the least cell's."""
    shares: dict[str, list[float]] = {column.label: [] for column in SIMPLE}
    for dataset in DATASETS:
        best = min(min(findings.sample(dataset, column).values) for column in (*SIMPLE, EVIDENCE))
        for column in SIMPLE:
            errors = np.array(findings.sample(dataset, column).values)
            shares[column.label].append(float(np.mean(errors <= best + _BIN + 1e-9)))
    least = min(min(found) for found in shares.values())
    return {**{label: float(np.mean(found)) for label, found in shares.items()}, "least of any cell": least}


def poor_le1(findings: Findings) -> Values:
    """Return the share of LE1 trials on Twonorm whose error is greater than any of previous work by a bin."""
    limit = max(error for error in paper.PREVIOUS["twonorm"] if error is not None) + _BIN
    return {"LE1": float(np.mean(np.array(findings.sample("twonorm", _LE1).values) > limit))}


def above_previous_on_pima(findings: Findings) -> Values:
    """Return by how much the means on Pima are above the best of previous work."""
    return {column.label: findings.mean("pima", column) - paper.best_previous("pima") for column in SIMPLE}


def evidence_above_estimates_on_pima(findings: Findings) -> Values:
    """Return by how much the means of LE1 and LE2 are above those of GACV and Span."""
    return _evidence_above_estimates(findings, "pima")


def evidence_above_estimates_on_wdbc(findings: Findings) -> Values:
    """Return the same on WDBC."""
    return _evidence_above_estimates(findings, "wdbc")


def _evidence_above_estimates(findings: Findings, dataset: str) -> Values:
    return {
        f"{one.label} − {other.label}": findings.mean(dataset, one) - findings.mean(dataset, other)
        for one in (_LE1, _LE2)
        for other in (_GACV, _SPAN)
    }


def best_and_average(findings: Findings) -> Values:
    """Return in how many cells the best trial reaches the best of previous work, and in how many the mean misses it."""

    def reaches(dataset: str, error: float) -> bool:
        previous, points = paper.best_previous(dataset), n_test(findings.trials, dataset)
        return error <= previous + 2 * float(np.hypot(counted_error(previous, points), counted_error(error, points)))

    best = _by_cell(lambda dataset, column: reaches(dataset, min(findings.sample(dataset, column).values)))
    mean = _by_cell(lambda dataset, column: not reaches(dataset, findings.mean(dataset, column)))
    return {"cells whose best trial reaches it": sum(best.values()), "cells whose mean misses it": sum(mean.values())}


def less_variable(findings: Findings) -> Values:
    """Return by how much the standard deviation of evidence ascent is smaller than that of each criterion."""
    return _by_cell(lambda dataset, column: findings.sd(dataset, column) - findings.sd(dataset, EVIDENCE))


def lower(findings: Findings) -> Values:
    """Return by how much the mean of evidence ascent is lower than that of each criterion."""
    return _by_cell(lambda dataset, column: findings.mean(dataset, column) - findings.mean(dataset, EVIDENCE))


def over_previous(findings: Findings) -> Values:
    """Return the mean of evidence ascent over the best of previous work."""
    return _by_set(lambda dataset: findings.mean(dataset, EVIDENCE) / paper.best_previous(dataset))


def below_variational(findings: Findings) -> Values:
    """Return by how much the mean of evidence ascent is below that of the variational SVM."""
    return _by_set(
        lambda dataset: (
            float(np.mean(findings.field(dataset, "svm-variational").values)) - findings.mean(dataset, EVIDENCE)
        )
    )


def gain_of_stopping(findings: Findings) -> Values:
    """Return by how many standard errors the error is lower where an independent validation set stops the ascent."""

    def gain(dataset: str) -> float:
        mean, error = _stopping(findings, dataset)
        return mean / error if error else np.sign(mean) * np.inf if mean else 0.0

    return _by_set(gain)


def stopping_between(findings: Findings) -> Values:
    """Return how far within the least error along the ascent and the last, plus a standard error, the validated is."""

    def inside(dataset: str) -> float:
        oracle, last = findings.mean(dataset, EARLY), findings.mean(dataset, EVIDENCE)
        gain, error = _stopping(findings, dataset)
        return min(last - gain - oracle, gain + error)

    return _by_set(inside)


def _stopping(findings: Findings, dataset: str) -> tuple[float, float]:
    """Return by how much, in %, ascents are better if a validation set stops them, and the standard error of that."""
    rows = findings.trials.done(dataset, EVIDENCE.method)
    known = [(row.test_error, row.early_error) for row in rows]
    gains = [100 * (last - early) for last, early in known if last is not None and early is not None]
    if not gains:
        raise NoTrialsError(f"no {EVIDENCE.method} with a validation set on {DATASETS[dataset]}")
    error = float(np.std(gains, ddof=1)) / np.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return float(np.mean(gains)), error


def gain_of_voting(findings: Findings) -> Values:
    """Return by how much the majority of the ends of a criterion's walks is better than they are on average."""
    gains = {(vote.dataset, vote.method): vote.gain for vote in findings.votes}

    def gain(dataset: str, column: PaperColumn) -> float:
        if (dataset, column.method) not in gains:
            raise NoTrialsError(f"no two trials of {column.method} with the same data on {DATASETS[dataset]}")
        return gains[dataset, column.method]

    return _by_cell(gain)


def paired_against_tuned(findings: Findings) -> Values:
    """Return the difference of errors on the same test rows, in its standard errors, by posterior and by SVM."""
    pairs = {(pair.dataset, pair.predicted): pair for pair in findings.pairs if pair.method == EVIDENCE.method}
    found = {}
    for dataset, label in DATASETS.items():
        for predicted in ("posterior", "svm"):
            if (dataset, predicted) not in pairs:
                raise NoTrialsError(f"no predictions of tuned-svc and {EVIDENCE.method} on {label}")
            found[f"{label} ({predicted})"] = pairs[dataset, predicted].in_standard_errors
    return found


#: The same numbers in the paper's own tables, where these have them.
PUBLISHED: Mapping[str, Values] = {
    "step_ratios": _by_set(lambda dataset: paper.SECONDS[dataset][5] / max(paper.SECONDS[dataset][1:5]))
}
