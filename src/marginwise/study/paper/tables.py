"""The paper's tables with our numbers next to the published ones, and those of what it leaves open, by one writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

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
    over_draws,
    with_own,
)
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.numbers import DATASETS, EVIDENCE, PREVIOUS_COLUMNS, SIMPLE, PaperColumn
from marginwise.study.paper.probes import FLIPPED, NOISE_DRAWS
from marginwise.study.paper.settings import (
    ASCENT_SETTINGS,
    DELVE,
    DRAWN,
    HMC,
    MAXIMISED,
    SCANNED_SMOOTHING,
    SMOOTHED,
    THOROUGH,
    WALK_SETTINGS,
    in_setting,
    nearest,
)
from marginwise.study.report import tables as report
from marginwise.study.report.summary import Sample, Trials
from marginwise.study.report.tables import C, Entry, R, spread

#: A cell of table tab:results.
Where = tuple[str, PaperColumn]

#: What is said around the numbers, from ``words.toml``.
WORDS = paper.declared("words")


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
    return report.grid(stem or name, *titled(name, **fill), rows, columns, entry, corner)


def sample_entry(sample: Sample, detail: str = "") -> Entry | None:
    """Return an entry with mean, spread and number of trials; None without any."""
    if not sample.n:
        return None
    return Cell(spread(sample), sample.mean, "", detail), {"mean": sample.mean, "sd": sample.sd, "trials": sample.n}


def cell_entry(cell: Comparison, *, theirs: bool = True) -> Entry:
    """Return an entry with our mean, coloured by how near it is to theirs, which stands below."""
    tone = "good" if cell.within(1) else "bad" if cell.within(2) is False else ""
    shown = Cell(spread(cell.ours), cell.ours.mean, tone, theirs_of(cell) if theirs else "")
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


def theirs_of(cell: Comparison) -> str:
    """Return what the paper has in a cell; nothing if it has not."""
    if cell.published is None:
        return ""
    return f"{cell.published:.1f}" + ("" if cell.published_sd is None else f" ± {cell.published_sd:.1f}")


def labels_of(columns: Sequence[PaperColumn]) -> dict[PaperColumn, str]:
    return {column: column.label for column in columns}


def cell_names(columns: Sequence[PaperColumn], datasets: Iterable[str] = DATASETS) -> dict[Where, str]:
    return {(d, column): f"{paper.label(d)}, {column.label}" for d in datasets for column in columns}


def claims(findings: Findings) -> PageTable:
    """List the paper's claims, each with its verdict in every setting, and the numbers and the rule behind it."""
    tones = {HOLDS: "good", ANSWERED: "good", IN_PART: "mixed", FAILS: "bad", UNTESTED: ""}
    views = {name: judged(view) for name, view in findings.settings().items()}
    elsewhere = held_in(findings) if findings.varied else {}
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
        labels_of(columns),
        lambda dataset, column: cell_entry(compared(trials, dataset, column)),
        stem=f"table3-{_stem(setting)}-wide",
        setting=setting,
    )


def cells(trials: Trials, setting: str) -> PageTable:
    """Return the cells of table tab:results one by one, and others that have trials."""
    shown = [cell for cell in compare_means(trials) if cell.published is not None or cell.ours.n]
    rows: list[list[Value]] = [
        [
            cell.name,
            Cell(theirs_of(cell) or NOTHING, cell.published),
            Cell(spread(cell.ours), cell.ours.mean),
            signed(cell.difference),
            signed(cell.in_standard_errors),
            _verdict(cell),
        ]
        for cell in shown
    ]
    header = ["Cell", "paper", "ours", "difference", "in standard errors", "our mean is"]
    records = [{"dataset": cell.dataset, "column": cell.column.label, **cell_entry(cell)[1]} for cell in shown]
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
        known = f"Ours: {cell.ours.best:.1f} to {cell.ours.worst:.1f} %, median {cell.ours.median:.1f}. "
        tried = experiments(findings, cell)
        if moved := movers(findings, cell):
            known += f"Of {len(tried)} experiments these bring it within one: {'; '.join(moved)}."
        elif tried:
            name, other = min(tried.items(), key=lambda one: abs(one[1].distance or np.inf))
            nearest_one = f"the nearest is with {name} ({spread(other.ours)})"
            known += f"None of {len(tried)} experiments brings it within one; {nearest_one}."
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
    """Return the experiments that bring a cell within one of the paper's standard deviations."""
    found = experiments(findings, cell).items()
    return [f"with {name} ({spread(other.ours)})" for name, other in found if other.within(1)]


def experiments(findings: Findings, cell: Comparison) -> dict[str, Comparison]:
    """Return what a cell is elsewhere, where there are trials: in other settings and smoothing, on other draws."""
    trials, walked = findings.trials, cell.column in SIMPLE
    own, kind = nearest(cell.column.method), "walks" if walked else "ascents"
    settings: Iterable[str] = WALK_SETTINGS if walked else ASCENT_SETTINGS
    tried = {f"the {kind} {key}": in_setting(cell.column.method, key) for key in settings}
    smoothed = (SMOOTHED | SCANNED_SMOOTHING).items()
    tried |= {name: name for name, one in smoothed if walked and one.walk == cell.column.method}
    found = {n: compared(trials, cell.dataset, cell.column, method) for n, method in tried.items() if method != own}
    if (file := DELVE.get(cell.dataset)) is not None:
        found["the file of the DELVE archive"] = compared(trials, cell.dataset, cell.column, own, file)
    if cell.dataset == "crabs":
        coloured = over_draws(trials, cell.dataset, cell.column, own, coloured=True)
        found["the mean over draws even in colour alone"] = coloured
    if cell.dataset in DRAWN:
        found["the mean over draws"] = over_draws(trials, cell.dataset, cell.column, own)
    return {name: other for name, other in found.items() if other.ours.n}


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
        z, theirs = cell.in_standard_errors, theirs_of(cell)
        tone = "" if z is None else "bad" if abs(z) > 2 else "good" if abs(z) <= 1 else ""
        apart = "" if z is None else f"; {minus(f'{z:+.1f}')} se"
        text = NOTHING if cell.value is None else f"{cell.value:.1f} ({cell.ours.n})"
        return Cell(text, cell.value, tone, f"{theirs}{apart}"), cell_entry(cell)[1]

    rows, stem = all_datasets(trials), f"{name}-{_stem(setting)}" if setting else name
    return grid(name, rows, labels_of(with_own(columns, trials)), entry, stem=stem, setting=setting)


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
    columns = labels_of([alone, *with_own((*paper.SEARCHED, _BY_HMC), trials)])
    return grid("table2-times", all_datasets(trials), columns, entry, ratios=ratios)


#: Evidence ascent by the paper's own sampler.
_BY_HMC = PaperColumn("Evid grad, HMC", HMC)


def lengths(findings: Findings) -> PageTable:
    """Return how many steps of the paper's walks fit into its hour, next to the evaluations of ours."""
    trials = findings.trials

    def entry(dataset: str, column: PaperColumn) -> Entry:
        hour = in_an_hour(dataset, column)
        found = {key: mean for key in (THOROUGH, "loose", "looser") if (mean := sweeps(trials, dataset, column, key))}
        text = ", ".join(f"{key} {mean:,.0f}{' !' if mean > hour else ''}" for key, mean in found.items())
        return Cell(f"{hour:,.0f}", hour, detail=text), {"in_an_hour": hour, **found}

    return grid("lengths", DATASETS, labels_of(SIMPLE), entry)


def sweeps(trials: Trials, dataset: str, column: PaperColumn, setting: str) -> float | None:
    """Return how many sweeps over all hyperparameters the walks of a criterion take in a setting, on average."""
    mean = trials.sample(dataset, in_setting(column.method, setting), "evaluations").mean
    return None if mean is None else mean / searched(dataset, column)


def in_an_hour(dataset: str, column: PaperColumn) -> float:
    """Return how many steps of a simple criterion fit into an hour, by the paper's times."""
    return 3600 / paper.SECONDS[dataset][1 + SIMPLE.index(column)]


def searched(dataset: str, column: PaperColumn) -> int:
    """Return how many hyperparameters a criterion's walk moves: length scales, k0, koff, and with the evidence C."""
    return paper.SIZES[dataset][0] + (3 if column in SIMPLE[:2] else 2)


def durations(trials: Trials) -> PageTable:
    """Return how long whole searches take, next to what the paper says of its own."""
    columns = labels_of((*paper.SEARCHED, _BY_HMC))
    return grid(
        "durations", DATASETS, columns, lambda d, column: sample_entry(trials.sample(d, column.method, "seconds"))
    )


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
    return grid("scans", rows, labels_of(paper.SEARCHED), entry, stem=f"scans-{_stem(setting)}", setting=setting)


def known_noise(findings: Findings) -> PageTable:
    """Show where the evidence is greatest on data with known noise."""

    def entry(flipped: float, what: str) -> Entry | None:
        names = [f"noise-{flipped:g}-{draw}" for draw in range(NOISE_DRAWS)]
        if what == "test error (%)":
            errors = (findings.trials.sample(name, MAXIMISED).values for name in names)
            return sample_entry(Sample(tuple(chain.from_iterable(errors))))
        ends = [end["Ck".index(what[0])] for name in names for end in findings.trials.hyperparameters(name, MAXIMISED)]
        if not ends:
            return None
        middle = float(np.median(ends))
        return Cell(f"{middle:,.3g} ({len(ends)})", middle, detail=f"{min(ends):,.3g} to {max(ends):,.3g}"), {}

    columns = {what: what for what in ("k0", "C", "test error (%)")}
    return grid("known-noise", {p: f"{p:.0%}" for p in FLIPPED}, columns, entry, "Labels flipped")


def _stem(setting: str) -> str:
    return setting.replace(" ", "-")
