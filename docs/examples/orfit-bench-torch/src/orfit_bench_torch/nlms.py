"""Normalized LMS: w <- w + step x e / (eps + x'x), one row at a time. Shapes: J (1, p), E (1, r), w (p, r)."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from orfit_bench_torch._loops import ONE_ROW, Array, is_finite, make_learn

LACKS = {"models": ONE_ROW}


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """One step; the row is scaled by its largest entry, so that its square neither overflows nor vanishes."""
    xp = array_namespace(J)
    size = float(xp.max(xp.abs(J)))
    if size == 0:
        return True
    u = J / size  # x = size u
    energy = float(xp.sum(u * u)) + float(p.eps) / size / size
    w = s.w + float(p.step_size[0]) * (u.T @ (E / energy / size))
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


learn = make_learn(update)
