"""The entry for TabArena: a model of AutoGluon, tried by AutoGluon's own test of models where that is installed."""

from __future__ import annotations

import importlib.util
import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info

import marginwise.tabarena
from marginwise import TunedSVC
from marginwise.errors import MarginwiseError
from marginwise.estimators._parameters import check_parameters
from marginwise.tabarena import SEARCH_SPACE, TunedSVCModel, peak_bytes

AUTOGLUON = importlib.util.find_spec("autogluon") is not None
TABARENA = AUTOGLUON and importlib.util.find_spec("tabarena") is not None
needs_autogluon = pytest.mark.skipif(not AUTOGLUON, reason="AutoGluon is not installed (pip install autogluon.tabular)")
needs_tabarena = pytest.mark.skipif(not TABARENA, reason="TabArena is not installed (github.com/autogluon/tabarena)")

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "number": np.where(RNG.random(80) < 0.1, np.nan, RNG.normal(size=80)),
        "count": np.arange(80) % 7,
        "word": pd.Categorical(np.array(["a", "b", "c"])[RNG.integers(3, size=80)]),
    }
)
LABELS = pd.Series((TABLE["count"] > 3).astype(int))


def fitted(folder: Any, X: Any = TABLE, y: Any = LABELS, **options: Any) -> Any:
    given = {"hyperparameters": {"ard": 0.0, "random_state": 3}} | options.pop("made", {})
    model = TunedSVCModel(path=str(folder), name="TunedSVC", problem_type="binary", eval_metric="log_loss", **given)
    return model.fit(X=X, y=y, **options)


@pytest.mark.skipif(AUTOGLUON, reason="AutoGluon is installed")
def test_what_is_missing_is_named() -> None:
    with pytest.raises(MarginwiseError, match=r"pip install autogluon\.tabular"):
        TunedSVCModel(problem_type="binary")


def test_the_search_space_is_of_parameters_and_holds_their_defaults() -> None:
    defaults = TunedSVC().get_params()
    assert all(defaults[name] in values for name, values in SEARCH_SPACE.items())
    for values in itertools.product(*SEARCH_SPACE.values()):
        check_parameters(TunedSVC(**dict(zip(SEARCH_SPACE, values, strict=True))))


@pytest.mark.parametrize(("less", "more"), [((300, 5, 2), (1200, 5, 2)), ((1500, 5, 2), (1500, 90, 2))])
def test_the_estimate_of_memory_grows(less: tuple[int, int, int], more: tuple[int, int, int]) -> None:
    assert 2**29 < peak_bytes(*less) < peak_bytes(*more)


def test_the_estimate_of_memory_is_that_of_the_way_rows_are_kept() -> None:
    """A million rows, which local blocks would not fit into memory for, take 2.8 GB (``benchmarks/scale.py``)."""
    assert 2.8e9 < peak_bytes(10**6, 10, 2) < 7e9
    assert 2.0e9 < peak_bytes(85_908, 13, 2) < 4e9


def test_categories_count_as_many_inputs() -> None:
    numbers = TABLE[["number", "count"]]
    static = TunedSVCModel._estimate_memory_usage_static
    assert static(X=TABLE, num_classes=2) - static(X=numbers, num_classes=2) == 3 * 100 * 80


@needs_autogluon
def test_it_passes_autogluons_test_of_models(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits, bagging, refits, seeds, one row at a time, loading; and settings of the process are not changed."""
    from autogluon.tabular.testing import FitHelper

    monkeypatch.chdir(tmp_path)
    FitHelper.verify_model(model_cls=TunedSVCModel, model_hyperparameters={})


@needs_autogluon
def test_it_is_the_same_as_the_estimator(tmp_path: Any) -> None:
    model = fitted(tmp_path)
    alone = TunedSVC(ard=0.0, random_state=3).fit(TABLE, LABELS)
    np.testing.assert_allclose(model.predict_proba(TABLE), alone.predict_proba(TABLE)[:, 1], atol=1e-6)
    assert type(model).load(path=model.save()).model.get_params() == alone.get_params()


@needs_autogluon
def test_weights_seed_and_time_limit_reach_the_estimator(tmp_path: Any) -> None:
    weights = np.where(np.arange(80) < 40, 1.0, 3.0)
    model = fitted(tmp_path, sample_weight=weights, time_limit=1000.0)
    assert 400 < model.model.max_seconds <= 500
    assert model.model.random_state == 3
    alone = TunedSVC(ard=0.0, random_state=3).fit(TABLE, LABELS, sample_weight=weights)
    np.testing.assert_allclose(model.predict_proba(TABLE), alone.predict_proba(TABLE)[:, 1], atol=1e-6)


@needs_autogluon
@pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning")
def test_a_short_time_is_kept(tmp_path: Any) -> None:
    model = fitted(tmp_path, time_limit=0.2, made={"hyperparameters": {}})
    assert len(model.model.ensemble_.members[0].tuning.trace) < 20
    assert np.isfinite(model.predict_proba(TABLE)).all()


@needs_autogluon
def test_it_uses_as_many_threads_as_it_is_given(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []

    class Watched(TunedSVC):  # type: ignore[misc]
        def fit(self, *arguments: Any, **options: Any) -> Any:
            seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
            return super().fit(*arguments, **options)

    monkeypatch.setattr(marginwise.tabarena, "TunedSVC", Watched)
    fitted(tmp_path, total_resources={"num_cpus": 1})
    assert seen
    assert set(seen) == {1}


@needs_tabarena
def test_tabarena_takes_its_configurations_and_metadata() -> None:
    info = TunedSVCModel.model_info()
    experiments = info.search_space.generate_all_bag_experiments(num_random_configs=3, time_limit=60)
    assert [one.name for one in experiments][:2] == [info.method_metadata.config_default, "TunedSVC_r1_BAG_L1"]
    assert info.method_metadata.method == info.model_cls.ag_name
    from tabarena.models.warmup import warmup_model_cls

    warmup_model_cls(info.model_cls, problem_type="binary", num_cpus=1)
