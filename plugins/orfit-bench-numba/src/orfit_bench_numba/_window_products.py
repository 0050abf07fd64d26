"""The products of the rows of a window with each other, kept while rows join it one after another.

Each is formed by `multiply_rows`, so that one that is kept has the bits of one formed anew. What is kept holds where
the window still has the rows that it was formed of, which the pass that multiplies them by a new row looks at.
"""

from __future__ import annotations

from typing import Any

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import inline, inline_reordered
from orfit_bench_numba._precision_guard import copy

LANES = 4
"""Rows that are multiplied at a time; vectors of one number a row have room for as many more."""


@inline
def multiply_rows(A: Array, x: Array, w: Array, ring: Array, begin: int, g: Array, f: Array) -> Any:
    """g <- B x and f <- B w; returns whether the rows of the ring from `begin` on are those of A.

    B has the rows of A and x, and x again until its rows are a multiple of LANES.
    """
    m, b, differences = len(A), len(ring), 0
    for j in range(0, m + 1, LANES):
        rows = row_or(A, j, m, x), row_or(A, j + 1, m, x), row_or(A, j + 2, m, x), row_or(A, j + 3, m, x)
        k = begin + j
        others = (
            ring[k % b] if j < m else x,
            ring[(k + 1) % b] if j + 1 < m else x,
            ring[(k + 2) % b] if j + 2 < m else x,
            ring[(k + 3) % b] if j + 3 < m else x,
        )
        (g[j], g[j + 1], g[j + 2], g[j + 3]), (f[j], f[j + 1], f[j + 2], f[j + 3]), differ = multiply_four(
            x, w, rows, others
        )
        differences |= differ
    return differences == 0


@inline
def row_or(A: Array, j: int, m: int, x: Array) -> Any:
    """Row j of A, or x behind its m rows."""
    return A[j] if j < m else x


@inline_reordered
def multiply_four(x: Array, w: Array, rows: tuple[Array, ...], others: tuple[Array, ...]) -> Any:
    """The products of four rows with x, those with w, and whether the rows differ from the others: 0 if not."""
    (a, b, c, d), (p, q, r, s) = rows, others
    zero, differ = x.dtype.type(0), 0
    xa, xb, xc, xd, wa, wb, wc, wd = zero, zero, zero, zero, zero, zero, zero, zero
    for i in range(len(x)):
        xa += x[i] * a[i]
        xb += x[i] * b[i]
        xc += x[i] * c[i]
        xd += x[i] * d[i]
        wa += w[i] * a[i]
        wb += w[i] * b[i]
        wc += w[i] * c[i]
        wd += w[i] * d[i]
        differ |= (a[i] != p[i]) | (b[i] != q[i]) | (c[i] != r[i]) | (d[i] != s[i])
    return (xa, xb, xc, xd), (wa, wb, wc, wd), differ


@inline
def form_products(G: Array, A: Array, w: Array, ring: Array, f: Array) -> None:
    """G <- A A', and the ring has the rows of A, from its begin on; f is work space."""
    for j in range(len(A)):
        multiply_rows(A[:j], A[j], w, A, 0, G[j], f)
        for i in range(j):
            G[i, j] = G[j, i]
        copy(ring[j], A[j])


@inline
def drop_first(G: Array, m: int) -> None:
    """The products of the m rows behind the first one."""
    for i in range(m):
        for j in range(m):
            G[i, j] = G[i + 1, j + 1]
