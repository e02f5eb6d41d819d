"""The command ``marginwise study run``."""

from __future__ import annotations

import argparse
import sys

from marginwise.study.plan import paper_plan, quick_plan
from marginwise.study.runner import Summary, run_study
from marginwise.study.workers import BACKENDS

#: What a shell expects of a command that Ctrl-C ended: 128 + SIGINT.
INTERRUPTED = 130

DEFAULT_STORE = "sqlite:///study.sqlite"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``study run``."""
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a miniature that takes less than a minute (the default)")
    size.add_argument(
        "--paper", action="store_true", help="everything at the paper's counts, within 90 minutes on 2 cores"
    )
    parser.add_argument(
        "--store", default=DEFAULT_STORE, metavar="URL", help="where the rows are kept (default: %(default)s)"
    )
    parser.add_argument("--jobs", type=int, default=-1, metavar="N", help="processes here; -1 for one on each core")
    parser.add_argument("--backend", choices=BACKENDS, default="loky", help="processes here, or a Dask cluster")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster, as tcp://HOST:8786")
    parser.add_argument("--redo", action="store_true", help="replace rows that were made with other settings")
    parser.add_argument("--no-progress", dest="progress", action="store_false", default=None, help="show no progress")


def run(arguments: argparse.Namespace) -> int:
    """Run the study and say what became of it; return 0 if it is complete, 1 if trials failed, 130 after Ctrl-C."""
    summary = run_study(
        paper_plan() if arguments.paper else quick_plan(),
        arguments.store,
        n_jobs=arguments.jobs,
        backend=arguments.backend,
        scheduler=arguments.scheduler,
        progress=arguments.progress,
        redo=arguments.redo,
    )
    sys.stdout.write(_told(summary, arguments.store))
    if summary.interrupted:
        return INTERRUPTED
    return 1 if summary.failed else 0


def _told(summary: Summary, store: str) -> str:
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
