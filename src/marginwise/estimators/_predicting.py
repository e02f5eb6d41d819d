"""What a fitted TunedSVC says of rows: labels, probabilities, sets, latent functions, doubt and novelty."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from marginwise._arrays import Array, Indices, Mask
from marginwise._runtime.interrupts import hold_interrupts
from marginwise.covariance import as_blocks
from marginwise.errors import InvalidInputError
from marginwise.estimators._dask import dask_cells, is_dask
from marginwise.estimators._encoding import Encoding, agreed, averaged, averaged_log_proba, averaged_moments
from marginwise.estimators._explaining import explanation
from marginwise.estimators._explanation import Explanation
from marginwise.estimators._sets import Conformity, label_sets
from marginwise.estimators._tables import TableMixin
from marginwise.fitting.doubt import Doubt
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.novelty import Novelty

#: Rows predicted at a time: kernel values with the points of a model, or features, take at most this many numbers.
_BLOCK_NUMBERS = 2**22


class PredictingMixin(TableMixin):
    """A TunedSVC that was fitted: an ensemble, what makes inputs of cells, and how much each class counts."""

    predictor: str
    classes_: npt.NDArray[Any]
    ensemble_: Ensemble
    _encoding: Encoding
    _importance: Array
    _conformity: tuple[Conformity, ...]

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, columns in the order of ``classes_``."""
        return softmax(self._each(X, self._log_proba), axis=1)

    def _log_proba(self, cells: Array) -> Array:
        """Return the logarithms of the class probabilities: from them small ones keep their digits."""
        if self.predictor == "svm":
            return self._rows(Ensemble.svm_log_proba, averaged_log_proba, cells)
        return self._weighted(self._rows(lambda model, rows: model.log_proba(rows), averaged_log_proba, cells))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class, the first of equals.

        Where the latent means alone tell which it is, variances are not computed.
        """
        check_is_fitted(self)
        if is_dask(X) or np.ptp(self._importance) > 0.0 or self.predictor == "svm":
            return self.classes_[self._each(X, self._log_proba).argmax(axis=1)]
        with hold_interrupts():
            cells = self._cells(X)
            codes = self._rows(lambda model, rows: model.best(rows).astype(float), agreed, cells)[:, 0].astype(np.intp)
            left = np.flatnonzero(codes < 0)
            if len(left):
                codes[left] = self._log_proba(cells[left]).argmax(axis=1)
        return self.classes_[codes]

    def predict_set(self, X: Any, coverage: float = 0.9) -> Mask:
        """Return for each row a set of labels that contains the true one with about the given probability.

        Shape (n, n_classes), True for the labels in the set: ``classes_[sets[i]]`` is the set of row i. It has the most
        probable class and all others that are at least as probable as all but ``1 - coverage`` of the training labels
        were to models without their rows. No set is empty; where errors are rarer than ``1 - coverage`` nearly all
        have one label, and cover more.

        Coverage is an average over rows like those of the training table, weighted as in ``fit``, not for each row or
        each class. It is calibrated by the folds of the fit, no rows are set aside, and so no theorem guarantees it:
        the guide on inspection has what was measured.
        """
        return label_sets(self.predict_proba(X), self._conformity, coverage)

    def decision_function(self, X: Any) -> Array:
        """Return a number that is positive for the second of two classes, or one for each of more classes.

        The log-odds of the average over the posterior, or of the share of votes, or the latent function of the SVM; for
        more classes the logarithms of their probabilities, or the number of pairs that each class wins.
        """
        values = self._each(X, self._decisions)
        return values[:, 0] if values.shape[1] == 1 else values

    def _decisions(self, cells: Array) -> Array:
        if self.predictor == "svm":
            return self._rows(Ensemble.svm_decision, averaged, cells)
        logs = self._log_proba(cells)
        return logs[:, 1:] - logs[:, :1] if logs.shape[1] == 2 else logs

    def latent_mean_and_variance(self, X: Any) -> tuple[Array, Array]:
        """Return mean and variance of the latent function, shape (n,) for two classes, (n, n_classes) for more.

        In units of log-odds: the slope of the log-odds in it is 1 where both are 0.
        """

        def moments(model: Ensemble, rows: Array) -> Array:
            mean, variance = model.latent(rows)
            return np.stack([mean, variance], axis=-1).reshape(len(mean), -1)

        values = self._each(X, partial(self._rows, moments, averaged_moments))
        mean, variance = values[:, 0::2], values[:, 1::2]
        return (mean[:, 0], variance[:, 0]) if mean.shape[1] == 1 else (mean, variance)

    def explain(self, X: Any, background: Any = None, *, interactions: bool = False) -> Explanation:
        """Return what each column contributes to the latent function at each row: exact Shapley values, in log-odds.

        See :func:`marginwise.inspection.explain`.
        """
        check_is_fitted(self)
        return explanation(self, X, background, interactions)

    def doubt(self, X: Any) -> Doubt:
        """Return how much of the doubt about each row's label is noise of the labels, and how much is ignorance.

        Entropies in bits, shape (n,) each: ``total`` is the sum of ``noise``, which no rows could remove, and
        ``ignorance``, which more rows like this one would. They are those of the latent functions' posterior, before
        recalibration of many rows and class weights.
        """

        def parts(model: Ensemble, rows: Array) -> Array:
            return np.column_stack(model.doubt(rows))

        return Doubt(*self._each(X, partial(self._rows, parts, averaged)).T)

    def novelty(self, X: Any, share: float = 0.01) -> Novelty:
        """Return how far each row is from what the model has seen: the share of prior variance that is left there.

        From 0, among many training rows, to 1, where there are none, in the columns that matter to the model. The
        threshold is what ``share`` of the training rows are above, each seen by the others alone.
        """
        if not 0.0 < share < 1.0:
            raise InvalidInputError("share", share, "a number between 0 and 1")

        def left(model: Ensemble, rows: Array) -> Array:
            return model.description.surroundings.share(model.main.inputs(rows))

        values = self._each(X, partial(self._rows, left, averaged))
        return Novelty(values[:, 0], self.ensemble_.description.surroundings.threshold(share))

    def _each(self, X: Any, function: Callable[[Array], Array]) -> Array:
        """Return the values of a function of cells for the rows of a table, wherever they are."""
        check_is_fitted(self)
        with hold_interrupts():
            if is_dask(X):
                return as_blocks(dask_cells(self, X)).rows(function)
            return function(self._cells(X))

    def _rows(
        self,
        function: Callable[[Ensemble, Array], Array],
        average: Callable[[Array, Indices], Array],
        cells: Array,
    ) -> Array:
        """Return the values of a function of the model, in blocks of rows that bound the memory.

        ``average`` is that over the copies of a row whose gaps were filled in several ways.
        """
        model = self.ensemble_
        step = max(1, _BLOCK_NUMBERS // model.basis_size)
        blocks = []
        for start in range(0, len(cells), step):
            filled, owners = self._encoding.filled(cells[start : start + step])
            values = function(model, self._encoding(filled))
            values = values.reshape(len(values), -1)
            blocks.append(values if owners is None else average(values, owners))
        return np.vstack(blocks)

    def _weighted(self, logs: Array) -> Array:
        """Return log-probabilities with the importance that weights give to the classes.

        Probabilities p_k become proportional to c_k p_k (Elkan 2001): training never sees c, and the ratio is exact.
        Votes were given with c in mind.
        """
        if np.ptp(self._importance) == 0.0 or self.ensemble_.vote is not None:
            return logs
        return log_softmax(logs + np.log(self._importance / self._importance.max()), axis=1)
