"""The command line called from Python."""

from __future__ import annotations

import pytest

from marginwise.cli import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    """Run a command line; return its exit code, output and errors."""

    def run_main(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        return code, *capsys.readouterr()

    return run_main
