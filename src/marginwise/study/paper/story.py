"""The first part of the page: what holds, what does not and why, in sentences that numbers make."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import pairwise, product

import numpy as np

from marginwise._wording import numbered, some
from marginwise.display.document import Facts, Notes, PagePart, Section
from marginwise.display.page import as_cell
from marginwise.display.table import minus
from marginwise.study.paper import figures, tables
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims import ANSWERED, CLAIMS, FAILS, HOLDS, IN_PART, UNTESTED, Claim, judged
from marginwise.study.paper.compare import (
    Nearness,
    agreement,
    all_datasets,
    all_methods,
    compare_means,
    compared,
    joint_place,
    judged_on_other_half,
    nearness,
)
from marginwise.study.paper.findings import Findings, NoTrialsError
from marginwise.study.paper.measures import stopping
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

#: Returns the numbers of a sentence; NoTrialsError if they are not there.
Fill = Callable[[Findings], Mapping[str, object]]


def told(name: str, /, **fill: object) -> str:
    """Return a sentence of ``words.toml``, with its numbers."""
    return str(tables.WORDS["story"][name]).format(**fill)


def first_part(findings: Findings) -> list[Section]:
    """Return what a reader wants to know: two pages."""
    holds = Section("What holds", [*_warnings(findings), Facts(list(_facts(findings))), told("result")])
    if (drawn := figures.methods(findings.trials)) is None:
        return [Section(holds.title, [*holds.parts, *_claims(findings), "No trial is finished yet."])]
    shown: list[PagePart | str] = [tables.means(findings.nearest().trials, next(iter(findings.settings()))), drawn]
    if findings.miniature:
        withheld = f"The {len(CLAIMS)} claims are judged by a full run, not by a miniature."
        return [Section(holds.title, [*holds.parts, withheld, *shown, *_others(findings.trials)])]
    settings = _sentences(findings, {"settings": _settings})
    holds.parts.extend([*settings, *_claims(findings), *shown, *_others(findings.trials)])
    return [holds, *(Section(title, _sentences(findings, said)) for title, said in _SAID.items())]


def _sentences(findings: Findings, said: Mapping[str, Fill]) -> list[PagePart | str]:
    """Return the sentences whose numbers are there."""
    found: list[PagePart | str] = []
    for name, fill in said.items():
        with suppress(NoTrialsError):
            found.append(told(name, **fill(findings)))
    return found


def _warnings(findings: Findings) -> Iterator[PagePart]:
    """Say what a reader should beware of: a miniature, cells without trials, failures."""
    trials, warnings = findings.trials, []
    if findings.miniature:
        limits = f" ({findings.limits})" if findings.limits else ""
        words = "This is a miniature, with few rows or short searches"
        warnings.append(f"{words}{limits}: it shows that everything works, not what holds.")
    cells = [cell for cell in compare_means(trials) if cell.published is not None]
    if missing := [cell.name for cell in cells if not cell.ours.n]:
        n, some_missing = len(missing), some(missing, mark="; ")
        warnings.append(f"{n} of the 30 cells of the main table have no trial yet: {some_missing}.")
    short = [
        f"{cell.name} ({cell.ours.n} of {needed})"
        for cell in cells
        if cell.column in paper.SEARCHED
        and 0 < cell.ours.n < (needed := paper.trials(cell.dataset, cell.column.method))
    ]
    if short and not findings.miniature:
        warnings.append(f"{len(short)} cells have fewer trials than the paper: {some(short, mark='; ')}.")
    if trials.failed:
        warnings.append(f"{numbered(len(trials.failed), 'trial')} failed: see the end.")
    if warnings:
        yield Notes(warnings)


def _facts(findings: Findings) -> Iterator[tuple[str, str]]:
    """Count cells and claims in each setting, but not in a miniature, which tells nothing about them; and trials."""
    for name, view in {} if findings.miniature else findings.settings().items():
        one, two, total = agreement(compare_means(view.trials))
        found = Counter(judgement.verdict for judgement in judged(view).values())
        if total:
            yield f"{one} of {total}", f"means within ± 1 of the paper's sd, {name}; {two} within 2 se"
        if tested := len(CLAIMS) - found[UNTESTED]:
            words = f"claims hold, {name}; {found[IN_PART]} in part, {found[FAILS]} not"
            yield f"{found[HOLDS] + found[ANSWERED]} of {tested}", words
    failed = len(findings.trials.failed)
    yield f"{len(findings.trials.rows) - failed:,}", f"finished trials; {failed} failed"


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


def _listed(claims: list[Claim]) -> str:
    return "; ".join(f"{CLAIMS.index(claim) + 1}, {claim.short}" for claim in claims)


def _settings(findings: Findings) -> Mapping[str, object]:
    table = _compared_settings(findings)
    return {"n": len(table), "trials": sum(row.trials[1] <= 2 for row in table)}


def _compared_settings(findings: Findings) -> list[Nearness]:
    """Return how near each setting of the walks is to the paper; of more than the two that all is shown in."""
    table = nearness(findings.trials, WALK_SETTINGS, SIMPLE)
    if len(table) < 3 or not {THOROUGH, NEAREST_WALK} <= {row.setting for row in table}:
        raise NoTrialsError("no other settings")
    return table


def _failing(findings: Findings) -> Mapping[str, object]:
    views = [judged(view) for view in findings.settings().values()]
    never = [claim for claim in CLAIMS if all(view[claim].verdict == FAILS for view in views)]
    if not never:
        raise NoTrialsError("no claim fails")
    parts = " ".join(f"No. {CLAIMS.index(c) + 1}, {c.short}. {views[0][c].numbers}" for c in never)
    return {"both": " in both settings" * (len(views) > 1), "parts": parts}


def _nearest(findings: Findings) -> Mapping[str, object]:
    table = _compared_settings(findings)
    near, halves = next(row for row in table if row.setting == NEAREST_WALK), judged_on_other_half(table)
    chosen, other = (float(np.mean([half[place] for half in halves])) for place in (1, 2))
    carries = "carries" if chosen < other else "does not carry"
    words = WALK_SETTINGS[NEAREST_WALK].words
    return {"near": near, "words": words, "chosen": chosen, "other": other, "carries": carries}


def _moved(findings: Findings) -> dict[str, bool]:
    """Return the cells that are away, and whether something that was tried brings them home."""
    missed = tables.missed(findings.nearest().trials) if findings.varied else []
    return {cell.name: bool(tables.movers(findings, cell)) for cell in missed}


def _reached(findings: Findings) -> Mapping[str, object]:
    moved = _moved(findings)
    return {"n": len(moved), "cells": _some(name for name, home in moved.items() if home)}


def _never(findings: Findings) -> Mapping[str, object]:
    return {"cells": _some(name for name, home in _moved(findings).items() if not home)}


def _some(parts: Iterable[str], mark: str = "; ") -> str:
    """Return parts of a sentence in a row; at least one."""
    if not (joined := mark.join(parts)):
        raise NoTrialsError("nothing to tell")
    return joined


def _crabs(findings: Findings) -> Mapping[str, object]:
    if (place := joint_place(findings.trials)) is None:
        raise NoTrialsError("few draws")
    harder = ", ".join(f"{label} {share:.0%}" for label, share in place.harder.items())
    verdict = "the draw alone may be why" if place.share > 0.05 else "the draw alone is not why"
    return {"place": place, "harder": harder, "verdict": verdict}


def _delve(findings: Findings) -> Mapping[str, object]:
    parts = []
    for dataset, file in DELVE.items():
        there, here = (
            [compared(findings.trials, dataset, column, nearest(column.method), on) for column in COLUMNS]
            for on in (file, dataset)
        )
        if all(cell.ours.n for cell in there):
            (one, _, total), (own, _, _) = agreement(there), agreement(here)
            parts.append(f"{DATASETS[dataset]} {one} of {total} (own draw {own})")
    return {"cells": _some(parts)}


def _smoothing(findings: Findings) -> Mapping[str, object]:
    own, theirs = nearest(SIMPLE[1].method), {dataset: row[1] for dataset, row in paper.ERRORS.items()}
    scans = {a: f"{own}-a-{a}" for a in ("0.2", "0.3", "0.5", "1")}
    on_pima = ", ".join(f"{findings.sample('pima', method).mean:.1f} with {a}" for a, method in scans.items())
    others = []
    for dataset, label in DATASETS.items():
        means = [mean for method in scans.values() if (mean := findings.trials.sample(dataset, method).mean)]
        if dataset != "pima" and means:
            others.append(f"{label} {min(means):.1f} to {max(means):.1f} ({theirs[dataset][0]})")
    here = findings.sample("pima", own).mean
    return {"theirs": theirs["pima"], "here": here, "scan": on_pima, "others": ", ".join(others)}


def _lengths(findings: Findings) -> Mapping[str, object]:
    longer = []
    for key in (THOROUGH, "loose", NEAREST_WALK):
        cells = [
            (tables.sweeps(findings.trials, dataset, column, key), tables.in_an_hour(dataset, column))
            for dataset, column in product(DATASETS, SIMPLE)
        ]
        longer.append(sum(mean > hour for mean, hour in cells if mean is not None))
        if any(mean is None for mean, _ in cells):
            raise NoTrialsError("walks are missing")
    return {"cells": ", ".join(map(str, longer))}


def _printed(findings: Findings) -> Mapping[str, object]:
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
    return {"fewer": ", ".join(fewer), "wrong": "; ".join(wrong)}


def _normalised(findings: Findings) -> Mapping[str, object]:
    rising = [dataset for dataset in DATASETS if dataset != "pima"]
    gains = {method: stopping(findings, method, *rising) for method in (EP_ASCENT, NORMALISED)}
    plain, other = (minus(f"{mean:.2f} ± {error:.2f} %") for mean, error in gains.values())
    (mean, error), (other_mean, other_error) = gains.values()
    ends = [[findings.sample(d, method).mean or 0.0 for d in DATASETS] for method in gains]
    lower = sum(one > another for one, another in zip(*ends, strict=True))
    verdict = "goes with the missing normalisation"
    if mean - other_mean <= 2 * np.hypot(error, other_error):
        verdict = "is there with both models"
    return {"plain": plain, "normalised": other, "lower": lower, "verdict": verdict}


def _noise(findings: Findings) -> Mapping[str, object]:
    rows = tables.known_noise(findings).rows
    k0 = [as_cell(row[1]).value or 0.0 for row in rows]
    falls = all(one >= other for one, other in pairwise(k0))
    shares = _some((str(row[0]) for row in rows), ", ")
    values = ", ".join(f"{value:,.0f}" for value in k0)
    return {"cells": shares, "k0": values, "verdict": "throughout" if falls else "but not throughout"}


def _votes(findings: Findings) -> Mapping[str, object]:
    parts, walked = [], {column.method for column in SIMPLE}
    for name, view in findings.settings().items():
        if gains := [vote.gain for vote in view.votes if vote.method in walked]:
            better = sum(gain > 0 for gain in gains)
            parts.append(f"{name} in {better} of {len(gains)} cells, by {np.mean(gains):.1f} %")
    chosen = [vote.single - vote.chosen for vote in findings.votes if vote.method in walked]
    more = f" Choosing one by a validation set gains {np.mean(chosen):.1f} %." if chosen else ""
    return {"cells": _some(parts), "chosen": more}


def _tuned(findings: Findings) -> Mapping[str, object]:
    means: dict[str, float] = {}
    for method in all_methods(findings.trials):
        with suppress(NoTrialsError):
            means[method] = float(np.mean([findings.sample(dataset, method).mean for dataset in DATASETS]))
    if not (ascents := means.keys() & {EVIDENCE.method, nearest(EVIDENCE.method)}):
        raise NoTrialsError("no ascents")
    first = ", ".join(f"{method} {means[method]:.2f} %" for method in sorted(means, key=means.__getitem__)[:3])
    return {"first": first, "ascent": min(means[method] for method in ascents)}


def _others(trials: Trials) -> Iterator[str]:
    """Say what there is in addition to the paper's study."""
    kinds = {
        "data set": [name for name in all_datasets(trials) if name not in DATASETS],
        "method": [name for name in all_methods(trials) if name not in PAPER_TRIALS],
    }
    parts = [f"the {word}{'s' * (len(names) > 1)} {', '.join(names)}" for word, names in kinds.items() if names]
    if parts:
        yield f"In addition to what the paper has, every table has {' and '.join(parts)}."


#: The sentences of the first part by title and by their names in ``words.toml``, each with what fills it in.
_SAID: Mapping[str, Mapping[str, Fill]] = {
    "What does not, and why": {
        "failing": _failing,
        "nearest": _nearest,
        "reached": _reached,
        "never": _never,
        "crabs": _crabs,
        "delve": _delve,
        "smoothing": _smoothing,
        "lengths": _lengths,
        "printed": _printed,
    },
    "What was found since": {"normalised": _normalised, "noise": _noise, "votes": _votes, "tuned": _tuned},
}
