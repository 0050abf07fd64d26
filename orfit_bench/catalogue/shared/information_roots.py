"""RLS in the square-root form: its merge, and the batch solution of directional forgetting.

Shapes: X (n, d), Y (n, r), w (d, r), R (d, d) upper triangular, L = R'R the information.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from orfit_bench.catalogue.shared.gaussian_states import with_positive_diagonal
from orfit_bench.catalogue.shared.merging import any_lost
from orfit_bench.spec import Array, Side

LARGEST = 1e9
"""Largest n d^3 for which the batch solution of directional forgetting is computed; beyond, it takes too long."""


class Root(NamedTuple):
    """Information L = R'R, and the change z (d, r) of the weights that minimizes the sum."""

    R: Array
    z: Array


class Learned(NamedTuple):
    """The rows A with targets B that a root has learned in addition to its prior.

    Rounding can hide rows E: A'A is known only up to E'E. M (d, r) is the part of A'B along directions in which A'A is
    rounding. `lost` is whether half of the digits of A are lost in some direction.
    """

    rows: Root
    M: Array
    E: Array
    lost: bool


def add_root_information(a: Side, b: Side, kept: float) -> dict[str, Array]:
    """The root of L = kept L_a + L_b - kept L_0, and the w that minimizes the sum of both objectives."""
    w_0, share = a.start["w"], np.sqrt(kept)
    one, other = (Root(side.fields["root"], side.fields["w"] - w_0) for side in (a, b))
    merged, lost = add_roots(one._replace(R=share * one.R), other, share * a.start["root"], b.eps)
    fields = {"w": w_0 + merged.z, "root": merged.R}
    return fields | ({"precision_lost": any_lost(a, b, lost)} if "precision_lost" in a.fields else {})


def add_roots(a: Root, b: Root, C: Array, eps: float) -> tuple[Root, bool]:
    """The sum of the information of both without C'C, the prior of b, and the minimizer of the sum.

    Also whether half of the digits are lost, in some direction that b has learned or in the sum: if a has forgotten,
    the sum can be smaller than the rows that the prior of b hides.
    """
    from scipy.linalg import solve_triangular  # slow to import

    rows, M, E, lost = learned_by(b, C, eps)
    both = np.vstack([a.R, rows.R]), np.vstack([a.R @ a.z, rows.z])
    T: Any = np.linalg.qr(np.hstack(both), mode="r")[: len(a.R)]
    if not (np.isfinite(T).all() and np.diagonal(T).all()):
        raise ValueError("the sum of the information is singular or overflows")
    T = with_positive_diagonal(T)
    R = np.triu(T[:, : len(T)])
    hidden = np.linalg.norm(solve_triangular(R, E.conj().T, trans="C"), axis=0) ** 2
    turned = T[:, len(T) :] + solve_triangular(R, M, trans="C")
    return Root(R, np.linalg.solve(R, turned)), lost or bool((hidden > eps**0.5).any())


def learned_by(root: Root, C: Array, eps: float) -> Learned:
    """Rows A and targets B with A'A = R'R - C'C and A'B = R'R z, where C'C is the prior of the root.

    With V = R^-T C', the share of the rows is I - V V' = U S^2 U', for any scale of the columns, and A = S U'R. If it
    is only rounding in a direction, the rows were negligible compared with the prior or did not have that direction,
    so z along it is only rounding. The rounding of V grows with |R e_j| / R_jj.
    """
    from scipy.linalg import solve_triangular  # slow to import

    R, z = root
    diagonal = np.diagonal(R).real
    if not diagonal.all():  # no prior, and no rows
        return Learned(Root(R[:0], z[:0]), np.zeros_like(z), R[:0], False)
    V = solve_triangular(R, C.conj().T, trans="C")
    share, U = np.linalg.eigh(np.eye(len(R)) - V @ V.conj().T)
    growth = float(np.max(np.linalg.norm(R, axis=0) / diagonal, initial=1))
    rounding = eps * growth * np.abs(1 - share)
    least = 10 * len(R) * eps + rounding
    used = share > least
    turned, S = U.conj().T @ R, np.sqrt(share[used])[:, None]
    Z = turned @ z
    known = ~used[:, None] & (np.abs(Z) > 10 * len(R) * eps * (np.abs(turned) @ np.abs(z)))
    lost = bool((rounding[used] > eps**0.5 * share[used]).any())
    E = np.sqrt(np.where(used, rounding, least))[:, None] * turned
    return Learned(Root(S * turned[used], Z[used] / S), turned.conj().T @ np.where(known, Z, 0), E, lost)


def solve_directional(X: Array, Y: Array, w0: Array, ridge: float, forgetting: float) -> Array | None:
    """The weights of SIFt-RLS by definition, with the information itself; None if that takes too long.

    Before a row x is added, L - (1 - ff) L x x'L / (x'L x) replaces L if |x|^2 is at least |1 - ff| ridge.
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
