"""Steps along a row's gradient, w <- w + step e x, divided by eps + x'x where they are normalised.

Two flops a number for the prediction and two for the step. x and w are read and w is written, all from the cache: its
bandwidth is the limit. One loop takes a step and predicts the next row at once, while the weights are at hand: it
passes over w once a row instead of twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from orfit_bench_numba._compile import compiled, inlined, summed

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
    f, e, unit = np.empty(c, w.dtype), np.empty(c, w.dtype), np.empty((1, p), w.dtype)
    v = w.reshape(p * c)  # here, for it costs as much as a short row
    square = predict(w, v, X[0], f)
    for i in range(n):
        if len(out):
            out[i] = f
        gain, size = step[i], X.dtype.type(1)
        if normalised:
            energy = eps + square
            if not (tiny < energy < np.inf):  # its square is no normal number
                energy, size = energy_of(X[i], eps, unit[0])
            gain = gain / energy
        for k in range(c):
            e[k] = (Y[i, k] - f[k]) / size * gain
        A, j = (X, i) if size == 1 else (unit, 0)
        if careful and not stays_finite(w, A[j], e):
            return i
        square = move(w, v, A[j], e, X[min(i + 1, n - 1)], f)
    return n


@inlined
def predict(w: Any, v: Any, x: Any, f: Any) -> Any:
    """f <- w'x; returns x'x. v is w as a vector."""
    p, c = w.shape
    if c == 1:
        f[0] = np.dot(x, v)
    else:
        f[:] = 0
        for j in range(p):
            for k in range(c):
                f[k] += x[j] * w[j, k]
    return np.dot(x, x)


@inlined
def move(w: Any, v: Any, x: Any, e: Any, ahead: Any, f: Any) -> Any:
    """w <- w + x e', then f <- w'(the row ahead); returns the square of that row's norm."""
    p, c = w.shape
    if c == 1:
        f[0], square = move_one(v, x, e[0], ahead)
        return square
    f[:] = 0
    for j in range(p):
        for k in range(c):
            w[j, k] += x[j] * e[k]
            f[k] += ahead[j] * w[j, k]
    return np.dot(ahead, ahead)


@summed
def move_one(w: Any, x: Any, e: Any, ahead: Any) -> Any:
    """The same for one output."""
    f, square = w.dtype.type(0), w.dtype.type(0)
    for j in range(len(w)):
        new = w[j] + e * x[j]
        w[j] = new
        f += new * ahead[j]
        square += ahead[j] * ahead[j]
    return f, square


@inlined
def energy_of(x: Any, eps: Any, unit: Any) -> Any:
    """(eps + x'x) / size^2 and the size, the largest |x_j|; unit <- x / size. Of a row of zeros inf and 1: no step."""
    size = x.dtype.type(0)
    for j in range(len(x)):
        size = max(size, abs(x[j]))
    if size == 0:
        return x.dtype.type(np.inf), x.dtype.type(1)
    energy = eps / size / size
    for j in range(len(x)):
        unit[j] = x[j] / size
        energy += unit[j] * unit[j]
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
