"""``marginwise warmup`` compiles everything, and a first fit says what it compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from marginwise.cli import main

COMPILED = """
import importlib, pkgutil, marginwise
for module in pkgutil.walk_packages(marginwise.__path__, "marginwise."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
from marginwise._runtime.jit import FUNCTIONS
from marginwise.warmup import warm_up
assert warm_up() == len(FUNCTIONS) > 50
print([function.py_func.__name__ for function in FUNCTIONS if not function.signatures])
"""

DEFAULT = """
import gc
from multiprocessing import resource_tracker

import numpy as np
from joblib.externals.loky.backend import resource_tracker as loky_tracker

from marginwise import TunedSVC
from marginwise._runtime.jit import FUNCTIONS

X = np.random.default_rng(0).normal(size=(40, 2))
model = TunedSVC(random_state=0).fit(X, X[:, 0] > 0)
model.predict(X)
print(*sorted(function.py_func.__name__ for function in FUNCTIONS if function.signatures))
print(gc.isenabled(), resource_tracker._resource_tracker._fd, loky_tracker._resource_tracker._fd)
"""

FIRST_FIT = """
from marginwise import MarginSVC
MarginSVC().fit([[0.0], [1.0], [2.0]], [0, 1, 1])
"""


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, env=environment)


@pytest.mark.slow
def test_the_command_says_where_compiled_code_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup"]) == 0
    assert "functions ready after" in capsys.readouterr().err
    assert main(["warmup", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_nothing_is_left_to_compile(full: bool, tmp_path: Path) -> None:
    if not full:
        pytest.skip("compiles everything anew: with --full")
    assert run(COMPILED, tmp_path).stdout == "[]\n"


@pytest.mark.slow
def test_a_first_fit_says_in_one_line_that_it_compiled(tmp_path: Path) -> None:
    first = run(FIRST_FIT, tmp_path).stderr
    assert first.startswith("marginwise compiled its loops for this machine, which took")
    assert first.count("\n") == 1
    assert str(tmp_path) in first
    assert run(FIRST_FIT, tmp_path).stderr == ""


@pytest.mark.slow
def test_the_default_compiles_little_and_starts_no_process(tmp_path: Path) -> None:
    """Each function that is compiled takes a first fit a tenth of a second, and each process that is started more."""
    functions, rest = run(DEFAULT, tmp_path).stdout.splitlines()
    assert functions.split() == [
        *("_add_weighted_distances", "_fill_distances", "_fill_scaled", "_project", "_to_covariance"),
        "mirror_lower",
    ]
    assert rest == "True None None"
