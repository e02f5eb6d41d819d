"""The LIBSVM (SVMlight) format: a label and index:value pairs on each line."""

from __future__ import annotations

import io
import itertools
import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_svmlight_file

from marginwise.datasets.reading import some, wrong_file

Array = npt.NDArray[np.float64]

SUFFIXES = frozenset({".libsvm", ".svm", ".svmlight"})

#: Numbers in the largest dense matrix that is made of a sparse file (2 GB); a mistyped index asks for more.
LARGEST = 2**28

_NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LINE = re.compile(rb"%b(?:[ \t]+qid:\d+)?(?P<pairs>(?:[ \t]+\d+:%b)*)[ \t]*(?:#.*)?" % (_NUMBER, _NUMBER))

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


def read_libsvm(path: Path, content: bytes) -> tuple[Array, Array]:
    """Return the inputs, zeros written out, and the labels."""
    try:
        sparse, y = load_svmlight_file(io.BytesIO(content))
    except (ValueError, OverflowError) as error:
        raise wrong_file(
            path,
            f"LIBSVM format, 'label index:value index:value …' with rising indices on each line ({error})",
        ) from None
    if sparse.nnz == 0:
        raise wrong_file(path, "lines with a label and index:value pairs, but it has no value other than zero")
    if sparse.shape[0] * sparse.shape[1] > LARGEST:
        raise wrong_file(
            path,
            f"at most {LARGEST} numbers with the zeros written out, but it has {sparse.shape[0]} rows and "
            f"{sparse.shape[1]} inputs; check the largest index, or choose fewer inputs",
        )
    X = sparse.toarray()
    wrong = [f"example {i + 1} input {a + 1}" for i, a in np.argwhere(~np.isfinite(X))]
    wrong += [f"the label of example {i + 1}" for i in np.flatnonzero(~np.isfinite(y))]
    if wrong:
        raise wrong_file(path, f"finite numbers only, but {len(wrong)} are not: {some(wrong)}; mend or remove them")
    return X, y
