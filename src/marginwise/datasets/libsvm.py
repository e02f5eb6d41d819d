"""The LIBSVM (SVMlight) format: a label and index:value pairs on each line."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_svmlight_file

from marginwise._arrays import Array
from marginwise._wording import some
from marginwise.datasets.reading import wrong_file

SUFFIXES = frozenset({".libsvm", ".svm", ".svmlight"})

#: Numbers in the largest dense matrix that is made of a sparse file (2 GB); a mistyped index asks for more.
LARGEST = 2**28

#: Matrices of more numbers than this (200 MB) are made only where at least this share of them is not zero.
_LARGE, _THIN = 25 * 2**20, 1e-4

_NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LINE = re.compile(rb"%b(?:[ \t]+qid:\d+)?(?P<pairs>(?:[ \t]+\d+:%b)*)[ \t]*(?:#.*)?" % (_NUMBER, _NUMBER))

_ZERO_INDEX = re.compile(rb"^[^#\n]*[ \t]0+:", re.MULTILINE)

#: Lines that the format is recognised from.
_SAMPLE = 20


def is_libsvm(path: Path, content: bytes) -> bool:
    """Return whether a file is in LIBSVM format, by its suffix (before a ``.gz``) or by its first lines."""
    if SUFFIXES.intersection(suffix.lower() for suffix in path.suffixes[-2:]):
        return True
    lines = (line.strip() for line in io.BytesIO(content))
    sample = list(itertools.islice((line for line in lines if line and not line.startswith(b"#")), _SAMPLE))
    matches = [_LINE.fullmatch(line) for line in sample]
    return all(matches) and any(match["pairs"] for match in matches if match)


def read_libsvm(path: Path, content: bytes, names: Sequence[str] | None = None) -> tuple[Array, Array, tuple[str, ...]]:
    """Return the inputs, zeros written out, the labels, and the inputs' names: x and the index in the file.

    ``names`` are those of the inputs to read, where they are known; otherwise the indices begin with 0 if it occurs,
    and end with the largest that does.
    """
    first = int(names[0][1:]) if names else 0 if _ZERO_INDEX.search(content) else 1
    try:
        sparse, y = load_svmlight_file(io.BytesIO(content), zero_based=first == 0)
    except (ValueError, OverflowError) as error:
        raise wrong_file(
            path,
            f"LIBSVM format, 'label index:value index:value …' with rising indices on each line ({error})",
        ) from None
    if sparse.nnz == 0 and not names:
        raise wrong_file(path, "lines with a label and index:value pairs, but it has no value other than zero")
    if names and sparse.shape[1] > len(names):
        largest = sparse.shape[1] - 1 + first
        raise wrong_file(path, f"indices up to {names[-1][1:]}, as in training, but it has one of {largest}")
    n, d = sparse.shape[0], len(names or ()) or sparse.shape[1]
    if n * d > LARGEST or (n * d > _LARGE and sparse.nnz < _THIN * n * d):
        raise wrong_file(
            path,
            f"at most {LARGEST} numbers with the zeros written out, and not nearly all of them zero, but it has {n} "
            f"rows and {d} inputs with {sparse.nnz} numbers; check the largest index, or choose fewer inputs",
        )
    sparse.resize(n, d)
    X = sparse.toarray()
    wrong = [f"example {i + 1} input {a + first}" for i, a in np.argwhere(~np.isfinite(X))]
    wrong += [f"the label of example {i + 1}" for i in np.flatnonzero(~np.isfinite(y))]
    if wrong:
        raise wrong_file(path, f"finite numbers only, but {len(wrong)} are not: {some(wrong)}; mend or remove them")
    return X, y, tuple(f"x{a}" for a in range(first, first + d))


def as_integers(y: Array) -> npt.NDArray[np.generic]:
    """Return labels as integers, if all are whole numbers."""
    integers = np.rint(y)
    return integers.astype(int) if np.array_equal(integers, y) and np.abs(y).max() < 2**53 else y
