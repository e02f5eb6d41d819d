"""The table of a search."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import toys
from marginwise.errors import MarginwiseError
from marginwise.hyperparameters import paper_start
from marginwise.search import GradientAscent, Limits, Objective, RandomWalk, Search, Space, Task, Trace, drive
from zoo import blobs


def trace(toy: type, search: Search) -> Trace:  # type: ignore[type-arg]
    objective = Objective(toy(), blobs(20, 2), Space.around(paper_start(2), fix_C=toy.scale_free))
    return drive(Task(objective, search, Limits(30))).trace


def test_has_a_row_for_each_evaluation_and_a_column_for_everything() -> None:
    table = trace(toys.NoisySlope, GradientAscent()).to_frame()
    names = ["C", "k0", "koff", "l_1", "l_2"]
    expected = [*names, "value", "score", "accepted", "failure", "seconds"]
    expected += [f"{kind}_{name}" for kind in ("gradient", "noise", "rate") for name in names]
    assert list(table.columns) == expected
    assert len(table) <= 30
    assert table["accepted"].dtype == bool
    assert (table["seconds"].diff().dropna() >= 0).all()
    np.testing.assert_allclose(table.loc[0, names].astype(float), [1, 1, 0.1, 1, 1])
    assert (table["noise_C"] == toys.NoisySlope.noise).all()


def test_leaves_out_what_there_is_none_of() -> None:
    table = trace(toys.Terraces, RandomWalk()).to_arrays()
    assert not any(name.startswith(("gradient", "noise")) or name.endswith("error") for name in table)
    assert {len(column) for column in table.values()} == {30}


def test_a_fixed_hyperparameter_has_no_column() -> None:
    assert "C" not in trace(toys.Product, RandomWalk()).to_arrays()


def test_failures_have_their_reason_in_the_table() -> None:
    rows = trace(toys.Potholes, RandomWalk())
    table = rows.to_arrays()
    failed = table["failure"] != ""
    assert failed.sum() == len(rows.failures) > 0
    assert np.isnan(table["value"][failed]).all()
    assert not table["accepted"][failed].any()


def test_says_what_to_do_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MarginwiseError, match="to_arrays"):
        trace(toys.Hill, RandomWalk()).to_frame()
