"""``marginwise fit``: tune and train on a table, write a model and a report."""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

from marginwise._runtime.packages import require
from marginwise.cli.files import STANDARD, add_run_arguments, add_table_arguments, read_table
from marginwise.cli.outputs import add_output_arguments, check_output, written_whole
from marginwise.cli.report import add_report_arguments, chosen_class
from marginwise.cli.text import listed, tell, warn
from marginwise.errors import (
    ConvergenceWarning,
    GroupWarning,
    InvalidInputError,
    NothingLearntWarning,
    TableWarning,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_table_arguments(parser, target=True)
    files = parser.add_argument_group("files")
    files.add_argument("--model", "-m", metavar="FILE", help="model file to write (default: TABLE's name with .skops)")
    files.add_argument("--report", "-r", metavar="FILE", help="report to write (default: TABLE's name with .html)")
    files.add_argument("--no-files", action="store_true", help="only print the summary, and write no files")
    add_report_arguments(files)
    add_tuning_arguments(parser)
    add_output_arguments(parser)


def add_tuning_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the estimator."""
    tuning = parser.add_argument_group("tuning")
    tuning.add_argument("--criterion", default="auto", help="criterion to optimise (default: ls-loo)")
    tuning.add_argument(
        "--slack", choices=("linear", "quadratic"), help="penalty for small margins (default: the criterion's)"
    )
    tuning.add_argument(
        "--ard",
        type=_ard,
        default="auto",
        metavar="NUMBER",
        help="how far length scales may differ, 0 for one shared by all inputs (default: auto, by cross-validation)",
    )
    tuning.add_argument(
        "--class-weight",
        choices=("balanced",),
        help="balanced: every class counts the same, however many rows it has (default: every row counts the same)",
    )
    tuning.add_argument(
        "--ordered",
        type=listed,
        nargs="?",
        const=[],
        metavar="A,B,…",
        help="treat classes as ordered, like grades: in sorted order, or in the order given, lowest first",
    )
    tuning.add_argument(
        "--restarts", type=int, default=0, metavar="N", help="additional searches from random starting points"
    )
    tuning.add_argument(
        "--max-evaluations",
        type=int,
        default=100,
        metavar="N",
        help="most evaluations of the criterion in a search (default: %(default)s)",
    )
    tuning.add_argument(
        "--max-seconds",
        type=float,
        metavar="S",
        help="stop searching after this time, and train the best model found so far",
    )
    add_run_arguments(tuning)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    model_path, report_path = _outputs(arguments)
    table = read_table(arguments)

    import numpy as np

    from marginwise.cli.guards import check_table, require_folds
    from marginwise.estimators import TunedSVC
    from marginwise.estimators._parameters import chosen_criterion
    from marginwise.reporting.summary import summarise
    from marginwise.reporting.training import TrainingTable

    remarks = check_table(table)
    positive = chosen_class(np.unique(table.y).tolist(), arguments.positive)
    classes = _ordered(np.unique(table.y).tolist(), arguments.ordered)
    require_folds(table, arguments.ard)
    chosen_criterion(arguments.criterion, arguments.slack)  # says which there are
    model = TunedSVC(
        arguments.ard,
        criterion=arguments.criterion,
        slack=arguments.slack,
        restarts=arguments.restarts,
        max_evaluations=arguments.max_evaluations,
        max_seconds=arguments.max_seconds,
        class_weight=arguments.class_weight,
        progress=False if arguments.quiet else None,
        n_jobs=arguments.jobs,
        random_state=arguments.seed,
        categorical_features=table.categorical_features,
        classes=classes,
    )
    warn(remarks)  # before the fit, which may take long
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("ignore", TableWarning)  # guards say the same with names
        warnings.simplefilter("always", NothingLearntWarning)
        warnings.simplefilter("always", GroupWarning)
        model.fit(table.X, table.y, groups=table.groups or None)
    seconds = time.perf_counter() - start
    if model_path is not None:  # before anything else: whatever happens now, the fit is kept
        from marginwise.cli.model_file import write_model

        with written_whole(model_path) as draft:
            write_model(model, table, draft)
    findings = list(dict.fromkeys(str(warning.message) for warning in caught))
    rows = (table.row_names, table.row_numbers)
    training = TrainingTable(table.X, table.y, table.feature_names, table.target_name, *rows)
    summary = summarise(
        model,
        training,
        name=Path(arguments.table).name,
        warnings=[*remarks, *findings],
        seconds=seconds,
        positive_class=positive,
    )
    warn(findings)
    if report_path is not None:
        from marginwise.reporting.fit_report import fit_report, pictures_folder

        page = fit_report(model, training, summary, positive_class=positive)
        with written_whole(report_path) as draft:
            page.write(draft)
        if arguments.plots is not None:
            page.write_pictures(pictures_folder(report_path), arguments.plots)
    files = {"model": model_path, "report": report_path}
    if arguments.json:
        paths = {kind: None if path is None else str(path) for kind, path in files.items()}
        sys.stdout.write(json.dumps({**summary.to_dict(), **paths}, indent=2) + "\n")
    elif arguments.quiet:
        tell("" if any(files.values()) else f"{summary.table}: {summary.expected}\n")
    else:
        tell(summary.to_text())
        lines = [f"{kind:<7} {path}\n" for kind, path in files.items() if path is not None]
        tell("\n" + "".join(lines) if lines else "")
    return 0


def _ordered(labels: list[object], order: list[str] | None) -> str | list[object]:
    """Return what ``classes`` is for TunedSVC: the labels that are written so, in this order; sorted if it is empty."""
    if not order:
        return "unordered" if order is None else "ordered"
    written = {str(label): label for label in labels}
    if sorted(order) != sorted(written):
        wanted = f"each of the classes {', '.join(written)} once (or nothing after it, at the end of the command)"
        raise InvalidInputError("--ordered", ",".join(order), wanted)
    return [written[name] for name in order]


def _outputs(arguments: argparse.Namespace) -> tuple[Path | None, Path | None]:
    """Return where model and report go, after a look at whether they can."""
    if arguments.no_files:
        return None, None
    name = "table" if arguments.table == STANDARD else Path(arguments.table.removesuffix(".gz")).stem
    model, report = Path(arguments.model or f"{name}.skops"), Path(arguments.report or f"{name}.html")
    if model.resolve() == report.resolve():
        raise InvalidInputError("--report", str(report), "another file than the model")
    for option, path, package, extra in (
        ("--model", model, "skops", "saving"),
        ("--report", report, "matplotlib", "plots"),
    ):
        require(package, f"the {option[2:]} needs", f"marginwise[{extra}]", "; --no-files does without")
        check_output(option, path, force=arguments.force, inputs=[arguments.table], device=path is report)
    return model, report


def _ard(text: str) -> str | float:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number nor auto") from None
