"""Steps along a row's gradient, w <- w + step e x, divided by eps + x'x where they are normalised.

Two flops a number for the prediction and two for the step. x and w are read and w is written, all from the cache: its
bandwidth is the limit. The dot product is BLAS's, with the several partial sums that a plain loop has only if sums may
be reordered.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench_numba._compile import compiled, inlined

Array = NDArray[Any]


def walk(s: Any, X: Array, Y: Array, step: Array, eps: float | None, out: Array | None) -> int:
    """`learn` of a rule whose step is normalised by eps + x'x, or, with None, not at all.

    Whether the weights are finite is looked at once, after the chunk; where they are not, it is learned again with a
    look at every step.
    """
    info = np.finfo(X.dtype)
    told = np.empty((0, 0), X.dtype) if out is None else out
    how = (step, eps or 0.0, info.tiny / info.eps, eps is not None)
    if len(X) > 1:
        before = s.w.copy()
        rows(s.w, X, Y, *how, told, False)
        if np.isfinite(s.w).all():
            return len(X)
        s.w[...] = before
    return int(rows(s.w, X, Y, *how, told, True))


@compiled("W R R r f f b W b")
def rows(w: Any, X: Any, Y: Any, step: Any, eps: Any, tiny: Any, normalised: Any, out: Any, careful: Any) -> Any:
    """Row after row; returns how many were learned. With `careful`, not the row after which w would not be finite."""
    n, p = X.shape
    c = w.shape[1]
    e, scaled = np.empty(c, w.dtype), np.empty(p, w.dtype)
    for i in range(n):
        x = X[i]
        predict(w, x, e)
        if len(out):
            out[i] = e
        for k in range(c):
            e[k] = Y[i, k] - e[k]
        gain, size = step[i], X.dtype.type(1)
        if normalised:
            energy, size = energy_of(x, eps, tiny)
            if size == 0:
                continue
            gain /= energy
            if size != 1:
                for j in range(p):
                    scaled[j] = x[j] / size
                x = scaled
        for k in range(c):
            e[k] = e[k] / size * gain
        if careful and not stays_finite(w, x, e):
            return i
        if c == 1:
            v = w.reshape(p)
            a = e[0]
            for j in range(p):
                v[j] += a * x[j]
        else:
            for j in range(p):
                for k in range(c):
                    w[j, k] += x[j] * e[k]
    return n


@inlined
def predict(w: Any, x: Any, f: Any) -> None:
    """f <- w'x."""
    p, c = w.shape
    if c == 1:
        f[0] = np.dot(x, w.reshape(p))
        return
    f[:] = 0
    for j in range(p):
        for k in range(c):
            f[k] += x[j] * w[j, k]


@inlined
def energy_of(x: Any, eps: Any, tiny: Any) -> Any:
    """(eps + x'x) / size^2 and the size: 1, or the largest |x_j| where the square leaves the normal numbers."""
    one = x.dtype.type(1)
    energy = eps + np.dot(x, x)
    if tiny < energy < np.inf:
        return energy, one
    size = x.dtype.type(0)
    for j in range(len(x)):
        size = max(size, abs(x[j]))
    if size > 0:
        energy = eps / size / size
        for j in range(len(x)):
            energy += (x[j] / size) * (x[j] / size)
    return energy, size


@inlined
def stays_finite(w: Any, x: Any, e: Any) -> Any:
    """Whether all of w + x e' is finite."""
    for j in range(w.shape[0]):
        for k in range(w.shape[1]):
            if not np.isfinite(w[j, k] + x[j] * e[k]):
                return False
    return True


@compiled("W R R f")
def along(w: Any, J: Any, E: Any, step: Any) -> Any:
    """w <- w + step J'E; False, and w as it was, where that is not finite."""
    return moved(w, np.dot(J.T, E), step)


@compiled("W R R f f f")
def towards(w: Any, J: Any, E: Any, step: Any, eps: Any, cut: Any) -> Any:
    """w <- w + step J'(J J' + eps I)^+ E by the SVD of J; singular values up to `cut` of the largest count as zero."""
    size = np.abs(J).max()  # divided by it, neither a singular value nor its square leaves the floats
    if size == 0:
        return True
    V, sigma, Wt = np.linalg.svd(J / size, False)
    z = np.dot(V.T, E / size)
    for k in range(len(sigma)):
        gain = J.dtype.type(0)
        if sigma[k] > cut * sigma[0]:
            gain = 1 / (sigma[k] + eps / size / size / sigma[k])
        z[k] *= gain
    return moved(w, np.dot(Wt.T, z), step)


@inlined
def moved(w: Any, move: Any, step: Any) -> Any:
    """w <- w + step move; False, and w as it was, where that is not finite."""
    new = w + step * move
    if not np.isfinite(new).all():
        return False
    w[:] = new
    return True
