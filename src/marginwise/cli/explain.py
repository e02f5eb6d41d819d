"""``marginwise explain``: why rows are predicted as they are, as a table and as a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from marginwise._wording import numbered
from marginwise.cli.files import STANDARD, add_table_arguments, dialect, table_path
from marginwise.cli.outputs import (
    add_format_argument,
    add_output_arguments,
    check_output,
    table_format,
    write_result,
    written_whole,
)
from marginwise.cli.text import listed, remark


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file of 'marginwise fit'")
    add_table_arguments(parser, target=False)
    parser.add_argument("--output", "-o", metavar="FILE", help="CSV or Excel file to write (default: standard output)")
    add_format_argument(parser)
    parser.add_argument("--report", metavar="FILE", help="HTML report to write")
    parser.add_argument("--keep", "-k", type=listed, metavar="A,B,…", help="columns to copy to the output, '' for none")
    parser.add_argument(
        "--reasons", type=int, default=3, metavar="N", help="number of reasons for each row (default: 3)"
    )
    parser.add_argument("--values", action="store_true", help="also write the contribution of every column")
    parser.add_argument(
        "--coverage",
        type=float,
        default=0.9,
        metavar="P",
        help="how often a set should contain the true label (default: 0.9)",
    )
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    output = None if arguments.output in (None, STANDARD) else Path(arguments.output)
    report = None if arguments.report is None else Path(arguments.report)
    for option, path in (("--output", output), ("--report", report)):
        if path is not None:
            check_output(option, path, force=arguments.force, inputs=[arguments.model, arguments.table])
    kind = table_format(arguments.output_format, output)

    from marginwise.cli.explain_report import ExplainedRows, explain_report
    from marginwise.cli.model_file import read_model
    from marginwise.datasets import load_inputs
    from marginwise.reporting.training import no_feature_names

    model, schema, _ = read_model(Path(arguments.model))
    inputs = load_inputs(table_path(arguments), schema, keep=arguments.keep, **dialect(arguments))
    names = [str(column.name) for column in schema.columns]
    with no_feature_names():
        rows = ExplainedRows.of(model, inputs.X, names, arguments.reasons, arguments.coverage)
    kept = {name: list(cells) for name, cells in inputs.kept.items()}
    columns = kept | rows.columns(values=arguments.values)
    write_result(output, kind, columns, columns if arguments.json else None)
    if report is not None:
        with written_whole(report) as draft:
            explain_report(rows, kept, schema.target or "class", Path(arguments.table).name).write(draft)
    if not arguments.quiet:
        for sentence in inputs.remarks:
            remark(f"{sentence}\n")
        if strangers := int(rows.strange.sum()):
            remark(
                f"{numbered(strangers, 'row')} unlike all that the model was trained on: be wary of their predictions\n"
            )
        for path in filter(None, (output, report)):
            remark(f"written to {path}\n")
    return 0
