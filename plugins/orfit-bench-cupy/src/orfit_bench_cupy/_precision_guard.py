"""Precision guard for a block of rows: what orfit_bench_numba._precision_guard decides for each of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orfit_bench_cupy._transfers import Host
from orfit_bench_numba._precision_guard import ACCEPTED, DEGRADED, REFUSED

__all__ = ["ACCEPTED", "DEGRADED", "REFUSED", "judge_rows"]


def judge_rows(s: Host, noise: Host, left: Any, rounded: Host, widest: Any, least: float) -> int:
    """What the worst of the rows comes to, as in the host's kernel: REFUSED, LEARNED or LOST.

    Row j has variance s_j, seen with this noise; `left` is the variance along it for the next rows, or less; s_j was
    rounded by so much of itself; widest is the largest P_ii that it found; an estimate above `least` is refused.
    """
    info = np.finfo(s.dtype)
    half = math.sqrt(info.eps)
    cancelled = info.eps * s / left
    if not ((s > 0) & (s >= noise * (1 - half)) & (rounded <= least) & (cancelled <= least)).all():  # NaN too
        return REFUSED
    worn = (rounded > half) | (cancelled > info.eps ** (1 / 3)) | (widest > math.sqrt(info.max))
    return DEGRADED if worn.any() else ACCEPTED
