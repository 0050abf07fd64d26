"""Precision guard for a block of rows, with the decisions of orfit_bench_numba._precision_guard for each row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench.kernels.guards import ACCEPTED, DEGRADED, REFUSED, Limits
from orfit_bench_cupy._transfers import Host


def judge_rows(s: Host, noise: Host, reduced: Host, rounded: Host, widest: Any, limits: Limits) -> int:
    """The worst verdict on the rows: REFUSED, ACCEPTED or DEGRADED, as in the Numba kernel.

    Row j has variance s_j, seen with this noise, which the step reduces by the factor `reduced`; rounded is the
    relative rounding error of s_j, widest the largest P_ii.
    """
    info = np.finfo(s.dtype)
    half = math.sqrt(info.eps)
    cancelled = info.eps * reduced
    accurate = (rounded <= limits.max_rounding) & (cancelled <= limits.max_cancellation)
    if not ((s > 0) & (s >= noise * (1 - half)) & accurate).all():  # NaN too
        return REFUSED
    degraded = (rounded > half) | (cancelled > info.eps ** (1 / 3)) | (widest > math.sqrt(info.max))
    return DEGRADED if degraded.any() else ACCEPTED
