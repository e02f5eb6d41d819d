"""Processes that leave Ctrl-C to the one that started them."""

from __future__ import annotations

import signal

from marginwise._interrupts import answer_interrupts


def start_workers(n_jobs: int) -> None:
    """Start the processes of joblib deaf to Ctrl-C, which a terminal sends to all of them: only the command answers.

    A process inherits which signals are ignored; joblib keeps its processes for later calls.
    """
    from joblib import Parallel, delayed

    if n_jobs == 1:
        return
    with answer_interrupts(signal.SIG_IGN):
        Parallel(n_jobs)(delayed(abs)(i) for i in range(2))
