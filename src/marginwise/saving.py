"""Save fitted models to files that can be loaded without trusting whoever wrote them.

A model file begins with one line of text, ``marginwise-model <format> <SHA-256>``, where the digest is that of all that
follows: a line of JSON that says which versions wrote it, and a skops archive, which holds data and names of types but,
unlike a pickle, no code. A zip archive may have a prefix, so that ``skops.io.load`` can read the file as well.
"""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import re
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from marginwise._runtime.files import write_whole
from marginwise._runtime.packages import require
from marginwise.covariance import Partition
from marginwise.criteria import criterion_class, criterion_names
from marginwise.errors import Finding, InvalidInputError, MarginwiseError, ModelFileError
from marginwise.estimators import MarginSVC, TunedSVC
from marginwise.estimators._encoding import Encoding
from marginwise.estimators._scaling import Scaling
from marginwise.estimators._sets import Conformity
from marginwise.estimators.compacting import CompactionReport
from marginwise.estimators.monitoring import Updates
from marginwise.fitting.calibration import Calibration
from marginwise.fitting.candidates import Candidate
from marginwise.fitting.drift import DriftTest
from marginwise.fitting.ensemble import Ensemble
from marginwise.fitting.labels import (
    LeastSquaresLabels,
    OrderedLeastSquaresLabels,
    Scale,
    SlackLabels,
    SoftmaxLabels,
    ThresholdLabels,
)
from marginwise.fitting.members import Member
from marginwise.fitting.stacking import Vote
from marginwise.fitting.views import NormalScores, Selection
from marginwise.hyperparameters import Hyperparameters
from marginwise.inference import Precision
from marginwise.inference.prediction import GaussianPredictor
from marginwise.kernels import RBF, AdditiveLaplacian, Blend, Constant, GPKernel, Laplacian, Linear, Precomputed, Sum
from marginwise.likelihoods import LIKELIHOODS, WeightedLikelihood
from marginwise.model import Model
from marginwise.multiclass import ClassPredictor, OrderedLink, SoftmaxLink
from marginwise.priors import Prior
from marginwise.search import SEARCHES
from marginwise.search.trace import Trace, Tuning
from marginwise.status import Status
from marginwise.svm import Solution
from marginwise.svm.pairs import PairMachines
from marginwise.tables import Column, Schema

#: Of the files that are written and read; raised when what they hold changes.
FORMAT = 1

#: A model unpacks to at most so many bytes, or so many times the bytes of its file.
_MOST_BYTES, _MOST_TIMES = 2**28, 50

_VERSION = version("marginwise")
_FIRST_LINE = re.compile(rb"marginwise-model ([1-9][0-9]{0,3}) ([0-9a-f]{64})\n")


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


_MODELS = {_name(TunedSVC), _name(MarginSVC)}
_WANTED = "a fitted TunedSVC or MarginSVC, or an estimator of scikit-learn around one"

#: What a file may hold beyond what skops itself takes for harmless: arrays, numbers, scikit-learn's estimators.
_PARTS: tuple[type, ...] = (
    *(Candidate, Ensemble, Member, NormalScores, Partition, Scale, Selection),
    *(LeastSquaresLabels, OrderedLeastSquaresLabels, SlackLabels, SoftmaxLabels, ThresholdLabels),
    *(OrderedLink, SoftmaxLink),
    *(ClassPredictor, GaussianPredictor, WeightedLikelihood),
    *(Calibration, CompactionReport, Conformity),
    *(DriftTest, Updates),
    *(Column, Encoding, Schema),
    Hyperparameters,
    PairMachines,
    Precision,
    Prior,
    Tuning,
    Scaling,
    Solution,
    Status,
    Trace,
    Vote,
    *(Model, RBF, AdditiveLaplacian, Blend, Constant, GPKernel, Laplacian, Linear, Precomputed, Sum),
)

#: Kernels of scikit-learn's Gaussian processes, which hold numbers and each other.
_GP_KERNELS = (
    *("CompoundKernel", "ConstantKernel", "DotProduct", "Exponentiation", "ExpSineSquared", "Hyperparameter", "Matern"),
    *("Product", "RBF", "RationalQuadratic", "Sum"),
)


def save_model(model: BaseEstimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file, whole or not at all. It needs skops: ``pip install 'marginwise[saving]'``.

    Parameters
    ----------
    model : TunedSVC or MarginSVC
        Fitted; it may be part of a scikit-learn pipeline or another scikit-learn estimator.
    path : path
        The file to write, usually with the suffix ``.skops``. An existing file is replaced.

    Examples
    --------
    >>> import tempfile
    >>> from marginwise import MarginSVC, load_model, save_model
    >>> model = MarginSVC().fit([[0.0], [1.0]], ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.skops")
    ...     load_model(f"{folder}/model.skops").predict([[0.9]]).tolist()
    ['high']
    """
    skops = _skops()
    target = Path(path)
    if not os.path.isdir(target.parent):
        raise InvalidInputError("path", str(path), "a file in a directory that exists")
    if os.path.isdir(target):
        raise InvalidInputError("path", str(path), "a file, not a directory")
    if not isinstance(model, BaseEstimator):
        raise InvalidInputError("model", Finding(f"is a {type(model).__name__}"), _WANTED)
    if hasattr(model, "set_callbacks"):
        model = copy.copy(model).set_callbacks()  # they watched the fit, and are not part of its result
    try:
        archive = skops.dumps(model, compression=ZIP_DEFLATED)
    except Exception as error:  # skops has no common type for what it can't store
        raise MarginwiseError(
            f"this {type(model).__name__} has a part that skops cannot store ({error}); joblib.dump can, but its files "
            "are for yourself: loading one runs what is in it"
        ) from error
    own, foreign = _types(skops, archive)
    if not own & _MODELS:
        raise InvalidInputError(
            "model", Finding(f"is a {type(model).__name__} with no part of marginwise in it"), _WANTED
        )
    if foreign:
        raise _unsavable(model, foreign)
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise InvalidInputError("model", Finding(f"is a {type(model).__name__} that is not fitted"), _WANTED) from None
    versions = {"marginwise": _VERSION, "numpy": np.__version__, "scipy": scipy.__version__}
    header = json.dumps({**versions, "scikit-learn": sklearn.__version__}).encode()
    content = header + b"\n" + archive
    first = f"marginwise-model {FORMAT} {hashlib.sha256(content).hexdigest()}\n"
    try:
        write_whole(target, first.encode() + content)
    except OSError as error:
        raise MarginwiseError(f"{path} can't be written: {error.strerror or error}") from error


def _unsavable(model: BaseEstimator, foreign: list[str]) -> InvalidInputError:
    """Return the error for a model with parts that load_model would refuse, and what to save in its place."""
    found = Finding(f"is a {type(model).__name__} that holds {', '.join(foreign)}")
    if hasattr(model, "best_estimator_"):
        return InvalidInputError("model", found, "what the search has found: save_model(search.best_estimator_, path)")
    return InvalidInputError(
        "model",
        found,
        "a model whose parts load_model trusts: those of marginwise, arrays, numbers and scikit-learn's estimators "
        "(name criterion and search by strings, or use joblib.dump for yourself)",
    )


def load_model(path: str | os.PathLike[str]) -> Any:
    """Return the model in a file of :func:`save_model`.

    A file that was truncated or changed by accident is refused, because its digest does not match. A digest is not a
    signature: whoever writes a malicious file can also write a matching digest. The protection against that is that
    only arrays, numbers and types of marginwise, NumPy and scikit-learn are ever loaded, never code; a file with any
    other type is refused, whatever its digest. Predictions can only be trusted as far as the author of the file.

    Parameters
    ----------
    path : path
        A file that :func:`save_model` of this or an earlier version wrote.

    Returns
    -------
    estimator
        The model as it was saved.

    Raises
    ------
    ModelFileError
        If the file is damaged, or does not hold a model and nothing else.

    Examples
    --------
    >>> import tempfile
    >>> from marginwise import MarginSVC, load_model, save_model
    >>> model = MarginSVC().fit([[0.0], [1.0]], ["low", "high"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.skops")
    ...     load_model(f"{folder}/model.skops").predict([[0.1]]).tolist()
    ['low']
    """
    skops = _skops()
    source = Path(path)
    try:
        archive = _checked(source)
    except OSError as error:
        wanted = f"a file that save_model wrote ({error.strerror or error})"
        raise InvalidInputError("path", str(path), wanted) from None
    try:
        _check_size(archive)
        own, foreign = _types(skops, archive)
    except Exception as error:  # whatever is wrong with the archive
        raise ModelFileError(f"{path} does not hold a model: {error}") from error
    if foreign:
        raise ModelFileError(
            f"{path} is refused, because it holds types that no model of marginwise has: {', '.join(foreign)}"
        )
    try:
        model = skops.loads(archive, trusted=sorted(_own_types()))
    except Exception as error:
        raise ModelFileError(f"{path} does not hold a model of marginwise {_VERSION}: {error}") from error
    if not (isinstance(model, BaseEstimator) and own & _MODELS):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, which is no model of marginwise")
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for part in _own_parts(model):
                part.check_stored()
    except Exception as error:
        raise ModelFileError(f"{path} holds a model that was changed and can't predict: {error}") from error
    return model


def _check_size(archive: bytes) -> None:
    """Refuse archives that unpack to far more than models do; also those inside of archives (sparse matrices)."""
    most = max(_MOST_BYTES, _MOST_TIMES * len(archive))
    with ZipFile(io.BytesIO(archive)) as entries:
        total = sum(entry.file_size for entry in entries.infolist())
        if total <= most:
            for name in entries.namelist():
                if name.endswith(".npz"):
                    with ZipFile(io.BytesIO(entries.read(name))) as inner:
                        total += sum(entry.file_size for entry in inner.infolist())
    if total > most:
        raise ValueError(f"it would unpack to {total / 2**20:,.0f} MB, from {len(archive) / 2**20:,.1f}")


def _own_parts(thing: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """Yield the estimators of this package in an estimator, a list, a tuple or a dict."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, (TunedSVC, MarginSVC)):
        if hasattr(thing, "classes_"):  # those that a GridSearchCV was given are not fitted
            yield thing
        return
    if isinstance(thing, BaseEstimator):
        thing = vars(thing)
    if isinstance(thing, (dict, list, tuple)):
        for part in thing.values() if isinstance(thing, dict) else thing:
            yield from _own_parts(part, seen)


def _checked(path: Path) -> bytes:
    """Return the archive in a file, if the file is what it was when it was written."""
    content = path.read_bytes()
    found = _FIRST_LINE.match(content)
    if found is None:
        raise ModelFileError(f"{path} is not a model file of marginwise, or its beginning was changed")
    if int(found[1]) > FORMAT:
        raise ModelFileError(
            f"{path} has format {int(found[1])}, and marginwise {_VERSION} reads formats up to {FORMAT}; "
            "a newer marginwise (pip install -U marginwise) reads it"
        )
    rest = content[found.end() :]
    if hashlib.sha256(rest).hexdigest().encode() != found[2]:
        raise ModelFileError(f"{path} was damaged or changed since it was saved; use another copy, or save it again")
    return rest.partition(b"\n")[2]


def _types(skops: Any, archive: bytes) -> tuple[set[str], list[str]]:
    """Return the types of this package in an archive, and those that neither it nor skops vouches for."""
    found = set(skops.get_untrusted_types(data=archive))
    own = _own_types()
    return found & own, sorted(found - own)


def _own_types() -> set[str]:
    """Return the names of types that a model may hold: the package's, and kernels that it can be given."""
    criteria = [criterion_class(name) for name in criterion_names()]
    likelihoods = {type(likelihood) for likelihood in LIKELIHOODS.values()}
    named = {_name(kind) for kind in (*_PARTS, *criteria, *likelihoods, *SEARCHES.values())}
    own = {name for name in named if name.startswith("marginwise.")}  # users may register criteria
    return _MODELS | own | {f"sklearn.gaussian_process.kernels.{name}" for name in _GP_KERNELS}


def _skops() -> Any:
    require("skops", "model files need", "marginwise[saving]")
    import skops.io

    return skops.io
