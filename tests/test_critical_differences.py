"""The tests behind docs/images/differences.svg, against scipy and cases known by hand."""

from __future__ import annotations

import importlib
from itertools import combinations
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata, wilcoxon


@pytest.fixture
def tests(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "docs"))
    return importlib.import_module("critical_differences")


def test_friedman_is_that_of_scipy(tests: ModuleType) -> None:
    values = np.random.default_rng(0).normal(size=(12, 5)) + np.arange(5) / 3
    ranks = rankdata(values, axis=1).mean(axis=0).tolist()
    assert tests.friedman(ranks, 12) == pytest.approx(friedmanchisquare(*values.T).pvalue)


def test_holm_of_a_known_case(tests: ModuleType) -> None:
    assert tests.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert tests.holm([0.9, 0.8]) == [1.0, 1.0]


def test_sets_of_one_problem_are_one_observation(tests: ModuleType) -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(9, 2))
    by_set = {f"{k}": {"a": row[0], "b": row[1]} for k, row in enumerate(values)}
    by_set |= {"0 again": by_set["0"]}
    found = tests.pairwise(by_set, {name: name.split()[0] for name in by_set})
    assert found == {frozenset("ab"): pytest.approx(wilcoxon(values[:, 0] - values[:, 1]).pvalue)}


def test_groups_are_the_largest_in_which_none_differ(tests: ModuleType) -> None:
    p_values = {frozenset(pair): 1.0 for pair in combinations("abcd", 2)} | {frozenset("ac"): 0.001}
    assert tests.groups(list("abcd"), p_values) == [list("abd"), list("bcd")]
    assert tests.differing(p_values, "c") == ["a"]
