"""``marginwise warmup``: compile everything now, so that the first use does not wait."""

from __future__ import annotations

import argparse
import logging
import sys
import time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.epilog = (
        "Compiled code is kept in the user's cache folder, or in NUMBA_CACHE_DIR: keep it in container images."
    )
    parser.add_argument("--quiet", "-q", action="store_true", help="print nothing")


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from marginwise._runtime.jit import cache_folder
    from marginwise.warmup import warm_up

    logging.getLogger("marginwise").setLevel(logging.ERROR)  # the command itself says what was done
    start = time.perf_counter()
    number = warm_up()
    if not arguments.quiet:
        seconds = time.perf_counter() - start
        sys.stderr.write(f"{number} functions ready after {seconds:.0f} s, kept in {cache_folder()}\n")
    return 0
