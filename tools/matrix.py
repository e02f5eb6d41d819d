"""Run the tests against both ends of the stated versions, on every supported interpreter at hand.

    python tools/matrix.py [--pythons 3.11 3.13] [--only lowest] [-- tests/svm -q]

Interpreters are those that uv finds on this machine, or may load. The lowest versions are those of ``pyproject.toml``
that have binary files for the interpreter. Writes a table to standard output; what failed is in .matrix/*.log.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".matrix"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
ENDS = {"lowest": "lowest-direct", "newest": "highest"}

#: The uv of this environment, which need not be on the path.
UV = (sys.executable, "-m", "uv")

#: What the table shows the versions of.
SHOWN = ("numpy", "scipy", "scikit-learn", "numba", "pandas")


def main() -> int:
    """Make each environment, run the tests in it, and print the table; the exit code is 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pythons", nargs="+", default=PYTHONS)
    parser.add_argument("--only", choices=ENDS)
    parser.add_argument("tests", nargs="*", default=["-n", "2", "-q"], help="arguments of pytest, after --")
    arguments = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    print(f"| Python | end | {' | '.join(SHOWN)} | tests |\n|{'---|' * (len(SHOWN) + 3)}", flush=True)
    outcomes = []
    for python in arguments.pythons:
        for end in [arguments.only] if arguments.only else ENDS:
            versions, outcome = run(python, end, arguments.tests)
            outcomes.append(outcome)
            print(f"| {python} | {end} | {' | '.join(versions)} | {outcome} |", flush=True)
    return 1 if any("failed" in outcome or "error" in outcome for outcome in outcomes) else 0


def run(python: str, end: str, tests: list[str]) -> tuple[list[str], str]:
    """Return the versions that were installed, and the last line of the tests or why there is none."""
    home = FOLDER / f"{python}-{end}"
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with (FOLDER / f"{python}-{end}.log").open("w") as log:

        def done(*words: str) -> bool:
            command = subprocess.run(words, cwd=ROOT, env=environment, stdout=log, stderr=log, check=False)
            return command.returncode == 0

        interpreter = str(home / ("Scripts" if os.name == "nt" else "bin") / "python")
        if not done(*UV, "venv", "--clear", "--python", python, str(home)):
            return ["–"] * len(SHOWN), "no such interpreter here"
        options = [
            "--python",
            interpreter,
            "--resolution",
            ENDS[end],
            "--only-binary",
            ":all:",
            "--no-binary",
            "marginwise",
        ]
        if not done(*UV, "pip", "install", *options, f"{ROOT}[test]"):
            return ["–"] * len(SHOWN), "error: can't be installed"
        done(interpreter, "-m", "pytest", *tests)
    return _versions(interpreter), _last_line(FOLDER / f"{python}-{end}.log")


def _versions(interpreter: str) -> list[str]:
    """Return the installed versions of what the table shows."""
    command = [*UV, "pip", "list", "--python", interpreter, "--format", "freeze"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = dict(line.split("==") for line in listed.splitlines() if "==" in line)
    return [found.get(name, "–") for name in SHOWN]


def _last_line(log: Path) -> str:
    """Return pytest's summary without its time."""
    return re.sub(r" in [\d.]+s.*", "", log.read_text(errors="replace").strip().splitlines()[-1]).strip("= ")


if __name__ == "__main__":
    sys.exit(main())
