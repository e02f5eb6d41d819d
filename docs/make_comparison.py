"""Put the numbers of docs/comparison.csv and of the study wherever they are quoted; draw ranks.svg and differences.svg.

python docs/make_comparison.py [--check]

The file has what ``benchmarks/classify.py report`` prints: mean test error and log-loss over splits, by set and method.
Sets of the same problem (``problem``: twonorm and ringnorm in two sizes, Pima in two splits) count once between them.
Ranks of other comparisons are computed in the same way from their tables in docs/tables.md and docs/scale.md. In pages,
a number stands between ``<!--n:NAME-->`` and ``<!--/n-->``; with ``--check`` nothing is written, and a page that quotes
other numbers is an error.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

import critical_differences
import study_numbers

HERE = Path(__file__).parent
PAGES = [HERE.parent / "README.md", *sorted(HERE.glob("*.md"))]
MEASURES = ("error", "log_loss")
NAMES = {
    "TunedSVC": "TunedSVC",
    "grid SVC": "SVC, grid search, calibrated",
    "Optuna SVC": "SVC, Optuna, calibrated",
    "GP": "Gaussian process",
    "logistic": "logistic regression",
    "forest": "random forest",
    "boosting": "HistGradientBoosting",
    "CatBoost": "CatBoost",
    "LightGBM": "LightGBM",
}
_QUOTED = re.compile(r"<!--n:([^>]*?)-->(.*?)<!--/n-->", re.DOTALL)


def results() -> dict[str, dict[str, dict[str, float]]]:
    """Return measure → set → method → value."""
    found: dict[str, dict[str, dict[str, float]]] = {measure: defaultdict(dict) for measure in MEASURES}
    with (HERE / "comparison.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for measure in MEASURES:
                found[measure][row["set"]][row["method"]] = float(row[measure])
    return found


def problems() -> dict[str, str]:
    """Return the problem that each set is a version of."""
    with (HERE / "comparison.csv").open(newline="", encoding="utf-8") as file:
        return {row["set"]: row["problem"] for row in csv.DictReader(file)}


def mean_ranks() -> dict[str, tuple[float, float]]:
    """Return the mean rank of each method in error and log-loss, every problem counted once."""
    found, problem = results(), problems()
    rows = {measure: [list(map(own.__getitem__, NAMES)) for own in found[measure].values()] for measure in MEASURES}
    error, loss = (counted_once(rows[measure], [problem[name] for name in found[measure]]) for measure in MEASURES)
    return dict(zip(NAMES, zip(error, loss, strict=True), strict=True))


def counted_once(rows: list[list[float]], problem: list[str]) -> list[float]:
    """Return the mean ranks of columns: over the rows of each problem, and then over problems."""
    by_problem = defaultdict(list)
    for name, values in zip(problem, rows, strict=True):
        by_problem[name].append(rankdata(values))
    return np.mean([np.mean(own, axis=0) for own in by_problem.values()], axis=0).tolist()


def ranks_of_page(page: str, head: str, methods: list[str], same: dict[str, str]) -> dict[str, tuple[float, float]]:
    """Return the mean ranks in the two numbers of each cell of a page's table that begins with ``head``.

    Rows are of one problem if their names are the same up to a comma or a bracket, or ``same`` says so.
    """
    lines = (HERE / f"{page}.md").read_text(encoding="utf-8").splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith(head))
    places = [[cell.strip() for cell in lines[first].split("|")].index(method) for method in methods]
    rows, names = [], []
    for line in lines[first + 2 :]:
        cells = line.replace("*", "").split("|")
        if len(cells) < 2 or cells[1].strip() == "mean rank":
            break
        name = re.split("[,(]", cells[1])[0].strip()
        names.append(same.get(name, name))
        rows.append([[float(number) for number in cells[place].split("/")] for place in places])
    first_numbers, second = ([[pair[k] for pair in row] for row in rows] for k in (0, 1))
    pairs = zip(counted_once(first_numbers, names), counted_once(second, names), strict=True)
    return dict(zip(methods, pairs, strict=True))


def numbers() -> dict[str, str]:
    """Return every number that a page may quote, by its name."""
    found, ranks = results(), mean_ranks()
    quoted = {"problems": str(len(set(problems().values()))), "sets": str(len(problems())), "methods": str(len(NAMES))}
    for method, (error, loss) in ranks.items():
        quoted |= {f"rank error {method}": f"{error:.1f}", f"rank log-loss {method}": f"{loss:.1f}"}
    for measure in MEASURES:
        tested, label = significance(measure), measure.replace("_", "-")
        place = MEASURES.index(measure)
        p = critical_differences.friedman([pair[place] for pair in ranks.values()], int(quoted["problems"]))
        quoted[f"friedman {label}"] = f"{p:.0e}"
        quoted |= {
            f"differ {label} {method}": str(len(critical_differences.differing(tested, method))) for method in NAMES
        }
        quoted |= {f"p {label} {method}": f"{tested[frozenset(('TunedSVC', method))]:.2g}" for method in [*NAMES][1:]}
    for measure, digits in (("error", 1), ("log_loss", 3)):
        for name, values in found[measure].items():
            quoted |= {f"{measure} {name} {method}": f"{value:.{digits}f}" for method, value in values.items()}
    others = ["TunedSVC", "boosting", "CatBoost", "one-hot SVC"]
    for method, (loss, error) in ranks_of_page("tables", "| table (splits) |", others, {"income2": "income"}).items():
        quoted |= {f"tables log-loss {method}": f"{loss:.1f}", f"tables error {method}": f"{error:.1f}"}
    others = ["TunedSVC", "HistGradientBoosting", "LightGBM", "CatBoost", "forest"]
    for method, (error, loss) in ranks_of_page("scale", "| table, rows |", others, {}).items():
        quoted |= {f"scale log-loss {method}": f"{loss:.1f}", f"scale error {method}": f"{error:.1f}"}
    return quoted | study_numbers.numbers(HERE)


def significance(measure: str) -> dict[frozenset[str], float]:
    """Return the corrected p-value of the difference of each pair of methods."""
    return critical_differences.pairwise(results()[measure], problems())


def filled(page: str, known: dict[str, str]) -> str:
    """Return the page with the numbers that it quotes."""
    return _QUOTED.sub(lambda found: f"<!--n:{found[1]}-->{known[found[1]]}<!--/n-->", page)


def fill_pages() -> None:
    """Put the numbers into all pages."""
    known = numbers()
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), known), encoding="utf-8")


def draw() -> None:
    """Write the picture: one line for each classifier, the best above."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    from marginwise.display import MUTED, SERIES, figure_style

    mpl.use("svg")
    mpl.rcParams.update(figure_style())
    ranks, count = mean_ranks(), numbers()
    names = sorted(ranks, key=lambda name: -ranks[name][1])
    places = range(len(names))
    figure, ax = plt.subplots(figsize=(6.4, 2.9))
    for place, name in enumerate(names):
        ax.plot(ranks[name], [place, place], color=MUTED, linewidth=0.8, zorder=1)
    ax.scatter([ranks[name][1] for name in names], places, color=SERIES[0], s=34, label="log-loss", zorder=2)
    ax.scatter(
        [ranks[name][0] for name in names],
        places,
        facecolor="white",
        edgecolor=SERIES[1],
        s=34,
        label="error",
        zorder=2,
    )
    ax.set_yticks(places, [NAMES[name] for name in names])
    ax.set_xlim(1, len(names))
    ax.set_xlabel(f"mean rank of {count['methods']} classifiers on {count['problems']} problems (1 is best)")
    ax.legend(loc="upper right")
    figure.savefig(HERE / "images" / "ranks.svg", metadata={"Date": None}, facecolor="white")


def main(words: list[str]) -> int:
    """Fill in the pages and draw, or say which pages are out of date."""
    known = numbers()
    pages = {page: page.read_text(encoding="utf-8") for page in PAGES}
    old = [page.name for page, text in pages.items() if filled(text, known) != text]
    if "--check" in words:
        for name in old:
            print(f"{name} quotes other numbers than docs/comparison.csv: python docs/make_comparison.py")
        return 1 if old else 0
    fill_pages()
    draw()
    ranks = mean_ranks()
    critical_differences.draw(
        {
            measure.replace("_", "-"): {name: pair[k] for name, pair in ranks.items()}
            for k, measure in enumerate(MEASURES)
        },
        {measure.replace("_", "-"): significance(measure) for measure in MEASURES},
        NAMES,
        HERE / "images" / "differences.svg",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
