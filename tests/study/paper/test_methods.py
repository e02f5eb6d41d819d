"""The methods of the study: each gives a whole row, the same for the same seed, and none looks at the test labels."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC

from marginwise import MarginSVC, load_benchmark
from marginwise.criteria import as_criterion
from marginwise.criteria.cross_validation import CrossValidationError
from marginwise.datasets import benchmark_names
from marginwise.errors import NotConvergedError
from marginwise.hyperparameters import Hyperparameters, random_start
from marginwise.likelihoods import LINEAR
from marginwise.study import BenchmarkSource, Effort, Trial, Walk
from marginwise.study.data import load_data
from marginwise.study.judge import TRACE_ROWS, Judge, thinned
from marginwise.study.paper import METHODS, paper_plan, quick_plan, sensitivity_plan
from marginwise.study.paper.compare import all_datasets, all_methods
from marginwise.study.paper.methods import VARIED, WALKS, Ascent
from marginwise.study.paper.previous import FREE_OFFSET
from marginwise.study.paper.probes import GRADIENTS
from marginwise.study.paper.settings import (
    ASCENT_SETTINGS,
    EP_ASCENT,
    EQUAL_SCALES,
    MORE_TRIALS_ON_WDBC,
    NEAREST_ASCENT,
    NEAREST_WALK,
    NORMALISED,
    PAPER_TRIALS,
    SLOW,
    THOROUGH,
    WALK_SETTINGS,
    colour_draws,
    nearest,
)
from marginwise.study.record import TrialRow
from marginwise.study.report.summary import Trials
from marginwise.study.trial import TrialTask
from marginwise.svm import solve
from marginwise.tuning import tune
from toy_study import SMALL

NAMES = tuple(METHODS)
CRABS = BenchmarkSource("crabs")

_SCALES = ("l1", "l2", "l3", "l4", "l5")


def task(method, number=0, dataset="crabs", effort=SMALL):
    return TrialTask(Trial(dataset, method, number), METHODS[method], BenchmarkSource(dataset), effort)


def found(method, number=0, data=None, effort=SMALL):
    data = load_data(CRABS, effort) if data is None else data
    return METHODS[method].run(data, Trial("crabs", method, number), effort)


def test_the_plans_hold_every_method_and_the_papers_counts():
    assert tuple(PAPER_TRIALS) == NAMES
    plan = paper_plan()
    assert (tuple(plan.datasets), tuple(plan.methods)) == (benchmark_names(), NAMES)
    trials = plan.enumerate()
    assert len(set(trials)) == len(trials)
    walks = [trial for trial in trials if trial.method in ("le1-walk", "le2-walk", "gacv-walk", "span-walk")]
    ascents = [trial for trial in trials if trial.method == "evidence-ascent"]
    assert (len(walks), len(ascents)) == (500, 65)
    assert plan.count("crabs", "evidence-ascent") == plan.count("crabs", nearest("evidence-ascent")) == 25
    assert plan.effort == Effort()
    small = quick_plan()
    assert (small.datasets, small.methods) == (plan.datasets, plan.methods)
    assert {(trial.dataset, trial.method) for trial in small.enumerate()} == {
        (trial.dataset, trial.method) for trial in trials
    }


def test_seeds_are_hashed_from_names():
    digest = hashlib.sha256(b"study/pima/le1-walk/3").digest()
    assert Trial("pima", "le1-walk", 3).seed == int.from_bytes(digest[:4], "big")
    seeds = [trial.seed for trial in paper_plan().enumerate()]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("method", NAMES)
def test_a_method_gives_a_whole_row(method):
    row = task(method, 1).run()
    trace = row.trace
    assert (row.status, row.error_name) == ("done", ""), row.message
    assert row.message
    assert row.seed == Trial("crabs", method, 1).seed
    assert row.seconds > 0
    assert row.evaluations >= 1
    assert len(row.hyperparameters) in (4, 8)
    assert all(value > 0 for value in row.hyperparameters)
    assert 0 <= row.test_error <= 1
    assert 0 <= row.posterior_error <= 1
    assert row.log_loss > 0
    assert (row.criterion_value is None) == ("ascent" in method)
    assert (row.early_error is None) == ("ascent" not in method)
    assert row.oracle_error is None or row.oracle_error <= row.test_error
    assert {"marginwise", "numpy", "python"} <= set(row.versions)
    assert (trace is None) == (method == "svm-cv")
    if trace is not None:
        columns = {"evaluation", "score", "value", "C", "k0", "koff", "l1"}
        assert columns <= set(trace)
        assert len({len(column) for column in trace.values()}) == 1
        end = [trace[name][-1] for name in ("C", "k0", "koff", "l1")]
        np.testing.assert_allclose(end, row.hyperparameters[:4])


@pytest.mark.filterwarnings("ignore:the columns as they are do not help")
@pytest.mark.parametrize("method", NAMES)
def test_no_method_looks_at_the_test_labels(method):
    data = load_data(CRABS, SMALL)
    seen, turned = found(method, 2), found(method, 2, replace(data, y_test=-data.y_test))
    assert seen.hyperparameters == turned.hyperparameters
    assert seen.evaluations == turned.evaluations
    assert seen.test_error == pytest.approx(1 - turned.test_error)


def test_walks_begin_at_the_papers_start_and_differ_by_their_seeds():
    first, second = found("le1-walk", 0), found("le1-walk", 1)
    for one in (first, second):
        start = [one.trace[name][0] for name in ("C", "k0", "koff", *_SCALES)]
        np.testing.assert_allclose(start, [1.0, 1.0, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert first.hyperparameters != second.hyperparameters
    assert found("le1-walk", 1).hyperparameters == second.hyperparameters
    assert "gacv" in first.trace


def test_walks_on_error_estimates_keep_C():
    assert set(found("span-walk").trace["C"]) == {1.0}
    assert len(set(found("le2-walk").trace["C"])) > 1


def test_ascents_begin_at_random_and_quasi_newton_at_the_fixed_start_first():
    trial = Trial("crabs", "evidence-ascent", 3)
    start = random_start(5, np.random.default_rng(trial.seed))
    trace = found("evidence-ascent", 3).trace
    assert trace["C"][0] == pytest.approx(start.C)
    assert trace["l5"][0] == pytest.approx(start.length_scales[4])
    assert {"g_C", "g_l5", "se_k0"} <= set(trace)
    assert found("span-newton", 0).trace["k0"][0] == 1.0
    assert found("span-newton", 1).trace["k0"][0] != 1.0


def test_the_judge_agrees_with_the_estimator():
    data = load_benchmark("pima")
    h = Hyperparameters(0.5, 2.0, 0.3, np.linspace(1.0, 4.0, 7))
    scores = Judge.of(data, LINEAR).scores(h)
    svm = MarginSVC(h.C, h.k0, h.koff, h.length_scales).fit(data.X_train, data.y_train)
    assert scores["test_error"] == pytest.approx(1 - svm.score(data.X_test, data.y_test))
    assert scores["log_loss"] == pytest.approx(0.5, abs=0.1)


def test_an_oracle_is_the_least_error_along_the_path():
    row = found("gacv-walk")
    assert row.oracle_error == min(row.trace["test_error"])
    judge = Judge.of(load_data(CRABS, SMALL), LINEAR)
    middle = len(row.trace["C"]) // 2
    here = Hyperparameters.from_values([row.trace[name][middle] for name in ("C", "k0", "koff", *_SCALES)])
    assert judge.svm_error(here) == row.trace["test_error"][middle]


def test_traces_are_thinned_evenly_and_keep_their_ends():
    data = load_data(CRABS, SMALL)
    trace = tune(data.X_train, data.y_train, "gacv", search="random-walk", random_state=0, max_evaluations=900).trace
    kept = thinned(trace.accepted)
    assert len(trace.accepted) > len(kept)
    assert 0.5 * TRACE_ROWS <= len(kept) <= TRACE_ROWS
    assert (kept[0], kept[-1]) == (trace.accepted[0], trace.accepted[-1])
    assert np.all(np.diff([record.index for record in kept]) > 0)


def test_the_free_offset_of_cross_validation_is_that_of_a_classical_svm():
    data = load_benchmark("pima")
    h = Hyperparameters(1.0, 4.0, FREE_OFFSET, 3.0)
    ours = solve(data.X_train, data.y_train, h)
    classical = SVC(C=4.0, gamma=0.5 / 3.0**2, tol=1e-8).fit(data.X_train, data.y_train)
    gram = h.kernel.cross(data.X_test, data.X_train)
    latent = gram @ (data.y_train * ours.alpha)
    np.testing.assert_allclose(latent, classical.decision_function(data.X_test), atol=2e-3)


def test_the_grid_is_searched_for_the_least_cross_validation_error():
    trial = Trial("crabs", "svm-cv", 0)
    row, method = found("svm-cv"), METHODS["svm-cv"]
    data = load_data(CRABS, SMALL)
    problem = Judge.of(data, LINEAR).problem
    criterion = CrossValidationError("linear", folds=10, seed=trial.seed)
    values = [
        criterion.evaluate(problem, Hyperparameters(1.0, k0, FREE_OFFSET, scale)).value
        for scale in method.length_scales
        for k0 in method.amplitudes
    ]
    assert row.criterion_value == min(values)
    assert row.evaluations == len(values)


def test_stopping_early_is_judged_on_rows_that_did_not_choose():
    data = load_data(CRABS, SMALL)
    tuning = tune(data.X_train, data.y_train, "gacv", search="random-walk", random_state=1, max_evaluations=60)
    judge = Judge.of(data, LINEAR)
    wrong = np.array([judge.margins(record.hyperparameters) <= 0 for record in tuning.trace.accepted])
    expected = []
    for chosen, other in ((wrong[:, ::2], wrong[:, 1::2]), (wrong[:, 1::2], wrong[:, ::2])):
        errors = chosen.mean(axis=1)
        last = max(place for place, error in enumerate(errors) if error == errors.min())
        expected.append(other[last].mean())
    assert len(wrong) > 3
    assert judge.stopped_early(tuning.trace) == pytest.approx(np.mean(expected))


def test_the_same_start_differs_by_the_noise_alone():
    data = load_data(CRABS, SMALL)
    rows = [Ascent(SLOW, start="same").run(data, Trial("crabs", "any", number), SMALL) for number in (0, 1)]
    own = METHODS["hmc-ascent"].run(data, Trial("crabs", "hmc-ascent", 0), SMALL)
    starts = [[row.trace[name][0] for name in ("C", "k0", "l5")] for row in (*rows, own)]
    assert starts[0] == starts[1] == starts[2]
    assert rows[0].hyperparameters != rows[1].hyperparameters
    equal = Ascent(SLOW, start="equal").run(data, Trial("crabs", "any", 0), SMALL).trace
    assert {equal[name][0] for name in _SCALES} == {equal["l1"][0]}


def test_variants_are_the_papers_methods_in_another_setting():
    plan = sensitivity_plan()
    for name in WALKS:
        assert nearest(name) in METHODS
        for key, setting in list(WALK_SETTINGS.items())[1:]:
            method = plan.methods[f"{name}-{key}"]
            assert (method.criterion, method.slack) == (METHODS[name].criterion, METHODS[name].slack)
            assert (method.search, method.bounds) == (setting.search, setting.bounds)
            assert method != METHODS[name]
    shared = set(plan.enumerate()) & set(paper_plan().enumerate())
    assert all(plan.methods[trial.method] == METHODS[trial.method] for trial in shared)
    assert {trial.dataset for trial in plan.enumerate()} > {f"twonorm-draw-{number}" for number in range(1, 10)}


def test_every_name_stands_for_something():
    plan = sensitivity_plan("somewhere")
    assert next(iter(WALK_SETTINGS)) == next(iter(ASCENT_SETTINGS)) == THOROUGH
    assert {NEAREST_WALK, NEAREST_ASCENT} <= {*WALK_SETTINGS, *ASCENT_SETTINGS}
    assert plan.methods.keys() - METHODS.keys() == VARIED.keys()
    assert all(plan.count("pima", name) for name in VARIED if name not in (EQUAL_SCALES, *GRADIENTS))
    trials = Trials(TrialRow(t.dataset, t.method, t.number, 0, "done") for t in plan.enumerate())
    assert (list(all_datasets(trials)), list(all_methods(trials))) == (
        [*benchmark_names()],
        [*NAMES],
    )  # the rest is varied
    assert {plan.count("wdbc", name) for name in MORE_TRIALS_ON_WDBC} == {25}
    assert plan.count("twonorm-delve", nearest("le1-walk")) == 25
    assert not any("delve" in name for name in sensitivity_plan().datasets)


def test_draws_even_in_colour_are_part_of_the_study():
    draws = colour_draws()
    assert len(draws) == 100
    assert len({source.load().X_train.tobytes() for source in list(draws.values())[:5]}) == 5
    assert {len(source.load().y_train) for source in list(draws.values())[:5]} == {80}


def test_ascents_on_both_models_begin_at_the_same_places():
    data = load_data(CRABS, SMALL)
    one, other = (VARIED[name].run(data, Trial("crabs", name, 1), SMALL) for name in (EP_ASCENT, NORMALISED))
    assert [one.trace[name][0] for name in ("C", "k0", "l5")] == [other.trace[name][0] for name in ("C", "k0", "l5")]
    assert one.hyperparameters != other.hyperparameters
    assert one.early_error is not None
    again = VARIED[EP_ASCENT].run(data, Trial("crabs", EP_ASCENT, 1), SMALL)
    assert again.hyperparameters == one.hyperparameters  # no noise


def test_other_draws_are_other_data():
    for name in ("crabs", "twonorm", "ringnorm"):
        one, other = (load_benchmark(name, random_state=seed) for seed in (0, 3))
        assert one.X_train.shape == other.X_train.shape
        assert not np.array_equal(one.X_train, other.X_train)
    for name in ("pima", "wdbc"):
        one, other = (load_benchmark(name, random_state=seed) for seed in (0, 3))
        np.testing.assert_array_equal(one.X_train, other.X_train)


def test_a_criterion_that_fails_at_the_start_is_an_error(monkeypatch):
    def fail(*arguments, **options):
        raise ArithmeticError("no number")

    monkeypatch.setattr(type(as_criterion("gacv")), "evaluate", fail)
    with pytest.raises(NotConvergedError, match="no number"):
        Walk("gacv", "linear").run(load_data(CRABS, SMALL), Trial("crabs", "gacv-walk", 0), SMALL)
    row = task("gacv-walk").run()
    assert (row.status, row.error_name, row.trace) == ("failed", "NotConvergedError", None)


def test_settings_tell_what_rows_depend_on():
    one = task("le1-walk").settings()
    assert one == task("le1-walk", 3).settings()
    for other in (
        task("le1-walk", dataset="pima"),
        task("le2-walk"),
        task("le1-walk", effort=replace(SMALL, walk_evaluations=61)),
    ):
        assert one != other.settings()


def test_cut_data_keeps_both_classes():
    for dataset in benchmark_names():
        data = load_data(BenchmarkSource(dataset), quick_plan().effort)
        assert len(data.y_train) == 60
        assert set(data.y_train) == {-1.0, 1.0}
        assert len(data.y_test) <= 500
