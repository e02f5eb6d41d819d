"""``marginwise datasets``: list the benchmark sets, or write one as a table."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any, TextIO

from marginwise.cli.files import STANDARD
from marginwise.cli.outputs import add_output_arguments, check_output, written_whole
from marginwise.cli.text import remark, tell
from marginwise.reporting.text import aligned

_TARGET = "y"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the set to write (default: list them all)")
    parser.add_argument(
        "--part",
        choices=("all", "train", "test"),
        default="all",
        help="rows to write (default: %(default)s, training rows first)",
    )
    parser.add_argument("--output", "-o", metavar="FILE", help="CSV file to write (default: standard output)")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from marginwise.datasets import benchmark_names, load_benchmark

    if arguments.name is None:
        _list([load_benchmark(name) for name in benchmark_names()], as_json=arguments.json)
        return 0
    data = load_benchmark(arguments.name)
    if arguments.output in (None, STANDARD):
        _write(data, arguments.part, sys.stdout)
        return 0
    path = Path(arguments.output)
    check_output("--output", path, force=arguments.force)
    with written_whole(path) as draft, draft.open("w", newline="", encoding="utf-8") as stream:
        n = _write(data, arguments.part, stream)
    if not arguments.quiet:
        remark(f"{n} rows of {data.name} written to {path}; the column to predict is {_TARGET!r}\n")
    return 0


def _list(sets: list[Any], *, as_json: bool) -> None:
    facts = [
        {
            "name": data.name,
            "inputs": data.n_inputs,
            "train": len(data.y_train),
            "test": len(data.y_test),
            "bayes_error": data.bayes_error,
            "provenance": data.provenance,
        }
        for data in sets
    ]
    if as_json:
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
        return
    rows = [[f["name"], str(f["inputs"]), str(f["train"]), str(f["test"]), f["provenance"]] for f in facts]
    tell(aligned([["name", "inputs", "train", "test", "from"], *rows], "<>>><"))


def _write(data: Any, part: str, stream: TextIO) -> int:
    sets = {"train": (data.X_train, data.y_train), "test": (data.X_test, data.y_test)}
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*data.feature_names, _TARGET])
    n = 0
    for name, (X, y) in sets.items():
        if part in ("all", name):
            writer.writerows([*row, int(label)] for row, label in zip(X.tolist(), y.tolist(), strict=True))
            n += len(y)
    return n
