"""How the process treats freed memory."""

from __future__ import annotations

import numpy as np


def keep_freed_blocks() -> None:
    """Let the C library keep freed blocks of up to 31 MB for the next array, instead of giving them back.

    A search makes and drops n×n matrices all the time, and fetching their pages afresh from the system costs about
    as much as a Cholesky factorisation. glibc takes the size of the largest block freed so far (up to 32 MB) as the
    size from which blocks are given back at once; so one is made and dropped, without being touched. Elsewhere this
    does nothing.
    """
    np.empty(31 * 2**20, dtype=np.uint8)
