"""MarginSVC: the SVM with given hyperparameters, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from marginwise._arrays import Array
from marginwise._runtime.jit import telling_of_compilation
from marginwise.estimators._classes import check_table
from marginwise.estimators._encoding import Encoding, averaged
from marginwise.estimators._parameters import require_no_name_of_a_matrix
from marginwise.estimators._stored import StoredEstimator, as_before_unless_done
from marginwise.estimators._tables import TableMixin, warn_of_table
from marginwise.hyperparameters import Hyperparameters
from marginwise.kernels import Kernel
from marginwise.kernels.borrowed import as_kernel
from marginwise.likelihoods import as_slack
from marginwise.model import Model
from marginwise.problem import FAR, require_near
from marginwise.svm.pairs import train_pairs

#: Rows predicted at a time.
_BLOCK = 2048


class MarginSVC(TableMixin, ClassifierMixin, StoredEstimator):  # type: ignore[misc]
    """Support vector classifier with linear or quadratic slack and given hyperparameters.

    The kernel is k0 exp[-½ Σ_a (x_a - x'_a)²/l_a²] + koff; its offset koff plays the part of the bias, which is free
    for large koff. More than two classes are separated pair by pair, as in scikit-learn's ``SVC``: the class that wins
    most pairs is predicted.

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
        Another kernel with its hyperparameters, instead of k0, koff and length_scales; also one of scikit-learn's
        Gaussian processes, or a function K(A, B), to which a constant is added for the bias.
    categorical_features : "from_dtype", None, or sequence of bool, int or str, default="from_dtype"
        Columns that are categories, as in TunedSVC. Each has one length scale.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    hyperparameters_ : Hyperparameters
    solutions_ : list of Solution
        One for each pair of classes i < j, in the order (0, 1), (0, 2), …, (1, 2), …, on the rows of these two classes;
        its latent function is positive where it speaks for class j.
    support_ : array of int
        Rows of the training table (without those of weight zero) that are a support vector of any pair: ascending, for
        more than two classes class by class.
    support_vectors_ : array of shape (n_support, n_features)
    n_support_ : array of shape (n_classes,)
        How many of them each class has.
    dual_coef_ : array of shape (n_classes - 1, n_support)
        y_i α_i of each support vector in the pairs of its class with each other class, in order: the layout of ``SVC``.

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
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.C = C
        self.k0 = k0
        self.koff = koff
        self.length_scales = length_scales
        self.slack = slack
        self.class_weight = class_weight
        self.kernel = kernel
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MarginSVC:
        """Train on the table. A sample weight of 2 is the same as the row given twice, 0 as left out.

        Ctrl-C leaves the estimator as it was.
        """
        with as_before_unless_done(self), telling_of_compilation():
            self._fit(X, y, sample_weight)
        for solution in self.solutions_:
            solution.status.warn()
        warn_of_table(self._schema.remarks)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        slack = as_slack(self.slack)
        self._model()  # says what is wrong with it before the table is read
        table = check_table(self, X, y, sample_weight, self.class_weight)
        self._encoding = Encoding.learnt(table.X, table.weights, self._schema.n_categories, standardize=False)
        self.hyperparameters_ = self._model(self._encoding.columns)
        inputs = self._encoding(table.X)
        require_near(inputs, instead="scale the inputs, as sklearn.preprocessing.StandardScaler does")
        self.classes_ = table.classes
        model, n_classes = self.hyperparameters_, len(table.classes)
        self._machines, self.solutions_ = train_pairs(inputs, table.codes, n_classes, table.weights, model, slack)
        self.support_, self.dual_coef_ = self._machines.support, self._machines.coefficients
        self.support_vectors_, self.n_support_ = self._machines.points, self._machines.n_support

    @property
    def _n_inputs(self) -> int:
        return len(self._encoding.shares)

    def _model(self, columns: Sequence[int] | None = None) -> Model:
        """Return the model; ``columns`` are those of the inputs, where these are more."""
        require_no_name_of_a_matrix(self.kernel, "MarginSVC(kernel=Precomputed(K))")
        if self.kernel is None:
            model: Model = Hyperparameters(self.C, self.k0, self.koff, self.length_scales)
        else:
            model = Model(self.C, as_kernel(self.kernel))
        return model if columns is None else Model(model.C, model.kernel.tied(columns))

    def decision_function(self, X: Any) -> Array:
        """Return the latent function θ*(x) of two classes, shape (n,), or values of shape (n, n_classes) for more.

        These are the number of pairs that the class wins, and less than 1/2 more or less for how clearly it does.
        """
        check_is_fitted(self)
        cells = self._cells(X)
        values = np.vstack([self._decisions(cells[start : start + _BLOCK]) for start in range(0, len(cells), _BLOCK)])
        return values[:, 0] if values.shape[1] == 1 else values

    def _decisions(self, cells: Array) -> Array:
        filled, owners = self._encoding.filled(cells)
        inputs = np.clip(self._encoding(filled), -FAR, FAR)  # farther is as far from all rows
        values = self._machines.decision(inputs)
        return values if owners is None else averaged(values, owners)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the positive latent function, or that wins most pairs."""
        values = self.decision_function(X)
        codes = (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[codes]
