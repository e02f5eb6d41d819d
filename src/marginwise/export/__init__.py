"""Models outside of Python: ONNX files, which run wherever there is an ONNX runtime, and their numbers as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from marginwise._runtime.packages import require

__all__ = ["register_converters", "to_json", "to_onnx"]


def to_onnx(model: Any, *, names: Sequence[str] | None = None) -> Any:
    """Return a fitted model as an ONNX file. It needs onnx: ``pip install 'marginwise[onnx]'``.

    Probabilities are those of ``predict_proba``, computed in double precision by standard operators.

    Parameters
    ----------
    model : TunedSVC or MarginSVC
        Fitted.
    names : sequence of str, optional
        Names of the columns, for a model fitted to an array: each column is then a separate input.

    Returns
    -------
    onnx.ModelProto
        Write it with ``onnx.save(proto, "model.onnx")``. A model fitted to a data frame has an input of shape (n, 1)
        for each column: doubles, NaN where missing, or strings, empty where missing. A model fitted to an array has a
        single input X of shape (n, n_columns). The outputs are ``label``, ``probabilities`` (not for MarginSVC) and
        ``decision``.

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise import MarginSVC, to_onnx
    >>> model = MarginSVC(C=10).fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> session.run(["label"], {"X": np.array([[0.2], [2.9]])})[0].tolist()
    ['low', 'high']
    """
    require("onnx", "ONNX files need", "marginwise[onnx]")
    from marginwise.export.models import model_of

    return model_of(model, names)


def to_json(model: Any, *, names: Sequence[str] | None = None) -> str:
    """Return the numbers of a fitted model as JSON, for programs without an ONNX runtime.

    The documentation shows how to compute probabilities from them in NumPy.

    Parameters
    ----------
    model : TunedSVC or MarginSVC
        Fitted, and without local blocks: with more than 1,500 rows, fit it with a ``rank``.
    names : sequence of str, optional
        Names of the columns, for a model fitted to an array.

    Returns
    -------
    str
        An object with the keys ``format``, ``version``, ``classes``, ``columns``, ``donors``, and ``members`` or
        ``svm``; numbers that are not finite are null.

    Examples
    --------
    >>> import json
    >>> from marginwise import MarginSVC
    >>> from marginwise.export import to_json
    >>> model = MarginSVC(C=10).fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> numbers = json.loads(to_json(model))
    >>> numbers["classes"], [term["type"] for term in numbers["svm"]["kernel"]]
    (['high', 'low'], ['RBF', 'Constant'])
    """
    from marginwise.export.plain import json_of

    return json_of(model, names)


def register_converters() -> None:
    """Let sklearn-onnx convert TunedSVC and MarginSVC in pipelines. It needs skl2onnx: ``pip install skl2onnx``.

    The outputs are those of :func:`marginwise.to_onnx`. Use inputs of type ``DoubleTensorType``, so that other steps
    keep double precision as well.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from marginwise import MarginSVC
    >>> from marginwise.export import register_converters
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    >>> pipeline = make_pipeline(StandardScaler(), MarginSVC(C=10)).fit(X, y)
    >>> register_converters()
    >>> [output.name for output in to_onnx(pipeline, X[:1]).graph.output]
    ['label', 'decision']
    """
    require("skl2onnx", "ONNX files need", "skl2onnx")
    from marginwise.export.pipelines import register

    register()
