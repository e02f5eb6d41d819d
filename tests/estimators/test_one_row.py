"""One row at a time, from several threads at once: the numbers are those of the whole table."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from marginwise import TunedSVC, load_model, save_model
from marginwise._runtime.threads import one_thread
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.members import Member
from marginwise.fitting.schedule import SCHEDULE

N = 240


def _mixed(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    X = rng.normal(size=(N, 3))
    frame = pd.DataFrame({"width": X[:, 0], "depth": X[:, 1], "colour": np.array(["red", "blue"])[(X[:, 2] > 0) * 1]})
    frame.loc[::17, "depth"] = np.nan
    return frame, X[:, 0] + (X[:, 2] > 0) + 0.3 * rng.normal(size=N) > 0.5


def _numbers(rng: np.random.Generator, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(N, 3))
    return X, np.digitize(X[:, 0] + 0.3 * rng.normal(size=N), [-0.5, 0.5][: n_classes - 1])


@pytest.fixture(scope="module", params=["two", "three", "frame", "local", "low rank", "svm"])
def fitted(request: pytest.FixtureRequest) -> tuple[TunedSVC, Any]:
    """A model of each kind that predicts in a way of its own, and its table."""
    rng = np.random.default_rng(3)
    X, y = _mixed(rng) if request.param == "frame" else _numbers(rng, 3 if request.param == "three" else 2)
    options: dict[str, Any] = {"svm": {"predictor": "svm"}, "low rank": {"rank": 20}}.get(request.param, {})
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "local":
            patch.setitem(vars(SCHEDULE), "exact_rows", 100)
        model = TunedSVC(0.0, random_state=0, **options).fit(X, y)
    assert (model.ensemble_.members[0].partition is not None) == (request.param == "local")
    return model, X


def _answers(model: TunedSVC, rows: Any) -> list[np.ndarray]:
    return [model.predict_proba(rows), model.decision_function(rows), model.predict(rows)]


def test_rows_one_by_one_are_predicted_as_the_table(fitted: tuple[TunedSVC, Any]) -> None:
    model, X = fitted
    rounding = 1e-6 if model.ensemble_.members[0].partition is not None else 1e-9  # of blocks of single precision
    single = [_answers(model, X[i : i + 1]) for i in range(40)]
    for whole, parts in zip(_answers(model, X[:40]), zip(*single, strict=True), strict=True):
        together = np.concatenate(parts)
        if whole.dtype.kind == "f":
            np.testing.assert_allclose(together, whole, rtol=rounding, atol=1e-3 * rounding)
        else:
            np.testing.assert_array_equal(together, whole)


def test_eight_threads_get_the_same_numbers_also_at_the_first_call(
    fitted: tuple[TunedSVC, Any], tmp_path: Path
) -> None:
    """A loaded model has to make its predictors again, and all threads ask for them at once."""
    model, X = fitted
    save_model(model, tmp_path / "model.skops")
    with one_thread():  # with several, BLAS adds up in another order
        _ask_at_once(model, X, tmp_path / "model.skops")


def _ask_at_once(model: TunedSVC, X: Any, path: Path) -> None:
    for fresh in (load_model(path), pickle.loads(pickle.dumps(model))):
        alone = pickle.loads(pickle.dumps(model))
        barrier = threading.Barrier(8)

        def ask(first: int, fresh: TunedSVC = fresh, barrier: threading.Barrier = barrier) -> list[list[np.ndarray]]:
            barrier.wait(30)
            return [_answers(fresh, X[i : i + 1]) for i in range(first, 32, 8)]

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(ask, range(8)))
        for first, answers in enumerate(found):
            for i, answer in zip(range(first, 32, 8), answers, strict=True):
                for ours, expected in zip(answer, _answers(alone, X[i : i + 1]), strict=True):
                    np.testing.assert_array_equal(ours, expected)


def test_threads_that_load_at_once_make_predictors_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = _numbers(np.random.default_rng(0), 2)
    model = pickle.loads(pickle.dumps(TunedSVC(0.0, random_state=0).fit(X, y)))
    restored, made = Ensemble._restored, []

    def counted(self: Ensemble, member: Member) -> Any:
        made.append(member)
        return restored(self, member)

    monkeypatch.setattr(Ensemble, "_restored", counted)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: model.predict_proba(X[i : i + 1]), range(16)))
    assert len(made) == len(model.ensemble_.members)


def test_one_row_is_checked_as_any_table(fitted: tuple[TunedSVC, Any]) -> None:
    model, X = fitted
    if isinstance(X, pd.DataFrame):
        with pytest.raises(ValueError, match="feature names"):
            model.predict_proba(X[:1].rename(columns={"width": "height"}))
    else:
        with pytest.raises(ValueError, match="features"):
            model.predict_proba(np.zeros((1, X.shape[1] + 1)))
        with pytest.raises(ValueError, match="Reshape your data"):
            model.predict_proba(X[0])
