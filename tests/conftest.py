"""Options and fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from marginwise.cli import main
from marginwise.fitting.schedule import SCHEDULE

settings.register_profile("default", deadline=None, max_examples=50, derandomize=True)
settings.register_profile("full", deadline=None, max_examples=1000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="run statistical and exhaustive tests at full size")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("full" if config.getoption("--full") else "default")


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether slow tests run at full size; by default they run in a smaller form."""
    return bool(request.config.getoption("--full"))


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(20030705)


@pytest.fixture
def schedule(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A function that sets thresholds of the schedule for one test."""

    def change(**values: Any) -> None:
        for name, value in values.items():
            assert hasattr(SCHEDULE, name)
            monkeypatch.setitem(vars(SCHEDULE), name, value)

    return change


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run a command line; return its exit code, output and errors."""

    def run_main(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run_main
