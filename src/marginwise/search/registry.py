"""The searches by name, and which of them suits a criterion."""

from __future__ import annotations

from typing import Any

from marginwise.errors import InvalidInputError, choose
from marginwise.search.base import Point, Search, lacks
from marginwise.search.gradient_ascent import GradientAscent
from marginwise.search.nelder_mead import NelderMead
from marginwise.search.quasi_newton import QuasiNewton
from marginwise.search.random_walk import RandomWalk

#: In the order of preference; the first two follow gradients.
SEARCHES: dict[str, type[Search[Any]]] = {
    search.name: search for search in (QuasiNewton, GradientAscent, NelderMead, RandomWalk)
}


def as_search(search: Search[Any] | str) -> Search[Any] | None:
    """Return the search of this name with its default settings, the search itself, or None for "auto".

    Parameters
    ----------
    search : Search or str
        The search, or its name: a key of ``SEARCHES``, or "auto".

    Returns
    -------
    Search or None

    Examples
    --------
    >>> list(SEARCHES)
    ['quasi-newton', 'gradient-ascent', 'nelder-mead', 'random-walk']
    >>> as_search("random-walk").first_step
    0.3
    """
    if isinstance(search, Search):
        return search
    name = choose("search", search, ["auto", *SEARCHES])
    return None if name == "auto" else SEARCHES[name]()


def choose_search(start: Point, *, smooth: bool) -> Search[Any]:
    """Return the search that makes the most of what the criterion gives: value and gradient, or one of them.

    Gradients of a criterion that is not smooth mislead more than they tell, so they are left alone if it has
    values.
    """
    for search in SEARCHES.values():
        follows = search.needs_gradient
        if not lacks(search, start) and (smooth or not follows or lacks(NelderMead, start)):
            return search()
    raise AssertionError("a point that has neither value nor gradient is a failure")


def require_suitable(search: Search[Any], start: Point) -> None:
    """Raise if the criterion does not give what the search needs, naming the searches that would do."""
    lacking = lacks(type(search), start)
    if lacking:
        suitable = " or ".join(repr(name) for name, other in SEARCHES.items() if not lacks(other, start))
        raise InvalidInputError("search", search.name, f"{suitable} for a criterion that gives no {lacking}")
