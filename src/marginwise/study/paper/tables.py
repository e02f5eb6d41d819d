"""The paper's tables with our numbers next to the published ones, and those of what it leaves open, by one writer."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from marginwise.datasets.benchmarks import load_benchmark
from marginwise.display.page import NOTHING, Cell, Value, as_cell
from marginwise.display.table import PageTable, minus, signed
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.claims import ANSWERED, CLAIMS, FAILS, HOLDS, IN_PART, UNTESTED, held_in, judged
from marginwise.study.paper.compare import (
    Comparison,
    all_datasets,
    compare_best,
    compare_means,
    compare_previous,
    compared,
    nearness,
    over_draws,
    with_own,
)
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.numbers import DATASETS, EARLY, EVIDENCE, PREVIOUS_COLUMNS, SIMPLE, PaperColumn
from marginwise.study.paper.optima import SCANNED
from marginwise.study.paper.probes import CS, FLIPPED, GRADIENTS, NOISE_DRAWS, SIZED
from marginwise.study.paper.settings import (
    ASCENT_SETTINGS,
    DELVE,
    DRAWN,
    EP_ASCENT,
    HMC,
    MAXIMISED,
    NEAREST,
    NORMALISED,
    REPEATED,
    SCANNED_SMOOTHING,
    SMOOTHED,
    THOROUGH,
    WALK_SETTINGS,
    AscentSetting,
    WalkSetting,
    in_setting,
    nearest,
)
from marginwise.study.report.summary import Sample, Trials
from marginwise.study.report.tables import spread

#: A cell of table tab:results.
Where = tuple[str, PaperColumn]

R = TypeVar("R")
C = TypeVar("C")

#: What a cell of a table shows, and what is written of it as CSV.
Entry = tuple[Value, dict[str, object]]

#: What is said around the numbers, from ``words.toml``.
WORDS: Mapping[str, Any] = tomllib.loads(files(__package__).joinpath("words.toml").read_text(encoding="utf-8"))


def titled(name: str, /, **fill: object) -> tuple[str, str]:
    """Return the title of a table, and how to read it."""
    title, note = (text.format(**WORDS["common"], **fill) for text in WORDS["tables"][name])
    return title, note


def grid(
    name: str,
    rows: Mapping[R, str],
    columns: Mapping[C, str],
    entry: Callable[[R, C], Entry | None],
    corner: str = "Data set",
    stem: str = "",
    **fill: object,
) -> PageTable:
    """Return a table with an entry for each row and column; rows without any are left out.

    ``name`` is that of its words, which ``fill`` fills in; ``stem`` that of its file, where it is another.
    """
    shown: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for row, label in rows.items():
        found = [entry(row, column) for column in columns]
        if not any(found):
            continue
        shown.append([label, *(None if one is None else one[0] for one in found)])
        for column_label, one in zip(columns.values(), found, strict=True):
            if one is not None:
                records.append({corner.lower(): label, "column": column_label, **one[1]})
    return PageTable(stem or name, *titled(name, **fill), [corner, *columns.values()], shown, records)


def _sample(sample: Sample, detail: str = "") -> Entry | None:
    """Return an entry with mean, spread and number of trials; None without any."""
    if not sample.n:
        return None
    return Cell(spread(sample), sample.mean, "", detail), {"mean": sample.mean, "sd": sample.sd, "trials": sample.n}


def _cell(cell: Comparison, *, theirs: bool = True) -> Entry:
    """Return an entry with our mean, coloured by how near it is to theirs, which stands below."""
    tone = "good" if cell.within(1) else "bad" if cell.within(2) is False else ""
    shown = Cell(spread(cell.ours), cell.ours.mean, tone, _theirs(cell) if theirs else "")
    return shown, {
        "dataset": cell.dataset,
        "method": cell.column.method,
        "published": cell.published,
        "published_sd": cell.published_sd,
        "ours": cell.value,
        "ours_sd": cell.ours.sd,
        "trials": cell.ours.n,
        "difference": cell.difference,
        "standard_error": cell.standard_error,
        "in_standard_errors": cell.in_standard_errors,
        "within_1_sd": cell.within(1),
        "within_2_sd": cell.within(2),
    }


def _theirs(cell: Comparison) -> str:
    """Return what the paper has in a cell; nothing if it has not."""
    if cell.published is None:
        return ""
    return f"{cell.published:.1f}" + ("" if cell.published_sd is None else f" ± {cell.published_sd:.1f}")


def _labels(columns: Sequence[PaperColumn]) -> dict[PaperColumn, str]:
    return {column: column.label for column in columns}


def _cell_names(columns: Sequence[PaperColumn], datasets: Iterable[str] = DATASETS) -> dict[Where, str]:
    return {(d, column): f"{paper.label(d)}, {column.label}" for d in datasets for column in columns}


def claims(findings: Findings) -> PageTable:
    """List the paper's claims, each with its verdict in every setting, and the numbers and the rule behind it."""
    tones = {HOLDS: "good", ANSWERED: "good", IN_PART: "mixed", FAILS: "bad", UNTESTED: ""}
    views = {name: judged(view) for name, view in findings.settings().items()}
    elsewhere = held_in(findings) if findings.varied.rows else {}
    rows: list[list[Value]] = []
    records: list[dict[str, object]] = []
    for number, claim in enumerate(CLAIMS, start=1):
        found = {name: view[claim] for name, view in views.items()}
        told = {one.numbers: name for name, one in reversed(found.items())}  # once where both say the same
        numbers = " ".join(t if len(told) == 1 else f"{n.capitalize()}: {t}" for t, n in reversed(told.items()))
        holds, known = elsewhere.get(claim, ((), ()))
        if known:
            numbers += (
                f" Of {len(known)} other settings it holds in {len(holds)}{': ' * bool(holds)}{'; '.join(holds)}."
            )
        verdicts = {name: one.verdict for name, one in found.items()}
        shown = [Cell(verdict, None, tones[verdict]) for verdict in verdicts.values()]
        statement = Cell(claim.statement, detail=f"Section: {claim.section}")
        rows.append([number, statement, *shown, Cell(numbers, detail=f"Rule: {claim.rule}")])
        about = {"numbers": numbers, "rule": claim.rule, "section": claim.section}
        records.append({"statement": claim.statement, **verdicts, **about})
    return PageTable("claims", *titled("claims"), ["No.", "The paper says", *views, "by these numbers"], rows, records)


def means(trials: Trials, setting: str) -> PageTable:
    """Return table tab:results, each cell next to ours, and the honest early stopping that the paper proposes."""
    columns = list(with_own(paper.COLUMNS, trials))
    columns.insert(len(paper.COLUMNS), PaperColumn("ES, validated", EVIDENCE.method, "early_error"))
    return grid(
        "table3-wide",
        all_datasets(trials),
        _labels(columns),
        lambda dataset, column: _cell(compared(trials, dataset, column)),
        stem=f"table3-{_stem(setting)}-wide",
        setting=setting,
    )


def cells(trials: Trials, setting: str) -> PageTable:
    """Return the cells of table tab:results one by one, and others that have trials."""
    shown = [cell for cell in compare_means(trials) if cell.published is not None or cell.ours.n]
    rows: list[list[Value]] = [
        [
            cell.name,
            Cell(_theirs(cell) or NOTHING, cell.published),
            Cell(spread(cell.ours), cell.ours.mean),
            signed(cell.difference),
            signed(cell.in_standard_errors),
            _verdict(cell),
        ]
        for cell in shown
    ]
    header = ["Cell", "paper", "ours", "difference", "in standard errors", "our mean is"]
    records = [{"dataset": cell.dataset, "column": cell.column.label, **_cell(cell)[1]} for cell in shown]
    return PageTable(f"table3-{_stem(setting)}", *titled("table3", setting=setting), header, rows, records)


def _verdict(cell: Comparison) -> Value:
    if cell.distance is None:
        return None
    if paper.impossible(cell.dataset, cell.column):
        return "not counted"
    far = abs(cell.distance)
    text = "within 1 sd" if cell.within(1) else "within 2 sd" if cell.within(2) else f"{far:.1f} sd away"
    return Cell(text, far, "good" if cell.within(1) else "" if cell.within(2) else "bad")


def misses(findings: Findings) -> PageTable:
    """List cells not within one of the paper's standard deviations, with the experiments that move them there."""
    rows: list[list[Value]] = []
    for cell in missed(findings.nearest().trials):
        known = f"Ours: {cell.ours.best:.1f} to {cell.ours.worst:.1f} %, median {cell.ours.median:.1f}."
        moved = movers(findings, cell)
        known += f" Within one standard deviation {'; '.join(moved)}." if moved else " By no experiment within one."
        rows.append([cell.name, signed(cell.distance), known])
    header = ["Cell", "ours − theirs, in their sd", "what experiments show"]
    records: list[dict[str, object]] = [
        {"cell": name, "in_their_sd": as_cell(far).value, "known": known} for name, far, known in rows
    ]
    return PageTable("misses", *titled("misses"), header, rows, records)


def missed(trials: Trials, multiple: float = 1) -> list[Comparison]:
    """Return the cells of the main table whose mean is not within so many of the paper's standard deviations."""
    found = [cell for cell in compare_means(trials) if cell.within(multiple) is False]
    return [cell for cell in found if not paper.impossible(cell.dataset, cell.column)]


def movers(findings: Findings, cell: Comparison) -> list[str]:
    """Return what brings a cell within one of the paper's standard deviations: settings, smoothing, other draws."""
    trials, walked = findings.everything(), cell.column in SIMPLE
    own, kind = nearest(cell.column.method), "walks" if walked else "ascents"
    settings: Iterable[str] = WALK_SETTINGS if walked else ASCENT_SETTINGS
    tried = {f"the {kind} {key}": in_setting(cell.column.method, key) for key in settings}
    tried |= {name: name for name, method in SMOOTHED.items() if method == cell.column.method}
    tried |= {name: name for name, (label, _, _) in SCANNED_SMOOTHING.items() if label == cell.column.label}
    found = {name: compared(trials, cell.dataset, cell.column, method) for name, method in tried.items()}
    if (file := DELVE.get(cell.dataset)) is not None:
        found["the file of the DELVE archive"] = compared(trials, cell.dataset, cell.column, own, file)
    if cell.dataset == "crabs":
        coloured = over_draws(trials, cell.dataset, cell.column, own, coloured=True)
        found["the mean over draws even in colour alone"] = coloured
    if cell.dataset in DRAWN:
        found["the mean over draws"] = over_draws(trials, cell.dataset, cell.column, own)
    return [f"with {name} ({spread(other.ours)})" for name, other in found.items() if other.within(1)]


def best(trials: Trials, setting: str) -> PageTable:
    """Return table tab:bestresults."""
    return _single("table4", trials, paper.COLUMNS, compare_best(trials), setting)


def previous(trials: Trials) -> PageTable:
    """Return table tab:prevresults, the methods of previous work run again."""
    return _single("table5-previous", trials, PREVIOUS_COLUMNS, compare_previous(trials))


def _single(
    name: str, trials: Trials, columns: Sequence[PaperColumn], compared: list[Comparison], setting: str = ""
) -> PageTable:
    """Return a table of single errors; a dash where the paper has one."""
    found = {(cell.dataset, cell.column): cell for cell in compared}

    def entry(dataset: str, column: PaperColumn) -> Entry | None:
        if (cell := found.get((dataset, column))) is None:
            return None
        z, theirs = cell.in_standard_errors, _theirs(cell)
        tone = "" if z is None else "bad" if abs(z) > 2 else "good" if abs(z) <= 1 else ""
        apart = "" if z is None else f"; {minus(f'{z:+.1f}')} se"
        text = NOTHING if cell.value is None else f"{cell.value:.1f} ({cell.ours.n})"
        return Cell(text, cell.value, tone, f"{theirs}{apart}"), _cell(cell)[1]

    rows, stem = all_datasets(trials), f"{name}-{_stem(setting)}" if setting else name
    return grid(name, rows, _labels(with_own(columns, trials)), entry, stem=stem, setting=setting)


def sizes(own: Mapping[str, tuple[int, int, int]] | None = None) -> PageTable:
    """Return table tab:data next to the sets that the library has, and the sizes of ``own`` sets."""
    ours = {name: (d.n_inputs, len(d.y_train), len(d.y_test)) for name in DATASETS for d in [load_benchmark(name)]}
    every = {**ours, **(own or {})}

    def entry(dataset: str, place: int) -> Entry:
        here, there = every[dataset][place], paper.SIZES.get(dataset, (None,) * 3)[place]
        return Cell(f"{here}", here, detail="" if there is None else f"{there}"), {"ours": here, "published": there}

    columns = dict(enumerate(("inputs", "training", "test")))
    return grid("table1-data", {name: paper.label(name) for name in every}, columns, entry)


def test_rows() -> PageTable:
    """Return how many of the paper's best errors fit its numbers of test rows, and others near them."""

    def entry(dataset: str, fewer: int) -> Entry:
        rows = paper.SIZES[dataset][2] - fewer
        count = paper.fitting(dataset, rows)
        return Cell(f"{count} of 6", count, detail=f"{rows} rows"), {"rows": rows, "fitting": count}

    columns = {0: "as printed", **{k: f"{k} fewer" for k in (1, 2, 3)}, -1: "one more"}
    return grid("test-rows", DATASETS, columns, entry)


def times(trials: Trials) -> PageTable:
    """Return table tab:time next to our seconds of an evaluation."""
    alone = PaperColumn("SVM", "SVM")

    def entry(dataset: str, column: PaperColumn) -> Entry:
        theirs = dict(zip(paper.TIME_COLUMNS, paper.SECONDS.get(dataset, ()), strict=False))
        found = trials.svm_seconds(dataset) if column == alone else trials.seconds_per_step(dataset, column.method)
        published = theirs.get(EVIDENCE.label if column == _BY_HMC else column.label)
        steps = searched(dataset, column) if column in SIMPLE and dataset in DATASETS else 1
        found = None if found is None else found * steps
        factor = published / found if found and published else None
        below = "" if published is None else f"{published:g}" + ("" if factor is None else f"; ×{factor:,.0f}")
        numbers: dict[str, object] = {"dataset": dataset, "published": published, "ours": found, "factor": factor}
        return Cell(NOTHING if not found else f"{found:.2g}", found, detail=below), numbers

    ratios = ", ".join(
        f"{label} {paper.SECONDS[d][3] / paper.SECONDS[d][0]:.0f} of {searched(d, SIMPLE[2])}"
        for d, label in DATASETS.items()
    )
    columns = _labels([alone, *with_own((*paper.SEARCHED, _BY_HMC), trials)])
    return grid("table2-times", all_datasets(trials), columns, entry, ratios=ratios)


#: Evidence ascent by the paper's own sampler.
_BY_HMC = PaperColumn("Evid grad, HMC", HMC)


def lengths(findings: Findings) -> PageTable:
    """Return how many steps of the paper's walks fit into its hour, next to the evaluations of ours."""
    trials = findings.everything()

    def entry(dataset: str, column: PaperColumn) -> Entry:
        hour = 3600 / paper.SECONDS[dataset][1 + SIMPLE.index(column)]
        found = {key: mean for key in (THOROUGH, "loose", "looser") if (mean := sweeps(trials, dataset, column, key))}
        text = ", ".join(f"{key} {mean:,.0f}{' !' if mean > hour else ''}" for key, mean in found.items())
        return Cell(f"{hour:,.0f}", hour, detail=text), {"in_an_hour": hour, **found}

    return grid("lengths", DATASETS, _labels(SIMPLE), entry)


def sweeps(trials: Trials, dataset: str, column: PaperColumn, setting: str) -> float | None:
    """Return how many sweeps over all hyperparameters the walks of a criterion take in a setting, on average."""
    mean = trials.sample(dataset, in_setting(column.method, setting), "evaluations").mean
    return None if mean is None else mean / searched(dataset, column)


def searched(dataset: str, column: PaperColumn) -> int:
    """Return how many hyperparameters a criterion's walk moves: length scales, k0, koff, and with the evidence C."""
    return paper.SIZES[dataset][0] + (3 if column in SIMPLE[:2] else 2)


def durations(trials: Trials) -> PageTable:
    """Return how long whole searches take, next to what the paper says of its own."""
    columns = _labels((*paper.SEARCHED, _BY_HMC))
    return grid("durations", DATASETS, columns, lambda d, column: _sample(trials.sample(d, column.method, "seconds")))


def barriers(findings: Findings, setting: str) -> PageTable:
    """Return how many pairs of ends are separate optima, by data set and criterion."""

    def entry(dataset: str, column: PaperColumn) -> Entry | None:
        found = [s for s in findings.scans if (s.dataset, s.method) == (dataset, column.method)]
        separate, greatest = sum(s.separate for s in found), max((s.barrier for s in found), default=0.0)
        if not found:
            return None
        numbers: dict[str, object] = {"separate": separate, "pairs": len(found), "greatest": greatest}
        return Cell(f"{separate} of {len(found)}", separate, detail=f"{greatest:.2g}"), numbers

    rows = {name: paper.label(name) for name in dict.fromkeys([*DATASETS, *(s.dataset for s in findings.scans)])}
    return grid("scans", rows, _labels(SCANNED), entry, stem=f"scans-{_stem(setting)}", setting=setting)


def settings(findings: Findings) -> list[PageTable]:
    """Show the declared settings of walks and ascents: what they are, the paper's cells in each, and how near it is."""
    found, trials = [], findings.everything()
    kinds: dict[str, tuple[Mapping[str, WalkSetting | AscentSetting], Sequence[PaperColumn]]] = {
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
    names = _cell_names(columns)
    shown = [k for k in keys if any(trials.done(d, in_setting(column.method, k)) for d, column in names)]

    def entry(where: Where, key: str) -> Entry | None:
        dataset, column = where
        cell = compared(trials, dataset, column, in_setting(column.method, key))
        if key == "paper":
            return Cell(_theirs(cell), cell.published), {"published": cell.published}
        return _cell(cell, theirs=False) if cell.ours.n else None

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
    trials = findings.everything()

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
    trials = findings.everything()

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
            theirs = _theirs(compared(trials, dataset, column)) or (NOTHING if quoted is None else f"{quoted:.1f}")
            return Cell(theirs), {}
        return _cell(cell, theirs=False) if (cell := found[what]()).ours.n > 1 else None

    columns = ("paper", "own draw", "over draws", "even in colour alone", "DELVE file")
    rows = _cell_names((*paper.COLUMNS, *PREVIOUS_COLUMNS), DRAWN)
    return grid("draws", rows, {what: what for what in columns}, entry, "Cell")


def smoothing(findings: Findings) -> list[PageTable]:
    """Show walks with other smoothing parameters: thorough ones, and those of the scan in the nearest setting."""
    trials, columns = findings.everything(), {column.label: column for column in SIMPLE}
    methods = dict.fromkeys(SMOOTHED.values())
    rows = {name: name for method in methods for name in (method, *(n for n, own in SMOOTHED.items() if own == method))}
    scanned = {(nearest(columns[label].method), label): f"{label}, as printed" for label in ("LE2", "Span")}
    scanned |= {(name, label): f"{label}, {words}" for name, (label, _, words) in SCANNED_SMOOTHING.items()}

    def entry(walk: tuple[str, str], dataset: str) -> Entry | None:
        cell = compared(trials, dataset, columns[walk[1]], walk[0])
        return _cell(cell, theirs=False) if cell.ours.n else None

    return [
        grid("smoothing", rows, DATASETS, lambda name, dataset: _sample(trials.sample(dataset, name)), "Walk"),
        grid("smoothing-scan", scanned, DATASETS, entry, "Walk"),
    ]


def papers_sampler(findings: Findings) -> PageTable | None:
    """Show the ascents by the paper's sampler next to guided ones from the same start; None without any."""
    trials = findings.everything()

    def entry(dataset: str, what: str) -> Entry | None:
        own, guided = trials.done(dataset, HMC), trials.done(dataset, REPEATED)
        if not own or len(guided) < 2:
            return None
        if what == "steps":
            return own[0].evaluations, {}
        if what in ("test error (%)", "guided"):
            return _sample(trials.sample(dataset, REPEATED if what == "guided" else HMC))
        ends = np.log([row.hyperparameters or () for row in guided])
        moved = np.abs(np.log(own[0].hyperparameters or ()) - ends.mean(axis=0))
        apart = float(np.median(moved / (ends.std(axis=0, ddof=1) * np.sqrt(1 + 1 / len(ends)))))
        return Cell(f"{apart:.1f}", apart, detail=f"{np.median(moved):.2g} in ln λ"), {"ends": apart}

    columns = ("test error (%)", "guided", "difference of the ends", "steps")
    table = grid("hmc", DATASETS, {name: name for name in columns}, entry)
    return table if table.rows else None


def normalised(findings: Findings) -> PageTable | None:
    """Show ascents on the evidence as it is and on that of the normalised model, from the same starts; None without."""
    trials = findings.everything()
    models, ends = (
        {EP_ASCENT: "as it is", NORMALISED: "normalised"},
        {"test": "last", "oracle": "least", "early": "validated"},
    )
    kinds = {(m, f"{end}_error"): f"{model}, {what}" for m, model in models.items() for end, what in ends.items()}
    table = grid("normalised", DATASETS, kinds, lambda dataset, kind: _sample(trials.sample(dataset, *kind)))
    return table if table.rows else None


def pairs(findings: Findings) -> PageTable | None:
    """Show TunedSVC against the ascents, row by row of the test set; None without any."""
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
    table = grid("pairs", DATASETS, columns, entry)
    return table if table.rows else None


def votes(findings: Findings) -> PageTable:
    """Show what the ends of all trials of a criterion say together."""
    found = {(vote.dataset, vote.method): vote for vote in findings.votes}

    def entry(dataset: str, column: PaperColumn) -> Entry | None:
        if (vote := found.get((dataset, column.method))) is None:
            return None
        tone, single = "good" if vote.gain > 0 else "bad", f"single {vote.single:.1f}, chosen {vote.chosen:.1f}"
        return Cell(f"{vote.together:.1f} ({vote.voters})", vote.together, tone, single), vars(vote)

    return grid("votes", {dataset: paper.label(dataset) for dataset, _ in found}, _labels(SIMPLE), entry)


def known_noise(findings: Findings) -> PageTable | None:
    """Show where the evidence is greatest on data with known noise; None without any."""
    trials = findings.varied

    def entry(flipped: float, what: str) -> Entry | None:
        names = [f"noise-{flipped:g}-{draw}" for draw in range(NOISE_DRAWS)]
        ends = [end for name in names for end in trials.hyperparameters(name, MAXIMISED)]
        if not ends:
            return None
        values = np.array(ends)[:, 0 if what == "C" else 1]
        if what == "test error (%)":
            return _sample(Sample(tuple(v for name in names for v in trials.sample(name, MAXIMISED).values)))
        middle = float(np.median(values))
        return Cell(f"{middle:,.3g} ({len(ends)})", middle, detail=f"{values.min():,.3g} to {values.max():,.3g}"), {}

    columns = {what: what for what in ("k0", "C", "test error (%)")}
    table = grid("known-noise", {p: f"{p:.0%}" for p in FLIPPED}, columns, entry, "Labels flipped")
    return table if table.rows else None


def sampling_cost(findings: Findings) -> PageTable | None:
    """Show what a gradient by the paper's sampler costs, by rows and C; None without any."""
    trials = findings.varied

    def entry(dataset: str, method: str) -> Entry | None:
        if not (rows := trials.done(dataset, method)):
            return None
        seconds, noise, zeros = (rows[0].extra[name] for name in ("step_seconds", "noise", "zeros"))
        shown = f"noise {noise:.0%}, all zero {zeros:.0%}"
        return Cell(f"{seconds:.2g} s", seconds, detail=shown), dict(rows[0].extra)

    columns = {name: f"C = {C:g}" for name, C in zip(GRADIENTS, CS, strict=True)}
    table = grid("sampling-cost", {name: name.removeprefix("rows-") for name in SIZED}, columns, entry, "Rows")
    return table if table.rows else None


def _stem(setting: str) -> str:
    return setting.replace(" ", "-")
