"""The types of the arrays that kernels work on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
"""Floating, C-contiguous; all arrays of a call have one dtype."""
Indices = NDArray[np.int64]
Scalar = float | np.floating[Any]
"""A number of any float type; in machine code it has the dtype of the arrays."""
