"""What a reader wants to know first: what holds, what does not and why, in a few sentences that numbers make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims import CLAIMS, judged
from marginwise.study.paper.claims.claim import ANSWERED, FAILS, HOLDS, IN_PART, UNTESTED
from marginwise.study.paper.compare import all_methods, compare_means
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.names import DRAWN, NEAREST_WALK, THOROUGH, WALK_DETAILS, as_in_paper
from marginwise.study.paper.numbers import DATASETS, EVIDENCE, SIMPLE
from marginwise.study.paper.sensitivity import (
    WALK_COLUMNS,
    Sensitivity,
    judged_on_other_half,
    nearness,
)
from marginwise.study.report.summary import Trials


def story(findings: Findings) -> Iterator[str]:
    """Yield the sentences."""
    yield (
        "The paper's main result: criteria that are simple to compute have many local optima, of which some are good "
        "and a significant fraction are not; ascending the exact evidence also ends in local optima, but in better and "
        "more consistent ones. You get what you pay for."
    )
    if findings.miniature:
        return
    yield from _agreement(findings)
    yield from _verdicts(findings)
    if (found := Sensitivity.of(findings)) is not None:
        yield from _settings(found)
        yield from _draws(found)
    yield from _sampler(findings)
    yield from _votes(findings)
    yield from _since(findings)


def agreement(findings: Findings) -> tuple[int, int, int]:
    """Return of how many cells our mean is within one of the paper's sd, and within 2 standard errors, of how many."""
    cells = [cell for cell in compare_means(findings.trials) if cell.within(1) is not None]
    near = sum(abs(z) <= 2 for cell in cells if (z := cell.in_standard_errors) is not None)
    return sum(bool(cell.within(1)) for cell in cells), near, len(cells)


def _agreement(findings: Findings) -> Iterator[str]:
    parts = []
    for name, view in findings.settings().items():
        one, two, total = agreement(view)
        if total:
            parts.append(
                f"{name}: {one} of {total} within one of the paper's standard deviations, {two} within 2 standard "
                "errors"
            )
    if len(parts) > 1:
        yield "The paper leaves details of its searches open, so they are run in two declared settings."
    if parts:
        yield f"Means of the main table, {'; '.join(parts)}."


def verdicts(findings: Findings) -> Counter[str]:
    """Return how many claims have each verdict."""
    return Counter(judgement.verdict for _, judgement in judged(findings))


def _verdicts(findings: Findings) -> Iterator[str]:
    parts = []
    for name, view in findings.settings().items():
        found = verdicts(view)
        if found[UNTESTED] == len(CLAIMS):
            continue
        parts.append(
            f"{name} {found[HOLDS]} hold, {found[IN_PART]} in part, {found[FAILS]} do not and {found[ANSWERED]} was "
            f"answered since" + (f", {found[UNTESTED]} not tested" if found[UNTESTED] else "")
        )
    if not parts:
        yield f"None of the paper's {len(CLAIMS)} claims can be judged yet: each needs trials on several data sets."
        return
    yield f"Of {len(CLAIMS)} claims, {'; '.join(parts)}."
    views = [dict(judged(view)) for view in findings.settings().values()]
    never = [
        f"no. {number} ({claim.statement.rstrip('.')})"
        for number, claim in enumerate(CLAIMS, start=1)
        if all(view[claim].verdict == FAILS for view in views)
    ]
    if never:
        yield f"In no setting of the two {'holds' if len(never) == 1 else 'hold'}: {'; '.join(never)}."


def _settings(found: Sensitivity) -> Iterator[str]:
    table = nearness(found, list(WALK_DETAILS), WALK_COLUMNS)
    by_name = {row.setting: row for row in table}
    if not {THOROUGH, NEAREST_WALK} <= by_name.keys():
        return
    near, plain = by_name[NEAREST_WALK], by_name[THOROUGH]
    ranges = [
        np.ptp([found.cell(dataset, column, row.setting).value or np.nan for row in table]) / sd
        for dataset in DATASETS
        for column, (_, sd) in zip(SIMPLE, paper.ERRORS[dataset], strict=False)
    ]
    yield (
        "What the paper leaves open about its walks decides its cells: between the declared settings the mean of a "
        f"cell differs by {np.median(ranges):.1f} of the paper's standard deviations in the median. No setting gives "
        f"all: the best has {max(row.within_1_sd for row in table)} of {near.cells} within one. The nearest that was "
        f"tried is “{NEAREST_WALK}” ({WALK_DETAILS[NEAREST_WALK][1]}), {near.distance:.1f} away on average, where "
        f"the thorough walks are {plain.distance:.1f}."
    )
    halves = judged_on_other_half(table)
    chosen, thorough = (float(np.mean([half[place] for half in halves])) for place in (1, 2))
    carries = "carries over" if chosen < thorough else "does not carry over, and no setting is the paper's"
    yield (
        f"The setting nearest to one half of the cells is {chosen:.1f} away from the other half, the thorough one "
        f"{thorough:.1f}: the choice {carries}."
    )
    moved = [
        f"{label}, {column.label} ({there.value:.1f}, was {here.value:.1f})"
        for dataset, label in DATASETS.items()
        for column in SIMPLE
        if (there := found.cell(dataset, column, "narrow")).value is not None
        and (here := found.cell(dataset, column, THOROUGH)).value is not None
        and abs(there.value - here.value) > (there.published_sd or np.inf)
    ]
    if moved:
        yield f"Narrower bounds move {len(moved)} of 20 cells by more than a standard deviation: {'; '.join(moved)}."


def _draws(found: Sensitivity) -> Iterator[str]:
    parts = []
    for dataset in DRAWN:
        gaps = []
        for place, column in enumerate(SIMPLE):
            over = found.over_draws(dataset, column, as_in_paper(column.method)).mean
            own = found.trials.sample(dataset, as_in_paper(column.method)).mean
            if over is not None and own is not None:
                mean, sd = paper.ERRORS[dataset][place]
                gaps.append((abs(own - mean) / sd, abs(over - mean) / sd))
        if gaps:
            own_gap, over_gap = np.mean(gaps, axis=0)
            parts.append(f"{DATASETS[dataset]} {own_gap:.1f} and {over_gap:.1f}")
    if parts:
        yield (
            "The draw of the data matters too: mean distance of the walks' cells from the paper, in its standard "
            f"deviations, on our own draw and averaged over ten: {', '.join(parts)}."
        )


def _sampler(findings: Findings) -> Iterator[str]:
    seconds = {
        dataset: found
        for dataset in DATASETS
        if (found := findings.trials.seconds_per_step(dataset, "hmc-ascent")) is not None
    }
    guided = findings.trials.seconds_per_step("twonorm", EVIDENCE.method)
    if "twonorm" in seconds and guided:
        yield (
            f"A step of the paper's own ascent, 40,000 steps of Hybrid Monte Carlo, takes {seconds['twonorm']:.1f} s "
            f"on Twonorm; it took {paper.SECONDS['twonorm'][5]:,} s then, and takes {guided:.2g} s with the guided "
            "sampler, which ends at the same places."
        )


def _votes(findings: Findings) -> Iterator[str]:
    parts = []
    for name, view in findings.settings().items():
        votes = [vote for vote in view.votes if vote.method in {column.method for column in SIMPLE}]
        if len({(vote.dataset, vote.method) for vote in votes if vote.dataset in DATASETS}) == len(DATASETS) * len(
            SIMPLE
        ):
            better = sum(vote.gain > 0 for vote in votes)
            gain = np.mean([vote.gain for vote in votes])
            parts.append(f"{name} in {better} of {len(votes)} cells, by {gain:.1f} % on average")
    if parts:
        yield (
            "Local optima that vote, which the paper proposes, have fewer errors than they have alone: "
            f"{'; '.join(parts)}."
        )


def _since(findings: Findings) -> Iterator[str]:
    found = leaders(findings.trials)
    if found:
        yield (
            "The criterion that the paper hunts for: over all methods, the lowest mean test errors, averaged over the "
            "data sets, are " + ", ".join(f"{method} {mean:.2f} %" for method, mean in found) + "."
        )


def leaders(trials: Trials, count: int = 3) -> list[tuple[str, float]]:
    """Return the methods with the least error averaged over all data sets."""
    means = {}
    for method in all_methods(trials):
        found = [trials.sample(dataset, method).mean for dataset in DATASETS]
        known = [mean for mean in found if mean is not None]
        if len(known) == len(found):
            means[method] = float(np.mean(known))
    return sorted(means.items(), key=lambda pair: pair[1])[:count]
