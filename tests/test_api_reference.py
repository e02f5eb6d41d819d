"""The reference is complete: every public name is in it, with its parameters and an example."""

from __future__ import annotations

import inspect
import pkgutil
import re
from enum import Enum
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import marginwise
from marginwise.criteria import criterion_class, criterion_names

PAGES = sorted((Path(__file__).parent.parent / "docs" / "reference").glob("*.md"))

#: What the library has for itself; the reference's first page says so.
INTERNAL = {
    "cli",
    "comparison",
    "covariance",
    "display",
    "estimators.tuned_svc",
    "fitting",
    "multiclass",
    "peers",
    "reporting",
    "shapley",
    "study.paper.claims",
    "study.paper.figures",
    "svm",
    "tables",
}


def listed() -> dict[str, Any]:
    """Return what the pages list, by full name: entries of autosummary, and values described by hand."""
    found: dict[str, Any] = {}
    for page in PAGES:
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.fullmatch(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            elif match := re.fullmatch(r"(?:   |\.\. data:: )([A-Za-z_][\w.]*)", line):
                name = f"{module}.{match[1]}"
                assert name not in found, f"{page.name} lists {name} again"
                if "." in match[1]:  # a class in a module of the package
                    module_name, _, attribute = name.rpartition(".")
                    found[name] = getattr(import_module(module_name), attribute)
                else:
                    found[name] = attrgetter(match[1])(import_module(module))
    return found


LISTED = listed()
DESCRIBED = {
    name: thing
    for name, thing in LISTED.items()
    if inspect.isfunction(thing) or (inspect.isclass(thing) and not issubclass(thing, Exception))
}
PUBLIC = [
    name
    for name in ("marginwise", *(info.name for info in pkgutil.walk_packages(marginwise.__path__, "marginwise.")))
    if "._" not in name
    and not any(f"{name}.".startswith(f"marginwise.{part}.") for part in INTERNAL)
    and hasattr(import_module(name), "__all__")
]


def sections(thing: Any) -> dict[str, str]:
    """Return the sections of a docstring by their titles."""
    text = inspect.getdoc(thing) or ""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_there_is_something_to_look_at() -> None:
    assert len(LISTED) > 100
    assert {"marginwise", "marginwise.kernels", "marginwise.search", "marginwise.study"} <= set(PUBLIC)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_listed(module: str) -> None:
    known = {id(thing) for thing in LISTED.values()}
    package = import_module(module)
    assert [name for name in package.__all__ if id(getattr(package, name)) not in known] == []


def test_every_criterion_is_listed() -> None:
    known = {id(thing) for thing in LISTED.values()}
    assert [name for name in criterion_names() if id(criterion_class(name)) not in known] == []


@pytest.mark.parametrize("name", DESCRIBED)
def test_parameters_are_described(name: str) -> None:
    thing = DESCRIBED[name]
    if inspect.isclass(thing) and (issubclass(thing, Enum) or getattr(thing, "_is_protocol", False)):
        return  # nobody makes one
    parts = sections(thing)
    told = parts.get("Parameters", "") + parts.get("Attributes", "")
    if inspect.isclass(thing):  # a class that adds fields to another
        told += "".join("".join(sections(base).values()) for base in thing.__mro__[1:-1])
    heads = re.findall(r"^(\S[^:\n]*)", told, re.MULTILINE)
    entries = {entry.strip(" *") for head in heads for entry in head.split(",")}
    assert set(inspect.signature(thing).parameters) - entries == set()


@pytest.mark.parametrize("name", DESCRIBED)
def test_there_is_an_example(name: str) -> None:
    assert ">>> " in sections(DESCRIBED[name]).get("Examples", "")


@pytest.mark.parametrize("name", [name for name in DESCRIBED if inspect.isclass(DESCRIBED[name])])
def test_public_methods_say_what_they_do(name: str) -> None:
    silent = [
        method
        for method, function in inspect.getmembers(DESCRIBED[name], inspect.isfunction)
        if not method.startswith("_") and function.__module__.startswith("marginwise") and not inspect.getdoc(function)
    ]
    assert silent == []


def test_what_is_internal_is_said() -> None:
    (first,) = (page for page in PAGES if page.name == "index.md")
    words = set(re.findall(r"`(?:marginwise\.)?([\w.]+)`", first.read_text(encoding="utf-8")))
    assert INTERNAL - words == set()
