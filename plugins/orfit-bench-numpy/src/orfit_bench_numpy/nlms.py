"""Normalised LMS (survey, the program LMS; Krasulina paper, after eq. 13)."""

from typing import Any

import numpy as np

from orfit_bench_numpy._algebra import Array, by_rows, finite


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + step J'(J J' + eps I)^+ E, which for one row is step e x / (eps + x'x)."""
    N = J @ J.T + p.eps * np.eye(len(J), dtype=J.dtype)  # (q, q)
    if len(N) > 1:
        E = np.linalg.pinv(N, hermitian=True) @ E
    elif N[0, 0] > 0:
        E = E / N[0, 0]
    else:
        return True  # a row of zeros teaches nothing
    w = s.w + p.step_size[0] * (J.T @ E)
    if not finite(w):
        return False
    s.w[...] = w
    return True


learn = by_rows(update)
