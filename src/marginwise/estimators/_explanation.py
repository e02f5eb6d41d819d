"""What columns contribute to predictions, in the layout that shap has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from marginwise._arrays import Array
from marginwise._summary import summary
from marginwise.errors import Finding, InvalidInputError, MarginwiseError


@dataclass(frozen=True, eq=False)
class Explanation:
    """Shapley values of the latent function: what each column contributes to each row, in log-odds.

    For every row ``base_values + values.sum(axis=1)`` is the mean of the latent function there.

    Attributes
    ----------
    values : array of shape (n, d), or (n, d, n_classes) for more than two classes
        Shapley values: by how much a column's cell raises the latent function, on average over all orders in which
        cells of background rows could be replaced by the row's own. For two classes that of the second.
    base_values : array of shape (n,) or (n, n_classes)
        The mean of the latent function over the background rows. Where the model is local it is that of the row's own
        block, and so differs between rows.
    data : array of shape (n, d)
        The cells of the rows, as they were given.
    feature_names : list of str
        The names of the columns.
    classes : array of shape (n_classes,)
    interactions : array of shape (n, d, d) or (n, d, d, n_classes), or None
        Pair interactions, if they were asked for: half of each on either side of the diagonal, and on it what remains
        of the column alone, so that the sums over a row are ``values`` (the layout of ``shap_interaction_values``).

    Examples
    --------
    >>> import numpy as np
    >>> from marginwise.inspection import Explanation
    >>> one = Explanation(np.array([[1.2, -0.3]]), np.array([0.5]), np.array([[60.0, 1.7]]), ["age", "height"])
    >>> one.latent
    array([1.4])
    """

    values: Array
    base_values: Array
    data: npt.NDArray[Any]
    feature_names: Sequence[str]
    classes: npt.NDArray[Any] | None = None
    interactions: Array | None = None

    __repr__ = summary

    @property
    def latent(self) -> Array:
        """The latent function at the rows, shape (n,) or (n, n_classes): the sum of all."""
        return np.asarray(self.base_values + self.values.sum(axis=1))

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Explanation:
        """Return the explanation of some rows: a slice, a mask or numbers."""
        rows = np.atleast_1d(np.arange(len(self))[rows])
        pairs = None if self.interactions is None else self.interactions[rows]
        return replace(
            self, values=self.values[rows], base_values=self.base_values[rows], data=self.data[rows], interactions=pairs
        )

    def of_class(self, label: Any) -> Explanation:
        """Return the explanation of one class's latent function; of two classes the first has minus the second's."""
        classes = [] if self.classes is None else self.classes.tolist()
        if label not in classes:
            raise InvalidInputError("label", label, f"one of the classes {classes}")
        k = classes.index(label)
        if self.values.ndim == 2:
            sign = 1.0 if k == 1 else -1.0
            pairs = None if self.interactions is None else sign * self.interactions
            return replace(self, values=sign * self.values, base_values=sign * self.base_values, interactions=pairs)
        pairs = None if self.interactions is None else self.interactions[..., k]
        return replace(self, values=self.values[..., k], base_values=self.base_values[:, k], interactions=pairs)

    def one_function(self, label: Any = None) -> Explanation:
        """Return the explanation of one latent function: that of a class, or the only one."""
        if label is not None:
            return self.of_class(label)
        if self.values.ndim == 3:
            found = Finding(f"has a latent function for each of {self.values.shape[2]} classes")
            raise InvalidInputError("explanation", found, "the class to look at")
        return self

    def to_shap(self) -> Any:
        """Return the same as an ``Explanation`` of shap, which its plots take."""
        try:
            import shap
        except ImportError:
            raise MarginwiseError("shap is not installed (pip install shap)") from None
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=list(self.feature_names),
            output_names=None if self.values.ndim == 2 or self.classes is None else [str(one) for one in self.classes],
        )
