"""The report: a page, Markdown, tables and figures, complete and saying what is missing."""

from __future__ import annotations

import csv
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from marginwise.cli import main
from marginwise.study import Effort, TrialRow
from marginwise.study.paper import numbers as paper
from marginwise.study.paper.report import write_paper_report, write_reproduction
from marginwise.study.paper.settings import nearest
from page_checks import beyond_the_edge, check_page, in_browser, needs_browser, read
from synthetic_study import paper_rows, paper_store

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of rows with the paper's statistics, but for one cell; and where it is."""
    directory = tmp_path_factory.mktemp("report")
    rows = paper_rows(shift={("pima", "le1-walk"): 5.0}, most=2)
    rows.append(
        TrialRow("crabs", "svm-cv", 99, 0, "failed", message="a <b> & c", error_name="ValueError", fingerprint="small")
    )
    with paper_store(directory / "study.sqlite", rows, Effort()) as store:
        write_paper_report(store, directory / "report", pairs=1, formats=("svg",))
    return directory / "report"


@pytest.mark.slow
def test_the_page_is_well_formed_and_complete(report):
    html = (report / "index.html").read_text(encoding="utf-8")
    check_page(html)
    reader = read(html)
    assert "28 of 29" in reader.texts
    assert "a <b> & c" in reader.texts
    headings = [text for text in reader.texts if text in ("What holds", "Appendix: the claims", "Failures")]
    assert len(headings) == 6  # in the contents and where they are
    n_figures = sum(tag == "figure" for tag, _, _ in reader.elements)
    assert n_figures == 15  # five histograms, five spreads, three paths, methods, scans


@pytest.mark.slow
def test_everything_is_there_as_files(report):
    figures = {path.stem for path in (report / "figures").iterdir()}
    expected = {"walk", "ascent-length-scales", "ascent-amplitudes", "methods", "line-scans"}
    expected |= {f"{kind}-{dataset}" for kind in ("histogram", "spread") for dataset in paper.DATASETS}
    assert figures == expected
    for name in figures:
        assert (report / "figures" / f"{name}.svg").stat().st_size > 1000
    with (report / "tables" / "table3-thorough.csv").open(newline="", encoding="utf-8") as file:
        cells = {(record["dataset"], record["column"]): record for record in csv.DictReader(file)}
    assert len(cells) == 30
    assert float(cells["pima", "LE1"]["difference"]) == pytest.approx(5.0)
    assert (report / "trials.csv").exists()
    assert (report / "scans.csv").exists()


@pytest.mark.slow
def test_markdown_says_the_same(report):
    text = (report / "report.md").read_text(encoding="utf-8")
    assert "**28 of 29**" in text
    assert "| Pima, LE1 |" in text
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (report / target).exists()
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")


def test_a_study_that_has_not_begun_says_so(tmp_path):
    with paper_store(tmp_path / "study.sqlite", []) as store:
        html = write_paper_report(store, tmp_path / "report").read_text(encoding="utf-8")
    check_page(html)
    texts = " ".join(read(html).texts)
    assert "No trial is finished yet." in texts
    assert "No trial with a recorded path is finished yet." in texts
    assert "30 of the 30 cells of the main table have no trial yet" in texts
    assert "not tested yet" in texts
    assert "does not hold" not in texts


@pytest.mark.slow
def test_a_study_under_way_says_what_is_missing(tmp_path):
    rows = [row for row in paper_rows() if row.dataset == "crabs" and row.number < 2 and "walk" in row.method]
    with paper_store(tmp_path / "study.sqlite", rows, Effort()) as store:
        html = write_paper_report(store, tmp_path / "report", pairs=1, formats=("png", "pdf")).read_text(
            encoding="utf-8"
        )
    texts = " ".join(read(html).texts)
    assert "26 of the 30 cells" in texts
    assert "Crabs, LE1 (2 of 25)" in texts
    # Trials on one data set decide no claim.
    assert not {"holds", "does not hold", "holds in part"} & set(read(html).texts)
    assert "None of the paper's" in texts
    assert "0 of 0" not in texts
    kinds = [path.suffix for path in (tmp_path / "report" / "figures").glob("methods.*")]
    assert sorted(kinds) == [".pdf", ".png"]


def test_the_command_writes_the_report(tmp_path, capsys):
    paper_store(tmp_path / "study.sqlite", []).close()
    url, output = f"sqlite:///{tmp_path}/study.sqlite", tmp_path / "new" / "report"
    assert main(["study", "report", "--store", url, "--output", str(output)]) == 0
    assert capsys.readouterr().out == f"{output}/index.html\n"
    assert main(["study", "report", "--store", f"sqlite:///{tmp_path}/other.sqlite"]) == 2
    assert "a study that was begun" in capsys.readouterr().err


_LOOK = """
const results = ["wider=" + (document.documentElement.scrollWidth > window.innerWidth)];
const table = Array.from(document.querySelectorAll("table")).find(t => t.caption.textContent.includes("cell by cell"));
const button = Array.from(table.querySelectorAll("button")).find(b => b.textContent === "difference");
button.click(); button.click();
results.push("first=" + table.tBodies[0].rows[0].cells[0].textContent.replace(/ /g, ""));
document.body.setAttribute("data-results", results.join(" "));
"""


@pytest.mark.slow
@needs_browser
@pytest.mark.parametrize("width", [500, 1200])
def test_a_browser_shows_it(report, width):
    shown = in_browser(report / "index.html", script=_LOOK, width=width)
    results = next(a["data-results"] for tag, a, _ in read(shown).elements if tag == "body")
    assert results.split() == ["wider=false", "first=Pima,LE1"]


@pytest.mark.slow
@needs_browser
def test_a_phone_shows_all_of_it(report):
    assert beyond_the_edge(report / "index.html") == "nothing"


@pytest.mark.slow
def test_a_miniature_says_so_first_and_withholds_verdicts(tmp_path):
    with paper_store(tmp_path / "study.sqlite") as store:
        html = write_paper_report(store, tmp_path / "report", pairs=1, formats=("svg",)).read_text(encoding="utf-8")
    texts = read(html).texts
    begin = next(place for place, text in enumerate(texts) if "This is a miniature" in text)
    assert begin < next(place for place, text in enumerate(texts) if "The paper's main result" in text)
    assert "claims are judged by a full run" in " ".join(texts)
    assert not {"holds", "does not hold", "holds in part"} & set(texts)
    assert not any("of the paper's sd" in text for text in texts)


@pytest.mark.slow
def test_the_reproduction_is_made_from_its_tables(tmp_path):
    rows = paper_rows(shift={("pima", nearest("le1-walk")): 5.0}, most=2)
    varied = [
        replace(row, method="le1-walk-bold", test_error=row.test_error - 0.05)
        for row in rows
        if row.method == nearest("le1-walk")
    ]
    with paper_store(tmp_path / "study.sqlite", [*rows, *varied], Effort()) as store:
        page = write_reproduction(tmp_path, store)
    text = page.read_text(encoding="utf-8")
    assert "**28 of 29**" in text
    assert "**29 of 29**" in text
    assert "with the walks thorough (30.3 ± 2.0 (2)); with the walks bold (30.3 ± 2.0 (2))." in text
    assert text.index("## What does not, and why") < text.index("## Appendix: the claims")
    assert "Ringnorm, LE2 (2.5 ± 5.3 with a best of 2.2: at most ± 1.5)" in text
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (tmp_path / target).exists() or (DOCS / target).exists()
    assert write_reproduction(tmp_path).read_text(encoding="utf-8") == text


@pytest.mark.slow
@pytest.mark.skipif(not (DOCS / "reproduction.csv").exists(), reason="no full run is recorded in docs/")
def test_the_recorded_reproduction_is_made_from_its_tables(tmp_path):
    for file in (*DOCS.glob("reproduction*.csv"), DOCS / "reproduction-paths.json"):
        shutil.copy(file, tmp_path / file.name)
    first, _, _ = (DOCS / "reproduction.md").read_text(encoding="utf-8").partition("\n## Appendix")
    assert len(first.split()) <= 1500  # two pages for a reader
    assert (DOCS / "reproduction.md").read_text(encoding="utf-8") == write_reproduction(tmp_path).read_text(
        encoding="utf-8"
    )
