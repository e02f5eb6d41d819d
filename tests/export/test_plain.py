"""The numbers of a model as JSON: what NumPy makes of them is what the model says."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from json_reader import decision, proba
from marginwise import MarginSVC, TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.export import to_json
from marginwise.kernels import RBF, AdditiveLaplacian, Constant, Precomputed

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::marginwise.errors.{name}") for name in ("ConvergenceWarning", "TableWarning")
]


def frame(n: int, seed: int = 0, gaps: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"a": rng.normal(size=n), "b": rng.gamma(2.0, 3.0, n), "c": rng.choice(["x", "y", "z"], n)})
    for name in ("a", "c"):
        table.loc[rng.random(n) < gaps, name] = None
    return table


def labels(table: pd.DataFrame, n_classes: int = 2) -> np.ndarray:
    score = table["a"].fillna(0.0) + 0.2 * table["b"] + (table["c"] == "x") + np.sin(7.0 * np.arange(len(table)))
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def rows() -> tuple[pd.DataFrame, list[list[object]]]:
    """Return new rows with gaps and an unseen word, as a data frame and as lists."""
    table = frame(8, 1)
    table.loc[0, "a"] = table.loc[1, "b"] = table.loc[2, "c"] = None
    table.loc[3, "c"], table.loc[4, ["a", "b"]] = "never seen", None
    return table, [[None if pd.isna(cell) else cell for cell in row] for row in table.itertuples(index=False)]


def check(model: TunedSVC) -> None:
    table, cells = rows()
    numbers = json.loads(to_json(model))
    np.testing.assert_allclose([proba(numbers, row) for row in cells], model.predict_proba(table), atol=1e-9)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "rbf"},
        {"ard": "auto"},
        {"kernel": RBF() + AdditiveLaplacian() + Constant(), "class_weight": "balanced"},
        {"predictor": "svm"},
    ],
    ids=["rbf", "default", "additive, weights", "svm"],
)
def test_numpy_predicts_the_same(parameters, gaps):
    table = frame(70, gaps=gaps)
    settings = {"ard": 0, "random_state": 0, "max_evaluations": 5} | parameters
    check(TunedSVC(**settings).fit(table, labels(table)))
    check(TunedSVC(**settings).fit(table, labels(table, 3)))


def test_the_average_over_slacks():
    table = frame(70)
    model = TunedSVC(ard=0, kernel="rbf", criterion="ep-loo", random_state=0).fit(table, labels(table))
    numbers = json.loads(to_json(model))
    assert {member["link"]["type"] for member in numbers["members"]} == {"slack"}
    check(model)


def test_margin_svc():
    table = frame(60)
    model = MarginSVC(C=3.0).fit(table, labels(table))
    new, cells = rows()
    numbers = json.loads(to_json(model))
    got = np.concatenate([decision(numbers, row) for row in cells])
    np.testing.assert_allclose(got, model.decision_function(new), rtol=1e-10, atol=1e-12)


def test_what_the_file_is():
    X = np.random.default_rng(0).normal(size=(30, 2))
    X[0, 1] = np.nan
    model = MarginSVC().fit(X, (X[:, 0] > 0).astype(int))
    numbers = json.loads(to_json(model, names=["left", "right"]))
    assert (numbers["format"], numbers["version"], numbers["classes"]) == ("marginwise-json", 1, [0, 1])
    assert [column["name"] for column in numbers["columns"]] == ["left", "right"]
    assert numbers["columns"][0]["gap"] is None
    assert len(numbers["columns"][1]["gap"]) == 2


def test_what_has_no_json_form_is_said(schedule):
    with pytest.raises(InvalidInputError, match="model is a dict"):
        to_json({})
    given = MarginSVC(kernel=Precomputed(np.eye(4))).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    with pytest.raises(InvalidInputError, match="kernel Precomputed, which has no JSON form"):
        to_json(given)

    class Doubled(RBF):
        def cross(self, A, B):
            return 2.0 * super().cross(A, B)

    own = MarginSVC(kernel=Doubled()).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InvalidInputError, match="kernel Doubled, which has no JSON form"):
        to_json(own)
    sizes = {"usual_local": 30, "most_local": 30, "usual_local_classes": 30, "most_local_classes": 30}
    schedule(exact_rows=100, least_local=20, fold_rows=80, **sizes)
    table = frame(240)
    model = TunedSVC(ard=0, random_state=0, max_evaluations=4, subset=80).fit(table, labels(table))
    with pytest.raises(InvalidInputError, match="has local blocks, which have no JSON form; expected an ONNX file"):
        to_json(model)
