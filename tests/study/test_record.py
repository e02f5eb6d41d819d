"""What is recorded of a trial: its columns through files and back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marginwise.study import TrialRow
from marginwise.study.paper.compare import compare_means
from marginwise.study.record import read_rows, write_rows
from marginwise.study.report.summary import Trials
from synthetic_study import paper_rows


def test_rows_through_a_file(tmp_path):
    failed = TrialRow("crabs", "svm-cv", 9, 1, "failed", message="it broke; here; and there", error_name="ValueError")
    rows = [*paper_rows(), failed]
    back = read_rows(write_rows(tmp_path / "rows.csv", rows))
    assert back[-1] == replace(failed, message="it broke")  # a message may be long: its beginning is kept
    assert [row.trial for row in back] == [row.trial for row in rows]
    for ours, theirs in zip(compare_means(Trials(back)), compare_means(Trials(rows)), strict=True):
        assert ours.value == pytest.approx(theirs.value, rel=1e-4, abs=1e-4)
    np.testing.assert_allclose(back[0].hyperparameters, rows[0].hyperparameters, rtol=1e-5)
    assert back[0].evaluations == rows[0].evaluations
    assert write_rows(tmp_path / "again.csv", back).read_bytes() == (tmp_path / "rows.csv").read_bytes()


def test_a_file_from_before_a_column_was_declared(tmp_path):
    path = write_rows(tmp_path / "rows.csv", [TrialRow("crabs", "svm-cv", 1, 7, "done", test_error=0.5, log_loss=0.25)])
    header, line = (text.split(",") for text in path.read_text().splitlines())
    place = header.index("log_loss")
    del header[place], line[place]
    path.write_text("\n".join([",".join([*header, "column_of_later"]), ",".join([*line, "3"])]))
    assert read_rows(path) == [TrialRow("crabs", "svm-cv", 1, 7, "done", test_error=0.5)]
