"""Options that commands share: the table that they read, how to read it, the seed and the processes."""

from __future__ import annotations

import argparse
from typing import Any

from marginwise.cli.text import listed

#: Stands for standard input or output.
STANDARD = "-"

_YES_OR_NO = {"yes": True, "no": False}


def add_table_arguments(parser: argparse.ArgumentParser, *, target: bool, needed: bool = True) -> None:
    """Add TABLE and the options that say how to read it; with ``target``, those that choose its columns."""
    parser.add_argument(
        "table",
        metavar="TABLE",
        nargs=None if needed else "?",
        help="CSV, Excel (.xlsx), Parquet or LIBSVM file; - reads standard input",
    )
    if target:
        parser.add_argument("--target", "-t", metavar="COLUMN", help="the column to predict (default: the last)")
        parser.add_argument(
            "--groups",
            "-g",
            metavar="COLUMN",
            help="column that identifies groups of rows, such as the patient; it is not used as an input",
        )
        add_drop_argument(parser)
        parser.add_argument(
            "--missing-values",
            action="extend",
            type=listed,
            default=[],
            metavar="A,B,…",
            help="additional values that mean missing, such as unknown,-999; may be repeated",
        )
    parser.add_argument(
        "--missing",
        choices=("keep", "refuse"),
        default="keep",
        help="keep missing cells as missing values, or refuse them with an error (default: %(default)s)",
    )
    dialect = parser.add_argument_group("CSV and Excel files (default: detected where unambiguous)")
    dialect.add_argument("--header", choices=_YES_OR_NO, help="whether the first row holds column names")
    dialect.add_argument("--delimiter", metavar="CHARACTER", help="character that separates cells")
    dialect.add_argument("--decimal", metavar="SIGN", help="decimal separator, a point or a comma")
    dialect.add_argument("--encoding", metavar="NAME", help="text encoding, such as utf-8, cp1252 or latin-1")
    dialect.add_argument(
        "--skip", type=int, default=0, metavar="N", help="lines to skip above the table, such as a title"
    )
    dialect.add_argument("--sheet", metavar="NAME", help="name or number of the Excel sheet (default: the first)")


def add_drop_argument(parser: Any) -> None:
    """Add the columns to leave out."""
    parser.add_argument(
        "--drop",
        action="extend",
        type=listed,
        default=[],
        metavar="A,B,…",
        help="columns to ignore, by name or position; may be repeated",
    )


def add_run_arguments(parser: Any) -> None:
    """Add the seed and the number of processes."""
    parser.add_argument("--seed", type=_seed, default=0, metavar="N", help="random seed (default: %(default)s)")
    parser.add_argument(
        "--jobs",
        "-j",
        type=_jobs,
        default=1,
        metavar="N",
        help="number of processes, -1 for all cores (default: %(default)s)",
    )


def read_table(arguments: argparse.Namespace) -> Any:
    """Return the table that the arguments ask for."""
    from marginwise.datasets import load_table

    return load_table(
        table_path(arguments),
        arguments.target,
        groups=arguments.groups,
        drop=arguments.drop,
        missing_values=arguments.missing_values,
        identifiers="set aside",
        **dialect(arguments),
    )


def dialect(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what the arguments say of how a table is to be read."""
    said = {name: getattr(arguments, name) for name in ("delimiter", "decimal", "encoding", "skip", "sheet")}
    return {**said, "header": _YES_OR_NO.get(arguments.header), "missing": arguments.missing}


def table_path(arguments: argparse.Namespace) -> str:
    """Return where the table is."""
    return "/dev/stdin" if arguments.table == STANDARD else arguments.table


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
