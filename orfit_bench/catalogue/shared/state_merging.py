"""The merge of two Kalman filters of a constant state: the sum of their information in coordinates of the prior.

Shapes: mean (d, r), P and S (d, d), B (d, rank) with B B' the first covariance, u (rank, r).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from orfit_bench.catalogue.shared.gaussian_states import covariance_root, lower_root, with_positive_diagonal
from orfit_bench.catalogue.shared.information_roots import Root, add_roots
from orfit_bench.catalogue.shared.merging import add_inverses, any_lost
from orfit_bench.spec import Array, Settings, Side


def merge_states(a: Side, b: Side, settings: Settings) -> dict[str, Array]:
    """L = L_a + L_b - L_0 and L u likewise, in coordinates u of the prior: theta = theta_0 + B u, Sigma_0 = B B'."""
    if a.fields["moved"] or b.fields["moved"]:
        raise ValueError("a state moved between its rows")
    mean, P = a.start["mean"], a.start["covariance"]
    B = covariance_root(P)
    to = np.linalg.pinv(B)
    if "root" in a.fields:
        return _merge_roots(a, b, B, to)
    P_a, P_b = (to @ s.fields["covariance"] @ to.T for s in (a, b))
    u_a, u_b = (to @ (s.fields["mean"] - mean) for s in (a, b))
    if any(len(P) and np.linalg.eigvalsh(P)[0] <= 0 for P in (P_a, P_b)):
        raise ValueError("a direction is known exactly and has no finite information")
    P, (L_a, L_b), lost = add_inverses(P_a, P_b, np.eye(len(P_a), dtype=P_a.dtype), 1.0, a.eps)
    u, M = P @ (L_a @ u_a + L_b @ u_b), B @ P @ B.T
    return {"mean": mean + B @ u, "covariance": M / 2 + M.T / 2, "precision_lost": any_lost(a, b, lost)}


def _merge_roots(a: Side, b: Side, B: Array, to: Array) -> dict[str, Array]:
    """`merge_states` from the roots of the information, in coordinates in which the prior is I."""
    mean, eye = a.start["mean"], np.eye(B.shape[1])
    one, other = (Root(_invert_root(to @ s.fields["root"], s.eps), to @ (s.fields["mean"] - mean)) for s in (a, b))
    (R, u), lost = add_roots(one, other, eye, a.eps)
    S = lower_root(B @ np.linalg.solve(R, eye))
    return {"mean": mean + B @ u, "root": S, "covariance": S @ S.T, "precision_lost": any_lost(a, b, lost)}


def _invert_root(S: Array, eps: float) -> Array:
    """The upper triangular R with R'R = (S S')^-1, for the root S in coordinates in which the first root is I."""
    T: Any = np.linalg.qr(S.T, mode="r")
    if len(T) and np.linalg.svd(T, compute_uv=False).min() <= 10 * len(T) * eps:
        raise ValueError("a direction is known to rounding and has no finite information")
    R: Any = np.linalg.qr(np.linalg.solve(T.T, np.eye(len(T))), mode="r")
    return with_positive_diagonal(R)
