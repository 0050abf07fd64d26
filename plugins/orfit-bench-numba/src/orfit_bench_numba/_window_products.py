"""The products of the rows of a window with each other, kept while rows join the window one after another.

All products are computed by `multiply_rows`, so that a kept product has the same bits as a new one. Kept products are
valid if the window still has the same rows, which is checked in the pass that multiplies them by a new row.
"""

from __future__ import annotations

from typing import Any

from orfit_bench_numba._arrays import Array
from orfit_bench_numba._compile import inline, inline_reordered
from orfit_bench_numba._precision_guard import copy

LANES = 4
"""Number of rows that are multiplied at a time; vectors of one number per row have room for this many more."""


@inline
def multiply_rows(rows: Array, first: int, n: int, ring: Array, begin: int, w: Array, g: Array, f: Array) -> Any:
    """Compute g <- B x and f <- B w for rows B of the ring, starting at `begin`: n - first rows and the new row x.

    Returns whether B equals rows[first:n]. g and f get extra values after x, up to a multiple of LANES.
    """
    m, b, differences = n - first, len(ring), 0
    x = (begin + m) % b
    for j in range(0, m + 1, LANES):
        i, k = (begin + j) % b, (begin + min(j + 1, m)) % b
        p, q = (begin + min(j + 2, m)) % b, (begin + min(j + 3, m)) % b
        of_x, of_w = multiply_four(ring, i, k, p, q, x, w)
        g[j], g[j + 1], g[j + 2], g[j + 3] = of_x
        f[j], f[j + 1], f[j + 2], f[j + 3] = of_w
    for j in range(m):
        differences |= differ(rows, first + j, ring, (begin + j) % b)
    return differences == 0


@inline_reordered
def multiply_four(ring: Array, j: int, k: int, m: int, n: int, x: int, w: Array) -> Any:
    """The products of rows j, k, m and n of the ring with its row x, and with w."""
    zero = w.dtype.type(0)
    xa, xb, xc, xd, wa, wb, wc, wd = zero, zero, zero, zero, zero, zero, zero, zero
    for i in range(len(w)):
        a, b, c, d, y, z = ring[j, i], ring[k, i], ring[m, i], ring[n, i], ring[x, i], w[i]
        xa += y * a
        xb += y * b
        xc += y * c
        xd += y * d
        wa += z * a
        wb += z * b
        wc += z * c
        wd += z * d
    return (xa, xb, xc, xd), (wa, wb, wc, wd)


@inline
def differ(A: Array, i: int, B: Array, j: int) -> Any:
    """1 if row i of A differs from row j of B, otherwise 0."""
    found = 0
    for m in range(A.shape[1]):
        found |= A[i, m] != B[j, m]
    return found


@inline
def form_products(G: Array, rows: Array, first: int, n: int, w: Array, ring: Array, f: Array) -> None:
    """Compute G <- A A' for the rows A = rows[first:n], copied to the start of the ring; f is work space."""
    for j in range(n - first):
        copy(ring[j], rows[first + j])
        multiply_rows(rows, first, first + j, ring, 0, w, G[j], f)
        for i in range(j):
            G[i, j] = G[j, i]


@inline
def drop_first(G: Array, m: int) -> None:
    """Keep the products of the m rows after the first row."""
    for i in range(m):
        for j in range(m):
            G[i, j] = G[i + 1, j + 1]
