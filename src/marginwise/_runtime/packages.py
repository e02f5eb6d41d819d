"""Packages that only some functions need: where one is missing, the error says what to install."""

from __future__ import annotations

from importlib.util import find_spec

from marginwise.errors import MarginwiseError


def require(name: str, needed: str, install: str, otherwise: str = "") -> None:
    """Raise unless a package is installed.

    >>> require("numpy", "this needs", "numpy")
    >>> require("no_such_package", "Excel files need", "marginwise[excel]")
    Traceback (most recent call last):
    marginwise.errors.MarginwiseError: Excel files need no_such_package (pip install 'marginwise[excel]')
    """
    if find_spec(name) is None:
        raise MarginwiseError(f"{needed} {name} (pip install '{install}'){otherwise}")
