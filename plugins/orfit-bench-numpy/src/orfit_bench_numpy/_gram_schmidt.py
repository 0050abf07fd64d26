"""Gram-Schmidt with a memory: orthonormal directions to add to stored ones, and the step that fits rows along them.

Shapes: U (p, n) stored orthonormal columns, G (p, q) gradients as columns, Q (p, a), R (a, q), E (q, r) errors.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from orfit_bench.kernels.parts import divided, largest_parts
from orfit_bench.spec.kernel_arguments import State
from orfit_bench_numpy._products import least_squares, norm

Array = NDArray[Any]


def new_directions(U: Array, G: Array) -> tuple[Array, Array]:
    """Factor G - U U'G = Q R, where Q is orthonormal and orthogonal to U.

    A column of G is dependent if its residual after two orthogonalizations is at most sqrt(eps) times its norm. It adds
    no direction, so a is at most q.
    """
    Q = np.empty((len(G), 0), G.dtype)
    for column in G.T:
        if not (size := largest_parts(column).max()) > 0:
            continue
        r = g = divided(column, size)  # so that no square over- or underflows
        for _ in range(2):  # once leaves eps cond(G) of U in r, twice leaves eps
            r = r - U.dot(U.conj().T.dot(r))  # on small arrays, .dot takes half the time of @
            if Q.size:
                r = r - Q.dot(Q.conj().T.dot(r))
        rho = norm(r)
        if rho > math.sqrt(np.finfo(G.dtype).eps) * norm(g):
            Q = np.concatenate([Q, (r / rho)[:, None]], axis=1)
    return Q, Q.conj().T @ G


def solve_fit(R: Array, E: Array) -> Array:
    """Solve R'z = E for z (a, r), given (Q, R) = new_directions(U, G): the step Q z removes the errors E.

    If a column of G added no direction, R is not square, and z is the least-squares solution.
    """
    if R.shape[0] == R.shape[1]:
        return E / R.conj() if R.size == 1 else solve_triangular(R.conj().T, E, lower=True, check_finite=False)
    return least_squares(R.conj().T, E, 0)


def append_directions(s: State, Q: Array) -> None:
    """Append the columns of Q as rows to s.basis, as long as there is room."""
    n = int(s.count[0])
    rows = Q.T[: len(s.basis) - n]
    s.basis[n : n + len(rows)] = rows
    s.count[0] = n + len(rows)
