"""TunedSVC: one fit, a tuned and calibrated SVM."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_expit, logit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import hold_interrupts
from marginwise._runtime.jit import telling_of_compilation
from marginwise.covariance import as_blocks
from marginwise.criteria import as_criterion
from marginwise.errors import ConvergenceWarning
from marginwise.estimators._binary import BinaryModel
from marginwise.estimators._callbacks import CallbackSupportMixin, fit_task, with_callbacks
from marginwise.estimators._classes import ClassificationTable, check_table, set_aside
from marginwise.estimators._dask import check_dask_inputs, check_dask_table, is_dask, scaled, scaling_of
from marginwise.estimators._fitting import Recipe, Rows, fit_all, model_at
from marginwise.estimators._parameters import as_template, check_parameters
from marginwise.estimators._scale import Scale, check_scale, chosen_rank, chosen_subset
from marginwise.estimators._scaling import Scaling
from marginwise.estimators._stored import StoredEstimator, as_before_unless_done
from marginwise.hyperparameters import Hyperparameters
from marginwise.kernels import Blend, Kernel
from marginwise.likelihoods import as_slack
from marginwise.priors import Prior
from marginwise.problem import Problem
from marginwise.search import Limits, Record, Run, Trace, as_search
from marginwise.tuning import SearchSettings

#: Rows predicted at a time: their kernel values with the points of a model take at most this many numbers.
_BLOCK_NUMBERS = 2**22


class TunedSVC(CallbackSupportMixin, ClassifierMixin, StoredEstimator):  # type: ignore[misc]
    """Support vector classifier that tunes its own hyperparameters and gives calibrated probabilities.

    The slack penalty, the kernel's amplitude and offset and the length scales are found by gradient ascent on a
    criterion: no grid. Unless told otherwise, the model averages over how different the length scales of the inputs
    may be, with weights from examples that were left out. More than two classes are separated one against the rest.

    Parameters
    ----------
    freedom : "auto" or float, default="auto"
        How far the length scales may differ: the prior standard deviation of their logarithms. "auto" tries 0 (one
        length scale for all inputs), 0.3 and 1 while examples left out gain by it, and averages; give a number to
        save that time when you know whether few inputs matter. With more than 600 rows searches begin on a random part
        of them in either case.
    kernel : "auto", "rbf" or Kernel, default="auto"
        The covariance of the latent function. "auto" is the sum of a constant, a linear, an RBF and a Laplacian term:
        straight lines, smooth curves and steps along the axes are all within reach; terms that carry nothing are
        dropped. "rbf" is the paper's, a Gaussian bell and a constant. A kernel of ``marginwise.kernels``, or a sum of
        them, says what form to tune; its own values don't matter.
    criterion : str or Criterion, default="ep-loo"
        What is optimised; see ``marginwise.criterion_names()``. Touch it to compare criteria.
    slack : {"linear", "quadratic"} or None, default=None
        Penalty for margins below 1; None takes the criterion's default, linear where it has both.
    prior : Prior or None, default=None
        Prior on the hyperparameters; None is ``Prior()``, made for standardised inputs.
    search : str or Search, default="auto"
        How the criterion is optimised, in every search inside; "auto" takes quasi-Newton where there is a gradient.
    restarts : int, default=0
        Further searches from random starts, for the first search (one length scale) only: the others go on from the
        best of them. Raise it if a warning says that the optimum is poor.
    predictor : {"posterior", "svm"}, default="posterior"
        Predict with the average over the posterior, or with the classical SVM on its support vectors.
    standardize : bool, default=True
        Whether inputs are brought to mean 0 and variance 1 first. Turn it off only if their scales are comparable
        and mean something.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, multiplied into the sample weights. Probabilities refer to the reweighted classes.
    max_evaluations : int or None, default=100
        Most evaluations of the criterion in any search inside: in the first, with one length scale; in each restart;
        and, if ``freedom`` is a number, in that with free length scales. Searches that go on from these are shorter:
        at most 10 evaluations on a fold, 8 on all rows at the end, 25 where the rank is limited. None is no limit for
        the long ones.
    rank : "auto", int or None, default="auto"
        Number of inducing inputs that the kernel is approximated with: O(n rank²) time, O(n rank) memory. None is the
        exact kernel; "auto" is None up to 1500 rows, and beyond as many as leave little of the kernel open.
    subset : "auto", int or None, default="auto"
        Random rows to tune on; the model is trained on all rows. "auto" is 5000, None is all.
    validation_fraction : float or None, default=None
        Part of the rows on which the error is watched to stop searches early, but for the short ones on folds; the
        model itself is trained on all rows.
        Worth a try with criteria that over-fit when many length scales are free.
    progress : bool, default=False
        Whether to draw a progress bar of each search on standard error (takes rich).
    n_jobs : int or None, default=None
        Processes for classes, folds and restarts; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the folds and random starts.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    hyperparameters_ : Hyperparameters
        Of the component with the largest weight; ``C_``, ``k0_``, ``koff_``, ``length_scales_`` are its parts, for
        inputs as the model sees them (standardised). For another kernel than "rbf" a ``Model``, of which ``C_`` and
        ``kernel_`` are the parts (``k0_`` and ``koff_`` are there for "auto", too, 0 for a term that was dropped).
        For more than two classes these belong to the first class
        against the rest; ``models_`` has all.
    feature_importances_ : array of shape (n_features,)
        How much the latent function varies with each input (its mean squared slope, in units of the input's spread),
        averaged over components and classes, with sum 1.
    term_shares_ : dict
        How much of the latent function's variance is "straight", "smooth" and "stepwise", with sum 1: the shares of the
        kernel's linear, RBF and Laplacian terms, averaged over components and classes.
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
        kernel: str | Kernel = "auto",
        criterion: Any = "ep-loo",
        slack: str | None = None,
        prior: Prior | None = None,
        search: Any = "auto",
        restarts: int = 0,
        predictor: str = "posterior",
        standardize: bool = True,
        class_weight: Any = None,
        max_evaluations: int | None = 100,
        rank: str | int | None = "auto",
        subset: str | int | None = "auto",
        validation_fraction: float | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.freedom = freedom
        self.kernel = kernel
        self.criterion = criterion
        self.slack = slack
        self.prior = prior
        self.search = search
        self.restarts = restarts
        self.predictor = predictor
        self.standardize = standardize
        self.class_weight = class_weight
        self.max_evaluations = max_evaluations
        self.rank = rank
        self.subset = subset
        self.validation_fraction = validation_fraction
        self.progress = progress
        self.n_jobs = n_jobs
        self.random_state = random_state

    #: The importance of the classes; models saved before there was one have none.
    _importance: Array | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TunedSVC:
        """Tune and train on the table. A sample weight of 2 is the same as the row given twice, 0 as left out.

        Ctrl-C is a KeyboardInterrupt, and leaves the estimator as it was.
        """
        with as_before_unless_done(self), telling_of_compilation():
            self._fit(X, y, sample_weight)
        for message in sorted({message for model in self.models_ for message in model.warnings}):
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        check_parameters(self)
        check_scale(self.rank, self.subset)
        criterion = as_criterion(self.criterion, self.slack)
        as_slack(criterion.likelihood)  # the SVM's: says so where there is none, before anything is tuned
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        table, self._scaling, inputs = self._read(X, y, sample_weight)
        self.classes_ = table.classes
        self._importance = table.importance
        aside = set_aside(table.codes, self.validation_fraction, np.random.default_rng(seed))
        problems = [Rows(problem, None) for problem in _problems(inputs, table)]
        size = chosen_subset(self.subset, len(table.codes))
        if size is not None or is_dask(inputs):
            drawn = table.drawn(len(table.codes) if size is None else size, ~aside, seed)
            samples = _problems(self._scaling(drawn.X), drawn)
            problems = [Rows(rows.all, sample) for rows, sample in zip(problems, samples, strict=True)]
        prior = Prior() if self.prior is None else self.prior
        settings = SearchSettings(
            search=as_search(self.search),
            prior=prior,
            restarts=self.restarts,
            seed=seed,
            limits=Limits(self.max_evaluations, keep=False),
            progress=self.progress,
        )
        start = prior.mean_of(as_template(self.kernel), self.n_features_in_)
        scale = Scale(chosen_rank(self.rank, inputs), seed)
        recipe = Recipe(criterion, self.freedom, start, settings, aside, table.weights_of_all, scale)

        def at(record: Record) -> dict[str, Any] | None:
            """Return what a fit of two classes that ended here would have, for callbacks that score it."""
            if len(problems) > 1:
                return None
            return {"models_": [model_at(problems[0], recipe, record.hyperparameters)]}

        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        with fit_task(self, at, X=X, y=y, metadata=metadata) as callbacks:
            watched = replace(recipe, settings=replace(settings, callbacks=callbacks))
            # Callbacks belong to this process, and so do searches that call them.
            self.models_ = fit_all(problems, watched, 1 if callbacks else self.n_jobs)
            if self.predictor == "svm":
                for model in self.models_:
                    model.svm  # noqa: B018  # is trained here
            self._describe(table.codes, table.weights)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[ClassificationTable, Scaling, Any]:
        """Return the checked table, its scaling, and the scaled inputs."""
        if is_dask(X):
            table = check_dask_table(self, X, y, sample_weight, self.class_weight).merged_unsorted().counted()
            scaling = scaling_of(table) if self.standardize else Scaling.none(np.zeros((1, table.X.shape[1])))
            return table, scaling, scaled(table.X, scaling)
        table = check_table(self, X, y, sample_weight, self.class_weight).merged().counted()
        scaling = Scaling.of(table.X, table.weights_in_class) if self.standardize else Scaling.none(table.X)
        return table, scaling, scaling(table.X)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"kernel": "rbf"} | state)  # all that version 0.1 had

    def _describe(self, codes: Indices, weights: Array) -> None:
        first = self.models_[0]
        self.hyperparameters_ = first.main.hyperparameters
        self.C_, self.kernel_ = self.hyperparameters_.C, self.hyperparameters_.kernel
        named = self.hyperparameters_ if isinstance(self.hyperparameters_, Hyperparameters) else self.kernel_
        if isinstance(named, Hyperparameters | Blend):
            self.k0_, self.koff_ = named.k0, named.koff
        self.length_scales_ = self.hyperparameters_.kernel.lengths(self.n_features_in_)
        relevance = np.mean([model.weights @ model.relevances for model in self.models_], axis=0)
        self.feature_importances_ = relevance / relevance.sum()
        shapes = {shape for model in self.models_ for shape in model.term_shares}
        self.term_shares_ = {
            shape: float(np.mean([model.term_shares.get(shape, 0.0) for model in self.models_]))
            for shape in sorted(shapes)
        }
        self.criterion_value_ = first.main.tuning.value
        self.log_evidence_ = first.main.log_evidence
        probability = self._held_out()
        own = np.maximum(probability[np.arange(len(codes)), codes], np.finfo(float).tiny)
        self.loo_log_loss_ = float(weights @ -np.log(own) / weights.sum())
        wrong = probability.argmax(axis=1) != codes
        self.loo_error_ = min(1.0, float(weights @ wrong / weights.sum()))  # rounding may add up to more

    def _held_out(self) -> Array:
        """Return the probability of each class for the distinct training examples, from models without them."""
        held_out = np.column_stack([model.held_out for model in self.models_])
        return self._to_classes(self._weighted(logit(np.maximum(held_out, np.finfo(float).tiny))))

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
        log_odds = self._each(X, lambda model, rows: model.log_odds(rows, self.predictor))
        return self._to_classes(log_odds if self.predictor == "svm" else self._weighted(log_odds))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class, the first of equals."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def decision_function(self, X: Any) -> Array:
        """Return a number that is positive for the second of two classes, or one for each of more classes.

        The log-odds of the average over the posterior, or the latent function of the SVM.
        """
        values = self._each(X, lambda model, rows: model.decision(rows, self.predictor))
        values = values if self.predictor == "svm" else self._weighted(values)
        return values[:, 0] if len(self.classes_) == 2 else values

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of the latent function, shape (n,) for two classes, (n, n_classes) for more."""
        moments = self._each(X, lambda model, rows: np.column_stack(model.latent(rows)))
        mean, variance = moments[:, 0::2], moments[:, 1::2]
        return (mean[:, 0], variance[:, 0]) if len(self.classes_) == 2 else (mean, variance)

    def _each(self, X: Any, function: Callable[[BinaryModel, Array], Array]) -> Array:
        """Return the values of a function of each model, in blocks of rows that bound the memory."""
        check_is_fitted(self)
        with hold_interrupts():
            if is_dask(X):
                return as_blocks(check_dask_inputs(self, X, reset=False)).rows(partial(self._rows, function))
            return self._rows(function, validate_data(self, X, dtype=np.float64, reset=False))

    def _rows(self, function: Callable[[BinaryModel, Array], Array], X: Array) -> Array:
        inputs = self._scaling(X)
        step = max(1, _BLOCK_NUMBERS // max(model.n_points for model in self.models_))
        blocks = [inputs[start : start + step] for start in range(0, len(inputs), step)]
        return np.vstack([np.column_stack([function(model, rows) for model in self.models_]) for rows in blocks])

    def _weighted(self, log_odds: Array) -> Array:
        """Return the log-odds of each two-class problem where classes have the importance that their weights say.

        Probabilities p_k become proportional to c_k p_k (Elkan 2001): training never sees c, and the ratio is exact.
        """
        if self._importance is None or np.ptp(self._importance) == 0.0:
            return log_odds
        log_c = np.log(self._importance / self._importance.max())
        if len(self.classes_) == 2:
            return log_odds + (log_c[1] - log_c[0])
        with np.errstate(divide="ignore"):  # the largest c is 1
            others = np.log(-np.expm1(log_c))
        return log_c + log_expit(log_odds) - np.logaddexp(others, log_c + log_expit(-log_odds))

    def _to_classes(self, log_odds: Array) -> Array:
        """Return class probabilities from the log-odds of each two-class problem; several are normalised."""
        if len(self.classes_) == 2:
            return expit(np.column_stack([-log_odds[:, 0], log_odds[:, 0]]))
        return softmax(log_expit(log_odds), axis=1)


def _problems(inputs: Any, table: ClassificationTable) -> list[Problem]:
    weights = table.weights_in_class
    return [Problem(inputs, labels, weights, examples=table.examples) for labels in table.labelings]


__all__ = ["BinaryModel", "TunedSVC"]
