"""TunedSVC: one fit, a tuned and calibrated SVM."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from marginwise._arrays import Array, Indices
from marginwise._runtime.jit import telling_of_compilation
from marginwise._runtime.threads import threads_for
from marginwise.errors import (
    ConvergenceWarning,
    GroupWarning,
    InvalidInputError,
    NothingLearntWarning,
    TableWarning,
)
from marginwise.estimators._alike import ALIKE, alike_in_runs
from marginwise.estimators._callbacks import CallbackSupportMixin, fit_task, with_callbacks
from marginwise.estimators._classes import ClassificationTable, check_table, set_aside
from marginwise.estimators._dask import check_dask_table, dask_encoding, encoded, is_dask
from marginwise.estimators._describing import DescribingMixin
from marginwise.estimators._encoding import Encoding
from marginwise.estimators._fit_config import fit_config
from marginwise.estimators._groups import require_groups
from marginwise.estimators._ordered import OrderedMixin, class_order
from marginwise.estimators._parameters import (
    check_parameters,
    chosen_criterion,
    chosen_subset,
)
from marginwise.estimators._predicting import PredictingMixin
from marginwise.estimators._sets import conformities
from marginwise.estimators._stored import StoredEstimator, as_before_unless_done
from marginwise.estimators._tables import TableMixin
from marginwise.estimators._updating import UpdatingMixin
from marginwise.fitting.config import TrainingData
from marginwise.fitting.fit import ensemble_at, fit_ensemble
from marginwise.fitting.scores import expected_scores
from marginwise.kernels import Kernel
from marginwise.priors import Prior
from marginwise.problem import Problem, labelled_problem
from marginwise.search import Limits, Record, Trace, Tuning
from marginwise.search.progress import whole_fit


class TunedSVC(
    OrderedMixin,
    PredictingMixin,
    UpdatingMixin,
    DescribingMixin,
    CallbackSupportMixin,  # type: ignore[misc]
    TableMixin,
    ClassifierMixin,  # type: ignore[misc]
    StoredEstimator,
):
    """Support vector classifier that tunes its own hyperparameters and gives calibrated probabilities.

    The kernel's amplitudes and length scales are found by gradient ascent on a criterion: no grid. A few candidate
    models, which differ in how much the length scales of the inputs may differ and in how labels follow from the latent
    function, are tuned, judged on common folds and averaged with the weights under which the rows left out were most
    probable. Two classes and more are treated alike.

    Parameters
    ----------
    ard : "auto" or float, default="auto"
        How far the length scales of the inputs may differ: the prior standard deviation of their log ratios (automatic
        relevance determination). "auto" tries 0 (one length scale for all inputs), 0.3 and 1 as long as predictions of
        held-out rows improve, and averages; with more inputs than half the rows it also tries models of a few screened
        columns. A number is used as given.
    kernel : "auto", "rbf", Kernel or callable, default="auto"
        The covariance of the latent function. "auto" is the sum of a constant, a linear, an RBF and a Laplacian term,
        for straight lines, smooth curves and steps along the axes; with more than 600 rows, if the criterion gains by
        it, every column has a curve of its own as well. Terms that carry nothing are dropped. "rbf" is an RBF term and
        a constant, as in the paper. A kernel of ``marginwise.kernels``, or a sum of them, says what form to tune; its
        own values don't matter. A kernel of ``sklearn.gaussian_process.kernels`` is tuned around its own values and
        within its bounds, and of a function K(A, B) the amplitude is; a constant is added to both.
    criterion : str or Criterion, default="auto"
        What is optimised; see ``marginwise.criterion_names()``. "auto" is "ls-loo", or "ep-loo" for two classes with
        ``predictor="svm"``. Other criteria are summed over the pairs of more than two classes. Change it to compare
        criteria.
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
        What becomes of the optima that searches from random starts find: the best predicts alone; or all that converged
        predict together, by the mean of their probabilities, or by the label that most of them give. Searches from
        random starts are then made with the spread of length scales that is given, or that has the largest weight,
        which their optima share. Vote shares are not calibrated probabilities: ``predict_proba`` is the share of the
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
        Largest number of evaluations of the criterion in a search: the first, with one length scale, each restart, and,
        if ``ard`` is a number, those with different length scales. Searches that go on from these are shorter: at most
        8 evaluations on a fold and 8 on all rows. None means no limit for the long ones.
    max_seconds : float or None, default=None
        Seconds after which no candidate is begun and every search ends at its best so far; the members found by then
        are still judged and trained on all rows, however long that takes. The result then depends on the speed of the
        machine.
    rank : "auto", int or None, default="auto"
        How the kernel matrix is approximated. None keeps it exact, and so does "auto" up to 1500 rows. With more rows,
        "auto" keeps it exact within blocks of neighbouring rows and of low rank between them, or of low rank altogether
        if blocks would not fit into memory. A number is the number of inducing inputs of a low-rank matrix, at a cost
        of O(n rank²) time and O(n rank) memory.
    subset : "auto", int or None, default="auto"
        Number of random rows to tune on; the model is trained on all rows. "auto" is 6000, or 5000 where ``rank`` is
        given; None is all.
    validation_fraction : float or None, default=None
        Fraction of the rows on which the error is monitored to stop searches early, except the short ones on folds; the
        model itself is trained on all rows. Worth a try with criteria that over-fit when many length scales are free.
    progress : bool or None, default=False
        Whether to show on standard error how far the fit is and how long it will take: a bar on terminals (if rich is
        installed), elsewhere lines of text, as in notebooks. None shows it on terminals only.
    n_jobs : int or None, default=None
        Processes for folds and restarts; the result does not depend on it.
    random_state : int, RandomState or None, default=None
        Draws the folds and random starts.
    categorical_features : "from_dtype", None, or sequence of bool, int or str, default="from_dtype"
        Columns that are categories: "from_dtype" takes those that hold words or have a categorical type, None takes
        none; or a mask, positions or names.
    classes : {"auto", "ordered", "unordered"} or sequence of labels, default="auto"
        Whether the classes have an order, as grades have. A sequence gives the order, lowest first. "ordered" takes
        that of a pandas ordered categorical or a polars Enum, and otherwise that of the sorted labels. "auto" is
        "ordered" for such a categorical, and "unordered" for all other labels and with ``predictor="svm"``. With an
        order, models with thresholds on one latent function are tried in addition to the others. For two classes the
        order makes no difference.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels, sorted, whether or not they have an order.
    class_order_ : array of shape (n_classes,) or None
        The labels from the lowest to the highest, None if they have no order.
    hyperparameters_ : Hyperparameters
        Of the member with the largest weight among those with the whole kernel;
        ``C_``, ``k0_``, ``koff_``, ``length_scales_`` are its parts, for inputs as the model sees them (standardised).
        For another kernel than "rbf" a ``Model``, of which ``C_`` and ``kernel_`` are the parts (``k0_`` and ``koff_``
        are there for "auto", too, 0 for a term that was dropped). All classes share them.
    feature_importances_ : array of shape (n_features,)
        How much the latent function varies with each input (its mean squared slope, in units of the input's spread),
        averaged over members and classes, with sum 1.
    term_shares_ : dict
        How much of the latent function is "straight", "smooth" and "stepwise", each from 0 to 1, with sum 1: the
        variances of its linear, RBF and Laplacian parts over the training rows, divided by their sum and averaged over
        the members that have all of them.
    criterion_value_, log_evidence_ : float
        The criterion, and ln Q(Y|X) by expectation propagation, of that member; the latter is NaN unless it has the
        slack likelihood: with ``predictor="svm"`` or a criterion of the SVM.
    expected_log_loss_, expected_error_ : float
        Estimates of log-loss and error on new data, from rows that folds left out. With more rows than are tuned on,
        from the leave-one-out distributions of all rows; NaN where neither is honest.
    expected_error_se_, expected_log_loss_se_ : float
        Standard errors of these estimates: rows are few, and folds vary together (Nadeau & Bengio 2003).
    held_out_proba_ : array of shape (n, n_classes)
        Class probabilities of the rows that ``fit`` was given, and then ``update``, in their order, from models without
        them.
        ``marginwise.inspection`` says what they tell.
    row_groups_ : array of int, shape (n,)
        Which of these rows are copies of each other, and were left out together.
    n_groups_ : int or None
        The number of groups in the model, whose rows were left out together; None without ``groups``.
    updates_ : Updates or None
        What ``update`` has done since the model was tuned: how many rows were added and forgotten, how well they were
        predicted beforehand, and whether tuning again would pay. None if there was no update.
    trace_ : Trace
        The search that found ``hyperparameters_``.
    restarts_ : tuple of Tuning
        Where there were ``restarts``: the searches from all starts, with one length scale unless ``combine`` is another
        than "best". Otherwise the one of ``trace_``.
    ensemble_ : Ensemble
        The model behind it: its members, their weights, what was held out.

    Examples
    --------
    >>> from marginwise import TunedSVC, load_benchmark
    >>> data = load_benchmark("crabs")
    >>> model = TunedSVC(ard=0).fit(data.X_train, data.y_train)
    >>> bool(model.score(data.X_test, data.y_test) > 0.9)
    True
    """

    _groups: Indices | None
    n_groups_: int | None

    def __init__(
        self,
        ard: str | float = "auto",
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
        max_seconds: float | None = None,
        rank: str | int | None = "auto",
        subset: str | int | None = "auto",
        validation_fraction: float | None = None,
        progress: bool | None = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        categorical_features: Any = "from_dtype",
        classes: Any = "auto",
    ) -> None:
        self.ard = ard
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
        self.max_seconds = max_seconds
        self.rank = rank
        self.subset = subset
        self.validation_fraction = validation_fraction
        self.progress = progress
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.categorical_features = categorical_features
        self.classes = classes

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> TunedSVC:
        """Tune and train on a table.

        Parameters
        ----------
        X : table of shape (n, n_features)
            Inputs: an array, a data frame of pandas or polars, a sparse matrix, or a Dask collection.
        y : array of shape (n,)
            Labels: words, numbers or booleans.
        sample_weight : array of shape (n,), optional
            A weight of 2 is the same as the row given twice, 0 as the row left out.
        groups : array of shape (n,), optional
            Which rows belong together, such as the visits of a patient: a hashable label for each row. Whole groups
            are then left out, in the criterion, in folds and in the expected error and log-loss, which are those on
            new groups.

        Returns
        -------
        TunedSVC
            Itself. Ctrl-C raises a KeyboardInterrupt and leaves the estimator as it was.
        """
        with as_before_unless_done(self), telling_of_compilation():
            self._fit(X, y, sample_weight, groups)
        for message in sorted(self.ensemble_.warnings):
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self._warn()
        return self

    def _warn(self) -> None:
        """Warn of what a user should know of the table: how it was taken, and whether anything was learnt from it."""
        for message in self._schema.remarks:
            warnings.warn(message, TableWarning, stacklevel=3)
        for message in self._group_remarks:
            warnings.warn(message, GroupWarning, stacklevel=3)
        if self._learnt_nothing_message:
            warnings.warn(self._learnt_nothing_message, NothingLearntWarning, stacklevel=3)

    @property
    def _learnt_nothing_message(self) -> str:
        """What to say if nothing was learnt from the table, otherwise nothing."""
        # Where classes were given weights, their shares are no measure; and shares of votes are not probabilities.
        if self.class_weight is not None or self.ensemble_.vote is not None or not self._learnt_nothing:
            return ""
        return (
            "the columns as they are do not help to tell the classes apart: on rows that were left out the "
            f"log-loss, {self.expected_log_loss_:.3f}, is not clearly below the {self._base_log_loss:.3f} "
            "of always predicting the shares of the classes"
        )

    @property
    def _remarks(self) -> list[str]:
        """All that a fit warns of."""
        updates = () if self.updates_ is None else self.updates_.remarks
        remarks = [*sorted(self.ensemble_.warnings), *self._schema.remarks, *self._group_remarks, *updates]
        return [*remarks, *filter(None, [self._learnt_nothing_message])]

    @with_callbacks
    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        check_parameters(self)
        deadline = None if self.max_seconds is None else time.monotonic() + self.max_seconds
        self.__dict__.pop("compaction_", None)  # of what was fitted before
        chosen_criterion(self.criterion, self.slack)  # says what is wrong with it before the table is read
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        table, self._encoding, inputs = self._read(X, y, sample_weight, groups)
        self.classes_ = table.classes
        order = class_order(self.classes, y, table.classes, self.predictor)
        self.class_order_ = None if order is None else table.classes[list(order)]
        self._group_remarks, self.n_groups_ = self._check_groups(table, inputs, told=groups is not None)
        self._importance, self._places = table.importance, table.places
        self._codes = table.codes.astype(np.min_scalar_type(len(table.classes)))
        self._groups = table.groups
        aside = set_aside(table.codes, self.validation_fraction, np.random.default_rng(seed), table.groups)
        data = TrainingData(_problem(inputs, table), None)
        size = chosen_subset(self.subset, self.rank, len(table.codes))
        if size is not None or is_dask(inputs):
            drawn = table.drawn(len(table.codes) if size is None else size, ~aside, seed)
            data = TrainingData(data.all, _problem(self._encoding(drawn.X), drawn))
        limits = Limits(self.max_evaluations, deadline=deadline, keep=False)
        config = fit_config(self, table, inputs, aside, seed, limits, order)

        def at(record: Record) -> dict[str, Any] | None:
            """Return what a fit that ended here would have, for callbacks that score it."""
            return {"ensemble_": ensemble_at(data, config, record.hyperparameters)}

        given = {"sample_weight": sample_weight, "groups": groups}
        metadata = {name: value for name, value in given.items() if value is not None} or None
        few = threads_for(config.policy.order(data.all.n))
        with few, whole_fit(self.progress), fit_task(self, at, X=X, y=y, metadata=metadata) as callbacks:
            watched = replace(config, settings=replace(config.settings, callbacks=callbacks))
            # Callbacks belong to this process, and so do searches that call them.
            self.ensemble_ = fit_ensemble(data, watched, 1 if callbacks else self.n_jobs)
            if self.predictor == "svm":
                self.ensemble_.svm  # noqa: B018  # is trained here
            self._keep_rows(table, sample_weight, groups)
            self._describe(table)

    def _check_groups(
        self, table: ClassificationTable, inputs: Any, *, told: bool
    ) -> tuple[tuple[str, ...], int | None]:
        """Return remarks on the groups of a table, and their number, after a look at whether they can be left out."""
        if table.groups is None:
            if told or is_dask(inputs) or not alike_in_runs(inputs, table.codes, table.places[table.places >= 0]):
                return (), None
            return (ALIKE,), None
        criterion, _ = chosen_criterion(self.criterion, self.slack)
        if criterion is not None and criterion.leaves_rows:
            raise InvalidInputError(
                "criterion",
                criterion.name,
                '"auto" or another that leaves out groups ("ls-loo", "ep-loo", "cross-validation") or nothing at all '
                '("ep-evidence"): it leaves out one row at a time',
            )
        return require_groups(table.groups, table.codes, table.classes), len(np.unique(table.groups))

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[ClassificationTable, Encoding, Any]:
        """Return the checked table, what makes inputs of its cells, and these."""
        given = (self, X, y, sample_weight, self.class_weight, groups)
        if is_dask(X):
            table = check_dask_table(*given).merged_unsorted().counted()
            encoding = dask_encoding(table, self._schema, self.standardize)
            return table, encoding, encoded(table.X, encoding)
        table = check_table(*given).merged().counted()
        encoding = Encoding.learnt(table.X, table.weights_in_class, self._schema.n_categories, self.standardize)
        return table, encoding, encoding(table.X)

    @property
    def _n_inputs(self) -> int:
        return len(self._encoding.shares)

    def _describe(self, table: ClassificationTable) -> None:
        ensemble = self.ensemble_
        main = ensemble.main
        self.hyperparameters_ = main.hyperparameters
        self.C_, self.kernel_ = self.hyperparameters_.C, self.hyperparameters_.kernel
        if isinstance(self.kernel, str):
            named = dict(zip(self.kernel_.names, self.kernel_.values.tolist(), strict=True))
            self.k0_, self.koff_ = named.get("k0", 0.0), named.get("koff", 0.0)
        self.length_scales_ = main.length_scales(ensemble.X.shape[1])[self._encoding.firsts]
        self.__dict__.pop("feature_importances_", None)  # of other rows
        self.term_shares_ = {shape: float(share) for shape, share in sorted(ensemble.description.term_shares.items())}
        self.criterion_value_ = main.tuning.value
        self.log_evidence_ = main.log_evidence
        logs = self._held_out_log_proba()
        known = np.isfinite(logs[:, 0])
        rows = (logs[known], table.codes[known], table.weights[known], table.examples[known])
        wrong = ensemble.held_out_wrong
        groups = None if table.groups is None else table.groups[known]
        expected = expected_scores(*rows, None if wrong is None else wrong[known], groups)
        self.expected_error_, self.expected_log_loss_ = expected.error, expected.log_loss
        self.expected_error_se_, self.expected_log_loss_se_ = expected.error_se, expected.log_loss_se
        self._base_log_loss, self._learnt_nothing = expected.base_log_loss, expected.learnt_nothing
        # What posteriors say of rows without them is not what an SVM would.
        left_out = None if self.predictor == "svm" else self._weighted(ensemble.log_left_out)[known]
        self._conformity = conformities(logs[known], left_out, table.codes[known], table.weights[known])

    @cached_property
    def feature_importances_(self) -> Array:
        """How much the latent function varies with each input, found when it is asked for."""
        relevance = self._encoding.by_column(self.ensemble_.weights @ self.ensemble_.description.relevances)
        return np.asarray(relevance / relevance.sum())

    def _held_out_log_proba(self) -> Array:
        """Return log-probabilities of the classes for the distinct training rows, from models without them."""
        logs = np.log(np.maximum(self.ensemble_.held_out, np.finfo(float).tiny))
        return logs if self.predictor == "svm" else self._weighted(logs)

    @property
    def held_out_proba_(self) -> Array:
        """Class probabilities of the rows that ``fit`` was given, and then ``update``, from models without them.

        NaN for rows without one: those of weight 0, and those that were forgotten.
        """
        proba = np.vstack([softmax(self._held_out_log_proba(), axis=1), np.full((1, len(self.classes_)), np.nan)])
        return proba[self._places]

    @property
    def row_groups_(self) -> Indices:
        """A number for each of the same rows, equal for copies, and -1 for those of weight 0 and the forgotten ones."""
        return self._places

    @property
    def trace_(self) -> Trace:
        """The search that found ``hyperparameters_``."""
        return self.ensemble_.main.tuning.trace

    @property
    def restarts_(self) -> tuple[Tuning, ...]:
        """The searches from all starts."""
        return self.ensemble_.main.tuning.restarts


def _problem(inputs: Any, table: ClassificationTable) -> Problem:
    columns = (inputs, table.codes, table.weights_in_class, len(table.classes), table.examples, table.groups)
    return labelled_problem(*columns)
