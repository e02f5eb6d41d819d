"""``marginwise report``: the report of an existing model, made from its file."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

from marginwise._runtime.packages import require
from marginwise.cli.outputs import add_output_arguments, check_output, written_whole
from marginwise.cli.text import tell, warn
from marginwise.errors import Finding, InvalidInputError, TableWarning


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file of 'marginwise fit', or of save_model in Python")
    parser.add_argument("--output", "-o", metavar="FILE", help="report to write (default: MODEL's name with .html)")
    add_report_arguments(parser)
    add_output_arguments(parser, json=False)


def add_report_arguments(parser: Any) -> None:
    """Add the options of all reports."""
    parser.add_argument("--positive", metavar="CLASS", help="the positive class (default: the second of two)")
    parser.add_argument("--plots", choices=("png", "svg", "pdf"), help="also write each figure as a file")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    source = Path(arguments.model)
    output = Path(arguments.output) if arguments.output else Path(source.stem).with_suffix(".html")
    require("matplotlib", "the report needs", "marginwise[plots]")
    check_output("--output", output, force=arguments.force, inputs=[arguments.model])

    from marginwise.cli.model_file import read_model
    from marginwise.reporting.fit_report import fit_report, pictures_folder
    from marginwise.reporting.summary import summarise
    from marginwise.reporting.training import TrainingTable

    model, schema, _ = read_model(source)
    if not hasattr(model, "ensemble_"):
        found = Finding(f"holds a {type(model).__name__}")
        raise InvalidInputError("MODEL", found, "a TunedSVC, as 'marginwise fit' writes it")
    positive = chosen_class(model.classes_.tolist(), arguments.positive)
    table = TrainingTable.of_model(model)
    remarks = [*schema.remarks, *(remark for remark in model._remarks if remark not in schema.remarks)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TableWarning)
        summary = summarise(model, table, name=source.name, warnings=remarks, positive_class=positive)
        page = fit_report(model, table, summary, positive_class=positive)
    with written_whole(output) as draft:
        page.write(draft)
    if arguments.plots is not None:
        page.write_pictures(pictures_folder(output), arguments.plots)
    warn(dict.fromkeys(str(warning.message) for warning in caught))
    if not arguments.quiet:
        tell(f"report {output}\n")
    return 0


def chosen_class(classes: list[object], text: str | None) -> object | None:
    """Return the class that is written so, None if none was asked for."""
    if text is None:
        return None
    found = [label for label in classes if str(label) == text]
    if not found:
        raise InvalidInputError("--positive", text, f"one of the classes {', '.join(map(str, classes))}")
    return found[0]
