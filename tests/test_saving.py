"""Model files: what is loaded is what was saved; what was changed, or holds anything else, is refused."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import pickle
import sys
import zipfile
from collections.abc import Callable
from copy import copy
from pathlib import Path

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator
from sklearn.gaussian_process import kernels
from sklearn.gaussian_process.kernels import Matern
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import zoo
from marginwise import MarginSVC, Prior, TunedSVC, criterion_names, load_model, save_model
from marginwise.criteria import as_criterion
from marginwise.criteria.ep import EPLeaveOneOut
from marginwise.errors import InvalidInputError, MarginwiseError, ModelFileError
from marginwise.saving import _GP_KERNELS, FORMAT
from marginwise.search import SEARCHES
from peak_memory import peak_memory
from tiers import first_quick

STORED = Path(__file__).parent / "stored"
PROBLEM = zoo.blobs(24, 2)

pytestmark = [
    pytest.mark.filterwarnings("ignore::marginwise.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::marginwise.errors.TableWarning"),
]


@pytest.fixture(scope="module")
def model():
    return TunedSVC(ard=0.3, restarts=1, random_state=0).fit(PROBLEM.X, np.where(PROBLEM.y > 0, "yes", "no"))


@pytest.fixture
def path(model, tmp_path):
    save_model(model, tmp_path / "model.skops")
    return tmp_path / "model.skops"


def write(path: Path, archive: bytes, version: int = FORMAT) -> None:
    """Write what someone would who knows the format and makes the digest fit."""
    content = b"{}\n" + archive
    path.write_bytes(f"marginwise-model {version} {hashlib.sha256(content).hexdigest()}\n".encode() + content)


def archive_of(path: Path) -> bytes:
    return path.read_bytes().split(b"\n", 2)[2]


def same(one, other) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_a_loaded_model_is_the_saved_one(model, path):
    loaded = load_model(path)
    assert loaded.get_params() == model.get_params()
    assert same(loaded.latent_mean_and_variance(PROBLEM.X), model.latent_mean_and_variance(PROBLEM.X))
    for predictor in ("posterior", "svm"):
        for one in (model, loaded):
            one.set_params(predictor=predictor)
        np.testing.assert_array_equal(loaded.predict_proba(PROBLEM.X), model.predict_proba(PROBLEM.X))
        np.testing.assert_array_equal(loaded.predict(PROBLEM.X), model.predict(PROBLEM.X))
    model.set_params(predictor="posterior")
    for name in (
        "hyperparameters_",
        "C_",
        "criterion_value_",
        "log_evidence_",
        "expected_error_",
        "expected_log_loss_",
    ):
        np.testing.assert_equal(getattr(loaded, name), getattr(model, name))  # some may be NaN
    before, after = model.trace_.to_arrays(), loaded.trace_.to_arrays()
    assert before.keys() == after.keys()
    for name in before:
        np.testing.assert_array_equal(after[name], before[name])
    assert [run.status for run in loaded.restarts_] == [run.status for run in model.restarts_]
    assert [run.start for run in loaded.restarts_] == [run.start for run in model.restarts_]


@pytest.mark.parametrize(
    ("estimator", "labels"),
    [
        (MarginSVC(length_scales=[0.5, 2.0], slack="quadratic"), np.array([False, True])),
        (TunedSVC(ard=0, random_state=np.random.RandomState(3)), np.array(["é", "no"], dtype=object)),
        (TunedSVC(ard=0, prior=Prior(spread=None), class_weight={1: 2.0, 5: 1.0}), np.array([1, 5])),
        (make_pipeline(StandardScaler(), TunedSVC(ard=0, standardize=False)), np.array([1.0, 2.0])),
    ],
    ids=["MarginSVC", "objects", "numbers", "pipeline"],
)
def test_models_and_labels_of_any_kind(estimator, labels, tmp_path):
    estimator.fit(PROBLEM.X, labels[(PROBLEM.y > 0).astype(int)])
    save_model(estimator, tmp_path / "any")
    loaded = load_model(tmp_path / "any")
    np.testing.assert_array_equal(loaded.predict(PROBLEM.X), estimator.predict(PROBLEM.X))
    np.testing.assert_array_equal(loaded.decision_function(PROBLEM.X), estimator.decision_function(PROBLEM.X))
    assert loaded.classes_.dtype == estimator.classes_.dtype


@pytest.mark.slow
def test_every_criterion_and_search_can_be_a_parameter(model, tmp_path):
    for criterion in map(as_criterion, criterion_names()):
        if not type(criterion).__module__.startswith("marginwise."):
            continue  # another test has added it
        for search in SEARCHES.values():
            save_model(copy(model).set_params(criterion=criterion, search=search()), tmp_path / "parameters")
            loaded = load_model(tmp_path / "parameters")
            assert vars(loaded.criterion) == vars(criterion)
            assert loaded.search == search()


def test_pickles_hold_no_square_matrices(model, tmp_path):
    problem = zoo.blobs(300, 2)
    large = TunedSVC(ard=0, random_state=0).fit(problem.X, problem.y)
    before = large.predict_proba(problem.X)
    joblib.dump(large, tmp_path / "model.joblib")
    assert (tmp_path / "model.joblib").stat().st_size < 60_000  # one 300×300 matrix is 720,000
    np.testing.assert_array_equal(joblib.load(tmp_path / "model.joblib").predict_proba(problem.X), before)
    assert "latent_functions" not in vars(pickle.loads(pickle.dumps(large)).ensemble_)


def test_no_change_of_a_single_bit_goes_unnoticed(path, full):
    content = path.read_bytes()
    beginning = content.index(b"PK")  # all of both lines, and places everywhere else
    places = {*range(8 * beginning), *np.random.default_rng(0).integers(0, 8 * len(content), 20_000 if full else 400)}
    for place in sorted(int(place) for place in places):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(ModelFileError):
            load_model(path)


def test_parts_of_a_file_are_refused(path):
    content = path.read_bytes()
    for size in [*range(0, 200, 7), *np.linspace(200, len(content) - 1, 20).astype(int)]:
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError):
            load_model(path)
    path.write_bytes(content + b"\n")
    with pytest.raises(ModelFileError, match="damaged or changed"):
        load_model(path)


def test_swapped_contents_are_refused(path, tmp_path):
    save_model(MarginSVC().fit(PROBLEM.X, PROBLEM.y), tmp_path / "other")
    first = path.read_bytes().split(b"\n")[0]
    path.write_bytes(first + b"\n" + (tmp_path / "other").read_bytes().partition(b"\n")[2])
    with pytest.raises(ModelFileError, match="damaged or changed since it was saved"):
        load_model(path)


class Foreign:
    """A type of someone else; made known to whoever builds one."""

    built = 0

    def __setstate__(self, state):
        Foreign.built += 1


class OwnCriterion(EPLeaveOneOut):
    """A criterion of a user."""


def test_foreign_types_are_refused_even_if_the_digest_fits(path, model):
    injected = pickle.loads(pickle.dumps(model))
    injected.hyperparameters_ = Foreign()
    injected.hyperparameters_.x = 1
    write(path, skops.io.dumps(injected))
    with pytest.raises(ModelFileError, match=r"holds types that no model of marginwise has: \S*Foreign"):
        load_model(path)
    assert Foreign.built == 0
    # a type of the package that is no part of a model, renamed in the archive
    renamed = _edited(archive_of(path), "Foreign", "InvalidInputError", __name__, "marginwise.errors")
    write(path, renamed)
    with pytest.raises(ModelFileError, match="no model of marginwise has"):
        load_model(path)


@pytest.mark.parametrize("kernel", ["PairwiseKernel", "WhiteKernel", "Kernel", "StationaryKernelMixin", "clone"])
def test_other_kernels_of_scikit_learn_are_refused(path, kernel):
    """Of its module a file may name the kernels that hold numbers and each other: not those that hold functions."""
    model = TunedSVC(0, kernel=Matern(), random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    save_model(model, path)
    assert load_model(path).kernel == Matern()
    write(path, _edited(archive_of(path), "Matern", kernel))
    with pytest.raises(ModelFileError, match=f"no model of marginwise has: .*{kernel}"):
        load_model(path)


def test_trusted_kernels_hold_numbers_and_each_other():
    """Loading sets their attributes and calls nothing of theirs."""
    for name in _GP_KERNELS:
        kind = getattr(kernels, name)
        own = {attribute for one in kind.__mro__[:-1] if one is not BaseEstimator for attribute in vars(one)}
        assert not own & {"__setstate__", "__setattr__", "__reduce__", "__reduce_ex__", "__del__"}
        assert issubclass(kind, (kernels.Kernel, tuple))


def _edited(archive: bytes, *pairs: str) -> bytes:
    """Return the archive with names in its schema replaced."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                text = content.decode()
                for before, after in zip(pairs[::2], pairs[1::2], strict=True):
                    text = text.replace(json.dumps(before), json.dumps(after))
                content = text.encode()
            new.writestr(name, content)
    return buffer.getvalue()


def test_contents_that_make_no_sense_are_refused(path):
    archive = archive_of(path)
    for wrong in (b"", b"nonsense", _edited(archive, "DictNode", "ListNode"), _edited(archive, "klin", "clin")):
        write(path, wrong)
        with pytest.raises(ModelFileError, match="does not hold a model"):
            load_model(path)
    write(path, skops.io.dumps([1, 2, 3]))
    with pytest.raises(ModelFileError, match="holds a list, which is no model"):
        load_model(path)
    write(path, skops.io.dumps(LogisticRegression()))
    with pytest.raises(ModelFileError, match="holds a LogisticRegression, which is no model of marginwise"):
        load_model(path)


def test_later_formats_say_what_to_do(path):
    write(path, archive_of(path), FORMAT + 1)
    with pytest.raises(ModelFileError, match="a newer marginwise"):
        load_model(path)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="a file that save_model wrote"):
        load_model(tmp_path / "missing")
    (tmp_path / "pickle").write_bytes(pickle.dumps(1))
    with pytest.raises(ModelFileError, match="not a model file"):
        load_model(tmp_path / "pickle")


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    foreign = TunedSVC(criterion=OwnCriterion())
    with pytest.raises(InvalidInputError, match=r"OwnCriterion; expected a model whose parts load_model trusts"):
        save_model(foreign, tmp_path / "model")
    with pytest.raises(InvalidInputError, match="model is a dict"):
        save_model({}, tmp_path / "model")
    with pytest.raises(InvalidInputError, match="no part of marginwise"):
        save_model(LogisticRegression(), tmp_path / "model")
    with pytest.raises(MarginwiseError, match="cannot store"):
        save_model(TunedSVC(class_weight=(number for number in "12")), tmp_path / "model")
    with pytest.raises(InvalidInputError, match="a directory that exists"):
        save_model(TunedSVC(), tmp_path / "nowhere" / "model")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_old_file(path, model, monkeypatch):
    before = path.read_bytes()

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr("marginwise.saving.os.replace", fail)
    with pytest.raises(MarginwiseError, match=r"can't be written: no space left"):
        save_model(model, path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_missing_skops_is_named(path, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    for action in (lambda: save_model(model, path), lambda: load_model(path)):
        with pytest.raises(MarginwiseError, match=r"pip install 'marginwise\[saving\]'"):
            action()


def test_parameters_younger_than_the_file_have_their_defaults(model):
    state = dict(model.__getstate__())
    del state["standardize"], state["max_evaluations"]
    older = TunedSVC.__new__(TunedSVC)
    older.__setstate__(state)
    assert older.get_params() == model.get_params()
    assert repr(older) == repr(model)


@pytest.mark.parametrize("stored", sorted(STORED.glob("format-*.skops")), ids=lambda path: path.stem)
def test_models_saved_by_earlier_versions_predict_as_they_did(stored):
    """The files were written by ``stored/make.py`` of their version, with what the models predicted then."""
    model = load_model(stored)
    expected = json.loads(stored.with_suffix(".json").read_text())
    X = np.array(expected["X"])
    assert model.predict(X).tolist() == expected["predict"]
    np.testing.assert_allclose(model.predict_proba(X), expected["predict_proba"], atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), expected["decision_function"], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.held_out_proba_, expected["held_out_proba"], atol=1e-12)
    assert [model.C_, *model.kernel_.values] == expected["hyperparameters"]
    assert [member.labels for member in model.ensemble_.members] == expected["labels"]
    assert len(model.trace_) > 1
    assert repr(model)


@pytest.mark.parametrize("stored", sorted(STORED.glob("format-*.skops")), ids=lambda path: path.stem)
def test_what_earlier_models_say_of_themselves(stored):
    """As pages and pictures ask it: relevances, held-out probabilities, the latent functions."""
    model = load_model(stored)
    ensemble = model.ensemble_
    n, K = len(ensemble.X), len(model.classes_)
    assert model.feature_importances_.shape == (model.n_features_in_,)
    assert ensemble.description.relevances.shape == (len(ensemble.members), model.n_features_in_)
    assert ensemble.weights.sum() == pytest.approx(1.0)
    assert ensemble.held_out.shape == (n, K)
    np.testing.assert_allclose(ensemble.held_out.sum(axis=1), 1.0)
    assert model.expected_log_loss_ > 0.0
    mean, variance = ensemble.latent(ensemble.X)
    assert mean.shape == variance.shape == ((n,) if K == 2 else (n, K))
    assert (variance > 0.0).all()
    assert np.bincount(ensemble.problem.labels, minlength=K).min() > 0
    assert ensemble.n_points <= n
    assert isinstance(ensemble.warnings, tuple)
    assert model.set_params(predictor="svm").score(np.array(ensemble.X), model.predict(ensemble.X)) == 1.0


@pytest.mark.parametrize("name", ["words", "compact"])
def test_stored_models_of_words_and_gaps_predict_as_they_did(name):
    expected = json.loads((STORED / f"words-{FORMAT}.json").read_text())
    model = load_model(STORED / f"{name}-{FORMAT}.skops")
    X = np.array(expected["X"], dtype=object)
    np.testing.assert_allclose(model.predict_proba(X), expected[name], atol=1e-9)


def test_a_margin_svc_by_pairs_is_saved(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 4
    model = MarginSVC(C=3.0).fit(X, y)
    save_model(model, tmp_path / "pairs")
    loaded = load_model(tmp_path / "pairs")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_there_are_stored_models():
    assert {f"format-{FORMAT}-{name}.skops" for name in ("two", "three")} <= {one.name for one in STORED.iterdir()}


def changed(archive: bytes, change) -> bytes:
    """Return an archive whose entries are what ``change`` makes of their names and contents."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return buffer.getvalue()


def test_a_file_that_unpacks_to_far_more_is_refused_before_it_is(path, monkeypatch):
    monkeypatch.setattr("marginwise.saving._MOST_BYTES", 2**20)
    archive = archive_of(path)
    large = [name for name in zipfile.ZipFile(io.BytesIO(archive)).namelist() if name.endswith(".npy")][:8]
    write(path, changed(archive, lambda name, content: bytes(2**25) if name in large else content))
    assert path.stat().st_size < 2**22

    def refuse() -> None:
        with pytest.raises(ModelFileError, match=r"it would unpack to [0-9,]+ MB"):
            load_model(path)

    assert peak_memory(refuse) < 5 * path.stat().st_size


def _inner_bomb(name: str, content: bytes) -> bytes:
    inner = io.BytesIO()
    np.savez_compressed(inner, data=np.zeros(2**22))
    return inner.getvalue()


def test_an_archive_inside_of_an_archive_counts(path, monkeypatch):
    monkeypatch.setattr("marginwise.saving._MOST_BYTES", 2**20)
    buffer = io.BytesIO(archive_of(path))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("matrix.npz", _inner_bomb("", b""))
    write(path, buffer.getvalue())
    with pytest.raises(ModelFileError, match="it would unpack to"):
        load_model(path)


@pytest.mark.parametrize("number", [10**12, 3, 0, -2, "2", 2.0])
def test_a_wrong_number_of_inputs_is_refused(model, tmp_path, number):
    wrong = copy(model)
    wrong.n_features_in_ = number
    save_model(wrong, tmp_path / "model")
    with pytest.raises(ModelFileError, match="it is for 2 inputs, and says that it has"):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("kind", first_quick([MarginSVC, TunedSVC]))
def test_arrays_that_do_not_fit_together_are_refused_before_a_prediction(kind, tmp_path, rng):
    """Each array of a model in turn is shorter by one, longer, or has numbers that are none.

    Compiled loops don't look at lengths: one that is longer than the others would be written beyond their ends.
    """
    options = {"ard": 0.0, "max_evaluations": 2, "random_state": 0} if kind is TunedSVC else {}
    save_model(kind(**options).fit(PROBLEM.X, PROBLEM.y), tmp_path / "model")
    whole = archive_of(tmp_path / "model")
    before = load_model(tmp_path / "model").predict(PROBLEM.X)
    refused = 0
    names = [name for name in zipfile.ZipFile(io.BytesIO(whole)).namelist() if name.endswith(".npy")]
    kinds = {
        "shorter": lambda array: array[:-1] if array.ndim else array,
        "longer": lambda array: np.concatenate([array] * 50) if array.ndim else array,
        "no numbers": lambda array: np.full_like(array, np.nan) if array.dtype.kind == "f" else array,
    }
    for chosen, alter in itertools.product(names, kinds.values()):

        def change(name: str, content: bytes, chosen: str = chosen, alter: Callable = alter) -> bytes:
            if name != chosen:
                return content
            written = io.BytesIO()
            np.save(written, alter(np.load(io.BytesIO(content))))
            return written.getvalue()

        write(tmp_path / "model", changed(whole, change))
        try:
            loaded = load_model(tmp_path / "model")
        except ModelFileError:
            refused += 1
        else:  # an array that predictions don't depend on
            assert np.isin(loaded.predict(PROBLEM.X), before).all()
            assert np.isfinite(loaded.decision_function(PROBLEM.X)).all()
    assert refused >= 9


def test_only_fitted_models_are_saved_and_only_to_files(model, tmp_path):
    with pytest.raises(InvalidInputError, match="a TunedSVC that is not fitted"):
        save_model(TunedSVC(), tmp_path / "model")
    with pytest.raises(InvalidInputError, match="a Pipeline that is not fitted"):
        save_model(make_pipeline(StandardScaler(), MarginSVC()), tmp_path / "model")
    with pytest.raises(InvalidInputError, match="a file, not a directory"):
        save_model(model, tmp_path)
    save_model(model, tmp_path / ("m" * 250))
    assert load_model(tmp_path / ("m" * 250)).classes_.tolist() == ["no", "yes"]
    with pytest.raises(MarginwiseError, match=r"can't be written: File name too long"):
        save_model(model, tmp_path / ("m" * 300))
    with pytest.raises(InvalidInputError, match="a file that save_model wrote"):
        load_model(tmp_path / ("m" * 300))
    assert [file.name for file in tmp_path.iterdir()] == ["m" * 250]


def test_what_a_search_has_found_can_be_saved(path):
    X, y = np.linspace(-1.0, 1.0, 12)[:, None], np.arange(12) > 5
    search = GridSearchCV(MarginSVC(), {"C": [0.1, 1.0]}, cv=2).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"is a GridSearchCV .*: save_model\(search.best_estimator_, path"):
        save_model(search, path)
    save_model(search.best_estimator_, path)
    np.testing.assert_array_equal(load_model(path).predict(X), search.predict(X))
