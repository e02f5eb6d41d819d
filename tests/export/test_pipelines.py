"""Pipelines by sklearn-onnx, with our classifiers at their end."""

from __future__ import annotations

import numpy as np
import onnx
import pandas as pd
import pytest
import skl2onnx
from skl2onnx.common.data_types import DoubleTensorType, StringTensorType
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from marginwise import MarginSVC, TunedSVC
from marginwise.errors import InvalidInputError
from marginwise.export import register_converters
from onnx_values import session_of

#: Searches are cut short, and what tables hold is beside the point.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::marginwise.errors.{name}") for name in ("ConvergenceWarning", "TableWarning")
]


@pytest.fixture(autouse=True)
def _registered():
    register_converters()


def table(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [1.0, 10.0, 0.1, 1.0]
    return X, np.digitize(X[:, 0] + 0.1 * X[:, 1], [-0.5, 0.7][: n_classes - 1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("predictor", ["posterior", "svm"])
def test_pipelines_convert(predictor, n_classes):
    X, y = table(n_classes)
    model = TunedSVC(ard=0, random_state=0, max_evaluations=5, predictor=predictor)
    pipeline = make_pipeline(StandardScaler(), PCA(3), model).fit(X, y)
    file = skl2onnx.to_onnx(pipeline, X[:1])
    onnx.checker.check_model(file)
    session = session_of(file)
    label, proba, decision = session.run(["label", "probabilities", "decision"], {"X": X})
    np.testing.assert_allclose(proba, pipeline.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(decision, pipeline.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(label, pipeline.predict(X))
    assert session.run(["label"], {"X": X[:0]})[0].shape == (0,)


def test_single_precision_is_taken_as_it_comes():
    X, y = table(3)
    X = X.astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), MarginSVC(C=3.0)).fit(X, y)
    (decision,) = session_of(skl2onnx.to_onnx(pipeline, X[:1])).run(["decision"], {"X": X})
    np.testing.assert_allclose(decision, pipeline.decision_function(X), atol=1e-4)


def test_columns_one_by_one():
    X, y = table(2)
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "up", "down")})
    model = MarginSVC(C=3.0).fit(frame, y)
    types = [("a", DoubleTensorType([None, 1])), ("b", StringTensorType([None, 1]))]
    session = session_of(skl2onnx.convert_sklearn(model, initial_types=types))
    inputs = {"a": frame[["a"]].to_numpy(), "b": frame[["b"]].to_numpy(dtype=object)}
    np.testing.assert_allclose(session.run(["decision"], inputs)[0], model.decision_function(frame), rtol=1e-10)
    with pytest.raises(InvalidInputError, match="takes words, and a matrix of numbers"):
        skl2onnx.convert_sklearn(model, initial_types=[("X", DoubleTensorType([None, 2]))])
    with pytest.raises(InvalidInputError, match="has 3 inputs"):
        skl2onnx.convert_sklearn(model, initial_types=[(name, DoubleTensorType([None, 1])) for name in "abc"])


def test_old_operators_are_refused():
    X, y = table(2)
    pipeline = make_pipeline(StandardScaler(), MarginSVC()).fit(X, y)
    with pytest.raises(InvalidInputError, match="target_opset is 15; expected 19 or more"):
        skl2onnx.to_onnx(pipeline, X[:1], target_opset=15)
