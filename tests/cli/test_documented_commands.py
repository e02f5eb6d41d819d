"""Every command in docs/command-line.md runs as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from marginwise.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
COMMANDS = [shlex.split(line, comments=True) for block in BLOCKS for line in block.splitlines() if line.strip()]


@pytest.mark.slow
def test_documented_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for program, *words in COMMANDS:
        assert program == "marginwise"
        assert main(words) == 0, shlex.join(words)
    assert {words[1] for words in COMMANDS} == {
        "datasets",
        "fit",
        "report",
        "predict",
        "update",
        "explain",
        "export",
        "compare",
    }
    assert (tmp_path / "predictions.csv").read_text().startswith("prediction,p(-1),p(1)\n")
