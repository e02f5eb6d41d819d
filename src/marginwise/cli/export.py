"""``marginwise export``: a model for other programs, as an ONNX file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from marginwise.cli.outputs import check_output, written_whole
from marginwise.cli.text import remark
from marginwise.errors import InvalidInputError

_ONNX = "onnx"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file of 'marginwise fit'")
    parser.add_argument("--to", choices=(_ONNX,), default=_ONNX, help="the format (default: %(default)s)")
    parser.add_argument("--output", "-o", metavar="FILE", help="file to write (default: MODEL with another ending)")
    parser.add_argument("--force", action="store_true", help="replace a file that exists")
    parser.add_argument("--quiet", "-q", action="store_true", help="no remarks on standard error")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    source = Path(arguments.model)
    output = source.with_suffix(f".{arguments.to}") if arguments.output is None else Path(arguments.output)
    check_output("--output", output, force=arguments.force, inputs=[arguments.model])

    from marginwise.export import to_onnx
    from marginwise.saving import load_model

    model = load_model(source)
    try:
        file = to_onnx(model, names=_column_names(model))
    except InvalidInputError as error:
        raise InvalidInputError(str(source), error.value, error.allowed) from error
    with written_whole(output) as draft:
        draft.write_bytes(file.SerializeToString())
    if not arguments.quiet:
        inputs, outputs = (", ".join(one.name for one in ends) for ends in (file.graph.input, file.graph.output))
        remark(f"written to {output}: from {inputs} to {outputs}\n")
    return 0


def _column_names(model: Any) -> list[str] | None:
    """Return the names that the columns had in the file that the model was trained on; None if it was no file."""
    described = getattr(model, "table_", None)
    return None if described is None else list(described["schema"].names)
