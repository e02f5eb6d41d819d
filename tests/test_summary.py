"""What is shown of objects that hold arrays: one line with what one looks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from marginwise import Hyperparameters, TunedSVC, evaluate, load_benchmark, load_table, posterior, solve, tune
from marginwise.datasets import Inputs
from marginwise.fitting.candidates import Candidate
from marginwise.fitting.labels import LeastSquaresLabels
from marginwise.fitting.members import Member
from marginwise.problem import as_problem
from marginwise.tuning import scan_line

WDBC = load_benchmark("wdbc")
X, Y = WDBC.X_train[:60], WDBC.y_train[:60]
H = Hyperparameters(1.0, 1.0, 0.1, np.linspace(1, 2, 30))
TUNING = tune(X, Y, "gacv", max_evaluations=3, restarts=2, random_state=0)
MODEL = TunedSVC(ard=0, random_state=0).fit(X, Y).ensemble_


def member(tuning: Any) -> Member:
    candidate = Candidate(tuning.hyperparameters, 0.3, LeastSquaresLabels())
    return Member(candidate, 0.5, tuning)


@pytest.mark.parametrize(
    ("thing", "shown"),
    [
        (WDBC, ["Benchmark(name='wdbc'", "X_train=<300×30 float64>", "… 30 in all"]),
        (TUNING, ["C=", "length_scales=(", "value=0.", "<Trace of 3 evaluations>", "budget of 3 evaluations"]),
        (TUNING.restarts[0], ["Tuning(", "value=0.", "start=Hyperparameters(C=1,"]),
        (TUNING.trace[0], ["Record(index=0", "score=-0.", "accepted=True"]),
        (MODEL, ["Ensemble(X=<60×30 float64>", "n_classes=2", "Member(weight=", "labels='", "C="]),
        (member(TUNING), ["Member(weight=0.5", "spread=0.3", "labels='least-squares'"]),
        (scan_line("gacv", X, Y, H, H, n_points=3), ["LineScan(", "logs=<3×33 float64>", "'gacv': <3 float64>"]),
        (evaluate("gacv", X, Y, H), ["Evaluation(value=0.", "gradient=<33 float64>", "converged"]),
        (solve(X, Y, H), ["Solution(alpha=<60 float64>", "support=<"]),
        (posterior(X, Y, H), ["GaussianPosterior(problem=Problem(X=<60×30", "log_evidence=-", "'sweeps': "]),
        (posterior(X, Y, H, method="sample"), ["SampledPosterior(", "'rhat': 1."]),
        (as_problem(X, Y), ["Problem(X=<60×30 float64>, y=<60 float64>", "inducing=None"]),
        (
            Inputs(X, tuple("ab" * 30), (), {}),
            ["Inputs(X=<60×30 float64>, labels=('a', 'b', 'a', … 60 in all), unused=(), kept={}, unseen={}, "],
        ),
    ],
    ids=lambda thing: type(thing).__name__ if not isinstance(thing, list) else "",
)
def test_is_short_and_says_what_counts(thing: Any, shown: list[str]) -> None:
    text = repr(thing)
    assert len(text) < 1000
    assert "\n" not in text
    assert [part for part in shown if part not in text] == []


def test_thousands_of_length_scales_and_long_texts_are_cut() -> None:
    many = tune(X, Y, "gacv", start=H, max_evaluations=1)
    assert "length_scales=(1, 1.034, 1.069, … 30 in all)" in repr(many)
    assert len(repr(member(many))) < 600
    assert "provenance='" in repr(WDBC)


def test_tables(tmp_path: Any) -> None:
    file = tmp_path / "some.csv"
    file.write_text("a,b,y\n1,u,x\n2,v,z\n")
    text = repr(load_table(file, "y"))
    assert text.startswith("Table(X=<2×2 object>, y=<2 ")
    assert "Column(name='b', kind='category', categories=('u', 'v')" in text
