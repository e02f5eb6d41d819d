"""The demo compares, and writes the pictures it names."""

from __future__ import annotations

import re
import sys

import matplotlib.pyplot as plt
import pytest

from marginwise import demo

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.TableWarning"),
]


def test_prints_the_comparison_and_writes_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo.main()
    plt.close("all")
    written = capsys.readouterr().out
    assert written.count("TunedSVC().fit(X, y)") == written.count("GridSearchCV(SVC) + CalibratedClassifierCV") == 2
    # What the demo is to show: of many useless inputs, tuning finds the three that matter.
    tuned, grid = (float(error) for error in re.findall(r"([\d.]+) %  +[\d.]+ +[\d.]+\n", written)[:2])
    assert tuned < 8.0 < 20.0 < grid
    assert re.search(r"what matters: (q[123] [\d.]+, ){3}", written)
    pictures = sorted(path.name for path in (tmp_path / "marginwise-demo").iterdir())
    assert pictures == ["boundary.png", "line.png", "relevances.png", "reliability.png", "search.png"]
    assert all(name in written for name in pictures)


def test_does_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert demo._draw(None, None, tmp_path) == []  # type: ignore[arg-type]
