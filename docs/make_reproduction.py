"""Write docs/reproduction.md: which of the paper's numbers hold.

    python docs/make_reproduction.py --store sqlite:///study.sqlite   # from a study: its tables, then the page
    python docs/make_reproduction.py                                  # the page again, from its tables

The study is the one of ``marginwise study run --paper``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from marginwise.study.paper.report import write_reproduction
from marginwise.study.store import open_store

DOCS = Path(__file__).parent


def main() -> None:
    """Read the arguments and write the page."""
    parser = argparse.ArgumentParser(description="Write docs/reproduction.md.")
    parser.add_argument("--store", metavar="URL", help="a study to take the tables from: sqlite:///FILE")
    parser.add_argument("--output", type=Path, default=DOCS, metavar="DIR", help="directory to write to")
    arguments = parser.parse_args()
    if arguments.store is None:
        print(write_reproduction(arguments.output))
    else:
        with open_store(arguments.store, read_only=True) as store:
            print(write_reproduction(arguments.output, store))


if __name__ == "__main__":
    main()
