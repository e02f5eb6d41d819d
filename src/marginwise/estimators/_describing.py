"""What a fitted model says of itself: in words, in notebooks, and as a page.

Pages and pictures are above the estimators, and are imported when they are asked for.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from marginwise.reporting.summary import FitSummary


class DescribingMixin:
    """An estimator with a summary and a report."""

    def summary(self, *, positive_class: Any = None) -> FitSummary:
        """Return what was found, in words: print it, or let a notebook show it.

        The table, the error and log-loss expected on new data with their standard errors, how well the classes are
        told apart, the shape of the decision, which columns matter, and what to beware of.

        Parameters
        ----------
        positive_class : object, optional
            The class whose rows are to be found; by default the second of two.

        Returns
        -------
        FitSummary
            ``to_dict()`` has all of it as numbers and texts.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from marginwise import TunedSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> print(TunedSVC(ard=0, random_state=0).fit(X, y).summary().to_text().splitlines()[0])
        150 rows, 4 inputs; the class is 0 (50 rows), 1 (50 rows), 2 (50 rows)
        """
        from marginwise.reporting.summary import summary_of_model

        check_is_fitted(self)
        return summary_of_model(self, positive_class=positive_class)

    def report(
        self, path: str | os.PathLike[str], *, positive_class: Any = None, title: str = "", plots: str | None = None
    ) -> Path:
        """Write the report of ``marginwise fit`` as one HTML file, and return its path. It needs matplotlib.

        What the model found and how far to trust it: expected error, shape of the decision, columns that matter and
        what they do, reliability, mistakes, labels that may be wrong.

        Parameters
        ----------
        path : str or path-like
            The file.
        positive_class : object, optional
            The class whose rows are to be found; by default the second of two.
        title : str, optional
            What the page is called.
        plots : {"png", "svg", "pdf"}, optional
            Also write each picture as a file, into a folder next to the report.
        """
        from marginwise.reporting.fit_report import write_report

        check_is_fitted(self)
        return write_report(self, Path(path), positive_class=positive_class, title=title, plots=plots)

    def _repr_html_inner(self) -> str:
        return self._with_summary(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._with_summary(bundle["text/html"])
        return bundle

    def _with_summary(self, diagram: str) -> str:
        """Return scikit-learn's diagram, and below it the summary of a fitted model that can give one."""
        return diagram + self.summary()._repr_html_() if hasattr(self, "_codes") else diagram
