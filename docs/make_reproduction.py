"""Write docs/reproduction.md: which of the paper's numbers hold; and put into other pages what they quote of it.

    python docs/make_reproduction.py --store sqlite:///study.sqlite   # from a study: its tables, then the page
    python docs/make_reproduction.py                                  # the page again, from its tables
    python docs/make_reproduction.py --store URL --compare            # what a run changes; nothing is written

The study is the one of ``marginwise study run --paper`` and ``--sensitivity``, both in one store and complete.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import make_comparison
from marginwise.study.paper import paper_plan, sensitivity_plan
from marginwise.study.paper.report import write_reproduction
from marginwise.study.record import TrialRow, read_rows
from marginwise.study.store import Store, open_store

DOCS = Path(__file__).parent

#: The tables have six digits, and errors are shares of at most 7,100 rows.
_DIGITS = 1e-5


def compare(store: Store, directory: Path) -> None:
    """Print for each method how many rows of the store are as in the tables: as many evaluations, the same error.

    And how long all trials of the tables would take, each method at the ratio of its seconds now and then.
    """
    kept = {row.trial: row for row in read_rows(directory / "reproduction.csv")}
    pairs: dict[str, list[tuple[TrialRow, TrialRow]]] = defaultdict(list)
    for row in store.rows():
        if row.status == "done" and row.trial in kept:
            for name in (row.method, "all"):
                pairs[name].append((kept[row.trial], row))
    print(f"{'method':30} rows  same  error in %: tables, now  seconds: tables, now")
    ratios = {}
    for method in sorted(pairs, key=lambda name: (name == "all", name)):
        found = pairs[method]
        same = sum(map(_same, *zip(*found, strict=True)))
        errors = [100 * sum(_error(pair[k]) for pair in found) / len(found) for k in (0, 1)]
        seconds = [sum(pair[k].seconds for pair in found) for k in (0, 1)]
        ratios[method] = seconds[1] / seconds[0]
        shown = "{:6.2f} {:6.2f}  {:8.0f} {:8.0f}".format(*errors, *seconds)
        print(f"{method:30} {len(found):4}  {same:4}  {shown}")
    minutes = sum(row.seconds * ratios.get(row.method, ratios["all"]) for row in kept.values()) / 60
    print(f"all {len(kept)} trials of the tables would take {minutes:.0f} minutes")


def _same(old: TrialRow, new: TrialRow) -> bool:
    return old.evaluations == new.evaluations and abs(_error(old) - _error(new)) < _DIGITS


def _error(row: TrialRow) -> float:
    return row.test_error or 0.0


def missing(store: Store) -> str:
    """Say which trials of the study are not in the store; nothing if all are."""
    done = store.settled(float("inf"))
    trials = dict.fromkeys([*paper_plan().enumerate(), *sensitivity_plan("DIR").enumerate()])  # they share some
    left = [trial for trial in trials if trial not in done]
    return f"{len(left)} trials are missing, the first {left[0].name}" if left else ""


def main() -> None:
    """Read the arguments and write the page."""
    parser = argparse.ArgumentParser(description="Write docs/reproduction.md.")
    parser.add_argument("--store", metavar="URL", help="a study to take the tables from: sqlite:///FILE")
    parser.add_argument("--compare", action="store_true", help="say how the study differs from the tables, and end")
    parser.add_argument("--output", type=Path, default=DOCS, metavar="DIR", help="directory to write to")
    arguments = parser.parse_args()
    if arguments.store is None:
        print(write_reproduction(arguments.output))
    else:
        with open_store(arguments.store, read_only=True) as store:
            if arguments.compare:
                compare(store, arguments.output)
                return
            if left := missing(store):
                parser.error(f"{left}: marginwise study run --paper, then --sensitivity --data-dir DIR")
            print(write_reproduction(arguments.output, store))
    if arguments.output == DOCS:
        make_comparison.fill_pages()


if __name__ == "__main__":
    main()
