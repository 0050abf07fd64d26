"""Whether all entries of arrays of a backend are finite."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from orfit_bench.spec.arrays import has_finite_sum
from orfit_bench.spec.backend import Array


def is_finite(a: Array, xp: ModuleType) -> bool:
    """Whether all entries are finite; in host memory without a temporary, unless their sum overflows."""
    if type(a) is np.ndarray and has_finite_sum(a):
        return True
    return bool(xp.all(xp.isfinite(a)))


def are_finite(arrays: Sequence[Array], xp: ModuleType) -> bool:
    """Whether all entries of arrays are finite. It waits for a device only once."""
    if len(arrays) < 2 or type(arrays[0]) is np.ndarray:
        return all(is_finite(a, xp) for a in arrays)
    return bool(xp.all(xp.stack([xp.all(xp.isfinite(a)) for a in arrays])))
