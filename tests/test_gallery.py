"""Every example of the gallery runs as it stands, draws what it says, and says what is so."""

from __future__ import annotations

import ast
import re
import runpy
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from page_checks import check_page
from tiers import with_slow

DOCS = Path(__file__).parent.parent / "docs"
EXAMPLES = {path.stem.removeprefix("plot_"): path for path in sorted((DOCS / "gallery").glob("plot_*.py"))}

#: What the words of an example claim, as a function of its names.
CLAIMS: dict[str, Callable[[dict[str, Any]], Any]] = {
    # The formula's threshold is near the bottom of the valley, and better than one half.
    "probabilities_and_costs": lambda it: (
        it["cost"](it["y_test"], it["careful"].predict(it["X_test"]))
        < min(0.6, 0.8 * it["cost"](it["y_test"], it["model"].predict(it["X_test"])))
    ),
    # Two inputs have nearly all of the relevance, and noise costs the grid search more.
    "relevances": lambda it: (
        it["model"].feature_importances_[:2].sum() > 0.8
        and all(a < b for a, b in zip(*it["errors"].values(), strict=True))
    ),
    # Age is a reason, height is none; the stranger is told.
    "explaining_a_row": lambda it: (
        np.abs(it["why"].values[:, 3]).mean() < 0.5 * np.abs(it["why"].values[:, 0]).mean()
        and it["novelty"].strange.tolist() == [False, True]
    ),
    # Sets cover as promised, and photographs are told from forms, of which one in a hundred is strange.
    "sets_and_strangers": lambda it: (
        all(abs(found - level) < 0.03 for level, found in it["coverage"].items())
        and it["strange"].mean() > 0.95
        and it["known"].mean() < 0.03
    ),
    # A gap means little water; what was never seen is less certain.
    "categories_and_gaps": lambda it: (
        all(p < it["curves"][name].mean() for name, p in it["at_gap"].items())
        and np.ptp(it["curves"]["palm"]) < min(np.ptp(it["curves"][name]) for name in ("fern", "oak"))
    ),
    # Most mistakes are among the least sure.
    "many_classes": lambda it: it["wrong"][it["order"][: len(it["order"]) // 10]].sum() > 0.8 * it["wrong"].sum(),
    # Weights shift the odds: a lower threshold decides alike, and the mean probability is no longer the share.
    "weights_and_imbalance": lambda it: (
        np.mean(it["lowered"] == it["balanced"].predict(it["X_test"])) > 0.98
        and abs(it["p_plain"].mean() - np.mean(it["y_test"] == "ill")) < 0.02
        and it["p_balanced"].mean() > 0.2
    ),
    # More rows, a smaller error.
    "million_rows": lambda it: it["errors"][-1] < it["errors"][0],
    "dask": lambda it: it["difference"] < 1e-4,
    # One arrived, one was cut short, one ran to its bound.
    "reading_the_trace": lambda it: (
        it["good"].status.ok
        and it["short"].value < it["good"].value
        and it["runaway"].value > -1e-3
        and it["runaway"].hyperparameters.k0 > 1000 * it["good"].hyperparameters.k0
    ),
    # The log-loss tells criteria apart: one of them is well above the best.
    "comparing_criteria": lambda it: (
        max(found["log-loss"].mean() for found in it["scores"].values())
        > 1.5 * it["scores"][it["best"]]["log-loss"].mean()
    ),
    # Ends of Laplace's evidence differ, those of EP agree but for one that knows nothing.
    "local_optima": lambda it: (
        len({round(run.value, 2) for run in it["searches"]["laplace-evidence"].restarts}) > 2
        and {round(run.value, 2) for run in it["searches"]["ep-evidence"].restarts} == {-0.28, round(np.log(0.5), 2)}
    ),
    # EP lies on the dots, and Laplace's maximum is elsewhere, where the model is more flexible.
    "exact_evidence": lambda it: (
        np.abs(np.subtract(it["ep"], it["exact"])).max() < 0.5
        and np.argmax(it["ep"]) == np.argmax(it["exact"]) > np.argmax(it["laplace"])
    ),
    # The gradient is right, the search finds the maximum of the curve, and the error is lowest elsewhere.
    "own_criterion": lambda it: (
        it["gap"] < 1e-8
        and it["tuning"].value > max(it["alignments"]) - 1e-4
        and it["scales"][np.argmin(it["errors"])] > 3 * it["tuning"].hyperparameters.length_scales[0]
    ),
    "own_kernel": lambda it: (
        np.abs(it["gap"]).max() < 1e-6
        and abs(24 * it["found"]["periodic"].hyperparameters.kernel.terms[0].period - 23) < 0.3
    ),
    "own_study": lambda it: len(it["rows"]) == 18 and all(row.status == "done" for row in it["rows"]),
    # The least probable label is one of those that were mixed up.
    "reports": lambda it: it["is_mixed"][0] and it["is_mixed"].sum() >= 3,
}


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, full: bool):
    """Run an example in an empty folder, without a network; return its names and figures."""

    def refuse(*_: Any) -> None:
        raise AssertionError("an example must not use the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.chdir(tmp_path)
    if not full:
        monkeypatch.setenv("ROWS", "4000")
    mpl.use("Agg")
    plt.close("all")  # figures of other tests in this process

    def run(name: str) -> tuple[dict[str, Any], list[Any]]:
        with mpl.rc_context(), warnings.catch_warnings():
            names = runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
        return names, [plt.figure(number) for number in plt.get_fignums()]

    yield run
    plt.close("all")


#: Those that take longest; the others are enough to see that examples run.
SLOW = {"reports", "comparing_criteria", "million_rows", "relevances", "exact_evidence", "weights_and_imbalance"}


@pytest.mark.parametrize("name", with_slow(EXAMPLES, SLOW))
def test_an_example_runs_and_its_words_hold(name: str, shown: Any) -> None:
    names, figures = shown(name)
    assert figures
    for figure in figures:  # the title is what those who can't see the picture are told
        titles = [figure.get_suptitle(), *(axes.get_title() + axes.get_title(loc="left") for axes in figure.axes)]
        assert any(len(title) > 15 for title in titles), titles
    assert CLAIMS[name](names)
    for page in re.findall(
        r"<(\w+/[^>]+\.html)>`__", EXAMPLES[name].read_text(encoding="utf-8")
    ):  # those that it links to
        check_page(Path(page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", EXAMPLES.values(), ids=lambda path: path.stem)
def test_an_example_is_short_and_begins_with_a_title(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    title, underline, blank, first = (ast.get_docstring(ast.parse(source)) or "").split("\n")[:4]
    assert underline == "=" * len(title)
    assert not blank
    assert first
    assert 40 <= source.count("\n") <= 100
    assert source.rstrip().endswith("plt.show()") or "plt.show()\n\n# %%\n" in source


def test_the_gallery_has_an_order_for_all_of_them() -> None:
    tree = ast.parse((DOCS / "_extensions" / "examples_gallery.py").read_text(encoding="utf-8"))
    order = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "ORDER"
    )
    assert sorted(order) == sorted(EXAMPLES) == sorted(CLAIMS)
