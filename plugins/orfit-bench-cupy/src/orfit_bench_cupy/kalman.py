"""Kalman filter (survey, Proposition 3) and Rauch-Tung-Striebel smoother (survey, Theorem 7, with A_j in the gain).

Rows with noise of a state at rest are learned as in rls; a state that moves, and rows without noise, on the host.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from orfit_bench_cupy._blocks import decided, learn_rows
from orfit_bench_cupy._host import Array, fetch, on_host
from orfit_bench_numba import kalman


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """Row after row."""
    (R,) = fetch(p.observation_noise)
    noise = np.resize(R, len(X))
    if p.moves.any() or (noise == 0).any():
        return decided(s, X, Y, noise, at_home(p), out, kalman)
    return learn_rows(s, s.covariance, s.mean, X, Y, noise, at_home(p), out, kalman)


def at_home(p: Any) -> Any:
    """p with its matrices in host memory."""
    names = [
        n for n in ("transition", "process_noise", "observation_noise") if hasattr(getattr(p, n), "__array_namespace__")
    ]
    return p._replace(**{n: fetch(getattr(p, n))[0] for n in names})


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """All rows of A as observations of one moment."""
    return bool(on_host(s, lambda t, a, y: kalman.step(t, a, y, at_home(p)), A, Y))


def transit(s: Any, mean: Array, p: Any) -> bool:
    """theta <- A theta (or another mean, from a nonlinear transition),  Sigma <- A Sigma A' + Q."""
    return bool(on_host(s, lambda t, m: kalman.transit(t, m, at_home(p)), mean))


def update(s: Any, J: Array, E: Array, p: Any) -> bool:
    """theta <- theta + K E,  Sigma <- Sigma - K X'Sigma  with K = Sigma X (R + X'Sigma X)^-1, X' = J."""
    return bool(on_host(s, lambda t, j, e: kalman.update(t, j, e, at_home(p)), J, E))


def rts(F: Sequence[Array], m_pred: Array, P_pred: Array, m: Array, P: Array) -> None:
    """theta_(j-1|n) = theta_(j-1|j-1) + L (theta_(j|n) - theta_(j|j-1)), and Sigma likewise, from the last j back."""
    if not len(F):
        return
    found = [np.array(a) for a in fetch(m_pred, P_pred, m, P)]
    kalman.rts([fetch(f)[0] for f in F], *found)
    for a, new in zip((m, P), found[2:], strict=True):
        a[...] = a.__array_namespace__().asarray(new)
