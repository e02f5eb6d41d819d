"""Tables whose numbers are stored as text: taken as numbers, with a remark, and asked for in the same way later."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from marginwise import MarginSVC, TunedSVC
from marginwise.errors import InvalidInputError, TableWarning
from marginwise.tables import Schema

TEXT = ["1.5", "2", "n/a", "0.5", "<0.1", "7"]
VALUES = [1.5, 2.0, np.nan, 0.5, 0.1, 7.0]


def tables(cells: list) -> dict:
    objects = np.empty((len(cells), 1), dtype=object)
    objects[:, 0] = cells
    return {
        "pandas object": pd.DataFrame({"a": pd.Series(cells, dtype=object)}),
        "pandas string": pd.DataFrame({"a": pd.Series(cells, dtype="string")}),
        "polars": pl.DataFrame({"a": cells}),
        "objects": objects,
        "strings": np.array(cells)[:, None],
    }


@pytest.mark.parametrize("kind", tables(TEXT))
def test_numbers_as_text_are_numbers_with_a_remark(kind: str) -> None:
    schema, cells = Schema.learnt(tables(TEXT)[kind])
    np.testing.assert_array_equal(cells[:, 0], VALUES)
    where = "column 'a'" if kind in ("pandas object", "pandas string", "polars") else "column 0"
    assert schema.remarks == (
        f"'n/a' in {where} is taken as missing",
        f"'<0.1' in {where} is taken as the limit itself",
        f"{where} holds numbers as text, taken as numbers: for categories, name it in categorical_features",
    )
    later, remarks = schema.cells(tables(["none", "3"])[kind])
    np.testing.assert_array_equal(later[:, 0], [np.nan, 3.0])
    assert remarks == (f"'none' in {where} is taken as missing",)
    with pytest.raises(InvalidInputError, match=rf"{where} holds words \('low'\); expected numbers, as in training"):
        schema.cells(tables(["3", "low"])[kind])


def test_numbers_and_words_that_mean_missing_in_one_column() -> None:
    _, cells = Schema.learnt(pd.DataFrame({"a": [1.5, "n/a", 2, None]}))
    np.testing.assert_array_equal(cells[:, 0], [1.5, np.nan, 2.0, np.nan])
    with pytest.raises(InvalidInputError, match=r"column 'a' holds numbers and words \('broken'\); expected either"):
        Schema.learnt(pd.DataFrame({"a": [1.5, "broken", 2, None]}))


def test_words_stay_categories() -> None:
    schema, _ = Schema.learnt(pd.DataFrame({"a": ["none", "red", "-", "3"]}))
    assert (schema.columns[0].kind, schema.remarks) == ("category", ())
    schema, _ = Schema.learnt(pd.DataFrame({"a": ["none", "-"]}))
    assert schema.columns[0].kind == "category"
    code, _ = Schema.learnt(pd.DataFrame({"a": ["1", "2", "A"]}))
    assert code.columns[0].categories == ("1", "2", "A")
    assert "column 'a' is taken as categories, because 'A' is among its numbers" in code.remarks[0]
    assert code.cells(pd.DataFrame({"a": ["2", "1"]}))[0].tolist() == [[1.0], [0.0]]
    commas, _ = Schema.learnt(pd.DataFrame({"a": ["1,5", "2,5"]}))
    assert "because '1,5', '2,5' are among its numbers" in commas.remarks[0]


def test_categories_of_numbers_can_be_said() -> None:
    text = pd.DataFrame({"a": ["1", "2", "1"]})
    for X, said in ((text, ["a"]), (text.astype("category"), "from_dtype")):
        schema, cells = Schema.learnt(X, said)
        assert schema.columns[0].categories == ("1", "2")
        assert cells.tolist() == [[0.0], [1.0], [0.0]]
        assert schema.remarks == ()
    assert Schema.learnt(text, None)[1].tolist() == [[1.0], [2.0], [1.0]]


def test_percents_keep_the_unit_of_training() -> None:
    schema, cells = Schema.learnt(pd.DataFrame({"a": ["0.64", "0.1", "12%"]}))
    np.testing.assert_allclose(cells[:, 0], [0.64, 0.1, 0.12])
    assert "numbers in percent in column 'a' are taken like '12%' as 0.12" in schema.remarks
    np.testing.assert_allclose(schema.cells(pd.DataFrame({"a": ["50%"]}))[0], [[0.5]])
    plain, _ = Schema.learnt(pd.DataFrame({"a": [0.64, 0.1]}))
    with pytest.raises(InvalidInputError, match="column 'a' holds numbers with a percent sign"):
        plain.cells(pd.DataFrame({"a": ["50%"]}))


def test_dates_as_text_are_dates() -> None:
    schema, cells = Schema.learnt(pd.DataFrame({"a": ["1970-01-03", None, "1970-01-01 12:00"]}))
    np.testing.assert_array_equal(cells[:, 0], [2.0, np.nan, 0.5])
    assert "column 'a' holds dates" in schema.remarks[0]
    assert schema.cells(pd.DataFrame({"a": ["1970-01-05"]}))[0].tolist() == [[4.0]]


@pytest.mark.parametrize("estimator", [TunedSVC(0.0, max_evaluations=2), MarginSVC()], ids=["TunedSVC", "MarginSVC"])
@pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning")
def test_estimators_warn_at_fit_and_predict(estimator) -> None:
    numbers = np.linspace(-1, 1, 20)
    text = pd.DataFrame({"a": [f"{x:.3f}" for x in numbers]})
    y = numbers > 0.1
    with pytest.warns(TableWarning, match="column 'a' holds numbers as text"):
        estimator.fit(text, y)
    np.testing.assert_array_equal(estimator.predict(text), estimator.predict(text.astype(float)))
    with pytest.warns(TableWarning, match="'n/a' in column 'a' is taken as missing"):
        estimator.predict(pd.DataFrame({"a": ["0.5", "n/a"]}))


def test_a_lazy_frame_is_to_be_collected() -> None:
    with pytest.raises(InvalidInputError, match=r"X is a polars LazyFrame; .*: X.collect\(\)"):
        TunedSVC().fit(pl.LazyFrame({"a": [0.0, 1.0]}), [0, 1])
