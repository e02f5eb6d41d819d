"""Time a change against the commit that it is based on: CPU seconds of a few calls, in turn, with one thread.

    python tools/performance.py [--base origin/main] [--rounds 3] [--slowest 1.25]

The base is checked out into a temporary folder. Each case runs in a process of its own, by turns with the base's files
and with those of this folder, so that both see the same machine; the best of a few rounds counts. Writes a table; the
exit code is 1 if a case takes longer than ``--slowest`` times as long as before. Takes a few minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent

#: What is timed: preparation, and the call. Everything is compiled before.
CASES = {
    "fit, 200 × 7": ("pima = load_benchmark('pima')", "TunedSVC(random_state=0).fit(pima.X_train, pima.y_train)"),
    "fit, 300 × 30": ("wdbc = load_benchmark('wdbc')", "TunedSVC(random_state=0).fit(wdbc.X_train, wdbc.y_train)"),
    "fit, three classes, 300 × 4": (
        "X = rng.normal(size=(300, 4)); y = (X[:, 0] > 0.3) + (X[:, 1] > 0)",
        "TunedSVC(random_state=0).fit(X, y)",
    ),
    "fit, 3,000 × 5": (
        "X = rng.normal(size=(3000, 5)); y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=3000) > 0",
        "TunedSVC(ard=0, random_state=0).fit(X, y)",
    ),
    "probabilities, 20,000 rows": (
        "pima = load_benchmark('pima'); model = TunedSVC(0, random_state=0).fit(pima.X_train, pima.y_train); "
        "Z = rng.normal(size=(20000, 7))",
        "model.predict_proba(Z)",
    ),
    "SVM, 1,500 rows": (
        "X = rng.normal(size=(1500, 4)); y = np.where(X[:, 0] + 0.5 * rng.normal(size=1500) > 0, 1, -1); "
        "h = Hyperparameters(C=2.0)",
        "solve(X, y, h)",
    ),
    "evidence by EP, 600 rows": (
        "X = rng.normal(size=(600, 4)); y = np.where(X[:, 0] + 0.5 * rng.normal(size=600) > 0, 1, -1); "
        "h = Hyperparameters(C=2.0)",
        "evaluate('ep-evidence', X, y, h)",
    ),
}

_PROGRAM = """
import json, sys, time, warnings
import numpy as np
from marginwise import Hyperparameters, TunedSVC, evaluate, load_benchmark, solve
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
prepare, call = json.loads(sys.argv[1])
exec(prepare)
code = compile(call, "case", "eval")
eval(code)
start, calls = time.process_time(), 0
while (taken := time.process_time() - start) < 0.5 or not calls:
    eval(code)
    calls += 1
print(taken / calls)
"""


def seconds(tree: Path, cache: Path, case: tuple[str, str]) -> float:
    """Return the CPU seconds of a case with the sources of a tree, whose compiled loops are kept in ``cache``."""
    one = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
    environment = os.environ | one | {"PYTHONPATH": str(tree / "src"), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", _PROGRAM, json.dumps(case)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=tree)
    return float(done.stdout.split()[-1])


def main(words: list[str] | None = None) -> int:
    """Print the table; the exit code is 1 if something became slower than is allowed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="origin/main", help="commit to compare with (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--slowest", type=float, default=1.25, help="ratio that is still allowed (default: %(default)s)"
    )
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES), metavar="CASE")
    arguments = parser.parse_args(words)
    found = subprocess.run(["git", "merge-base", "HEAD", arguments.base], cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        print(f"there is no commit that {arguments.base!r} and this have in common: {found.stderr.strip()}")
        return 2
    base, slower = found.stdout.strip(), []
    with tempfile.TemporaryDirectory() as folder:
        before = Path(folder) / "base"
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", str(before), base], cwd=ROOT, check=True)
        trees = {"before": before, "now": ROOT}
        try:
            print(f"| case | {base[:9]} | now | ratio |\n|---|---:|---:|---:|", flush=True)
            for name in arguments.cases:
                times = [
                    [seconds(tree, Path(folder) / f"cache-{kind}", CASES[name]) for kind, tree in trees.items()]
                    for _ in range(arguments.rounds)
                ]
                old, new = (min(column) for column in zip(*times, strict=True))
                print(f"| {name} | {old:.3f} s | {new:.3f} s | {new / old:.2f} |", flush=True)
                if new > arguments.slowest * old:
                    slower.append(name)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(before)], cwd=ROOT, check=True)
    if slower:
        print(f"more than {arguments.slowest} times as long as before: {', '.join(slower)}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
