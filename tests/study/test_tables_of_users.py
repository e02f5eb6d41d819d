"""Tables of users in a study: more than two classes, and cells that are missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from marginwise.errors import InvalidInputError
from marginwise.study import TableSource, tables


def write(path: Path, n: int = 60) -> Path:
    """Write a table of three kinds, with gaps among numbers and among words."""
    rng = np.random.default_rng(1)
    lines = ["size,colour,weight,kind"]
    for i in range(n):
        size = "" if i % 5 == 0 else f"{rng.normal(i % 3):.3f}"
        colour = "" if i % 7 == 0 else ("red", "blue")[i % 2]
        lines.append(f"{size},{colour},{rng.normal():.3f},{'abc'[i % 3]}")
    path.write_text("\n".join([*lines, "1.0,red,2.0,"]) + "\n")
    return path


def test_one_of_several_classes_is_told_from_the_others(tmp_path: Path) -> None:
    file = write(tmp_path / "flowers.csv")
    data = TableSource(str(file), positive_class="b").load()
    assert data.name == "flowers-b"
    y = np.r_[data.y_train, data.y_test]
    assert len(y) == 60  # without the row that has no label
    assert (y == 1).sum() == 20
    assert list(tables(str(file), positive_class="b")) == ["flowers-b"]
    with pytest.raises(InvalidInputError, match="positive_class is not given, and 'kind' of"):
        TableSource(str(file)).load()
    with pytest.raises(InvalidInputError, match="positive_class is 'z'; expected one of the classes a, b, c"):
        TableSource(str(file), positive_class="z").load()


def test_gaps_are_means_with_an_input_that_tells_them(tmp_path: Path) -> None:
    file = write(tmp_path / "flowers.csv")
    data = TableSource(str(file), positive_class="a").load()
    assert data.feature_names == ("size", "missing(size)", "colour=blue", "colour=red", "weight")
    X = np.r_[data.X_train, data.X_test]
    assert np.isfinite(X).all()
    gap = X[:, 1] > 0
    assert gap.sum() == 12
    size, seen = data.X_train[:, 0], data.X_train[:, 1] < 0
    np.testing.assert_allclose(size[~seen], size[seen].mean(), atol=1e-12)
    np.testing.assert_allclose(data.X_train.mean(axis=0), 0.0, atol=1e-12)
    words = X[:, 2:4] > 0
    assert (words.sum(axis=1) == 0).sum() == len(range(0, 60, 7))
