"""Rows that Dask holds: the same sums, the same hyperparameters, and a fit that outlives a worker."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from marginwise import TunedSVC
from marginwise.covariance import LowRankCovariance, as_blocks
from marginwise.criteria.ep import EPLeaveOneOut
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters
from marginwise.model import Model
from marginwise.multiclass.cell_predictor import CellClassPredictor
from zoo import blobs

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install marginwise[dask]")
da = pytest.importorskip("dask.array")

H = Hyperparameters(1.5, 2.0, 0.3, [1.0, 2.0])
TABLE = blobs(600, 2, shift=0.8)
MODEL = TunedSVC(0.3, rank=20, subset=200, random_state=0)


@pytest.fixture(autouse=True)
def few_threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def chunked(X: np.ndarray):
    return da.from_array(X, chunks=(130, 1))


def assert_same(a: Model, b: Model) -> None:
    """Searches on a part of the rows, which is in memory in any case, find the same to the last digit."""
    np.testing.assert_array_equal(a.to_vector(), b.to_vector())


@pytest.fixture(scope="module")
def in_memory() -> TunedSVC:
    return MODEL.__class__(**MODEL.get_params()).fit(TABLE.X, TABLE.y)


@pytest.mark.parametrize("kept", [0, 2**32])
def test_products_and_criteria_are_the_same(kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marginwise.covariance.dask_blocks.KEPT", kept)
    here = replace(TABLE, inducing=TABLE.X[:15])
    there = replace(here, X=chunked(TABLE.X))
    assert len(as_blocks(there.X).sizes) == 5
    x = np.random.default_rng(0).normal(size=600)
    a, b = (LowRankCovariance(H.kernel, as_blocks(at.X), here.inducing) for at in (here, there))
    np.testing.assert_allclose(a.weighted(x), b.weighted(x), atol=1e-11)
    np.testing.assert_allclose(a.residual, b.residual, atol=1e-12)
    a, b = (EPLeaveOneOut().evaluate(at, H) for at in (here, there))
    assert a.value == pytest.approx(b.value, abs=1e-11)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-9)


def test_the_same_model_as_in_memory(in_memory: TunedSVC) -> None:
    X = chunked(TABLE.X)
    model = MODEL.fit(X, da.from_array(TABLE.y, chunks=50))
    assert_same(model.hyperparameters_, in_memory.hyperparameters_)
    new = blobs(100, 2, seed=3).X
    np.testing.assert_allclose(model.predict_proba(new), in_memory.predict_proba(new), atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), model.predict_proba(TABLE.X), atol=1e-12)
    assert model.expected_log_loss_ == pytest.approx(in_memory.expected_log_loss_, abs=1e-5)


def test_cells_of_many_rows_are_those_in_memory(schedule) -> None:
    """In which block a row lies makes no difference: rows of a cell are summed over all of them."""
    schedule(exact_rows=100, near_rows=100, wide_rows=300, wide_local=40, local_numbers=0)
    schedule(cell_rows=150, cell_features=40, least_cells=2, tuning_rank=16)
    here, there = (TunedSVC(0.3, random_state=0).fit(X, TABLE.y) for X in (TABLE.X, chunked(TABLE.X)))
    for a, b in zip(here.ensemble_.members, there.ensemble_.members, strict=True):
        assert isinstance(b.few_points, CellClassPredictor)
        np.testing.assert_allclose(b.few_points.points, a.few_points.points, atol=1e-7)
    new = blobs(100, 2, seed=3).X
    np.testing.assert_allclose(there.predict_proba(new), here.predict_proba(new), atol=2e-3)
    assert there.expected_log_loss_ == pytest.approx(here.expected_log_loss_, abs=1e-4)


@pytest.mark.parametrize("sent", [1, 2**25])
def test_columns_go_in_waves(sent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few tasks there are at a time, results are in order, and sums are of all of them."""
    monkeypatch.setattr("marginwise.covariance.dask_blocks.SENT", sent)
    monkeypatch.setattr("marginwise.covariance.dask_blocks._threads", lambda: 1)
    monkeypatch.setattr("marginwise.covariance.dask_blocks._TASKS_EACH", 2)
    blocks, column = as_blocks(chunked(TABLE.X)), np.arange(600.0)
    waves = list(blocks._waves(_doubled, (), [column]))
    assert [len(wave) for wave in waves] == ([2, 2, 1] if sent == 1 else [5])
    np.testing.assert_array_equal(blocks.rows(_doubled, columns=[column]), 2.0 * column)
    np.testing.assert_allclose(blocks.total(_products, columns=[column]), TABLE.X.T @ column)


def test_every_second_row_of_each_block() -> None:
    column = np.arange(600.0)
    for blocks in (as_blocks(chunked(TABLE.X)), as_blocks(TABLE.X, 60)):
        few, (own,) = blocks.thinned(2, [column])
        np.testing.assert_array_equal(own, np.concatenate([part[::2] for (part,) in blocks.parts([column])]))
        np.testing.assert_array_equal(few.rows(_same), TABLE.X[own.astype(int)])
        assert few.sizes == tuple(-(-size // 2) for size in blocks.sizes)


def _same(X: np.ndarray) -> np.ndarray:
    return X


def _doubled(X: np.ndarray, column: np.ndarray) -> np.ndarray:
    return 2.0 * column


def _products(X: np.ndarray, column: np.ndarray) -> np.ndarray:
    return X.T @ column


def test_data_frames(in_memory: TunedSVC) -> None:
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(TABLE.X, columns=["height", "width"]).assign(kind=np.where(TABLE.y > 0, "yes", "no"))
    table = dd.from_pandas(frame, npartitions=5)
    model = MODEL.fit(table[["height", "width"]], table["kind"])
    assert list(model.feature_names_in_) == ["height", "width"]
    assert list(model.classes_) == ["no", "yes"]
    assert_same(model.hyperparameters_, in_memory.hyperparameters_)


def test_words_and_gaps_are_as_in_memory() -> None:
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(TABLE.X, columns=["height", "width"])
    frame["width"] = frame["width"].where(rng.random(600) > 0.2)
    frame["place"] = np.where(rng.random(600) < 0.1, None, rng.choice(["u", "v", "w"], 600))
    frame["rank"] = pd.Categorical(rng.choice(["low", "high"], 600), ["low", "high"], ordered=True)
    here = TunedSVC(0, rank=20, subset=200, random_state=0).fit(frame, TABLE.y)
    table = dd.from_pandas(frame, npartitions=4)
    there = TunedSVC(0, rank=20, subset=200, random_state=0).fit(table, TABLE.y)
    assert there._schema == here._schema
    assert_same(there.hyperparameters_, here.hyperparameters_)
    np.testing.assert_allclose(there.predict_proba(table), here.predict_proba(frame), atol=1e-4)
    codes = np.column_stack([TABLE.X, rng.integers(0, 3, 600)])
    models = [
        TunedSVC(0, rank=20, subset=200, random_state=0, categorical_features=[2]).fit(X, TABLE.y)
        for X in (codes, chunked(codes))
    ]
    np.testing.assert_allclose(models[1].predict_proba(codes), models[0].predict_proba(codes), atol=1e-4)


def test_weights_and_rows_of_weight_zero() -> None:
    weights = np.where(np.arange(600) < 300, 2.0, 0.0)
    here = TunedSVC(0, rank=15, subset=100, random_state=1).fit(TABLE.X, TABLE.y, weights)
    there = TunedSVC(0, rank=15, subset=100, random_state=1).fit(chunked(TABLE.X), TABLE.y, weights)
    assert_same(here.hyperparameters_, there.hyperparameters_)


def test_copies_are_one_example() -> None:
    """Wherever the copies are, the model and its expectation are those of the weighted table."""
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(200), np.where(TABLE.y[:200] > 0, 3, 1)))
    model = TunedSVC(0, rank=15, random_state=1)
    here = model.fit(chunked(TABLE.X[:200]), TABLE.y[:200], np.where(TABLE.y[:200] > 0, 3.0, 1.0))
    expected = here.hyperparameters_.to_vector(), here.expected_log_loss_
    there = model.fit(chunked(TABLE.X[rows]), TABLE.y[rows])
    np.testing.assert_allclose(there.hyperparameters_.to_vector(), expected[0], atol=1e-5)
    assert there.expected_log_loss_ == pytest.approx(expected[1], abs=1e-5)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(InvalidInputError, match="rank"):
        TunedSVC(rank=None).fit(chunked(TABLE.X), TABLE.y)
    with pytest.raises(InvalidInputError, match="one label a row"):
        MODEL.fit(chunked(TABLE.X), TABLE.y[:-1])
    broken = TABLE.X.copy()
    broken[300, 1] = np.inf
    with pytest.raises(InvalidInputError, match="column 1 holds infinity"):
        MODEL.fit(chunked(broken), TABLE.y)


@pytest.mark.slow
def test_a_killed_worker_does_not_stop_the_fit(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    X = da.from_array(TABLE.X, chunks=(75, 2))
    expected = MODEL.fit(X, TABLE.y).hyperparameters_.to_vector()  # in this process, from the same blocks
    done: list[TunedSVC] = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster),
        dask.config.set(scheduler=None),
    ):
        fit = threading.Thread(target=lambda: done.append(MODEL.fit(X, TABLE.y)))
        fit.start()
        seen: set[str] = set()
        while fit.is_alive() and len(seen) < 100:  # 40 tasks scale the table and draw rows; the others are the fit
            seen |= {str(key) for key in list(cluster.scheduler.tasks) if "_apply" in str(key)}
            time.sleep(0.001)
        assert fit.is_alive()
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        fit.join(timeout=120)
    assert done
    np.testing.assert_allclose(done[0].hyperparameters_.to_vector(), expected, atol=1e-6)


@pytest.mark.slow
def test_a_worker_killed_at_any_moment_changes_nothing(tmp_path: Path, full: bool) -> None:
    """105,908 rows in 20 blocks, 20 times: the size of the largest table that was measured."""
    if not full:
        pytest.skip("takes long, and does what the test above does: with --full")
    distributed = pytest.importorskip("distributed")
    rows, times = 105_908, 20
    table, rng = blobs(rows, 4, shift=0.5), np.random.default_rng(20)
    model = TunedSVC(0.0, rank=60, subset=500, random_state=0)
    found: list[np.ndarray] = []

    def fit() -> None:
        X = da.from_array(table.X, chunks=(-(-rows // 20), 4))
        fitted = TunedSVC(**model.get_params()).fit(X, table.y)
        found.append(np.concatenate([fitted.hyperparameters_.to_vector(), fitted.predict_proba(table.X[:50])[:, 1]]))

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
        dask.config.set(scheduler=None),
    ):
        fit()  # compiles
        begun = time.monotonic()
        fit()
        seconds = time.monotonic() - begun
        for number in range(times):
            thread = threading.Thread(target=fit)
            thread.start()
            time.sleep(rng.uniform(0.0, 0.9) * seconds)
            os.kill(cluster.workers[int(rng.choice(list(cluster.workers)))].pid, signal.SIGKILL)
            thread.join(timeout=600)
            assert len(found) == 3 + number, "the fit did not come to its end"
            client.wait_for_workers(2, timeout=60)
    np.testing.assert_array_equal(found, [found[0]] * len(found))
