"""What the paper leaves open, as tables: settings of the searches, draws of the data, smoothing, samplers and votes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from marginwise.display.page import NOTHING, Cell, Value
from marginwise.display.table import PageTable, minus
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import compared, nearness, over_draws
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.numbers import DATASETS, EARLY, EVIDENCE, PREVIOUS_COLUMNS, SIMPLE, PaperColumn
from marginwise.study.paper.probes import CS, GRADIENTS, SIZED
from marginwise.study.paper.settings import (
    ASCENT_SETTINGS,
    DELVE,
    DRAWN,
    EP_ASCENT,
    HMC,
    NEAREST,
    NORMALISED,
    REPEATED,
    SCANNED_SMOOTHING,
    SMOOTHED,
    THOROUGH,
    WALK_SETTINGS,
    Setting,
    in_setting,
    nearest,
)
from marginwise.study.paper.tables import (
    Where,
    cell_entry,
    cell_names,
    grid,
    labels_of,
    sample_entry,
    theirs_of,
    titled,
)
from marginwise.study.report.summary import Trials
from marginwise.study.report.tables import Entry


def settings(findings: Findings) -> list[PageTable]:
    """Show the declared settings of walks and ascents: what they are, the paper's cells in each, and how near it is."""
    found, trials = [], findings.trials
    kinds: dict[str, tuple[Mapping[str, Setting[Any]], Sequence[PaperColumn]]] = {
        "walks": (WALK_SETTINGS, SIMPLE),
        "ascents": (ASCENT_SETTINGS, (EVIDENCE, EARLY)),
    }
    for kind, (declared, columns) in kinds.items():
        rows: list[list[Value]] = [[key, one.detail or NOTHING, one.words] for key, one in declared.items()]
        header = ["Setting", "other detail", "which is"]
        records: list[dict[str, object]] = [dict(zip(header, row, strict=True)) for row in rows]
        found.append(PageTable(f"settings-{kind}", *titled("settings", kind=kind), header, rows, records))
        found += [_in_settings(trials, kind, declared, columns), _near(trials, kind, declared, columns)]
    return found


def _in_settings(trials: Trials, kind: str, keys: Iterable[str], columns: Sequence[PaperColumn]) -> PageTable:
    names = cell_names(columns)
    shown = [k for k in keys if any(trials.done(d, in_setting(column.method, k)) for d, column in names)]

    def entry(where: Where, key: str) -> Entry | None:
        dataset, column = where
        cell = compared(trials, dataset, column, in_setting(column.method, key))
        if key == "paper":
            return Cell(theirs_of(cell), cell.published), {"published": cell.published}
        return cell_entry(cell, theirs=False) if cell.ours.n else None

    header = {key: key for key in ("paper", *shown)}
    return grid("sensitivity", names, header, entry, "Cell", f"sensitivity-{kind}", kind=kind)


def _near(trials: Trials, kind: str, keys: Iterable[str], columns: Sequence[PaperColumn]) -> PageTable:
    table = nearness(trials, keys, columns)
    rows: list[list[Value]] = [
        [
            row.setting,
            *(Cell(f"{value:.2f}", value) for value in (row.distance, *row.halves)),
            f"{row.within_1_sd} of {row.cells}",
            f"{row.within_2_se} of {row.cells}",
            f"{row.trials[0]} to {row.trials[1]}",
        ]
        for row in table
    ]
    header = ["Setting", "distance", "first half", "second half", "within 1 sd", "within 2 standard errors", "trials"]
    records = [vars(row) | {"halves": " ".join(f"{half:.4g}" for half in row.halves)} for row in table]
    return PageTable(f"nearest-{kind}", *titled("nearest", kind=kind), header, rows, records)


def courses(findings: Findings) -> PageTable:
    """Show steps and final amplitudes of the ascents in every setting."""
    trials = findings.trials

    def entry(key: str, dataset: str) -> Entry | None:
        method = in_setting(EVIDENCE.method, key)
        steps, ends = trials.sample(dataset, method, "evaluations"), trials.hyperparameters(dataset, method)
        if steps.median is None or not len(ends):
            return None
        k0 = float(ends[:, 1].mean())
        return Cell(f"{steps.median:.0f} ({steps.n})", steps.median, detail=f"k0 {k0:,.3g}"), {"k0": k0}

    return grid("ascent-courses", {key: key for key in ASCENT_SETTINGS}, DATASETS, entry, "Setting")


def other_draws(findings: Findings) -> PageTable:
    """Show cells over draws of the data sets that are drawn, and on the files of the DELVE archive."""
    trials = findings.trials

    def entry(where: Where, what: str) -> Entry | None:
        dataset, column = where
        method = nearest(column.method) if column in paper.COLUMNS else column.method
        found = {
            "own draw": lambda: compared(trials, dataset, column, method),
            "over draws": lambda: over_draws(trials, dataset, column, method),
            "even in colour alone": lambda: over_draws(trials, dataset, column, method, coloured=True),
            "DELVE file": lambda: compared(trials, dataset, column, method, DELVE.get(dataset, NOTHING)),
        }
        if what == "paper":
            quoted = dict(zip(PREVIOUS_COLUMNS, paper.PREVIOUS[dataset], strict=True)).get(column)
            theirs = theirs_of(compared(trials, dataset, column)) or (NOTHING if quoted is None else f"{quoted:.1f}")
            return Cell(theirs), {}
        return cell_entry(cell, theirs=False) if (cell := found[what]()).ours.n > 1 else None

    columns = ("paper", "own draw", "over draws", "even in colour alone", "DELVE file")
    rows = cell_names((*paper.COLUMNS, *PREVIOUS_COLUMNS), DRAWN)
    return grid("draws", rows, {what: what for what in columns}, entry, "Cell")


def smoothing(findings: Findings) -> list[PageTable]:
    """Show walks with other smoothing parameters: thorough ones, and those of the scan in the nearest setting."""
    trials, columns = findings.trials, {column.method: column for column in SIMPLE}
    walks = dict.fromkeys(one.walk for one in SMOOTHED.values())
    rows = {name: name for walk in walks for name in (walk, *(n for n, one in SMOOTHED.items() if one.walk == walk))}
    scanned = {(nearest(walk), walk): f"{columns[walk].label}, as printed" for walk in walks}
    scanned |= {(name, s.walk): f"{columns[s.walk].label}, {s.words}" for name, s in SCANNED_SMOOTHING.items()}

    def entry(walk: tuple[str, str], dataset: str) -> Entry | None:
        cell = compared(trials, dataset, columns[walk[1]], walk[0])
        return cell_entry(cell, theirs=False) if cell.ours.n else None

    return [
        grid("smoothing", rows, DATASETS, lambda name, dataset: sample_entry(trials.sample(dataset, name)), "Walk"),
        grid("smoothing-scan", scanned, DATASETS, entry, "Walk"),
    ]


def papers_sampler(findings: Findings) -> PageTable:
    """Show the ascents by the paper's sampler next to guided ones from the same start."""
    trials = findings.trials

    def entry(dataset: str, what: str) -> Entry | None:
        own, guided = trials.done(dataset, HMC), trials.done(dataset, REPEATED)
        if not own or len(guided) < 2:
            return None
        if what == "steps":
            return own[0].evaluations, {}
        if what in ("test error (%)", "guided"):
            return sample_entry(trials.sample(dataset, REPEATED if what == "guided" else HMC))
        ends = np.log([row.hyperparameters or () for row in guided])
        moved = np.abs(np.log(own[0].hyperparameters or ()) - ends.mean(axis=0))
        apart = float(np.median(moved / (ends.std(axis=0, ddof=1) * np.sqrt(1 + 1 / len(ends)))))
        return Cell(f"{apart:.1f}", apart, detail=f"{np.median(moved):.2g} in ln λ"), {"ends": apart}

    columns = ("test error (%)", "guided", "difference of the ends", "steps")
    return grid("hmc", DATASETS, {name: name for name in columns}, entry)


def normalised(findings: Findings) -> PageTable:
    """Show ascents on the evidence as it is and on that of the normalised model, from the same starts."""
    trials = findings.trials
    models, ends = (
        {EP_ASCENT: "as it is", NORMALISED: "normalised"},
        {"test": "last", "oracle": "least", "early": "validated"},
    )
    kinds = {(m, f"{end}_error"): f"{model}, {what}" for m, model in models.items() for end, what in ends.items()}
    return grid("normalised", DATASETS, kinds, lambda dataset, kind: sample_entry(trials.sample(dataset, *kind)))


def pairs(findings: Findings) -> PageTable:
    """Show TunedSVC against the ascents, row by row of the test set."""
    found = {(pair.dataset, pair.method, pair.predicted): pair for pair in findings.pairs}

    def entry(dataset: str, kind: tuple[str, str]) -> Entry | None:
        if (pair := found.get((dataset, *kind))) is None:
            return None
        z = pair.in_standard_errors
        tone = "bad" if z > 2 else "good" if z < -2 else ""
        shown = minus(f"{pair.difference:+.2f} ± {pair.standard_error:.2f}")
        return Cell(shown, pair.difference, tone, minus(f"{z:+.1f} se")), vars(pair)

    methods = {EVIDENCE.method: THOROUGH, nearest(EVIDENCE.method): NEAREST}
    columns = {(m, by): f"{name}, {by}" for m, name in methods.items() for by in ("posterior", "svm")}
    return grid("pairs", DATASETS, columns, entry)


def votes(findings: Findings) -> PageTable:
    """Show what the ends of all trials of a criterion say together."""
    found = {(vote.dataset, vote.method): vote for vote in findings.votes}

    def entry(dataset: str, column: PaperColumn) -> Entry | None:
        if (vote := found.get((dataset, column.method))) is None:
            return None
        tone, single = "good" if vote.gain > 0 else "bad", f"single {vote.single:.1f}, chosen {vote.chosen:.1f}"
        return Cell(f"{vote.together:.1f} ({vote.voters})", vote.together, tone, single), vars(vote)

    return grid("votes", {dataset: paper.label(dataset) for dataset, _ in found}, labels_of(SIMPLE), entry)


def sampling_cost(findings: Findings) -> PageTable:
    """Show what a gradient by the paper's sampler costs, by rows and C."""
    trials = findings.trials

    def entry(dataset: str, method: str) -> Entry | None:
        if not (rows := trials.done(dataset, method)):
            return None
        seconds, noise, zeros = (rows[0].extra[name] for name in ("step_seconds", "noise", "zeros"))
        shown = f"noise {noise:.0%}, all zero {zeros:.0%}"
        return Cell(f"{seconds:.2g} s", seconds, detail=shown), dict(rows[0].extra)

    columns = {name: f"C = {C:g}" for name, C in zip(GRADIENTS, CS, strict=True)}
    return grid("sampling-cost", {name: name.removeprefix("rows-") for name in SIZED}, columns, entry, "Rows")
