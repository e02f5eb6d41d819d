"""How far unstated details move cells: distances by hand, halves, draws, and the tables that show them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marginwise.study.paper import numbers as paper
from marginwise.study.paper import sections, variations
from marginwise.study.paper.compare import compare_means
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.names import NEAREST_WALK, REPEATED, THOROUGH, WALK_DETAILS, as_in_paper
from marginwise.study.paper.numbers import DATASETS, SIMPLE
from marginwise.study.paper.sensitivity import (
    WALK_COLUMNS,
    Sensitivity,
    judged_on_other_half,
    nearness,
)
from marginwise.study.paper.story import story
from marginwise.study.report.summary import Trials
from synthetic_study import paper_rows

#: Moves the cells of a setting by so many of the paper's standard deviations.
SHIFTS = {"bold": 0.5, "loose": 2.0}


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
    method = as_in_paper("gacv-walk")
    varied += [
        replace(row, dataset=f"crabs-draw-{number}", test_error=0.2)
        for number in (1, 2, 3)
        for row in rows
        if (row.dataset, row.method, row.number) == ("crabs", method, 0)
    ]
    ends = [row for row in rows if row.method == "evidence-ascent" and row.number < 3]
    varied += [replace(row, method=REPEATED) for row in ends]
    return Findings(Trials(rows), varied=Trials(varied))


def test_distances_are_in_the_papers_standard_deviations(findings):
    table = {row.setting: row for row in nearness(Sensitivity.of(findings), list(WALK_DETAILS), WALK_COLUMNS)}
    assert set(list(table)[:2]) == {THOROUGH, NEAREST_WALK}  # both have the paper's own means
    assert list(table)[2:] == ["bold", "loose"]
    assert table[THOROUGH].distance == pytest.approx(0.0, abs=1e-9)
    assert table["bold"].distance == pytest.approx(0.5)
    assert table["bold"].halves == pytest.approx((0.5, 0.5))
    assert (table["bold"].within_1_sd, table["loose"].within_1_sd) == (20, 0)
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
    study = [row for row in study if row.method not in {as_in_paper(column.method) for column in SIMPLE}]
    found = Sensitivity.of(Findings(Trials(study), varied=Trials(half)))
    judged = judged_on_other_half(nearness(found, list(WALK_DETAILS), WALK_COLUMNS))
    assert [row.setting for row, _, _ in judged] == ["bold", THOROUGH]
    assert judged[0][1:] == pytest.approx((3.0, 1.0))


def test_draws_are_averaged_with_the_studys_own(findings):
    found = Sensitivity.of(findings)
    method = as_in_paper("gacv-walk")
    sample = found.over_draws("crabs", SIMPLE[2], method)
    assert sample.n == 4
    assert sample.mean == pytest.approx((paper.ERRORS["crabs"][2][0] + 3 * 20.0) / 4)
    rows = {row[0]: row for row in variations.over_draws(found).rows}
    assert rows["Crabs, GACV"][-1] == 4
    assert "Twonorm, GACV" not in rows


def test_nothing_is_said_of_what_was_not_varied():
    assert Sensitivity.of(Findings(Trials(paper_rows(most=2)))) is None
    section = variations.variations(Findings(Trials(paper_rows(most=2))))
    assert any("No setting was varied yet" in part for part in section.parts if isinstance(part, str))


def test_movers_are_experiments_that_bring_a_cell_home(findings):
    found = Sensitivity.of(findings)
    cell = compare_means(findings.trials)[0]
    (moved,) = sections.movers(found, cell)
    assert moved.startswith("with the walks thorough (10.7 ± 2.1), bold (")
    assert "loose (" not in moved


def test_every_table_shows_its_records(findings):
    section = variations.variations(findings)
    tables = {part.name: part for part in section.parts if hasattr(part, "rows")}
    assert {
        "settings-walks",
        "sensitivity-walks",
        "nearest-walks",
        "ascent-courses",
        "draws",
        "smoothing",
        "hmc",
    } <= set(tables)
    assert [row[0] for row in tables["settings-walks"].rows] == list(WALK_DETAILS)
    cells = tables["sensitivity-walks"]
    assert len(cells.rows) == 20
    place = cells.header.index("loose")
    assert {row[place].tone for row in cells.rows} == {""}  # two standard deviations away: neither good nor bad


def test_the_papers_sampler_beside_the_guided_one(findings):
    table = variations.papers_sampler(findings)
    assert [row[0] for row in table.rows] == list(DATASETS.values())
    own = findings.trials.done("crabs", "hmc-ascent")[0]
    ends = np.log([row.hyperparameters for row in findings.varied.done("crabs", REPEATED)])
    apart = np.abs(np.log(own.hyperparameters) - ends.mean(axis=0)) / (ends.std(axis=0, ddof=1) * np.sqrt(1 + 1 / 3))
    assert table.rows[0][4].value == pytest.approx(np.median(apart))
    assert variations.papers_sampler(replace(findings, varied=Trials([]))) is None


def test_the_story_is_told_in_about_ten_sentences(findings):
    told = list(story(findings))
    assert 5 <= len(told) <= 12
    text = " ".join(told)
    assert "30 of 30 within one of the paper's standard deviations" in text
    assert "Of 29 claims" in text
    assert "on our own draw and averaged over ten: Crabs" in text
    small = replace(
        findings, trials=Trials(replace(r, extra={**r.extra, "train_rows": 20.0}) for r in findings.trials.rows)
    )
    assert len(list(story(small))) == 1


def test_cells_of_previous_work_beside_other_draws():
    rows = paper_rows(shift={("ringnorm", "gp-variational"): 5.0, ("pima", "gp-laplace"): 20.0})
    own = [row for row in rows if (row.dataset, row.method, row.number) == ("ringnorm", "gp-variational", 0)]
    for error, words in ((0.017, "which has the quoted number"), (0.067, "far from the quoted number")):
        varied = [
            replace(row, dataset=f"ringnorm-draw-{number}", test_error=error + 0.0001 * number)
            for number in range(1, 10)
            for row in own
        ]
        findings = Findings(Trials(rows), varied=Trials(varied))
        (told,) = sections.previous_misses(findings, Sensitivity.of(findings))
        assert "over 10 draws" in told
        assert words in told
        assert "Pima, GP Lap" in told
        assert "one split, no experiment" in told
