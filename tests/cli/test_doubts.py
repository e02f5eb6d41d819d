"""Labels that were flipped are found, rows between the classes are, and both have the numbers of the table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli_tables import write_csv
from marginwise import TunedSVC
from marginwise.cli.doubts import SUSPICIOUS, add_doubts, expected_suspicious, suspicious_labels, uncertain_rows
from marginwise.cli.held_out import HeldOutRows
from marginwise.display import Page
from page_checks import CHROMIUM, beyond_the_edge, check_page, read

FLIPPED = [3, 17, 58, 91]


def flipped(n_classes: int, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Clouds far from each other, with a few labels turned into those of the next class."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % n_classes
    X = (
        rng.normal(size=(n, 2))
        + 5 * np.c_[np.cos(2 * np.pi * codes / n_classes), np.sin(2 * np.pi * codes / n_classes)]
    )
    codes[FLIPPED] = (codes[FLIPPED] + 1) % n_classes
    return X, codes


@pytest.mark.parametrize("n_classes", [2, 3])
def test_flipped_labels_come_first(n_classes: int) -> None:
    X, codes = flipped(n_classes)
    X, y = np.vstack([X, X[:5]]), np.array(["a", "b", "c"])[np.r_[codes, codes[:5]]]  # some rows are repeated
    model = TunedSVC(ard=0, random_state=0).fit(X, y)
    held_out, labels = HeldOutRows.of(model, X, y), model.classes_.tolist()
    found = suspicious_labels(held_out, labels)
    assert sorted(number for doubt in found[:4] for number in doubt.rows) == [4, 18, 59, 92, 124]  # row 4 has a copy
    for doubt in found[:4]:
        assert all(y[number - 1] == doubt.label for number in doubt.rows)
        assert doubt.other == "abc"[(("abc".index(doubt.label)) - 1) % n_classes]
    assert [doubt.probability for doubt in found] == sorted(doubt.probability for doubt in found)
    assert all(doubt.probability < SUSPICIOUS for doubt in found)


def test_each_row_belongs_to_its_example() -> None:
    X, y = flipped(2)
    rng = np.random.default_rng(1)
    rows = rng.integers(0, len(y), 150)  # in any order, many of them several times
    model = TunedSVC(ard=0, random_state=0).fit(X[rows], y[rows])
    held_out = HeldOutRows.of(model, X[rows], y[rows])
    np.testing.assert_array_equal(held_out.codes[held_out.examples], y[rows])
    np.testing.assert_array_equal(np.bincount(held_out.examples), held_out.weights)
    for example in range(len(held_out.codes)):
        numbers = np.array(held_out.rows_of(example)) - 1
        assert len(np.unique(X[rows][numbers], axis=0)) == 1
    assert sum(len(held_out.rows_of(k)) for k in range(len(held_out.codes))) == len(rows)


def made_up() -> HeldOutRows:
    probability = np.array([[0.95, 0.05], [0.02, 0.98], [0.5, 0.5], [0.6, 0.4]])
    return HeldOutRows(probability, np.array([1, 0, 0, 1]), np.array([1.0, 2.0, 1.0, 1.0]), np.array([1, 0, 3, 1, 2]))


def test_known_probabilities() -> None:
    found = suspicious_labels(made_up(), ["no", "yes"])
    assert [(doubt.rows, doubt.label, doubt.probability) for doubt in found] == [
        ((1, 4), "no", 0.02),
        ((2,), "yes", 0.05),
    ]
    assert [doubt.rows for doubt in uncertain_rows(made_up(), ["no", "yes"], most=2)] == [(5,), (3,)]
    assert expected_suspicious(made_up()) == pytest.approx(0.05 + 2 * 0.02)


def test_true_probabilities_make_as_many_suspicious_labels_as_expected(rng: np.random.Generator) -> None:
    p = rng.beta(0.7, 0.7, 20_000)
    codes = (rng.uniform(size=len(p)) < p).astype(int)
    rows = HeldOutRows(np.c_[1 - p, p], codes, np.ones(len(p)), np.arange(len(p)))
    n, expected = len(suspicious_labels(rows, ["a", "b"])), expected_suspicious(rows)
    assert abs(n - expected) < 4 * np.sqrt(expected)


def test_the_page_has_both_lists_and_shows_names_as_text() -> None:
    page = Page("t")
    add_doubts(page, made_up(), ["<b>no</b>", "yes"])
    html = page.html()
    check_page(html)
    assert "<b>" not in html
    texts = " ".join(read(html).texts)
    assert "against the label of 3 rows" in texts
    assert "Labels that may be wrong" in texts
    assert "<b>no</b> (95.0 %)" in texts
    sure = Page("t")
    add_doubts(
        sure, HeldOutRows(np.array([[0.9, 0.1], [0.3, 0.7]]), np.arange(2), np.ones(2), np.arange(2)), ["a", "b"]
    )
    assert "No label is suspicious" in sure.html()


def test_the_command_tells_them(run, tmp_path: Path) -> None:
    X, codes = flipped(2)
    rows = [{"u": a, "v": b, "kind": "yes" if code else "no"} for (a, b), code in zip(X, codes, strict=True)]
    table = write_csv(tmp_path / "t.csv", rows)
    files = ["-m", tmp_path / "m.skops", "-r", tmp_path / "r.html"]
    code, out, _ = run("fit", table, "--ard", 0, *files, "--json", "--quiet")
    assert code == 0
    found = json.loads(out)
    assert sorted(doubt["rows"] for doubt in found["suspicious_labels"][:4]) == [[k + 1] for k in FLIPPED]
    assert len(found["uncertain_rows"]) == 10
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    check_page(page)
    assert "Labels that may be wrong" in page
    if CHROMIUM is not None:
        assert beyond_the_edge(tmp_path / "r.html") == "nothing"
