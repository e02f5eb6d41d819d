"""What the package shows of itself."""

from __future__ import annotations

import subprocess
import sys

import marginwise
from marginwise._wording import numbered


def test_dir_shows_public_names_and_modules_alone() -> None:
    code = "import marginwise, marginwise.kernels; print(*dir(marginwise))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(marginwise.__all__) < set(shown)
    assert "kernels" in shown
    assert {"Any", "TYPE_CHECKING", "annotations", "import_module", "uncollected"}.isdisjoint(shown)


def test_one_thing_is_no_things() -> None:
    assert [numbered(n, "data set") for n in (0, 1, 2, 12345)] == [
        "0 data sets",
        "1 data set",
        "2 data sets",
        "12,345 data sets",
    ]
