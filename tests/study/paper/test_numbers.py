"""The published numbers: sums over the tables of the paper's source, read from it by a program."""

from __future__ import annotations

import pytest

from marginwise.study.paper import numbers as paper
from marginwise.study.paper import paper_plan


def test_tables_add_up():
    assert sum(sum(row) for row in paper.SIZES.values()) == 16183
    assert sum(sum(row) for row in paper.SECONDS.values()) == pytest.approx(30548.34)
    assert sum(mean + sd for row in paper.ERRORS.values() for mean, sd in row) == pytest.approx(370.6)
    assert sum(sum(row) for row in paper.BEST.values()) == pytest.approx(217.4)
    assert sum(error or 0.0 for row in paper.PREVIOUS.values() for error in row) == pytest.approx(152.6)


def test_single_cells_are_where_they_belong():
    assert paper.ERRORS["twonorm"][0] == (13.5, 12.6)
    assert paper.ERRORS["ringnorm"][1] == (2.5, 5.3)
    assert paper.BEST["twonorm"] == (2.9, 3.1, 3.4, 3.5, 3.4, 3.0)
    assert paper.best_previous("ringnorm") == 1.7
    assert paper.best_previous("crabs") == 1.7


def test_tables_have_all_rows_and_columns():
    for table, width in ((paper.SIZES, 3), (paper.SECONDS, 6), (paper.ERRORS, 6), (paper.BEST, 6), (paper.PREVIOUS, 5)):
        assert set(table) == set(paper.DATASETS)
        assert {len(row) for row in table.values()} == {width}


def test_best_errors_fit_one_test_row_fewer():
    """6 of 6 with 119 crabs and 331 of Pima: 5.9, 9.2, 10.9, 3.4, 5.0 and 3.4 % of 119 are 7, 11, 13, 4, 6 and 4."""
    assert [paper.fitting("crabs", rows) for rows in (118, 119, 120)] == [3, 6, 2]
    assert [paper.fitting("pima", rows) for rows in (331, 332)] == [6, 4]
    assert paper.fitting("twonorm", 7100) == 6


def test_one_cell_contradicts_itself():
    wrong = [(d, c.label) for d in paper.DATASETS for c in paper.COLUMNS if paper.impossible(d, c)]
    assert wrong == [("ringnorm", "LE2")]
    assert paper.most_spread("ringnorm", paper.COLUMNS[1]) == pytest.approx(5 * 0.3)


def test_a_best_trial_is_better_than_the_mean():
    for dataset, row in paper.BEST.items():
        assert all(best <= mean for best, (mean, _) in zip(row, paper.ERRORS[dataset], strict=True))


def test_methods_and_trials_are_those_of_the_study():
    plan = paper_plan()
    for column in (*paper.COLUMNS, *paper.PREVIOUS_COLUMNS):
        assert column.method in plan.methods
    for column in paper.COLUMNS:
        for dataset in paper.DATASETS:
            assert plan.count(dataset, column.method) == paper.trials(dataset, column.method)
