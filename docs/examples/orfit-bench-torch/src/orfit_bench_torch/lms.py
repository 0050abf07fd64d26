"""LMS: w <- w + step J'E. Shapes: J (q, p), E (q, r), w (p, r)."""

from __future__ import annotations

from typing import Any

from orfit_bench_torch._loops import NO_MODELS, Array, is_finite, make_learn

LACKS = {"models": NO_MODELS}


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """One step along the errors' gradient."""
    w = s.w + float(p.step_size[0]) * (J.T @ E)
    if not is_finite(w):
        return False
    s.w[...] = w
    return True


learn = make_learn(update)
