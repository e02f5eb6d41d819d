"""The report of any study: all methods on all data sets, as a page, as Markdown, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from marginwise._wording import numbered
from marginwise.display import FORMATS, Document, Facts, Notes, Section
from marginwise.study.record import write_rows
from marginwise.study.report import tables
from marginwise.study.report.data import StudyData
from marginwise.study.report.figures import Methods
from marginwise.study.report.summary import Trials
from marginwise.study.store import Store

__all__ = ["Trials", "write_report"]


def write_report(
    store: Store, directory: str | Path, *, title: str = "A study", formats: Sequence[str] = FORMATS
) -> Path:
    """Write the report of all trials in the store, finished or not, and return the path of its page.

    Parameters
    ----------
    store : Store
    directory : str or Path
        Made if it is not there: index.html, report.md, trials.csv, tables/ and figures/.
    title : str
        What stands above it.
    formats : sequence of str
        How figures are written next to the page, which has them inside: "svg", "png", "pdf". Markdown shows the SVG.

    Returns
    -------
    Path
        That of the page.

    Examples
    --------
    >>> import tempfile
    >>> from marginwise.study import Effort, Newton, Plan, benchmarks, open_store, run_study
    >>> methods = {"le2": Newton("laplace-evidence", "quadratic", isotropic=True)}
    >>> plan = Plan("mine", benchmarks("crabs"), methods, effort=Effort(newton_evaluations=2))
    >>> with tempfile.TemporaryDirectory() as folder, open_store(f"sqlite:///{folder}/mine.sqlite") as store:
    ...     _ = run_study(plan, store, n_jobs=1)
    ...     write_report(store, f"{folder}/report", formats=()).name
    'index.html'
    """
    directory, data, trials = Path(directory), StudyData(store), Trials(store.rows())
    sizes = {row.dataset: size for row in trials.rows if (size := data.sizes(row)) is not None}
    lead = (
        f"{numbered(len(trials.rows), 'trial')} of {numbered(len(trials.methods), 'method')} on "
        f"{numbered(len(trials.datasets), 'data set')}: "
        f"{', '.join(trials.datasets)}."
    )
    limits = data.limits(trials.rows)
    words = f"This is a miniature: {limits}. It shows that everything works, not how good a method is."
    first = [Section("Limits", [Notes([words])])] if limits else []
    sections = [*first, *_error_sections(trials), Section("Data", [tables.sizes(sizes)]), *closing_sections(trials)]
    page = Document(title, lead, sections).write(directory, formats=formats)
    write_rows(directory / "trials.csv", trials.rows)
    return page


def _error_sections(trials: Trials) -> list[Section]:
    labels = {name: name for name in trials.datasets}
    figure = Methods.compute(trials, labels, trials.methods)
    if figure is None:
        return [Section("Test errors", ["No trial is finished yet."])]
    n_done = len(trials.rows) - len(trials.failed)
    facts = Facts([(f"{n_done:,}", "finished trials"), (f"{len(trials.failed):,}", "that failed")])
    return [Section("Test errors", [facts, figure, *tables.methods(trials, labels, trials.methods)])]


def closing_sections(trials: Trials) -> list[Section]:
    """Say with what the trials were made and how to make them again, and list those that failed."""
    versions = sorted({f"{name} {number}" for row in trials.rows for name, number in row.versions.items()})
    hours = sum(row.seconds for row in trials.rows) / 3600
    made = f" Made with {', '.join(versions)}." if versions else ""
    sections = [
        Section(
            "How it was made",
            [
                f"All trials together took {hours:.2g} hours of one core.{made}",
                "Seeds are hashes of the names of data set, method and trial, so that the same numbers come out "
                "whatever the order and the number of processes. Every trial is in trials.csv.",
            ],
        )
    ]
    if trials.failed:
        sections.append(Section("Failures", [tables.failures(trials)]))
    return sections
