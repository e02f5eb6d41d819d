"""What commands read and write: options for tables, and files that appear whole or not at all."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from marginwise.errors import InvalidInputError

#: Stands for standard input or output.
STANDARD = "-"


def add_table_arguments(parser: argparse.ArgumentParser, *, target: bool) -> None:
    """Add TABLE and the options that say how to read it; with ``target``, those that choose its columns."""
    parser.add_argument(
        "table", metavar="TABLE", help="CSV, Parquet or LIBSVM file, may be compressed (.gz); - reads standard input"
    )
    if target:
        parser.add_argument("--target", "-t", metavar="COLUMN", help="the column to predict (default: the last)")
        parser.add_argument(
            "--drop", action="append", default=[], metavar="COLUMN", help="a column to leave out; may be repeated"
        )
    parser.add_argument(
        "--delimiter", metavar="CHARACTER", help="what parts the cells of a CSV file (default: recognised)"
    )
    parser.add_argument(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first row of a CSV file holds the names (default: recognised)",
    )


def add_run_arguments(parser: Any) -> None:
    """Add the seed and the number of processes."""
    parser.add_argument(
        "--seed", type=_seed, default=0, metavar="N", help="seed of all that is drawn (default: %(default)s)"
    )
    parser.add_argument(
        "--jobs", "-j", type=_jobs, default=1, metavar="N", help="processes, -1 for all cores (default: %(default)s)"
    )


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that all commands with a result have."""
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument("--json", action="store_true", help="write the result to standard output as JSON")
    parser.add_argument("--quiet", "-q", action="store_true", help="no progress and no remarks on standard error")


def read_table(arguments: argparse.Namespace) -> Any:
    """Return the table that the arguments ask for."""
    from marginwise.datasets import load_table

    return load_table(
        table_path(arguments),
        arguments.target,
        drop=arguments.drop,
        header=arguments.header,
        delimiter=arguments.delimiter,
    )


def require_classes(table: Any) -> None:
    """Say so if a target is no class to predict."""
    import numpy as np

    labels = np.unique(table.y)
    if len(labels) == 1:
        raise InvalidInputError(
            "target", table.target_name, f"a column with two or more classes, but it is {labels[0]} in every row"
        )
    numeric = table.y.dtype.kind == "f" and (labels != np.round(labels)).any()
    if numeric or (len(labels) > 2 and len(labels) > len(table.y) / 2):
        raise InvalidInputError(
            "target",
            table.target_name,
            f"a column of classes, but it has {len(labels)} different values in {len(table.y)} rows; "
            "make classes of them, or choose another column",
        )


def table_path(arguments: argparse.Namespace) -> str:
    """Return where the table is."""
    return "/dev/stdin" if arguments.table == STANDARD else arguments.table


def check_output(option: str, path: Path, *, force: bool, inputs: Sequence[str] = (), device: bool = True) -> None:
    """Say what keeps a file from being written, before any work is done for it.

    It must be none of the ``inputs``, whatever the user says, and a ``device`` such as /dev/stdout only where allowed.
    """

    def refuse(expected: str) -> InvalidInputError:
        return InvalidInputError(option, str(path), expected)

    if path.is_dir():
        raise refuse("a file, but it is a folder")
    if not path.parent.is_dir():
        raise refuse(f"a file in an existing folder; make {path.parent} first")
    if path.is_file():
        if any(os.path.exists(other) and path.samefile(other) for other in inputs):
            raise refuse("another file than what is read; give another name")
        if not force:
            raise refuse("a new file, but it exists; give another name, or --force to replace it")
    elif path.exists() and not device:
        raise refuse("a plain file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise refuse("a place that can be written to; check its rights")


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Yield a path to write to; what is there at the end takes the place of ``path`` in one step."""
    if path.exists() and not path.is_file():  # a device, such as /dev/stdout
        yield path
        return
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        draft = Path(folder) / path.name
        yield draft
        os.replace(draft, path)


def _seed(text: str) -> int:
    if text.isdecimal() and int(text) < 2**32:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to {2**32 - 1}")


def _jobs(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number >= -1 and number != 0:
        return number
    raise argparse.ArgumentTypeError(f"{text!r} is neither a number of processes nor -1")
