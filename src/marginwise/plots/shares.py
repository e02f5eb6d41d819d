"""How much of a decision is straight, smooth and stepwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from marginwise.plots._axes import OneAxes, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class TermSharesDisplay(OneAxes):
    """A bar chart of the shares of straight, smooth and stepwise parts in the variance of the latent function.

    Parameters
    ----------
    shares : mapping of str to float
        Shares by the shape of the functions, each from 0 to 1, with sum 1.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure it was drawn on.

    Examples
    --------
    >>> from marginwise.plots import TermSharesDisplay
    >>> TermSharesDisplay({"straight": 0.8, "smooth": 0.2}).shares
    {'straight': 0.8, 'smooth': 0.2}
    """

    def __init__(self, shares: Mapping[str, float]) -> None:
        self.shares = dict(shares)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> TermSharesDisplay:
        """Draw the shares in a fitted TunedSVC."""
        check_is_fitted(estimator)
        return cls(estimator.term_shares_).plot(ax)

    def plot(self, ax: Axes | None = None) -> TermSharesDisplay:
        """Draw the shares, the largest on top."""
        ax = axes_for(ax)
        order = sorted(self.shares.items(), key=lambda item: -item[1])
        places = range(len(order))
        bars = ax.barh(places, [100.0 * share for _, share in order], height=0.6, color="C0", alpha=0.6)
        ax.bar_label(bars, [f"{100.0 * share:.0f} %" for _, share in order], padding=4)
        ax.set_yticks(places, [shape for shape, _ in order])
        ax.invert_yaxis()
        ax.set_xlim(0.0, 115.0)  # room for a label
        ax.set_xlabel("share of the decision (%)")
        ax.grid(axis="y", visible=False)
        return self._drawn_on(ax)
