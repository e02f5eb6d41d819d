"""Names, objects, and the one function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from marginwise.criteria import (
    Criterion,
    Evaluation,
    as_criterion,
    criterion_class,
    criterion_names,
    evaluate,
    register,
)
from marginwise.criteria.base import _DECLARED
from marginwise.criteria.gacv import GACV
from marginwise.errors import InvalidInputError
from marginwise.hyperparameters import Hyperparameters, paper_start
from marginwise.problem import Problem
from zoo import blobs

NAMES = {
    "sv-fraction",
    "radius-margin",
    "jaakkola-haussler",
    "loo",
    "span",
    "gacv",
    "laplace-evidence",
    "kwok-evidence",
    "cross-validation",
}


def test_all_are_there() -> None:
    assert set(criterion_names()) >= NAMES
    assert list(criterion_names()) == sorted(criterion_names())


def test_names_and_objects() -> None:
    criterion = as_criterion("laplace-evidence", "quadratic")
    assert criterion.likelihood.name == "quadratic"
    assert as_criterion(criterion) is criterion
    assert as_criterion(criterion, "quadratic") is criterion
    assert as_criterion("span").likelihood.name == "quadratic"  # the only one, so the default
    assert criterion_class("gacv") is GACV


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match=r"criterion is 'gcv'; expected one of .*'gacv'"):
        as_criterion("gcv")


def test_a_slack_that_contradicts_the_object() -> None:
    with pytest.raises(InvalidInputError, match="slack is 'quadratic'"):
        as_criterion(GACV(), "quadratic")


def test_evaluate_passes_weights_and_state() -> None:
    problem = blobs(20, 2)
    weights = [1.0, 2.0] * 10
    h = paper_start(2)
    first = evaluate("gacv", problem.X, problem.y, h, sample_weight=weights)
    expected = GACV().evaluate(Problem(problem.X, problem.y, first.state.alpha * 0 + weights), h)
    assert first.value == pytest.approx(expected.value, rel=1e-12)
    again = evaluate(GACV(), problem.X, problem.y, h, sample_weight=weights, state=first.state)
    assert again.value == pytest.approx(first.value, rel=1e-12)
    with pytest.raises(InvalidInputError, match="state"):
        evaluate("gacv", problem.X[:5], problem.y[:5], h, state=first.state)


def test_a_name_can_be_taken_once() -> None:
    class Impostor(Criterion):
        name = "gacv"
        direction = "minimise"
        smooth = False
        equation = "none"

        def evaluate(
            self, problem: Problem, hyperparameters: Hyperparameters, state: Any = None, **_: Any
        ) -> Evaluation:
            return Evaluation(0.0, None)

    with pytest.raises(InvalidInputError, match="GACV"):
        register(Impostor)
    assert register(GACV) is GACV  # the same again is no harm


def test_a_criterion_that_does_not_say_all_it_must_is_refused() -> None:
    class Terse(Criterion):
        name = "terse"
        direction = "maximize"
        slacks = ("cubic",)

        def evaluate(self, *_: Any, **__: Any) -> Evaluation:
            return Evaluation(0.0, None)

    wrong = [
        "direction = 'maximise' or 'minimise'",
        "slacks = a tuple with one or more of 'linear', 'quadratic'",
        "smooth = True or False",
        "equation = what it implements, a string",
    ]
    with pytest.raises(InvalidInputError) as refused:
        register(Terse)
    assert all(line in str(refused.value) for line in wrong)
    assert "name =" not in str(refused.value)
    assert "terse" not in criterion_names()
    Terse.slacks = ("linear",)
    with pytest.raises(InvalidInputError, match="smooth"):
        as_criterion(Terse())


def test_a_criterion_without_its_method_is_refused() -> None:
    class Silent(Criterion):
        name, direction, smooth, equation = "silent", "minimise", False, "none"

    with pytest.raises(InvalidInputError, match=r"Silent.*; expected a class with a method evaluate"):
        register(Silent)
    with pytest.raises(InvalidInputError, match="a subclass of Criterion"):
        register(int)  # type: ignore[arg-type]


def test_every_attribute_of_the_contract_is_looked_at() -> None:
    assert _DECLARED.keys() == {name for name, kind in Criterion.__annotations__.items() if "ClassVar" in str(kind)}
    page = (Path(__file__).parents[2] / "docs" / "adding-a-criterion.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in _DECLARED)
