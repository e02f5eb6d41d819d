"""Every promise names the test that holds it, and that test is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
KEPT = PAGE.split("## What is not")[0]
PROMISES = re.findall(r"^- (.*?)(?=^- |^##|\Z)", KEPT, re.MULTILINE | re.DOTALL)
TESTS = sorted(set(re.findall(r"`(tests/[^`]*)`", PAGE)))


def functions(path: Path) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_there_are_promises() -> None:
    assert len(PROMISES) > 20


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise[:40])
def test_every_promise_names_a_test(promise: str) -> None:
    named = re.findall(r"`tests/[^`]*`", promise)
    assert named
    words = re.sub(r"`tests/[^`]*`|†|,", "", promise)
    assert words.count(". ") + words.count(".\n") <= 1, "one sentence"


@pytest.mark.parametrize("name", TESTS)
def test_the_named_tests_are_there(name: str) -> None:
    path, function = name.split("::")
    assert function in functions(ROOT / path)


def test_what_is_marked_has_a_larger_form() -> None:
    for promise in PROMISES:
        named = [name.split("::") for name in re.findall(r"`(tests/[^`]*)`", promise)]
        larger = [
            any(argument.arg == "full" for argument in functions(ROOT / path)[function].args.args)
            for path, function in named
        ]
        assert ("†" in promise) == any(larger), promise
