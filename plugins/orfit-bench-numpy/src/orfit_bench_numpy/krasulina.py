"""Krasulina's rule for k-PCA (Krasulina paper, eq. 9)."""

from typing import Any

from orfit_bench_numpy._subspace import Array, by_block, by_steps, orthonormal


def rule(s: Any, A: Array, p: Any) -> bool:
    """C <- QR(C - step/N (C X - Y) X') with X = C'Y, along the projected gradient, eq. (8)."""
    X = A @ s.basis  # (N, k), the X' of the paper
    C = orthonormal(s.basis - p.step_size[0] / len(A) * ((X @ s.basis.T - A).T @ X))
    if C is None:
        return False
    s.basis[...] = C
    return True


learn = by_steps(rule)
step = by_block(rule)
