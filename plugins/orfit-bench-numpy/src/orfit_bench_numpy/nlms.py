"""Normalised LMS (survey, the program LMS; Krasulina paper, after eq. 13)."""

from typing import Any

import numpy as np

from orfit_bench_numpy._algebra import Array, by_rows, damped_inverse, finite, squares


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + step J'(J J' + eps I)^+ E, which for one row is step e x / (eps + x'x)."""
    energy = np.vdot(J, J) + J.dtype.type(p.eps)
    # the general form is for several outputs of a model, and for rows whose square over- or underflows
    move = J.T @ (E / energy) if len(J) == 1 and squares(energy) else damped_inverse(J, p.eps) @ E
    w = s.w + p.step_size[0] * move
    if not finite(w):
        return False
    s.w[...] = w
    return True


learn = by_rows(update)
