"""The commands of contributors and of continuous integration: what they name is there, and no directory is left out."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
CALLERS = [ROOT / ".ci" / "run", *sorted((ROOT / ".github" / "workflows").glob("*.yml")), ROOT / "CONTRIBUTING.md"]
DIRECTORIES = sorted({path.parent for path in (ROOT / "tests").rglob("test_*.py")})

pytestmark = pytest.mark.skipif(not (ROOT / ".ci").exists(), reason="a source distribution is without .ci and .github")


@pytest.mark.parametrize("path", [*CALLERS, ROOT / "Makefile"], ids=lambda path: path.name)
def test_files_that_are_named_exist(path: Path) -> None:
    names = re.findall(r"(?<![\w/.])(?:tests|tools|docs|benchmarks)/[\w./-]*\w", path.read_text(encoding="utf-8"))
    made = {"docs/examples", "docs/reference/names"}
    assert [name for name in names if name not in made and not (ROOT / name).exists()] == []


@pytest.mark.parametrize("path", CALLERS, ids=lambda path: path.name)
def test_targets_that_are_named_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    called = re.findall(r"(?:^|`|run: )make ([a-z-]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert called
    assert set(called) <= targets


def test_every_test_belongs_to_one_of_the_two_commands() -> None:
    assert re.findall(r'-m ("not slow"|slow) \$\(TEST_ARGS\)', MAKEFILE) == ['"not slow"', "slow"]
    assert (ROOT / ".ci" / "run").read_text(encoding="utf-8").endswith("make test\nmake test-slow\n")


def test_types_are_those_of_the_lowest_supported_python() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["requires-python"] == f">={settings['tool']['mypy']['python_version']}"


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_directory_has_quick_tests(directory: Path) -> None:
    assert any(_has_quick_tests(path) for path in directory.glob("test_*.py"))


def _has_quick_tests(path: Path) -> bool:
    """Whether the file is not marked slow as a whole, and has a test that isn't either."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    if "pytestmark = pytest.mark.slow" in map(ast.unparse, module.body):
        return False
    tests = (one for one in ast.walk(module) if isinstance(one, ast.FunctionDef) and one.name.startswith("test_"))
    return any("pytest.mark.slow" not in map(ast.unparse, one.decorator_list) for one in tests)


def test_a_change_is_timed_against_a_commit_that_exists(monkeypatch, capsys) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    performance = importlib.import_module("performance")
    for prepare, call in performance.CASES.values():
        compile(prepare, "prepare", "exec")
        compile(call, "call", "eval")
    assert performance.main(["--base", "no-such-commit"]) == 2
    assert "no commit that 'no-such-commit' and this have in common" in capsys.readouterr().out
