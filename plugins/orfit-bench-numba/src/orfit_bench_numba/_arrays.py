"""The types of the arrays that kernels work on, and of the functions that they bind to a state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""Floating, C-contiguous; all arrays of a call have one dtype."""
Indices = NDArray[np.int64]
Scalar = float | np.floating[Any]
"""A number of any float type; in machine code it has the dtype of the arrays."""
LONGEST = 2**62
"""Bound of lengths, which compiled functions get as integers of 64 bits; no memory has as many rows."""
BoundRow = Callable[[Array, float], int]
"""Learns a row and its target."""
BoundRows = Callable[[Array, Array, Array], int]
"""Learns rows and their targets; the third array gets the predictions."""
BoundLabel = Callable[[Array, int], int]
"""Learns a row and the position of its class."""
BoundSample = Callable[[Array, int], int]
"""Learns a row of a subspace, given the number of its step."""
