"""Compact models as ONNX files: the same probabilities, from fewer numbers."""

from __future__ import annotations

import numpy as np
import pytest

from marginwise import TunedSVC, compact, to_onnx
from onnx_values import results_of


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_compact_model_is_a_smaller_file(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + rng.normal(size=len(X)), [-0.3, 0.5][: n_classes - 1])
    model = TunedSVC(0.0, random_state=0).fit(X, y)
    small = compact(model, tolerance=0.02)
    files = [to_onnx(one) for one in (model, small)]
    whole, few = (len(file.SerializeToString()) for file in files)
    assert few < 0.5 * whole
    found = results_of(files[1], {"X": X})
    np.testing.assert_allclose(found["probabilities"], small.predict_proba(X), atol=1e-9)
