"""One limit on the threads of linear algebra, shared by all: it is as before when the last is done."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from threadpoolctl import threadpool_info, threadpool_limits

from marginwise import TunedSVC
from marginwise._runtime.threads import ONE_THREAD_ROWS, one_thread, threads_for, worker_threads
from marginwise.fitting import fit


def numbers(kind: str = "blas") -> set[int]:
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == kind}


@pytest.fixture
def two_threads():
    """BLAS with two threads, wherever the tests run."""
    with threadpool_limits(2):
        yield


def test_one_thread_and_back(two_threads) -> None:
    assert (numbers(), worker_threads()) == ({2}, 2)
    with one_thread():
        assert (numbers(), worker_threads(), numbers("openmp")) == ({1}, 1, {1})
        with one_thread(), one_thread(False):
            assert numbers() == {1}
        assert numbers() == {1}
    assert (numbers(), worker_threads(), numbers("openmp")) == ({2}, 2, {2})


def test_when_not_asked_for_nothing_changes(two_threads) -> None:
    with one_thread(False):
        assert numbers() == {2}


def test_an_error_gives_it_back(two_threads) -> None:
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert numbers() == {2}


def test_small_matrices_have_one_thread_and_blocks_of_rows_all(two_threads) -> None:
    with threads_for(ONE_THREAD_ROWS):
        assert numbers() == {2}
    with threads_for(ONE_THREAD_ROWS - 1):
        assert (numbers(), worker_threads()) == ({1}, 2)
        with one_thread():
            assert (numbers(), worker_threads()) == ({1}, 1)
        assert (numbers(), worker_threads()) == ({1}, 2)
    with pytest.raises(ZeroDivisionError), threads_for(10):
        raise ZeroDivisionError
    assert (numbers(), worker_threads()) == ({2}, 2)


@pytest.mark.filterwarnings("ignore:the search had not converged")
@pytest.mark.parametrize("rank", [None, 20])
def test_a_fit_uses_one_thread(rank: int | None, two_threads, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more than the 1,000 rows from which it once used them all; an error in it gives them back."""
    seen = []
    trained = fit.train_ensemble

    def watched(*arguments: object) -> object:
        seen.append(numbers())
        if len(seen) == 2:
            raise ZeroDivisionError
        return trained(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(fit, "train_ensemble", watched)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1010, 2))
    model = TunedSVC(0, rank=rank, subset=100, max_evaluations=1, random_state=0)
    model.fit(X, X[:, 0] > 0)
    assert (seen, numbers()) == ([{1}], {2})
    with pytest.raises(ZeroDivisionError):
        model.fit(X, X[:, 0] > 0)
    assert (seen, numbers()) == ([{1}, {1}], {2})


@pytest.mark.slow
def test_a_limit_in_joblibs_processes(two_threads) -> None:
    """Whatever number joblib gives its processes, they have it again after a limit."""
    assert Parallel(2)([delayed(_before_within_and_after)() for _ in range(2)]) == [(True, {1}, True)] * 2
    assert numbers() == {2}


def _before_within_and_after() -> tuple[bool, set[int], bool]:
    with threadpool_limits(2):
        before = numbers()
        with threads_for(10):
            within = numbers()
        return before == {2}, within, numbers() == before


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
