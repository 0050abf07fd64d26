"""Normalised LMS (survey, the program LMS; Krasulina paper, after eq. 13)."""

from typing import Any

import numpy as np

from orfit_bench_numpy._algebra import Array, by_rows, finite, squares


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """w <- w + step J'(J J' + eps I)^+ E, which for one row is step e x / (eps + x'x)."""
    N = J @ J.T + p.eps * np.eye(len(J), dtype=J.dtype)  # (q, q)
    if len(N) == 1 and squares(N[0, 0]):
        move = J.T @ (E / N[0, 0])
    elif finite(N) and p.eps > 0:
        move = J.T @ (np.linalg.pinv(N, hermitian=True) @ E)
    else:  # beside such rows eps is nothing; LAPACK scales them, and a row of zeros teaches nothing
        move = np.linalg.lstsq(J, E, rcond=None)[0]
    w = s.w + p.step_size[0] * move
    if not finite(w):
        return False
    s.w[...] = w
    return True


learn = by_rows(update)
