"""Covariance updates with several rows in one step, by matrix products on the device.

For rows J (q, p) of noise R let R + J P J' = L L' and V = L^-1 J P: P becomes (P - V'V) / ff, and w changes by V'L^-1
E. The CPU factors the q x q matrix and decides whether a step is refused, for which it waits for the device twice; P
stays on the device. A step takes 4 q p^2 flops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orfit_bench.kernels.guards import (
    DEGRADED,
    NO_LIMITS,
    REFUSED,
    Limits,
    factor_innovation,
    joint_reduction,
    noise_pivots,
    reductions,
    remaining_variances,
)
from orfit_bench.kernels.threads import limit_blas_threads
from orfit_bench_cupy._precision_guard import judge_rows
from orfit_bench_cupy._symmetric import downdate
from orfit_bench_cupy._transfers import Array, Host, fetch, invert_lower


class Change(NamedTuple):
    """A step that replaces P by (P - V'V) / ff, with T = L^-1; degraded if half of the digits of P are lost."""

    V: Array
    T: Array
    degraded: bool

    def move(self, E: Array) -> Array:
        """The change V'L^-1 E of w for errors E (q, r)."""
        return self.V.T @ (self.T @ E)


def learn_step(
    P: Array,
    w: Array,
    J: Array,
    E: Array,
    R: Host,
    degraded: Array,
    limits: Limits = NO_LIMITS,
    regained: Array | None = None,
    variances: Array | None = None,
) -> bool:
    """Learn rows J (q, p) with errors E (q, r) and noise R (q, q) as one step; if refused, change nothing.

    regained (q, q) is the covariance that is added along the rows before the next step. Rounding is measured relative
    to variances (p,), which are at least the diagonal of P.
    """
    found = compute_changes([(P, J)], R, limits, regained, variances)
    return bool(found) and apply_changes(w, w + found[0].move(E), [(P, found[0])], degraded, limits)


def compute_changes(
    parts: Sequence[tuple[Array, Array]],
    R: Host,
    limits: Limits,
    regained: Array | None = None,
    variances: Array | None = None,
) -> list[Change]:
    """The change for every pair (P, J); an empty list if too few digits of a P would be left."""
    U = [J @ P for P, J in parts]
    measured = (measure_variances(P, J, u, variances) for (P, J), u in zip(parts, U, strict=True))
    numbers = fetch(*(a for found in measured for a in found), *([] if regained is None else [regained]))
    r, found = noise_pivots(R), []
    remaining = remaining_variances(r, R, None if regained is None else numbers.pop())
    with limit_blas_threads(float(len(R)) ** 3):
        for u, *(along, size, widest) in zip(U, numbers[::3], numbers[1::3], numbers[2::3], strict=True):
            S = along + R
            L = factor_innovation(S, r)
            if L is None:
                return []
            eps = float(np.finfo(S.dtype).eps)
            rounded = eps * size**2 / np.diagonal(S)
            verdict = judge_rows(np.diagonal(L) ** 2, r, reductions(size**2, L, remaining), rounded, widest, limits)
            if verdict == REFUSED:
                return []
            degraded = verdict == DEGRADED or eps * joint_reduction(L, remaining) > eps ** (1 / 3)
            T = u.__array_namespace__().asarray(invert_lower(L))
            found.append(Change(T @ u, T, degraded))
    return found


def measure_variances(P: Array, J: Array, U: Array, variances: Array | None) -> tuple[Array, Array, Array]:
    """J P J', the sum of |J_i| sqrt(P_ii) for every row, and the largest |P_ii|, of P or of the given variances."""
    xp = P.__array_namespace__()
    scale = xp.abs(xp.diagonal(P) if variances is None else variances)
    return U @ J.T, xp.abs(J) @ xp.sqrt(scale), xp.max(scale)


def apply_changes(
    w: Array, moved: Array, parts: Sequence[tuple[Array, Change]], degraded: Array, limits: Limits
) -> bool:
    """Apply w <- moved and the change of every P; if a number is too large, change nothing and return False."""
    xp = w.__array_namespace__()
    highest = (xp.max(xp.diagonal(P) - xp.sum(change.V**2, axis=0)) for P, change in parts)
    reach, *after = fetch(xp.max(xp.abs(moved)), *highest)
    if not np.isfinite(reach) or not all(a / limits.ff < limits.max_variance for a in after):
        return False
    w[...] = moved
    for P, change in parts:
        downdate(P, change.V, limits.ff)
        if change.degraded:
            degraded[...] = 1
    return True
