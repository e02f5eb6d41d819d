"""The paper's claims about local optima, hyperparameters, and the cost of finding them."""

from __future__ import annotations

import numpy as np

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims.claim import Claim, Judgement, listed, per_dataset, verdict
from marginwise.study.paper.findings import Findings, NoTrialsError
from marginwise.study.paper.numbers import DATASETS, EVIDENCE, SIMPLE

#: Two numbers are of the same order of magnitude if their ratio is within this factor of 1.
_MAGNITUDE = float(np.sqrt(10.0))

#: "Very small" values of koff.
_SMALL_KOFF = 0.1

#: "By far the greatest run time": so many times the others.
_BY_FAR = 10.0


def _simple_optima(findings: Findings) -> Judgement:
    return _optima(findings, [column.method for column in SIMPLE])


def _evidence_optima(findings: Findings) -> Judgement:
    return _optima(findings, [EVIDENCE.method])


def _optima(findings: Findings, methods: list[str]) -> Judgement:
    scans = [scan for scan in findings.scans if scan.method in methods and scan.dataset in DATASETS]
    cells = {(scan.dataset, scan.method) for scan in scans}
    if not cells:
        raise NoTrialsError("no two trials on the same data")
    split = {(scan.dataset, scan.method) for scan in scans if scan.separate}
    labels = {column.method: column.label for column in paper.COLUMNS[:5]}
    joined = sorted(f"{DATASETS[dataset]}, {labels[method]}" for dataset, method in cells - split)
    return Judgement(
        verdict(split == cells, len(split) > len(cells) / 2),
        f"The criterion gets worse in between for {sum(scan.separate for scan in scans)} of {len(scans)} pairs of "
        f"ends, and for some pair in {len(split)} of {len(cells)} cells; for none in: {listed(joined)}.",
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


def _correlation(findings: Findings) -> Judgement:
    medians = {}
    for dataset in DATASETS:
        rows = findings.trials.done(dataset, "le1-walk")
        found = [row.extra["score_error_correlation"] for row in rows if "score_error_correlation" in row.extra]
        if not found:
            raise NoTrialsError(f"no path of le1-walk on {DATASETS[dataset]}")
        medians[dataset] = float(np.median(found))
    return Judgement(
        verdict(all(value < 0 for value in medians.values()), medians["twonorm"] < 0),
        "Rank correlation of the Laplace evidence with the test error along a walk, median over trials: "
        f"{per_dataset(medians)}.",
    )


def _large_k0(findings: Findings) -> Judgement:
    medians = _medians(findings, 1)
    large = min(medians[dataset] for dataset in ("twonorm", "crabs", "wdbc"))
    small = max(medians[dataset] for dataset in ("pima", "ringnorm"))
    mean = float(findings.trials.hyperparameters("twonorm", EVIDENCE.method)[:, 1].mean())
    return Judgement(
        verdict(large > small, medians["twonorm"] > medians["pima"]),
        f"Median k0: {per_dataset(medians, 3)}; mean on Twonorm {mean:.3g} (the paper: about 180).",
    )


def _small_koff(findings: Findings) -> Judgement:
    medians = _medians(findings, 2)
    small = sum(value <= _SMALL_KOFF for value in medians.values())
    return Judgement(
        verdict(small == 5, small >= 3),
        f"Median koff: {per_dataset(medians)} (the paper: around 0.03 on Twonorm).",
    )


def _medians(findings: Findings, place: int) -> dict[str, float]:
    medians = {}
    for dataset in DATASETS:
        ends = findings.trials.hyperparameters(dataset, EVIDENCE.method)
        if not len(ends):
            raise NoTrialsError(f"no {EVIDENCE.method} on {DATASETS[dataset]}")
        medians[dataset] = float(np.median(ends[:, place]))
    return medians


def _steps(findings: Findings) -> Judgement:
    medians = {}
    for dataset in DATASETS:
        median = findings.field(dataset, EVIDENCE.method, "evaluations").median
        assert median is not None
        medians[dataset] = median
    within = sum(40 <= value <= 80 for value in medians.values())
    return Judgement(verdict(within == 5, within >= 3), f"Median number of steps: {per_dataset(medians, 3)}.")


def _slowest(findings: Findings) -> Judgement:
    ratios, theirs = {}, {}
    for dataset in DATASETS:
        simple = [findings.trials.seconds_per_step(dataset, column.method) for column in SIMPLE]
        evidence = findings.trials.seconds_per_step(dataset, EVIDENCE.method)
        if evidence is None or None in simple:
            raise NoTrialsError(f"no times on {DATASETS[dataset]}")
        ratios[dataset] = evidence / max(seconds for seconds in simple if seconds is not None)
        theirs[dataset] = paper.SECONDS[dataset][5] / max(paper.SECONDS[dataset][1:5])
    right = sum(ratio > _BY_FAR for ratio in ratios.values())
    return Judgement(
        verdict(right == 5, right >= 3),
        f"A step of evidence ascent over one of the slowest simple criterion: {per_dataset(ratios)} (the paper: "
        f"{per_dataset(theirs)}).",
    )


_SIMPLE_SECTION, _ASCENT_SECTION = "Model selection using simple criteria", "Model selection using evidence gradients"

CLAIMS = (
    Claim(
        "Abstract; " + _SIMPLE_SECTION,
        "All simple criteria have multiple local optima: between the ends of two searches the criterion always "
        "deteriorates.",
        "Some pair of ends is separate in every cell (data set, criterion); in part if in more than half.",
        _simple_optima,
    ),
    Claim(
        "Abstract; " + _ASCENT_SECTION,
        "The exact evidence has local optima too.",
        "The same for evidence ascent, with the evidence by expectation propagation along the lines.",
        _evidence_optima,
    ),
    Claim(
        _SIMPLE_SECTION,
        "The spread of the final hyperparameters is always of the order of magnitude of their average.",
        "Ratio between 1/√10 and √10 in every cell; in part if in more than half.",
        _spread,
    ),
    Claim(
        _SIMPLE_SECTION,
        "Maximising the Laplace evidence goes along with reducing the test error.",
        "Negative rank correlation along the walks on all sets; in part if on Twonorm, the paper's example.",
        _correlation,
    ),
    Claim(
        _ASCENT_SECTION,
        "Evidence ascent finds large k0 on Twonorm, Crabs and WDBC, rather smaller ones on Pima and Ringnorm.",
        "Medians of the first three above those of the others; in part if Twonorm's is above Pima's.",
        _large_k0,
    ),
    Claim(
        _ASCENT_SECTION,
        "Evidence ascent typically tunes koff to very small values.",
        f"Median at most {_SMALL_KOFF:g} on all sets; in part if on three.",
        _small_koff,
    ),
    Claim(
        "Gradient ascent algorithm",
        "Typically between 40 and 80 steps of gradient ascent are needed.",
        "Median in this range on all sets; in part if on three.",
        _steps,
    ),
    Claim(
        "Computational effort",
        "Evidence ascent needs by far the greatest time.",
        f"A step takes more than {_BY_FAR:g} times one of the slowest simple criterion on all sets; in part if on "
        "three.",
        _slowest,
    ),
)
