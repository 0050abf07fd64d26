"""RLS in the square-root form: the upper triangular R with R'R = L, the information, instead of P = L^-1.

A step rotates rows into R, so its backward error is a few eps for any condition number of the rows: the digits lost in
w depend on the condition number, not on its square (Bjorck, Numerical Methods for Least Squares Problems, 1996,
section 3.2).

Directional forgetting is SIFt-RLS (Lai and Bernstein, arXiv 2404.10844): information is forgotten only in the
directions that the rows of the step observe, L <- L - (1 - ff) L F'(F L F')^-1 F L, where F are the rows without
directions that carry too little information.

Shapes: J (q, p) rows, E (q, r) errors, w (p, r), R (p, p).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import qr_insert, solve_triangular

from orfit_bench.kernels.guards import is_finite, max_error, steps_until_forgotten, sum_of_weights
from orfit_bench.kernels.loops import Array
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numpy._roots import with_positive_diagonal


def update_root(s: State, J: Array, E: Array, p: Params) -> bool:
    """Take one step: w <- w + z, where z minimizes |R z|^2 + |J z - E|^2."""
    R = forget(s.root, J, p)
    rotated = rotate_rows(R, J, E)
    if rotated is None:
        return False
    T, b = rotated  # (p, p) and (p, r): Q [R 0; J E] = [T b; 0 *]
    w = s.w + solve_triangular(T, b, check_finite=False)
    if not (is_finite(w) and is_finite(T)):
        return False
    if p.forgetting_factor < 1 and p.forgetting == "exponential":  # no other forgetting continues indefinitely
        error = rounding_of_rows(R, J, T, p)
        if not error <= max_error(p.forgetting_factor):
            return False
        error = max(error, rounding_of_weights(s.root, s.w, w, J), rounding_of_columns(T, p))
        if error > np.finfo(R.dtype).eps ** 0.5:
            s.precision_lost[...] = 1
    s.w[...], s.root[...] = w, T
    return True


def rounding_of_rows(R: Array, J: Array, T: Array, p: Params) -> float:
    """The squared rounding errors of predictions, relative to their variances s = 1 + x'P x, for the kept root R.

    1 / R_ii is the deviation of weight i, given the later ones, so eps sum |x_i| / R_ii estimates the error of a
    prediction due to the rounding of one step. Its square adds up over the steps that are remembered. T is the root
    including the rows.
    """
    diagonal, eps = np.diagonal(R).real, np.finfo(R.dtype).eps
    if not (diagonal > 0).all():
        return math.inf
    if len(J) == 1:
        deviation = np.prod(np.diagonal(T).real / diagonal)  # s = |T'T| / |R'R|
    else:
        V = solve_triangular(R, J.conj().T, trans="C", check_finite=False)  # (p, q): x'P x = |R^-H x|^2
        deviation = np.hypot.reduce(np.abs(V), axis=0, initial=1)  # without overflow
    errors = eps * (np.abs(J) @ (1 / diagonal)) / deviation
    return float((errors**2).max() * sum_of_weights(p.forgetting_factor, p.t))


def rounding_of_weights(R: Array, before: Array, after: Array, J: Array) -> float:
    """The largest rounding error of an error y - x'w, relative to the terms of the fit x'w after the step, or to R w.

    Weights of which everything was forgotten have large rounding errors, until a row determines them again. R w, with
    the root and the weights before the step, has the size of the targets.
    """
    sizes = np.abs(J)
    terms, fitted = sizes @ np.abs(before), sizes @ np.abs(after)
    if not np.isfinite(terms).all():
        return math.inf
    lost = np.finfo(J.dtype).eps * terms
    size = np.maximum(fitted, np.abs(R @ before).max(axis=0))
    return float(np.divide(lost, size, out=np.zeros_like(lost), where=lost > 0).max(initial=0))


def rounding_of_columns(T: Array, p: Params) -> float:
    """The largest squared rounding error of a column of T, relative to the information T_ii of its weight alone.

    Rows that are the first for a long time in which two features are not 0 leave such columns. Before the prior is
    forgotten, this information is that of the prior, and rows replace it.
    """
    if p.t < steps_until_forgotten(p.forgetting_factor, T.dtype):
        return 0.0
    with np.errstate(over="ignore"):
        ratios = np.abs(T / np.diagonal(T).real)
        return float(np.finfo(T.dtype).eps ** 2 * np.einsum("ij,ij->j", ratios, ratios).max())


def forget(R: Array, J: Array, p: Params) -> Array:
    """The upper triangular root of the kept information: of ff L, or with ff applied only along the rows."""
    ff = p.forgetting_factor
    if p.forgetting == "exponential":
        return np.asarray(R * math.sqrt(ff))
    U = observed_directions(R, J, p)  # R F' (F L F')^-1 F R' = U U'
    # L - (1 - ff) L F'(F L F')^-1 F L = K'K with K = R - (1 - sqrt(ff)) U U'R
    kept: Any = np.linalg.qr(R - (1 - math.sqrt(ff)) * (U @ (U.conj().T @ R)), mode="r")
    return np.triu(kept)


def observed_directions(R: Array, J: Array, p: Params) -> Array:
    """An orthonormal basis U (p, k) of R F', where F are the rows without directions of too little information.

    In directions with less information than (1 - ff) ridge, repeated rows add less than is forgotten: the information
    would fall below that of the prior (SIFt-RLS, information filtering).
    """
    _, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    rounding = max(J.shape) * np.finfo(J.dtype).eps * sigma.max(initial=0)
    least = max(math.sqrt(abs(1 - p.forgetting_factor) * p.ridge), rounding)
    F = Vt[(sigma >= least) & (sigma > 0)]  # (k, p)
    return np.linalg.qr(R @ F.conj().T)[0]


def rotate_rows(R: Array, J: Array, E: Array) -> tuple[Array, Array] | None:
    """R+ (p, p) with a positive diagonal and b (p, r), where Q [R 0; J E] = [R+ b; 0 *].

    Each row is rotated into R by Givens rotations, which keep the digits of small rows next to a large one; reflections
    of all rows together would lose them. Returns None if [R; J] does not have full column rank or is not finite.
    """
    if not (is_finite(R) and is_finite(J)):
        return None
    p, unit = len(R), np.eye(len(R), dtype=R.dtype)
    T = np.hstack([R, np.zeros((p, E.shape[1]), R.dtype)])
    for row in np.hstack([J, E]):
        T = qr_insert(unit, T, row, p, check_finite=False)[1][:p]
    if not np.diagonal(T).all():
        return None
    T = with_positive_diagonal(T)
    return np.triu(T[:, :p]), T[:, p:]


def start_root(s: State, J: Array, E: Array) -> bool:
    """Start without a prior: w is the solution for the first rows (least-squares notes, initialization)."""
    T = rotate_rows(np.zeros_like(s.root), J, E)
    if T is None:
        return False
    w: Any = s.w + solve_triangular(*T, check_finite=False)
    if not (is_finite(w) and is_finite(T[0])):
        return False
    s.w[...], s.root[...] = w, T[0]
    return True
