"""Recursive least squares, row by row. Shapes: J (1, p), E (1, r), w (p, r), P (p, p)."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from orfit_bench_torch._loops import ONE_ROW, Array, is_finite, make_learn

LACKS = {
    "models": ONE_ROW,
    "blocks": "this example learns row by row",
    "forgetting_factor=0": "the interpolating limit needs a basis, which this example leaves out",
    "ridge=0": "it starts with a block of rows, which this example leaves out",
    "form=square_root": "this example keeps P",
    "forgetting=directional": "this example keeps P",
}


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """One row: g = P x / sqrt(S) for S = ff + x'P x; w <- w + g e / sqrt(S), P <- (P - g g') / ff."""
    xp = array_namespace(J)
    ff, info = float(p.forgetting_factor), xp.finfo(J.dtype)
    eps, largest = float(info.eps), float(info.max)
    U = s.P @ J.T  # (p, 1)
    S = ff + float((J @ U)[0, 0])
    widest = xp.sqrt(xp.abs(xp.linalg.diagonal(s.P)))
    if not S > 0 or ff * (1 - eps**0.5) > S:
        return False
    deviation = float(xp.sum(xp.abs(J[0, :]) * widest))
    rounding = eps * deviation * deviation / S
    cancellation, limit = eps * S / ff, 0.01 if ff < 1 else 1.0
    if not (rounding <= limit and cancellation <= limit):
        return False
    g = U / S**0.5
    w = s.w + g @ (E / S**0.5)
    P = s.P - g @ g.T
    if not is_finite(w) or not float(xp.max(xp.linalg.diagonal(P))) / ff < largest / 4:
        return False
    s.w[...] = w
    s.P[...] = P / ff
    if rounding > eps**0.5 or cancellation > eps ** (1 / 3) or float(xp.max(widest)) > largest**0.25:
        s.precision_lost[...] = 1
    return True


learn = make_learn(update)
