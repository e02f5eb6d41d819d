"""The example in JavaScript of the documentation, run by Node.js: its answers are those of Python."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
NODE = shutil.which("node")


def has_runtime() -> bool:
    """Say whether Node.js finds onnxruntime-node, in the folder of a user or in those of NODE_PATH."""
    if NODE is None:
        return False
    script = "require.resolve('onnxruntime-node')"
    return subprocess.run([NODE, "-e", script], capture_output=True, check=False).returncode == 0


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(not has_runtime(), reason="needs Node.js with onnxruntime-node (npm install onnxruntime-node)")
def test_javascript_says_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    exec(compile(blocks("python")[0], "export.md", "exec", dont_inherit=True), namespace)
    (script,) = blocks("javascript")
    (tmp_path / "predict.js").write_text(script, encoding="utf-8")
    run = subprocess.run([NODE, "predict.js"], capture_output=True, text=True, check=True, timeout=60)
    said = json.loads(run.stdout)
    np.testing.assert_allclose(np.reshape(said["probabilities"], (3, 2)), namespace["probabilities"], atol=1e-14)
    assert said["label"] == namespace["label"].tolist()
