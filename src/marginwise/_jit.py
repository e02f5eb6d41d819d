"""Compilation of numerical loops, in one place."""

from __future__ import annotations

import numba

#: Compiles at the first call and keeps the machine code on disk, so that later processes start at once.
compiled = numba.njit(cache=True, nogil=True)

#: The same, free to reorder sums and to assume no NaN, so that loops use vector instructions. Infinities are kept.
compiled_vector = numba.njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "contract", "reassoc", "arcp"})
