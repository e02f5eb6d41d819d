"""The types of arrays, named once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

#: Real numbers of any shape; shapes are in the docstrings.
Array = npt.NDArray[np.float64]

#: Places in an array.
Indices = npt.NDArray[np.intp]

#: True or false for each row.
Mask = npt.NDArray[np.bool_]
