"""The wheel, in empty environments: it works without extras, and each extra brings what it promises.

Takes the network and a minute: run by ``make release`` and with ``--full``, in an environment with uv.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT.joinpath("README.md").read_text(encoding="utf-8")

TOY = """
import numpy as np
from marginwise import TunedSVC
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
y = (X[:, 0] + 0.3 * rng.normal(size=40) > 0).astype(int)
model = TunedSVC(0, random_state=0)
"""

#: What each extra is for.
EXTRAS = {
    "plots": "from marginwise.plots import RelevanceDisplay\nRelevanceDisplay.from_estimator(model.fit(X, y))",
    "tables": """
import pandas
assert list(model.fit(pandas.DataFrame(X, columns=["a", "b"]), y).feature_names_in_) == ["a", "b"]""",
    "parquet": """
import pyarrow, pyarrow.parquet
from marginwise import load_table
pyarrow.parquet.write_table(pyarrow.table({"a": X[:, 0], "y": y}), "t.parquet")
assert load_table("t.parquet", target="y").X.shape == (40, 1)""",
    "excel": """
import openpyxl
from marginwise import load_table
book = openpyxl.Workbook()
for row in [("a", "y"), *zip(X[:, 0].tolist(), y.tolist())]:
    book.active.append(row)
book.save("t.xlsx")
assert load_table("t.xlsx", target="y").X.shape == (40, 1)""",
    "onnx": "from marginwise import to_onnx\nassert to_onnx(model.fit(X, y)).graph.node",
    "progress": "model.set_params(progress=True).fit(X, y)",
    "saving": """
from marginwise import load_model, save_model
save_model(model.fit(X, y), "m.skops")
assert (load_model("m.skops").predict(X) == model.predict(X)).all()""",
    "cli": """
import csv
from marginwise.cli import main
with open("t.csv", "w", newline="") as file:
    csv.writer(file).writerows([["a", "b", "y"], *np.column_stack([X, y]).tolist()])
assert main(["fit", "t.csv", "--target", "y"]) == 0""",
    "arviz": """
from marginwise import Hyperparameters, posterior
assert "log_C" in posterior(X, 2 * y - 1, Hyperparameters(C=1.0), method="sample").to_arviz().posterior""",
    "dask": "import dask.array\nTunedSVC(0, rank=10, subset=30).fit(dask.array.from_array(X, chunks=(20, 2)), y)",
}


@pytest.fixture(scope="module")
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not request.config.getoption("--full"):
        pytest.skip("installs the wheel into empty environments: with --full")
    if importlib.util.find_spec("uv") is None:
        pytest.skip("uv is not installed: pip install 'marginwise[release]'")
    folder = tmp_path_factory.mktemp("wheel")
    uv("build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT))
    (built,) = folder.glob("*.whl")
    return built


def uv(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "uv", *words], check=True)


def run_installed(wheel: Path, extra: str, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script where the wheel is installed with this extra and nothing else."""
    home = folder / "environment"
    uv("venv", "--quiet", "--python", sys.executable, str(home))
    python = home / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    uv("pip", "install", "--quiet", "--python", str(python), f"marginwise{extra} @ {wheel.as_uri()}")
    command = [str(python), "-I", "-W", "error::ImportWarning", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


@pytest.mark.slow
def test_the_ten_lines_of_the_readme_without_extras(wheel: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    done = run_installed(wheel, "", "\n".join(blocks), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("test error")


@pytest.mark.slow
@pytest.mark.parametrize("extra", EXTRAS)
def test_each_extra_by_itself(extra: str, wheel: Path, tmp_path: Path) -> None:
    done = run_installed(wheel, f"[{extra}]", TOY + EXTRAS[extra], tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_extras_are_those_that_users_ask_for() -> None:
    import tomllib

    stated = tomllib.loads(ROOT.joinpath("pyproject.toml").read_text())["project"]["optional-dependencies"]
    for_developers = {"bench", "docs", "test", "dev", "release"}
    assert EXTRAS.keys() == stated.keys() - for_developers
