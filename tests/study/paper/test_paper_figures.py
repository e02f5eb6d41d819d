"""Figures: the data they hold, what they draw of it, and that they are written the same every time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from marginwise.display import Drawing
from marginwise.errors import InvalidInputError
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.figures import Histograms, Scans, Spread, methods
from marginwise.study.paper.findings import Findings
from marginwise.study.paper.optima import Scan
from marginwise.study.paper.paths import ASCENT_LAYOUTS, WALK, PathFigure, paths, shown_paths
from marginwise.study.paper.settings import EQUAL_SCALES
from marginwise.study.report.summary import Trials
from synthetic_study import paper_rows, paper_store, trace_of


@pytest.fixture(scope="module")
def trials() -> Trials:
    return Trials(paper_rows())


def _drawn(drawing: Drawing) -> Figure:
    assert drawing.caption.endswith(".")
    assert drawing.alt.endswith(".")
    return drawing.figure


def test_histograms_count_every_trial(trials):
    histograms = Histograms.compute(trials, "twonorm")
    axes = _drawn(histograms).axes
    assert [panel.get_ylabel() for panel in axes] == ["LE1", "LE2", "GACV", "Span", "Evid grad"]
    for panel, sample in zip(axes, histograms.errors.values(), strict=True):
        inside = sum(value >= 0 for value in sample.values)  # the made-up errors may be negative
        assert sum(bar.get_height() for bar in panel.patches) == inside
        assert {round(bar.get_width(), 9) for bar in panel.patches} == {2.0}
    assert "mean 13.5 %" in histograms.alt
    assert Histograms.compute(Trials([]), "pima") is None


def test_methods_show_ours_and_theirs(trials):
    shown = methods(trials)
    figure = _drawn(shown)
    assert [panel.get_title(loc="left") for panel in figure.axes] == list(paper.DATASETS.values())
    assert shown.published["gp-mean-field", "crabs"] == (1.7, None)
    assert ("gp-mean-field", "twonorm") not in shown.published
    diamonds = [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert [line.get_xdata()[0] for line in diamonds] == [10.7, 10.5, 13.0, 6.0, 9.2, 3.3, 3.3, 2.5, 3.3, 1.7]
    assert methods(Trials([])) is None


def test_paths_show_the_columns_of_the_trace(trials):
    row = trials.done("twonorm", "le1-walk")[0]
    trace = trace_of(row)
    walk = _drawn(PathFigure(row, trace, WALK)).axes
    assert len(walk) == 7
    np.testing.assert_allclose(walk[0].lines[0].get_ydata(), trace["C"])
    assert len(walk[3].lines) == 5  # of 20 length scales
    np.testing.assert_allclose(walk[5].lines[0].get_ydata(), trace["gacv"])
    np.testing.assert_allclose(walk[6].lines[0].get_ydata(), 100 * np.array(trace["test_error"]))
    ascent = _drawn(PathFigure(row, trace, ASCENT_LAYOUTS[0])).axes
    assert [len(panel.lines) for panel in ascent] == [6, 6, 1]
    amplitudes = _drawn(PathFigure(row, trace, ASCENT_LAYOUTS[1])).axes
    np.testing.assert_allclose(amplitudes[1].lines[0].get_ydata(), trace["g_k0"])
    least = 100 * min(trace["test_error"])
    assert amplitudes[7].get_ylim()[0] < least < amplitudes[7].get_ylim()[1] < amplitudes[6].get_ylim()[1]


def test_paths_do_without_what_was_not_recorded(trials):
    row = trials.done("crabs", "gacv-walk")[0]
    trace = {name: column for name, column in trace_of(row).items() if name not in ("test_error", "gacv")}
    trace = {name: column for name, column in trace.items() if not name.startswith("g_")}
    for layout in (WALK, *ASCENT_LAYOUTS):
        assert "was not recorded" in PathFigure(row, trace, layout).alt
        _drawn(PathFigure(row, trace, layout))


def test_the_searches_shown_are_on_twonorm_the_ascent_from_equal_length_scales(tmp_path, trials):
    findings = Findings(trials)
    with paper_store(tmp_path / "study.sqlite") as store:
        walk, ascent = shown_paths(store, findings)
        assert (walk[0].dataset, walk[0].method, walk[0].number, len(walk[1]["C"])) == ("twonorm", "le1-walk", 0, 12)
        assert ascent[0].method == "evidence-ascent"
        row = replace(ascent[0], method=EQUAL_SCALES)
        store.record(replace(row, trace=trace_of(row)))
        assert shown_paths(store, Findings(Trials([*trials.rows, row])))[1][0].method == EQUAL_SCALES
    names = ["walk", "ascent-length-scales", "ascent-amplitudes"]
    assert [drawing.name for drawing in paths([walk, ascent])] == names


def test_spread_shows_every_end(trials):
    spread = Spread.compute(trials, "crabs")
    panel = _drawn(spread).axes[0]
    ends = trials.hyperparameters("crabs", "le1-walk")
    np.testing.assert_allclose([line.get_xdata() for line in panel.lines[:25]], ends)
    np.testing.assert_allclose(panel.lines[25].get_xdata(), np.median(ends, axis=0))
    assert Spread.compute(Trials([]), "crabs") is None


def test_scans_are_measured_from_the_worse_end():
    scans = (Scan("pima", "le1-walk", 0, 1, (3.0, 0.5, 1.0)), Scan("wdbc", "gacv-walk", 2, 1, (2.0, 1.5, 1.0)))
    drawing = Scans(scans)
    panels = _drawn(drawing).axes
    assert len(panels) == 10  # two data sets × five criteria
    np.testing.assert_allclose(panels[0].lines[0].get_ydata(), [2.0, -0.5, 0.0])
    assert drawing.alt.endswith("between 2 pairs of end points; 1 pairs are separated.")


def test_formats_are_named(tmp_path, trials):
    with pytest.raises(InvalidInputError, match="formats is 'gif'"):
        Histograms.compute(trials, "wdbc").save(tmp_path, formats=["gif"])


@pytest.mark.slow
def test_files_are_the_same_every_time(tmp_path, trials):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        files = Histograms.compute(trials, "wdbc").save(tmp_path / folder)
        assert [file.name for file in files] == [f"histogram-wdbc.{kind}" for kind in ("svg", "png", "pdf")]
    for file in files:
        assert file.read_bytes() == (tmp_path / "a" / file.name).read_bytes()
