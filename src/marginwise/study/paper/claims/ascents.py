"""The paper's claims about ascents of the exact evidence: their optima, hyperparameters, course and cost."""

from __future__ import annotations

import numpy as np

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims.claim import (
    ASCENT_SECTION,
    Claim,
    Judgement,
    listed,
    per_dataset,
    split_cells,
    verdict,
)
from marginwise.study.paper.findings import Findings, NoTrialsError
from marginwise.study.paper.names import REPEATED
from marginwise.study.paper.numbers import DATASETS, EVIDENCE, SIMPLE
from marginwise.study.paper.optima import MAXIMISED

#: The mean k0 of the paper's ascents on Twonorm, and the factor within which another is of the same order.
_TWONORM_K0, _MAGNITUDE = 180.0, float(np.sqrt(10.0))

#: "Practically deterministic": noise moves the ends by at most so much of what the starts do.
_NEARLY = 0.1

#: "Very small" values of koff.
_SMALL_KOFF = 0.1

#: "By far the greatest run time": so many times the others.
_BY_FAR = 10.0


def _evidence_optima(findings: Findings) -> Judgement:
    _, ascents, scans = split_cells(findings, [EVIDENCE.method])
    _, searches, more = split_cells(findings, [EVIDENCE.method, MAXIMISED])
    sets = {dataset for dataset, _ in ascents | searches}
    return Judgement(
        verdict(len(sets) >= 3, bool(sets)),
        f"The evidence gets worse in between for {sum(scan.separate for scan in scans)} of {len(scans)} pairs of ends "
        f"of ascents, and for {sum(scan.separate for scan in more if scan.method == MAXIMISED)} of "
        f"{sum(scan.method == MAXIMISED for scan in more)} pairs of ends of quasi-Newton; for some pair on "
        f"{listed(sorted(DATASETS[dataset] for dataset in sets))}.",
    )


def _large_k0(findings: Findings) -> Judgement:
    medians = _medians(findings, 1)
    large = min(medians[dataset] for dataset in ("twonorm", "crabs", "wdbc"))
    small = max(medians[dataset] for dataset in ("pima", "ringnorm"))
    mean = float(findings.trials.hyperparameters("twonorm", EVIDENCE.method)[:, 1].mean())
    near = 1 / _MAGNITUDE <= mean / _TWONORM_K0 <= _MAGNITUDE
    return Judgement(
        verdict(large > small and near, large > small or near),
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


def _rise_and_fall(findings: Findings) -> Judgement:
    shares = {}
    for dataset, label in DATASETS.items():
        rows = [row for row in findings.trials.done(dataset, EVIDENCE.method) if "peak_place" in row.extra]
        if not rows:
            raise NoTrialsError(f"no path of {EVIDENCE.method} on {label}")
        shares[dataset] = float(
            np.mean([row.extra["peak_place"] > 0 and row.extra["last_gradient"] <= 0.5 for row in rows])
        )
    most = sum(share >= 0.5 for share in shares.values())
    return Judgement(
        verdict(most == 5, most >= 3),
        f"Share of ascents whose gradient has its peak after the start and is at most half of it at the end: "
        f"{', '.join(f'{DATASETS[dataset]} {share:.0%}' for dataset, share in shares.items())}.",
    )


def _deterministic(findings: Findings) -> Judgement:
    ratios, errors = {}, {}
    for dataset, label in DATASETS.items():
        same = findings.varied.hyperparameters(dataset, REPEATED)
        ends = findings.trials.hyperparameters(dataset, EVIDENCE.method)
        if min(len(same), len(ends)) < 2:
            raise NoTrialsError(f"fewer than two of {REPEATED} on {label}")
        noise, starts = (np.log(found).std(axis=0, ddof=1) for found in (same, ends))
        ratios[dataset] = float(np.median(noise / np.maximum(starts, 1e-12)))
        errors[dataset] = findings.varied.sample(dataset, REPEATED).sd or 0.0
    small = sum(ratio <= _NEARLY for ratio in ratios.values())
    return Judgement(
        verdict(small == 5, small >= 3),
        "Spread of the ends in ln λ from one start over that from random starts, the median over hyperparameters: "
        f"{per_dataset(ratios)}; standard deviation of the test error from one start, in %: {per_dataset(errors)}.",
    )


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


CLAIMS = (
    Claim(
        "Abstract; " + ASCENT_SECTION,
        "The exact evidence has local optima too.",
        "It has on three sets, by the evidence of expectation propagation between ends of ascents or of quasi-Newton "
        "on it; in part if on one.",
        _evidence_optima,
    ),
    Claim(
        ASCENT_SECTION,
        "Evidence ascent finds large k0 on Twonorm, Crabs and WDBC, rather smaller ones on Pima and Ringnorm.",
        "Medians of the first three above those of the others, and the mean on Twonorm within a factor √10 of the "
        "paper's 180; in part if one of the two.",
        _large_k0,
    ),
    Claim(
        ASCENT_SECTION,
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
        ASCENT_SECTION,
        "The gradients start at small values, rise to a peak and then decline.",
        "The norm of the gradient has its peak after the start and is at most half of it at the end, in at least half "
        "of the ascents on all sets; in part if on three.",
        _rise_and_fall,
    ),
    Claim(
        "Gradient ascent algorithm",
        "From given starting hyperparameters an ascent is practically deterministic.",
        f"Ends from one start are spread by at most {_NEARLY:g} of the spread of ends from random starts, on all sets; "
        "in part if on three. Our gradients have the noise that is enough to follow, a fifth of their norm.",
        _deterministic,
    ),
    Claim(
        "Computational effort",
        "Evidence ascent needs by far the greatest time.",
        f"A step takes more than {_BY_FAR:g} times one of the slowest simple criterion on all sets; in part if on "
        "three.",
        _slowest,
        in_tables=True,
    ),
)
