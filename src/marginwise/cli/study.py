"""``marginwise study``: run the paper's study, and report on it."""

from __future__ import annotations

import argparse

from marginwise.study import command, report_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the two commands, each with its own arguments."""
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, module, summary in (
        ("run", command, "run the trials that are not in the store yet"),
        ("report", report_command, "write tables, figures and a page from the store"),
    ):
        part = parts.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        module.add_arguments(part)
        part.set_defaults(run=module.run)
