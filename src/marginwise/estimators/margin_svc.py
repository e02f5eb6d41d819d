"""MarginSVC: the SVM with given hyperparameters, as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from marginwise._arrays import Array
from marginwise._runtime.jit import telling_of_compilation
from marginwise.estimators._classes import check_table
from marginwise.estimators._stored import StoredEstimator, as_before_unless_done
from marginwise.hyperparameters import Hyperparameters
from marginwise.kernels import Kernel
from marginwise.likelihoods import as_slack
from marginwise.model import Model
from marginwise.problem import Problem
from marginwise.svm import solve_problem, svm_covariance

#: Rows predicted at a time.
_BLOCK = 2048


class MarginSVC(ClassifierMixin, StoredEstimator):  # type: ignore[misc]
    """Support vector classifier with linear or quadratic slack and given hyperparameters.

    The kernel is k0 exp[-½ Σ_a (x_a - x'_a)²/l_a²] + koff; its offset koff plays the part of the bias, which is free
    for large koff. More than two classes are separated one against the rest.

    Parameters
    ----------
    C : float, default=1.0
        Slack penalty; raise it to follow the training labels more closely.
    k0 : float, default=1.0
        Amplitude of the kernel.
    koff : float, default=0.1
        Offset of the kernel: how far the bias may go from zero.
    length_scales : float or array of shape (n_features,), default=1.0
        Distance over which the latent function changes, one for all inputs or one for each.
    slack : {"linear", "quadratic"}, default="linear"
        Penalty for margins below 1: their shortfall, or half its square.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the sample weights.
    kernel : Kernel or None, default=None
        Another kernel with its hyperparameters, in the place of k0, koff and length_scales.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    hyperparameters_ : Hyperparameters
    solutions_ : list of Solution
        One for two classes; otherwise one for each class against the rest.
    support_ : array of int
        Rows of the training table (without those of weight zero) that are a support vector of any solution.
    support_vectors_ : array of shape (n_support, n_features)
    dual_coef_ : array of shape (n_solutions, n_support)
        y_i α_i for each solution.

    Examples
    --------
    >>> from marginwise import MarginSVC
    >>> model = MarginSVC(C=10).fit([[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"])
    >>> model.predict([[0.2], [2.9]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        C: float = 1.0,
        k0: float = 1.0,
        koff: float = 0.1,
        length_scales: Any = 1.0,
        slack: str = "linear",
        class_weight: Any = None,
        kernel: Kernel | None = None,
    ) -> None:
        self.C = C
        self.k0 = k0
        self.koff = koff
        self.length_scales = length_scales
        self.slack = slack
        self.class_weight = class_weight
        self.kernel = kernel

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MarginSVC:
        """Train on the table. A sample weight of 2 is the same as the row given twice, 0 as left out.

        Ctrl-C leaves the estimator as it was.
        """
        with as_before_unless_done(self), telling_of_compilation():
            self._fit(X, y, sample_weight)
        for solution in self.solutions_:
            solution.status.warn()
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        slack = as_slack(self.slack)
        self.hyperparameters_ = self._model()
        table = check_table(self, X, y, sample_weight, self.class_weight)
        problems = [Problem(table.X, labels, table.weights) for labels in table.labelings]
        covariance = svm_covariance(problems[0], self.hyperparameters_)
        self.solutions_ = [
            solve_problem(problem, self.hyperparameters_, slack, covariance=covariance) for problem in problems
        ]
        signed = np.array([p.y * s.alpha for p, s in zip(problems, self.solutions_, strict=True)])
        self.classes_ = table.classes
        self.support_ = np.flatnonzero(signed.any(axis=0))
        self.support_vectors_ = table.X[self.support_]
        self.dual_coef_ = signed[:, self.support_]

    def _model(self) -> Model:
        if self.kernel is None:
            return Hyperparameters(self.C, self.k0, self.koff, self.length_scales)
        return Model(self.C, self.kernel)

    def decision_function(self, X: Any) -> Array:
        """Return the latent function θ*(x), shape (n,) for two classes and (n, n_classes) for more."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        latent = np.empty((len(X), len(self.dual_coef_)))
        for start in range(0, len(X), _BLOCK):
            rows = slice(start, start + _BLOCK)
            latent[rows] = self.hyperparameters_.kernel.cross(X[rows], self.support_vectors_) @ self.dual_coef_.T
        return latent[:, 0] if len(self.classes_) == 2 else latent

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the positive, or largest, latent function."""
        latent = self.decision_function(X)
        codes = (latent > 0).astype(int) if latent.ndim == 1 else latent.argmax(axis=1)
        return self.classes_[codes]
