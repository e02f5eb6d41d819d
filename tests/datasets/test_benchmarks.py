"""The five benchmarks: sizes, splits, scaling, the draw of the crabs, and original files of a user."""

from __future__ import annotations

import csv
import dataclasses
import gzip
from pathlib import Path

import numpy as np
import pytest

import marginwise.datasets
from marginwise.datasets import Benchmark, benchmark_names, load_benchmark
from marginwise.errors import InvalidInputError

#: Inputs, training and test rows of table tab:data, and how many of the training and test labels are +1.
PAPER = {
    "crabs": (5, 80, 120, 40, 60),
    "pima": (7, 200, 332, 68, 109),
    "wdbc": (30, 300, 269, 146, 66),
    "twonorm": (20, 300, 7100, None, None),
    "ringnorm": (20, 300, 7100, None, None),
}


@pytest.fixture(scope="module", params=PAPER)
def benchmark_set(request: pytest.FixtureRequest) -> Benchmark:
    return load_benchmark(request.param)


def complete(data: Benchmark) -> np.ndarray:
    return np.vstack([data.X_train, data.X_test])


def test_names_are_the_papers_in_its_order() -> None:
    assert benchmark_names() == tuple(PAPER)


def test_sizes_are_those_of_the_paper(benchmark_set: Benchmark) -> None:
    d, n_train, n_test, positive_train, positive_test = PAPER[benchmark_set.name]
    assert benchmark_set.X_train.shape == (n_train, d)
    assert benchmark_set.X_test.shape == (n_test, d)
    assert benchmark_set.n_inputs == len(benchmark_set.feature_names) == d
    assert set(benchmark_set.y_train) == set(benchmark_set.y_test) == {-1.0, 1.0}
    assert benchmark_set.y_train.dtype == benchmark_set.y_test.dtype == np.float64
    if positive_train is not None:
        assert (benchmark_set.y_train == 1).sum() == positive_train
        assert (benchmark_set.y_test == 1).sum() == positive_test


def test_inputs_are_standardised_over_the_complete_set(benchmark_set: Benchmark) -> None:
    X = complete(benchmark_set)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X.var(axis=0), 1.0, rtol=1e-12)
    assert np.abs(benchmark_set.X_train.mean(axis=0)).max() > 1e-3  # not over the training set alone


def test_a_set_is_the_same_each_time(benchmark_set: Benchmark) -> None:
    again = load_benchmark(benchmark_set.name)
    for field in ("X_train", "y_train", "X_test", "y_test"):
        np.testing.assert_array_equal(getattr(again, field), getattr(benchmark_set, field))


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("twonorm", [-0.13780660844, 1.4516439142, -1.7310484346]),
        ("ringnorm", [-0.39491276412, 0.35170088325, 0.39201236046]),
    ],
)
def test_generated_sets_do_not_change_with_versions(name: str, first: list[float]) -> None:
    """The values were recorded once; neither another NumPy nor a change of the code may move results."""
    np.testing.assert_allclose(load_benchmark(name).X_train[0, :3], first, rtol=1e-9)


def test_a_set_is_frozen_and_says_where_it_is_from(benchmark_set: Benchmark) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        benchmark_set.name = "other"  # type: ignore[misc]
    assert benchmark_set.provenance.endswith(".")


def test_bayes_error_is_known_for_the_generated_sets_only(benchmark_set: Benchmark) -> None:
    known = {"twonorm": 0.02275, "ringnorm": 0.01240}
    expected = known.get(benchmark_set.name)
    assert benchmark_set.bayes_error == (None if expected is None else pytest.approx(expected, abs=5e-6))


@pytest.mark.parametrize("name", ["pima", "wdbc"])
def test_random_state_moves_nothing_that_has_one_split(name: str) -> None:
    np.testing.assert_array_equal(load_benchmark(name, random_state=1).X_train, load_benchmark(name).X_train)


def shipped_rows(name: str) -> list[dict[str, str]]:
    folder = Path(marginwise.datasets.__file__).parent / "files"
    with (folder / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


def crab_groups(data: Benchmark) -> list[str]:
    """Return colour and sex of the training crabs, found again in the file by their five measurements."""
    rows = shipped_rows("crabs")
    raw = np.array([[float(row[name]) for name in data.feature_names] for row in rows])
    scaled = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    found = [int(np.abs(scaled - x).max(axis=1).argmin()) for x in data.X_train]
    assert len(set(found)) == len(found)
    np.testing.assert_allclose(scaled[found], data.X_train, atol=1e-12)
    assert [1.0 if rows[i]["sex"] == "M" else -1.0 for i in found] == data.y_train.tolist()
    return [rows[i]["sp"] + rows[i]["sex"] for i in found]


@pytest.mark.parametrize("random_state", range(5))
def test_crabs_draw_takes_twenty_of_each_colour_and_sex(random_state: int) -> None:
    data = load_benchmark("crabs", random_state=random_state)
    assert data.feature_names == ("FL", "RW", "CL", "CW", "BD")
    groups = crab_groups(data)
    assert {group: groups.count(group) for group in groups} == {"BM": 20, "BF": 20, "OM": 20, "OF": 20}


def test_crabs_can_be_even_in_colour_alone_as_the_paper_says() -> None:
    draws = [crab_groups(load_benchmark("crabs", random_state=seed, stratify_sex=False)) for seed in range(5)]
    for groups in draws:
        assert sum(group.startswith("B") for group in groups) == 40
    assert len({sum(group.endswith("M") for group in groups) for groups in draws}) > 1


def test_crabs_draws_differ_and_do_not_prefer_a_size() -> None:
    draws = [load_benchmark("crabs", random_state=seed) for seed in range(200)]
    assert len({draw.X_train.tobytes() for draw in draws}) == 200
    # The mean of 80 of 200 standardised values has variance (1/80)(1 - 80/200), and less within groups.
    means = np.array([draw.X_train.mean(axis=0) for draw in draws])
    assert np.abs(means.mean(axis=0)).max() < 5 * np.sqrt(0.6 / 80 / 200)


def test_pima_training_set_is_ripleys() -> None:
    rows = shipped_rows("pima")
    assert list(rows[0].values()) == ["5", "86", "68", "28", "30.2", "0.364", "24", "-1"]
    assert rows[200]["ped"] == "0.627"  # Pima.te begins here
    data = load_benchmark("pima")
    assert data.feature_names == ("npreg", "glu", "bp", "skin", "bmi", "ped", "age")
    glucose = np.array([float(row["glu"]) for row in rows])
    np.testing.assert_allclose(data.X_test[:, 1], ((glucose - glucose.mean()) / glucose.std())[200:], rtol=1e-12)


def test_wdbc_begins_with_malignant_tumours_in_the_original_order() -> None:
    data = load_benchmark("wdbc")
    assert data.feature_names[:2] == ("mean radius", "mean texture")
    assert data.y_train[:19].tolist() == [1.0] * 19
    assert data.y_train[19] == -1.0
    radius = complete(data)[:, 0]
    raw = radius * 3.520950760711062 + 14.127291739894552  # deviation and mean of the published set
    np.testing.assert_allclose(raw[:3], [17.99, 20.57, 19.69], rtol=1e-12)


def write_plain(file: Path, n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X, y = rng.normal(3.0, 2.0, size=(n, d)), rng.choice([-1, 1], size=n)
    lines = [",".join([*(f"x{a}" for a in range(d)), "y"])]
    lines += [",".join([*map(repr, row.tolist()), str(label)]) for row, label in zip(X, y, strict=True)]
    content = ("\n".join(lines) + "\n").encode()
    file.write_bytes(gzip.compress(content) if file.suffix == ".gz" else content)
    return X, y


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
@pytest.mark.parametrize("name", ["pima", "wdbc", "twonorm"])
def test_original_files_are_read_from_data_dir(
    name: str, suffix: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    d, n_train, n_test, *_ = PAPER[name]
    X, y = write_plain(tmp_path / f"{name}{suffix}", n_train + n_test, d, rng)
    data = load_benchmark(name, tmp_path)
    np.testing.assert_allclose(complete(data), (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-12)
    np.testing.assert_array_equal(data.y_train, y[:n_train])
    np.testing.assert_array_equal(data.y_test, y[n_train:])
    assert str(tmp_path) in data.provenance


@pytest.mark.parametrize("stem", ["crabs", "crabs_full"])
def test_crabs_are_read_from_data_dir_in_any_order_of_columns(stem: str, tmp_path: Path) -> None:
    rows = shipped_rows("crabs")
    with (tmp_path / f"{stem}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["y", *reversed(rows[0])])
        writer.writeheader()
        writer.writerows({**row, "y": 1 if row["sex"] == "M" else -1} for row in rows)
    np.testing.assert_array_equal(load_benchmark("crabs", tmp_path).X_train, load_benchmark("crabs").X_train)


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"name is 'iris'.*'crabs'.*'wdbc'"):
        load_benchmark("iris")


def test_missing_file_is_named_with_what_is_expected_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError) as caught:
        load_benchmark("twonorm", tmp_path)
    assert str(tmp_path / "twonorm.csv.gz") in str(caught.value)
    assert "7400 rows of 20 numbers and y in {-1, 1}" in str(caught.value)


@pytest.mark.parametrize(
    ("n", "d", "change"),
    [
        (531, 7, ("", "")),
        (532, 6, ("", "")),
        (532, 7, (",-1\n", ",0\n")),
        (532, 7, (",-1\n", ",no\n")),
    ],
)
def test_file_of_another_form_is_refused(
    n: int, d: int, change: tuple[str, str], tmp_path: Path, rng: np.random.Generator
) -> None:
    file = tmp_path / "pima.csv"
    write_plain(file, n, d, rng)
    file.write_text(file.read_text().replace(*change))
    with pytest.raises(InvalidInputError, match="532 rows of 7 numbers") as caught:
        load_benchmark("pima", tmp_path)
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("change", [("sp,sex", "colour,sex"), ("B,M,1,", "O,M,1,"), ("B,M,1,", "B,X,1,"), ("FL", "fl")])
def test_other_crabs_are_refused(change: tuple[str, str], tmp_path: Path) -> None:
    rows = shipped_rows("crabs")
    text = "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)])
    (tmp_path / "crabs.csv").write_text(text.replace(*change, 1))
    with pytest.raises(InvalidInputError, match="200 crabs, 50 of each"):
        load_benchmark("crabs", tmp_path)
