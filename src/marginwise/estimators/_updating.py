"""Rows that come later, or go: an estimator that takes them without tuning again."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwise._arrays import Array, Indices
from marginwise._runtime.jit import telling_of_compilation
from marginwise.errors import ConvergenceWarning, DriftWarning, Finding, GroupWarning, InvalidInputError, TuningWarning
from marginwise.estimators._classes import ClassificationTable
from marginwise.estimators._dask import is_dask
from marginwise.estimators._encoding import averaged_log_proba
from marginwise.estimators._rows import GivenRows, group_keys, read_rows, row_numbers, stored_weights
from marginwise.estimators._stored import as_before_unless_done
from marginwise.estimators.monitoring import JudgedRows, Updates
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.updating import ChangedRows, updated
from marginwise.problem import labelled_problem

_Model = TypeVar("_Model", bound="UpdatingMixin")


class UpdatingMixin:
    """A TunedSVC whose rows may change."""

    ensemble_: Ensemble
    updates_: Updates | None
    _given_weights: Array | None
    _given_groups: Indices | None
    _group_remarks: tuple[str, ...]
    _keeps_rows: bool

    def update(
        self: _Model,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        forget: Sequence[int] | Indices | None = None,
    ) -> _Model:
        """Add rows to those of the fitted model, or forget some, without tuning again.

        The model becomes what a fit with its hyperparameters on all rows would be: members and their weights, scales,
        standardisation and categories are kept. ``updates_`` has what was done, and a ``DriftWarning`` or a
        ``TuningWarning`` says when a new fit would pay. Earlier rows keep their held-out probabilities; new rows get
        those that the model predicted before training on them.

        Parameters
        ----------
        X, y : table, labels, optional
            New rows, with the columns, categories and classes of the table that ``fit`` was given.
        sample_weight : array of shape (n,), optional
            Their weights; 0 is left out.
        groups : array of shape (n,), optional
            Their groups, known or new, if ``fit`` was given groups.
        forget : sequence of int, optional
            Numbers of the rows to forget, counted from 0 in the order in which rows were given to ``fit`` and all
            updates. These numbers never change. Hyperparameters that were tuned on forgotten rows are kept.

        Returns
        -------
        TunedSVC
            Itself.
        """
        check_is_fitted(self)
        before = {*self.ensemble_.warnings, *self._group_remarks}
        with as_before_unless_done(self), telling_of_compilation():
            updates = self._update(X, y, sample_weight, groups, forget)
        for messages, new in ((self.ensemble_.warnings, ConvergenceWarning), (self._group_remarks, GroupWarning)):
            for message in messages:
                if message not in before:
                    warnings.warn(message, new, stacklevel=2)
        for message, kind in ((updates.drift, DriftWarning), (updates.growth, TuningWarning)):
            if message:
                warnings.warn(message, kind, stacklevel=2)
        return self

    def _keep_rows(self: Any, table: ClassificationTable, sample_weight: Any, groups: Any) -> None:
        """Keep of the rows that ``fit`` was given what its distinct rows do not tell, if the model holds these."""
        self.updates_ = None
        n, held = len(table.places), isinstance(table.X, np.ndarray) and len(self.ensemble_.X) == len(table.codes)
        self._keeps_rows = held
        self._given_weights = stored_weights(sample_weight, n) if held else None
        self._given_groups = group_keys(groups, n) if held and groups is not None else None

    def _update(self: Any, X: Any, y: Any, sample_weight: Any, groups: Any, forget: Any) -> Updates:
        """Take the rows, and return what has become of the model."""
        old, past = self._rows_given(), self._updates_so_far()
        gone = row_numbers(forget, len(old.codes))
        n_forgotten = int(np.count_nonzero(old.weights[gone]))
        new, cells = old.none(), None
        if not all(part is None for part in (X, y, sample_weight, groups)):
            if is_dask(X):
                raise InvalidInputError("X", Finding("is a Dask collection"), "rows in memory, as X.compute() has them")
            new, cells = read_rows(self, X, y, sample_weight, groups)
        given = old.forgetting(gone).followed_by(new)
        given.require_classes(self.classes_)
        table, inputs = given.table(self._encoding, self.classes_, self.class_weight)
        if given.groups is not None:
            self._group_remarks, self.n_groups_ = self._check_groups(table, inputs, told=True)
        rows = self._changed(old, new, table, inputs, cells)
        self.ensemble_ = updated(self.ensemble_, rows, svm=self.predictor == "svm")
        if self.predictor == "svm":
            self.ensemble_.svm  # noqa: B018  # is trained here
        self._importance, self._places, self._groups = table.importance, table.places, table.groups
        self._codes = table.codes.astype(np.min_scalar_type(len(table.classes)))
        self._given_weights, self._given_groups = stored_weights(given.weights, len(given.weights)), given.groups
        self._describe(table)
        losses = -self._held_out_log_proba()[table.places, table.codes[table.places]]
        judged = JudgedRows(
            losses, given.weights, table.places, table.examples[table.places], given.groups, len(old.codes)
        )
        self.updates_ = past.after(judged, n_forgotten)
        return self.updates_

    def _updates_so_far(self: Any) -> Updates:
        """Return what had become of the model before."""
        if self.updates_ is not None:
            return self.updates_
        n = int(np.count_nonzero(self._places >= 0))
        return Updates(n, self.expected_log_loss_, self.expected_log_loss_se_, len(self._places))

    def _rows_given(self: Any) -> GivenRows:
        """Return the rows that the model has, in the order in which they were given; an error if it does not."""
        ensemble = self.ensemble_
        if hasattr(self, "compaction_"):
            raise InvalidInputError(
                "model", Finding("is compact"), "the model it was made from: update that one, and make it compact again"
            )
        if not self._keeps_rows:
            n, held = len(ensemble.held_out), len(ensemble.X)
            found = f"holds {held:,} of its {n:,} rows" if held < n else "was fitted to a Dask collection"
            wanted = (
                "one that holds its rows: refit on all of them, in memory, "
                'with rank="auto" or, for any rank, subset=None'
            )
            raise InvalidInputError("model", Finding(found), wanted)
        there = self._places >= 0
        weights = np.ones(len(there)) if self._given_weights is None else self._given_weights
        return GivenRows(
            ensemble.X[self._places], ensemble.codes[self._places], np.where(there, weights, 0.0), self._given_groups
        )

    def _changed(
        self: Any, old: GivenRows, new: GivenRows, table: ClassificationTable, inputs: Array, cells: Array | None
    ) -> ChangedRows:
        """Return what the distinct rows were before, and what the model says of those that it has not seen."""
        n, n_classes = len(old.codes), len(self.classes_)
        before = np.full(len(table.codes), -1)
        stay = (table.places[:n] >= 0) & (self._places >= 0)
        before[table.places[:n][stay]] = self._places[stay]
        seen_first, known = np.full((len(before), n_classes), np.nan), np.zeros(len(before), dtype=bool)
        if cells is not None:
            taken = table.places[n:] >= 0
            svm = self.predictor == "svm"
            function = Ensemble.svm_log_proba if svm else Ensemble.log_proba_of_few
            seen_first[table.places[n:][taken]] = self._rows(function, averaged_log_proba, cells[taken])
            if old.groups is not None and new.groups is not None:
                known[table.places[n:][taken]] = np.isin(new.groups[taken], old.groups[self._places >= 0])
        columns = (inputs, table.codes, table.weights_in_class, n_classes, table.examples, table.groups)
        return ChangedRows(labelled_problem(*columns), before, seen_first, known, table.importance)
