"""TunedSVC: one fit, a tuned and calibrated SVM."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from marginwise.criteria import as_criterion
from marginwise.errors import ConvergenceWarning, InvalidInputError, choose
from marginwise.estimators._binary import BinaryModel
from marginwise.estimators._classes import check_table
from marginwise.estimators._fitting import fit_binary
from marginwise.estimators._scaling import Scaling
from marginwise.estimators._stored import StoredEstimator
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.search import Run, Trace

Array = npt.NDArray[np.float64]

#: Rows predicted at a time: their kernel values with the training rows take at most this many numbers.
_BLOCK_NUMBERS = 2**22

#: Below this many rows BLAS runs in one thread: matrices are so small that threads only wait for each other.
_FEW_ROWS = 1000


class TunedSVC(ClassifierMixin, StoredEstimator):  # type: ignore[misc]
    """Support vector classifier that tunes its own hyperparameters and gives calibrated probabilities.

    The slack penalty, the kernel's amplitude and offset and the length scales are found by gradient ascent on a
    criterion: no grid. Unless told otherwise, the model averages over how different the length scales of the inputs
    may be, with weights from examples that were left out. More than two classes are separated one against the rest.

    Parameters
    ----------
    freedom : "auto" or float, default="auto"
        How far the length scales may differ: the prior standard deviation of their logarithms. "auto" tries 0 (one
        length scale for all inputs), 0.3, 1 and 3 while examples left out gain by it, and averages; give a number to
        save that time when you know whether few inputs matter.
    criterion : str or Criterion, default="ep-loo"
        What is optimised; see ``marginwise.criterion_names()``. Touch it to compare criteria.
    slack : {"linear", "quadratic"} or None, default=None
        Penalty for margins below 1; None takes the criterion's default, linear where it has both.
    prior : Prior or None, default=None
        Prior on the hyperparameters; None is ``Prior()``, made for standardised inputs.
    search : str or Search, default="auto"
        How the criterion is optimised; "auto" takes quasi-Newton where there is a gradient.
    restarts : int, default=0
        Further searches from random starts. Raise it if a warning says that the optimum is poor.
    predictor : {"posterior", "svm"}, default="posterior"
        Predict with the average over the posterior, or with the classical SVM on its support vectors.
    standardize : bool, default=True
        Whether inputs are brought to mean 0 and variance 1 first. Turn it off only if their scales are comparable
        and mean something.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the sample weights.
    max_evaluations : int or None, default=100
        Evaluations of the criterion in the main search, and in each restart.
    n_jobs : int or None, default=None
        Processes for folds and restarts; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the folds and random starts.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    hyperparameters_ : Hyperparameters
        Of the component with the largest weight; ``C_``, ``k0_``, ``koff_``, ``length_scales_`` are its parts, for
        inputs as the model sees them (standardised). For more than two classes these belong to the first class
        against the rest; ``models_`` has all.
    feature_importances_ : array of shape (n_features,)
        Relevance 1/l_a² of each input, averaged over components and classes, with sum 1.
    criterion_value_, log_evidence_ : float
        The criterion, and ln Q(Y|X) by expectation propagation, of that component.
    loo_log_loss_, loo_error_ : float
        Estimates of log-loss and error on new data: from the folds where there were some, otherwise from the
        leave-one-out distributions of expectation propagation, which are optimistic if ``freedom`` is large.
    trace_ : Trace
        The search that found ``hyperparameters_``.
    restarts_ : tuple of Run
        All searches of the main tuning.
    models_ : list of BinaryModel
        One for two classes; otherwise one for each class against the rest.

    Examples
    --------
    >>> from marginwise import TunedSVC, load_benchmark
    >>> data = load_benchmark("crabs")
    >>> model = TunedSVC(freedom=0).fit(data.X_train, data.y_train)
    >>> bool(model.score(data.X_test, data.y_test) > 0.9)
    True
    """

    def __init__(
        self,
        freedom: str | float = "auto",
        *,
        criterion: Any = "ep-loo",
        slack: str | None = None,
        prior: Prior | None = None,
        search: Any = "auto",
        restarts: int = 0,
        predictor: str = "posterior",
        standardize: bool = True,
        class_weight: Any = None,
        max_evaluations: int | None = 100,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.freedom = freedom
        self.criterion = criterion
        self.slack = slack
        self.prior = prior
        self.search = search
        self.restarts = restarts
        self.predictor = predictor
        self.standardize = standardize
        self.class_weight = class_weight
        self.max_evaluations = max_evaluations
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TunedSVC:
        """Tune and train on the table. A sample weight of 2 is the same as the row given twice, 0 as left out."""
        choose("predictor", self.predictor, ("posterior", "svm"))
        if self.freedom != "auto" and not (isinstance(self.freedom, (int, float)) and self.freedom >= 0):
            raise InvalidInputError("freedom", self.freedom, '"auto" or a number that is not negative')
        criterion = as_criterion(self.criterion, self.slack)
        table = check_table(self, X, y, sample_weight, self.class_weight).in_canonical_order()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        n_inputs = table.X.shape[1]
        self._scaling = Scaling.of(table.X, table.weights) if self.standardize else Scaling.none(n_inputs)
        inputs = self._scaling(table.X)
        with threadpool_limits(1 if len(inputs) < _FEW_ROWS else None, user_api="blas"):
            self.models_ = [
                fit_binary(
                    Problem(inputs, labels, table.weights),
                    criterion,
                    freedom=self.freedom,
                    prior=Prior() if self.prior is None else self.prior,
                    seed=seed,
                    n_jobs=self.n_jobs,
                    search=self.search,
                    restarts=self.restarts,
                    max_evaluations=self.max_evaluations,
                )
                for labels in table.labelings
            ]
        self.classes_ = table.classes
        self._describe(table.codes, table.weights)
        for message in sorted({message for model in self.models_ for message in model.warnings}):
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    def _describe(self, codes: npt.NDArray[np.intp], weights: Array) -> None:
        first = self.models_[0]
        self.hyperparameters_ = first.main.hyperparameters
        self.C_, self.k0_, self.koff_ = (getattr(self.hyperparameters_, name) for name in ("C", "k0", "koff"))
        self.length_scales_ = self.hyperparameters_.scales_for(self.n_features_in_)
        relevance = np.mean([model.weights @ model.relevances for model in self.models_], axis=0)
        self.feature_importances_ = relevance / relevance.sum()
        self.criterion_value_ = first.main.tuning.value
        self.log_evidence_ = first.main.log_evidence
        held_out = self._to_classes(np.column_stack([model.held_out for model in self.models_]))
        own = np.maximum(held_out[np.arange(len(codes)), codes], np.finfo(float).tiny)
        self.loo_log_loss_ = float(weights @ -np.log(own) / weights.sum())
        self.loo_error_ = float(weights @ (held_out.argmax(axis=1) != codes) / weights.sum())

    @property
    def trace_(self) -> Trace:
        """The search that found ``hyperparameters_``."""
        return self.models_[0].main.tuning.trace

    @property
    def restarts_(self) -> tuple[Run, ...]:
        """All searches of that tuning."""
        return self.models_[0].main.tuning.restarts

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, columns in the order of ``classes_``."""
        return self._to_classes(self._each(X, lambda model, rows: model.probability(rows, self.predictor)))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def decision_function(self, X: Any) -> Array:
        """Return a number that is positive for the second of two classes, or one for each of more classes.

        The log-odds of the average over the posterior, or the latent function of the SVM.
        """
        values = self._each(X, lambda model, rows: model.decision(rows, self.predictor))
        return values[:, 0] if len(self.classes_) == 2 else values

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of the latent function, shape (n,) for two classes, (n, n_classes) for more."""
        mean = self._each(X, lambda model, rows: model.latent(rows)[0])
        variance = self._each(X, lambda model, rows: model.latent(rows)[1])
        return (mean[:, 0], variance[:, 0]) if len(self.classes_) == 2 else (mean, variance)

    def _each(self, X: Any, function: Any) -> Array:
        """Return the values of a function of each model, in blocks of rows that bound the memory."""
        check_is_fitted(self)
        inputs = self._scaling(validate_data(self, X, dtype=np.float64, reset=False))
        step = max(1, _BLOCK_NUMBERS // len(self.models_[0].X))
        blocks = [inputs[start : start + step] for start in range(0, len(inputs), step)]
        return np.vstack([np.column_stack([function(model, rows) for model in self.models_]) for rows in blocks])

    def _to_classes(self, positive: Array) -> Array:
        """Return class probabilities from those of each two-class problem, normalised where there are several."""
        if len(self.classes_) == 2:
            return np.column_stack([1.0 - positive[:, 0], positive[:, 0]])
        total = positive.sum(axis=1, keepdims=True)
        return np.where(total > 0, positive / np.where(total > 0, total, 1.0), 1.0 / len(self.classes_))


__all__ = ["BinaryModel", "TunedSVC"]
