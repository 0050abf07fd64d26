"""Merge rules that several declarations share, for two operands a and b; b's rows follow a's.

Shapes: w (p, r), U (k, p) orthonormal rows, P and the information L = P^-1 (p, p).
"""

from __future__ import annotations

from functools import partial

import numpy as np

from orfit_bench.spec import Array, Combine, Merge, Settings, Side

MOST_ERROR = 0.01
"""The largest accepted relative error of the inverse of a matrix."""


def combine_by_mean(*names: str) -> Combine:
    """Merge by the mean of these fields, weighted by the number of rows; average them too."""
    rule = Merge(
        "averaged",
        "the mean of the weights, weighted by the number of rows",
        lambda a, b, settings: weighted_mean(a, b, *names),
    )
    return Combine(rule, averages=names)


def weighted_mean(a: Side, b: Side, *names: str) -> dict[str, Array]:
    """The means weighted by the number of rows, so that the order of merging does not matter."""
    share = b.rows / (a.rows + b.rows)
    return {name: a.fields[name] * (1 - share) + b.fields[name] * share for name in names}


def union_refusal(settings: Settings, linear: bool) -> str:
    """The reason why the union of the constraints cannot be formed; empty if it can."""
    if settings.get("memory") is not None:
        return f"with memory={settings['memory']} earlier rows may have been dropped and the union may not fit"
    return "" if linear else "on a nonlinear model, the two learners took gradients at different weights"


def merge_constraints(a: Side, b: Side) -> dict[str, Array]:
    """The w nearest to a's that predicts like a on a's rows and like b on b's rows, and the joint basis.

    Survey, Remark 1. ICL learns each row u of b's basis with the target u'w_b; dependent rows change nothing.
    """
    w, U = a.fields["w"], a.fields["basis"]
    for u in b.fields["basis"]:
        r = residual(U, u)
        norm = np.linalg.norm(r)
        if norm > np.sqrt(a.eps):
            g = u.conj()
            w = w + np.outer(r, (g @ b.fields["w"] - g @ w) / (g @ r))
            U = np.vstack([U, r / norm])
    return {"w": w, "basis": U}


def extend_basis(U: Array, V: Array, least: float) -> Array:
    """Extend the orthonormal rows U by the directions of V whose residual norm exceeds `least`."""
    for v in V:
        r = residual(U, v)
        if (norm := np.linalg.norm(r)) > least:
            U = np.vstack([U, r / norm])
    return U


UNION = Merge(
    "exact",
    "the union of the constraints of both learners, if dependent rows agree; linear model without a memory limit",
    lambda a, b, settings: merge_constraints(a, b),
    union_refusal,
)


def residual(U: Array, V: Array) -> Array:
    """V (p,) or (p, r) projected off the rows of U, twice, to remove rounding errors of the first projection."""
    for _ in range(2):
        V = V - U.T @ (U.conj() @ V)
    return V


def remaining_weight(forgetting_factor: float, steps: int) -> float:
    """The weight ff^steps that earlier rows keep; infinite if it overflows."""
    with np.errstate(over="ignore"):
        return float(np.float64(forgetting_factor) ** steps)


def add_information(a: Side, b: Side, kept: float, prior: bool = True) -> dict[str, Array]:
    """L = kept L_a + L_b - kept L_0, and L w likewise (survey, eq. 10), so that the prior L_0 with w_0 counts once.

    kept = ff^n_b is the weight of the rows of a after the steps of b; without a prior, L_0 = 0. Returns the fields w, P
    and precision_lost. Raises ValueError if too few digits are left.
    """
    w_a, w_b, w_0 = a.fields["w"], b.fields["w"], a.start["w"]
    P_0 = a.start["P"] if prior else None
    P, (L_a, L_b), lost = add_inverses(a.fields["P"], b.fields["P"], P_0, kept, a.eps)
    w = w_0 + P @ (kept * (L_a @ (w_a - w_0)) + L_b @ (w_b - w_0))
    return {"w": w, "P": P, "precision_lost": any_lost(a, b, lost)}


def any_lost(a: Side, b: Side, lost: bool) -> Array:
    """The field precision_lost of a merged learner."""
    return np.maximum(np.maximum(a.fields["precision_lost"], b.fields["precision_lost"]), float(lost))


def add_inverses(
    P_a: Array, P_b: Array, P_0: Array | None, kept: float, eps: float
) -> tuple[Array, tuple[Array, Array], bool]:
    """P with P^-1 = kept (P_a^-1 - P_0^-1) + P_b^-1, P_a^-1 and P_b^-1, and whether half of the digits are lost.

    A difference loses as many digits as its terms are larger than it.
    """
    inverse = partial(invert_spd, eps=eps)
    (L_a, error_a), (L_b, error_b) = inverse(P_a, what="P"), inverse(P_b, what="the other's P")
    L_0 = np.zeros_like(L_a) if P_0 is None else inverse(P_0, what="the first P")[0]
    with np.errstate(over="ignore", invalid="ignore"):  # `invert_spd` refuses the result
        L = kept * (L_a - L_0) + L_b
        terms = np.diagonal(kept * (np.abs(L_a) + np.abs(L_0)) + np.abs(L_b))
    P, error = inverse(L, what="the sum of the information", terms=terms)
    return P, (L_a, L_b), bool(max(error, error_a, error_b) > eps**0.5)


def invert_spd(M: Array, eps: float, what: str, terms: Array | None = None) -> tuple[Array, float]:
    """The inverse of a symmetric positive definite M, exactly symmetric, and an estimate of its relative error.

    `terms` (d,) is the size of the terms that add up to the diagonal of M. M is scaled to a unit diagonal before its
    Cholesky factorization; the largest variance of its inverse then measures the precision in the weakest direction.
    Raises ValueError if the error is more than 1 %.
    """
    from scipy.linalg import get_lapack_funcs

    diagonal = np.diagonal(M).real
    with np.errstate(all="ignore"):
        rounding = eps * float(np.max(1 if terms is None else terms / diagonal, initial=0))
        if np.count_nonzero(M) == np.count_nonzero(diagonal > 0) == len(M):
            error, inverse = rounding, np.diag(1 / diagonal).astype(M.dtype)
        else:
            potrf, potri = get_lapack_funcs(("potrf", "potri"), (M,))
            size = np.sqrt(diagonal)
            C, failed = potrf(M / size / size[:, None], lower=1)
            scaled = np.tril(potri(C, lower=1)[0])
            error = np.inf if failed else len(M) * rounding * float(np.diagonal(scaled).real.max())
            lower = scaled / size / size[:, None]
            inverse = lower + np.tril(lower, -1).conj().T
    if not error <= MOST_ERROR:  # also refuses NaN
        raise ValueError(f"too few digits are left in {what}: to rounding it is not positive definite")
    return inverse, error
