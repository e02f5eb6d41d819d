"""The command ``marginwise study report``."""

from __future__ import annotations

import argparse
import sys

from marginwise.study.command import DEFAULT_STORE
from marginwise.study.paper.report import write_report
from marginwise.study.store import open_store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``study report``."""
    parser.add_argument(
        "--store", default=DEFAULT_STORE, metavar="URL", help="where the rows are kept (default: %(default)s)"
    )
    parser.add_argument(
        "--output", default="study-report", metavar="DIR", help="directory to write to (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the report, and say where it is."""
    with open_store(arguments.store, read_only=True) as store:
        page = write_report(store, arguments.output)
    sys.stdout.write(f"{page}\n")
    return 0
