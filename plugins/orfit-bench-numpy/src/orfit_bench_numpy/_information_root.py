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

from orfit_bench.kernels.guards import Precision, is_finite, max_error, sum_of_weights
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
    degraded, exhausted = measure_forgotten(R, J, T, p)
    if exhausted:
        return False
    w = s.w + solve_triangular(T, b, check_finite=False)
    if not (is_finite(w) and is_finite(T)):
        return False
    s.w[...], s.root[...] = w, T
    if degraded:
        s.precision_lost[...] = 1
    return True


def measure_forgotten(R: Array, J: Array, T: Array, p: Params) -> Precision:
    """Whether rounding errors disturb predictions, because too much was forgotten about directions without rows.

    1 / R_ii is the deviation of weight i, given the later ones, so eps sum |x_i| / R_ii estimates the error of a
    prediction due to the rounding of one step. Its square, relative to the variance s = 1 + x'P x of the prediction,
    adds up over the steps that are remembered. Only exponential forgetting below 1 continues indefinitely. T is the
    root including the rows.
    """
    ff = p.forgetting_factor
    if ff >= 1 or p.forgetting != "exponential":
        return Precision(degraded=False, exhausted=False)
    diagonal, eps = np.diagonal(R).real, np.finfo(R.dtype).eps
    if not (diagonal > 0).all():
        return Precision(degraded=True, exhausted=True)
    if len(J) == 1:
        deviation = np.prod(np.diagonal(T).real / diagonal)  # s = |T'T| / |R'R|
    else:
        V = solve_triangular(R, J.conj().T, trans="C", check_finite=False)  # (p, q): x'P x = |R^-H x|^2
        deviation = np.hypot.reduce(np.abs(V), axis=0, initial=1)  # without overflow
    error = ((eps * (np.abs(J) @ (1 / diagonal)) / deviation) ** 2).max() * sum_of_weights(ff, p.t)
    return Precision(bool(error > eps**0.5), not error <= max_error(ff))


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
