"""Criteria along the line between two sets of hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from marginwise.criteria import Criterion
from marginwise.errors import InvalidInputError
from marginwise.estimators._parameters import chosen_criterion
from marginwise.fitting.candidates import searched_criterion
from marginwise.plots._axes import OneAxes, axes_for
from marginwise.search import LineScan
from marginwise.search.line import scan

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LineDisplay(OneAxes):
    """One or several criteria along a line, with the barrier between its ends.

    Parameters
    ----------
    scan : LineScan
        What :func:`marginwise.scan_line` returns.

    Attributes
    ----------
    barriers : dict of float
        How much worse each criterion gets between the ends.
    ax_, figure_ : Axes, Figure
        The axes and the figure it was drawn on.

    Examples
    --------
    >>> from marginwise import Hyperparameters, scan_line
    >>> from marginwise.plots import LineDisplay
    >>> ends = Hyperparameters(C=1), Hyperparameters(C=10)
    >>> line = scan_line("gacv", [[0.0], [1.0], [2.0]], [-1, 1, 1], *ends, n_points=3)
    >>> list(LineDisplay(line).barriers)
    ['gacv']
    """

    def __init__(self, scan: LineScan) -> None:
        self.scan = scan
        self.barriers = {name: scan.barrier(name) for name in scan.values}

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        restarts: tuple[int, int] = (0, 1),
        *,
        criteria: Criterion | str | Sequence[Criterion | str] | None = None,
        n_points: int = 41,
        ax: Any = None,
    ) -> LineDisplay:
        """Draw criteria between the results of two searches of a fitted TunedSVC, by default its own criterion.

        A barrier between them means that they are different optima.
        """
        check_is_fitted(estimator)
        runs = estimator.restarts_
        if max(restarts) >= len(runs) or min(restarts) < 0:
            raise InvalidInputError(
                "restarts",
                restarts,
                f"two of 0 … {len(runs) - 1}, the searches that were run (raise TunedSVC's restarts)",
            )
        start, end = (runs[k].hyperparameters for k in restarts)
        chosen = estimator.criterion if criteria is None else criteria
        several = [chosen] if isinstance(chosen, (str, Criterion)) else list(chosen)
        ensemble = estimator.ensemble_
        problem = replace(ensemble.problem, X=ensemble.main.inputs(ensemble.X))
        objects = [
            searched_criterion(
                *chosen_criterion(one, None if isinstance(one, Criterion) else estimator.slack),
                problem.n_classes,
                svm=estimator.predictor == "svm",
            )
            for one in several
        ]
        return cls(scan(objects, problem, start, end, n_points)).plot(ax)

    def plot(self, ax: Axes | None = None) -> LineDisplay:
        """Draw each criterion relative to its better end, with its sign reversed if smaller is better."""
        ax = axes_for(ax)
        for name, values in self.scan.values.items():
            scores = self.scan.signs[name] * values
            better = np.nanmax(scores[[0, -1]]) if np.isfinite(scores[[0, -1]]).any() else 0.0
            label = f"{name}, barrier {self.barriers[name]:.2g}"
            ax.plot(self.scan.fractions, scores - better, marker=".", label=label)
        ax.set_xlabel("position between the two settings")
        ax.set_ylabel("score relative to the better end")
        ax.legend()
        return self._drawn_on(ax)
