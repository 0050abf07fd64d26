"""Several rows that correct covariances as one step, by products on the device.

For rows J (q, p) of noise R let R + J P J' = L L' and V = L^-1 J P: P becomes (P - V'V) / ff, and w moves by
V'L^-1 E. The factor of q x q numbers, and all that a step is refused for, are the host's, which waits for the device
twice; P never leaves it. A step takes 4 q p^2 flops.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from orfit_bench_cupy._host import Array, Host, fetch, inverted
from orfit_bench_cupy._signs import LOST, REFUSED, verdict
from orfit_bench_cupy._symmetric import take_off
from orfit_bench_numba._covariance import cholesky, pivots


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
    found = changes([(P, J)], R, least, renewed)
    return bool(found) and correct(w, w + found[0].move(E), [(P, found[0])], lost, ff, most)


def changes(parts: Sequence[tuple[Array, Array]], R: Host, least: float, renewed: Any = 0.0) -> list[Change]:
    """What the rows J of every (P, J) do; an empty list where too few digits of a P would be left."""
    U = [J @ P for P, J in parts]
    numbers = fetch(*(a for (P, J), u in zip(parts, U, strict=True) for a in looked(P, J, u)))
    r, found = pivots(R), []
    for u, *(variances, size, widest) in zip(U, numbers[::3], numbers[1::3], numbers[2::3], strict=True):
        S = variances + R
        L = cholesky(S, r)
        if L is None:
            return []
        rounded = np.finfo(S.dtype).eps * size**2 / np.diagonal(S)
        says = verdict(np.diagonal(L) ** 2, r, r + renewed, rounded, widest, least)
        if says == REFUSED:
            return []
        T = u.__array_namespace__().asarray(inverted(L))
        found.append(Change(T @ u, T, says == LOST))
    return found


def looked(P: Array, J: Array, U: Array) -> tuple[Array, Array, Array]:
    """J P J', of every row sum |J_i| sqrt(P_ii), and the largest |P_ii|."""
    xp = P.__array_namespace__()
    scale = xp.abs(xp.diagonal(P))
    return U @ J.T, xp.abs(J) @ xp.sqrt(scale), xp.max(scale)


def correct(w: Array, moved: Array, parts: Sequence[tuple[Array, Change]], lost: Array, ff: float, most: float) -> bool:
    """w becomes `moved`, and every P what its change says; False, and all stays, where a number is too large."""
    xp = w.__array_namespace__()
    highest = (xp.max(xp.diagonal(P) - xp.sum(change.V**2, axis=0)) for P, change in parts)
    reach, *after = fetch(xp.max(xp.abs(moved)), *highest)
    if not np.isfinite(reach) or not all(a / ff < most for a in after):
        return False
    w[...] = moved
    for P, change in parts:
        take_off(P, change.V, ff)
        if change.lost:
            lost[...] = 1
    return True
