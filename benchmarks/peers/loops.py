"""Rules as one writes them for Numba: plain loops without checks."""

# mypy: ignore-errors

import numpy as np
from numba import njit


@njit(cache=True, fastmath=True)
def lms(w, X, y, step, out):
    for i in range(len(X)):
        f = 0.0
        for j in range(len(w)):
            f += w[j] * X[i, j]
        out[i] = f
        for j in range(len(w)):
            w[j] += step * (y[i] - f) * X[i, j]


@njit(cache=True, fastmath=True)
def rls(P, w, X, y, out):
    d = len(w)
    Px = np.empty(d)
    for i in range(len(X)):
        f, s = 0.0, 1.0
        for j in range(d):
            f += w[j] * X[i, j]
        out[i] = f
        for j in range(d):
            Px[j] = 0.0
            for k in range(d):
                Px[j] += P[j, k] * X[i, k]
            s += X[i, j] * Px[j]
        for j in range(d):
            w[j] += Px[j] * (y[i] - f) / s
            for k in range(d):
                P[j, k] -= Px[j] * Px[k] / s
