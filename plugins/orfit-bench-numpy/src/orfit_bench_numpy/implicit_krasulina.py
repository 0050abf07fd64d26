"""Implicit Krasulina for k-PCA, declared in `orfit_bench/catalogue/methods/implicit_krasulina.py`.

Krasulina paper, eq. (12) and (13). `inverse` is (C^H C)^-1, Lambda in "Efficient Implementation", so that
C^+ = inverse C^H for single rows. Blocks change C by more, so they use C^+ = R^-1 Q^H, because C^H C has the squared
condition number of C.

Shapes: A (N, d) the rows of a step, the columns of Y = A^H in the paper; C (d, k), X (k, N).
"""

import math
from typing import Any

import numpy as np

from orfit_bench.kernels.guards import is_finite
from orfit_bench.kernels.linalg import coordinates_of_rows, inverse_gram
from orfit_bench.kernels.loops import Array, make_subspace_learn, make_subspace_step
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numpy._products import norm

INVERSE_PERIOD = 1000
"""The inverse is computed from C at the first step, and again after this number of steps."""


def rule(s: State, A: Array, p: Params) -> bool:
    """Learn a single row by eq. (13), several rows by eq. (12)."""
    if len(A) > 1:
        C, inverse = step_block(s.basis, A, p.step_size[0])
    else:
        before = inverse_gram(s.basis) if p.t % INVERSE_PERIOD == 1 else s.inverse
        C, inverse = (s.basis, None) if before is None else step_row(s.basis, before, A, p.step_size[0])
    if inverse is None or not (is_finite(C) and is_finite(inverse)):
        return False
    s.basis[...], s.inverse[...] = C, inverse
    return True


def step_row(C: Array, inverse: Array, A: Array, step: Any) -> tuple[Array, Array | None]:
    """C by eq. (13), and the inverse by the Sherman-Morrison formula, or None if the row is too large."""
    y = A[0].conj()
    x = inverse.dot(A[0].dot(C).conj())  # x = C^+ y; on small arrays, .dot takes half the time of @
    r = y - C.dot(x)  # orthogonal to C
    energy = step * np.vdot(x, x).real
    if not math.isfinite(energy):  # the gain would be 0 and the row skipped silently
        return C, None
    gain = step / (1 + energy)  # eq. (13): step / (1 + step |x|^2)
    C = C + gain * r[:, None] * x.conj()  # eq. (13): C - gain (C x - y) x^H
    v = gain * norm(r) * x  # C^H C gains v v^H
    u = inverse.dot(v)
    inverse = inverse - u[:, None] * u.conj() / (1 + np.vdot(v, u).real)  # (C^H C + v v^H)^-1, Sherman and Morrison
    return C, (inverse + inverse.conj().T) / 2  # later rows damp errors only in its Hermitian part


def step_block(C: Array, A: Array, step: Any) -> tuple[Array, Array | None]:
    """C by eq. (12) in the form C + (Y - C X) X^H (X X^H + N/step I)^-1, by the SVD of X, and the inverse.

    The inverse is None if C has lost its rank.
    """
    X = coordinates_of_rows(C, A)  # X = C^+ Y
    if X is None or not is_finite(X):
        return C, None
    U, sigma, Vt = np.linalg.svd(X.conj().T, full_matrices=False)  # X^H = U diag(sigma) Vt
    # X^H (X X^H + N/step I)^-1 = U diag(gain) Vt with gain = sigma / (sigma^2 + N/step), without overflowing squares
    gain = np.divide(1, sigma + len(A) / step / sigma, out=np.zeros_like(sigma), where=sigma > 0)
    C = C + (A.conj().T - C @ X) @ ((U * gain) @ Vt)
    return C, inverse_gram(C)


COMPLEX = True
learn = make_subspace_learn(rule)
step = make_subspace_step(rule)
