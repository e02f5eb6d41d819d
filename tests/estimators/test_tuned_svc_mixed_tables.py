"""Random tables of mixed kinds: no crash, no NaN, and errors that name the column. 200 by default, 10,000 in full."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from marginwise import TunedSVC
from marginwise.errors import ConvergenceWarning, InvalidInputError, TableWarning

#: What a column may hold; each takes a generator and the number of rows.
COLUMNS = {
    "numbers": lambda rng, n: rng.normal(size=n),
    "huge numbers": lambda rng, n: 1e150 * rng.normal(size=n),
    "whole numbers": lambda rng, n: rng.integers(-3, 4, n),
    "truth values": lambda rng, n: rng.random(n) < 0.5,
    "constant": lambda rng, n: np.full(n, 2.5),
    "nothing": lambda rng, n: np.full(n, np.nan),
    "words": lambda rng, n: rng.choice(["u", "v", "", "a longer word"], n).astype(object),
    "one word": lambda rng, n: np.full(n, "same", dtype=object),
    "names": lambda rng, n: np.array([f"n{i}" for i in range(n)], dtype=object),
    "dates": lambda rng, n: pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
    "durations": lambda rng, n: pd.to_timedelta(rng.integers(0, 900, n), "h"),
    "days as objects": lambda rng, n: np.array([datetime.date(2024, 1, 1 + int(i)) for i in rng.integers(0, 28, n)]),
    "category": lambda rng, n: pd.Categorical(rng.choice(["x", "y", "z"], n), ["w", "z", "y", "x"]),
    "numbers as categories": lambda rng, n: pd.Categorical(rng.integers(0, 4, n)),
    "ordered": lambda rng, n: pd.Categorical(rng.choice(["lo", "hi"], n), ["lo", "mid", "hi"], ordered=True),
    "nullable": lambda rng, n: pd.array(rng.integers(0, 9, n), dtype="Int64"),
    "numbers as objects": lambda rng, n: rng.integers(0, 9, n).astype(object),
}


def random_table(rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    n = int(rng.integers(4, 17))
    kinds = rng.choice(sorted(COLUMNS), int(rng.integers(1, 6)))
    frame = pd.DataFrame({f"{kind} {j}": COLUMNS[kind](rng, n) for j, kind in enumerate(kinds)})
    return with_gaps(frame, rng), rng.permutation(np.arange(n) % int(rng.choice([2, 3], p=[0.8, 0.2])))


def with_gaps(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the table with some cells missing in some columns, in all rows of one now and then."""
    frame = frame.copy()
    for name in frame:
        share = rng.choice([0.0, 0.0, 0.2, 0.7, 1.0], p=[0.4, 0.2, 0.2, 0.15, 0.05])
        gaps = rng.random(len(frame)) < share
        if gaps.any():
            column = frame[name].astype(object) if frame[name].dtype == bool else frame[name].copy()
            frame[name] = column.mask(gaps)
    return frame


def new_table(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows with the cells of others, with gaps elsewhere, and here and there a word never seen."""
    rows = frame.iloc[rng.integers(0, len(frame), 6)].reset_index(drop=True)
    for name in rows:
        if str(name).startswith("words"):
            rows[name] = rows[name].astype(object)
            rows.loc[int(rng.integers(6)), name] = "never seen"
    return with_gaps(rows, rng)


def held_by(frame: pd.DataFrame, holder: str):
    if holder == "polars":
        return pl.from_pandas(frame.rename(columns=str))
    return frame.astype(object).to_numpy() if holder == "array" else frame


def check(seed: int) -> None:
    rng = np.random.default_rng([16, seed])
    frame, y = random_table(rng)
    holder = rng.choice(["pandas", "polars", "array"], p=[0.7, 0.15, 0.15])
    parameters = {
        "ard": (0, 0.5, "auto")[int(rng.choice(3, p=[0.7, 0.27, 0.03]))],
        "standardize": bool(rng.random() < 0.8) or any(str(name).startswith("huge") for name in frame),
        "predictor": str(rng.choice(["posterior", "svm"])),
        "kernel": str(rng.choice(["auto", "rbf"])),
    }
    model = TunedSVC(max_evaluations=int(rng.integers(1, 4)), random_state=0, **parameters)
    model.fit(held_by(frame, holder), y)
    assert model.feature_importances_.shape == (frame.shape[1],)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert np.isfinite(model.expected_log_loss_) or np.isnan(model.held_out_proba_).all()
    for rows in (frame, new_table(frame, rng)):
        table = held_by(rows, holder)
        probability = model.predict_proba(table)
        assert np.isfinite(probability).all(), frame.columns
        np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=1e-12)
        assert np.isfinite(model.decision_function(table)).all()
        mean, variance = model.latent_mean_and_variance(table)
        assert np.isfinite(mean).all()
        assert (variance > 0).all()
    name = str(rng.choice(frame.columns))
    changed = "words" if model._schema.columns[list(frame.columns).index(name)].kind in ("number", "date") else 7.5
    if holder == "pandas":
        with pytest.raises(InvalidInputError, match=f"column '{name}'"):
            model.predict(frame.assign(**{name: object()}))
        if model._schema.columns[list(frame.columns).index(name)].categories != ():
            with pytest.raises(InvalidInputError, match=f"column '{name}'"):
                model.predict(frame.assign(**{name: "7" if "numbers as" in name else changed}))


@pytest.mark.slow
def test_mixed_tables_give_a_model(full: bool) -> None:
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, TableWarning):
            warnings.simplefilter("ignore", kind)
        for seed in range(10_000 if full else 200):
            try:
                check(seed)
            except Exception as error:
                raise AssertionError(f"the table of seed {seed}") from error
