"""Processes that leave Ctrl-C to the one that started them."""

from __future__ import annotations

from marginwise._interrupts import hold_interrupts


def start_workers(n_jobs: int) -> None:
    """Start the processes of joblib deaf to Ctrl-C, which a terminal sends to all of them: only the command answers.

    joblib keeps its processes for later calls.
    """
    from joblib import Parallel, delayed

    if n_jobs == 1:
        return
    with hold_interrupts():
        Parallel(n_jobs)(delayed(abs)(i) for i in range(2))
