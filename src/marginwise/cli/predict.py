"""``marginwise predict``: the classes of a table's rows, by a model that ``marginwise fit`` wrote."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from marginwise._wording import numbered, percent, some
from marginwise.cli.files import STANDARD, add_table_arguments, dialect, table_path
from marginwise.cli.outputs import (
    add_format_argument,
    add_output_arguments,
    check_output,
    table_format,
    write_result,
)
from marginwise.cli.text import listed, remark, warn
from marginwise.errors import InvalidInputError

#: Name of the column of predicted classes.
_PREDICTION = "prediction"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file of 'marginwise fit'")
    add_table_arguments(parser, target=False)
    parser.add_argument("--output", "-o", metavar="FILE", help="CSV or Excel file to write (default: standard output)")
    add_format_argument(parser)
    parser.add_argument(
        "--keep",
        "-k",
        type=listed,
        metavar="A,B,…",
        help="columns to copy to the output, '' for none (default: those that identify the rows and that the model "
        "does not use)",
    )
    parser.add_argument("--proba", "-p", action="store_true", help="also write the probability of each class")
    parser.add_argument(
        "--reasons",
        type=int,
        default=0,
        metavar="N",
        help="also write the N cells that contribute most to each prediction",
    )
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    output = None if arguments.output in (None, STANDARD) else Path(arguments.output)
    if output is not None:
        check_output("--output", output, force=arguments.force, inputs=[arguments.model, arguments.table])
    kind = table_format(arguments.output_format, output)

    from marginwise.cli.model_file import read_model
    from marginwise.cli.outside import far_cells, strange_rows, warnings_of
    from marginwise.datasets import load_inputs
    from marginwise.reporting.training import no_feature_names

    model, schema, training_rows = read_model(Path(arguments.model))
    inputs = load_inputs(table_path(arguments), schema, keep=arguments.keep, **dialect(arguments))
    kept = _kept(inputs, [_PREDICTION, *map(_probability, model.classes_)], said=arguments.keep is not None)
    with no_feature_names():
        probabilities = model.predict_proba(inputs.X)
        strange = strange_rows(model, inputs.X)
    cells = schema.cells(inputs.X)[0]
    far = far_cells(model, cells, list(schema.names))
    predictions = model.classes_[probabilities.argmax(axis=1)]
    error, log_loss = _scores(inputs.labels, predictions, probabilities, model.classes_)
    seen = 0.0 if training_rows is None else training_rows.share(cells)
    if not arguments.quiet:
        if left := [name for name in inputs.unused if name not in kept]:
            remark(f"columns that the model does not use: {', '.join(left)}\n")
        for sentence in inputs.remarks:
            remark(f"{sentence}\n")
        for name, words in inputs.unseen.items():
            remark(f"{name!r} has values that did not occur in training, each a category of its own: {some(words)}\n")
        if error is not None:
            remark(
                f"the table also has {schema.target!r}: error {percent(error)} of {numbered(len(predictions), 'row')}, "
                f"log-loss {'infinite' if log_loss is None else f'{log_loss:.3f}'}\n"
            )
    warn(warnings_of(far, strange, len(predictions)))
    if error is not None:
        warn(_trained_on(seen, model))
    result: dict[str, Any] = {
        "classes": model.classes_.tolist(),
        "predictions": predictions.tolist(),
        "error": error,
        "log_loss": log_loss,
        "training_rows": seen,
        "unused": list(inputs.unused),
        "kept": kept,
        "far_outside": [cell._asdict() for cell in far],
        "strange_rows": strange,
    }
    result |= _extras(arguments, model, inputs.X, schema, probabilities)
    write_result(output, kind, _columns(result), result if arguments.json else None)
    if output is not None and not arguments.quiet:
        remark(f"{numbered(len(predictions), 'prediction')} written to {output}\n")
    return 0


def _extras(arguments: argparse.Namespace, model: Any, X: Any, schema: Any, probabilities: Any) -> dict[str, Any]:
    """Return what was asked for in addition to the predictions: probabilities, and the strongest reasons as columns."""
    extras: dict[str, Any] = {"probabilities": probabilities.tolist()} if arguments.proba else {}
    most = arguments.reasons
    if most < 0:
        raise InvalidInputError("--reasons", most, "0 or more")
    if most == 0:
        return extras
    from marginwise.cli.reasons import explained, for_predicted, reason_columns, strongest

    explanation = explained(model, X, [str(column.name) for column in schema.columns])
    values = for_predicted(explanation, probabilities.argmax(axis=1))
    return extras | {"reasons": reason_columns(strongest(explanation, values, most), most)}


def _trained_on(share: float, model: Any) -> list[str]:
    """Return a warning if rows are scored that the model was trained on."""
    if share == 0.0:
        return []
    which = "all of these rows" if share == 1.0 else f"{percent(share)} of these rows"
    new = "new data" if getattr(model, "n_groups_", None) is None else "new groups"
    expected = f": expect {percent(model.expected_error_)} on {new}" if hasattr(model, "expected_error_") else ""
    return [f"the model was trained on {which}, so its error on them is too low{expected}"]


def _probability(label: object) -> str:
    """Return the name of the column of a class's probability."""
    return f"p({label})"


def _kept(inputs: Any, own: list[str], *, said: bool) -> dict[str, list[str]]:
    """Return the columns to carry through; one named as the command's ``own`` is left out, or refused if ``said``."""
    taken = [name for name in inputs.kept if name in own]
    if taken and said:
        raise InvalidInputError(
            "keep", taken[0], "a column of another name, because the predictions have it; rename it"
        )
    return {name: list(cells) for name, cells in inputs.kept.items() if name not in taken}


def _columns(result: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of the table to write."""
    columns = {**result["kept"], _PREDICTION: result["predictions"]}
    if "probabilities" in result:
        for label, cells in zip(result["classes"], zip(*result["probabilities"], strict=True), strict=True):
            columns[_probability(label)] = [float(f"{p:.6g}") for p in cells]
    return columns | result.get("reasons", {})


def _scores(
    labels: tuple[str, ...] | None, predictions: Any, probabilities: Any, classes: Any
) -> tuple[float | None, float | None]:
    """Return error and log-loss of predictions; None without labels, and for the log-loss of a class never seen."""
    import numpy as np

    from marginwise.cli.model_file import labels_as

    if labels is None:
        return None, None
    truth = labels_as(labels, classes)
    if truth.dtype.kind == "U" and classes.dtype.kind != "U":  # a class never seen, among numbers
        classes, predictions = classes.astype(str), predictions.astype(str)
    own = probabilities[truth[:, None] == classes]
    log_loss = float(-np.log(own).mean()) if len(own) == len(truth) and (own > 0).all() else None
    return float((predictions != truth).mean()), log_loss
