"""The first part of the page: what holds, what does not and why, in sentences that numbers make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from marginwise._wording import numbered
from marginwise.display.document import Facts, Notes, PagePart, Section
from marginwise.display.page import as_cell
from marginwise.display.table import minus
from marginwise.study.paper import figures, tables
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims import ANSWERED, CLAIMS, FAILS, HOLDS, IN_PART, UNTESTED, Claim, Judgement, judged
from marginwise.study.paper.compare import (
    agreement,
    all_datasets,
    all_methods,
    compare_means,
    compared,
    joint_place,
    judged_on_other_half,
    nearness,
)
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.numbers import COLUMNS, DATASETS, EVIDENCE, SIMPLE
from marginwise.study.paper.settings import (
    DELVE,
    EP_ASCENT,
    NEAREST_WALK,
    NORMALISED,
    PAPER_TRIALS,
    THOROUGH,
    WALK_SETTINGS,
    nearest,
)
from marginwise.study.report.summary import Trials


def told(name: str, /, **fill: object) -> str:
    """Return a sentence of ``words.toml``, with its numbers."""
    return str(tables.WORDS["story"][name]).format(**fill)


def first_part(findings: Findings) -> list[Section]:
    """Return what a reader wants to know: two pages."""
    holds = Section("What holds", [*_warnings(findings), Facts([*_facts(findings), _finished(findings.trials)])])
    holds.parts.append(told("result"))
    if (drawn := figures.methods(findings.trials)) is None:
        return [Section(holds.title, [*holds.parts, *_claims(findings), "No trial is finished yet."])]
    shown: list[PagePart | str] = [tables.means(findings.nearest().trials, next(iter(findings.settings()))), drawn]
    if findings.miniature:
        withheld = f"The {len(CLAIMS)} claims are judged by a full run, not by a miniature."
        return [Section(holds.title, [*holds.parts, withheld, *shown, *_others(findings.trials)])]
    holds.parts.extend([*_settings(findings), *_claims(findings), *shown, *_others(findings.trials)])
    sections = {
        "What does not, and why": (_failing, _nearest, _cells, _crabs, _delve, _smoothing, _lengths, _printed),
        "What was found since": (_normalised, _noise, _votes, _tuned),
    }
    return [
        holds,
        *(Section(title, [text for say in some for text in say(findings)]) for title, some in sections.items()),
    ]


def _warnings(findings: Findings) -> Iterator[PagePart]:
    """Say what a reader should beware of: a miniature, cells without trials, failures."""
    trials, warnings = findings.trials, []
    if findings.miniature:
        limits = f" ({findings.limits})" if findings.limits else ""
        words = "This is a miniature, with few rows or short searches"
        warnings.append(f"{words}{limits}: it shows that everything works, not what holds.")
    counts = {cell.name: cell.ours.n for cell in compare_means(trials) if cell.published is not None}
    if missing := [name for name, n in counts.items() if not n]:
        few = "; ".join(missing[:6]) + (f"; and {len(missing) - 6} more" if len(missing) > 6 else "")
        warnings.append(f"{len(missing)} of the 30 cells of the main table have no trial yet: {few}.")
    short = [
        f"{paper.label(cell.dataset)}, {cell.column.label} ({cell.ours.n} of {needed})"
        for cell in compare_means(trials)
        if cell.column in paper.SEARCHED
        and 0 < cell.ours.n < (needed := paper.trials(cell.dataset, cell.column.method))
        and cell.published is not None
    ]
    if short and not findings.miniature:
        warnings.append(f"{len(short)} cells have fewer trials than the paper: {'; '.join(short[:6])}.")
    if trials.failed:
        warnings.append(f"{numbered(len(trials.failed), 'trial')} failed: see the end.")
    if warnings:
        yield Notes(warnings)


def _facts(findings: Findings) -> Iterator[tuple[str, str]]:
    """Count cells and claims in each setting; not in a miniature, which tells nothing about them."""
    if findings.miniature:
        return
    for name, view in findings.settings().items():
        one, two, total = agreement(compare_means(view.trials))
        found = verdicts(view)
        if total:
            yield f"{one} of {total}", f"means within ± 1 of the paper's sd, {name}; {two} within 2 se"
        if tested := len(CLAIMS) - found[UNTESTED]:
            words = f"claims hold, {name}; {found[IN_PART]} in part, {found[FAILS]} not"
            yield f"{found[HOLDS] + found[ANSWERED]} of {tested}", words


def _finished(trials: Trials) -> tuple[str, str]:
    return f"{len(trials.rows) - len(trials.failed):,}", f"finished trials; {len(trials.failed)} failed"


def verdicts(findings: Findings) -> Counter[str]:
    """Return how many claims have each verdict."""
    return Counter(judgement.verdict for judgement in judged(findings).values())


def _settings(findings: Findings) -> Iterator[str]:
    table = nearness(findings.trials, WALK_SETTINGS, SIMPLE)
    if len(table) > 2:
        few = sum(row.trials[1] <= 2 for row in table)
        yield told("settings", n=len(table), trials=few)


def _claims(findings: Findings) -> Iterator[str]:
    views = [judged(view) for view in findings.settings().values()]
    if all(view[claim].verdict == UNTESTED for view in views for claim in CLAIMS):
        yield f"None of the paper's {len(CLAIMS)} claims can be judged yet: each needs trials on several data sets."
        return
    both = " in both settings" * (len(views) > 1)
    kinds: dict[str, list[Claim]] = {}
    words = {HOLDS: f"Claims that hold{both}", ANSWERED: "Answered since", UNTESTED: "Not tested yet", FAILS: ""}
    for claim in CLAIMS:
        first, *others = {view[claim].verdict for view in views}
        kind = words.get(first if not others else IN_PART, "In part, or in one setting alone")
        kinds.setdefault(kind, []).append(claim)
    for kind, claims in kinds.items():
        if kind:
            yield f"{kind}: {_listed(claims)}."


def _failing(findings: Findings) -> Iterator[str]:
    views: list[dict[Claim, Judgement]] = [judged(view) for view in findings.settings().values()]
    never = [claim for claim in CLAIMS if all(view[claim].verdict == FAILS for view in views)]
    if never:
        parts = " ".join(f"No. {CLAIMS.index(c) + 1}, {c.short}. {views[0][c].numbers}" for c in never)
        yield f"Claims that fail{' in both settings' * (len(views) > 1)}: {parts}"


def _listed(claims: list[Claim]) -> str:
    return "; ".join(f"{CLAIMS.index(claim) + 1}, {claim.short}" for claim in claims)


def _nearest(findings: Findings) -> Iterator[str]:
    table = nearness(findings.trials, WALK_SETTINGS, SIMPLE)
    by_name = {row.setting: row for row in table}
    if len(table) < 3 or not {THOROUGH, NEAREST_WALK} <= by_name.keys():
        return
    near, halves = by_name[NEAREST_WALK], judged_on_other_half(table)
    chosen, other = (float(np.mean([half[place] for half in halves])) for place in (1, 2))
    yield told(
        "nearest",
        name=NEAREST_WALK,
        words=WALK_SETTINGS[NEAREST_WALK].words,
        within=near.within_1_sd,
        cells=near.cells,
        distance=near.distance,
        plain=by_name[THOROUGH].distance,
        chosen=chosen,
        other=other,
        carries="carries" if chosen < other else "does not carry",
    )


def _cells(findings: Findings) -> Iterator[str]:
    if not findings.varied:
        return
    moved = {cell.name: tables.movers(findings, cell) for cell in tables.missed(findings.nearest().trials)}
    reached = [name for name, found in moved.items() if found]
    if reached:
        yield told("reached", n=len(moved), k=len(reached), cells="; ".join(reached))
    if never := [name for name, found in moved.items() if not found]:
        yield told("never", cells="; ".join(never))


def _crabs(findings: Findings) -> Iterator[str]:
    if (place := joint_place(findings.trials)) is not None:
        harder = ", ".join(f"{label} {share:.0%}" for label, share in place.harder.items())
        verdict = "the draw alone may be why" if place.share > 0.05 else "the draw alone is not why"
        trials = f"{place.trials[0]} to {place.trials[1]}"
        yield told("crabs", n=place.draws, trials=trials, harder=harder, share=place.share, verdict=verdict)


def _delve(findings: Findings) -> Iterator[str]:
    trials, parts = findings.trials, []
    for dataset, name in DELVE.items():
        there, here = (
            [compared(trials, dataset, column, nearest(column.method), on) for column in COLUMNS]
            for on in (name, dataset)
        )
        if all(cell.ours.n for cell in there):
            one, _, total = agreement(there)
            own, _, _ = agreement(here)
            parts.append(f"{DATASETS[dataset]} {one} of {total} (own draw {own})")
    if parts:
        yield told("delve", cells="; ".join(parts))


def _smoothing(findings: Findings) -> Iterator[str]:
    trials, le2 = findings.trials, SIMPLE[1]
    scans = {a: f"{nearest(le2.method)}-a-{a}" for a in ("0.2", "0.3", "0.5", "1")}
    if not all(trials.done("pima", method) for method in scans.values()):
        return
    others = [
        f"{DATASETS[d]} {' to '.join(f'{least_or_most(means):.1f}' for least_or_most in (min, max))} "
        f"({paper.ERRORS[d][1][0]})"
        for d in DATASETS
        if d != "pima" and (means := [m for method in scans.values() if (m := trials.sample(d, method).mean)])
    ]
    (mean, sd), here = paper.ERRORS["pima"][1], trials.sample("pima", nearest(le2.method)).mean
    scan = ", ".join(f"{trials.sample('pima', method).mean:.1f} with {a}" for a, method in scans.items())
    yield told("smoothing", mean=mean, sd=sd, here=here or np.nan, scan=scan, others=", ".join(others))


def _lengths(findings: Findings) -> Iterator[str]:
    trials, over = findings.trials, {}
    for key in (THOROUGH, "loose", NEAREST_WALK):
        cells = [
            (mean, 3600 / paper.SECONDS[dataset][1 + place])
            for dataset in DATASETS
            for place, column in enumerate(SIMPLE)
            if (mean := tables.sweeps(trials, dataset, column, key)) is not None
        ]
        if len(cells) == len(DATASETS) * len(SIMPLE):
            over[key] = sum(mean > hour for mean, hour in cells)
    if len(over) == 3:
        yield told("lengths", cells=", ".join(str(count) for count in over.values()))


def _printed(findings: Findings) -> Iterator[str]:
    fewer = [
        f"{label} {paper.fitting(d, rows - 1)} of 6 (with {rows:,} rows {paper.fitting(d, rows)})"
        for d, label in DATASETS.items()
        for rows in [paper.SIZES[d][2]]
        if paper.fitting(d, rows - 1) > paper.fitting(d, rows)
    ]
    wrong = [
        f"{DATASETS[d]}, {column.label} ({mean} ± {sd} with a best of {best}: at most ± {most:.1f})"
        for d in DATASETS
        for column, (mean, sd), best in zip(COLUMNS, paper.ERRORS[d], paper.BEST[d], strict=True)
        for most in [paper.most_spread(d, column)]
        if paper.impossible(d, column)
    ]
    yield told("printed", fewer=", ".join(fewer), wrong="; ".join(wrong))


def _normalised(findings: Findings) -> Iterator[str]:
    gains: dict[str, list[float]] = {EP_ASCENT: [], NORMALISED: []}
    for method, found in gains.items():
        for row in (row for dataset in DATASETS if dataset != "pima" for row in findings.trials.done(dataset, method)):
            if row.test_error is not None and row.early_error is not None:
                found.append(100 * (row.test_error - row.early_error))
    if min(map(len, gains.values())) < 2:
        return
    mean = {method: float(np.mean(found)) for method, found in gains.items()}
    error = {method: float(np.std(found, ddof=1) / np.sqrt(len(found))) for method, found in gains.items()}
    plain, other = (minus(f"{mean[method]:.2f} ± {error[method]:.2f} %") for method in gains)
    last = {m: np.array([findings.trials.sample(d, m).mean or np.nan for d in DATASETS]) for m in gains}
    lower = int(np.sum(last[EP_ASCENT] > last[NORMALISED]))
    apart = mean[EP_ASCENT] - mean[NORMALISED] > 2 * np.hypot(error[EP_ASCENT], error[NORMALISED])
    verdict = "goes with the missing normalisation" if apart else "is there with both models"
    yield told("normalised", plain=plain, normalised=other, lower=lower, verdict=verdict)


def _noise(findings: Findings) -> Iterator[str]:
    if (table := tables.known_noise(findings)) is not None:
        k0 = [as_cell(row[1]) for row in table.rows]
        falls = all((one.value or 0.0) >= (other.value or 0.0) for one, other in pairwise(k0))
        shares = ", ".join(str(row[0]) for row in table.rows)
        values = ", ".join(f"{cell.value:,.0f}" for cell in k0)
        yield told("noise", cells=shares, k0=values, verdict="throughout" if falls else "but not throughout")


def _votes(findings: Findings) -> Iterator[str]:
    parts, walked = [], {column.method for column in SIMPLE}
    for name, view in findings.settings().items():
        gains = [vote.gain for vote in view.votes if vote.method in walked]
        if gains:
            better = sum(gain > 0 for gain in gains)
            parts.append(f"{name} in {better} of {len(gains)} cells, by {np.mean(gains):.1f} %")
    chosen = [vote.single - vote.chosen for vote in findings.votes if vote.method in walked]
    more = f" Choosing one by a validation set gains {np.mean(chosen):.1f} %." if chosen else ""
    if parts:
        yield told("votes", cells="; ".join(parts), chosen=more)


def _tuned(findings: Findings) -> Iterator[str]:
    means = {}
    for method in all_methods(findings.trials):
        found = [findings.trials.sample(dataset, method).mean for dataset in DATASETS]
        known = [mean for mean in found if mean is not None]
        if len(known) == len(found):
            means[method] = float(np.mean(known))
    ascent = min((means[m] for m in (EVIDENCE.method, nearest(EVIDENCE.method)) if m in means), default=None)
    if ascent is not None:
        first = sorted(means.items(), key=lambda pair: pair[1])[:3]
        yield told("tuned", first=", ".join(f"{method} {mean:.2f} %" for method, mean in first), ascent=ascent)


def _others(trials: Trials) -> Iterator[str]:
    """Say what there is in addition to the paper's study."""
    kinds = {
        "data set": [name for name in all_datasets(trials) if name not in DATASETS],
        "method": [name for name in all_methods(trials) if name not in PAPER_TRIALS],
    }
    parts = [f"the {word}{'s' * (len(names) > 1)} {', '.join(names)}" for word, names in kinds.items() if names]
    if parts:
        yield f"In addition to what the paper has, every table has {' and '.join(parts)}."
