"""Steps by several rows that correct covariances, by matrix products on the device.

For rows J (q, p) of noise R let R + J P J' = L L' and V = L^-1 J P: P becomes (P - V'V) / ff, and w changes by
V'L^-1 E. The CPU computes the factor of q x q numbers and decides whether a step is refused, for which it waits for the
device twice; P stays on the device. A step takes 4 q p^2 flops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from orfit_bench.kernels.guards import factor_innovation, noise_pivots
from orfit_bench_cupy._precision_guard import DEGRADED, REFUSED, judge_rows
from orfit_bench_cupy._symmetric import downdate
from orfit_bench_cupy._transfers import Array, Host, fetch, invert_lower


class Change(NamedTuple):
    """What rows do: P becomes (P - V'V) / ff, and T = L^-1; lost where half of P's digits are gone."""

    V: Array
    T: Array
    lost: bool

    def move(self, E: Array) -> Array:
        """How w moves for errors E (q, r)."""
        return self.V.T @ (self.T @ E)


def learn_step(
    P: Array,
    w: Array,
    J: Array,
    E: Array,
    R: Host,
    lost: Array,
    ff: float = 1.0,
    least: float = 1.0,
    most: float = math.inf,
    renewed: Any = 0.0,
) -> bool:
    """Learn rows J (q, p) with errors E (q, r) and noise R (q, q) as one step, after which P is divided by ff.

    renewed is what the variances along the rows regain before the next ones. False, and nothing is changed, where too
    few digits would be left (an estimate above `least`), or a number would not be finite, or a P_ii not below `most`.
    """
    found = compute_changes([(P, J)], R, least, renewed)
    return bool(found) and apply_changes(w, w + found[0].move(E), [(P, found[0])], lost, ff, most)


def compute_changes(parts: Sequence[tuple[Array, Array]], R: Host, least: float, renewed: Any = 0.0) -> list[Change]:
    """What the rows J of every (P, J) do; an empty list where too few digits of a P would be left."""
    U = [J @ P for P, J in parts]
    numbers = fetch(*(a for (P, J), u in zip(parts, U, strict=True) for a in measure_variances(P, J, u)))
    r, found = noise_pivots(R), []
    for u, *(variances, size, widest) in zip(U, numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        S = variances + R
        L = factor_innovation(S, r)
        if L is None:
            return []
        rounded = np.finfo(S.dtype).eps * size**2 / np.diagonal(S)
        says = judge_rows(np.diagonal(L) ** 2, r, r + renewed, rounded, widest, least)
        if says == REFUSED:
            return []
        T = u.__array_namespace__().asarray(invert_lower(L))
        found.append(Change(T @ u, T, says == DEGRADED))
    return found


def measure_variances(P: Array, J: Array, U: Array) -> tuple[Array, Array, Array]:
    """J P J', of every row sum |J_i| sqrt(P_ii), and the largest |P_ii|."""
    xp = P.__array_namespace__()
    scale = xp.abs(xp.diagonal(P))
    return U @ J.T, xp.abs(J) @ xp.sqrt(scale), xp.max(scale)


def apply_changes(
    w: Array, moved: Array, parts: Sequence[tuple[Array, Change]], lost: Array, ff: float, most: float
) -> bool:
    """w becomes `moved`, and every P what its change says; False, and all stays, where a number is too large."""
    xp = w.__array_namespace__()
    highest = (xp.max(xp.diagonal(P) - xp.sum(change.V**2, axis=0)) for P, change in parts)
    reach, *after = fetch(xp.max(xp.abs(moved)), *highest)
    if not np.isfinite(reach) or not all(a / ff < most for a in after):
        return False
    w[...] = moved
    for P, change in parts:
        downdate(P, change.V, ff)
        if change.lost:
            lost[...] = 1
    return True
