"""Code shared by the subspace methods: the loop over steps, and orthonormalization of bases.

Shapes: A (N, d) the rows of a step, y_n' in the sources; C (d, k); B (k, d) = C'. A product with y, and an update along
it, read the rows of B in memory order; a call of `learn` copies C to B and back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from orfit_bench.kernels.threads import limit_blas_threads
from orfit_bench.spec.kernel_arguments import Params, State
from orfit_bench_numba import BACKEND
from orfit_bench_numba._arrays import Array, BoundSample

Rule = Callable[[Any, Array, Any], bool]
"""rule(s, A, p): one step on the rows A; returns False if it was not applied."""
Rows = Callable[[Any, Array, Any, int], int]
"""rows(s, X, p, i): learn X starting at row i, one row per step, until a row needs the rule; returns how many."""
Row = Callable[[Array], bool]
"""row(y): learn one row in place; if `rows` has to learn it, change nothing and return False."""
Bind = Callable[[Any, Any], Row]
"""bind(s, p): the function that learns one row in the arrays of s, at the step size of p."""
RENEWAL_PERIOD = 1000
"""Largest number of rows after which a basis is orthonormalized again, to remove accumulated rounding."""


def make_learn(rule: Rule, rows: Rows, bind: Bind, period: int = RENEWAL_PERIOD) -> Callable[..., int]:
    """Make `learn` from a rule, its fast form `rows` for steps of one row, and `bind` for calls with one row.

    Every `period` steps, `rows` removes the rounding errors of single rows. The rule learns all complex rows.
    """

    def learn(s: State, X: Array, Y: Array, p: Params, out: Array | None) -> int:
        i, N = 0, p.batch_size
        is_fast = N == 1 and s.basis.dtype.kind == "f"
        if is_fast and len(X) == 1 and (p.t - 1) % period and bind(s, p)(X[0]):
            return 1
        with limit_blas_threads(4.0 * (X.size + s.basis.size) * s.basis.shape[1]):  # includes an orthonormalization
            while i < len(X):
                if is_fast:
                    i += rows(s, X, p, i)
                if i < len(X):
                    if not rule(s, X[i : i + N], p.at(i // N)):
                        return i
                    i += N
        return len(X)

    return learn


def make_bind_sample(bind: Bind, period: int = RENEWAL_PERIOD) -> Callable[..., BoundSample | None]:
    """Make `bind_sample` of a kernel; its `learn` learns the rows at which rounding errors are removed."""

    def bind_sample(s: State, p: Params) -> BoundSample | None:
        if p.batch_size > 1 or s.basis.dtype.kind != "f":
            return None
        row = bind(s, p)
        return lambda y, t: row(y) if (t - 1) % period else 0

    return bind_sample


def transposed_copy(C: Array) -> Array:
    """A copy of C'."""
    B: Array = BACKEND.asarray(C.T)
    return B


def make_delayed_rows(along: Callable[..., int], loss: float) -> Rows:
    """Make `rows` for a rule that orthonormalizes C after every step, with the same result if this is done later.

    along(B, X, step, *limits) learns rows until B must be orthonormalized, and returns how many.
    """

    def rows(s: State, X: Array, p: Params, i: int) -> int:
        B, end = transposed_copy(s.basis), i
        several, single = growth_limits(B, loss)
        while end < len(X) and (n := along(B, X[end : end + RENEWAL_PERIOD], p.step_size[end:], several, single)):
            orthonormalize(B, 4 * len(B))
            end += n
        if end > i:
            s.basis[...] = B.T
        return end - i

    return rows


def growth_limits(B: Array, loss: float) -> tuple[float, float]:
    """The largest |B|^2 allowed, starting from an orthonormal B: after several rows (`loss` times), and after one row.

    The growth is lost in digits of the directions that did not grow. After a single row it must not exceed what an
    orthonormalization can repair, which is due then and costs as much as ten rows.
    """
    single = 1e-3 / float(np.finfo(B.dtype).eps)
    return min(loss * len(B), single), single


def orthonormalize(B: Array, enough: float) -> Array:
    """Replace B by the rows of Q', where B' = Q R with a positive diagonal of R; returns R.

    The Cholesky factor of B B' takes a third of the time of reflections, but leaves an error of eps cond(B)^2. It is
    applied again until |B|^2 |B^+|^2 / k, which bounds cond(B)^2, was at most `enough`. Raises LinAlgError if B has no
    digits left.
    """
    trtri = get_lapack_funcs("trtri", (B,))
    R: Array = np.eye(len(B), dtype=B.dtype)
    for _ in range(3):
        L = np.linalg.cholesky(B @ B.T)
        F, _ = trtri(L.T)
        B[...] = F.T @ B  # `trsm` can wait milliseconds for a second thread if other programs run
        R = L.T @ R
        if (L * L).sum() * (F * F).sum() <= enough * len(B):
            break
    return R
