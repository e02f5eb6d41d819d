"""``marginwise study``: run the paper's study, a part of it or more than it, and report on it."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from marginwise.cli import INTERRUPTED
from marginwise.cli.files import add_drop_argument
from marginwise.cli.text import listed, tell
from marginwise.errors import InvalidInputError

if TYPE_CHECKING:
    from marginwise.criteria import Criterion
    from marginwise.study import Method, Plan, RunSummary

DEFAULT_STORE = "sqlite:///study.sqlite"

#: Trials of a criterion of one's own that is added to the paper's study, as many as of its searches from random
#: starts, and in the miniature.
BESIDE_PAPER, BESIDE_QUICK = 10, 1

_EXAMPLES = """\
examples:
  marginwise study run --quick
  marginwise study run --paper --datasets crabs,pima --methods le1-walk,tuned-svc --trials 3
  marginwise study run --data patients.csv --target ill --criterion my_module:Mine
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the two commands, each with its own arguments."""
    parts = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, add, run, summary in (
        ("run", _add_run_arguments, run_trials, "run the trials that are not in the store yet"),
        ("report", _add_report_arguments, write_report, "write tables, figures and a page from the store"),
    ):
        part = parts.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            epilog=_EXAMPLES if name == "run" else None,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        part.add_argument(
            "--store", default=DEFAULT_STORE, metavar="URL", help="where results are stored (default: %(default)s)"
        )
        add(part)
        part.set_defaults(run=run)


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick",
        action="store_true",
        help="a miniature with few rows and short searches, less than a minute (the default without --data and "
        "--criterion)",
    )
    size.add_argument(
        "--paper",
        action="store_true",
        help="the whole study with the paper's numbers of trials, less than an hour on 2 cores",
    )
    size.add_argument(
        "--sensitivity",
        action="store_true",
        help="also vary what the paper leaves open: run it on the store of --paper, about another hour",
    )
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help="folder with the paper's data sets, NAME.csv or NAME.csv.gz; with --sensitivity, also run the searches on "
        "its twonorm and ringnorm, which the paper took from the DELVE archive",
    )
    own = parser.add_argument_group(
        "your own",
        "Without one of the sizes above, the study has these tables only, with all of their rows, the usual searches "
        "and the methods that take seconds. With one, they are added to the paper's data sets.",
    )
    own.add_argument(
        "--data",
        action="append",
        default=[],
        metavar="FILE",
        help="a table to add as a data set, named after the file; may be repeated",
    )
    own.add_argument("--target", metavar="COLUMN", help="column of these tables to predict (default: the last)")
    add_drop_argument(own)
    own.add_argument(
        "--positive", metavar="CLASS", help="class to separate from all others, where there are more than two"
    )
    own.add_argument(
        "--test-fraction", type=float, metavar="F", help="fraction of their rows to test on (default: 1/3)"
    )
    own.add_argument(
        "--criterion",
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="a criterion to add as a method: a class in a module or FILE.py, or a built-in name; may be repeated",
    )
    part = parser.add_argument_group("only a part of the study")
    part.add_argument("--datasets", type=listed, metavar="A,B,…", help="only these data sets")
    part.add_argument("--methods", type=listed, metavar="A,B,…", help="only these methods")
    part.add_argument("--trials", type=int, metavar="N", help="trials of each method on each data set")
    parser.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="number of local processes; -1 for one on each core"
    )
    parser.add_argument(
        "--backend", choices=("loky", "dask"), default="loky", help="local processes, or a Dask cluster"
    )
    parser.add_argument("--scheduler", metavar="ADDRESS", help="address of the Dask scheduler, such as tcp://HOST:8786")
    parser.add_argument(
        "--redo", action="store_true", help="run trials again whose rows are damaged, or were made with other settings"
    )
    parser.add_argument(
        "--no-progress", dest="progress", action="store_false", default=None, help="show no progress bar"
    )


def _add_report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", default="study-report", metavar="DIR", help="directory to write to (default: %(default)s)"
    )


def run_trials(arguments: argparse.Namespace) -> int:
    """Run the study and say what became of it; return 0 if it is complete, 1 if trials failed, 130 after Ctrl-C."""
    from marginwise.study import run_study

    plan = planned(arguments)
    tell(_announced(plan))
    summary = run_study(
        plan,
        arguments.store,
        n_jobs=arguments.jobs,
        backend=arguments.backend,
        scheduler=arguments.scheduler,
        progress=arguments.progress,
        redo=arguments.redo,
    )
    tell(_told(summary, arguments.store))
    if summary.interrupted:
        return INTERRUPTED
    return 1 if summary.failed else 0


def planned(arguments: argparse.Namespace) -> Plan:
    """Return the plan that the arguments ask for: one's own or the paper's, with more data and methods, or a part."""
    from marginwise.study import tables
    from marginwise.study.paper import OWN_METHODS, own_plan, paper_plan, quick_plan, sensitivity_plan
    from marginwise.study.paper.plan import OWN_TRIALS

    for option in ("target", "drop", "test_fraction", "positive"):
        if getattr(arguments, option) and not arguments.data:
            raise InvalidInputError(option, getattr(arguments, option), "nothing, unless there is a table (--data)")
    options: dict[str, Any] = {"drop": tuple(arguments.drop), "positive_class": arguments.positive}
    if arguments.test_fraction is not None:
        options["test_fraction"] = arguments.test_fraction
    own_tables = tables(
        *(str(Path(path).expanduser().resolve()) for path in arguments.data), target=arguments.target, **options
    )
    own_methods = _own_methods(arguments.criterion)
    folder = None if arguments.data_dir is None else str(Path(arguments.data_dir).expanduser().resolve())
    datasets, methods = arguments.datasets, arguments.methods
    if arguments.paper:
        plan, trials = paper_plan(folder), BESIDE_PAPER
    elif arguments.sensitivity:
        plan, trials = sensitivity_plan(folder), BESIDE_QUICK
    elif arguments.quick or not (own_tables or own_methods):
        plan, trials = quick_plan(folder), BESIDE_QUICK
    else:
        plan, trials = own_plan(folder), OWN_TRIALS
        datasets = datasets or list(own_tables) or None
        methods = methods or [*OWN_METHODS, *own_methods]
    return plan.with_more(own_tables, own_methods, trials).part(datasets, methods, arguments.trials)


def _announced(plan: Plan) -> str:
    """Return what is going to be run, and first whether it is only a miniature."""
    lines = []
    if limits := plan.effort.limits:
        lines.append(
            f"a miniature: {limits}. It shows that everything works, not how good a method is; --paper runs all"
        )
    lines.append(f"trials: {len(plan.enumerate())}; methods: {len(plan.methods)}; data: {', '.join(plan.datasets)}")
    return "\n".join(lines) + "\n"


def write_report(arguments: argparse.Namespace) -> int:
    """Write the report, and say where it is: the paper's if there are trials on its data sets, else one of its own."""
    from marginwise.study import open_store
    from marginwise.study.paper.numbers import DATASETS
    from marginwise.study.paper.report import write_paper_report
    from marginwise.study.report import write_report as write_general_report

    with open_store(arguments.store, read_only=True) as store:
        datasets = {row.dataset for row in store.rows()}
        write = write_general_report if datasets and datasets.isdisjoint(DATASETS) else write_paper_report
        page = write(store, arguments.output)
    tell(f"{page}\n")
    return 0


def _own_methods(specifications: list[str]) -> dict[str, Method]:
    from marginwise.study import search_on

    methods: dict[str, Method] = {}
    for specification in specifications:
        criterion = _criterion(specification)
        if criterion.name in methods:
            raise InvalidInputError("criterion", specification, f"criteria with other names than {criterion.name!r}")
        methods[criterion.name] = search_on(criterion)
    return methods


def _criterion(specification: str) -> Criterion:
    """Return the criterion that MODULE:CLASS, FILE.py:CLASS or a name stands for."""
    from marginwise.criteria import Criterion, as_criterion

    place, colon, name = specification.rpartition(":")
    if not colon:
        return as_criterion(specification)
    found = getattr(_module(specification, place), name, None)
    if not (isinstance(found, type) and issubclass(found, Criterion)):
        raise InvalidInputError(
            "criterion", specification, f"a class {name} of {place} that is derived from marginwise.criteria.Criterion"
        )
    try:
        criterion: Criterion = found()
    except TypeError as error:
        raise InvalidInputError(
            "criterion", specification, f"a class that is made without arguments and has all methods ({error})"
        ) from None
    for attribute in ("name", "direction", "smooth"):
        if not hasattr(criterion, attribute):
            raise InvalidInputError("criterion", specification, f"a class with a {attribute}, as every criterion has")
    return criterion


def _module(specification: str, place: str) -> Any:
    """Import a module from where the command was started, or a file; workers find it there as well."""
    file = Path(place)
    folder, name = (file.resolve().parent, file.stem) if file.suffix == ".py" else (Path.cwd(), place)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return import_module(name)
    except ImportError as error:
        raise InvalidInputError(
            "criterion", specification, f"MODULE:CLASS with a module that can be imported from {folder} ({error})"
        ) from None


def _told(summary: RunSummary, store: str) -> str:
    lines = [
        f"{summary.done} of {summary.total} trials are in {store}; {summary.run} were run in {summary.seconds:.0f} s"
    ]
    for row in summary.failed:
        lines.append(f"failed: {row.method} on {row.dataset}, trial {row.number}: {row.error_name}: {row.message}")
    if summary.interrupted:
        lines.append("interrupted; the finished trials are kept: the same command continues")
    elif summary.failed:
        lines.append("the same command tries the failed trials again")
    return "\n".join(lines) + "\n"
