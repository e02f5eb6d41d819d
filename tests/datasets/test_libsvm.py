"""Tables in LIBSVM format: recognised by suffix or content, read as dense inputs."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from marginwise.datasets import libsvm, load_table
from marginwise.errors import InvalidInputError

TEXT = b"# made by hand\n+1 1:0.5 3:-2e1 # first\n-1 2:1\n\n-1\n"


@pytest.mark.parametrize("name", ["t.libsvm", "t.svm", "t.SVMLIGHT", "t.libsvm.gz", "t.txt", "t", "t.gz", "t.csv"])
def test_format_is_recognised_by_suffix_or_content(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(gzip.compress(TEXT) if name.endswith(".gz") else TEXT)
    table = load_table(file)
    assert table.X.tolist() == [[0.5, 0, -20], [0, 1, 0], [0, 0, 0]]
    assert table.y.tolist() == [1, -1, -1]
    assert table.y.dtype.kind == "i"
    assert table.feature_names == ("x1", "x2", "x3")
    assert (table.target_name, table.categories) == ("label", {})


def test_options_of_a_first_table_fit_a_second(tmp_path: Path) -> None:
    (tmp_path / "t.svm").write_bytes(TEXT)
    first = load_table(tmp_path / "t.svm")
    assert load_table(tmp_path / "t.svm", drop=[], categories=first.categories).X.shape == first.X.shape


@pytest.mark.parametrize("text", [b"time y\n1:30 2\n", b"1 2\n3 4\n", b"1 1:2:3\n", b""])
def test_other_text_is_not_taken_for_it(text: bytes) -> None:
    assert not libsvm.is_libsvm(Path("t.txt"), text)


@pytest.mark.parametrize("zero_based", [True, False])
def test_round_trip(zero_based: bool, tmp_path: Path, rng: np.random.Generator) -> None:
    X = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.5)
    X[0] = 1.0
    y = rng.normal(size=30)
    dump_svmlight_file(X, y, str(tmp_path / "t.svm"), zero_based=zero_based)
    table = load_table(tmp_path / "t.svm")
    np.testing.assert_allclose(table.X, X, rtol=1e-14)
    np.testing.assert_allclose(table.y, y, rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b"", "no value other than zero"),
        (b"1\n-1\n", "no value other than zero"),
        (b"yes 1:2\n", "rising indices on each line (could not convert string to float"),
        (b"1 2:1 1:1\n", "rising indices"),
        (b"1 99999999999999999999:1\n", "LIBSVM format"),
        (b"1 a,b\n", "LIBSVM format"),
        (b"1 999999999:1\n", "check the largest index"),
        (b"1 1:1\nnan 1:2 2:inf\n", "2 are not: example 2 input 2, the label of example 2"),
    ],
)
def test_content_that_cannot_be_read(text: bytes, part: str, tmp_path: Path) -> None:
    file = tmp_path / "t.libsvm"
    file.write_bytes(text)
    with pytest.raises(InvalidInputError) as caught:
        load_table(file)
    assert part in str(caught.value)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("options", [{"target": 0}, {"drop": ["x1"]}, {"categories": {"x1": ["0"]}}])
def test_columns_cannot_be_chosen(options: dict, tmp_path: Path) -> None:
    (tmp_path / "t.svm").write_bytes(TEXT)
    with pytest.raises(InvalidInputError, match="is in LIBSVM format"):
        load_table(tmp_path / "t.svm", **options)
