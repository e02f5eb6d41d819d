"""``marginwise predict``: the classes of a table's rows, by a model that ``marginwise fit`` wrote."""

from __future__ import annotations

import argparse
import csv
import json
import sys
import warnings
from pathlib import Path
from typing import Any, TextIO

from marginwise.cli.files import (
    STANDARD,
    add_output_arguments,
    add_table_arguments,
    check_output,
    table_path,
    written_whole,
)
from marginwise.cli.text import percent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file of 'marginwise fit'")
    add_table_arguments(parser, target=False)
    parser.add_argument("--output", "-o", metavar="FILE", help="CSV file to write (default: standard output)")
    parser.add_argument("--proba", "-p", action="store_true", help="the probability of each class, too")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    output = None if arguments.output in (None, STANDARD) else Path(arguments.output)
    if output is not None:
        check_output("--output", output, force=arguments.force, inputs=[arguments.model, arguments.table])

    from marginwise.cli.model_file import read_model
    from marginwise.datasets import load_inputs

    model, schema = read_model(Path(arguments.model))
    inputs = load_inputs(table_path(arguments), schema, header=arguments.header, delimiter=arguments.delimiter)
    with warnings.catch_warnings():  # columns are in the model's order by now, and names are not needed
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        probabilities = model.predict_proba(inputs.X)
    predictions = model.classes_[probabilities.argmax(axis=1)]
    error, log_loss = _scores(inputs.labels, predictions, probabilities, model.classes_)
    if not arguments.quiet:
        if inputs.unused:
            sys.stderr.write(f"columns that the model does not use: {', '.join(inputs.unused)}\n")
        if error is not None:
            sys.stderr.write(
                f"the table has {schema.target!r}, too: error {percent(error)} of {len(predictions)} rows, "
                f"log-loss {'infinite' if log_loss is None else f'{log_loss:.3f}'}\n"
            )
    result: dict[str, Any] = {
        "classes": model.classes_.tolist(),
        "predictions": predictions.tolist(),
        "error": error,
        "log_loss": log_loss,
        "unused": list(inputs.unused),
    }
    if arguments.proba:
        result["probabilities"] = probabilities.tolist()
    if output is None:
        _write(result, sys.stdout, as_json=arguments.json)
        return 0
    with written_whole(output) as draft, draft.open("w", newline="", encoding="utf-8") as stream:
        _write(result, stream, as_json=arguments.json)
    if not arguments.quiet:
        sys.stderr.write(f"{len(predictions)} predictions written to {output}\n")
    return 0


def _write(result: dict[str, Any], stream: TextIO, *, as_json: bool) -> None:
    if as_json:
        json.dump(result, stream)
        stream.write("\n")
        return
    writer = csv.writer(stream, lineterminator="\n")
    probabilities = result.get("probabilities")
    writer.writerow(["prediction", *(f"p({label})" for label in result["classes"] if probabilities is not None)])
    for i, label in enumerate(result["predictions"]):
        writer.writerow([label, *(f"{p:.6g}" for p in (probabilities[i] if probabilities is not None else ()))])


def _scores(
    labels: tuple[str, ...] | None, predictions: Any, probabilities: Any, classes: Any
) -> tuple[float | None, float | None]:
    """Return error and log-loss of predictions; None without labels, and for the log-loss of a class never seen."""
    import numpy as np

    from marginwise.datasets.encoding import as_labels

    if labels is None:
        return None, None
    truth = np.array(labels) if classes.dtype.kind == "U" else as_labels(labels)
    if truth.dtype.kind == "U" and classes.dtype.kind != "U":  # a class never seen, among numbers
        classes, predictions = classes.astype(str), predictions.astype(str)
    own = probabilities[truth[:, None] == classes]
    log_loss = float(-np.log(own).mean()) if len(own) == len(truth) and (own > 0).all() else None
    return float((predictions != truth).mean()), log_loss
