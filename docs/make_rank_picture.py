"""Draw the picture of docs/index.md, docs/images/ranks.svg, from the table of docs/default.md.

python docs/make_rank_picture.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

from marginwise.display import MUTED, SERIES, figure_style

HERE = Path(__file__).parent

#: The row of the table with the mean ranks, and the names of its columns as the picture has them.
ROW = "| *mean rank on all 18"
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


def ranks(page: str) -> dict[str, tuple[float, float]]:
    """Return the mean ranks in error and log-loss by the columns of the page's table."""
    lines = page.splitlines()
    row = next(line for line in lines if line.startswith(ROW))
    head = next(line for line in lines if line.startswith("| set (splits) | TunedSVC | the same"))
    cells = zip(head.split("|")[2:-1], row.split("|")[2:-1], strict=True)
    found = {name.strip(): tuple(map(float, cell.split("/"))) for name, cell in cells if cell.strip()}
    if set(found) != set(NAMES):
        raise SystemExit(f"the table of default.md has ranks of {', '.join(found)}; expected {', '.join(NAMES)}")
    return {name: (error, loss) for name, (error, loss) in found.items()}


def main() -> None:
    """Write the picture: one line for each classifier, the best above."""
    mpl.use("svg")
    mpl.rcParams.update(figure_style())
    found = ranks(HERE.joinpath("default.md").read_text(encoding="utf-8"))
    names = sorted(found, key=lambda name: -found[name][1])
    figure, ax = plt.subplots(figsize=(6.4, 2.9))
    for place, name in enumerate(names):
        error, loss = found[name]
        ax.plot([error, loss], [place, place], color=MUTED, linewidth=0.8, zorder=1)
    ax.scatter([found[name][1] for name in names], range(len(names)), color=SERIES[0], s=34, label="log-loss", zorder=2)
    ax.scatter(
        [found[name][0] for name in names],
        range(len(names)),
        facecolor="white",
        edgecolor=SERIES[1],
        s=34,
        label="error",
        zorder=2,
    )
    ax.set_yticks(range(len(names)), [NAMES[name] for name in names])
    ax.set_xlim(1, 9)
    ax.set_xlabel("mean rank of nine classifiers on 18 tables (1 is best)")
    ax.legend(loc="upper right")
    figure.savefig(HERE / "images" / "ranks.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
