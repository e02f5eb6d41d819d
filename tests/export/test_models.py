"""Whole models in onnxruntime, against ``predict_proba``, on rows with unseen words and missing cells."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import Matern
from sklearn.svm import SVC

from marginwise import MarginSVC, TunedSVC, compact, to_onnx
from marginwise.errors import InvalidInputError, MarginwiseError
from marginwise.kernels import RBF, AdditiveLaplacian, Constant, Linear, Precomputed
from onnx_values import columns_of, results_of
from tiers import with_slow

#: Searches are cut short, and what tables hold is beside the point.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::marginwise.errors.{name}") for name in ("ConvergenceWarning", "TableWarning")
]

#: What a file may differ by: the bar is 1e-6, and nothing comes near it. A file computes in double precision, and
#: Python the variances of local blocks in single.
TOLERANCE, OF_BLOCKS = 1e-9, 1e-7

WORDS, DATES = ("colour", "size"), ("when",)


def numbers(n: int, seed: int = 0, gaps: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 1.0]
    X[:, 3] = np.exp(X[:, 3])
    X[rng.random(X.shape) < gaps] = np.nan
    return X


def labels_of(X: np.ndarray, n_classes: int = 2) -> np.ndarray:
    score = np.nan_to_num(X[:, 0]) + 0.1 * np.nan_to_num(X[:, 1] - 5.0) + np.sin(5.0 * np.arange(len(X)))
    return np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))


def strange_rows() -> np.ndarray:
    """Return rows far out, and with gaps: one, several, all."""
    X = 2.0 * numbers(30, 1)
    X[0, 1] = X[1, [0, 2]] = X[2] = np.nan
    X[3, 2], X[4, 0], X[5] = 1e30, -1e300, 0.0
    return X


def frame(n: int, seed: int = 0, gaps: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "width": rng.normal(size=n),
            "age": rng.integers(18, 80, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True),
            "code": pd.Categorical(rng.integers(1, 4, n), categories=[1, 2, 3, 9]),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 500, n), unit="D"),
            "empty": np.nan,
        }
    )
    for name in ("width", "colour", "code"):
        table.loc[rng.random(n) < gaps, name] = None
    return table


def strange_frame() -> pd.DataFrame:
    """Return rows with words that training has not, and gaps of every kind of column."""
    table = frame(25, 1)
    table["age"] = table["age"].astype(float)
    for row, name in enumerate(["width", "age", "colour", "size", "code", "when"]):
        table.loc[row, name] = None
    table.loc[6, ["width", "age", "when"]] = None
    table.loc[7, "colour"], table.loc[8, "code"], table.loc[9, "empty"] = "violet", 9, 3.0
    return table


def check(
    model: Any, X: Any, inputs: dict[str, np.ndarray] | None = None, tolerance: float = TOLERANCE
) -> dict[str, np.ndarray]:
    """Return the results of a model's file after a comparison with the model."""
    results = results_of(to_onnx(model), {"X": X} if inputs is None else inputs)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(results["probabilities"], model.predict_proba(X), atol=tolerance)
    np.testing.assert_allclose(results["decision"], model.decision_function(X), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(results["label"], model.predict(X))
    return results


def quick(**parameters: Any) -> TunedSVC:
    return TunedSVC(**({"ard": 0, "random_state": 0, "max_evaluations": 6} | parameters))


PARAMETERS: dict[str, dict[str, Any]] = {
    "default": {"ard": "auto"},
    "one length scale": {},
    "own length scales": {"ard": 1.0},
    "rbf": {"kernel": "rbf"},
    "expectation propagation": {"kernel": "rbf", "criterion": "ep-loo"},
    "quadratic slack": {"criterion": "ep-loo", "slack": "quadratic"},
    "svm": {"predictor": "svm"},
    "svm, quadratic": {"predictor": "svm", "slack": "quadratic"},
    "other kernel": {"kernel": RBF() + Linear() + AdditiveLaplacian() + Constant()},
    "Matern": {"kernel": Matern(nu=1.5)},
    "class weights": {"class_weight": {0: 1.0, 1: 5.0}},
    "votes": {"combine": "vote", "restarts": 2, "class_weight": "balanced"},
    "mean": {"combine": "mean", "restarts": 2},
    "as they are": {"standardize": False, "kernel": "rbf"},
    "low rank": {"rank": 20},
}


@pytest.mark.parametrize("name", with_slow(PARAMETERS, {"mean", "svm, quadratic", "own length scales", "as they are"}))
def test_two_classes(name):
    X = numbers(70)
    check(quick(**PARAMETERS[name]).fit(X, labels_of(X)), strange_rows())


@pytest.mark.parametrize(
    "name", with_slow(["one length scale", "svm", "votes", "low rank", "default"], {"default", "low rank"})
)
def test_three_classes(name):
    X = numbers(70)
    check(quick(**PARAMETERS[name]).fit(X, labels_of(X, 3)), strange_rows())


def test_classes_with_an_order():
    X = numbers(70)
    order = np.array([1, 0, 3, 2])
    model = quick(classes=order).fit(X, order[np.digitize(X[:, 0], [-0.8, 0.0, 0.8])])
    assert {"ordered-least-squares", "thresholds"} & {member.labels for member in model.ensemble_.members}
    check(model, strange_rows())


def test_gaps_of_the_training_table():
    """In all columns, where a gap means something, and in some, where those of others are filled in 32 ways."""
    X = numbers(70, gaps=0.2)
    y = labels_of(X)
    check(quick().fit(X, y), strange_rows())
    X[:, :2] = numbers(70)[:, :2]
    check(quick().fit(X, y), strange_rows())


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("predictor", ["posterior", "svm"])
def test_data_frames(predictor, gaps):
    """Numbers, words, ordered words, codes, dates and an empty column, each an input of its name."""
    table = frame(70, gaps=gaps)
    y = np.where((table["colour"] == "red") | (table["width"] > 0.5), "yes", "no")
    model = quick(predictor=predictor).fit(table, y)
    file = to_onnx(model)
    assert [one.name for one in file.graph.input] == list(table.columns)
    kinds = [one.type.tensor_type.elem_type for one in file.graph.input]
    assert kinds == [onnx.TensorProto.STRING if name in WORDS else onnx.TensorProto.DOUBLE for name in table]
    rows = strange_frame()
    check(model, rows, columns_of(rows, WORDS, DATES))
    described = json.loads(file.metadata_props[0].value)
    assert described[2] == {"name": "colour", "kind": "category", "values": ["blue", "green", "red"]}


def test_normal_scores_and_local_blocks(schedule):
    """With many rows: members that see ranks, blocks, and recalibrated probabilities; here few rows pass for many."""
    sizes = {
        "least_local": 20,
        "usual_local": 30,
        "most_local": 30,
        "usual_local_classes": 30,
        "most_local_classes": 30,
    }
    schedule(exact_rows=100, calibration_rows=100, fold_rows=80, **sizes)
    X = numbers(240)
    model = TunedSVC(random_state=0, max_evaluations=4, subset=80).fit(X, labels_of(X))
    ensemble = model.ensemble_
    assert {type(one).__name__ for one in ensemble.predictors} == {"LocalClassPredictor"}
    assert "NormalScores" in {type(member.view).__name__ for member in ensemble.members}
    assert ensemble.calibration is not None
    check(model, strange_rows(), tolerance=OF_BLOCKS)


def test_compact_models_give_compact_files():
    X = numbers(70)
    model = quick(kernel="rbf").fit(X, labels_of(X))
    small = compact(model, tolerance=0.01)
    check(small, strange_rows())
    assert to_onnx(small).ByteSize() < 0.6 * to_onnx(model).ByteSize()


def test_screened_columns():
    """With more columns than half the rows some members see a selection of the columns."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 40))
    model = quick(ard="auto").fit(X, (X[:, 3] + X[:, 7] > 0).astype(int))
    assert "Selection" in {type(member.view).__name__ for member in model.ensemble_.members}
    check(model, rng.normal(size=(10, 40)))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_margin_svc(n_classes, slack):
    X = numbers(60, gaps=0.05)
    X[:, 0] = numbers(60)[:, 0]
    model = MarginSVC(C=3.0, slack=slack, length_scales=[1.0, 5.0, 0.3, 2.0]).fit(X, labels_of(X, n_classes))
    assert "probabilities" not in check(model, strange_rows())


def test_a_precomputed_kernel():
    X = numbers(40)
    K = RBF(2.0, (2.0,)).gram(X / X.std(axis=0))
    rows = np.arange(40.0)[:, None]
    check(MarginSVC(C=3.0, kernel=Precomputed(K)).fit(rows[:30], labels_of(X[:30])), rows[30:])


@pytest.mark.parametrize(
    "classes", [["no", "yes"], [3, 7], [1.0, 2.0], [False, True], np.array(["a", "b"], dtype=object)]
)
def test_labels_keep_their_type(classes):
    X = numbers(30)
    model = MarginSVC().fit(X, np.array(classes)[labels_of(X)])
    result = check(model, X)["label"]
    assert result.tolist() == model.predict(X).tolist()
    assert type(result.tolist()[0]) is type(np.array(classes).tolist()[0])


def test_numbers_that_are_categories():
    """Of an array, as one matrix; a value that training has not is one never seen."""
    X = numbers(60)
    X[:, 2] = np.arange(60) % 3
    model = quick(categorical_features=[2]).fit(X, labels_of(X))
    rows = strange_rows()
    rows[6:9, 2] = 1.0, 2.0, 17.0
    check(model, rows)


def test_words_of_an_array_are_columns_with_numbers_as_names():
    X = numbers(40).astype(object)
    X[:, 1] = np.where(np.arange(40) % 2, "odd", "even")
    model = MarginSVC().fit(X, np.arange(40) % 2)
    inputs = {f"x{j + 1}": X[:, [j]] if j == 1 else X[:, [j]].astype(float) for j in range(4)}
    check(model, X, inputs)


def test_names_of_columns_can_be_given():
    X = numbers(40)
    model = MarginSVC().fit(X, labels_of(X))
    file = to_onnx(model, names=["a", "b", "label", "d"])
    results = results_of(file, {name: X[:, [j]] for j, name in enumerate(["a", "b", "label", "d"])})
    assert list(results) == ["label_", "decision"]  # an output is not called as an input
    np.testing.assert_allclose(results["decision"], model.decision_function(X), rtol=1e-10, atol=1e-12)
    with pytest.raises(InvalidInputError, match="names has 1 names; expected 4"):
        to_onnx(model, names=["a"])
    with pytest.raises(InvalidInputError, match="a different string for each column"):
        to_onnx(model, names=["a", "a", "b", "c"])
    nameless = MarginSVC().fit(pd.DataFrame(X, columns=["a", "", "c", "d"]), labels_of(X))
    with pytest.raises(InvalidInputError, match="none that is empty"):
        to_onnx(nameless)


def test_an_empty_word_can_be_a_category():
    table = pd.DataFrame({"word": ["", "a", "b", "a"] * 10, "x": np.arange(40.0)})
    model = MarginSVC().fit(table, np.arange(40) % 2)
    check(model, table, columns_of(table, ("word",)))


def test_files_have_standard_operators_and_say_who_wrote_them():
    X = numbers(60)
    file = to_onnx(quick(criterion="ep-loo").fit(X, labels_of(X)))
    assert {one.domain for one in file.opset_import} == {""}
    assert {one.domain for one in file.graph.node} == {""}
    assert "Erf" not in {one.op_type for one in file.graph.node}
    assert file.producer_name == "marginwise"
    assert json.loads(file.metadata_props[1].value) == [0, 1]


def test_doubles_stay_doubles():
    """Nothing on the way is of single precision."""
    X = numbers(60)
    file = to_onnx(quick(ard="auto").fit(X, labels_of(X)))
    kinds = {one.data_type for one in file.graph.initializer}
    assert kinds <= {onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64, onnx.TensorProto.BOOL}


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_rows_give_no_answers(n_classes):
    X = numbers(40)
    model = quick().fit(X, labels_of(X, n_classes))
    shapes = {name: result.shape for name, result in results_of(to_onnx(model), {"X": X[:0]}).items()}
    assert shapes == {"label": (0,), "probabilities": (0, n_classes), "decision": (0,) if n_classes == 2 else (0, 3)}


def test_what_cannot_be_exported_is_said():
    with pytest.raises(InvalidInputError, match=r"model is a SVC; expected a TunedSVC .*register_converters"):
        to_onnx(SVC())
    with pytest.raises(NotFittedError):
        to_onnx(TunedSVC())
    mixed = np.array([[1, 0.5], ["a", 0.2], [1, 0.1], ["a", 0.9]], dtype=object)
    model = MarginSVC(categorical_features=[0]).fit(mixed, [0, 1, 0, 1])
    with pytest.raises(InvalidInputError, match="has words and numbers as its categories"):
        to_onnx(model)


def test_onnx_is_asked_for_where_it_is_missing(monkeypatch):
    monkeypatch.setattr("marginwise._runtime.packages.find_spec", lambda name: None)
    with pytest.raises(MarginwiseError, match=r"pip install 'marginwise\[onnx\]'"):
        to_onnx(MarginSVC())
