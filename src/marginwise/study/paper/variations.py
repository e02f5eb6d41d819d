"""What moves the paper's cells: settings of the searches, draws of the data, the sampler, and votes, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from marginwise.display.document import PagePart, Section
from marginwise.display.page import NOTHING, Cell, Value
from marginwise.display.table import PageTable, minus
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.compare import Comparison
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.names import ASCENT_DETAILS, DRAWN, REPEATED, SMOOTHED, WALK_DETAILS, as_in_paper
from marginwise.study.paper.numbers import DATASETS, EVIDENCE, PREVIOUS_COLUMNS, SIMPLE, PaperColumn
from marginwise.study.paper.sensitivity import (
    ASCENT_COLUMNS,
    WALK_COLUMNS,
    Sensitivity,
    judged_on_other_half,
    nearness,
)
from marginwise.study.paper.votes import MajorityVote
from marginwise.study.report.summary import counted_error
from marginwise.study.report.tables import spread


def variations(findings: Findings) -> Section:
    """Show what the paper leaves open, and how much depends on it."""
    found = Sensitivity.of(findings)
    parts: list[PagePart | str] = []
    if found is None:
        parts.append("No setting was varied yet: marginwise study run --sensitivity.")
    else:
        parts += [
            settings("walk", "random walks", WALK_DETAILS),
            cells(found, "sensitivity-walks", "Walks in every setting", WALK_DETAILS, WALK_COLUMNS),
            near(found, "nearest-walks", "Settings of the walks, the nearest first", WALK_DETAILS, WALK_COLUMNS),
            *other_half(found),
            settings("ascent", "gradient ascents", ASCENT_DETAILS),
            cells(found, "sensitivity-ascents", "Ascents in every setting", ASCENT_DETAILS, ASCENT_COLUMNS),
            near(
                found, "nearest-ascents", "Settings of the ascents, the nearest first", ASCENT_DETAILS, ASCENT_COLUMNS
            ),
            courses(found),
            over_draws(found),
            smoothing(findings),
        ]
    if sampled := papers_sampler(findings):
        parts.append(sampled)
    if findings.votes:
        parts.append(votes(findings.votes))
    return Section("What the paper leaves open", parts)


def settings(kind: str, what: str, details: Mapping[str, tuple[str, str]]) -> PageTable:
    """List declared settings."""
    rows: list[list[Value]] = [[key, detail or NOTHING, words] for key, (detail, words) in details.items()]
    note = "Each differs from the thorough setting in the details named, of which the paper gives no numbers."
    header = ["Setting", "other detail", "which is"]
    records: list[dict[str, object]] = [
        {"setting": key, "detail": detail, "is": words} for key, (detail, words) in details.items()
    ]
    return PageTable(f"settings-{kind}s", f"Settings of the {what}", note, header, rows, records)


def cells(found: Sensitivity, name: str, title: str, keys: Iterable[str], columns: Sequence[PaperColumn]) -> PageTable:
    """Show the paper's cells in every setting."""
    shown = [key for key in keys if any(found.cell(d, c, key).ours.n for d in DATASETS for c in columns)]
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for dataset, label in DATASETS.items():
        for column in columns:
            compared = {key: found.cell(dataset, column, key) for key in shown}
            mean, sd = paper.ERRORS[dataset][paper.COLUMNS.index(column)]
            rows.append(
                [f"{label}, {column.label}", Cell(f"{mean:.1f} ± {sd:.1f}", mean), *map(_cell, compared.values())]
            )
            records += [_record(key, cell) for key, cell in compared.items()]
    counts = sorted({found.cell(d, c, key).ours.n for d in DATASETS for c in columns for key in shown})
    note = (
        f"Test error in %, mean ± standard deviation over {counts[0]} to {counts[-1]} trials. Green: within one of the "
        "paper's standard deviations; red: not within two."
    )
    return PageTable(name, title, note, ["Cell", "paper", *shown], rows, records)


def near(found: Sensitivity, name: str, title: str, keys: Iterable[str], columns: Sequence[PaperColumn]) -> PageTable:
    """Rank settings by their distance from the paper."""
    table = nearness(found, list(keys), columns)
    rows: list[list[Value]] = [
        [
            row.setting,
            Cell(f"{row.distance:.2f}", row.distance),
            *(Cell(f"{half:.2f}", half) for half in row.halves),
            f"{row.within_1_sd} of {row.cells}",
            f"{row.within_2_se} of {row.cells}",
        ]
        for row in table
    ]
    note = (
        "The distance of a cell is |our mean − the paper's| in the paper's standard deviations; means over all cells, "
        "and over two halves that have every data set and column. Standard errors are those of both means."
    )
    header = ["Setting", "distance", "first half", "second half", "within 1 sd", "within 2 standard errors"]
    records = [vars(row) | {"halves": " ".join(f"{half:.4g}" for half in row.halves)} for row in table]
    return PageTable(name, title, note, header, rows, records)


def other_half(found: Sensitivity) -> list[str]:
    """Say how near the setting that is nearest on half of the cells is to the other half."""
    judged = judged_on_other_half(nearness(found, list(WALK_DETAILS), WALK_COLUMNS))
    if not judged:
        return []
    parts = [
        f"{'first' if half == 0 else 'second'} half: {row.setting}, on the other half {there:.2f} against {plain:.2f} "
        "of the thorough setting"
        for half, (row, there, plain) in enumerate(judged)
    ]
    return [f"The setting nearest on one half of the cells, judged on the other ({'; '.join(parts)})."]


def courses(found: Sensitivity) -> PageTable:
    """Show steps and final amplitudes of the ascents in every setting."""
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for key in ASCENT_DETAILS:
        method = EVIDENCE.method if key == "thorough" else f"{EVIDENCE.method}-{key}"
        line: list[Value] = [key]
        for dataset in DATASETS:
            steps = found.trials.sample(dataset, method, "evaluations").median
            ends = found.trials.hyperparameters(dataset, method)
            if steps is None or not len(ends):
                line.append(None)
                continue
            k0 = float(ends[:, 1].mean())
            line.append(Cell(f"{steps:.0f}", steps, detail=f"k0 {k0:,.3g}"))
            records.append({"setting": key, "dataset": dataset, "steps": steps, "mean_k0": k0})
        rows.append(line)
    note = "Median number of steps, and below it the mean final k0. The paper: 40 to 80 steps, k0 ≈ 180 on Twonorm."
    return PageTable(
        "ascent-courses", "Steps and final k0 of ascents", note, ["Setting", *DATASETS.values()], rows, records
    )


def over_draws(found: Sensitivity) -> PageTable:
    """Show cells over ten draws of the data sets that are drawn."""
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for dataset in DRAWN:
        published = dict(zip(paper.COLUMNS, paper.ERRORS[dataset], strict=True))
        quoted = dict(zip(PREVIOUS_COLUMNS, paper.PREVIOUS[dataset], strict=True))
        for column in (*paper.COLUMNS, *PREVIOUS_COLUMNS):
            method = as_in_paper(column.method) if column in published else column.method
            sample, own = found.over_draws(dataset, column, method), found.trials.sample(dataset, method, column.field)
            if sample.n < 2:
                continue
            theirs = "{:.1f} ± {:.1f}".format(*published[column]) if column in published else _plain(quoted[column])
            own_draw = Cell(spread(own), own.mean)
            over = Cell(spread(sample), sample.mean)
            rows.append([f"{DATASETS[dataset]}, {column.label}", theirs, own_draw, over, sample.n])
            numbers = {"mean": sample.mean, "sd": sample.sd, "draws": sample.n, "own_draw": own.mean}
            records.append({"dataset": dataset, "column": column.label, **numbers})
    note = (
        "Test error in %, searches as in the paper: over the trials on the study's own draw, and over draws, of which "
        "that is one and the others have one trial each. Crabs: other training rows. Twonorm and Ringnorm: other "
        "samples of the same laws; the paper has the files of the DELVE archive, which are one sample more."
    )
    header = ["Cell", "paper", "own draw", "over draws", "draws"]
    return PageTable("draws", "The same cells over draws of the data", note, header, rows, records)


def smoothing(findings: Findings) -> PageTable:
    """Show the walks with other smoothing parameters."""
    methods = dict.fromkeys(SMOOTHED.values())
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for method in methods:
        names = [name for name, own in SMOOTHED.items() if own == method]
        for name in (method, *names):
            trials = findings.trials if name == method else findings.varied
            samples = {dataset: trials.sample(dataset, name) for dataset in DATASETS}
            rows.append(
                [name, *(Cell(spread(sample) if sample.n else NOTHING, sample.mean) for sample in samples.values())]
            )
            records += [{"method": name, "dataset": d, "mean": s.mean, "sd": s.sd} for d, s in samples.items()]
    note = "Test error in % of thorough walks; low and high are a = 0.03 and 0.3, c1 = 2.5 and 10, η = 0.3 and 3."
    header = ["Walk", *DATASETS.values()]
    return PageTable("smoothing", "Other smoothing parameters", note, header, rows, records)


def papers_sampler(findings: Findings) -> PageTable | None:
    """Show the ascents by the paper's sampler next to guided ones from the same start; None without any."""
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for dataset, label in DATASETS.items():
        own, guided = findings.trials.done(dataset, "hmc-ascent"), findings.varied.done(dataset, REPEATED)
        if not own or len(guided) < 2:
            continue
        end, ends = np.log(own[0].hyperparameters or ()), np.log([row.hyperparameters or () for row in guided])
        moved = np.abs(end - ends.mean(axis=0))
        apart = moved / (ends.std(axis=0, ddof=1) * np.sqrt(1 + 1 / len(ends)))
        error = 100 * (own[0].test_error or 0.0)
        sample = findings.varied.sample(dataset, REPEATED)
        assert sample.mean is not None
        points = paper.SIZES[dataset][2]
        z = (error - sample.mean) / max(np.hypot(counted_error(error, points), sample.sd or 0.0), 1e-12)
        seconds, published = own[0].extra["step_seconds"], paper.SECONDS[dataset][5]
        faster = findings.varied.seconds_per_step(dataset, REPEATED)
        rows.append(
            [
                label,
                Cell(f"{error:.1f}", error),
                Cell(spread(sample), sample.mean),
                Cell(minus(f"{z:+.1f}"), z),
                Cell(f"{np.median(apart):.1f}", float(np.median(apart)), detail=f"{np.median(moved):.2g} in ln λ"),
                own[0].evaluations,
                Cell(f"{seconds:.2g}", seconds, detail=f"{published:,}; ×{published / seconds:,.0f}"),
                Cell(f"{faster:.2g}", faster) if faster else None,
            ]
        )
        records.append({"dataset": dataset, "error": error, "guided": sample.mean, "z": z, "seconds": seconds})
    if not rows:
        return None
    note = (
        "One ascent with the paper's Hybrid Monte Carlo, 20,000 steps discarded and 20,000 made use of for each "
        f"gradient, next to {len(guided)} with the sampler guided by expectation propagation from the same start. The "
        "difference of the ends in ln λ is in standard deviations of the guided ones, the median over hyperparameters. "
        "Seconds are CPU time of a step; below, the paper's."
    )
    header = [
        "Data set",
        "test error (%)",
        "guided",
        "difference in standard errors",
        "difference of the ends",
        "steps",
        "seconds of a step",
        "guided, seconds",
    ]
    return PageTable("hmc", "Ascents by the paper's own sampler", note, header, rows, records)


def votes(found: Sequence[MajorityVote]) -> PageTable:
    """Show what the ends of all trials of a criterion say together."""
    rows: list[list[Value]] = []
    for dataset in dict.fromkeys(vote.dataset for vote in found):
        line: list[Value] = [paper.label(dataset)]
        for column in SIMPLE:
            vote = next((v for v in found if (v.dataset, v.method) == (dataset, column.method)), None)
            text = NOTHING if vote is None else f"{vote.together:.1f}"
            tone = "" if vote is None else "good" if vote.gain > 0 else "bad"
            detail = "" if vote is None else f"single {vote.single:.1f}"
            line.append(Cell(text, None if vote is None else vote.together, tone, detail))
        rows.append(line)
    note = (
        "Test error in % of the majority of the SVMs at the ends of all walks; below it, the mean of the single ones. "
        "Green: fewer errors together."
    )
    header = ["Data set", *(column.label for column in SIMPLE)]
    return PageTable("votes", "Local optima that vote", note, header, rows, [vars(vote) for vote in found])


def _cell(cell: Comparison) -> Cell:
    if not cell.ours.n:
        return Cell(NOTHING)
    tone = "good" if cell.within(1) else "bad" if cell.within(2) is False else ""
    return Cell(spread(cell.ours), cell.ours.mean, tone)


def _record(setting: str, cell: Comparison) -> dict[str, object]:
    return {
        "dataset": cell.dataset,
        "column": cell.column.label,
        "setting": setting,
        "published": cell.published,
        "published_sd": cell.published_sd,
        "mean": cell.ours.mean,
        "sd": cell.ours.sd,
        "trials": cell.ours.n,
    }


def _plain(value: float | None) -> Value:
    return None if value is None else Cell(f"{value:.1f}", value)
