"""What pages quote of the study of the paper, from docs/reproduction.csv; ``make_comparison.py`` puts it there."""

from __future__ import annotations

from pathlib import Path

from marginwise.study.paper import paper_plan
from marginwise.study.paper.measures import stopping
from marginwise.study.paper.numbers import DATASETS
from marginwise.study.paper.report import read_tables
from marginwise.study.paper.settings import EP_ASCENT, NORMALISED


def numbers(directory: Path) -> dict[str, str]:
    """Return CPU minutes of the two commands, and what stopping early gains, by name."""
    findings, own = read_tables(directory), set(paper_plan().enumerate())
    rows = findings.trials.rows
    paper = sum(row.seconds for row in rows if row.trial in own) / 60
    both = sum(row.seconds for row in rows) / 60
    quoted = {
        "study trials": f"{len(rows):,}",
        "study paper": f"{paper:.0f}",
        "study sensitivity": f"{both - paper:.0f}",
    }
    quoted |= {"study both": f"{both:.0f}", "study both on two cores": f"{both / 2:.0f}"}
    rising = [dataset for dataset in DATASETS if dataset != "pima"]
    for model, method in {"as it is": EP_ASCENT, "normalised": NORMALISED}.items():
        mean, error = stopping(findings, method, *rising)
        quoted[f"study gain {model}"] = f"{mean:.2f} ± {error:.2f}".replace("-", "−")
    return quoted
