"""Machines on which compiled code can't be kept: packages and home are read-only, as in hardened containers."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import marginwise

pytestmark = pytest.mark.skipif(os.name != "posix", reason="permissions as on POSIX systems")

SCRIPT = """
import numpy as np
from marginwise import TunedSVC
from marginwise.svm.coordinate import largest_violation
error = largest_violation(np.zeros(2), np.ones(2), np.zeros(2), np.array([-0.5, 1.0]))
print(error, largest_violation.stats.cache_path)
"""

#: Linux: drop a capability from what a process can have, and the one that lets root write wherever it likes.
_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE = 24, 1


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that everybody may enter, with a copy of the package and an empty home."""
    folder = Path(tempfile.mkdtemp())
    shutil.copytree(
        Path(marginwise.__file__).parent, folder / "src" / "marginwise", ignore=shutil.ignore_patterns("__pycache__")
    )
    folder.joinpath("home").mkdir()
    folder.chmod(0o755)
    yield folder
    _allow(folder, 0o755)
    shutil.rmtree(folder)


def run(folder: Path, script: str, **more: str) -> subprocess.CompletedProcess[str]:
    hidden = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONWARNINGS")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PYTHONPATH": str(folder / "src"), "HOME": str(folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", script]
    options = {"capture_output": True, "text": True, "cwd": folder, "env": environment | more}
    return subprocess.run(command, check=False, preexec_fn=_heed_permissions, **options)  # type: ignore[call-overload]


def _heed_permissions() -> None:
    """Let a process of root heed permissions, as those of others do."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, 0, 0, 0)


def require_read_only(folder: Path) -> None:
    if run(folder, "open('home/new', 'w')").returncode == 0:
        pytest.skip("permissions mean nothing to this user")


def test_without_a_place_for_compiled_code_it_works_and_warns_once(folder: Path) -> None:
    _allow(folder, 0o555)
    require_read_only(folder)
    done = run(folder, SCRIPT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0.5 None\n"
    assert done.stderr.count("Warning") == 1
    assert "set NUMBA_CACHE_DIR to a writable directory" in done.stderr


def test_the_place_that_the_warning_asks_for_is_used(folder: Path) -> None:
    kept = folder / "kept"
    kept.mkdir()
    kept.chmod(0o777)
    _allow(folder, 0o555, but=kept)
    require_read_only(folder)
    done = run(folder, SCRIPT, NUMBA_CACHE_DIR=str(kept))
    assert (done.returncode, done.stderr) == (0, "")
    assert list(kept.rglob("*.nbi"))


PATH = "from marginwise.likelihoods.tilted import fill_tilted; print(fill_tilted.stats.cache_path)"


def test_compiled_code_is_kept_with_the_user_and_outlives_a_reinstallation(folder: Path) -> None:
    before = run(folder, PATH).stdout
    assert before.startswith(str(folder / "home"))
    for path in folder.joinpath("src").rglob("*.py"):
        os.utime(path, (0, 0))
    assert run(folder, PATH).stdout == before


def test_a_change_of_a_file_that_compiled_functions_are_taken_from_is_noticed(folder: Path) -> None:
    likelihoods = folder / "src" / "marginwise" / "likelihoods"
    before = run(folder, PATH).stdout
    with likelihoods.joinpath("quadrature.py").open("a") as file:
        file.write("# takes from the same file, but nothing is taken from it\n")
    assert run(folder, PATH).stdout == before
    with likelihoods.joinpath("truncated.py").open("a") as file:
        file.write("# half_line is here\n")
    assert run(folder, PATH).stdout != before


def _allow(folder: Path, mode: int, but: Path | None = None) -> None:
    """Give all directories within this mode."""
    folder.chmod(0o755)
    for path in [*folder.rglob("*"), folder]:
        if path.is_dir() and path != but and (but is None or but not in path.parents):
            path.chmod(mode)
