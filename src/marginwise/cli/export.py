"""``marginwise export``: a model for other programs, as an ONNX file or as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from marginwise.cli.outputs import add_output_arguments, check_output, written_whole
from marginwise.cli.text import remark
from marginwise.errors import InvalidInputError

#: Formats, which are also the suffixes of their files.
_ONNX, _JSON = "onnx", "json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file of 'marginwise fit'")
    parser.add_argument("--to", choices=(_ONNX, _JSON), default=_ONNX, help="the format (default: %(default)s)")
    parser.add_argument("--output", "-o", metavar="FILE", help="file to write (default: MODEL with another ending)")
    add_output_arguments(parser, json=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    source = Path(arguments.model)
    output = source.with_suffix(f".{arguments.to}") if arguments.output is None else Path(arguments.output)
    check_output("--output", output, force=arguments.force, inputs=[arguments.model])

    from marginwise.saving import load_model

    model = load_model(source)
    try:
        content = _written(model, arguments.to)
    except InvalidInputError as error:
        raise InvalidInputError(str(source), error.value, error.allowed) from error
    with written_whole(output) as draft:
        draft.write_bytes(content)
    if not arguments.quiet:
        remark(f"written to {output}: {len(content) / 2**20:.2f} MB\n")
    return 0


def _written(model: Any, form: str) -> bytes:
    """Return the content of the file."""
    from marginwise.export import to_json, to_onnx

    names = _column_names(model)
    return to_json(model, names=names).encode() if form == _JSON else to_onnx(model, names=names).SerializeToString()


def _column_names(model: Any) -> list[str] | None:
    """Return the names that the columns had in the file that the model was trained on; None if it was no file."""
    described = getattr(model, "table_", None)
    return None if described is None else list(described["schema"].names)
