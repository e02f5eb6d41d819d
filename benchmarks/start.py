"""What a new environment waits for: from the start of Python to the first prediction, cold and warm.

    python benchmarks/start.py [--environments 5] [--sources . ../older-checkout]

Each environment is made by venv and pip from nothing, with a cache of compiled functions of its own; the sources take
turns. Prints medians and the range of wall times, what `import marginwise` takes, and what is compiled by function.
To be run with nothing else running. Takes the network and half a minute an environment.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FIT = """
import numpy as np
from marginwise import TunedSVC
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 5))
y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=200) > 0).astype(int)
TunedSVC(random_state=0).fit(X, y).predict_proba(X)
"""

CLOCK = "\nimport time\nprint(time.time())\n"

# Events are nested: a function's time contains that of the functions that it calls, unless these were compiled before.
COMPILED = (
    """
import json
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
"""
    + "".join(f"    {line}\n" for line in FIT.strip().splitlines())
    + """
begun, found = {}, {}
for at, happened in recorder.buffer:
    function = happened.data["dispatcher"].py_func
    name = f"{function.__module__}.{function.__qualname__}"
    if happened.is_start:
        begun[name] = at
    else:
        found[name] = found.get(name, 0) + at - begun[name]
print(json.dumps(found))
"""
)

IMPORT = "import time; start = time.perf_counter(); import marginwise; print(time.perf_counter() - start)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--environments", type=int, default=5)
    parser.add_argument("--sources", type=Path, nargs="+", default=[Path(__file__).parent.parent])
    parser.add_argument("--extras", default="", help='for instance "[tables]" for pandas')
    arguments = parser.parse_args()
    times = {source: [] for source in arguments.sources}
    for number in range(arguments.environments):
        for source in arguments.sources:
            with tempfile.TemporaryDirectory() as folder:
                times[source].append(of_environment(Path(folder), f"{source.resolve()}{arguments.extras}"))
            shown = ", ".join(f"{name} {value:.2f}" for name, value in times[source][-1].items() if name != "compiled")
            print(f"environment {number + 1}, {source}: {shown}", flush=True)
    print(
        "\n| sources | import marginwise | first fit and prediction | the same in a new process | compiled functions |"
    )
    print("|---|---|---|---|---|")
    for source, measured in times.items():
        cells = [spread([one[name] for one in measured]) for name in ("import", "cold", "warm")]
        print(f"| {source} | {' | '.join(cells)} | {len(measured[-1]['compiled'])} |")
    for source, measured in times.items():
        print(f"\n{source}, seconds to compile, with what each calls:")
        for name, seconds in sorted(measured[-1]["compiled"].items(), key=lambda item: -item[1]):
            print(f"  {seconds:6.2f}  {name}")


def of_environment(folder, requirement):
    """Make one environment and return its wall times in seconds, and those of compilation by function."""
    python = str(folder / "env" / "bin" / "python")
    quietly([sys.executable, "-m", "venv", str(folder / "env")])
    quietly([python, "-m", "pip", "install", "--quiet", requirement])
    return {
        "import": float(run(python, IMPORT, folder / "none")),
        "cold": until_predicted(python, folder / "cache"),
        "warm": until_predicted(python, folder / "cache"),
        "compiled": json.loads(run(python, COMPILED, folder / "other")),
    }


def until_predicted(python, cache):
    """Return the seconds from the start of Python to the first prediction."""
    start = time.time()
    return float(run(python, FIT + CLOCK, cache)) - start


def run(python, code, cache):
    """Run ``code`` with compiled functions in ``cache`` and return what was printed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["NUMBA_CACHE_DIR"] = str(cache)
    command = [python, "-c", code]
    return subprocess.run(command, env=environment, cwd=cache.parent, check=True, capture_output=True, text=True).stdout


def quietly(command):
    subprocess.run(command, check=True, capture_output=True)


def spread(values):
    return f"{statistics.median(values):.2f} s ({min(values):.2f} to {max(values):.2f})"


if __name__ == "__main__":
    main()
