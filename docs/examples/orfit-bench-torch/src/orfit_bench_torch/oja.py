"""Oja's rule: C <- Q for Q R = C + step / N A'A C. Shapes: A (N, d), C (d, k)."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from orfit_bench_torch._loops import Array, is_finite


def rule(s: Any, A: Array, p: Any) -> bool:
    """All rows of A as one step."""
    xp = array_namespace(A)
    C = s.basis + float(p.step_size[0]) / A.shape[0] * (A.T @ (A @ s.basis))
    if not is_finite(C):
        return False
    Q, R = xp.linalg.qr(C)
    if not float(xp.finfo(C.dtype).eps) * float(xp.max(xp.abs(R))) <= 0.01:
        return False
    s.basis[...] = Q * xp.sign(xp.linalg.diagonal(R))
    return True


def learn(s: Any, X: Array, Y: Array, p: Any, out: Array | None) -> int:
    """batch_size rows a step."""
    B = p.batch_size
    for i in range(0, X.shape[0], B):
        if not rule(s, X[i : i + B, :], p.at(i // B)):
            return i
    return int(X.shape[0])


def step(s: Any, A: Array, Y: Array, p: Any) -> bool:
    """All rows of A as one step."""
    return rule(s, A, p)
