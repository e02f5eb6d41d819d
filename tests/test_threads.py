"""One limit on the threads of linear algebra, shared by all: it is as before when the last is done."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from marginwise import TunedSVC
from marginwise._runtime.threads import blas_threads, one_thread


def numbers(kind: str = "blas") -> set[int]:
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == kind}


@pytest.fixture
def two_threads():
    """BLAS with two threads, wherever the tests run."""
    with threadpool_limits(2):
        yield


def test_one_thread_and_back(two_threads) -> None:
    assert (numbers(), blas_threads()) == ({2}, 2)
    with one_thread():
        assert (numbers(), blas_threads(), numbers("openmp")) == ({1}, 1, {1})
        with one_thread(), one_thread(False):
            assert numbers() == {1}
        assert numbers() == {1}
    assert (numbers(), blas_threads(), numbers("openmp")) == ({2}, 2, {2})


def test_when_not_asked_for_nothing_changes(two_threads) -> None:
    with one_thread(False):
        assert numbers() == {2}


def test_an_error_gives_it_back(two_threads) -> None:
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert numbers() == {2}


def test_threads_that_overlap_leave_no_limit_behind(two_threads) -> None:
    """The first to come is the first to go: whoever sets back what it found itself leaves the limit for good."""
    first, second = threading.Event(), threading.Event()

    def early() -> None:
        with one_thread():
            first.set()
            assert second.wait(10)

    def late() -> None:
        assert first.wait(10)
        with one_thread():
            second.set()
            thread.join(10)
            assert numbers() == {1}  # still

    thread = threading.Thread(target=early)
    thread.start()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(late).result()
    assert numbers() == {2}


def test_concurrent_fits_leave_no_limit_behind(two_threads) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] > 0

    def fit(seed: int) -> np.ndarray:
        return TunedSVC(0.0, random_state=seed).fit(X, y).predict_proba(X)

    alone = [fit(seed) for seed in range(3)]
    for _ in range(3):
        with ThreadPoolExecutor(3) as pool:
            together = list(pool.map(fit, range(3)))
        assert numbers() == {2}
        np.testing.assert_allclose(together, alone, atol=1e-9)  # those who predict may find a limit of others
