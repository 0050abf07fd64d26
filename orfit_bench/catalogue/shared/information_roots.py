"""RLS in the square-root form: its merge, and the batch solution of directional forgetting.

Shapes: X (n, d), Y (n, r), w (d, r), R (d, d) upper triangular, L = R'R the information.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.shared.gaussian_states import with_positive_diagonal
from orfit_bench.spec import Array, Side

LARGEST = 1e9
"""Operations n d^3, beyond which the batch solution of directional forgetting takes too long."""


def add_root_information(a: Side, b: Side, kept: float) -> dict[str, Array]:
    """The root of L = kept L_a + L_b - kept L_0, and the w that minimizes the sum of what both minimize.

    For L_0 = C'C, the rows of b alone have the information L_b - kept L_0 = C'V (S^2 - kept) V'C, from the singular
    values S of R_b C^-1: what rounding left of the prior is dropped with the values that are not above it.
    """
    w_a, w_b, w_0, C = a.fields["w"], b.fields["w"], a.start["w"], a.start["root"]
    has_prior = bool(np.diagonal(C).all())
    C = C if has_prior else np.eye(len(C), dtype=C.dtype)
    _, S, Vt = np.linalg.svd(np.linalg.solve(C.T, b.fields["root"].T).T)
    gained = S**2 - kept * has_prior
    used = gained > len(S) * b.eps * S.max(initial=0) ** 2
    roots, directions = np.sqrt(gained[used]), Vt[used] @ C
    A = roots[:, None] * directions
    target = (S[used, None] ** 2 * (directions @ (w_b - w_0))) / roots[:, None]
    R_a = np.sqrt(kept) * a.fields["root"]
    both = np.vstack([R_a, A]), np.vstack([R_a @ (w_a - w_0), target])
    T: Any = np.linalg.qr(np.hstack(both), mode="r")[: len(S)]
    if not (np.isfinite(T).all() and np.diagonal(T).all()):
        raise ValueError("the sum of the information is singular or overflows")
    T = with_positive_diagonal(T)
    R = np.triu(T[:, : len(S)])
    fields = {"w": w_0 + np.linalg.solve(R, T[:, len(S) :]), "root": R}
    if "precision_lost" in a.fields:
        fields["precision_lost"] = np.maximum(a.fields["precision_lost"], b.fields["precision_lost"])
    return fields


def solve_directional(X: Array, Y: Array, w0: Array, ridge: float, forgetting: float) -> Array | None:
    """The weights of SIFt-RLS by its definition, with the information itself; None if that takes too long.

    Before the row x is added, L - (1 - ff) L x x'L / (x'L x) replaces L where |x|^2 is at least |1 - ff| ridge.
    """
    n, d = X.shape
    if n * d**3 > LARGEST:
        return None
    L, w = ridge * np.eye(d), np.array(w0, float)
    for x, y in zip(X, Y, strict=True):
        Lx = L @ x
        if x @ x >= abs(1 - forgetting) * ridge and x @ x > 0:
            L = L - (1 - forgetting) * np.outer(Lx, Lx) / (x @ Lx)
        L = L + np.outer(x, x)
        w = w + np.outer(np.linalg.solve(L, x), y - x @ w) if L.any() else w
    return w
