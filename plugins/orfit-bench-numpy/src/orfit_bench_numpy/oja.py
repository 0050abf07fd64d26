"""Oja's rule for k-PCA (Krasulina paper, after eq. 9)."""

from typing import Any

from orfit_bench_numpy._subspace import Array, by_block, by_steps, orthonormal


def rule(s: Any, A: Array, p: Any) -> bool:
    """C <- QR(C + step/N Y Y'C), along the unprojected gradient of the variance, eq. (7)."""
    C = orthonormal(s.basis + p.step_size[0] / len(A) * (A.T @ (A @ s.basis)))
    if C is None:
        return False
    s.basis[...] = C
    return True


learn = by_steps(rule)
step = by_block(rule)
