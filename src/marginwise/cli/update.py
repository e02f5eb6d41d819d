"""``marginwise update``: rows added to a model, or forgotten, without tuning it again."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from marginwise._wording import some
from marginwise.cli.files import add_table_arguments, dialect, table_path
from marginwise.cli.outputs import add_output_arguments, check_output, written_whole
from marginwise.cli.text import tell, warn
from marginwise.errors import ConvergenceWarning, Finding, GroupWarning, InvalidInputError, TuningWarning


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("model", metavar="MODEL", help="model file of 'marginwise fit'")
    add_table_arguments(parser, target=False, needed=False)
    parser.add_argument("--target", "-t", metavar="COLUMN", help="label column (default: as in the fit)")
    parser.add_argument("--groups", "-g", metavar="COLUMN", help="group column, if the model was fitted with groups")
    parser.add_argument(
        "--forget",
        type=_numbers,
        default=[],
        metavar="N,M-K,…",
        help="rows to forget, by number as in reports: the first is 1, and added rows continue the count",
    )
    parser.add_argument("--output", "-o", metavar="FILE", help="model file to write (default: replace MODEL)")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    source, output = Path(arguments.model), Path(arguments.output or arguments.model)
    if arguments.table is None and not arguments.forget:
        raise InvalidInputError("TABLE", None, "a table of rows to add, or --forget with rows to forget")
    inputs = [] if arguments.table is None else [arguments.table]
    if arguments.output is None:
        check_output("MODEL", output, force=True, inputs=inputs, device=False)
    else:
        check_output("--output", output, force=arguments.force, inputs=[arguments.model, *inputs], device=False)

    from marginwise.cli.model_file import given_numbers, given_places, read_model, write_updated

    model, schema, _ = read_model(source)
    if not hasattr(model, "update"):
        found = Finding(f"holds a {type(model).__name__}")
        raise InvalidInputError("MODEL", found, "a TunedSVC, as 'marginwise fit' writes it")
    forget = given_places(model, arguments.forget)
    new = None if arguments.table is None else _read(arguments, model, schema)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in (ConvergenceWarning, GroupWarning, TuningWarning):
            warnings.simplefilter("always", kind)
        if new is None:
            model.update(forget=forget)
        else:
            model.update(new.X, new.y, groups=new.groups, forget=forget)
    with written_whole(output) as draft:
        write_updated(model, draft, None if new is None else schema.cells(new.X)[0], () if new is None else new.names)
    if not arguments.quiet and new is not None:
        warn(new.warnings)
    warn(dict.fromkeys(str(warning.message) for warning in caught))
    since = model.updates_.drift_since
    _tell(arguments, model.updates_, None if since is None else given_numbers(model)[since], output)
    return 0


class _Rows(NamedTuple):
    """Rows to add: cells, labels, groups if there are any, what the table calls the rows, and what to beware of."""

    X: Any
    y: Any
    groups: tuple[str, ...] | None
    names: tuple[str, ...]
    warnings: list[str]


def _read(arguments: argparse.Namespace, model: Any, schema: Any) -> _Rows:
    """Return the rows of the table, which must have labels, and no words that the model does not know."""
    from marginwise.cli.model_file import labels_as
    from marginwise.cli.outside import far_cells, warnings_of
    from marginwise.datasets import load_inputs

    said = schema if arguments.target is None else replace(schema, target=arguments.target)
    inputs = load_inputs(table_path(arguments), said, groups=arguments.groups, **dialect(arguments))
    if inputs.labels is None:
        wanted = f"a column {said.target!r} with a label in each row" if said.target else "the column of the labels"
        raise InvalidInputError("target", said.target, wanted)
    for name, words in inputs.unseen.items():
        found = Finding(f"has words that the model does not know, {some(words)}")
        raise InvalidInputError(f"column {name!r}", found, "words of training; to learn new ones, refit on all rows")
    far = far_cells(model, schema.cells(inputs.X)[0], list(schema.names))
    names = next(iter(inputs.kept.values()), ())
    remarks = [*inputs.remarks, *warnings_of(far, [], len(inputs.X))]
    return _Rows(inputs.X, labels_as(inputs.labels, model.classes_), inputs.groups or None, names, remarks)


def _tell(arguments: argparse.Namespace, updates: Any, drift_since: int | None, output: Path) -> None:
    """Write what has become of the model; ``drift_since`` is a number of a row as reports count them."""
    if arguments.json:
        numbers = {
            name: getattr(updates, name)
            for name in ("n_tuned", "n_added", "n_forgotten", "log_loss", "log_loss_se", "expected_log_loss")
        }
        known = {name: value if value == value else None for name, value in numbers.items()}
        result = {**known, "drift_since": drift_since, "remarks": list(updates.remarks), "model": str(output)}
        sys.stdout.write(json.dumps(result) + "\n")
    elif not arguments.quiet:
        tell(f"{updates}\n")
        if updates.log_loss == updates.log_loss:
            tell(
                f"log-loss of the rows added, before the model had them: {updates.log_loss:.3f} "
                f"(± {updates.log_loss_se:.3f}); expected: {updates.expected_log_loss:.3f} "
                f"(± {updates.expected_log_loss_se:.3f})\n"
            )
        tell(f"model   {output}\n")


def _numbers(text: str) -> list[int]:
    """Return the numbers in a text like 3,17-20."""
    rows: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not (first.isdecimal() and (last or first).isdecimal() and int(first) <= int(last or first)):
            raise argparse.ArgumentTypeError(f"{part.strip()!r} is neither a number of a row nor a range such as 17-20")
        rows += range(int(first), int(last or first) + 1)
    return rows
