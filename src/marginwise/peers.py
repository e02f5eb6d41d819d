"""Classifiers that TunedSVC is compared with: each as a careful user of scikit-learn would set it up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC

from marginwise._arrays import Array, Mask
from marginwise.errors import Finding, InvalidInputError

#: The grid that a careful user would take, for standardised inputs.
GRID = {"C": 2.0 ** np.arange(-3, 10, 2), "gamma": 2.0 ** np.arange(-11, 2, 2)}


class GridSVC(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """scikit-learn's SVC by grid search, and a calibrated copy of it for probabilities."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> GridSVC:
        """Search the grid by five folds, then calibrate by them; by fewer where a class has fewer rows."""
        folds = min(5, int(np.unique(y, return_counts=True)[1].min()))
        if folds < 2:
            raise InvalidInputError(
                "y", Finding("has a class with one row"), "at least two rows of each class, for cross-validation"
            )
        cv = folds if groups is None else list(StratifiedGroupKFold(folds).split(X, y, groups))
        self.search_ = GridSearchCV(SVC(), GRID, cv=cv).fit(X, y)
        self.calibrated_ = CalibratedClassifierCV(SVC(**self.search_.best_params_), cv=cv).fit(X, y)
        self.classes_ = self.search_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return the classes by the SVC itself."""
        return self.search_.predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of its calibrated copy."""
        return self.calibrated_.predict_proba(X)


def _grid_logistic(grouped: bool) -> GridSearchCV:
    """Return logistic regression with its penalty chosen by five folds."""
    cv = StratifiedGroupKFold(5) if grouped else 5
    return GridSearchCV(
        LogisticRegression(max_iter=2000), {"C": 10.0 ** np.arange(-4, 5)}, scoring="neg_log_loss", cv=cv
    )


#: Peers by name, as functions of the seed, of which columns hold words, and of whether rows belong to groups.
PEERS: dict[str, Callable[[int, Mask, bool], Any]] = {
    "grid-svc": lambda seed, words, grouped: make_pipeline(_numbers(words), GridSVC()),
    "logistic": lambda seed, words, grouped: make_pipeline(_numbers(words), _grid_logistic(grouped)),
    "forest": lambda seed, words, grouped: make_pipeline(
        _numbers(words), RandomForestClassifier(500, random_state=seed)
    ),
    "boosting": lambda seed, words, grouped: _boosting(words, seed),
}


def _numbers(words: Mask) -> Any:
    """Return what makes standardised numbers of a table: one-hot columns for words, a gap the mean and an indicator."""
    gaps_as_word = SimpleImputer(missing_values=None, strategy="constant", fill_value="")
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), np.flatnonzero(~words)),
        (make_pipeline(gaps_as_word, one_hot, StandardScaler()), np.flatnonzero(words)),
    )


def _boosting(words: Mask, seed: int) -> Any:
    """Return boosting with categories of its own, which must be codes; gaps are left to it."""
    coded = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan)
    columns = make_column_transformer(
        (coded, np.flatnonzero(words)), ("passthrough", np.flatnonzero(~words)), verbose_feature_names_out=False
    )
    first = np.arange(len(words)) < words.sum()
    return make_pipeline(
        columns,
        FunctionTransformer(np.asarray, kw_args={"dtype": float}),
        HistGradientBoostingClassifier(categorical_features=first, random_state=seed),
    )
