"""How far unstated details move cells: distances by hand, halves, draws, and the tables that show them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marginwise.display.table import PageTable
from marginwise.study.paper import numbers as paper
from marginwise.study.paper import report, tables, variations
from marginwise.study.paper.compare import (
    compare_means,
    joint_place,
    judged_on_other_half,
    nearness,
    over_draws,
)
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.numbers import DATASETS, SIMPLE
from marginwise.study.paper.settings import HMC, NEAREST_WALK, REPEATED, THOROUGH, WALK_SETTINGS, colour_draws, nearest
from marginwise.study.paper.story import first_part
from marginwise.study.record import TrialRow
from marginwise.study.report.summary import Trials
from synthetic_study import paper_rows

#: Moves the cells of a setting by so many of the paper's standard deviations.
SHIFTS = {"bold": 0.5, "loose": 2.0}


#: Walks in a setting.
NAMES = {f"{column.method}-{setting}" for column in SIMPLE for setting in SHIFTS}


def _shifted(rows, setting, multiple):
    """Return the walks' rows in another setting, each mean moved by a multiple of the paper's standard deviation."""
    found = []
    for row in rows:
        columns = [column for column in SIMPLE if column.method == row.method]
        if columns:
            sd = paper.ERRORS[row.dataset][paper.COLUMNS.index(columns[0])][1]
            found.append(
                replace(row, method=f"{row.method}-{setting}", test_error=row.test_error + multiple * sd / 100)
            )
    return found


@pytest.fixture(scope="module")
def findings() -> Findings:
    rows = paper_rows()
    varied = [row for setting, multiple in SHIFTS.items() for row in _shifted(rows, setting, multiple)]
    method = nearest("gacv-walk")
    varied += [
        replace(row, dataset=f"crabs-draw-{number}", test_error=0.2)
        for number in (1, 2, 3)
        for row in rows
        if (row.dataset, row.method, row.number) == ("crabs", method, 0)
    ]
    ends = [row for row in rows if row.method == "evidence-ascent" and row.number < 3]
    varied += [replace(row, method=REPEATED) for row in ends]
    return Findings(Trials([*rows, *varied]))


def test_distances_are_in_the_papers_standard_deviations(findings):
    table = {row.setting: row for row in nearness(findings.trials, WALK_SETTINGS, SIMPLE)}
    assert set(list(table)[:2]) == {THOROUGH, NEAREST_WALK}  # both have the paper's own means
    assert list(table)[2:] == ["bold", "loose"]
    assert table[THOROUGH].distance == pytest.approx(0.0, abs=1e-9)
    assert table["bold"].distance == pytest.approx(0.5)
    assert table["bold"].halves == pytest.approx((0.5, 0.5))
    assert table["bold"].cells == 19  # Ringnorm, LE2 contradicts itself
    assert (table["bold"].within_1_sd, table["loose"].within_1_sd) == (19, 0)
    assert table["bold"].trials == (25, 25)
    assert table["loose"].within_2_se == 0
    assert "gentle" not in table  # it was not run


def test_a_setting_found_on_one_half_is_judged_on_the_other():
    rows = paper_rows()
    good = {
        (dataset, column.method)
        for i, dataset in enumerate(DATASETS)
        for j, column in enumerate(SIMPLE)
        if (i + j) % 2 == 0
    }
    half = [r for r in _shifted(rows, "bold", 0.0) if (r.dataset, r.method.removesuffix("-bold")) in good]
    half += [r for r in _shifted(rows, "bold", 3.0) if (r.dataset, r.method.removesuffix("-bold")) not in good]
    plain = _shifted(rows, "x", 1.0)
    moved = {(r.dataset, r.method.removesuffix("-x"), r.number): r.test_error for r in plain}
    study = [replace(row, test_error=moved.get((row.dataset, row.method, row.number), row.test_error)) for row in rows]
    study = [row for row in study if row.method not in {nearest(column.method) for column in SIMPLE}]
    judged = judged_on_other_half(nearness(Trials([*study, *half]), WALK_SETTINGS, SIMPLE))
    assert [row.setting for row, _, _ in judged] == ["bold", THOROUGH]
    assert judged[0][1:] == pytest.approx((3.0, 1.0))


def test_draws_are_averaged_with_the_studys_own(findings):
    sample = over_draws(findings.trials, "crabs", SIMPLE[2], nearest("gacv-walk")).ours
    assert sample.n == 4
    assert sample.mean == pytest.approx((paper.ERRORS["crabs"][2][0] + 3 * 20.0) / 4)
    table = variations.other_draws(findings)
    rows = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert rows["Crabs, GACV"]["over draws"].text.endswith("(4)")
    assert rows["Twonorm, GACV"]["over draws"] is None


def test_nothing_is_said_of_what_was_not_varied():
    sections = report.contents(Findings(Trials(paper_rows(most=2))), [])
    parts = [part for section in sections for part in section.parts if isinstance(part, str)]
    assert any("No setting was varied yet" in part for part in parts)


def test_movers_are_experiments_that_bring_a_cell_home(findings):
    moved = tables.movers(findings, compare_means(findings.trials)[0])
    assert moved[:2] == ["with the walks thorough (10.7 ± 2.1 (25))", "with the walks bold (11.8 ± 2.1 (25))"]
    assert not any("walks loose (" in one for one in moved)


def test_a_miss_says_what_was_tried(findings):
    """Of the settings, only bold and loose have trials; where none brings a cell home, the nearest is named."""
    cell = compare_means(findings.trials)[0]
    assert [name for name in tables.experiments(findings, cell) if "walks" in name] == [
        "the walks thorough",
        "the walks bold",
        "the walks loose",
    ]
    far = [r for r in findings.trials.rows if r.dataset != "pima" or r.method == "le1-walk-loose"]
    far += [replace(r, test_error=0.9) for r in findings.trials.rows if r.dataset == "pima" and r.method not in NAMES]
    told = {row[0]: row[2] for row in tables.misses(Findings(Trials(far))).rows}
    assert "None of 2 experiments brings it within one; the nearest is with the walks loose" in told["Pima, LE1"]


def test_the_papers_place_among_draws():
    """A paper whose cells are those of a typical draw is as far from the mean as many; one far from all, as few."""
    rng = np.random.default_rng(0)
    theirs = np.array([mean for mean, _ in paper.ERRORS["crabs"]])

    def place(shift: float) -> float:
        rows = []
        for number, name in enumerate(colour_draws()):
            errors = (theirs + shift + rng.normal(size=6)) / 100
            for error, column in zip(errors[:5], paper.SEARCHED, strict=True):
                method = nearest(column.method)
                rows.append(TrialRow(name, method, 0, number, "done", test_error=error, oracle_error=errors[5]))
        found = joint_place(Trials(rows))
        assert found.draws == 100
        assert all((share > 0.9) == (shift > 1) and (share < 0.1) == (shift < -1) for share in found.harder.values())
        return found.share

    assert place(0.0) > 0.2
    assert place(-4.0) == pytest.approx(1 / 101)
    assert joint_place(Trials([])) is None


def test_every_table_shows_its_records(findings):
    found = {part.name: part for part in report._variations(findings) if isinstance(part, PageTable)}
    assert {
        "settings-walks",
        "sensitivity-walks",
        "nearest-walks",
        "ascent-courses",
        "draws",
        "smoothing",
        "hmc",
    } <= set(found)
    assert [row[0] for row in found["settings-walks"].rows] == list(WALK_SETTINGS)
    cells = found["sensitivity-walks"]
    assert len(cells.rows) == 20
    place = cells.header.index("loose")
    assert {row[place].tone for row in cells.rows} == {""}  # two standard deviations away: neither good nor bad
    assert all(row[place].text.endswith(" (25)") for row in cells.rows)  # trials in every cell


def test_the_papers_sampler_beside_the_guided_one(findings):
    table = variations.papers_sampler(findings)
    assert [row[0] for row in table.rows] == list(DATASETS.values())
    own = findings.trials.done("crabs", HMC)[0]
    ends = np.log([row.hyperparameters for row in findings.trials.done("crabs", REPEATED)])
    apart = np.abs(np.log(own.hyperparameters) - ends.mean(axis=0)) / (ends.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 3))
    assert table.rows[0][3].value == pytest.approx(np.median(apart))
    assert not variations.papers_sampler(Findings(Trials(paper_rows()))).rows


def _text(sections) -> str:
    return " ".join(part for section in sections for part in section.parts if isinstance(part, str))


def test_the_first_part_is_two_pages(findings):
    text = _text(first_part(findings))
    assert 200 < len(text.split()) < 1200
    assert "the nearest of 4 that were tried" in text
    assert "Crabs 6 of 6 (with 120 rows 2)" in text
    assert "Ringnorm, LE2 (2.5 ± 5.3 with a best of 2.2: at most ± 1.5)" in text
    small = replace(
        findings, trials=Trials(replace(r, extra={**r.extra, "train_rows": 20.0}) for r in findings.trials.rows)
    )
    assert "claims are judged by a full run" in _text(first_part(small))


def test_cells_of_previous_work_beside_other_draws():
    rows = paper_rows(shift={("ringnorm", "gp-variational"): 5.0, ("pima", "gp-laplace"): 20.0})
    own = [row for row in rows if (row.dataset, row.method, row.number) == ("ringnorm", "gp-variational", 0)]
    for error, words in ((0.017, "which has the quoted number"), (0.067, "far from the quoted number")):
        varied = [
            replace(row, dataset=f"ringnorm-draw-{number}", test_error=error + 0.0001 * number)
            for number in range(1, 10)
            for row in own
        ]
        findings = Findings(Trials([*rows, *varied]))
        (told,) = report._previous_misses(findings)
        assert "over draws" in told
        assert "(10)" in told
        assert words in told
        assert "Pima, GP Lap" in told
        assert "one split, no experiment" in told
