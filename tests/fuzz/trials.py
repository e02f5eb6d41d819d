"""What every fuzzer does: seeded cases, few by default and many with ``--full``; no errors but those that are meant."""

from __future__ import annotations

import resource
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from marginwise.errors import MarginwiseError

#: Megabytes that a whole run of a fuzzer may add to what the process had before.
MOST_MEMORY = 500

#: A case that fails is made again from this and its number alone.
SEED = 20260101


def run_cases(count: int, case: Callable[[np.random.Generator], str | None]) -> Counter[str]:
    """Run cases 0 … count - 1, each with random numbers of its own; return what became of them, and how often.

    A case returns a word, "ok" by default. An error that is meant for users is "refused"; any other ends the run, with
    the number of the case.
    """
    before, found = _peak(), Counter[str]()
    for number in range(count):
        rng = np.random.default_rng([SEED, number])
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found[case(rng) or "ok"] += 1
        except (MarginwiseError, ValueError) as error:
            require_words(error, number)
            found["refused"] += 1
        except BaseException as error:
            raise AssertionError(f"case {number}: {type(error).__name__}: {error}") from error
    assert _peak() - before < MOST_MEMORY, f"{_peak() - before:.0f} MB more than before"
    return found


def require_words(error: Exception, number: int) -> None:
    """Make sure that an error says something to a user, and is not one of NumPy's that has slipped through."""
    words = str(error)
    slips = (
        "operands could not be broadcast",
        "truth value of an array",
        "not aligned",
        "zero-size array",
        "setting an",
    )
    assert len(words) > 10, f"case {number}: {type(error).__name__} without words: {words!r}"
    if not isinstance(error, MarginwiseError) and any(slip in words for slip in slips):
        raise AssertionError(f"case {number}: {type(error).__name__}: {words}") from error


def pick(rng: np.random.Generator, *options: Any) -> Any:
    """Return one of the options."""
    return options[int(rng.integers(len(options)))]


def damaged(rng: np.random.Generator, content: bytes) -> bytes:
    """Return bytes with some of them flipped, lost, repeated, zeroed or added."""
    data, size = bytearray(content), len(content)
    for _ in range(pick(rng, 1, 1, 3, 20)):
        place, length = int(rng.integers(size)), int(rng.integers(1, max(2, size // 4)))
        kind = pick(rng, "flip", "flip", "cut", "lose", "zero", "add", "noise")
        if kind == "flip" and data:
            data[place % len(data)] ^= 1 << int(rng.integers(8))
        elif kind == "cut":
            del data[place:]
        elif kind == "lose":
            del data[place : place + length]
        elif kind == "zero":
            data[place : place + length] = bytes(min(length, max(0, len(data) - place)))
        elif kind == "add":
            data[place:place] = rng.bytes(min(length, 100))
        elif kind == "noise":
            data[place : place + 16] = rng.bytes(16)
    return bytes(data)


def _peak() -> float:
    """Return the most memory that the process has had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
