"""The motion of a filter's state as arrays for compiled functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.spec.kernel_arguments import FilterParams
from orfit_bench_numba._arrays import Array


def collect_motion(p: FilterParams, part: slice, W: Array) -> tuple[Array, ...]:
    """The arrays of `Motion` for some rows; W (c, d) are the means."""
    f, F = split_vectors_matrices(p.transition, part, W.dtype)
    q, Q = split_vectors_matrices(p.process_noise, part, W.dtype)
    control = np.empty((0, *W.shape), W.dtype)
    if p.control is not None:
        control = np.ascontiguousarray(p.control[part].transpose(0, 2, 1))
    return f, F, q, Q, select_rows(p.is_dynamic, part).astype(W.dtype), control


def is_by_matrix(motion: tuple[Array, ...]) -> bool:
    """Whether the transition or the process noise is a matrix."""
    return bool(max(motion[1].shape[1], motion[3].shape[1]) > 0)


def select_rows(value: Array, part: slice) -> Array:
    """The entries for some rows; a single entry holds for all rows."""
    return value if len(value) == 1 else value[part]


def split_vectors_matrices(value: Array | None, part: slice, dtype: Any) -> tuple[Array, Array]:
    """Numbers or diagonals (m, 1 or d), and matrices (m, d, d); the array that is not given has size 0."""
    if value is None or value.ndim < 3:
        vectors = np.empty((1, 0), dtype) if value is None else select_rows(value.reshape(len(value), -1), part)
        return vectors, np.empty((1, 0, 0), dtype)
    return np.empty((1, 0), dtype), select_rows(value, part)
