"""The demo compares, and writes the pictures it names."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from marginwise import demo

ROOT = Path(__file__).parents[1]

#: Pages that say what the errors of the demo's first table are.
QUOTED = ("docs/when-to-use.md",)

#: The demo up to its first comparison, of which it asserts that it compiles nothing.
WATCHED = """
from marginwise import demo
from marginwise._runtime.jit import FUNCTIONS

compare = demo._compare

def watched(data):
    before = [len(function.signatures) for function in FUNCTIONS]
    assert any(before)
    compare(data._replace(X_train=data.X_train[:100, :10], y_train=data.y_train[:100], X_test=data.X_test[:, :10]))
    more = [f.py_func.__name__ for f, n in zip(FUNCTIONS, before, strict=True) if len(f.signatures) > n]
    raise SystemExit(f"compiled while time was taken: {more}" if more else 0)

demo._compare = watched
demo.main()
"""

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.TableWarning"),
]


@pytest.mark.slow
def test_prints_the_comparison_and_writes_pictures(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo.main()
    plt.close("all")
    written = capsys.readouterr().out
    assert written.count("TunedSVC().fit(X, y)") == written.count("GridSearchCV(SVC) + CalibratedClassifierCV") == 2
    # What the demo is to show: of many useless inputs, tuning finds the three that matter.
    tuned, grid = (float(error) for error in re.findall(r"([\d.]+) %  +[\d.]+ +[\d.]+\n", written)[:2])
    assert tuned < 8.0 < 20.0 < grid
    # Pages that quote the demo say what it prints.
    for page in QUOTED:
        quoted = re.findall(r"(\d+) % error against (\d+) %", (ROOT / page).read_text(encoding="utf-8"))
        assert quoted == [(f"{tuned:.0f}", f"{grid:.0f}")], page
    assert re.search(r"what matters: (q[123] [\d.]+, ){3}", written)
    pictures = sorted(path.name for path in (tmp_path / "marginwise-demo").iterdir())
    assert pictures == ["boundary.png", "line.png", "relevances.png", "reliability.png", "search.png"]
    assert all(name in written for name in pictures)


@pytest.mark.slow
def test_nothing_is_compiled_while_time_is_taken():
    found = subprocess.run([sys.executable, "-c", WATCHED], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_does_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert demo._draw(None, None, tmp_path) == []  # type: ignore[arg-type]
