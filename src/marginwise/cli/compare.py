"""``marginwise compare``: criteria and other classifiers side by side on a user's table."""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from marginwise._runtime.packages import require
from marginwise._wording import numbered, percent
from marginwise.cli.files import add_run_arguments, add_table_arguments, read_table
from marginwise.cli.outputs import add_output_arguments, check_output, written_whole
from marginwise.cli.text import listed, tell, warn
from marginwise.errors import Finding, InvalidInputError
from marginwise.reporting.text import aligned

_CRITERIA = "auto,ep-evidence,laplace-evidence,span"
_PEERS = "grid-svc,logistic,forest,boosting"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_table_arguments(parser, target=True)
    parser.add_argument(
        "--criteria",
        type=listed,
        default=_CRITERIA,
        metavar="A,B,…",
        help="criteria of TunedSVC to compare (default: %(default)s)",
    )
    parser.add_argument(
        "--peers",
        type=listed,
        default=_PEERS,
        metavar="A,B,…",
        help="other classifiers to compare with (default: %(default)s)",
    )
    held_out = parser.add_mutually_exclusive_group()
    held_out.add_argument(
        "--folds", type=int, default=5, metavar="K", help="number of folds, each held out once (default: %(default)s)"
    )
    held_out.add_argument("--test-fraction", type=float, metavar="F", help="hold out this share of the rows, once")
    parser.add_argument("--report", "-r", metavar="FILE", help="HTML page to write")
    add_run_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    _check(arguments)
    table = read_table(arguments)

    import numpy as np

    from marginwise.cli.guards import check_table
    from marginwise.comparison import contestants, run_parts, scores, splits
    from marginwise.search.progress import counter

    warn(check_table(table))
    words = np.isin(table.feature_names, list(table.categories))
    groups = np.array(table.groups) if table.groups else None
    chosen = (arguments.criteria, arguments.peers, arguments.seed, words)
    methods = contestants(*chosen, grouped=groups is not None)
    shares = {"folds": arguments.folds, "test_fraction": arguments.test_fraction}
    rows = splits(table.y, **shares, seed=arguments.seed, groups=groups)
    parts = []
    with counter(False if arguments.quiet else None, "fits", len(methods) * len(rows)) as count:
        for part in run_parts(_with_days(table), table.y, methods, rows, arguments.jobs, groups):
            parts.append(part)
            count(1)
    ranked = scores(parts)
    held_out = sum(len(test) for _, test in rows)
    how = f"{len(rows)} folds" if arguments.test_fraction is None else f"{held_out} of {len(table.y)} rows held out"
    how += "" if groups is None else f", {numbered(len(np.unique(groups)), 'group')} on one side each"
    size = f"{numbered(len(table.y), 'row')}, {numbered(table.X.shape[1], 'input')}"
    title = f"{Path(arguments.table).name}: {size}, target {table.target_name}"
    if arguments.report is not None:
        with written_whole(Path(arguments.report)) as draft:
            _page(title, how, ranked).write(draft)
    warn(f"{failed.method} failed: {failed.failure}" for failed in ranked if failed.failure)
    if arguments.json:
        methods_in_json = [_finite(asdict(s)) for s in ranked]
        result = {
            "table": arguments.table,
            "target": table.target_name,
            "test_rows": held_out,
            "methods": methods_in_json,
        }
        sys.stdout.write(json.dumps(result, indent=2) + "\n")
    else:
        text = f"{title}; {how}\n\n{aligned([_HEADER, *map(_row, ranked)], '<>>>>>')}\n{_NOTE}\n"
        tell(text)
    return 0 if any(not s.failure for s in ranked) else 1


def _with_days(table: Any) -> Any:
    """Return the inputs with dates as days, because other classifiers take none."""
    from marginwise.tables.reading import of_objects

    X = table.X.copy()
    for j, name in enumerate(table.feature_names):
        if name in table.dates:
            X[:, j] = of_objects(X[:, j], name).values
    return X


_HEADER = ["", "error", "log-loss", "behind the best", "calibration error", "seconds"]
_NOTE = (
    "± one standard error over the test rows, or their groups; behind the best: difference in log-loss, row by row; "
    "seconds: of one fit."
)
_CALIBRATION = "Calibration error: how far the confidence in a prediction and the share of right ones are apart."


def _check(arguments: argparse.Namespace) -> None:
    if arguments.folds < 2:
        raise InvalidInputError("--folds", arguments.folds, "2 or more")
    if arguments.test_fraction is not None and not 0 < arguments.test_fraction < 1:
        raise InvalidInputError("--test-fraction", arguments.test_fraction, "a share between 0 and 1")
    if not [*arguments.criteria, *arguments.peers]:
        raise InvalidInputError("--criteria and --peers", Finding("are empty"), "at least one name between them")
    if arguments.report is not None:
        require("matplotlib", "the report needs", "marginwise[plots]", "; do without --report")
        check_output("--report", Path(arguments.report), force=arguments.force, inputs=[arguments.table])


def _row(score: Any) -> list[str]:
    if score.failure:
        return [score.method, "failed", "", "", "", f"{score.seconds:.2f}"]
    return [
        score.method,
        f"{percent(score.error)} ± {100 * score.error_deviation:.1f}",
        f"{score.log_loss:.3f} ± {score.log_loss_deviation:.3f}",
        f"{score.gap:.3f} ± {score.gap_deviation:.3f}" if score.gap else "",
        f"{score.calibration_error:.3f}",
        f"{score.seconds:.2f}",
    ]


def _page(title: str, how: str, scores: list[Any]) -> Any:
    from marginwise.cli.compare_chart import ComparisonChart
    from marginwise.display import Cell, Page

    page = Page("Classifiers side by side", f"{title}; {how}.")
    page.text(
        "Each classifier was trained on a part of the rows and predicted the others. The "
        "one with the smallest log-loss is on top: its probabilities can be trusted most."
    )
    finished = [s for s in scores if not s.failure]
    if finished:
        ComparisonChart(finished).add_to(page)
    keys = ("error", "log_loss", "gap", "calibration_error", "seconds")
    rows = [
        [
            s.method,
            *(Cell(text, getattr(s, key)) if text else None for text, key in zip(_row(s)[1:], keys, strict=True)),
        ]
        for s in scores
    ]
    page.table(["classifier", *_HEADER[1:]], rows, caption="The same in numbers", note=f"{_NOTE} {_CALIBRATION}")
    page.notes(f"{s.method} failed: {s.failure}" for s in scores if s.failure)
    return page


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with None for NaN, which JSON does not have."""
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in values.items()}
