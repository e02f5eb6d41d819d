"""TunedSVC: one fit, a tuned and calibrated SVM."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax, logit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from marginwise._arrays import Array, Indices
from marginwise._runtime.interrupts import hold_interrupts
from marginwise._runtime.jit import telling_of_compilation
from marginwise.covariance import as_blocks
from marginwise.ensemble import Vote
from marginwise.errors import ConvergenceWarning, TableWarning
from marginwise.estimators._binary import BinaryModel
from marginwise.estimators._callbacks import CallbackSupportMixin, fit_task, with_callbacks
from marginwise.estimators._classes import ClassificationTable, check_table, set_aside
from marginwise.estimators._dask import check_dask_table, dask_cells, dask_encoding, encoded, is_dask
from marginwise.estimators._encoding import (
    Encoding,
    agreed,
    averaged,
    averaged_log_odds,
    averaged_log_proba,
    averaged_moments,
)
from marginwise.estimators._fitting import Recipe, Rows, fit_model, model_at
from marginwise.estimators._many import OneAgainstRest
from marginwise.estimators._parameters import BEST, VOTE, as_template, check_parameters, chosen_criterion
from marginwise.estimators._scale import Scale, check_scale, chosen_rank, chosen_subset
from marginwise.estimators._stored import StoredEstimator, as_before_unless_done
from marginwise.estimators._tables import TableMixin
from marginwise.kernels import Kernel
from marginwise.priors import Prior
from marginwise.problem import ClassProblem, Problem
from marginwise.search import Limits, Record, Run, Trace, as_search
from marginwise.search.fit_progress import whole_fit
from marginwise.tuning import SearchSettings

#: Rows predicted at a time: their kernel values with the points of a model take at most this many numbers.
_BLOCK_NUMBERS = 2**22


class TunedSVC(CallbackSupportMixin, TableMixin, ClassifierMixin, StoredEstimator):  # type: ignore[misc]
    """Support vector classifier that tunes its own hyperparameters and gives calibrated probabilities.

    The slack penalty, the kernel's amplitude and offset and the length scales are found by gradient ascent on a
    criterion: no grid. Unless told otherwise, the model averages over how different the length scales of the inputs
    may be, with weights from examples that were left out. More than two classes share one kernel and
    one search.

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
    criterion : str or Criterion, default="auto"
        What is optimised; see ``marginwise.criterion_names()``. "auto" is "ep-loo" for two classes and "ls-loo" for
        more; other criteria are summed over the pairs of classes. Touch it to compare criteria.
    slack : {"linear", "quadratic"} or None, default=None
        Penalty for margins below 1; None takes the criterion's default, linear where it has both.
    prior : Prior or None, default=None
        Prior on the hyperparameters; None is ``Prior()``, made for standardised inputs.
    search : str or Search, default="auto"
        How the criterion is optimised, in every search inside; "auto" takes quasi-Newton where there is a gradient.
    restarts : int, default=0
        Further searches from random starts, for the first search (one length scale) only: the others go on from the
        best of them. Raise it if a warning says that the optimum is poor. Unless ``combine`` is "best", searches with
        free length scales are restarted, too.
    combine : {"best", "mean", "vote"}, default="best"
        What becomes of the ends of searches from random starts: the best predicts alone; or all that converged predict
        together, by the mean of their probabilities, or by the label that most of them give. Searches from random
        starts are then made with the freedom that is given, or with "auto" with the one of the largest weight, whose
        weight their ends share. Votes are no calibrated probabilities: ``predict_proba`` is the share of the
        votes (and one part in a million of the mean, which decides between equal ones).
    predictor : {"posterior", "svm"}, default="posterior"
        Predict with the average over the posterior, or with the classical SVM on its support vectors: for more than two
        classes one for each pair, trained on the rows that the model holds.
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
        exact kernel; "auto" is None up to 1500 rows, and beyond as many as leave little of the kernel open, at most
        1024 and as many as take 2 GiB.
    subset : "auto", int or None, default="auto"
        Random rows to tune on; the model is trained on all rows. "auto" is 5000, None is all.
    validation_fraction : float or None, default=None
        Part of the rows on which the error is watched to stop searches early, but for the short ones on folds; the
        model itself is trained on all rows.
        Worth a try with criteria that over-fit when many length scales are free.
    progress : bool or None, default=False
        Whether to show on standard error how far the fit is and how long it will take: a bar on terminals (if rich is
        installed), elsewhere lines of text, as in notebooks. None shows it on terminals only.
    n_jobs : int or None, default=None
        Processes for folds and restarts; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the folds and random starts.
    categorical_features : "from_dtype", None, or sequence of bool, int or str, default="from_dtype"
        Columns that are categories: "from_dtype" takes those that hold words or are of a category type, None none of
        them; or a mask, places or names.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    hyperparameters_ : Hyperparameters
        Of the component with the largest weight, or of those with the whole kernel where the paper's stands beside;
        ``C_``, ``k0_``, ``koff_``, ``length_scales_`` are its parts, for inputs as the model sees them (standardised).
        For another kernel than "rbf" a ``Model``, of which ``C_`` and ``kernel_`` are the parts (``k0_`` and ``koff_``
        are there for "auto", too, 0 for a term that was dropped). All classes share them.
    feature_importances_ : array of shape (n_features,)
        How much the latent function varies with each input (its mean squared slope, in units of the input's spread),
        averaged over components and classes, with sum 1.
    term_shares_ : dict
        How much of the latent function is "straight", "smooth" and "stepwise", each from 0 to 1, with sum 1: the
        variances of its linear, RBF and Laplacian parts over the training rows, divided by their sum and averaged over
        the components that have all of them.
    criterion_value_, log_evidence_ : float
        The criterion, and ln Q(Y|X) by expectation propagation, of that component; NaN for more than two classes.
    loo_log_loss_, loo_error_ : float
        Estimates of log-loss and error on new data: from the folds where there were some, otherwise from the
        leave-one-out distributions, which are optimistic if ``freedom`` is large.
    trace_ : Trace
        The search that found ``hyperparameters_``.
    restarts_ : tuple of Run
        All searches of the main tuning.
    models_ : list of one BinaryModel or ClassModel
        The model behind it: its members, their weights, what was held out.

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
        criterion: Any = "auto",
        slack: str | None = None,
        prior: Prior | None = None,
        search: Any = "auto",
        restarts: int = 0,
        combine: str = "best",
        predictor: str = "posterior",
        standardize: bool = True,
        class_weight: Any = None,
        max_evaluations: int | None = 100,
        rank: str | int | None = "auto",
        subset: str | int | None = "auto",
        validation_fraction: float | None = None,
        progress: bool | None = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.freedom = freedom
        self.kernel = kernel
        self.criterion = criterion
        self.slack = slack
        self.prior = prior
        self.search = search
        self.restarts = restarts
        self.combine = combine
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
        self.categorical_features = categorical_features

    #: The importance of the classes; models saved before there was one have none.
    _importance: Array | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TunedSVC:
        """Tune and train on the table. A sample weight of 2 is the same as the row given twice, 0 as left out.

        Ctrl-C is a KeyboardInterrupt, and leaves the estimator as it was.
        """
        with as_before_unless_done(self), telling_of_compilation():
            self._fit(X, y, sample_weight)
        for message in sorted(self.models_[0].warnings):
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        for message in self._remarks():
            warnings.warn(message, TableWarning, stacklevel=2)
        return self

    def _remarks(self) -> list[str]:
        """Return what a user should know of the table: how it was taken, and whether anything was learnt from it."""
        remarks = list(self._schema.remarks)
        # Where classes were given weights, the commonest is no measure.
        if self.class_weight is None and self.loo_error_ >= self._commonest_error:
            remarks.append(
                f"the expected error, {100 * self.loo_error_:.1f} %, is no better than the "
                f"{100 * self._commonest_error:.1f} % of always predicting one class: the columns as they are do not "
                "help to predict y"
            )
        return remarks

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        check_parameters(self)
        check_scale(self.rank, self.subset)
        chosen_criterion(self.criterion, self.slack, 2)  # says what is wrong with it before the table is read
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        table, self._encoding, inputs = self._read(X, y, sample_weight)
        self.classes_ = table.classes
        self._importance = table.importance
        aside = set_aside(table.codes, self.validation_fraction, np.random.default_rng(seed))
        rows = Rows(_problem(inputs, table), None)
        size = chosen_subset(self.subset, len(table.codes))
        if size is not None or is_dask(inputs):
            drawn = table.drawn(len(table.codes) if size is None else size, ~aside, seed)
            rows = Rows(rows.all, _problem(self._encoding(drawn.X), drawn))
        criterion, slack = chosen_criterion(self.criterion, self.slack, len(self.classes_))
        prior = Prior() if self.prior is None else self.prior
        settings = SearchSettings(
            search=as_search(self.search),
            prior=prior,
            restarts=self.restarts,
            seed=seed,
            limits=Limits(self.max_evaluations, keep=False),
            progress=self.progress,
        )
        template = as_template(self.kernel, self._encoding.columns)
        start = prior.mean_of(template, inputs.shape[1])
        scale = Scale(chosen_rank(self.rank, inputs), seed)
        together = self.combine != BEST, Vote(table.importance) if self.combine == VOTE else None
        weights = table.weights_of_all
        recipe = Recipe(criterion, slack, self.freedom, start, settings, aside, weights, scale, *together)

        def at(record: Record) -> dict[str, Any] | None:
            """Return what a fit that ended here would have, for callbacks that score it."""
            return {"models_": [model_at(rows, recipe, record.hyperparameters)]}

        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        shown = whole_fit(self.progress, folds=self.freedom == "auto")
        with shown, fit_task(self, at, X=X, y=y, metadata=metadata) as callbacks:
            watched = replace(recipe, settings=replace(settings, callbacks=callbacks))
            # Callbacks belong to this process, and so do searches that call them.
            self.models_ = [fit_model(rows, watched, 1 if callbacks else self.n_jobs)]
            if self.predictor == "svm":
                self.models_[0].svm  # noqa: B018  # is trained here
            self._describe(table.codes, table.weights)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[ClassificationTable, Encoding, Any]:
        """Return the checked table, what makes inputs of its cells, and these."""
        if is_dask(X):
            table = check_dask_table(self, X, y, sample_weight, self.class_weight).merged_unsorted().counted()
            encoding = dask_encoding(table, self._schema, self.standardize)
            return table, encoding, encoded(table.X, encoding)
        table = check_table(self, X, y, sample_weight, self.class_weight).merged().counted()
        encoding = Encoding.learnt(table.X, table.weights_in_class, self._schema.n_categories, self.standardize)
        return table, encoding, encoding(table.X)

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = {"kernel": "rbf", "criterion": "ep-loo"} | state  # all that version 0.1 had
        if len(state.get("models_", ())) > 1:
            state["models_"] = [OneAgainstRest(tuple(state["models_"]))]
        if "_scaling" in state:  # all that tables had before words and gaps
            state["_encoding"] = Encoding.plain(state.pop("_scaling"))
        super().__setstate__(state)

    @property
    def _n_inputs(self) -> int:
        return len(self._encoding.shares)

    def _describe(self, codes: Indices, weights: Array) -> None:
        first = self.models_[0]
        self.hyperparameters_ = first.main.hyperparameters
        self.C_, self.kernel_ = self.hyperparameters_.C, self.hyperparameters_.kernel
        if isinstance(self.kernel, str):
            named = dict(zip(self.kernel_.names, self.kernel_.values.tolist(), strict=True))
            self.k0_, self.koff_ = named.get("k0", 0.0), named.get("koff", 0.0)
        inputs = self.models_[0].X.shape[1]
        self.length_scales_ = self.kernel_.lengths(inputs)[self._encoding.firsts]
        relevance = self._encoding.by_column(first.weights @ first.relevances)
        self.feature_importances_ = relevance / relevance.sum()
        self.term_shares_ = {shape: float(share) for shape, share in sorted(first.term_shares.items())}
        self.criterion_value_ = first.main.tuning.value
        self.log_evidence_ = first.main.log_evidence
        self._commonest_error = 1.0 - float(np.bincount(codes, weights).max() / weights.sum())
        probability = self._held_out()
        own = np.maximum(probability[np.arange(len(codes)), codes], np.finfo(float).tiny)
        self.loo_log_loss_ = float(weights @ -np.log(own) / weights.sum())
        wrong = probability.argmax(axis=1) != codes
        self.loo_error_ = min(1.0, float(weights @ wrong / weights.sum()))  # rounding may add up to more

    def _held_out(self) -> Array:
        """Return the probability of each class for the distinct training examples, from models without them."""
        held_out = np.maximum(self.models_[0].held_out, np.finfo(float).tiny)
        if len(self.classes_) > 2:
            return softmax(self._weighted(np.log(held_out)), axis=1)
        log_odds = self._weighted(logit(held_out))
        return expit(np.column_stack([-log_odds, log_odds]))

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
        return self._each(X, self._proba_of)

    def _proba_of(self, cells: Array) -> Array:
        if len(self.classes_) == 2:
            log_odds = self._rows(lambda model, rows: model.log_odds(rows, self.predictor), averaged_log_odds, cells)
            log_odds = log_odds if self.predictor == "svm" else self._weighted(log_odds)
            return expit(np.column_stack([-log_odds[:, 0], log_odds[:, 0]]))
        logs = self._rows(lambda model, rows: model.log_proba(rows, self.predictor), averaged_log_proba, cells)
        return softmax(logs if self.predictor == "svm" else self._weighted(logs), axis=1)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class, the first of equals.

        Where the latent means alone tell which it is, variances are not computed.
        """
        check_is_fitted(self)
        weighted = self._importance is not None and np.ptp(self._importance) > 0.0
        if is_dask(X) or weighted or self.predictor == "svm":
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        with hold_interrupts():
            cells = self._cells(X)
            codes = self._rows(lambda model, rows: model.best(rows), agreed, cells)[:, 0].astype(np.intp)
            left = np.flatnonzero(codes < 0)
            if len(left):
                codes[left] = self._proba_of(cells[left]).argmax(axis=1)
        return self.classes_[codes]

    def decision_function(self, X: Any) -> Array:
        """Return a number that is positive for the second of two classes, or one for each of more classes.

        The log-odds of the average over the posterior, or of the share of votes, or the latent function of the SVM; for
        more classes the logarithms of their probabilities, or the number of pairs that each class wins.
        """
        values = self._each(X, self._decisions)
        return values[:, 0] if len(self.classes_) == 2 else values

    def _decisions(self, cells: Array) -> Array:
        of_posterior = averaged_log_odds if len(self.classes_) == 2 else averaged_log_proba
        average = averaged if self.predictor == "svm" else of_posterior
        values = self._rows(lambda model, rows: model.decision(rows, self.predictor), average, cells)
        return values if self.predictor == "svm" else self._weighted(values)

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of the latent function, shape (n,) for two classes, (n, n_classes) for more."""

        def moments(model: Any, rows: Array) -> Array:
            mean, variance = model.latent(rows)
            return np.stack([mean, variance], axis=-1).reshape(len(mean), -1)

        values = self._each(X, partial(self._rows, moments, averaged_moments))
        mean, variance = values[:, 0::2], values[:, 1::2]
        return (mean[:, 0], variance[:, 0]) if len(self.classes_) == 2 else (mean, variance)

    def _each(self, X: Any, function: Callable[[Array], Array]) -> Array:
        """Return the values of a function of cells for the rows of a table, wherever they are."""
        check_is_fitted(self)
        with hold_interrupts():
            if is_dask(X):
                return as_blocks(dask_cells(self, X)).rows(function)
            return function(self._cells(X))

    def _rows(
        self,
        function: Callable[[Any, Array], Array],
        average: Callable[[Array, Indices], Array],
        cells: Array,
    ) -> Array:
        """Return the values of a function of the model, in blocks of rows that bound the memory.

        ``average`` is that over the copies of a row whose gaps were filled in several ways.
        """
        (model,) = self.models_
        step = max(1, _BLOCK_NUMBERS // model.n_points)
        blocks = []
        for start in range(0, len(cells), step):
            filled, owners = self._encoding.filled(cells[start : start + step])
            values = function(model, self._encoding(filled))
            values = values.reshape(len(values), -1)
            blocks.append(values if owners is None else average(values, owners))
        return np.vstack(blocks)

    def _weighted(self, logs: Array) -> Array:
        """Return the log-odds of two classes, or log-probabilities of more, with the importance that weights say.

        Probabilities p_k become proportional to c_k p_k (Elkan 2001): training never sees c, and the ratio is exact.
        Votes were given with c in mind.
        """
        if self._importance is None or np.ptp(self._importance) == 0.0 or self.models_[0].vote is not None:
            return logs
        log_c = np.log(self._importance / self._importance.max())
        if len(self.classes_) == 2:
            return logs + (log_c[1] - log_c[0])
        return log_softmax(logs + log_c, axis=1)


def _problem(inputs: Any, table: ClassificationTable) -> Problem:
    weights, examples = table.weights_in_class, table.examples
    if len(table.classes) == 2:
        return Problem(inputs, np.where(table.codes == 1, 1.0, -1.0), weights, examples=examples)
    codes = table.codes.astype(float)
    return ClassProblem(inputs, codes, weights, examples=examples, n_classes=len(table.classes))


__all__ = ["BinaryModel", "TunedSVC"]
